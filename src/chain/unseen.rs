//! Unseen ids, which are fresh although a shard contains them, and ids that were seen again since, so that a late or
//! repeated `unsee` changes nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;
use crate::time::Time;

/// Most bytes of an id that can become unseen.
pub(super) const MAX_UNSEEN_ID_BYTES: usize = 256;
/// Most bytes of all entries in the stored form, which is read for every page.
const MAX_BYTES: usize = 64 << 10;
/// Stored bytes of an entry without its id: `unseen:`, and Unix milliseconds in 13 digits.
const BYTES_WITHOUT_ID: usize = 20;

/// The state of an id that became unseen, with its time of the server's clock. Of two states the later one wins; on a
/// tie, seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    is_seen: bool,
}

/// Ids that became unseen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    ids: BTreeMap<Vec<u8>, Entry>,
}

impl Unseen {
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        self.since(id).is_some()
    }

    /// The time since which an id is unseen.
    pub(super) fn since(&self, id: &[u8]) -> Option<Time> {
        self.ids.get(id).filter(|known| !known.is_seen).map(|known| known.at)
    }

    /// Adds an id, unless it is too long. A known id gets the later state.
    pub(super) fn insert(&mut self, id: &[u8], at: Time, is_seen: bool) {
        let new = Entry { at, is_seen };
        if let Some(known) = self.ids.get_mut(id) {
            *known = new.max(*known);
        } else if id.len() <= MAX_UNSEEN_ID_BYTES {
            self.ids.insert(id.to_vec(), new);
        }
    }

    /// Marks an id as seen at this time, if it became unseen before.
    pub(super) fn see(&mut self, id: &[u8], at: Time) {
        if let Some(known) = self.ids.get_mut(id) {
            *known = Entry {
                at: known.at.max(at),
                is_seen: true,
            };
        }
    }

    pub(super) fn unite(&mut self, other: &Unseen) {
        for (id, &Entry { at, is_seen }) in &other.ids {
            self.insert(id, at, is_seen);
        }
    }

    pub(super) fn retain(&mut self, mut is_needed: impl FnMut(&[u8], Time) -> bool) {
        self.ids.retain(|id, known| is_needed(id, known.at));
    }

    /// Retains the ids selected by `is_needed`, up to the limits: unseen ones before those seen again, each newest
    /// first. Returns how many exceed the limits.
    pub(super) fn retain_newest(&mut self, is_needed: impl Fn(&[u8]) -> bool) -> usize {
        self.retain(|id, _| is_needed(id));
        let mut bytes = self.ids.keys().map(|id| id.len() + BYTES_WITHOUT_ID).sum::<usize>();
        if self.ids.len() <= MAX_SNAPSHOT_UNSEEN && bytes <= MAX_BYTES {
            return 0;
        }
        let mut all: Vec<(Vec<u8>, Entry)> = mem::take(&mut self.ids).into_iter().collect();
        all.sort_by_key(|&(_, known)| (known.is_seen, Reverse(known.at)));
        let before = all.len();
        while all.len() > MAX_SNAPSHOT_UNSEEN || bytes > MAX_BYTES {
            bytes -= all.pop().map_or(0, |(id, _)| id.len() + BYTES_WITHOUT_ID);
        }
        let left_out = before - all.len();
        self.ids = all.into_iter().collect();
        left_out
    }

    /// The ids selected by `is_needed` that are unseen or, with `is_seen`, seen again, newest first.
    pub(super) fn newest_first(&self, is_seen: bool, is_needed: impl Fn(&[u8]) -> bool) -> Vec<Impression> {
        let wanted = |(id, known): &(&Vec<u8>, &Entry)| known.is_seen == is_seen && is_needed(id);
        let text = |(id, known): (&Vec<u8>, &Entry)| Impression {
            id: String::from_utf8_lossy(id).into_owned(),
            at: known.at,
        };
        let mut list: Vec<Impression> = self.ids.iter().filter(wanted).map(text).collect();
        list.sort_by_key(|entry| Reverse(entry.at));
        list
    }
}
