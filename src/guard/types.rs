//! Arguments and results of a guard.

use crate::table::MAX_AT;
use crate::time::Time;

/// The device's time, limited to the range of a recording.
pub(super) fn recorded_at(now: Time) -> u64 {
    now.unix_ms().min(MAX_AT)
}

/// The result of applying a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Why it was not applied; `None` if it was.
    pub reason: Option<NotApplied>,
    /// The number of pending impressions that this snapshot covers.
    pub covered: usize,
    /// Whether the shards in use are so full that they stop most fresh items: their
    /// [false positive rate](GuardStats::server_false_positive_rate) is over a half.
    pub saturated: bool,
    /// The covered impressions that this tab delivers, so that only one of several tabs reports the lag of an
    /// impression.
    pub lags: Vec<CoveredImpression>,
}

/// Why a valid snapshot was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotApplied {
    /// It is older than the one in use.
    OlderVersion,
    /// It refers to a shard that the device lacks.
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

/// Counts of a guard's data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GuardStats {
    /// The expected rate at which the server's live shards stop a fresh item: 1 − ∏(1 − fill^k).
    pub server_false_positive_rate: f64,
    /// The number of impressions that no snapshot covers.
    pub pending: usize,
    /// The number of ids that this device showed and stops.
    pub remembered: usize,
}

/// The result of recording impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many ids were not known on this device.
    pub unknown: usize,
    /// The number of impressions whose id was dropped to free space: their hashes are still stopped, but they are no
    /// longer pending.
    pub lost_text: usize,
}
