//! Several ids at once, wherever they lie: in a Rust slice, or in the one text in which a batch crosses from JavaScript.

use crate::hash::HashedId;
use crate::hash_index::HashIndex;

/// A list may leave so much memory behind for the next one.
const KEPT_BYTES: usize = 1 << 18;

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

/// The ids met so far in a list, to pass each one once. Its memory is used again by each list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Met {
    index: HashIndex,
}

impl Met {
    /// A new list begins.
    pub(crate) fn clear(&mut self, count: usize) {
        self.index.clear(count);
    }

    /// Whether the id at `index` is the first of its kind.
    #[inline]
    pub(crate) fn is_first<L: IdList + ?Sized>(&mut self, ids: &L, index: usize, id: HashedId<'_>) -> bool {
        self.index.insert(id.unseeded(), index as u32, |other| {
            ids.id(other as usize) == id.bytes()
        })
    }

    /// Gives back the memory of an unusually long list.
    pub(crate) fn shrink(&mut self) {
        if self.index.bytes() > KEPT_BYTES {
            *self = Met::default();
        }
    }
}
