//! The impression table: the exact set of items that this device showed, by the XXH64 of the id.
//!
//! Each tab of a device has a copy of the table, and the store has the saved recordings of all tabs, as [rows](row).
//! [`Table::merge`] merges copies. Before evictions it is commutative, associative and idempotent: the order, the
//! number and the grouping of merges do not matter. So the store is a bag of rows, and a table only tracks which of its
//! [changes](unsaved) are not in the store yet.
//!
//! The counter of recordings is a hybrid logical clock: 1 above the highest known counter, and at least the device's
//! time. The time itself is used only for the window, so a clock jump drops nothing: expired recordings are skipped,
//! and stay until `remember` higher recordings evict them.

mod facts;
mod merge;
mod recording;
pub(crate) mod row;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
mod unsaved;
mod written;

pub(crate) use facts::{Deletion, MAX_WINDOW_DAYS};
pub use merge::Source;
pub(crate) use recording::{Kind, MAX_AT, Origin, Recording, Undelivered};
pub use unsaved::{Due, Mark};
pub(crate) use written::EncodedRow;

use crate::devices::DeviceName;
use crate::hash::{HashedId, hash_id};
use crate::id_map::{IdMap, MultiplyShift};
use crate::rank::{Rank, sorted};
use facts::Facts;
use recording::{EARLY_LOCAL, MAX_DELIVERIES, MAX_SEQ};
use written::WrittenRow;

/// The default number of recordings that are remembered.
pub const DEFAULT_REMEMBER: usize = 10_000;
/// Most recordings that can be remembered.
pub const MAX_REMEMBER: usize = 50_000;
/// Most ids that are stored as strings and not only as hashes.
pub(crate) const MAX_ID_STRINGS: usize = 5_000;
/// Most bytes of these ids together.
pub(crate) const MAX_ID_STRING_BYTES: usize = 256 * 1024;
/// Most unseen ids.
pub(crate) const MAX_UNSEEN: usize = 1_000;

/// Most recordings of a row.
pub(crate) const MAX_ROW: usize = 1_000;

/// The impressions of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    window_ms: u64,
    remember: usize,
    recordings: IdMap<Recording>,
    tally: Tally,
    /// The highest known counter.
    counter: u64,
    /// Whether the stored rows have been read, or there is no storage.
    has_loaded: bool,
    /// Local recordings made before the rows were read: hash and time.
    early: Vec<(u64, u64)>,
    /// Whether this tab delivers impressions.
    reports: bool,
    /// The facts about the namespace.
    facts: Facts,
    /// The facts that the store is known to have.
    stored: Facts,
    /// The name that the device gets unless the store has one; `None` without storage.
    candidate: Option<DeviceName>,
    /// Secret: names follow from it.
    seed: u64,
    /// Grows when an id becomes unseen or is deleted.
    unseen_revision: u64,
    /// The number of the latest change or mark.
    changes: u32,
    /// The rows that were returned to be saved and are not confirmed.
    written: Vec<WrittenRow>,
}

/// Counts of recordings, updated by each change.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    id_strings: usize,
    id_string_bytes: usize,
    undelivered: usize,
    unseen: usize,
    /// Recordings with a change that must be saved.
    unsaved: usize,
}

impl Tally {
    fn add(&mut self, recording: &Recording) {
        self.id_strings += usize::from(recording.undelivered.is_some());
        self.id_string_bytes += recording.id_string_bytes();
        self.undelivered += usize::from(recording.is_undelivered());
        self.unseen += usize::from(recording.is_unseen());
        self.unsaved += usize::from(recording.must_be_saved());
    }

    fn remove(&mut self, recording: &Recording) {
        self.id_strings -= usize::from(recording.undelivered.is_some());
        self.id_string_bytes -= recording.id_string_bytes();
        self.undelivered -= usize::from(recording.is_undelivered());
        self.unseen -= usize::from(recording.is_unseen());
        self.unsaved -= usize::from(recording.must_be_saved());
    }

