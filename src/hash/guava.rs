//! The positions of Guava, of both strategies.
//!
//! An id is hashed with MurmurHash3 of 128 bits, halves h1 and h2. `MURMUR128_MITZ_64`: for i from 0, `h1 + i · h2` in
//! 64 bits without its sign bit, mod m. `MURMUR128_MITZ_32` takes the halves of h1, a and b: for i from 1, `a + i · b`
//! in 32 bits, all bits flipped if it is negative, mod m.

use super::murmur3::murmur3_128;

/// The positions by `MURMUR128_MITZ_64`.
pub(crate) struct Positions64 {
    hash: u64,
    step: u64,
    bits: u64,
}

impl Positions64 {
    pub(super) fn new(id: &[u8], bits: u64) -> Self {
        let [hash, step] = murmur3_128(id, None);
        Positions64 { hash, step, bits }
    }

    pub(super) fn next_position(&mut self) -> u64 {
        let without_sign = self.hash & i64::MAX as u64;
        self.hash = self.hash.wrapping_add(self.step);
        without_sign % self.bits
    }
}

/// The positions by `MURMUR128_MITZ_32`.
pub(crate) struct Positions32 {
    hash: i32,
    step: i32,
    bits: u64,
}

impl Positions32 {
    pub(super) fn new(id: &[u8], bits: u64) -> Self {
        let [h1, _] = murmur3_128(id, None);
        Positions32 {
            hash: h1 as i32,
            step: (h1 >> 32) as i32,
            bits,
        }
    }

    pub(super) fn next_position(&mut self) -> u64 {
        self.hash = self.hash.wrapping_add(self.step);
        let not_negative = if self.hash < 0 { !self.hash } else { self.hash };
        not_negative as u64 % self.bits
    }
}
