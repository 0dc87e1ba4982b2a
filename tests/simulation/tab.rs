//! One open page: its guard, and the state that the guard must have, which is exact, since the simulation delivers the rows.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::device::{Guard, Mark};

use super::bag::Row;
use super::delivery::Flight;
use super::items::Item;
use super::ledger::{Ledger, Recording, What};
use super::lists::Verdicts;
use super::view::View;

/// The most ids that are stored with their strings, and their bytes; eviction leaves at least nine tenths.
pub const MAX_TEXTS: usize = 5_000;
pub const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Longest id of a feed.
const MAX_ID_BYTES: usize = 8_192;

/// The known state of a recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    pub is_covered: bool,
    pub deliveries: u32,
    /// The device's clock at the last one.
    pub delivered_at: u64,
}

/// Recordings, by their index in the ledger.
pub type Known = BTreeMap<usize, State>;

/// A deletion of the history on the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Floor {
    /// The server's time, Unix seconds; 0: none.
    pub before: u32,
    /// The device's time, Unix milliseconds.
    pub at: u64,
}

/// The facts about the namespace in a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub floor: Floor,
    /// Whether impressions of this namespace are delivered.
    pub reports: bool,
}

impl Facts {
    /// Of two deletions the later one counts; of two times of one deletion, the earlier one.
    pub fn merge(&mut self, other: Facts) {
        let (known, floor) = (self.floor, other.floor);
        if floor.before > known.before || (floor.before == known.before && floor.at < known.at) {
            self.floor = floor;
        }
        self.reports |= other.reports;
    }
}

/// Whether a change of the table must be in a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    Now,
    /// In one that saves everything.
    Later,
    /// Perhaps it changed nothing.
    Maybe,
}

/// A change of what the table has of an item.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub item: Item,
    /// The latest recording of it then: if it is evicted, the change goes with it.
    pub recording: usize,
    pub serial: usize,
    pub urgency: Urgency,
}

/// A row that is being written.
#[derive(Debug)]
pub struct Save {
    pub mark: Mark,
    pub row: Row,
    /// How many changes there were.
    pub changes: usize,
    /// Whether the bag has it already.
    pub is_in_bag: bool,
}

#[derive(Debug)]
pub struct Tab {
    /// Its number among all tabs of the device.
    pub serial: usize,
    pub guard: Guard,
    pub generation: usize,
    /// How many recordings there were at the start, or when it learned of the latest clear.
    pub since: usize,
    /// Whether its first load is over, and whether it has merged anything.
    pub is_loaded: bool,
    pub has_merged: bool,
    pub known: Known,
    pub facts: Facts,
    /// The facts that it must know to be stored; none: it has no device name.
    pub stored: Option<Facts>,
    /// The rows that it has read or written.
    pub rows: BTreeSet<usize>,
    /// The changes that no save has confirmed.
    pub unsaved: Vec<Change>,
    pub changes: usize,
    pub saves: Vec<Save>,
    pub delivering: bool,
    pub view: View,
    /// Whether a snapshot was applied since the start or the latest clear.
    pub has_applied: bool,
    /// Whether the last snapshot referred to a shard that is not held, and so was not applied.
    pub is_missing_shard: bool,
    /// What its requests named before, newest last.
    pub requests: Vec<String>,
    /// A list that it shows.
    pub verdicts: Verdicts,
    pub flights: Vec<Flight>,
    /// The unsees that it has delivered.
    pub delivered_unseen: BTreeSet<(Item, u64)>,
}

impl Tab {
    pub fn new(serial: usize, guard: Guard, generation: usize, since: usize) -> Self {
        Tab {
            serial,
            guard,
            generation,
            since,
            is_loaded: false,
            has_merged: false,
            known: Known::new(),
            facts: Facts::default(),
            stored: None,
            rows: BTreeSet::new(),
            unsaved: Vec::new(),
            changes: 0,
            saves: Vec::new(),
            delivering: false,
            view: View::default(),
            has_applied: false,
            is_missing_shard: false,
            requests: Vec::new(),
            verdicts: Verdicts::default(),
            flights: Vec::new(),
            delivered_unseen: BTreeSet::new(),
        }
    }

    /// Applies a clear: all its data is dropped.
    pub fn reset(self, generation: usize, since: usize) -> Self {
        let reports = self.delivering;
        Tab {
            facts: Facts {
                reports,
                ..Facts::default()
            },
            is_loaded: self.is_loaded,
            has_merged: self.has_merged,
            changes: self.changes,
            delivering: self.delivering,
            requests: self.requests,
            flights: self.flights,
            ..Tab::new(self.serial, self.guard, generation, since)
        }
    }

    pub fn changed(&mut self, ledger: &Ledger, item: Item, urgency: Urgency) {
        self.changes += 1;
        let latest = self.known_of(ledger, item).map(|(index, _)| index).last();
        self.unsaved.push(Change {
            item,
            recording: latest.unwrap_or_default(),
            serial: self.changes,
            urgency,
        });
    }

    /// Whether the table must have what has changed.
    pub fn must_have_change(&self, ledger: &Ledger, change: &Change) -> bool {
        self.must_remember(ledger, change.recording) && !ledger.item_may_be_deleted(change.item)
    }

