//! The positions of `bits-and-blooms`.
//!
//! An id is hashed with MurmurHash3 of 128 bits, h0 and h1, and again with a byte 1 after it, h2 and h3. For i from 0,
//! in 64 bits and mod m: `h(i mod 2) + i · h(2 + ((i + i mod 2) mod 4) / 2)`.

use super::murmur3::murmur3_128;

pub(crate) struct Positions {
    hashes: [u64; 4],
    index: u64,
    bits: u64,
}

impl Positions {
    pub(super) fn new(id: &[u8], bits: u64) -> Self {
        let ([h0, h1], [h2, h3]) = (murmur3_128(id, None), murmur3_128(id, Some(1)));
        Positions {
            hashes: [h0, h1, h2, h3],
            index: 0,
            bits,
        }
    }

    pub(super) fn next_position(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        let base = self.hashes[(index % 2) as usize];
        let step = self.hashes[(2 + (index + index % 2) % 4 / 2) as usize];
        base.wrapping_add(index.wrapping_mul(step)) % self.bits
    }
}
