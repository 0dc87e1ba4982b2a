//! Filters of one spec side by side, asked all at once.
//!
//! All filters of one spec look at the same k positions for an id. So their bits are kept position by position, one slot of a small word for
//! each filter: k loads and ANDs leave a 1 in the slots of exactly those filters that contain the id, and the usual answer, "none", is
//! there after a few of them.

use crate::BloomFilter;
use crate::bloom::{FilterSpec, bits_of};
use crate::hash::{HashedId, Positions, hash_id};
use crate::wire::ForeignPositions;

/// Most filters side by side.
pub(crate) const MAX_SLOTS: usize = 64;

/// So many positions are looked at before the first question whether any slot is left: a processor guesses wrong where to stop, and that costs more.
const FIRST_POSITIONS: u32 = 6;

/// Positions of so many slots are a byte each, which takes less work to look at than some bits of a word.
const BYTE_LOG2: u32 = 3;

/// 64 bits, the lowest first.
type Word = [u8; 8];

/// Up to 64 filters of one spec.
#[derive(Debug, Clone)]
pub(crate) struct BitSlicedFilters {
    spec: FilterSpec,
    /// The slots of a position are `1 << width_log2` adjacent bits, which never straddle a word.
    width_log2: u32,
    words: Vec<Word>,
    used: u64,
}

/// The slots of a bank that answer at one time, for many ids in turn: what each look needs lies together here.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    bank: &'a BitSlicedFilters,
    words: &'a [Word],
    width_log2: u32,
    bits: u32,
    hashes: u32,
    seed: u64,
    slots: u64,
}

impl Query<'_> {
    /// Whether a filter contains the id of this unseeded hash. Its text is asked for where the filters hash it otherwise.
    #[inline]
    pub(crate) fn finds<'id>(&self, unseeded: u64, text: impl Fn() -> &'id [u8]) -> bool {
        if !self.bank.spec.is_native() {
            let id = HashedId::with_hash(text(), unseeded);
            return self.bank.foreign_matches(id) & self.slots != 0;
        }
        let hash = if self.seed == 0 {
            unseeded
        } else {
            seeded(text(), self.seed)
        };
        let positions = Positions::new(hash, self.bits);
        if self.width_log2 == BYTE_LOG2 {
            let bytes = self.words.as_flattened();
            self.look(positions, |position| u64::from(bytes[position as usize]))
        } else {
            let (words, width_log2) = (self.words, self.width_log2);
            self.look(positions, |position| slots_from(words, width_log2, position))
        }
    }

    /// Whether a slot is left after all of an id's positions, of which one look tells the slots.
    #[inline]
    fn look(&self, mut positions: Positions, slots_at: impl Fn(u32) -> u64) -> bool {
        let mut slots = self.slots;
        let Some(rest) = self.hashes.checked_sub(FIRST_POSITIONS) else {
            return (0..self.hashes).fold(slots, |slots, _| slots & slots_at(positions.draw())) != 0;
        };
        for _ in 0..FIRST_POSITIONS {
            slots &= slots_at(positions.draw());
        }
        if slots != 0 {
            for _ in 0..rest {
                slots &= slots_at(positions.draw());
            }
        }
        slots != 0
    }
}

/// Not copied into the loop that asks: most filters have no seed.
#[inline(never)]
fn seeded(text: &[u8], seed: u64) -> u64 {
    hash_id(text, seed)
}

/// The slots of a position, and above them what comes after them in their word.
#[inline]
fn slots_from(words: &[Word], width_log2: u32, position: u32) -> u64 {
    let offset = (position as usize) << width_log2;
    u64::from_le_bytes(words[offset >> 6]) >> (offset & 63)
}

/// The lowest bits, as many as there is room for, each `width` from the next one: of them all the upper half moves up, then of each half its upper
/// half, and so on.
#[inline]
fn spread(bits: u64, width: usize) -> u64 {
    let mut half = 64 / width;
    let mut mask = u64::MAX >> (64 - half);
    let mut bits = bits & mask;
    while half > 1 {
        half /= 2;
        let (upper, gap) = (mask & mask << half, half * (width - 1));
        mask ^= upper ^ upper << gap;
        bits ^= (bits & upper) ^ (bits & upper) << gap;
    }
    bits
}

impl BitSlicedFilters {
    pub(crate) fn new(spec: FilterSpec) -> Self {
        BitSlicedFilters {
            spec,
            width_log2: 0,
            words: Vec::new(),
            used: 0,
        }
    }