    /// Applies a change to a recording of the table, and drops its id's string if that is not needed any more.
    fn change(&mut self, recording: &mut Recording, reported: bool, change: impl FnOnce(&mut Recording)) {
        self.remove(recording);
        change(recording);
        recording.drop_unneeded_id_string(reported);
        self.add(recording);
    }
}

impl Table {
    /// An empty table without storage. `remember`: the least number of recordings that stay.
    pub(crate) fn new(window_ms: u64, remember: usize, hasher: MultiplyShift) -> Self {
        Table {
            window_ms,
            remember,
            recordings: IdMap::with_hasher(hasher),
            tally: Tally::default(),
            counter: 0,
            has_loaded: true,
            early: Vec::new(),
            reports: false,
            facts: Facts::of_window(window_ms),
            stored: Facts::default(),
            candidate: None,
            seed: 0,
            unseen_revision: 0,
            changes: 0,
            written: Vec::new(),
        }
    }

    /// Makes this a table with storage, whose rows are not [loaded](Table::loaded) yet.
    pub(crate) fn expect_rows(&mut self, namespace: &str, seed: u64) {
        self.has_loaded = false;
        self.candidate = Some(DeviceName::new(namespace, 0));
        self.seed = seed;
        self.rename();
    }

    /// Draws another name for the device.
    fn rename(&mut self) {
        self.seed = hash_id(&self.seed.to_le_bytes(), 0);
        let random = hash_id(&self.seed.to_le_bytes(), 1);
        self.candidate = self.candidate.map(|name| name.with_random(random));
    }

    pub(crate) fn len(&self) -> usize {
        self.recordings.len()
    }

    /// The highest known counter.
    pub(crate) fn counter(&self) -> u64 {
        self.counter
    }

    /// A counter that grows when an id becomes unseen or is deleted, in this copy or another one.
    pub(crate) fn unseen_revision(&self) -> u64 {
        self.unseen_revision
    }

    /// The device name; `None` until it is known to be stored.
    pub(crate) fn device_name(&self) -> Option<DeviceName> {
        self.stored.device_name
    }

    /// The latest deletion of the history on the server.
    pub(crate) fn deletion(&self) -> Option<Deletion> {
        self.facts.deletion
    }

    /// Marks the namespace as delivering: ids stay as strings until they are delivered, even if they are covered.
    pub(crate) fn set_reporting(&mut self) {
        self.reports = true;
        self.facts.reported = true;
    }

