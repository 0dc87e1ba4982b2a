//! What is to be written, and when.

use super::names::Names;
use crate::guard::{Guard, Now, Segment};

/// The snapshot in use is written at most this often, unless everything is.
pub(super) const SNAPSHOT_MS: u64 = 60_000;

/// A segment that is to be written, again under this key if that fails.
#[derive(Debug)]
pub(super) struct Unwritten {
    pub(super) key: String,
    pub(super) segment: Segment,
    /// The recordings in it.
    pub(super) hashes: Vec<u64>,
    /// The number of the latest clear that was known when they were taken.
    pub(super) clear: u64,
}

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// What could not be written, or not yet.
    pub(super) waiting: Vec<Unwritten>,
    /// What is being written.
    pub(super) in_flight: Option<Unwritten>,
    next_number: u64,
    /// What this page has left in its stash.
    pub(super) stash: Option<String>,
    /// The number of the snapshot in use that is stored, or was to be; and that is being stored.
    saved_snapshot: u64,
    pub(super) snapshot_in_flight: u64,
    /// Not before this time of the steady clock is the next one stored, unless everything is.
    pub(super) snapshot_due_ms: u64,
    /// How often in a row there was no room for it.
    snapshot_failures: u32,
}

impl Saving {
    /// A new key for a segment of this writer's.
    pub(super) fn segment_key(&mut self, names: &Names, writer: &str, level: u32) -> String {
        self.next_number += 1;
        names.segment(level, writer, self.next_number)
    }

    /// Whether there is a key of this writer's.
    pub(super) fn has_written(&self) -> bool {
        self.next_number > 0
    }

    /// What was being written waits, unless a clear has overtaken it.
    pub(super) fn put_back(&mut self, clear: u64) {
        let failed = self.in_flight.take().filter(|unwritten| unwritten.clear == clear);
        self.waiting.splice(..0, failed);
    }

    pub(super) fn snapshot_is_saved(&mut self) {
        self.saved_snapshot = self.snapshot_in_flight;
        self.snapshot_failures = 0;
    }

    /// There is no room for the snapshot in use: it is tried again, after twice as long each time.
    pub(super) fn snapshot_has_no_room(&mut self, now_ms: u64) {
        self.snapshot_due_ms = now_ms + (SNAPSHOT_MS >> 6_u32.saturating_sub(self.snapshot_failures));
        self.snapshot_failures += 1;
    }

    /// Whether there was no room for the latest snapshot.
    pub(super) fn lacks_room(&self) -> bool {
        self.snapshot_failures > 0
    }

    /// A clear has overtaken what waits.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// When the snapshot in use is to be stored, by the steady clock; nothing if it is.
    pub(super) fn snapshot_ms(&self, guard: &Guard, now: Now) -> Option<u64> {
        let is_new = guard.snapshots() != self.saved_snapshot;
        is_new.then(|| self.snapshot_due_ms.max(now.steady_ms))
    }
}
