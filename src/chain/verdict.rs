//! Which items are fresh, and in which order the others were seen.

use std::cmp::Reverse;

use super::live_shards::LiveShards;
use super::seconds::shard_seconds;
use super::shard_chain::{ShardChain, contained};
use crate::devices::{Pending, PendingLists};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList, KeptIds, Split};
use crate::time::Time;

impl ShardChain {
    /// Whether any live shard contains the id, and it is not unseen.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn contains(&self, id: impl AsRef<[u8]>, now: Time) -> Result<bool, Error> {
        let id = id.as_ref();
        Ok(contained(self.live(shard_seconds(now)?), id) && !self.unseen.contains(id))
    }

    /// The indices of the fresh items, in order. An item is fresh if each of its ids is unseen or in no live shard nor
    /// pending on another device, none is pending on the one that asks, and no earlier fresh item has one of them.
    ///
    /// `pending` is a [`Pending`], or what the device's request says alone. It counts for this call alone. A list that
    /// cannot be read, or comes from a device that does not know that the history was deleted, counts for nothing.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn filter<'a>(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: impl Into<Pending<'a>>,
        now: Time,
    ) -> Result<Vec<u32>, Error> {
        self.judge(ids, pending.into(), now, None)
    }

    /// The fresh items as [`ShardChain::filter`] finds them, and the others, those seen longest ago first: by the
    /// newest shard that contains one of their ids, and at the end what is pending. An item is left out if an
    /// earlier one of either list has one of its ids.
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
        let fresh = self.judge(ids, pending.into(), now, Some(&mut last_seen))?;
        // A sort that keeps the order of equal ones by itself would take memory.
        last_seen.sort_unstable_by_key(|&(seen_in, item)| (Reverse(seen_in), item));
        let mut seen = Vec::new();
        seen.try_reserve_exact(last_seen.len())?;
        seen.extend(last_seen.into_iter().map(|(_, item)| item));
        Ok(Split { fresh, seen })
    }

    /// The fresh items. The others are put into `seen`, if it is wanted, each with where it was seen last.
    fn judge(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: Pending<'_>,
        now: Time,
        mut seen: Option<&mut Vec<(SeenIn, u32)>>,
    ) -> Result<Vec<u32>, Error> {
        let now_seconds = shard_seconds(now)?;
        let pending = PendingLists::read(pending, self.forget_before)?;
        let (mut list, mut kept_seen) = (HashedList::default(), KeptIds::default());
        list.read(ids)?;
        let live = LiveShards::new(self.live(now_seconds), ids.len())?;
        let mut fresh = Vec::new();
        fresh.try_reserve(ids.items())?;
        if let Some(seen) = &mut seen {
            seen.try_reserve(ids.items())?;
            kept_seen.try_reserve(ids.len())?;
        }
        for item in 0..ids.items() {
            let latest = ids
                .ids_of(item)
                .filter_map(|index| self.seen_in(&pending, &live, list.id(ids, index)))
                .min();
            match (latest, &mut seen) {
                (None, _) if list.keep(ids, item) => fresh.push(item as u32),
                (Some(seen_in), Some(seen)) if list.keep_beside(&mut kept_seen, ids, item) => {
                    seen.push((seen_in, item as u32));
                }
                _ => {}
            }
        }
        Ok(fresh)
    }

    /// Where an id was seen last.
    #[inline]
    fn seen_in(&self, pending: &PendingLists, live: &LiveShards<'_>, id: HashedId<'_>) -> Option<SeenIn> {
        if pending.own_contains(id.unseeded()) {
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
    /// On a device, and the stream has not brought it.
    Pending,
    /// In the live shard of this index, the newest shard's being 0.
    Shard(usize),
}