    /// The recording of an id, regardless of its age.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<&Recording> {
        self.recordings.get(&hash)
    }

    /// The recording of an id, if it is within the window.
    #[inline]
    pub(crate) fn get_live(&self, hash: u64, now_ms: u64) -> Option<&Recording> {
        self.get(hash).filter(|recording| self.is_live(recording, now_ms))
    }

    /// Whether a recording is within the window.
    pub(crate) fn is_live(&self, recording: &Recording, now_ms: u64) -> bool {
        now_ms < recording.at.saturating_add(self.window_ms)
    }

    /// Records an impression. Returns how many ids were reduced to hashes to free space.
    pub(crate) fn record(&mut self, id: HashedId<'_>, at: u64, covered: bool) -> usize {
        self.add(id, at, Kind::Seen, covered, 0)
    }

    /// Records an id that must not be delivered: it is marked as covered and delivered.
    pub(crate) fn record_local(&mut self, id: HashedId<'_>, at: u64) -> usize {
        self.add(id, at, Kind::Seen, true, 1)
    }

    /// Makes an id unseen: it is fresh until it is recorded again.
    pub(crate) fn unsee(&mut self, id: HashedId<'_>, at: u64) -> usize {
        self.unseen_revision += 1;
        self.add(id, at, Kind::Unseen, false, 0)
    }

    fn add(&mut self, id: HashedId<'_>, at: u64, kind: Kind, covered: bool, deliveries: u8) -> usize {
        let hash = id.unseeded();
        // An id that is not UTF-8 could not be delivered.
        let text = std::str::from_utf8(id.bytes()).ok();
        let text = text.filter(|text| text.len() <= MAX_ID_STRING_BYTES);
        let undelivered = text.map(|text| {
            let mut undelivered = Undelivered::new(text);
            undelivered.origin = Origin::Own;
            undelivered
        });
        self.take(hash);
        let is_early_local = deliveries > 0 && !self.has_loaded;
        if is_early_local {
            self.early.push((hash, at));
        } else if kind == Kind::Unseen {
            self.early.retain(|&(early, _)| early != hash);
        }
        let recording = Recording {
            seq: if is_early_local { EARLY_LOCAL } else { self.next_seq(at) },
            at,
            kind,
            covered,
            deliveries,
            undelivered,
            change: if is_early_local { 0 } else { self.next_change() },
            can_wait: false,
        };
        self.insert(hash, recording);
        let lost = self.drop_id_strings() + usize::from(text.is_none() && !covered);
        self.evict();
        lost
    }

    fn next_change(&mut self) -> u32 {
        self.changes += 1;
        self.changes
    }

    fn next_seq(&mut self, at: u64) -> u64 {
        self.counter = (self.counter + 1).max(at).min(MAX_SEQ);
        self.counter
    }

    /// Applies `change` to a recording; it must not change the id. Before the rows are loaded it is not known whether
    /// impressions are delivered, so no id is reduced to its hash.
    fn change(&mut self, hash: u64, change: &dyn Fn(&mut Recording)) {
        let may_report = self.may_report();
        if let Some(recording) = self.recordings.get_mut(&hash) {
            self.tally.change(recording, may_report, change);
        }
    }

    /// Whether impressions are delivered, or that is not known yet.
    fn may_report(&self) -> bool {
        self.facts.reported || !self.has_loaded
    }

    /// [`Table::change`] for a change that must be saved; see [`Recording::can_wait`].
    fn change_unsaved(&mut self, hash: u64, can_wait: bool, change: &dyn Fn(&mut Recording)) {
        let number = self.next_change();
        self.change(hash, &|recording| {
            change(recording);
            recording.can_wait = can_wait && (recording.can_wait || recording.change == 0);
            recording.change = number;
        });
    }

    /// Sets the batch that contains a recording; 0: none.
    pub(crate) fn set_batch(&mut self, hash: u64, batch: u32) {
        self.change(hash, &|recording| {
            if let Some(undelivered) = &mut recording.undelivered {
                undelivered.batch = batch;
            }
        });
    }

    /// Marks a recording as covered by the snapshot in use.
    pub(crate) fn set_covered(&mut self, hash: u64) {
        self.change_unsaved(hash, true, &|recording| recording.covered = true);
    }

    /// Marks an impression as delivered.
    pub(crate) fn set_delivered(&mut self, hash: u64, now_ms: u64) {
        self.change_unsaved(hash, false, &|recording| {
            recording.deliveries = (recording.deliveries + 1).min(MAX_DELIVERIES);
            if let Some(undelivered) = &mut recording.undelivered {
                undelivered.delivered_at = now_ms;
            }
        });
    }

    /// Marks an impression that counted as delivered as not delivered. It gets a new counter: rows that have it as
    /// delivered may be stored already, and a merge of equal counters takes the most deliveries.
    pub(crate) fn set_failed(&mut self, hash: u64) {
        let Some(at) = self.get(hash).map(|recording| recording.at) else {
            return;
        };
        let seq = self.next_seq(at);
        self.change_unsaved(hash, false, &|recording| {
            recording.seq = seq;
            recording.deliveries = recording.deliveries.saturating_sub(1);
        });
    }

    fn take(&mut self, hash: u64) -> Option<Recording> {
        let taken = self.recordings.remove(&hash)?;
        self.tally.remove(&taken);
        Some(taken)
    }

    /// Inserts the recording of an id that has none.
    fn insert(&mut self, hash: u64, mut recording: Recording) {
        recording.drop_unneeded_id_string(self.may_report());
        self.tally.add(&recording);
        self.recordings.insert(hash, recording);
    }

    /// Reduces the oldest ids to hashes once the strings exceed a limit, until a tenth of it is free. Returns how many.
    fn drop_id_strings(&mut self) -> usize {
        if self.tally.id_strings <= MAX_ID_STRINGS && self.tally.id_string_bytes <= MAX_ID_STRING_BYTES {
            return 0;
        }
        let (strings, bytes) = (
            MAX_ID_STRINGS - MAX_ID_STRINGS / 10,
            MAX_ID_STRING_BYTES - MAX_ID_STRING_BYTES / 10,
        );
        let mut dropped = 0;
        for (_, _, oldest) in self.in_order(&|recording| recording.undelivered.is_some()) {
            if self.tally.id_strings <= strings && self.tally.id_string_bytes <= bytes {
                break;
            }
            self.change(oldest, &|recording| recording.undelivered = None);
            dropped += 1;
        }
        dropped
    }

    /// Evicts the lowest recordings once there are a tenth more than `remember`, and unseen ones once there are a tenth
    /// more than [`MAX_UNSEEN`].
    fn evict(&mut self) {
        if self.recordings.len() > with_slack(self.remember) {
            self.evict_all_but(self.remember, &|_| true);
        }
        if self.tally.unseen > with_slack(MAX_UNSEEN) {
            self.evict_all_but(MAX_UNSEEN, &Recording::is_unseen);
        }
    }

    /// Evicts the recordings selected by `counts` except the `most` highest.
    fn evict_all_but(&mut self, most: usize, counts: &dyn Fn(&Recording) -> bool) {
        let order = self.in_order(counts);
        for evicted in &order[..order.len().saturating_sub(most)] {
            self.take(evicted.2);
        }
    }

    /// The ranks of the recordings selected by `counts`, lowest first.
    fn in_order(&self, counts: &dyn Fn(&Recording) -> bool) -> Vec<Rank> {
        let mut ranks = Vec::new();
        for (&hash, recording) in &self.recordings {
            if counts(recording) {
                ranks.push(recording.rank(hash));
            }
        }
        sorted(ranks)
    }
}

