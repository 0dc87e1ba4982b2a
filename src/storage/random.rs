//! Random numbers for names and waits: SplitMix64 (Steele, Lea and Flood 2014). Nothing here is a secret.

#[derive(Debug, Clone, Default)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn seeded(seed: u64) -> Self {
        Random { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below this one, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
