//! Filters of one shape side by side, asked all at once.
//!
//! All filters of one shape look at the same k positions for an id. So their bits are kept position by position, one lane of a small word for
//! each filter: k loads and ANDs leave a 1 in the lanes of exactly those filters that contain the id, and the usual answer, "none", is
//! there after a few of them.

use crate::BloomFilter;
use crate::bloom::{Shape, bits_of};
use crate::hash::{HashedId, Positions, hash_id};
use crate::wire::ForeignPositions;

/// Most filters side by side.
pub(crate) const MAX_LANES: usize = 64;

/// So many positions are looked at before the first question whether any lane is left: a processor guesses wrong where to stop, and that costs more.
const FIRST_POSITIONS: u32 = 6;

/// Positions of so many lanes are a byte each, which takes less work to look at than some bits of a word.
const BYTE_LOG2: u32 = 3;

/// 64 bits, the lowest first.
type Word = [u8; 8];

/// Up to 64 filters of one shape.
#[derive(Debug, Clone)]
pub(crate) struct FilterBank {
    shape: Shape,
    /// The lanes of a position are `1 << width_log2` adjacent bits, which never straddle a word.
    width_log2: u32,
    words: Vec<Word>,
    used: u64,
}

/// The lanes of a bank that answer at one time, for many ids in turn: what each look needs lies together here.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    bank: &'a FilterBank,
    words: &'a [Word],
    width_log2: u32,
    bits: u32,
    hashes: u32,
    seed: u64,
    lanes: u64,
}

impl Probe<'_> {
    /// Whether a filter contains the id of this unseeded hash. Its text is asked for where the filters hash it otherwise.
    #[inline]
    pub(crate) fn finds<'id>(&self, unseeded: u64, text: impl Fn() -> &'id [u8]) -> bool {
        if !self.bank.shape.is_native() {
            let id = HashedId::with_hash(text(), unseeded);
            return self.bank.foreign_matches(id) & self.lanes != 0;
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
            self.look(positions, |position| lanes_from(words, width_log2, position))
        }
    }

    /// Whether a lane is left after all of an id's positions, of which one look tells the lanes.
    #[inline]
    fn look(&self, mut positions: Positions, lanes_at: impl Fn(u32) -> u64) -> bool {
        let mut lanes = self.lanes;
        let Some(rest) = self.hashes.checked_sub(FIRST_POSITIONS) else {
            return (0..self.hashes).fold(lanes, |lanes, _| lanes & lanes_at(positions.draw())) != 0;
        };
        for _ in 0..FIRST_POSITIONS {
            lanes &= lanes_at(positions.draw());
        }
        if lanes != 0 {
            for _ in 0..rest {
                lanes &= lanes_at(positions.draw());
            }
        }
        lanes != 0
    }
}

/// Not copied into the loop that asks: most filters have no seed.
#[inline(never)]
fn seeded(text: &[u8], seed: u64) -> u64 {
    hash_id(text, seed)
}

