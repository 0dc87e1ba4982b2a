//! Taking back: unseen ids are fresh although a shard contains them, until they are recorded again; and a history is
//! deleted.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use super::link::Link;
use super::seconds::{rounded_up, shard_seconds};
use super::shard_chain::{ShardChain, contained};
use crate::error::Error;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;
use crate::time::Time;

impl ShardChain {
    /// Makes ids unseen: they are fresh until they are recorded again. The newest 1,000 are kept; an id that no live
    /// shard contains is fresh anyway, and is not.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// chain.record(&["a", "b"], now)?;
    /// chain.unsee(&["a"], now)?;
    /// assert_eq!(chain.filter(&["a", "b"], None, now)?, [0]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn unsee(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<(), Error> {
        self.drop_expired(shard_seconds(now)?);
        for index in 0..ids.len() {
            self.unseen.insert(ids.get(index), now);
        }
        self.drop_needless_unseen();
        Ok(())
    }

    /// Drops the ids that no shard contains, and all but the newest 1,000 of the others.
    pub(super) fn drop_needless_unseen(&mut self) {
        let links = &self.links;
        self.unseen.retain(|id, _| contained(links.iter().map(Link::shard), id));
        self.unseen.keep_newest();
    }

    /// Deletes the history: no shards, no unseen ids, and snapshots say from when on impressions count. That is this
    /// time, rounded up to a second, and never earlier than before.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn forget(&mut self, now: Time) -> Result<(), Error> {
        let before = rounded_up(now)?;
        self.links.clear();
        self.unseen = Unseen::default();
        self.forget_before = self.forget_before.max(Some(before));
        Ok(())
    }

    /// The time from which on impressions count.
    pub(super) fn counts_from(&self) -> Time {
        Time::from_unix_seconds(self.forget_before.unwrap_or(0).into())
    }
}

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

    /// Drops all but as many as a snapshot may have.
    pub(super) fn keep_newest(&mut self) {
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
