//! Filters of one spec side by side, tested all at once.
//!
//! All filters of one spec have the same k positions for an id. So their bits are stored position by position: each
//! position has a small group of bits, one for each filter, whose index in the group is the filter's slot. k loads and
//! ANDs leave a 1 in the slots of exactly those filters that contain the id, and the usual answer, "none", is there
//! after a few of them.

use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::{HashedId, Positions, hash_id};

/// Most filters side by side.
pub(crate) const MAX_SLOTS: usize = 64;

/// The number of positions tested before the first check whether any slot is left: the processor cannot predict where
/// the loop ends, and a misprediction costs more than a few loads.
const FIRST_POSITIONS: u32 = 6;

/// A position's slots that are a byte wide are loaded without shift and mask.
const BYTE_LOG2: u32 = 3;

/// 64 bits, little-endian: bytes, so that slots that are a byte wide can be loaded one by one.
type Word = [u8; 8];

/// Up to 64 filters of one spec.
#[derive(Debug, Clone)]
pub(crate) struct BitSlicedFilters {
    spec: FilterSpec,
    /// A position's slots are `1 << width_log2` adjacent bits, which never straddle a word.
    width_log2: u32,
    words: Vec<Word>,
    /// The slots in use, one bit each: the lowest ones.
    used: u64,
}

/// A query of some slots for many ids, with all data that the loop needs.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    filters: &'a BitSlicedFilters,
    words: &'a [Word],
    width_log2: u32,
    bits: u32,
    hashes: u32,
    seed: u64,
    slots: u64,
}

impl Query<'_> {
    /// Whether any of the filters contains the id of this hash (seed 0). `id_bytes` returns the id's bytes: it is called
    /// only if the filters use another hash.
    #[inline]
    pub(crate) fn finds<'id>(&self, unseeded: u64, id_bytes: impl Fn() -> &'id [u8]) -> bool {
        self.matches(unseeded, id_bytes) != 0
    }

    /// The slots, one bit each, whose filters contain the id of this hash (seed 0). `id_bytes` is as in [`Query::finds`].
    #[inline]
    pub(crate) fn matches<'id>(&self, unseeded: u64, id_bytes: impl Fn() -> &'id [u8]) -> u64 {
        if !self.filters.spec.is_native() {
            return self.filters.matches(HashedId::with_hash(id_bytes(), unseeded)) & self.slots;
        }
        let hash = if self.seed == 0 {
            unseeded
        } else {
            seeded(id_bytes(), self.seed)
        };
        let positions = Positions::new(hash, self.bits);
        if self.width_log2 == BYTE_LOG2 {
            let bytes = self.words.as_flattened();
            self.test(positions, |position| u64::from(bytes[position as usize]))
        } else {
            let (words, width_log2) = (self.words, self.width_log2);
            self.test(positions, |position| slots_from(words, width_log2, position))
        }
    }

    /// The slots that are left after all of an id's positions. `slots_at` loads the slots of one.
    #[inline]
    fn test(&self, mut positions: Positions, slots_at: impl Fn(u32) -> u64) -> u64 {
        let mut slots = self.slots;
        let Some(rest) = self.hashes.checked_sub(FIRST_POSITIONS) else {
            return (0..self.hashes).fold(slots, |slots, _| slots & slots_at(positions.next_position()));
        };
        for _ in 0..FIRST_POSITIONS {
            slots &= slots_at(positions.next_position());
        }
        if slots != 0 {
            for _ in 0..rest {
                slots &= slots_at(positions.next_position());
            }
        }
        slots
    }
}

/// Not inlined into the loop over ids: few filters have a seed.
#[inline(never)]
fn seeded(id_bytes: &[u8], seed: u64) -> u64 {
    hash_id(id_bytes, seed)
}

/// A position's slots in the lowest bits, and above them the slots of the positions that follow in the same word.
#[inline]
fn slots_from(words: &[Word], width_log2: u32, position: u32) -> u64 {
    let offset = (position as usize) << width_log2;
    u64::from_le_bytes(words[offset / 64]) >> (offset % 64)
}

/// From this many slots on, transposing blocks of bits takes less time than loading one filter after the other.
const FEWEST_TO_TRANSPOSE_LOG2: u32 = 4;

