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
}

impl HashedList {
    /// Hashes the ids of a list.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn read(&mut self, ids: &(impl IdList + ?Sized)) -> Result<(), Error> {
        self.hashes.clear();
        self.hashes.try_reserve(ids.len())?;
        // One loop that does nothing else lets the processor work on several hashes at once.
        self.hashes
            .extend((0..ids.len()).map(|index| hash_id(ids.get(index), 0)));
        self.firsts.clear();
        self.firsts.try_reserve(ids.len())?;
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

    /// Whether the id at `index` is equal to an earlier one; to be asked for each id in turn. Of ids that were made to
    /// have the hash of another one, repetitions count as first: they are kept.
    #[inline]
    pub(crate) fn is_repeated(&mut self, ids: &(impl IdList + ?Sized), index: usize) -> bool {
        match self.firsts.entry(self.hashes[index]) {
            Entry::Vacant(first) => {
                first.insert(index as u32);
                false
            }
            Entry::Occupied(first) => ids.get(*first.get() as usize) == ids.get(index),
        }
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
    use std::collections::HashSet;

    /// Whether each id of a list is the first of its text.
    fn firsts(list: &mut HashedList, ids: &[String]) -> Vec<bool> {
        list.read(ids).unwrap();
        (0..ids.len()).map(|index| !list.is_repeated(ids, index)).collect()
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
    fn ids_of_one_hash_are_told_apart_by_their_texts() {
        let ids = ["a", "b", "a", "c"];
        let mut list = HashedList::default();
        list.read(&ids).unwrap();
        list.hashes.fill(17);
        let repeated: Vec<bool> = (0..ids.len()).map(|index| list.is_repeated(&ids, index)).collect();
        assert_eq!(repeated, [false, false, true, false]);
    }

    #[test]
    fn an_unusually_long_list_leaves_no_memory_behind() {
        let mut list = HashedList::default();
        firsts(&mut list, &vec![String::new(); 100_000]);
        list.shrink();
        assert_eq!(list.hashes.capacity(), 0);
    }
}
