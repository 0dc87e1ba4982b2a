//! Several ids at once, wherever they lie: in a Rust slice, or in the one text in which a batch crosses from JavaScript.

use hashbrown::HashTable;

use crate::hash::HashedId;

/// An indexed list of ids.
pub(crate) trait IdList {
    fn count(&self) -> usize;
    fn id(&self, index: usize) -> &[u8];
}

impl<S: AsRef<[u8]>> IdList for [S] {
    fn count(&self) -> usize {
        self.len()
    }

    fn id(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

/// The ids met so far in a list, to pass each one once.
pub(crate) struct Met {
    table: HashTable<(u64, u32)>,
}

impl Met {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Met {
            table: HashTable::with_capacity(count),
        }
    }

    /// Whether the id at `index` is the first of its kind.
    #[inline]
    pub(crate) fn is_first<L: IdList + ?Sized>(&mut self, ids: &L, index: usize, id: HashedId<'_>) -> bool {
        use hashbrown::hash_table::Entry;
        let hash = id.unseeded();
        let same = |&(other, at): &(u64, u32)| other == hash && ids.id(at as usize) == id.bytes();
        match self.table.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert((hash, index as u32));
                true
            }
        }
    }
}
