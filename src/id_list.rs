//! Several ids at once, wherever they lie: in a Rust slice, or in the one text in which a batch crosses from
//! JavaScript.

use std::collections::hash_map::Entry;

use crate::error::Error;
use crate::hash::{HashedId, hash_id};
use crate::id_map::IdMap;

/// So many bytes stay reserved for the next list.
const KEPT_BYTES: usize = 1 << 18;

/// A list of ids, each the UTF-8 bytes of its text.
pub trait IdList {
    /// How many ids there are.
    fn len(&self) -> usize;

    /// The id at `index`, which is below [`IdList::len`].
    fn get(&self, index: usize) -> &[u8];

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<S: AsRef<[u8]>> IdList for [S] {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

impl<S: AsRef<[u8]>, const N: usize> IdList for [S; N] {
    fn len(&self) -> usize {
        N
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

impl<S: AsRef<[u8]>> IdList for Vec<S> {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

/// The hashes of a list's ids, and which ids are repetitions. Its memory is used again for each list.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashedList {
    hashes: Vec<u64>,
    /// The index of the first id of each hash.
    firsts: IdMap<u32>,
    /// The indices of ids that are equal to an earlier one, ascending.
    repeated: Vec<u32>,
    /// The indices of ids that have the hash of an earlier one, but another text. Only ids that were made for it do.
    colliding: Vec<u32>,
}

impl HashedList {
    /// Hashes the ids of a list, and finds the repetitions.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn read(&mut self, ids: &(impl IdList + ?Sized)) -> Result<(), Error> {
        self.hashes.clear();
        self.hashes.try_reserve(ids.len())?;
        // One loop that does nothing else lets the processor work on several hashes at once.
        self.hashes
            .extend((0..ids.len()).map(|index| hash_id(ids.get(index), 0)));
        self.find_repeated(|index| ids.get(index as usize))
    }

    fn find_repeated<'a>(&mut self, text: impl Fn(u32) -> &'a [u8]) -> Result<(), Error> {
        self.firsts.clear();
        self.repeated.clear();
        self.colliding.clear();
        self.firsts.try_reserve(self.hashes.len())?;
        for (index, &hash) in (0..).zip(&self.hashes) {
            match self.firsts.entry(hash) {
                Entry::Vacant(first) => {
                    first.insert(index);
                }
                Entry::Occupied(first) => {
                    let to = if text(*first.get()) == text(index) {
                        &mut self.repeated
                    } else {
                        &mut self.colliding
                    };
                    to.try_reserve(1)?;
                    to.push(index);
                }
            }
        }
        if !self.colliding.is_empty() {
            // Sorted by text, however many have one hash: what is equal lies side by side, the first one first.
            self.colliding
                .sort_unstable_by(|&a, &b| text(a).cmp(text(b)).then(a.cmp(&b)));
            for pair in self.colliding.windows(2) {
                if text(pair[0]) == text(pair[1]) {
                    self.repeated.try_reserve(1)?;
                    self.repeated.push(pair[1]);
                }
            }
            self.repeated.sort_unstable();
        }
        Ok(())
    }

    /// The hash (seed 0) of the id at `index`.
    #[inline]
    pub(crate) fn hash(&self, index: usize) -> u64 {
        self.hashes[index]
    }

    /// The id at `index` of the list that was read.
    #[inline]
    pub(crate) fn id<'a>(&self, ids: &'a (impl IdList + ?Sized), index: usize) -> HashedId<'a> {
        HashedId::with_hash(ids.get(index), self.hashes[index])
    }

    /// Each index in order, with whether its id is the first of its text.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let mut repeated = self.repeated.iter().peekable();
        (0..self.hashes.len()).map(move |index| {
            (
                index,
                repeated.next_if(|&&repeated| repeated as usize == index).is_none(),
            )
        })
    }

    /// Gives back the memory of an unusually long list.
    pub(crate) fn shrink(&mut self) {
        let entry = size_of::<(u64, u32)>();
        if self.hashes.capacity() * size_of::<u64>() + self.firsts.capacity() * entry > KEPT_BYTES {
            *self = HashedList::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;

    /// Whether each id of a list is the first of its text.
    fn firsts(list: &mut HashedList, ids: &[String]) -> Vec<bool> {
        list.read(ids).unwrap();
        list.firsts().map(|(_, is_first)| is_first).collect()
    }

    fn expected(ids: &[String]) -> Vec<bool> {
        let mut met = HashSet::new();
        ids.iter().map(|id| met.insert(id)).collect()
    }

    #[test]
    fn of_equal_ids_the_first_is_known_in_lists_of_any_length() {
        let mut list = HashedList::default();
        for (count, kinds) in [(0, 1), (1, 1), (7, 2), (300, 300), (5000, 100), (100_000, 90_000)] {
            let ids: Vec<String> = (0..count).map(|id| (id * 7919 % kinds).to_string()).collect();
            assert_eq!(firsts(&mut list, &ids), expected(&ids), "{count} ids of {kinds} kinds");
        }
    }

    #[test]
    fn ids_of_one_hash_are_told_apart_by_their_texts_in_few_comparisons() {
        let ids: Vec<String> = (0..60_000).map(|id| (id * 7919 % 50_000).to_string()).collect();
        for upper_half_alone in [true, false] {
            let lower = |index: u64| if upper_half_alone { index * 7919 % 50_000 } else { 0 };
            let mut list = HashedList {
                hashes: (0..60_000).map(|index| 17 << 32 | lower(index)).collect(),
                ..HashedList::default()
            };
            let looks = Cell::new(0u32);
            list.find_repeated(|index| {
                looks.set(looks.get() + 1);
                ids[index as usize].as_bytes()
            })
            .unwrap();
            let found: Vec<bool> = list.firsts().map(|(_, is_first)| is_first).collect();
            assert_eq!(found, expected(&ids));
            // As many as a sort of so many takes; one by one it would be 1,800,000,000.
            assert!(looks.get() < 60_000 * 60, "{}", looks.get());
        }
    }

    #[test]
    fn an_unusually_long_list_leaves_no_memory_behind() {
        let mut list = HashedList::default();
        firsts(&mut list, &vec![String::new(); 100_000]);
        list.shrink();
        assert_eq!(list.hashes.capacity(), 0);
    }
}
