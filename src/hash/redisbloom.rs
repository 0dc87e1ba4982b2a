//! The positions of RedisBloom.
//!
//! An id is hashed with MurmurHash64A twice: a with the multiplier as the seed, b with a as the seed. For i from 0: `a
//! + i · b` in 64 bits, mod m.

use super::murmur64a::{MULTIPLIER, murmur_64a};

pub(crate) struct Positions {
    hash: u64,
    step: u64,
    bits: u64,
}

impl Positions {
    pub(super) fn new(id: &[u8], bits: u64) -> Self {
        let hash = murmur_64a(id, MULTIPLIER);
        Positions {
            hash,
            step: murmur_64a(id, hash),
            bits,
        }
    }

    pub(super) fn next_position(&mut self) -> u64 {
        let position = self.hash % self.bits;
        self.hash = self.hash.wrapping_add(self.step);
        position
    }
}
