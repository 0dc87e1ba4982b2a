//! What a guard takes and what it tells.

use crate::table::MAX_AT;
use crate::time::Time;

/// The device's time, as far as a recording can hold it.
pub(super) fn recorded_at(now: Time) -> u64 {
    now.unix_ms().min(MAX_AT)
}

/// What became of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Why it was not taken; nothing if it was.
    pub reason: Option<NotApplied>,
    /// Pending impressions that this snapshot covers.
    pub covered: usize,
    /// Whether the shards in use are so full that they stop most fresh items: their
    /// [false positive rate](GuardStats::server_false_positive_rate) is over a half.
    pub saturated: bool,
    /// Those of the covered ones that this writer delivers: so that of several tabs one tells of an impression.
    pub lags: Vec<CoveredImpression>,
}

/// Why a snapshot was not taken, though nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotApplied {
    /// It is older than the one in use.
    OlderVersion,
    /// It refers to a shard that is not held.
    MissingShard,
}

/// A pending impression that a snapshot covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredImpression {
    /// The item's id.
    pub id: String,
    /// Milliseconds since it was recorded.
    pub lag_ms: u64,
}

/// Why an id is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explanation {
    /// This device showed it, and no snapshot covers it yet.
    Pending {
        /// Unix milliseconds.
        at: u64,
    },
    /// This device showed it.
    Device {
        /// Unix milliseconds.
        at: u64,
    },
    /// A live shard of the snapshot in use contains it.
    Server,
}

/// What a guard holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GuardStats {
    /// Expected rate at which the server's live shards stop a fresh item: 1 − ∏(1 − fill^k).
    pub server_false_positive_rate: f64,
    /// Impressions that no snapshot covers.
    pub pending: usize,
    /// Ids that this device showed and stops.
    pub remembered: usize,
}

/// What came of recording impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many ids were not known on this device.
    pub unknown: usize,
    /// How many impressions lost their text for want of room: still stopped, no longer pending.
    pub lost_text: usize,
}
