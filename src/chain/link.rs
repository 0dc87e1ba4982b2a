//! One shard of a chain, and its union with a shard of another chain.

use super::rotation::{Lifetime, RotationSchedule, outlasts};
use crate::shard::Shard;

/// A shard and when it was begun.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) shard: Shard,
    /// Unix seconds. Of a united shard the earlier beginning, which its expiry does not tell.
    pub(super) begun: u64,
}

impl Link {
    /// Whether one of the two can stand for both: copies of one shard, also if one of them went on.
    pub(super) fn is_copy(&self, other: &Link) -> bool {
        self.replaces(other) || other.replaces(self)
    }

    /// Keeps of two of which one can stand for both that one. Nothing is estimated anew.
    pub(super) fn unite_copy(&mut self, other: &Link) {
        let is_one_shard = self.shard.epoch == other.shard.epoch;
        let (begun, epoch, count) = (
            self.begun.min(other.begun),
            self.shard.epoch.max(other.shard.epoch),
            self.shard.count.max(other.shard.count),
        );
        if !self.replaces(other) {
            *self = other.clone();
        }
        self.shard.epoch = epoch;
        self.shard.count = count;
        if is_one_shard {
            self.begun = begun;
        }
    }

    /// Whether all that `other` contains is contained here, and is kept here for as long.
    fn replaces(&self, other: &Link) -> bool {
        // Formats without epochs number their shards anew whenever a chain is restored.
        let is_as_new = self.shard.epoch >= other.shard.epoch || !self.shard.filter.is_native();
        is_as_new
            && outlasts(self.shard.expires, other.shard.expires)
            && self.shard.filter.contains_all_of(&other.shard.filter)
    }

    /// The union, if the rule allows it: neither is full, the expiries lie within one slice, and the estimated number
    /// of items stays within the capacity. Its count is the estimate.
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
        // The estimate may be lower than what is known; the version must not fall.
        let known = self.shard.count.max(other.shard.count);
        Some(Link {
            begun: self.begun.min(other.begun),
            shard: Shard {
                filter,
                count: known.max(items.round_ties_even() as u32),
                epoch: self.shard.epoch.max(other.shard.epoch),
                expires: self.shard.expires.max(other.shard.expires),
            },
        })
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime {
            begun: self.begun,
            expires: self.shard.expires,
        }
    }
}
