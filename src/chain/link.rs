//! One shard of a chain with its encoding, and its union with a shard of another chain.

use std::borrow::Cow;

use super::rotation::{Lifetime, RotationSchedule, outlasts};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::HashedId;
use crate::params::Parameters;
use crate::shard::{Shard, has_expired};

/// A shard, its encoding, and when it began.
#[derive(Debug, Clone)]
pub(super) struct Link {
    shard: Shard,
    /// The shard as a string: as it is stored, or as it was encoded when it was sealed. `None` once the shard has
    /// changed.
    encoded: Option<String>,
    /// When the shard was begun, Unix seconds. For a united shard the earlier of two times, which does not follow from
    /// its expiry.
    begun: u64,
    is_unreadable: bool,
}

impl Link {
    /// A shard that is not stored yet.
    pub(super) fn new(shard: Shard, begun: u64) -> Self {
        Link {
            shard,
            encoded: None,
            begun,
            is_unreadable: false,
        }
    }

    /// A shard with the string that is stored for it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::BadBase64`] if the string is not UTF-8.
    pub(super) fn stored(shard: Shard, encoded: &[u8], begun: u64) -> Result<Self, Error> {
        let encoded = std::str::from_utf8(encoded).map_err(|_| Error::BadBase64)?;
        let mut owned = String::new();
        owned.try_reserve_exact(encoded.len())?;
        owned.push_str(encoded);
        Ok(Link {
            encoded: Some(owned),
            ..Link::new(shard, begun)
        })
    }

    /// Stands for a stored string of a newer version or another library, which cannot be read: a shard that is full,
    /// contains nothing and never expires.
    ///
    /// # Errors
    /// As [`Link::stored`].
    pub(super) fn unreadable(encoded: &[u8]) -> Result<Self, Error> {
        let filter = BloomFilter::with_spec(FilterSpec::native(Parameters::unchecked(1, 1), 0))?;
        let shard = Shard {
            count: u32::MAX,
            ..Shard::new(filter, 0, 0)
        };
        Ok(Link {
            is_unreadable: true,
            ..Link::stored(shard, encoded, 0)?
        })
    }

    pub(super) fn is_unreadable(&self) -> bool {
        self.is_unreadable
    }

    /// Sets the epoch of the shard, which orders the chain.
    pub(super) fn set_epoch(&mut self, epoch: u32) {
        self.shard.epoch = epoch;
    }

    /// The same shard with another epoch, to be continued.
    pub(super) fn with_epoch(self, epoch: u32) -> Self {
        let shard = Shard { epoch, ..self.shard };
        Link::new(shard, self.begun)
    }

    pub(super) fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Whether its shard has not expired at this time, in Unix seconds.
    pub(super) fn is_live(&self, now: u32) -> bool {
        !has_expired(self.shard.expires, now.into())
    }

    /// The shard as a string, to store and to send: for an unchanged shard, the stored one.
    ///
    /// # Errors
    /// As [`Shard::to_base64`].
    pub(super) fn encoded(&self) -> Result<Cow<'_, str>, Error> {
        match &self.encoded {
            Some(encoded) => Ok(Cow::Borrowed(encoded)),
            None => self.shard.to_base64().map(Cow::Owned),
        }
    }

    /// Encodes a shard to which no more ids are added.
    ///
    /// # Errors
    /// As [`Shard::to_base64`].
    pub(super) fn seal(&mut self) -> Result<(), Error> {
        if self.encoded.is_none() {
            self.encoded = Some(self.shard.to_base64()?);
        }
        Ok(())
    }

    /// Inserts an id unless the shard contains it.
    pub(super) fn insert(&mut self, id: HashedId<'_>) {
        if self.shard.insert_hashed(id) {
            self.encoded = None;
        }
    }

    /// Whether both are copies of one shard, so that one can replace the other. Ids may have been added to one of them.
    pub(super) fn is_copy(&self, other: &Link) -> bool {
        if self.is_unreadable || other.is_unreadable {
            return self.encoded == other.encoded;
        }
        self.replaces(other) || other.replaces(self)
    }

    /// Becomes the copy that contains the other one, with the higher epoch and count of the two.
    pub(super) fn unite_copy(&mut self, other: &Link) {
        if self.is_unreadable {
            return;
        }
        let is_one_shard = self.shard.epoch == other.shard.epoch;
        let (begun, epoch, count) = (
            self.begun.min(other.begun),
            self.shard.epoch.max(other.shard.epoch),
            self.shard.count.max(other.shard.count),
        );
        if !self.replaces(other) {
            *self = other.clone();
        }
        if (self.shard.epoch, self.shard.count) != (epoch, count) {
            let shard = Shard {
                epoch,
                count,
                ..self.shard.clone()
            };
            *self = Link::new(shard, self.begun);
        }
        if is_one_shard {
            self.begun = begun;
        }
    }

    /// Whether this shard contains all ids of `other`, and expires no earlier.
    fn replaces(&self, other: &Link) -> bool {
        // Shards of formats without epochs get new numbers whenever a chain is restored.
        let is_as_new = self.shard.epoch >= other.shard.epoch || !self.shard.filter.is_native();
        is_as_new
            && outlasts(self.shard.expires, other.shard.expires)
            && self.shard.filter.contains_all_of(&other.shard.filter)
    }

    /// The union of two shards; `None` if one is full, if their expiries are more than a slice apart, or if the
    /// estimated number of items exceeds the capacity. Its count is the estimate.
    pub(super) fn union(&self, other: &Link, capacity: u32, schedule: RotationSchedule) -> Option<Link> {
        let is_full = self.shard.count >= capacity || other.shard.count >= capacity;
        if is_full || !schedule.allow_union(self.lifetime(), other.lifetime()) {
            return None;
        }
        let mut filter = self.shard.filter.clone();
        filter.union(&other.shard.filter).ok()?;
        let items = filter.estimate_items();
        if items > f64::from(capacity) {
            return None;
        }
        // The estimate may be lower than the known count; the version must not decrease.
        let known = self.shard.count.max(other.shard.count);
        let shard = Shard {
            filter,
            count: known.max(items.round_ties_even() as u32),
            epoch: self.shard.epoch.max(other.shard.epoch),
            expires: self.shard.expires.max(other.shard.expires),
        };
        Some(Link::new(shard, self.begun.min(other.begun)))
    }

    pub(super) fn lifetime(&self) -> Lifetime {
        Lifetime {
            begun: self.begun,
            expires: self.shard.expires,
        }
    }
}
