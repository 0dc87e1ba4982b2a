//! The impression table: the exact set of items that this device showed, by the XXH64 of the id.
//!
//! A device with several tabs has a copy of the table in each, and storage holds what all of them wrote, as
//! [rows](row). Copies become one by [`Table::merge`], which is commutative, associative and idempotent before anything
//! is dropped: the order, the number and the grouping of merges do not matter.
//!
//! The counter of recordings is a hybrid clock: 1 above the highest that this copy has heard of, and at least the
//! device's time. The time itself is used only for the window, so a clock jump drops nothing: expired recordings are
//! skipped, and stay until `remember` higher recordings evict them.

mod floor;
mod merge;
mod recording;
pub(crate) mod row;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub(crate) use floor::Floor;
pub(crate) use recording::{Kind, MAX_AT, Rank, Recording, Undelivered};

use crate::devices::DeviceName;
use crate::hash::HashedId;
use crate::id_map::IdMap;
use recording::{EARLY_LOCAL, MAX_DELIVERIES, MAX_SEQ};

/// Recordings that are kept unless the options say otherwise.
pub const DEFAULT_REMEMBER: usize = 10_000;
/// Most recordings that can be kept.
pub const MAX_REMEMBER: usize = 50_000;
/// Most ids that are kept as text.
pub(crate) const MAX_TEXTS: usize = 5_000;
/// Most bytes of these ids together.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;
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
    /// The highest counter that this copy has seen.
    counter: u64,
    /// Whether the stored data has been read, or there is no storage.
    has_looked: bool,
    /// Local recordings made before that: hash and time.
    early: Vec<(u64, u64)>,
    reporting: bool,
    floor: Option<Floor>,
    /// The number of the latest known clear; 0: none.
    number: u64,
    /// The device's name, once it is stored.
    device_name: Option<DeviceName>,
    /// Grows when an id becomes unseen or is forgotten.
    unseen_revision: u64,
    /// The changes that are not stored yet, oldest first.
    unsaved: Vec<Change>,
    changes: u64,
}

/// Counts of recordings, kept up to date by each change.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    texts: usize,
    text_bytes: usize,
    undelivered: usize,
    unseen: usize,
}

/// A change of a recording.
#[derive(Debug, Clone, Copy)]
struct Change {
    hash: u64,
    /// Its sequence number.
    place: u64,
    /// Whether it only marks a recording as covered: after a reload the snapshot would cover it again. It is stored
    /// with the next change that cannot wait.
    can_wait: bool,
}

impl Tally {
    fn add(&mut self, recording: &Recording) {
        self.texts += usize::from(recording.undelivered.is_some());
        self.text_bytes += recording.text_bytes();
        self.undelivered += usize::from(recording.is_undelivered());
        self.unseen += usize::from(recording.is_unseen());
    }

    fn remove(&mut self, recording: &Recording) {
        self.texts -= usize::from(recording.undelivered.is_some());
        self.text_bytes -= recording.text_bytes();
        self.undelivered -= usize::from(recording.is_undelivered());
        self.unseen -= usize::from(recording.is_unseen());
    }
}

impl Table {
    /// An empty table of a namespace that is not stored. `remember`: the least number of recordings that are kept.
    pub(crate) fn new(window_ms: u64, remember: usize) -> Self {
        Table {
            window_ms,
            remember,
            recordings: IdMap::default(),
            tally: Tally::default(),
            counter: 0,
            has_looked: true,
            early: Vec::new(),
            reporting: false,
            floor: None,
            number: 0,
            device_name: None,
            unseen_revision: 0,
            unsaved: Vec::new(),
            changes: 0,
        }
    }

    pub(crate) fn window_ms(&self) -> u64 {
        self.window_ms
    }

    pub(crate) fn remember(&self) -> usize {
        self.remember
    }

    pub(crate) fn len(&self) -> usize {
        self.recordings.len()
    }

    /// The highest counter that is known.
    pub(crate) fn counter(&self) -> u64 {
        self.counter
    }

    /// Grows when an id becomes unseen or is forgotten, in this copy or another one.
    pub(crate) fn unseen_revision(&self) -> u64 {
        self.unseen_revision
    }

    /// The device's name, once it is stored.
    pub(crate) fn device_name(&self) -> Option<DeviceName> {
        self.device_name
    }

    /// Sets the name, which is stored.
    pub(crate) fn name_device(&mut self, name: DeviceName) {
        self.device_name = Some(name);
    }

    /// Whether impressions of this namespace were ever delivered.
    pub(crate) fn is_reporting(&self) -> bool {
        self.reporting
    }

