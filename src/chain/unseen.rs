//! Unseen ids: they are fresh although a shard contains them, until they are recorded again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;
use crate::time::Time;

/// Ids, each with the time since which it is unseen, by the server's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    times: BTreeMap<Vec<u8>, Time>,
}

impl Unseen {
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        self.times.contains_key(id)
    }

    /// Since when an id is unseen.
    pub(super) fn since(&self, id: &[u8]) -> Option<Time> {
        self.times.get(id).copied()
    }

    /// Adds an id. Of two times the later one counts.
    pub(super) fn insert(&mut self, id: &[u8], at: Time) {
        let latest = self.since(id).map_or(at, |known| known.max(at));
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

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&[u8], Time) -> bool) {
        self.times.retain(|id, at| keep(id, *at));
    }

    /// Keeps the newest of the ids that `is_needed` names, as many as a snapshot may have.
    pub(super) fn keep_newest(&mut self, is_needed: impl Fn(&[u8]) -> bool) {
        self.retain(|id, _| is_needed(id));
        if self.times.len() > MAX_SNAPSHOT_UNSEEN {
            let mut entries: Vec<(Vec<u8>, Time)> = mem::take(&mut self.times).into_iter().collect();
            entries.sort_by_key(|&(_, at)| Reverse(at));
            self.times = entries.into_iter().take(MAX_SNAPSHOT_UNSEEN).collect();
        }
    }

    pub(super) fn newest_first(&self) -> Vec<Impression> {
        let text = |(id, &at): (&Vec<u8>, &Time)| Impression {
            id: String::from_utf8_lossy(id).into_owned(),
            at,
        };
        let mut list: Vec<Impression> = self.times.iter().map(text).collect();
        list.sort_by_key(|entry| Reverse(entry.at));
        list
    }
}
