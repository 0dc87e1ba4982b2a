//! Ids that are unseen on the server: part of the snapshot in use.
//!
//! Such an id is fresh although shards contain it, unless this device recorded it after it became unseen. The server
//! states that time by its own clock. The earlier of the stated time and the time translated to this device's clock is
//! used, so that a wrong clock stops an item rather than repeats it.

use super::types::recorded_at;
use crate::error::{Error, message};
use crate::hash::hash_id;
use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;
use crate::rank::{Rank, sorted};
use crate::table::{Kind, MAX_AT, Recording};
use crate::time::Time;

/// When an id became unseen on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnseenAt {
    /// The server's time, Unix milliseconds.
    pub(crate) stated: u64,
    /// The latest possible time of this device's clock, Unix milliseconds.
    pub(crate) at: u64,
}

/// The unseen ids of the snapshot in use: a sorted list, since there are few.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unseen {
    /// Each id's hash, the stated time, and the latest possible one of this device's clock, by hash.
    ids: Vec<Rank>,
}

impl Unseen {
    /// Reads the unseen ids of a snapshot. An id that `known`, the previous list, has with the same time retains its
    /// translated time.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`].
    pub(crate) fn read(
        listed: &[Impression],
        server_now_ms: Option<u64>,
        now: Time,
        known: &Unseen,
    ) -> Result<Self, Error> {
        if listed.len() > MAX_SNAPSHOT_UNSEEN {
            return Err(Error::BadSnapshot(message("a snapshot has at most 1000 unseen ids")));
        }
        let mut ids = Vec::new();
        let now_ms = recorded_at(now);
        let offset = server_now_ms.map_or(0, |server_now| now_ms as i64 - server_now.min(MAX_AT) as i64);
        for impression in listed {
            let hash = hash_id(impression.id.as_bytes(), 0);
            let stated = impression.at.unix_ms().min(MAX_AT);
            let at = stated.min(stated.saturating_add_signed(offset)).min(now_ms);
            // A later snapshot must not move the time forward: impressions recorded in between stay.
            let known = known.get(hash).filter(|known| known.stated == stated);
            let at = known.map_or(at, |known| at.min(known.at));
            ids.push((hash, stated, at));
        }
        let mut unseen = Unseen { ids: Vec::new() };
        // If an id is listed twice, the later time is used.
        for id in sorted(ids) {
            if unseen.ids.last().is_some_and(|before| before.0 == id.0) {
                unseen.ids.pop();
            }
            unseen.ids.push(id);
        }
        Ok(unseen)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<UnseenAt> {
        let index = self.ids.binary_search_by_key(&hash, |id| id.0).ok()?;
        let (_, stated, at) = self.ids[index];
        Some(UnseenAt { stated, at })
    }

    /// Whether an id is fresh, given this device's recording of it.
    pub(crate) fn passes(&self, hash: u64, recording: Option<&Recording>) -> bool {
        let is_older = |at| recording.is_none_or(|recording| recording.kind == Kind::Unseen || recording.at <= at);
        self.get(hash).is_some_and(|unseen| is_older(unseen.at))
    }

    /// Whether this lists an id that `other` lacks or has with another time.
    pub(crate) fn lists_more_than(&self, other: &Unseen) -> bool {
        let is_listed = |&(hash, stated, _): &Rank| other.get(hash).is_some_and(|unseen| unseen.stated == stated);
        !self.ids.iter().all(is_listed)
    }
}
