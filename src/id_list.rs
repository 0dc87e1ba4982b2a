//! Several ids at once, wherever they lie: in a Rust slice, or in the one text in which a batch crosses from JavaScript.

use crate::hash::HashedId;
use crate::hash_index::HashIndex;

/// A list may leave so much memory behind for the next one.
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

/// A list's ids, hashed, and which of them are the first of their kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashedList {
    hashes: Vec<u64>,
    /// The first of each kind among those that were asked for.
    firsts: HashIndex,
}

impl HashedList {
    /// Hashes the ids of a new list. One loop that does nothing else keeps several hashes under way at once.
    pub(crate) fn read<L: IdList + ?Sized>(&mut self, ids: &L) {
        self.hashes.clear();
        self.hashes
            .extend((0..ids.len()).map(|index| HashedId::new(ids.get(index)).unseeded()));
        // Twice the room: hardly any two ids then meet in the index, and what is rare costs little.
        self.firsts.clear(ids.len().saturating_mul(2));
    }

    /// The hash of the id at `index`.
    #[inline]
    pub(crate) fn hash(&self, index: usize) -> u64 {
        self.hashes[index]
    }

    /// The id at `index` of the list that was read.
    #[inline]
    pub(crate) fn id<'a, L: IdList + ?Sized>(&self, ids: &'a L, index: usize) -> HashedId<'a> {
        HashedId::with_hash(ids.get(index), self.hashes[index])
    }

    /// Whether the id at `index` is the first of its kind. To be asked for each id in turn.
    #[inline]
    pub(crate) fn is_first<L: IdList + ?Sized>(&mut self, ids: &L, index: usize) -> bool {
        self.firsts.insert(self.hashes[index], index as u32, |other| {
            ids.get(other as usize) == ids.get(index)
        })
    }

    /// Gives back the memory of an unusually long list.
    pub(crate) fn shrink(&mut self) {
        if self.hashes.capacity() * size_of::<u64>() + self.firsts.bytes() > KEPT_BYTES {
            *self = HashedList::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Whether each id of a list is the first of its kind.
    fn firsts(list: &mut HashedList, ids: &[String]) -> Vec<bool> {
        list.read(ids);
        (0..ids.len()).map(|index| list.is_first(ids, index)).collect()
    }

    #[test]
    fn of_equal_ids_the_first_is_known_in_lists_of_any_length() {
        let mut list = HashedList::default();
        for (count, kinds) in [(0, 1), (1, 1), (7, 2), (300, 300), (5000, 100), (100_000, 90_000)] {
            let ids: Vec<String> = (0..count).map(|id| (id * 7919 % kinds).to_string()).collect();
            let mut met = HashSet::new();
            let expected: Vec<bool> = ids.iter().map(|id| met.insert(id)).collect();
            assert_eq!(firsts(&mut list, &ids), expected, "{count} ids of {kinds} kinds");
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
