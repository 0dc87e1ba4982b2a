//! Several ids at once, wherever they lie: in a Rust slice, or in the one text in which a batch crosses from
//! JavaScript. An item may have several ids.

use std::collections::hash_map::Entry;
use std::ops::Range;

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

    /// How many items these ids belong to. By default each id is an item's only one.
    fn items(&self) -> usize {
        self.len()
    }

    /// Where the ids of an item are, its own id first. `item` is below [`IdList::items`].
    fn ids_of(&self, item: usize) -> Range<usize> {
        item..item + 1
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

/// The ids of items that may have several each: a repost and its original, a story that several publishers carry.
///
/// ```
/// use seenguard::{IdList, ItemIds};
/// let items: ItemIds<&str> = [vec!["repost-3", "article-17"], vec!["article-18"]].into_iter().collect();
/// assert_eq!((items.items(), items.len()), (2, 3));
/// ```
#[derive(Debug, Clone)]
pub struct ItemIds<S> {
    ids: Vec<S>,
    /// Where the ids of each item end.
    ends: Vec<usize>,
}

impl<S, I: IntoIterator<Item = S>> FromIterator<I> for ItemIds<S> {
    fn from_iter<T: IntoIterator<Item = I>>(items: T) -> Self {
        let mut list = ItemIds {
            ids: Vec::new(),
            ends: Vec::new(),
        };
        for ids in items {
            list.ids.extend(ids);
            list.ends.push(list.ids.len());
        }
        list
    }
}

impl<S: AsRef<[u8]>> IdList for ItemIds<S> {
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        self.ids[index].as_ref()
    }

    fn items(&self) -> usize {
        self.ends.len()
    }

    fn ids_of(&self, item: usize) -> Range<usize> {
        let start = item.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[item]
    }
}

/// A list of items in two, as indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// In order.
    pub fresh: Vec<u32>,
    /// Those seen longest ago first.
    pub seen: Vec<u32>,
}

/// The hashes of a list's ids. Its memory is used again for each list.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashedList {
    hashes: Vec<u64>,
    /// The ids of items that were kept.
    kept: KeptIds,
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
        self.kept.firsts.clear();
        self.kept.try_reserve(ids.len())
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

    /// Keeps an item unless it has an id of one that was kept before. Returns whether it is kept.
    #[inline]
    pub(crate) fn keep(&mut self, ids: &(impl IdList + ?Sized), item: usize) -> bool {
        self.kept.keep(&self.hashes, ids, item)
    }

    /// The same with a record of its own of what was kept, beside what [`HashedList::keep`] has kept. There must be
    /// room in it for the list's ids.
    pub(crate) fn keep_beside(&self, kept: &mut KeptIds, ids: &(impl IdList + ?Sized), item: usize) -> bool {
        !self.kept.contains_any(&self.hashes, ids, item) && kept.keep(&self.hashes, ids, item)
    }

    /// Gives back the memory of an unusually long list.
    pub(crate) fn shrink(&mut self) {
        let entry = size_of::<(u64, u32)>();
        if self.hashes.capacity() * size_of::<u64>() + self.kept.firsts.capacity() * entry > KEPT_BYTES {
            *self = HashedList::default();
        }
    }
}

/// The ids of items that were kept: an item that has one of them is a duplicate. Of ids that were made to have the hash
/// of another one, repetitions are not recognised: they are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptIds {
    /// The index of the first id of each hash.
    firsts: IdMap<u32>,
}

impl KeptIds {
    /// Makes room for so many ids.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn try_reserve(&mut self, ids: usize) -> Result<(), Error> {
        self.firsts.try_reserve(ids)?;
        Ok(())
    }

    #[inline]
    fn keep(&mut self, hashes: &[u64], ids: &(impl IdList + ?Sized), item: usize) -> bool {
        let mut range = ids.ids_of(item);
        if range.len() > 1 {
            // Nothing is noted of an item that is not kept.
            if self.contains_any(hashes, ids, item) {
                return false;
            }
            for index in range {
                self.firsts.entry(hashes[index]).or_insert(index as u32);
            }
            return true;
        }
        let Some(index) = range.next() else {
            return true;
        };
        match self.firsts.entry(hashes[index]) {
            Entry::Vacant(first) => {
                first.insert(index as u32);
                true
            }
            Entry::Occupied(first) => ids.get(*first.get() as usize) != ids.get(index),
        }
    }

    fn contains_any(&self, hashes: &[u64], ids: &(impl IdList + ?Sized), item: usize) -> bool {
        ids.ids_of(item).any(|index| {
            let first = self.firsts.get(&hashes[index]);
            first.is_some_and(|&first| ids.get(first as usize) == ids.get(index))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Whether each id of a list is the first of its text.
    fn firsts(list: &mut HashedList, ids: &[String]) -> Vec<bool> {
        list.read(ids).unwrap();
        (0..ids.len()).map(|index| list.keep(ids, index)).collect()
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
        let kept: Vec<bool> = (0..ids.len()).map(|index| list.keep(&ids, index)).collect();
        assert_eq!(kept, [true, true, false, true]);
    }

    #[test]
    fn an_item_is_a_duplicate_by_any_id_of_one_that_was_kept() {
        let items: ItemIds<&str> = [
            vec!["a", "b"],
            vec!["c", "b"],
            vec!["c"],
            vec!["d", "d"],
            vec![],
            vec!["d"],
        ]
        .into_iter()
        .collect();
        let mut list = HashedList::default();
        list.read(&items).unwrap();
        let kept: Vec<bool> = (0..items.items()).map(|item| list.keep(&items, item)).collect();
        assert_eq!(kept, [true, false, true, true, true, false]);
    }

    #[test]
    fn what_is_kept_beside_is_no_duplicate_of_either() {
        let ids = ["a", "b", "a", "b", "c"];
        let (mut list, mut beside) = (HashedList::default(), KeptIds::default());
        list.read(&ids).unwrap();
        assert!(list.keep(&ids, 0));
        let kept: Vec<bool> = (1..ids.len())
            .map(|index| list.keep_beside(&mut beside, &ids, index))
            .collect();
        assert_eq!(kept, [true, false, false, true]);
    }

    #[test]
    fn an_unusually_long_list_leaves_no_memory_behind() {
        let mut list = HashedList::default();
        firsts(&mut list, &vec![String::new(); 100_000]);
        list.shrink();
        assert_eq!(list.hashes.capacity(), 0);
    }
}
