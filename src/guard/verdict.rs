//! Decides which items are fresh, and why the others are stopped.

use super::Guard;
use super::types::Explanation;
use crate::bit_sliced::Query;
use crate::hash::HashedId;
use crate::id_list::{IdList, Split};
use crate::rank::{Rank, sorted};
use crate::table::{Kind, Recording};
use crate::time::Time;

impl Guard {
    /// Returns the indices of the fresh ids, in order; equal ids count once. Changes nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use seenguard::Time;
    /// use seenguard::device::{DEFAULT_REMEMBER, Guard};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    /// guard.record(&["a"], now);
    /// assert_eq!(guard.filter(&["a", "b", "c", "b"], now), [1, 2]);
    ///
    /// // The device remembers for 30 days.
    /// let later = now + Duration::from_secs(30 * 86_400);
    /// assert_eq!(guard.filter(&["a"], later), [0]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    pub fn filter<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Vec<u32> {
        self.decide(ids, now, None)
    }

    /// Splits the ids into the fresh ones, as [`Guard::filter`] returns them, and the others, those seen longest ago
    /// first: ids known only from the server's shards, by the newest shard that contains them, the oldest shard first;
    /// then this device's impressions, by time. Each id is in one list, once.
    pub fn split<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Split {
        let mut ranks = Vec::new();
        let fresh = self.decide(ids, now, Some(&mut ranks));
        let mut seen = Vec::with_capacity(ranks.len());
        for (_, _, index) in sorted(ranks) {
            seen.push(index as u32);
        }
        Split { fresh, seen }
    }

    /// Returns the fresh ids. Adds the others to `seen`, if it is given, each with its rank in the order of
    /// [`Guard::split`].
    fn decide<L: IdList + ?Sized>(&mut self, ids: &L, now: Time, mut seen: Option<&mut Vec<Rank>>) -> Vec<u32> {
        let live = self.server.live(self.server_seconds(now));
        let queries: Vec<Query<'_>> = self.server.queries(&live).collect();
        let mut fresh = Vec::with_capacity(ids.len());
        // The verdicts borrow the rest of the guard.
        let empty = self.list.empty();
        let mut list = std::mem::replace(&mut self.list, empty);
        list.read(ids);
        for index in 0..ids.len() {
            let is_in_shards = || {
                queries
                    .iter()
                    .any(|query| query.finds(list.hash(index), || ids.get(index)))
            };
            let verdict = self.verdict(list.hash(index), now, is_in_shards);
            match (verdict, &mut seen) {
                (None, _) if list.insert(ids, index) => fresh.push(index as u32),
                (Some(by), Some(seen)) if list.insert(ids, index) => {
                    let (group, at) = self.last_seen(by, list.id(ids, index), now);
                    seen.push((group, at, index as u64));
                }
                _ => {}
            }
        }
        list.shrink();
        self.list = list;
        fresh
    }

    /// Why an id is stopped. `is_in_shards` is called only if its result matters.
    #[inline]
    fn verdict(&self, hash: u64, now: Time, is_in_shards: impl FnOnce() -> bool) -> Option<Explanation> {
        let recording = self.table.get_live(hash, now.unix_ms());
        if !self.unseen.is_empty() && self.unseen.passes(hash, recording) {
            return None;
        }
        match recording {
            Some(recording) if recording.kind == Kind::Seen && recording.is_pending() => {
                Some(Explanation::Pending { at: recording.at })
            }
            Some(recording) if recording.kind == Kind::Seen => Some(Explanation::Device { at: recording.at }),
            Some(recording) if recording.is_unseen() => None,
            _ => is_in_shards().then_some(Explanation::Server),
        }
    }

    fn last_seen(&self, by: Explanation, id: HashedId<'_>, now: Time) -> (u64, u64) {
        match by {
            Explanation::Pending { at } | Explanation::Device { at } => (1, at),
            Explanation::Server => {
                let newest = self.server.newest_with(id, self.server_seconds(now));
                (0, u64::MAX - newest.unwrap_or_default() as u64)
            }
        }
    }

    /// Why an id is stopped; `None` if it is fresh.
    pub fn explain(&self, id: impl AsRef<[u8]>, now: Time) -> Option<Explanation> {
        let id = HashedId::new(id.as_ref());
        self.verdict(id.unseeded(), now, || {
            self.server.newest_with(id, self.server_seconds(now)).is_some()
        })
    }

    /// Returns the indices of the ids that are fresh because they are unseen, on this device or by the server; after a
    /// deletion of the history, of all fresh ids. The caller must decide such an id again.
    pub fn unseen<L: IdList + ?Sized>(&self, ids: &L, now: Time) -> Vec<u32> {
        let mut indices = Vec::new();
        for index in 0..ids.len() {
            let id = ids.get(index);
            let hash = HashedId::new(id).unseeded();
            let is_named = self.table.deletion().is_some()
                || self.unseen.get(hash).is_some()
                || self
                    .table
                    .get_live(hash, now.unix_ms())
                    .is_some_and(Recording::is_unseen);
            if is_named && self.explain(id, now).is_none() {
                indices.push(index as u32);
            }
        }
        indices
    }
}