/// Transposes 64 × 64 bits: swaps ever smaller blocks next to the diagonal (Warren, Hacker's Delight, 7-3).
fn transpose(rows: &mut [u64; 64]) {
    let (mut size, mut mask) = (32, u64::from(u32::MAX));
    while size > 0 {
        for block in (0..64).step_by(2 * size) {
            for row in block..block + size {
                let swapped = (rows[row] >> size ^ rows[row + size]) & mask;
                rows[row] ^= swapped << size;
                rows[row + size] ^= swapped;
            }
        }
        size /= 2;
        mask ^= mask << size;
    }
}

/// A permutation that moves the lowest `64 / width` bits `width` apart: bit i to bit `i · width`.
struct Spread {
    /// The bits that move.
    lowest: u64,
    /// Which bits move by how much, one step after the other.
    steps: Vec<(u64, usize)>,
}

impl Spread {
    fn by(width: usize) -> Self {
        // Split runs of adjacent bits by moving their upper half, until each run is one bit.
        let mut run = 64 / width;
        let lowest = u64::MAX >> (64 - run);
        let mut runs = lowest;
        let mut steps = Vec::new();
        while run > 1 {
            run /= 2;
            let gap = run * (width - 1);
            let upper = runs & (runs << run);
            steps.push((upper, gap));
            runs = (runs & !upper) | (upper << gap);
        }
        Spread { lowest, steps }
    }

    /// The inverse of [`Spread::apply`]: moves bit `i · width` to bit i.
    #[inline]
    fn gather(&self, bits: u64) -> u64 {
        let move_back = |bits: u64, &(upper, gap): &(u64, usize)| (bits & !(upper << gap)) | (bits >> gap & upper);
        self.steps.iter().rev().fold(bits, move_back)
    }

    #[inline]
    fn apply(&self, bits: u64) -> u64 {
        let move_upper = |bits, &(upper, gap): &(u64, usize)| (bits & !upper) | ((bits & upper) << gap);
        self.steps.iter().fold(bits & self.lowest, move_upper)
    }
}

impl BitSlicedFilters {
    /// An empty set of filters.
    pub(crate) fn new(spec: FilterSpec) -> Self {
        BitSlicedFilters {
            spec,
            width_log2: 0,
            words: Vec::new(),
            used: 0,
        }
    }

    pub(crate) fn spec(&self) -> FilterSpec {
        self.spec
    }

    /// The slots whose filters contain the id, one bit each.
    #[inline(never)]
    pub(crate) fn matches(&self, id: HashedId<'_>) -> u64 {
        let mut slots = self.used;
        // Without filters there are no words.
        if slots != 0 {
            self.spec.visit_positions(id, |position| {
                slots &= self.slots_at(position);
                slots != 0
            });
        }
        slots
    }

