//! Which items are fresh, and in which order the others were seen.

use std::cmp::Reverse;

use super::live_shards::LiveShards;
use super::report::MAX_ID_BYTES;
use super::seconds::shard_seconds;
use super::shard_chain::{ShardChain, contained};
use crate::devices::{Pending, PendingIds};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList, Split};
use crate::time::Time;

impl ShardChain {
    /// Whether a live shard contains the id, and it is not unseen.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn contains(&self, id: impl AsRef<[u8]>, now: Time) -> Result<bool, Error> {
        let id = id.as_ref();
        Ok(contained(self.live(shard_seconds(now)?), id) && !self.unseen.contains(id))
    }

    /// Returns the indices of the fresh ids, in order; equal ids count once. An id is fresh unless it is pending on the
    /// requesting device, or in a live shard or pending on another device without being unseen. An id of over
    /// [`MAX_ID_BYTES`] is always fresh.
    ///
    /// `pending` is a [`Pending`], or the requesting device's `Seen-Pending`. It applies to this call only. A list is
    /// ignored if it is invalid, or if its device has not received the deletion of the history.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn filter<'a>(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: impl Into<Pending<'a>>,
        now: Time,
    ) -> Result<Vec<u32>, Error> {
        self.decide(ids, pending.into(), now, None)
    }

    /// Splits the ids into the fresh ones, as [`ShardChain::filter`] returns them, and the others, those seen longest
    /// ago first: ordered by the newest shard that contains them, with pending ids at the end. Each id is in one list,
    /// once.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn split<'a>(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: impl Into<Pending<'a>>,
        now: Time,
    ) -> Result<Split, Error> {
        let mut last_seen = Vec::new();
        let fresh = self.decide(ids, pending.into(), now, Some(&mut last_seen))?;
        last_seen.sort_by_key(|&(seen_in, _)| Reverse(seen_in));
        let seen = last_seen.into_iter().map(|(_, index)| index).collect();
        Ok(Split { fresh, seen })
    }

    /// Returns the fresh ids. Adds the others to `seen`, if it is given, each with where it was seen last.
    fn decide(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: Pending<'_>,
        now: Time,
        mut seen: Option<&mut Vec<(SeenIn, u32)>>,
    ) -> Result<Vec<u32>, Error> {
        let now_seconds = shard_seconds(now)?;
        let pending = PendingIds::read(pending, self.forget_before, now)?;
        let mut list = HashedList::default();
        list.read(ids);
        let live = LiveShards::new(self.live(now_seconds), ids.len())?;
        let mut fresh = Vec::new();
        for index in 0..ids.len() {
            match (self.seen_in(&pending, &live, list.id(ids, index)), &mut seen) {
                (None, _) if list.insert(ids, index) => fresh.push(index as u32),
                (Some(seen_in), Some(seen)) if list.insert(ids, index) => seen.push((seen_in, index as u32)),
                _ => {}
            }
        }
        Ok(fresh)
    }

    /// Where an id was seen last.
    #[inline]
    fn seen_in(&self, pending: &PendingIds, live: &LiveShards<'_>, id: HashedId<'_>) -> Option<SeenIn> {
        if id.bytes().len() > MAX_ID_BYTES {
            return None;
        }
        if pending.requesting_contains(id.unseeded()) {
            return Some(SeenIn::Pending);
        }
        let seen_in = if pending.others_contain(id.unseeded()) {
            Some(SeenIn::Pending)
        } else {
            live.newest_with(id).map(SeenIn::Shard)
        };
        seen_in.filter(|_| !self.unseen.contains(id.bytes()))
    }
}

/// Where an id was seen last, in the order of time from the latest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SeenIn {
    /// Pending on a device.
    Pending,
    /// In the live shard of this index, with 0 for the newest.
    Shard(usize),
}
