//! What a guard takes and what it tells.

use serde::Serialize;

use super::lag::Lag;
use crate::table::MAX_AT;
use crate::time::Time;

/// The device's time, as far as a recording can hold it.
pub(super) fn recorded_at(now: Time) -> u64 {
    now.unix_ms().min(MAX_AT)
}

/// What became of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Applied {
    /// Why it was not taken; nothing if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotApplied>,
    /// Shards in use.
    pub shards: usize,
    /// Shards that were already held and not decoded again.
    pub reused: usize,
    /// Shards past their expiry.
    pub expired: usize,
    /// Pending impressions that this snapshot covers.
    pub covered: usize,
    /// Whether the shards in use are so full that they stop most fresh items: their
    /// [false positive rate](GuardStats::server_false_positive_rate) is over a half.
    pub saturated: bool,
    /// Those of them that this writer delivers: so that of several tabs one tells of an impression.
    pub lags: Vec<CoveredImpression>,
}

/// Why a snapshot was not taken, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotApplied {
    /// It is older than the one in use.
    OlderVersion,
    /// It refers to a shard that is not held.
    MissingShard,
}

/// Characters of shards that snapshots brought, and that references spared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
#[non_exhaustive]
pub struct Received {
    pub characters: u64,
    pub spared: u64,
}

/// A pending impression that a snapshot covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoveredImpression {
    /// The item's id.
    pub id: String,
    /// Milliseconds since it was recorded.
    pub lag_ms: u64,
}

/// Why an id is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Explanation {
    /// This device showed it, and no snapshot covers it yet.
    Pending {
        /// Unix milliseconds.
        at: u64,
    },
    /// This device showed it.
    Memory {
        /// Unix milliseconds.
        at: u64,
    },
    /// A live shard of the snapshot in use contains it.
    Server {
        /// The shard's place in the snapshot, the newest being 0.
        shard: usize,
        /// The shard's number in its chain, in the native format.
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<u32>,
    },
}

/// Why ids were passed or stopped, since the guard was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Filtered {
    pub passed: u64,
    pub pending: u64,
    pub memory: u64,
    pub server: u64,
    pub duplicate: u64,
}

/// What a guard holds and has done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GuardStats {
    /// Shards in use.
    pub shards: usize,
    /// Expected rate at which the server's live shards stop a fresh item: 1 − ∏(1 − fill^k).
    pub server_false_positive_rate: f64,
    /// Impressions that no snapshot covers.
    pub pending: usize,
    /// Ids that this device showed and stops.
    pub remembered: usize,
    /// Ids that pass although they were seen.
    pub unseen: usize,
    /// Verdicts so far.
    pub filtered: Filtered,
    /// Of the last 1,000 covered impressions.
    pub lag: Lag,
    /// What snapshots brought.
    pub received: Received,
    /// Bytes held for shards and impressions.
    pub bytes: usize,
}

/// What came of recording impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// How many ids were not known on this device.
    pub unknown: usize,
    /// How many impressions lost their text for want of room: still stopped, no longer pending.
    pub lost_text: usize,
}
