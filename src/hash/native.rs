//! The native scheme.
//!
//! An id's UTF-8 bytes are hashed once with XXH64; the k positions are drawn from the two halves of the hash by double
//! hashing with a growing step. Its false positive rate is the theoretical one, where that of plain double hashing is
//! higher (Dillinger and Manolios 2004 call it enhanced double hashing; the measurements for this variant are in the
//! format's description).

use xxhash_rust::xxh64::xxh64;

/// The growth of the step: the fraction of the golden ratio in 32 bits.
const STEP_GROWTH: u32 = 0x9E37_79B9;

/// XXH64 of an id's UTF-8 bytes.
#[inline]
pub fn hash_id(id: &[u8], seed: u64) -> u64 {
    xxh64(id, seed)
}

/// The bit positions of a hash in a filter of `bits` bits: an endless iterator, of which a filter takes the first k.
///
/// ```
/// use seenguard::hash::{hash_id, Positions};
/// let positions: Vec<u32> = Positions::new(hash_id(b"1r8bq8r7q4izgx", 0), 13_606_609).take(3).collect();
/// assert_eq!(positions, [9_463_854, 12_854_560, 11_048_003]);
/// ```
#[derive(Debug, Clone)]
pub struct Positions {
    x: u32,
    y: u32,
    step: u32,
    bits: u64,
}

impl Positions {
    /// The positions of `hash` in a filter of `bits` bits.
    #[inline]
    pub fn new(hash: u64, bits: u32) -> Self {
        Positions {
            x: hash as u32,
            y: (hash >> 32) as u32,
            step: 0,
            bits: u64::from(bits),
        }
    }

    /// The next position. The sequence is endless.
    #[inline]
    pub(crate) fn next_position(&mut self) -> u32 {
        let position = (u64::from(self.x) * self.bits) >> 32;
        self.x = self.x.wrapping_add(self.y);
        self.step = self.step.wrapping_add(STEP_GROWTH);
        self.y = self.y.wrapping_add(self.step);
        position as u32
    }
}

impl Iterator for Positions {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        Some(self.next_position())
    }
}

/// An id with its hash of seed 0, which is computed once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashedId<'a> {
    bytes: &'a [u8],
    unseeded: u64,
}

impl<'a> HashedId<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        HashedId {
            bytes,
            unseeded: hash_id(bytes, 0),
        }
    }

    /// An id with its known hash of seed 0.
    #[inline]
    pub(crate) fn with_hash(bytes: &'a [u8], unseeded: u64) -> Self {
        HashedId { bytes, unseeded }
    }

    /// XXH64 with seed 0.
    #[inline]
    pub(crate) fn unseeded(self) -> u64 {
        self.unseeded
    }

    /// XXH64 with any seed.
    #[inline]
    pub(crate) fn seeded(self, seed: u64) -> u64 {
        if seed == 0 {
            self.unseeded
        } else {
            hash_id(self.bytes, seed)
        }
    }

    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }
}