    /// A query of the used ones of these slots, at least one, for many ids.
    pub(crate) fn query(&self, slots: u64) -> Query<'_> {
        Query {
            filters: self,
            words: &self.words,
            width_log2: self.width_log2,
            bits: self.spec.bits(),
            hashes: self.spec.parameters.hashes(),
            seed: self.spec.seed,
            slots: slots & self.used,
        }
    }

    /// Copies these filters of this spec, at most [`MAX_SLOTS`], into the slots in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn fill<'a>(&mut self, filters: impl Iterator<Item = &'a BloomFilter> + Clone) -> Result<(), Error> {
        let count = filters.clone().count();
        debug_assert!((1..=MAX_SLOTS).contains(&count));
        self.width_log2 = count.next_power_of_two().trailing_zeros();
        self.used = u64::MAX >> (MAX_SLOTS - count);
        let length = (u64::from(self.spec.bits()) << self.width_log2).div_ceil(64) as usize;
        self.words.try_reserve_exact(length)?;
        self.words.resize(length, Word::default());
        if cfg!(feature = "server") && self.width_log2 >= FEWEST_TO_TRANSPOSE_LOG2 {
            self.load_all(filters);
            return Ok(());
        }
        for (slot, filter) in filters.enumerate() {
            self.load(slot, filter);
        }
        Ok(())
    }

    /// Sets the bits of all slots, 64 positions at a time: the bits of a position, one of each filter, become adjacent.
    fn load_all<'a>(&mut self, filters: impl Iterator<Item = &'a BloomFilter> + Clone) {
        let width = 1 << self.width_log2;
        for (index, words) in self.words.chunks_mut(width).enumerate() {
            let mut positions = [0_u64; 64];
            for (slot, filter) in filters.clone().enumerate() {
                positions[slot] = filter.words()[index];
            }
            transpose(&mut positions);
            for (word, positions) in words.iter_mut().zip(positions.chunks(64 / width)) {
                let adjacent = (0_u32..).step_by(width).zip(positions);
                *word = adjacent
                    .fold(0_u64, |bits, (at, slots)| bits | slots << at)
                    .to_le_bytes();
            }
        }
    }

    /// Sets a slot's bits that are set in a filter.
    fn load(&mut self, slot: usize, filter: &BloomFilter) {
        let width = 1 << self.width_log2;
        let positions_per_word = 64 / width;
        let spread = Spread::by(width);
        for (index, word) in self.words.iter_mut().enumerate() {
            let first = index * positions_per_word;
            let bits = spread.apply(filter.words()[first / 64] >> (first % 64));
            *word = (u64::from_le_bytes(*word) | bits << slot).to_le_bytes();
        }
    }

    /// The filter in a slot.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn filter(&self, slot: usize) -> Result<BloomFilter, Error> {
        let mut filter = BloomFilter::with_spec(self.spec)?;
        let width = 1 << self.width_log2;
        let spread = Spread::by(width);
        let slots = spread.apply(u64::MAX);
        for (index, word) in self.words.iter().enumerate() {
            let bits = spread.gather(u64::from_le_bytes(*word) >> slot & slots);
            let first = index * (64 / width);
            filter.words_mut()[first / 64] |= bits << (first % 64);
        }
        Ok(filter)
    }

    #[inline]
    fn slots_at(&self, position: u32) -> u64 {
        slots_from(&self.words, self.width_log2, position) & self.slot_mask()
    }

    #[inline]
    fn slot_mask(&self) -> u64 {
        u64::MAX >> (64 - (1u32 << self.width_log2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Parameters;

    fn spec() -> FilterSpec {
        FilterSpec::native(Parameters::for_capacity(50, 0.01).unwrap(), 3)
    }

    fn filter_of(ids: std::ops::Range<u32>) -> BloomFilter {
        let mut filter = BloomFilter::with_spec(spec()).unwrap();
        for id in ids {
            filter.insert(id.to_string());
        }
        filter
    }

    #[test]
    fn every_slot_answers_as_its_filter_does() {
        for count in [1, 2, 3, 8, 9, 20, 33, MAX_SLOTS] {
            let filters: Vec<BloomFilter> = (0..count as u32).map(|i| filter_of(i * 40..i * 40 + 50)).collect();
            let mut sliced = BitSlicedFilters::new(spec());
            sliced.fill(filters.iter()).unwrap();
            assert!((0..count).all(|slot| sliced.filter(slot).unwrap() == filters[slot]));
            for id in 0..4000 {
                let id = id.to_string();
                let hashed = HashedId::new(id.as_bytes());
                let slots = sliced.matches(hashed);
                for (slot, filter) in filters.iter().enumerate() {
                    let contained = filter.contains(&id);
                    assert_eq!(slots >> slot & 1 == 1, contained);
                    assert_eq!(
                        sliced.query(1 << slot).finds(hashed.unseeded(), || id.as_bytes()),
                        contained
                    );
                }
            }
        }
    }

    #[test]
    fn spreading_moves_bit_i_to_bit_i_times_the_width() {
        for width in [1, 2, 4, 8, 16, 32, 64] {
            let spread = Spread::by(width);
            for bits in [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF] {
                let expected = (0..64 / width).fold(0, |all, i| all | (bits >> i & 1) << (i * width));
                assert_eq!(spread.apply(bits), expected, "{width} {bits:x}");
                assert_eq!(spread.gather(expected), bits & spread.lowest, "{width} {bits:x}");
            }
        }
    }
}
