//! A small hash index: from the hash of something that lies elsewhere to the number under which it lies there.
//!
//! Open addressing with linear probing over slots that are never more than half full. A slot keeps the upper half of
//! the hash, which decides its home as well, so the index grows and closes gaps without asking for the things
//! themselves (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R).

/// Fewest slots, a power of two.
const MIN_SLOTS: usize = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    /// The hash's upper half, made odd; 0: the slot is free.
    tag: u32,
    number: u32,
}

/// Numbers by hash. Several numbers may have one hash.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashIndex {
    slots: Vec<Slot>,
    len: usize,
}

impl HashIndex {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// Forgets everything and makes room for so many numbers.
    pub(crate) fn clear(&mut self, room: usize) {
        self.slots.clear();
        self.slots
            .resize((2 * room).next_power_of_two().max(MIN_SLOTS), Slot::default());
        self.len = 0;
    }

    /// The number under this hash that `is` confirms.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl FnMut(u32) -> bool) -> Option<u32> {
        let slot = self.slots.get(self.probe(hash, is))?;
        (slot.tag != 0).then_some(slot.number)
    }

    /// Adds a number.
    pub(crate) fn add(&mut self, hash: u64, number: u32) {
        self.insert(hash, number, |_| false);
    }

    /// Adds a number unless one is there that `is` confirms. Whether it was added.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, number: u32, is: impl FnMut(u32) -> bool) -> bool {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let index = self.probe(hash, is);
        if self.slots[index].tag != 0 {
            return false;
        }
        self.slots[index] = Slot {
            tag: tag_of(hash),
            number,
        };
        self.len += 1;
        true
    }

    /// Takes out a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let mut gap = self.probe(hash, |other| other == number);
        if self.slots.get(gap).is_none_or(|slot| slot.tag == 0) {
            return;
        }
        self.len -= 1;
        let mask = self.slots.len() - 1;
        let mut next = gap;
        loop {
            self.slots[gap] = Slot::default();
            loop {
                next = (next + 1) & mask;
                let slot = self.slots[next];
                if slot.tag == 0 {
                    return;
                }
                // It may move up if its home does not lie between the gap and itself.
                let from_home = next.wrapping_sub(self.home(slot.tag)) & mask;
                if from_home >= next.wrapping_sub(gap) & mask {
                    self.slots[gap] = slot;
                    gap = next;
                    break;
                }
            }
        }
    }

    /// The slot of the number that `is` confirms, or the free one where it would go.
    #[inline]
    fn probe(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> usize {
        if self.slots.is_empty() {
            return 0;
        }
        let (tag, mask) = (tag_of(hash), self.slots.len() - 1);
        let mut index = self.home(tag);
        loop {
            let slot = self.slots[index];
            if slot.tag == 0 || (slot.tag == tag && is(slot.number)) {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        tag as usize >> (32 - self.slots.len().trailing_zeros())
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.clear(old.len().max(MIN_SLOTS / 2));
        for slot in old {
            if slot.tag != 0 {
                self.add(u64::from(slot.tag) << 32, slot.number);
            }
        }
    }
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;

    #[test]
    fn it_holds_what_a_map_holds_through_many_insertions_and_removals() {
        let (mut index, mut map) = (HashIndex::default(), HashMap::new());
        let mut state = 7u64;
        for step in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Few homes, so that runs collide and wrap around.
            let key = (state >> 33) as u32 % 500;
            let hash = u64::from(key % 50) << 58 | u64::from(key) << 32;
            if state >> 62 == 0 {
                if let Some(number) = map.remove(&key) {
                    index.remove(hash, number);
                }
            } else if let Entry::Vacant(vacant) = map.entry(key) {
                assert!(index.insert(hash, step, |_| false));
                vacant.insert(step);
            }
            assert_eq!(index.len(), map.len());
        }
        for (key, number) in &map {
            let hash = u64::from(key % 50) << 58 | u64::from(*key) << 32;
            assert_eq!(index.find(hash, |other| other == *number), Some(*number));
            assert_eq!(index.find(hash, |_| false), None);
        }
    }

    #[test]
    fn an_empty_index_finds_nothing_and_removes_nothing() {
        let mut index = HashIndex::default();
        assert_eq!(index.find(1, |_| true), None);
        index.remove(1, 1);
        assert!(index.insert(1, 2, |_| true) && !index.insert(1, 3, |_| true));
    }
}