    /// Marks the namespace as delivering: ids keep their text until they are delivered, even if they are covered.
    pub(crate) fn set_reporting(&mut self) {
        self.reporting = true;
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

    /// Records an impression. Returns how many texts were dropped to free space.
    pub(crate) fn record(&mut self, id: HashedId<'_>, at: u64, covered: bool) -> usize {
        self.add(id, at, Kind::Seen, covered, 0)
    }

    /// Records an id of which the server must not learn: covered and delivered from the start.
    pub(crate) fn record_local(&mut self, id: HashedId<'_>, at: u64) -> usize {
        self.add(id, at, Kind::Seen, true, 1)
    }

    /// Makes an id unseen: it passes until it is recorded again.
    pub(crate) fn unsee(&mut self, id: HashedId<'_>, at: u64) -> usize {
        self.unseen_revision += 1;
        self.add(id, at, Kind::Unseen, false, 0)
    }

    fn add(&mut self, id: HashedId<'_>, at: u64, kind: Kind, covered: bool, deliveries: u8) -> usize {
        let hash = id.unseeded();
        let has_room = id.bytes().len() <= MAX_TEXT_BYTES;
        let undelivered = has_room.then(|| Undelivered::recorded(id.bytes()));
        self.take(hash);
        let is_early_local = deliveries > 0 && !self.has_looked;
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
        };
        self.insert(hash, recording, self.reporting);
        if !is_early_local {
            self.note_change(hash, false);
        }
        let lost = self.drop_texts() + usize::from(!has_room && !covered);
        self.evict();
        lost
    }

    fn next_seq(&mut self, at: u64) -> u64 {
        self.counter = (self.counter + 1).max(at).min(MAX_SEQ);
        self.counter
    }

    /// Applies `change` to a recording; it must not change the id.
    fn change(&mut self, hash: u64, change: impl FnOnce(&mut Recording)) {
        let Some(recording) = self.recordings.get_mut(&hash) else {
            return;
        };
        self.tally.remove(recording);
        change(recording);
        recording.drop_unneeded_text(self.reporting);
        self.tally.add(recording);
    }

    /// Sets the batch that contains a recording; 0: none.
    pub(crate) fn set_batch(&mut self, hash: u64, batch: u32) {
        self.change(hash, |recording| {
            if let Some(undelivered) = &mut recording.undelivered {
                undelivered.batch = batch;
            }
        });
    }

    /// Marks a recording as covered by the snapshot in use.
    pub(crate) fn set_covered(&mut self, hash: u64) {
        self.change(hash, |recording| recording.covered = true);
        self.note_change(hash, true);
    }

    /// Marks an impression as delivered.
    pub(crate) fn set_delivered(&mut self, hash: u64, now_ms: u64) {
        self.change(hash, |recording| {
            recording.deliveries = (recording.deliveries + 1).min(MAX_DELIVERIES);
            if let Some(undelivered) = &mut recording.undelivered {
                undelivered.delivered_at = now_ms;
            }
        });
        self.note_change(hash, false);
    }

    /// Marks an impression that counted as delivered as not delivered.
    pub(crate) fn set_failed(&mut self, hash: u64) {
        self.change(hash, |recording| {
            recording.deliveries = recording.deliveries.saturating_sub(1)
        });
        self.note_change(hash, false);
    }

    fn take(&mut self, hash: u64) -> Option<Recording> {
        let taken = self.recordings.remove(&hash)?;
        self.tally.remove(&taken);
        Some(taken)
    }

    /// Inserts the recording of an id that has none. `reporting`: its text is needed for delivery, even if it is
    /// covered.
    fn insert(&mut self, hash: u64, mut recording: Recording, reporting: bool) {
        recording.drop_unneeded_text(reporting);
        self.tally.add(&recording);
        self.recordings.insert(hash, recording);
    }

    /// Drops the oldest texts once they exceed a limit, until a tenth of the space is free. Returns how many it
    /// dropped.
    fn drop_texts(&mut self) -> usize {
        if self.tally.texts <= MAX_TEXTS && self.tally.text_bytes <= MAX_TEXT_BYTES {
            return 0;
        }
        let (texts, bytes) = (MAX_TEXTS - MAX_TEXTS / 10, MAX_TEXT_BYTES - MAX_TEXT_BYTES / 10);
        let mut dropped = 0;
        for oldest in self.in_order(&|recording| recording.undelivered.is_some()) {
            if self.tally.texts <= texts && self.tally.text_bytes <= bytes {
                break;
            }
            self.change(oldest.hash, |recording| recording.undelivered = None);
            dropped += 1;
        }
        dropped
    }