    /// A row is merged.
    pub fn learn(&mut self, row: &Row) {
        self.verdicts.owes_deletion |= row.facts.floor.before > self.facts.floor.before;
        self.facts.merge(row.facts);
        let before = self.facts.floor.before;
        let is_in_use = self.has_applied || !self.view.shards.is_empty();
        if is_in_use && before > self.view.forget_before {
            self.view = View {
                version: self.view.version.map(|_| 0),
                forget_before: before,
                ..View::default()
            };
            self.is_missing_shard = false;
        }
        for (&index, state) in &row.contains {
            let known = self.known.entry(index).or_default();
            known.is_covered |= state.is_covered;
            known.deliveries = known.deliveries.max(state.deliveries);
            known.delivered_at = known.delivered_at.max(state.delivered_at);
        }
    }

    /// It must know that a row with these facts is stored.
    pub fn knows_stored(&mut self, facts: Facts) {
        self.stored.get_or_insert(facts).merge(facts);
    }

    /// The recordings of an item that it knows.
    pub fn known_of<'a>(&'a self, ledger: &'a Ledger, item: Item) -> impl Iterator<Item = (usize, &'a Recording)> {
        ledger.of(item).filter(|(index, _)| self.known.contains_key(index))
    }

    /// Whether the table must have a recording, or a later one of its item: fewer than `remember` have a higher counter.
    pub fn must_remember(&self, ledger: &Ledger, index: usize) -> bool {
        let recording = &ledger.recordings[index];
        let is_own = recording.author == self.serial && index >= self.since;
        let most = if is_own {
            self.known.len().saturating_sub(recording.known + 1)
        } else {
            usize::MAX
        };
        self.known.contains_key(&index) && ledger.higher(index).min(most) < ledger.remember
    }

    /// The recordings of an item that may be the one that counts, or were until the history was deleted: none that it
    /// knows has replaced them.
    fn latest<'a>(&'a self, ledger: &'a Ledger, item: Item) -> impl Iterator<Item = (usize, &'a Recording)> {
        // An evicted or deleted recording does not hide the one that it has replaced.
        let stays = move |later: usize| {
            let mut since = ledger.of(item).filter(move |&(index, _)| index >= later);
            self.must_remember(ledger, later) && since.all(|(_, recording)| !ledger.may_be_deleted(recording))
        };
        self.known_of(ledger, item).filter(move |&(index, _)| {
            let mut all = self.known_of(ledger, item);
            !all.any(|(later, _)| ledger.replaces(later, index) && stays(later))
        })
    }

    /// The recordings of an item that may be the one that counts.
    pub fn candidates<'a>(&'a self, ledger: &'a Ledger, item: Item) -> impl Iterator<Item = (usize, &'a Recording)> {
        let floor = self.facts.floor.at;
        self.latest(ledger, item)
            .filter(move |(_, recording)| recording.at >= floor)
    }

    /// Whether the table must have something of an item.
    pub fn must_have(&self, ledger: &Ledger, item: Item) -> bool {
        let mut candidates = self.candidates(ledger, item);
        candidates.any(|(index, _)| self.must_remember(ledger, index)) && !ledger.item_may_be_deleted(item)
    }

    /// Whether the table must stop an item at this time of the device's clock, if no snapshot unsees anything.
    pub fn table_must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let mut all = self.latest(ledger, item);
        let stops = |recording: &Recording| {
            recording.what != What::Unseen
                && wall_ms < recording.at + ledger.window_ms
                && !ledger.may_be_deleted(recording)
        };
        self.must_have(ledger, item) && all.all(|(_, recording)| stops(recording))
    }

    /// Whether an item must be stopped at this time of the device's clock, whatever the server's shards contain.
    pub fn must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let mut all = self.latest(ledger, item);
        self.table_must_stop(ledger, item, wall_ms) && all.all(|(_, recording)| !self.view.unsees(item, recording.at))
    }

    /// Whether an item must pass, whatever the server's shards contain: it was made unseen.
    pub fn must_pass(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_listed = self.view.lists(item);
        let passes = |recording: &Recording| {
            let is_live = wall_ms < recording.at + ledger.window_ms;
            let is_unseen = recording.what == What::Unseen;
            match is_listed {
                true => is_unseen || !is_live || self.view.unsees(item, recording.at),
                false => is_unseen && is_live && !ledger.may_be_deleted(recording),
            }
        };
        let mut all = self.latest(ledger, item);
        (is_listed || self.must_have(ledger, item)) && all.all(|(_, recording)| passes(recording))
    }

    /// Whether an item may pass although a shard contains it.
    pub fn may_be_unseen(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_unseen = |(_, recording): (usize, &Recording)| {
            recording.what == What::Unseen && wall_ms < recording.at + ledger.window_ms
        };
        self.view.lists(item) || self.candidates(ledger, item).any(is_unseen)
    }

    /// Whether the table may stop an item because of a recording of this time.
    pub fn may_stop(&self, ledger: &Ledger, item: Item, at: u64, wall_ms: u64) -> bool {
        self.candidates(ledger, item).any(|(_, recording)| {
            let is_live = wall_ms < recording.at + ledger.window_ms && !self.view.unsees(item, at);
            recording.what != What::Unseen && recording.at == at && is_live
        })
    }

    /// Whether a recording may have lost its text to free space.
    pub fn may_have_lost_text(&self, ledger: &Ledger, index: usize) -> bool {
        let (texts, bytes) = (MAX_TEXTS / 10 * 9, MAX_TEXT_BYTES / 10 * 9);
        ledger.higher(index) >= texts - 1 || ledger.bytes_since(index) >= bytes - MAX_ID_BYTES
    }

    /// Whether a recording must be in the table, with its text as long as it needs that.
    pub fn must_have_text(&self, ledger: &Ledger, index: usize) -> bool {
        self.must_remember(ledger, index) && !self.may_have_lost_text(ledger, index)
    }
}
