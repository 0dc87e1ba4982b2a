//! What a person's devices have shown and the stream has not brought yet, when one of them asks for a page.
//!
//! The asking device's own shard counts as it came with the request, never as it was kept. What another device has
//! shown stops an id unless the chain lists it as unseen. Neither ever enters the chain or a snapshot: what it contains
//! is not covered.

use super::kept_pending::{MAX_PENDING_DEVICES, kept_lines, read_device_shard};
use crate::device_name::DeviceName;
use crate::device_pending::DevicePending;
use crate::hash::HashedId;
use crate::shard::Shard;
use crate::time::Time;

/// What devices have shown and the stream has not brought.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pending<'a> {
    /// What the asking device's request says: `<device name>.<counter>.<shard>`, or the base64 of
    /// [`Guard::pending_shard`](crate::device::Guard::pending_shard) alone.
    pub own: Option<&'a str>,
    /// What a store has kept of the user's devices, a line each: [`PendingToKeep`](crate::PendingToKeep) has them.
    pub kept: &'a str,
    /// What was kept before counts no more.
    pub kept_since: Time,
    /// The namespace of the user, where the store knows it: what is of another one counts for nothing.
    pub namespace: Option<&'a str>,
}

/// Of the asking device alone.
impl<'a> From<Option<&'a str>> for Pending<'a> {
    fn from(own: Option<&'a str>) -> Self {
        Pending {
            own,
            ..Pending::default()
        }
    }
}

/// The shards of it that count.
pub(super) struct PendingShards {
    own: Option<Shard>,
    others: Vec<Shard>,
}

impl PendingShards {
    /// Reads what can be read. A shard that has expired, or that a device made before it knew of a deletion, is left
    /// out.
    pub(super) fn read(pending: Pending<'_>, now: Time, forget_before: Option<u32>) -> Self {
        let counts = |shard: &Shard| !shard.is_expired(now) && Some(shard.epoch) >= forget_before;
        let is_of_user = |device: DeviceName| pending.namespace.is_none_or(|namespace| device.is_of(namespace));
        let asking = pending.own.and_then(DevicePending::parse);
        let device = asking.and_then(|asking| asking.device);
        let own = match asking {
            Some(asking) if device.is_none_or(is_of_user) => read_device_shard(asking.shard),
            Some(_) => None,
            None => pending.own.and_then(|text| Shard::from_base64(text).ok()),
        };
        let others = kept_lines(pending.kept)
            .filter(|line| line.at >= pending.kept_since && Some(line.device) != device && is_of_user(line.device))
            .filter_map(|line| read_device_shard(line.shard).filter(counts))
            .take(MAX_PENDING_DEVICES)
            .collect();
        PendingShards {
            own: own.filter(counts),
            others,
        }
    }

    /// Whether the asking device has shown an id.
    #[inline]
    pub(super) fn own_contains(&self, id: HashedId<'_>) -> bool {
        self.own.as_ref().is_some_and(|shard| shard.filter.contains_hashed(id))
    }

    /// Whether another device has.
    #[inline]
    pub(super) fn others_contain(&self, id: HashedId<'_>) -> bool {
        self.others.iter().any(|shard| shard.filter.contains_hashed(id))
    }
}