    /// Evicts the lowest recordings once there are a tenth more than `remember`; the same for unseen ones.
    fn evict(&mut self) {
        if self.recordings.len() > with_slack(self.remember) {
            self.keep_highest(self.remember, &|_| true);
        }
        if self.tally.unseen > with_slack(MAX_UNSEEN) {
            self.keep_highest(MAX_UNSEEN, &Recording::is_unseen);
        }
    }

    /// Of the recordings selected by `counts`, keeps the `most` highest.
    fn keep_highest(&mut self, most: usize, counts: &dyn Fn(&Recording) -> bool) {
        let order = self.in_order(counts);
        for evicted in &order[..order.len().saturating_sub(most)] {
            self.take(evicted.hash);
        }
    }

    /// The ranks of the recordings selected by `counts`, lowest first.
    fn in_order(&self, counts: &dyn Fn(&Recording) -> bool) -> Vec<Rank> {
        let mut ranks = Vec::new();
        for (&hash, recording) in &self.recordings {
            if counts(recording) {
                ranks.push(Rank::of(hash, recording));
            }
        }
        Rank::sorted(ranks)
    }

    /// The ranks of those of these ids that the table has, each once, lowest first.
    pub(crate) fn ranks_of(&self, hashes: Vec<u64>) -> Vec<Rank> {
        let mut ranks = Vec::new();
        for hash in hashes {
            ranks.extend(self.get(hash).map(|recording| Rank::of(hash, recording)));
        }
        let mut ranks = Rank::sorted(ranks);
        ranks.dedup();
        ranks
    }
}

fn with_slack(limit: usize) -> usize {
    limit + limit / 10
}

/// Queries.
impl Table {
    /// The recordings that have their text, oldest first, each with its hash. Scans the table only if there are any.
    pub(crate) fn undelivered(&self) -> Vec<(u64, &Recording, &Undelivered)> {
        let mut list = Vec::new();
        if self.tally.texts == 0 {
            return list;
        }
        for rank in self.in_order(&|recording| recording.undelivered.is_some()) {
            if let Some(recording) = self.get(rank.hash)
                && let Some(undelivered) = recording.undelivered.as_deref()
            {
                list.push((rank.hash, recording, undelivered));
            }
        }
        list
    }

    /// The pending recordings among them.
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

/// Changes to be stored.
impl Table {
    fn note_change(&mut self, hash: u64, can_wait: bool) {
        self.changes += 1;
        self.unsaved.push(Change {
            hash,
            place: self.changes,
            can_wait,
        });
        if self.unsaved.len() > 2 * self.recordings.len() + MAX_ROW {
            self.drop_superseded();
        }
    }

    /// Keeps the latest change of each id, and none of an id that was evicted: without a storage the list would grow
    /// without bound.
    fn drop_superseded(&mut self) {
        let mut latest: IdMap<u64> = IdMap::default();
        for change in &self.unsaved {
            latest.insert(change.hash, change.place);
        }
        let recordings = &self.recordings;
        self.unsaved.retain_mut(|change| {
            change.can_wait = false;
            latest.get(&change.hash) == Some(&change.place) && recordings.contains_key(&change.hash)
        });
    }

    /// How many changes there were.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a change from `first` to `last` has to be stored. `everything`: includes changes that can wait.
    pub(crate) fn is_unsaved(&self, everything: bool, first: u64, last: u64) -> bool {
        let is_due = |change: &Change| everything || !change.can_wait;
        self.unsaved
            .iter()
            .any(|change| (first..=last).contains(&change.place) && is_due(change))
    }

    /// The ids of the latest changes to be stored, at most `most`, and the sequence number of the first of them.
    /// `everything`: includes changes that can wait.
    pub(crate) fn latest_unsaved(&self, everything: bool, most: usize) -> (u64, Vec<u64>) {
        let due = self
            .unsaved
            .iter()
            .rev()
            .filter(|change| everything || !change.can_wait);
        let (mut first, mut hashes) = (u64::MAX, Vec::new());
        for change in due.take(most) {
            first = change.place;
            hashes.push(change.hash);
        }
        (first, hashes)
    }

    /// Notes that the changes from `first` to `last` are stored.
    pub(crate) fn set_saved(&mut self, first: u64, last: u64) {
        self.unsaved
            .retain(|change| change.place < first || change.place > last);
        self.unsaved.shrink_to_fit();
    }
}
