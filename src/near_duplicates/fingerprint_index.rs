//! Finds all fingerprints that differ from another one in a few bits, by tables that are keyed by blocks of bits
//! (Manku, Jain and Das Sarma 2007).
//!
//! Fingerprints that differ in at most d bits are equal in at least one of any d + 1 blocks of bits, since each
//! differing bit changes one block. So there are d + 1 tables, each keyed by another block of 16 bits, and a search
//! compares the fingerprints that share a bucket: of n evenly spread ones (d + 1) · n / 65,536.
//!
//! Other layouts, with a million fingerprints, as multiples of this one's time of a search and of an insertion, and of
//! its memory: fingerprints in the buckets 0.9, 2.4 and 2.1; buckets linked through the fingerprints 5.7, 0.13 and 0.8;
//! ten tables, each keyed by two of five blocks, 0.8, 3.7 and 2.3.

use super::simhash::hamming_distance;
use crate::error::Error;

/// Most bits in which two fingerprints may differ: there are four blocks.
pub(super) const MAX_DISTANCE: u32 = 3;

const BLOCK_BITS: usize = 16;
const BUCKETS: usize = 1 << BLOCK_BITS;

/// The numbers of the fingerprints with each value of a block.
type Table = Vec<Vec<u32>>;

/// Fingerprints, numbered in the order in which they were added.
#[derive(Debug, Clone)]
pub(super) struct FingerprintIndex {
    distance: u32,
    fingerprints: Vec<u64>,
    /// One for each block that is used.
    tables: Vec<Table>,
}

impl FingerprintIndex {
    /// An empty index, for searches within at most `distance` bits.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a distance over [`MAX_DISTANCE`]; [`Error::OutOfMemory`].
    pub(super) fn new(distance: u32) -> Result<Self, Error> {
        if distance > MAX_DISTANCE {
            return Err(Error::BadOption("the distance must be 0 to 3 bits"));
        }
        let mut tables = Vec::new();
        for _ in 0..=distance {
            let mut table = Table::new();
            table.try_reserve_exact(BUCKETS)?;
            table.resize_with(BUCKETS, Vec::new);
            tables.push(table);
        }
        Ok(FingerprintIndex {
            distance,
            fingerprints: Vec::new(),
            tables,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// The fingerprint of a number.
    pub(super) fn get(&self, number: u32) -> u64 {
        self.fingerprints[number as usize]
    }

    /// Adds a fingerprint.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], with nothing added.
    pub(super) fn push(&mut self, fingerprint: u64) -> Result<(), Error> {
        let number = u32::try_from(self.len()).map_err(|_| Error::OutOfMemory)?;
        self.fingerprints.try_reserve(1)?;
        for (block, table) in self.tables.iter_mut().enumerate() {
            table[block_of(fingerprint, block)].try_reserve(1)?;
        }
        self.fingerprints.push(fingerprint);
        for (block, table) in self.tables.iter_mut().enumerate() {
            table[block_of(fingerprint, block)].push(number);
        }
        Ok(())
    }

    /// The numbers of the fingerprints within the distance, each once, with their distances; in no particular order.
    #[inline]
    pub(super) fn within(&self, fingerprint: u64) -> impl Iterator<Item = (u32, u32)> {
        self.tables.iter().enumerate().flat_map(move |(block, table)| {
            table[block_of(fingerprint, block)].iter().filter_map(move |&number| {
                let found = self.get(number);
                let distance = hamming_distance(found, fingerprint);
                // A fingerprint that shares an earlier block, too, was found there.
                let is_new = || (0..block).all(|earlier| block_of(found ^ fingerprint, earlier) != 0);
                (distance <= self.distance && is_new()).then_some((distance, number))
            })
        })
    }

    /// The nearest fingerprint within the distance; on a tie the first one added.
    pub(super) fn nearest(&self, fingerprint: u64) -> Option<(u32, u32)> {
        self.within(fingerprint).min()
    }
}

/// The value of a fingerprint's block, 0 to 3.
#[inline]
fn block_of(fingerprint: u64, block: usize) -> usize {
    (fingerprint >> (BLOCK_BITS * block)) as usize % BUCKETS
}
