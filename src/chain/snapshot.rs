//! The snapshot of a chain.

use serde::{Deserialize, Serialize};

use crate::impression::Impression;
use crate::shard::Shard;
use crate::snapshot::Snapshot;
use crate::time::{Time, as_unix_seconds, from_unix_seconds};
use crate::wire::Format;

/// The low bits of a version, which count items within a shard.
const COUNT_BITS: u32 = 21;

/// The snapshot that the server sends with a feed's items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Snapshot))]
#[non_exhaustive]
pub struct ChainSnapshot {
    /// Grows with every change; 0 for an empty chain. Absent in a format whose shards have no epoch, since the stored
    /// list does not show how many shards came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The shards as strings, newest first; references of shards that the device has.
    pub shards: Vec<String>,
    /// The format of the shards.
    #[serde(default, skip_serializing_if = "Format::is_native")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub format: Format,
    /// The server's time, in whole Unix seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    #[serde(serialize_with = "as_unix_seconds", deserialize_with = "from_unix_seconds")]
    pub now: Time,
    /// Ids that are fresh although a shard contains them, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Impression>,
    /// When the history was deleted, in whole Unix seconds: devices delete earlier impressions. Snapshots are ordered
    /// by this, then by the version.
    #[serde(
        default,
        serialize_with = "as_unix_seconds",
        deserialize_with = "from_unix_seconds",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub forget_before: Option<Time>,
}

impl ChainSnapshot {
    /// A snapshot of native shards at a time, without a version, unseen ids or a deletion.
    pub fn new(shards: Vec<String>, now: Time) -> Self {
        ChainSnapshot {
            version: None,
            shards,
            format: Format::Native,
            now,
            unseen: Vec::new(),
            forget_before: None,
        }
    }
}

impl<'a> From<&'a ChainSnapshot> for Snapshot<'a, [String]> {
    /// Borrows the snapshot as the argument of a guard.
    fn from(shipped: &'a ChainSnapshot) -> Self {
        Snapshot {
            version: shipped.version,
            shards: &shipped.shards,
            format: shipped.format,
            now_ms: Some(shipped.now.unix_ms()),
            unseen: &shipped.unseen,
            forget_before: shipped
                .forget_before
                .map(|time| u32::try_from(time.unix_seconds()).unwrap_or(u32::MAX)),
        }
    }
}

/// The version of a chain by its newest shard: `epoch · 2^21 + min(count, 2^21 − 1)`.
pub(super) fn version_of(newest: &Shard) -> u64 {
    (u64::from(newest.epoch) << COUNT_BITS) + u64::from(newest.count.min((1 << COUNT_BITS) - 1))
}
