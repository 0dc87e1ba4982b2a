//! The hash schemes of other libraries, as one type.

use super::{bits_and_blooms, go_bloomfilter, guava, redisbloom};

/// The library of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ForeignScheme {
    /// See `go_bloomfilter.rs`.
    GoBloomfilter,
    /// Guava's older strategy; see `guava.rs`.
    Guava32,
    /// Guava's newer strategy; see `guava.rs`.
    Guava64,
    /// See `bits_and_blooms.rs`.
    BitsAndBlooms,
    /// See `redisbloom.rs`.
    RedisBloom,
}

impl ForeignScheme {
    /// The positions of an id in a filter of `bits` bits: an endless iterator, of which a filter takes the first k.
    // Neither this nor the iterator is inlined: there is one copy of them next to the many loops over native positions.
    #[inline(never)]
    pub(crate) fn positions(self, id: &[u8], bits: u32) -> ForeignPositions {
        let bits = u64::from(bits);
        match self {
            ForeignScheme::GoBloomfilter => ForeignPositions::GoBloomfilter(go_bloomfilter::Positions::new(id, bits)),
            ForeignScheme::Guava32 => ForeignPositions::Guava32(guava::Positions32::new(id, bits)),
            ForeignScheme::Guava64 => ForeignPositions::Guava64(guava::Positions64::new(id, bits)),
            ForeignScheme::BitsAndBlooms => ForeignPositions::BitsAndBlooms(bits_and_blooms::Positions::new(id, bits)),
            ForeignScheme::RedisBloom => ForeignPositions::RedisBloom(redisbloom::Positions::new(id, bits)),
        }
    }
}

/// The iterator of [`ForeignScheme::positions`].
pub(crate) enum ForeignPositions {
    GoBloomfilter(go_bloomfilter::Positions),
    Guava32(guava::Positions32),
    Guava64(guava::Positions64),
    BitsAndBlooms(bits_and_blooms::Positions),
    RedisBloom(redisbloom::Positions),
}

impl Iterator for ForeignPositions {
    type Item = u32;

    #[inline(never)]
    fn next(&mut self) -> Option<u32> {
        let position = match self {
            ForeignPositions::GoBloomfilter(positions) => positions.next_position(),
            ForeignPositions::Guava32(positions) => positions.next_position(),
            ForeignPositions::Guava64(positions) => positions.next_position(),
            ForeignPositions::BitsAndBlooms(positions) => positions.next_position(),
            ForeignPositions::RedisBloom(positions) => positions.next_position(),
        };
        Some(position as u32)
    }
}
