//! Which items are fresh, and why the others are not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::types::Explanation;
use super::{Filtered, Guard};
use crate::bit_sliced::Query;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{IdList, KeptIds, Split};
use crate::table::{Kind, Recording};
use crate::time::Time;

/// What is known of an id.
#[derive(Clone, Copy)]
enum Verdict {
    Fresh,
    /// This device showed it then, and no snapshot covers it yet.
    Pending(u64),
    /// This device showed it then.
    Memory(u64),
    /// A live shard contains it.
    Server,
}

impl Verdict {
    fn counter(self, filtered: &mut Filtered) -> &mut u64 {
        match self {
            Verdict::Fresh => &mut filtered.passed,
            Verdict::Pending(_) => &mut filtered.pending,
            Verdict::Memory(_) => &mut filtered.memory,
            Verdict::Server => &mut filtered.server,
        }
    }
}

/// When an item was seen, as far as is known: what the server's shards alone know comes first, by the index of the
/// newest shard that contains it; then what this device showed, by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LastSeen {
    Server(Reverse<usize>),
    Device(u64),
}

impl Guard {
    /// The indices of the fresh items, in order; of items that have an id in common the first. Changes nothing but
    /// counters.
    ///
    /// ```
    /// use std::time::Duration;
    /// use seenguard::device::{DEFAULT_REMEMBER, Guard};
    /// use seenguard::{ItemIds, Time};
    /// let time = Time::from_unix_seconds(1_764_000_000);
    /// let now = time;
    /// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    /// guard.record(&["a"], now)?;
    /// assert_eq!(guard.filter(&["a", "b", "c", "b"], now)?, [1, 2]);
    ///
    /// // An item with several ids is stopped by any of them.
    /// let items: ItemIds<&str> = [vec!["repost", "a"], vec!["d"]].into_iter().collect();
    /// assert_eq!(guard.filter(&items, now)?, [1]);
    ///
    /// // The device remembers for 30 days.
    /// let later = time + Duration::from_secs(30 * 86_400);
    /// assert_eq!(guard.filter(&["a"], later)?, [0]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn filter<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Result<Vec<u32>, Error> {
        self.judge(ids, now, None)
    }

    /// All items once: the fresh ones as from [`Guard::filter`], and the others, those seen longest ago first: what the
    /// server's shards alone know, by the newest shard that contains it, the oldest shard first; then what this device
    /// showed, by time. An item with several ids counts by the one seen latest. Changes nothing but counters.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn split<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Result<Split, Error> {
        let mut seen = BinaryHeap::new();
        seen.try_reserve_exact(ids.items())?;
        let fresh = self.judge(ids, now, Some(&mut seen))?;
        let mut items = Vec::new();
        items.try_reserve_exact(seen.len())?;
        items.extend(seen.into_sorted_vec().iter().map(|&(_, item)| item));
        Ok(Split { fresh, seen: items })
    }

    /// The fresh items. The others are put into `seen`, if it is wanted.
    fn judge<L: IdList + ?Sized>(
        &mut self,
        ids: &L,
        now: Time,
        mut seen: Option<&mut BinaryHeap<(LastSeen, u32)>>,
    ) -> Result<Vec<u32>, Error> {
        let live = self.server.live(self.server_seconds(now));
        let queries: Vec<Query<'_>> = self.server.queries(&live).collect();
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(ids.items())?;
        // Borrowed for itself, since the verdicts read the rest of the guard.
        let mut list = std::mem::take(&mut self.list);
        list.read(ids)?;
        let mut filtered = self.filtered;
        let mut kept_seen = KeptIds::default();
        if seen.is_some() {
            kept_seen.try_reserve(ids.len())?;
        }
        for item in 0..ids.items() {
            let mut verdicts = ids.ids_of(item).map(|index| {
                let hash = list.hash(index);
                self.verdict(hash, now, || {
                    queries.iter().any(|query| query.finds(hash, || ids.get(index)))
                })
            });
            let stops = verdicts.find(|verdict| !matches!(verdict, Verdict::Fresh));
            let verdict = stops.unwrap_or(Verdict::Fresh);
            if stops.is_none() && !list.keep(ids, item) {
                filtered.duplicate += 1;
                continue;
            }
            *verdict.counter(&mut filtered) += 1;
            match &mut seen {
                _ if stops.is_none() => fresh.push(item as u32),
                Some(seen) if list.keep_beside(&mut kept_seen, ids, item) => {
                    let all = ids
                        .ids_of(item)
                        .filter_map(|index| self.last_seen(list.id(ids, index), now));
                    seen.extend(all.max().map(|last_seen| (last_seen, item as u32)));
                }
                _ => {}
            }
        }
        list.shrink();
        self.list = list;
        self.filtered = filtered;
        Ok(fresh)
    }

    /// What is known of an id. `is_in_shards` is asked only if it matters.
    #[inline]
    fn verdict(&self, hash: u64, now: Time, is_in_shards: impl FnOnce() -> bool) -> Verdict {
        let recording = self.live_recording(hash, now);
        if !self.taken_back.is_empty() && self.taken_back.passes(hash, recording) {
            return Verdict::Fresh;
        }
        match recording {
            Some(recording) if recording.kind == Kind::Seen && recording.is_pending() => Verdict::Pending(recording.at),
            Some(recording) if recording.kind == Kind::Seen => Verdict::Memory(recording.at),
            Some(recording) if recording.is_taken_back() => Verdict::Fresh,
            _ if is_in_shards() => Verdict::Server,
            _ => Verdict::Fresh,
        }
    }

    fn last_seen(&self, id: HashedId<'_>, now: Time) -> Option<LastSeen> {
        match self.verdict_of(id, now) {
            Verdict::Fresh => None,
            Verdict::Pending(at) | Verdict::Memory(at) => Some(LastSeen::Device(at)),
            Verdict::Server => {
                let found = self.server.find(id, self.server_seconds(now))?;
                Some(LastSeen::Server(Reverse(found.shard)))
            }
        }
    }

    fn verdict_of(&self, id: HashedId<'_>, now: Time) -> Verdict {
        let is_in_shards = || self.server.find(id, self.server_seconds(now)).is_some();
        self.verdict(id.unseeded(), now, is_in_shards)
    }

    #[inline]
    pub(super) fn live_recording(&self, hash: u64, now: Time) -> Option<&Recording> {
        if self.table.is_empty() {
            return None;
        }
        self.table.get_live(hash, now.unix_ms())
    }

    /// Whether an id is stopped.
    pub fn has(&self, id: impl AsRef<[u8]>, now: Time) -> bool {
        self.explain(id, now).is_some()
    }

    /// Why an id is stopped; nothing if it is fresh.
    pub fn explain(&self, id: impl AsRef<[u8]>, now: Time) -> Option<Explanation> {
        let id = HashedId::new(id.as_ref());
        match self.verdict_of(id, now) {
            Verdict::Fresh => None,
            Verdict::Pending(at) => Some(Explanation::Pending { at }),
            Verdict::Memory(at) => Some(Explanation::Memory { at }),
            Verdict::Server => {
                let found = self.server.find(id, self.server_seconds(now))?;
                Some(Explanation::Server {
                    shard: found.shard,
                    epoch: found.epoch,
                })
            }
        }
    }

    /// The indices of the ids that pass because they were taken back, on this device or by the server; once the history
    /// was deleted, of all that pass. What has stopped such an id before is to be decided anew.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn taken_back<L: IdList + ?Sized>(&self, ids: &L, now: Time) -> Result<Vec<u32>, Error> {
        let is_taken_back = |&index: &u32| {
            let id = HashedId::new(ids.get(index as usize));
            let hash = id.unseeded();
            let is_named = self.table.floor().is_some()
                || self.taken_back.get(hash).is_some()
                || self.live_recording(hash, now).is_some_and(Recording::is_taken_back);
            is_named && matches!(self.verdict_of(id, now), Verdict::Fresh)
        };
        let mut indices = Vec::new();
        for index in (0..ids.len() as u32).filter(is_taken_back) {
            indices.try_reserve(1)?;
            indices.push(index);
        }
        Ok(indices)
    }
}
