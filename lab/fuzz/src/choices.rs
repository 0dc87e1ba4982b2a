//! The generator of `tests/common/random.rs` for the fuzzer: each choice uses bytes of the input, and after its end a
//! //! seeded generator.

/// Choices from bytes, with the interface of the simulation's generator.
pub struct Random {
    chosen: std::vec::IntoIter<u8>,
    state: u64,
}

impl Random {
    /// A generator without input bytes, for parts of the simulation that have their own.
    pub fn seeded(seed: u64) -> Self {
        Random::of(seed, &[])
    }

    /// A generator with the choices of these bytes, then those of the seed.
    pub fn of(seed: u64, chosen: &[u8]) -> Self {
        Random {
            chosen: chosen.to_vec().into_iter(),
            state: seed,
        }
    }

    /// A 64-bit number, always from the seed, since it makes the writers' names, which must differ (SplitMix64, Steele,
    /// /// Lea and Flood 2014).
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0, from one byte if that is enough.
    pub fn below(&mut self, end: u64) -> u64 {
        let length = (64 - (end - 1).leading_zeros()).div_ceil(8) as usize;
        if self.chosen.len() < length {
            return ((u128::from(self.next()) * u128::from(end)) >> 64) as u64;
        }
        let chosen = self.chosen.by_ref().take(length);
        chosen.fold(0, |number, byte| number << 8 | u64::from(byte)) % end
    }

    /// An index of a list of this length, which is not 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True once in N times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }
}