fn with_slack(limit: usize) -> usize {
    limit + limit / 10
}

/// Queries.
impl Table {
    /// The recordings with their ids as strings, oldest first, each with its hash. Scans the table only if there are
    /// any.
    pub(crate) fn undelivered(&self) -> Vec<(u64, &Recording, &Undelivered)> {
        let mut list = Vec::new();
        if self.tally.id_strings == 0 {
            return list;
        }
        for (_, _, hash) in self.in_order(&|recording| recording.undelivered.is_some()) {
            if let Some(recording) = self.get(hash)
                && let Some(undelivered) = recording.undelivered.as_deref()
            {
                list.push((hash, recording, undelivered));
            }
        }
        list
    }

    /// The pending recordings within the window, oldest first, each with its hash.
    pub(crate) fn pending(&self, now_ms: u64) -> Vec<(u64, &Recording, &Undelivered)> {
        let mut list = self.undelivered();
        list.retain(|(_, recording, _)| recording.is_pending() && self.is_live(recording, now_ms));
        list
    }

    pub(crate) fn undelivered_len(&self) -> usize {
        self.tally.undelivered
    }

    /// How many impressions are within the window.
    pub(crate) fn remembered(&self, now_ms: u64) -> usize {
        let counts = |one: &&Recording| one.kind == Kind::Seen && self.is_live(one, now_ms);
        self.recordings.values().filter(counts).count()
    }
}
