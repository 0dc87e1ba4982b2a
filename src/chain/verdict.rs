//! Which items are fresh, and in which order the others were seen.

use std::cmp::Reverse;

use super::live_shards::LiveShards;
use super::shard_chain::{ShardChain, contained, seconds};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList, KeptIds, Split};
use crate::shard::Shard;

impl ShardChain {
    /// Whether any live shard contains the id, and it was not taken back.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time that is not in seconds.
    pub fn contains(&self, id: impl AsRef<[u8]>, now_seconds: u64) -> Result<bool, Error> {
        let id = id.as_ref();
        Ok(contained(self.live(seconds(now_seconds)?), id) && !self.unseen.contains(id))
    }

    /// The indices of the fresh items, in order: no live shard contains any of an item's ids, unless it was taken back,
    /// nor does `pending`, and no earlier fresh item has one of them. `pending` is what the device's request says that it
    /// has shown: the base64 of [`Guard::pending_shard`](crate::Guard::pending_shard). It counts for this call alone.
    /// What cannot be read, has expired, or does not know that the history was deleted, is as if it were not there.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time that is not in seconds; [`Error::OutOfMemory`].
    pub fn filter(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: Option<&str>,
        now_seconds: u64,
    ) -> Result<Vec<u32>, Error> {
        self.judge(ids, pending, now_seconds, None)
    }

    /// The fresh items as [`ShardChain::filter`] finds them, and the others, those seen longest ago first: by the
    /// newest shard that contains one of their ids, and at the end what `pending` contains. An item is left out if an
    /// earlier one of either list has one of its ids.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time that is not in seconds; [`Error::OutOfMemory`].
    pub fn split(&self, ids: &(impl IdList + ?Sized), pending: Option<&str>, now_seconds: u64) -> Result<Split, Error> {
        let mut seen = Vec::new();
        let fresh = self.judge(ids, pending, now_seconds, Some(&mut seen))?;
        seen.sort_by_key(|&(place, _)| Reverse(place));
        let seen = seen.into_iter().map(|(_, item)| item).collect();
        Ok(Split { fresh, seen })
    }

    /// The fresh items. The others are put into `seen`, if it is wanted, each with where it was seen last.
    fn judge(
        &self,
        ids: &(impl IdList + ?Sized),
        pending: Option<&str>,
        now_seconds: u64,
        mut seen: Option<&mut Vec<(SeenIn, u32)>>,
    ) -> Result<Vec<u32>, Error> {
        let now = seconds(now_seconds)?;
        let pending = pending
            .and_then(|text| Shard::from_base64(text).ok())
            .filter(|shard| !shard.is_expired(now_seconds) && Some(shard.epoch) >= self.forget_before);
        let (mut list, mut kept_seen) = (HashedList::default(), KeptIds::default());
        list.read(ids)?;
        let live = LiveShards::new(self.live(now), ids.len())?;
        let mut fresh = Vec::new();
        fresh.try_reserve(ids.items())?;
        if let Some(seen) = &mut seen {
            seen.try_reserve(ids.items())?;
        }
        for item in 0..ids.items() {
            let latest = ids
                .ids_of(item)
                .filter_map(|index| self.seen_in(pending.as_ref(), &live, list.id(ids, index)))
                .min();
            match (latest, &mut seen) {
                (None, _) if list.keep(ids, item) => fresh.push(item as u32),
                (Some(place), Some(seen)) if list.keep_beside(&mut kept_seen, ids, item) => {
                    seen.push((place, item as u32));
                }
                _ => {}
            }
        }
        Ok(fresh)
    }

    /// Where an id was seen last: what is pending comes before the chain's shards.
    #[inline]
    fn seen_in(&self, pending: Option<&Shard>, live: &LiveShards<'_>, id: HashedId<'_>) -> Option<SeenIn> {
        if pending.is_some_and(|shard| shard.filter.contains_hashed(id)) {
            return Some(SeenIn::Pending);
        }
        let newest = live.newest_with(id).filter(|_| !self.unseen.contains(id.bytes()));
        newest.map(SeenIn::Shard)
    }
}

/// Where an id was seen last, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SeenIn {
    /// On the device that asks.
    Pending,
    /// In the live shard of this place.
    Shard(usize),
}
