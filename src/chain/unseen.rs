//! What was taken back: ids that are fresh although a shard contains them, until they are recorded again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;

/// Ids, each with the time at which it was taken back, in Unix milliseconds of the server's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    times: BTreeMap<Vec<u8>, u64>,
}

impl Unseen {
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        self.times.contains_key(id)
    }

    pub(super) fn at(&self, id: &[u8]) -> Option<u64> {
        self.times.get(id).copied()
    }

    /// Takes an id back. Of two times the later one counts.
    pub(super) fn insert(&mut self, id: &[u8], at_ms: u64) {
        let latest = self.at(id).map_or(at_ms, |known| known.max(at_ms));
        self.times.insert(id.to_vec(), latest);
    }

    pub(super) fn remove(&mut self, id: &[u8]) {
        self.times.remove(id);
    }

    pub(super) fn unite(&mut self, other: &Unseen) {
        for (id, &at) in &other.times {
            self.insert(id, at);
        }
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&[u8], u64) -> bool) {
        self.times.retain(|id, at| keep(id, *at));
    }

    /// Drops all but as many as a snapshot may have.
    pub(super) fn keep_newest(&mut self) {
        if self.times.len() > MAX_SNAPSHOT_UNSEEN {
            let mut entries: Vec<(Vec<u8>, u64)> = mem::take(&mut self.times).into_iter().collect();
            entries.sort_by_key(|&(_, at)| Reverse(at));
            self.times = entries.into_iter().take(MAX_SNAPSHOT_UNSEEN).collect();
        }
    }

    pub(super) fn newest_first(&self) -> Vec<Impression> {
        let text = |(id, &at): (&Vec<u8>, &u64)| Impression {
            id: String::from_utf8_lossy(id).into_owned(),
            at,
        };
        let mut list: Vec<Impression> = self.times.iter().map(text).collect();
        list.sort_by_key(|entry| Reverse(entry.at));
        list
    }
}

/// The first millisecond that counts after a history was deleted.
pub(super) fn first_ms_after(forget_before: Option<u32>) -> u64 {
    forget_before.map_or(0, |seconds| u64::from(seconds) * 1000)
}