/// The lanes of a position, and above them what comes after them in their word.
#[inline]
fn lanes_from(words: &[Word], width_log2: u32, position: u32) -> u64 {
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

impl FilterBank {
    pub(crate) fn new(shape: Shape) -> Self {
        FilterBank {
            shape,
            width_log2: 0,
            words: Vec::new(),
            used: 0,
        }
    }

    /// Has an empty bank take filters of this shape.
    pub(crate) fn reshape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// The lanes that hold a filter, one bit each.
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

    /// The lanes whose filters contain the id, one bit each.
    pub(crate) fn matches(&self, id: HashedId<'_>) -> u64 {
        let mut lanes = self.used;
        if lanes != 0 && !self.shape.is_native() {
            return self.foreign_matches(id);
        }
        // Without lanes there are no words.
        let _ = lanes != 0
            && self.shape.all_positions(id, |position| {
                lanes &= self.lanes_at(position);
                lanes != 0
            });
        lanes
    }

    /// Makes these lanes ready to be asked for many ids. There is one at least.
    pub(crate) fn probe(&self, lanes: u64) -> Probe<'_> {
        Probe {
            bank: self,
            words: &self.words,
            width_log2: self.width_log2,
            bits: self.shape.bits(),
            hashes: self.shape.parameters.hashes(),
            seed: self.shape.seed,
            lanes,
        }
    }

    #[inline(never)]
    fn foreign_matches(&self, id: HashedId<'_>) -> u64 {
        let mut lanes = self.used;
        for position in ForeignPositions::new(self.shape, id) {
            lanes &= self.lanes_at(position);
            if lanes == 0 {
                break;
            }
        }
        lanes
    }

    /// Takes an empty lane, if fewer than 64 are used. Makes room for as many as are `coming`, this one among them.
    pub(crate) fn add_lane(&mut self, coming: usize) -> Option<usize> {
        let lane = self.used.trailing_ones() as usize;
        if lane == MAX_LANES {
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
        self.used |= 1 << lane;
        Some(lane)
    }

    /// Copies a filter of this shape into a lane, all of whose bits it has.
    pub(crate) fn load(&mut self, lane: usize, filter: &BloomFilter) {
        debug_assert_eq!(self.shape, filter.shape());
        let width = 1 << self.width_log2;
        let positions_a_word = 64 / width;
        for (index, word) in self.words.iter_mut().enumerate() {
            let first = index * positions_a_word;
            let bits = spread(filter.words()[first / 64] >> (first % 64), width);
            *word = (u64::from_le_bytes(*word) | bits << lane).to_le_bytes();
        }
    }

    /// Inserts an id into a lane of a bank of native filters. Returns whether the lane's filter did not contain it.
    pub(crate) fn insert(&mut self, lane: usize, id: HashedId<'_>) -> bool {
        let mut new = false;
        self.shape.all_positions(id, |position| {
            new |= self.set(lane, position);
            true
        });
        new
    }

    /// The filter in a lane.
    pub(crate) fn filter(&self, lane: usize) -> BloomFilter {
        let mut filter = BloomFilter::of_shape(self.shape);
        let mask = self.repeat_in_word(1 << lane);
        for (index, word) in self.words.iter().enumerate() {
            for offset in bits_of(u64::from_le_bytes(*word) & mask, (index as u32) << 6) {
                filter.set(offset >> self.width_log2);
            }
        }
        filter
    }

    /// Empties lanes and gives them free. The memory shrinks when most of it has become free.
    pub(crate) fn remove(&mut self, lanes: u64) {
        self.used &= !lanes;
        if self.used == 0 {
            *self = FilterBank::new(self.shape);
            return;
        }
        let keep = self.repeat_in_word(!lanes);
        for word in &mut self.words {
            *word = (u64::from_le_bytes(*word) & keep).to_le_bytes();
        }
        let needed = 64 - self.used.leading_zeros();
        let width_log2 = needed.next_power_of_two().trailing_zeros();
        if width_log2 + 1 < self.width_log2 {
            self.resize(width_log2);
        }
    }

    /// How many bits a lane has set.
    pub(crate) fn set_bits(&self, lane: usize) -> u32 {
        let mask = self.repeat_in_word(1 << lane);
        let in_word = |word: &Word| (u64::from_le_bytes(*word) & mask).count_ones();
        self.words.iter().map(in_word).sum()
    }

    #[inline]
    fn lanes_at(&self, position: u32) -> u64 {
        lanes_from(&self.words, self.width_log2, position) & self.lane_mask()
    }

    /// Sets a bit. Whether it was not set.
    #[inline]
    fn set(&mut self, lane: usize, position: u32) -> bool {
        let offset = ((position as usize) << self.width_log2) + lane;
        let (byte, bit) = (&mut self.words.as_flattened_mut()[offset >> 3], 1 << (offset & 7));
        let is_new = *byte & bit == 0;
        *byte |= bit;
        is_new
    }

    #[inline]
    fn lane_mask(&self) -> u64 {
        u64::MAX >> (64 - (1u32 << self.width_log2))
    }

    /// A word in which every position has these lanes.
    fn repeat_in_word(&self, lanes: u64) -> u64 {
        let width = 1 << self.width_log2;
        (0..64)
            .step_by(width)
            .fold(0, |word, offset| word | (lanes & self.lane_mask()) << offset)
    }

    fn words_for(&self, width_log2: u32) -> Vec<Word> {
        let bits = u64::from(self.shape.bits()) << width_log2;
        vec![Word::default(); bits.div_ceil(64) as usize]
    }

    fn resize(&mut self, width_log2: u32) {
        if !self.words.is_empty() {
            let mut words = self.words_for(width_log2);
            for position in 0..self.shape.bits() {
                let offset = (position as usize) << width_log2;
                let word = &mut words[offset >> 6];
                *word = (u64::from_le_bytes(*word) | self.lanes_at(position) << (offset & 63)).to_le_bytes();
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

    fn shape() -> Shape {
        Shape::native(Parameters::for_capacity(50, 0.01).unwrap(), 3)
    }

    fn filter_of(ids: std::ops::Range<u32>) -> BloomFilter {
        let mut filter = BloomFilter::of_shape(shape());
        for id in ids {
            filter.insert(id.to_string());
        }
        filter
    }

    #[test]
    fn every_lane_answers_as_its_filter_does() {
        let filters: Vec<BloomFilter> = (0..MAX_LANES as u32).map(|i| filter_of(i * 40..i * 40 + 50)).collect();
        let mut bank = FilterBank::new(shape());
        for (index, filter) in filters.iter().enumerate() {
            let lane = bank.add_lane(1).unwrap();
            assert_eq!(lane, index);
            bank.load(lane, filter);
            assert_eq!(bank.set_bits(lane), filter.set_bits());
            assert!((0..=lane).all(|lane| bank.filter(lane) == filters[lane]));
        }
        assert_eq!(bank.add_lane(1), None);
        for id in 0..4000 {
            let id = id.to_string();
            let lanes = bank.matches(HashedId::new(id.as_bytes()));
            for (lane, filter) in filters.iter().enumerate() {
                assert_eq!(lanes >> lane & 1 == 1, filter.contains(&id));
            }
        }
        for (lane, filter) in filters.iter().enumerate() {
            assert_eq!(&bank.filter(lane), filter);
        }
    }

    #[test]
    fn lanes_that_come_together_find_room_for_them_all() {
        for coming in 1..=MAX_LANES {
            let mut bank = FilterBank::new(shape());
            for left in (1..=coming).rev() {
                let lane = bank.add_lane(left).unwrap();
                bank.load(lane, &filter_of(0..left as u32));
            }
            let mut one_by_one = FilterBank::new(shape());
            for _ in 0..coming {
                one_by_one.add_lane(1);
            }
            assert_eq!(bank.words.len(), one_by_one.words.len());
            assert!((0..coming).all(|lane| bank.filter(lane) == filter_of(0..(coming - lane) as u32)));
        }
    }

    #[test]
    fn removed_lanes_are_empty_when_they_are_taken_again() {
        let mut bank = FilterBank::new(shape());
        for i in 0..20 {
            let lane = bank.add_lane(1).unwrap();
            bank.load(lane, &filter_of(i * 50..i * 50 + 50));
        }
        let before = bank.bytes();
        bank.remove(!0b101);
        assert!(bank.bytes() < before);
        assert_eq!(bank.filter(2), filter_of(100..150));
        assert_eq!(bank.add_lane(1), Some(1));
        assert_eq!(
            (bank.set_bits(1), bank.set_bits(2)),
            (0, filter_of(100..150).set_bits())
        );
        bank.remove(u64::MAX);
        assert!(bank.is_empty() && bank.bytes() == 0);
    }
}
