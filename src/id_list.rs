//! Lists of ids in any memory layout: a Rust slice, or the one string in which a batch is transferred from JavaScript.

use std::collections::hash_map::Entry;

use crate::hash::{HashedId, hash_id};
use crate::id_map::{IdMap, MultiplyShift};

/// Most bytes that stay reserved for the next list.
const RESERVED_BYTES: usize = 1 << 18;

/// A list of ids, each as UTF-8 bytes.
pub trait IdList {
    /// The number of ids.
    fn len(&self) -> usize;

    /// The id at `index`, which is below [`IdList::len`].
    fn get(&self, index: usize) -> &[u8];

    /// Whether the list is empty.
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

/// A split list of items, as indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// The fresh items, in order.
    pub fresh: Vec<u32>,
    /// The others, those seen longest ago first.
    pub seen: Vec<u32>,
}

/// The hashes of a list's ids, and the distinct ones among those that were inserted. Its memory is reused for each
/// list.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashedList {
    hashes: Vec<u64>,
    /// The index of the first id of each hash.
    firsts: IdMap<u32>,
}

impl HashedList {
    pub(crate) fn new(hasher: MultiplyShift) -> Self {
        HashedList {
            hashes: Vec::new(),
            firsts: IdMap::with_hasher(hasher),
        }
    }

    /// An empty list that hashes like this one.
    pub(crate) fn empty(&self) -> Self {
        HashedList::new(*self.firsts.hasher())
    }

    /// Hashes the ids of a list.
    pub(crate) fn read(&mut self, ids: &(impl IdList + ?Sized)) {
        self.hashes.clear();
        // A separate loop lets the processor compute several hashes at once.
        self.hashes
            .extend((0..ids.len()).map(|index| hash_id(ids.get(index), 0)));
        self.firsts.clear();
        self.firsts.reserve(ids.len());
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

    /// Inserts an id. Returns whether it is new. A repetition of an id whose hash collides with an earlier one's counts
    /// as new.
    #[inline]
    pub(crate) fn insert(&mut self, ids: &(impl IdList + ?Sized), index: usize) -> bool {
        match self.firsts.entry(self.hashes[index]) {
            Entry::Vacant(first) => {
                first.insert(index as u32);
                true
            }
            Entry::Occupied(first) => ids.get(*first.get() as usize) != ids.get(index),
        }
    }

    /// Frees the memory after an unusually long list.
    pub(crate) fn shrink(&mut self) {
        let entry = size_of::<(u64, u32)>();
        if self.hashes.capacity() * size_of::<u64>() + self.firsts.capacity() * entry > RESERVED_BYTES {
            *self = self.empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Whether each id of a list is its first occurrence.
    fn firsts(list: &mut HashedList, ids: &[String]) -> Vec<bool> {
        list.read(ids);
        (0..ids.len()).map(|index| list.insert(ids, index)).collect()
    }

    fn expected(ids: &[String]) -> Vec<bool> {
        let mut met = HashSet::new();
        ids.iter().map(|id| met.insert(id)).collect()
    }

    #[test]
    fn repetitions_are_recognized_in_lists_of_any_length() {
        let mut list = HashedList::default();
        for (count, kinds) in [(0, 1), (1, 1), (7, 2), (300, 300), (5000, 100), (100_000, 90_000)] {
            let ids: Vec<String> = (0..count).map(|id| (id * 7919 % kinds).to_string()).collect();
            assert_eq!(firsts(&mut list, &ids), expected(&ids), "{count} ids of {kinds} kinds");
        }
    }

    #[test]
    fn ids_with_one_hash_are_distinguished() {
        let ids = ["a", "b", "a", "c"];
        let mut list = HashedList::default();
        list.read(&ids);
        list.hashes.fill(17);
        let new: Vec<bool> = (0..ids.len()).map(|index| list.insert(&ids, index)).collect();
        assert_eq!(new, [true, true, false, true]);
    }

    #[test]
    fn memory_of_an_unusually_long_list_is_freed() {
        let mut list = HashedList::default();
        firsts(&mut list, &vec![String::new(); 100_000]);
        list.shrink();
        assert_eq!(list.hashes.capacity(), 0);
    }
}
