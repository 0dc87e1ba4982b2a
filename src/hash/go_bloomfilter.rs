//! The positions of `go-bloomfilter`.
//!
//! An id is hashed twice by FNV-1a of 32 bits, whose last value is mixed; the second time the offset basis is XORed
//! with a seed. From these a and b, all arithmetic in 32 bits: the first position is `a mod m`, each next one
//! `(position + b) mod m`.

use super::fnv::{OFFSET_BASIS, fnv1a_32};

const SECOND_SEED: u32 = 1_576_284_489;

pub(crate) struct Positions {
    next: u32,
    step: u32,
    bits: u64,
}

impl Positions {
    pub(super) fn new(id: &[u8], bits: u64) -> Self {
        Positions {
            next: mix(fnv1a_32(id, OFFSET_BASIS)),
            step: mix(fnv1a_32(id, OFFSET_BASIS ^ SECOND_SEED)),
            bits,
        }
    }

    pub(super) fn next_position(&mut self) -> u64 {
        let position = u64::from(self.next) % self.bits;
        self.next = (position as u32).wrapping_add(self.step);
        position
    }
}

fn mix(mut hash: u32) -> u32 {
    hash = hash.wrapping_add(hash << 13);
    hash ^= hash >> 7;
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 17;
    hash.wrapping_add(hash << 5)
}