    /// Has an empty bank take filters of this spec.
    pub(crate) fn set_spec(&mut self, spec: FilterSpec) {
        self.spec = spec;
    }

    pub(crate) fn spec(&self) -> FilterSpec {
        self.spec
    }

    /// The slots that hold a filter, one bit each.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
    }

    /// The slots whose filters contain the id, one bit each.
    pub(crate) fn matches(&self, id: HashedId<'_>) -> u64 {
        let mut slots = self.used;
        if slots != 0 && !self.spec.is_native() {
            return self.foreign_matches(id);
        }
        // Without slots there are no words.
        let _ = slots != 0
            && self.spec.all_positions(id, |position| {
                slots &= self.slots_at(position);
                slots != 0
            });
        slots
    }

    /// Makes these slots ready to be asked for many ids. There is one at least.
    pub(crate) fn query(&self, slots: u64) -> Query<'_> {
        Query {
            bank: self,
            words: &self.words,
            width_log2: self.width_log2,
            bits: self.spec.bits(),
            hashes: self.spec.parameters.hashes(),
            seed: self.spec.seed,
            slots,
        }
    }

    #[inline(never)]
    fn foreign_matches(&self, id: HashedId<'_>) -> u64 {
        let mut slots = self.used;
        for position in ForeignPositions::new(self.spec, id) {
            slots &= self.slots_at(position);
            if slots == 0 {
                break;
            }
        }
        slots
    }

    /// Takes an empty slot, if fewer than 64 are used. Makes room for as many as are `coming`, this one among them.
    pub(crate) fn add_slot(&mut self, coming: usize) -> Option<usize> {
        let slot = self.used.trailing_ones() as usize;
        if slot == MAX_SLOTS {
            return None;
        }
        let needed = self.used.count_ones() as usize + coming;
        let width_log2 = needed.next_power_of_two().trailing_zeros();
        if width_log2 > self.width_log2 {
            self.resize(width_log2);
        }
        if self.words.is_empty() {
            self.words = self.words_for(self.width_log2);
        }
        self.used |= 1 << slot;
        Some(slot)
    }

    /// Copies a filter of this spec into a slot, all of whose bits it has.
    pub(crate) fn load(&mut self, slot: usize, filter: &BloomFilter) {
        debug_assert_eq!(self.spec, filter.spec());
        let width = 1 << self.width_log2;
        let positions_a_word = 64 / width;
        for (index, word) in self.words.iter_mut().enumerate() {
            let first = index * positions_a_word;
            let bits = spread(filter.words()[first / 64] >> (first % 64), width);
            *word = (u64::from_le_bytes(*word) | bits << slot).to_le_bytes();
        }
    }

    /// Inserts an id into a slot of a bank of native filters. Returns whether the slot's filter did not contain it.
    pub(crate) fn insert(&mut self, slot: usize, id: HashedId<'_>) -> bool {
        let mut new = false;
        self.spec.all_positions(id, |position| {
            new |= self.set(slot, position);
            true
        });
        new
    }

    /// The filter in a slot.
    pub(crate) fn filter(&self, slot: usize) -> BloomFilter {
        let mut filter = BloomFilter::with_spec(self.spec);
        let mask = self.repeat_in_word(1 << slot);
        for (index, word) in self.words.iter().enumerate() {
            for offset in bits_of(u64::from_le_bytes(*word) & mask, (index as u32) << 6) {
                filter.set(offset >> self.width_log2);
            }
        }
        filter
    }

    /// Empties slots and gives them free. The memory shrinks when most of it has become free.
    pub(crate) fn remove(&mut self, slots: u64) {
        self.used &= !slots;
        if self.used == 0 {
            *self = BitSlicedFilters::new(self.spec);
            return;
        }
        let keep = self.repeat_in_word(!slots);
        for word in &mut self.words {
            *word = (u64::from_le_bytes(*word) & keep).to_le_bytes();
        }
        let needed = 64 - self.used.leading_zeros();
        let width_log2 = needed.next_power_of_two().trailing_zeros();
        if width_log2 + 1 < self.width_log2 {
            self.resize(width_log2);
        }
    }

    /// How many bits a slot has set.
    pub(crate) fn set_bits(&self, slot: usize) -> u32 {
        let mask = self.repeat_in_word(1 << slot);
        let in_word = |word: &Word| (u64::from_le_bytes(*word) & mask).count_ones();
        self.words.iter().map(in_word).sum()
    }

    #[inline]
    fn slots_at(&self, position: u32) -> u64 {
        slots_from(&self.words, self.width_log2, position) & self.slot_mask()
    }

    /// Sets a bit. Whether it was not set.
    #[inline]
    fn set(&mut self, slot: usize, position: u32) -> bool {
        let offset = ((position as usize) << self.width_log2) + slot;
        let (byte, bit) = (&mut self.words.as_flattened_mut()[offset >> 3], 1 << (offset & 7));
        let is_new = *byte & bit == 0;
        *byte |= bit;
        is_new
    }

    #[inline]
    fn slot_mask(&self) -> u64 {
        u64::MAX >> (64 - (1u32 << self.width_log2))
    }

    /// A word in which every position has these slots.
    fn repeat_in_word(&self, slots: u64) -> u64 {
        let width = 1 << self.width_log2;
        (0..64)
            .step_by(width)
            .fold(0, |word, offset| word | (slots & self.slot_mask()) << offset)
    }

    fn words_for(&self, width_log2: u32) -> Vec<Word> {
        let bits = u64::from(self.spec.bits()) << width_log2;
        vec![Word::default(); bits.div_ceil(64) as usize]
    }

    fn resize(&mut self, width_log2: u32) {
        if !self.words.is_empty() {
            let mut words = self.words_for(width_log2);
            for position in 0..self.spec.bits() {
                let offset = (position as usize) << width_log2;
                let word = &mut words[offset >> 6];
                *word = (u64::from_le_bytes(*word) | self.slots_at(position) << (offset & 63)).to_le_bytes();
            }
            self.words = words;
        }
        self.width_log2 = width_log2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    fn spec() -> FilterSpec {
        FilterSpec::native(Parameters::for_capacity(50, 0.01).unwrap(), 3)
    }

    fn filter_of(ids: std::ops::Range<u32>) -> BloomFilter {
        let mut filter = BloomFilter::with_spec(spec());
        for id in ids {
            filter.insert(id.to_string());
        }
        filter
    }

    #[test]
    fn every_lane_answers_as_its_filter_does() {
        let filters: Vec<BloomFilter> = (0..MAX_SLOTS as u32).map(|i| filter_of(i * 40..i * 40 + 50)).collect();
        let mut bank = BitSlicedFilters::new(spec());
        for (index, filter) in filters.iter().enumerate() {
            let slot = bank.add_slot(1).unwrap();
            assert_eq!(slot, index);
            bank.load(slot, filter);
            assert_eq!(bank.set_bits(slot), filter.set_bits());
            assert!((0..=slot).all(|slot| bank.filter(slot) == filters[slot]));
        }
        assert_eq!(bank.add_slot(1), None);
        for id in 0..4000 {
            let id = id.to_string();
            let slots = bank.matches(HashedId::new(id.as_bytes()));
            for (slot, filter) in filters.iter().enumerate() {
                assert_eq!(slots >> slot & 1 == 1, filter.contains(&id));
            }
        }
        for (slot, filter) in filters.iter().enumerate() {
            assert_eq!(&bank.filter(slot), filter);
        }
    }

    #[test]
    fn slots_that_come_together_find_room_for_them_all() {
        for coming in 1..=MAX_SLOTS {
            let mut bank = BitSlicedFilters::new(spec());
            for left in (1..=coming).rev() {
                let slot = bank.add_slot(left).unwrap();
                bank.load(slot, &filter_of(0..left as u32));
            }
            let mut one_by_one = BitSlicedFilters::new(spec());
            for _ in 0..coming {
                one_by_one.add_slot(1);
            }
            assert_eq!(bank.words.len(), one_by_one.words.len());
            assert!((0..coming).all(|slot| bank.filter(slot) == filter_of(0..(coming - slot) as u32)));
        }
    }

    #[test]
    fn removed_slots_are_empty_when_they_are_taken_again() {
        let mut bank = BitSlicedFilters::new(spec());
        for i in 0..20 {
            let slot = bank.add_slot(1).unwrap();
            bank.load(slot, &filter_of(i * 50..i * 50 + 50));
        }
        let before = bank.bytes();
        bank.remove(!0b101);
        assert!(bank.bytes() < before);
        assert_eq!(bank.filter(2), filter_of(100..150));
        assert_eq!(bank.add_slot(1), Some(1));
        assert_eq!(
            (bank.set_bits(1), bank.set_bits(2)),
            (0, filter_of(100..150).set_bits())
        );
        bank.remove(u64::MAX);
        assert!(bank.is_empty() && bank.bytes() == 0);
    }
}
