//! The facts about a namespace, which are in each row next to its recordings.

use super::recording::MAX_AT;
use crate::devices::DeviceName;

const DAY_MS: u64 = 86_400_000;
/// Latest day of use.
pub(super) const MAX_DAY: u64 = MAX_AT / DAY_MS;
/// Longest window, in days: a hundred years.
pub(crate) const MAX_WINDOW_DAYS: u64 = 36_500;

/// A deletion of the history on the server: earlier recordings are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The server's time of the deletion, Unix seconds.
    pub(crate) deleted_at: u32,
    /// The device's time of the deletion, Unix milliseconds.
    pub(crate) at: u64,
}

/// Facts about a namespace. Copies merge like recordings, in any order, any number of times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The day of the last use, in days since 1970.
    pub(crate) day: u64,
    /// How long impressions are remembered.
    pub(crate) window_days: u64,
    /// Whether impressions were ever delivered.
    pub(crate) reported: bool,
    /// The latest deletion of the history.
    pub(crate) deletion: Option<Deletion>,
    pub(crate) device_name: Option<DeviceName>,
}

impl Facts {
    /// The facts of a new table with this window.
    pub(super) fn of_window(window_ms: u64) -> Self {
        Facts {
            window_days: window_ms.div_ceil(DAY_MS).min(MAX_WINDOW_DAYS),
            ..Facts::default()
        }
    }

    /// The day, since 1970, of a time of the device's clock in Unix milliseconds.
    pub(super) fn day_of(now_ms: u64) -> u64 {
        (now_ms / DAY_MS).min(MAX_DAY)
    }

    /// Merges other facts: the later day, the larger window, the later deletion, the smaller name; reported if either
    /// is.
    pub(super) fn merge(&mut self, other: &Facts) {
        self.day = self.day.max(other.day);
        self.window_days = self.window_days.max(other.window_days);
        self.reported |= other.reported;
        if let Some(deletion) = other.deletion {
            self.merge_deletion(deletion);
        }
        self.device_name = match (self.device_name, other.device_name) {
            (Some(mine), Some(other)) => Some(mine.min(other)),
            (mine, other) => mine.or(other),
        };
    }

    /// Merges a deletion: the later of two; if they are the same, the earlier device time. Returns whether this changes
    /// anything.
    pub(super) fn merge_deletion(&mut self, deletion: Deletion) -> bool {
        let is_known = self.deletion.is_some_and(|known| {
            known.deleted_at > deletion.deleted_at
                || (known.deleted_at == deletion.deleted_at && known.at <= deletion.at)
        });
        if !is_known {
            self.deletion = Some(deletion);
        }
        !is_known
    }

    /// Whether merging `other` would change nothing.
    pub(super) fn include(&self, other: &Facts) -> bool {
        let mut merged = *self;
        merged.merge(other);
        merged == *self
    }
}
