//! One open page: a guard and its storage, and what the guard must know, and may know.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::device::{Guard, Place, Storage};

use super::elsewhere::DeviceTold;
use super::items::Item;
use super::job::{ClearJob, Job};
use super::ledger::{Ledger, Recording};
use super::lists::Verdicts;
use super::local_storage::Copy;
use super::view::View;

/// What a tab did that a row holds.
#[derive(Debug, Clone, Default)]
pub struct Holds {
    /// Recordings, by place in the ledger.
    pub recordings: BTreeSet<usize>,
    /// Recordings that a snapshot covered.
    pub covered: BTreeSet<usize>,
    /// Deliveries that have arrived.
    pub delivered: BTreeMap<(Item, u64), Confirmed>,
}

impl Holds {
    pub fn add(&mut self, other: &Holds) {
        self.recordings.extend(&other.recordings);
        self.covered.extend(&other.covered);
        self.delivered.extend(&other.delivered);
    }

    pub fn remove(&mut self, saved: &Holds) {
        self.recordings.retain(|index| !saved.recordings.contains(index));
        self.covered.retain(|index| !saved.covered.contains(index));
        self.delivered
            .retain(|key, confirmed| saved.delivered.get(key) != Some(confirmed));
    }

    pub fn is_empty(&self) -> bool {
        self.recordings.is_empty() && self.covered.is_empty() && self.delivered.is_empty()
    }
}

/// A batch under way.
#[derive(Debug)]
pub struct Flight {
    pub batch: u32,
    pub impressions: Vec<(Item, u64)>,
    pub unseen: Vec<(Item, u64)>,
    pub sent_ms: u64,
    /// The same by the device's clock.
    pub sent_at: u64,
    /// The number of the latest clear that the tab knew of.
    pub number: u64,
    pub has_arrived: bool,
    /// What the report tells of what is pending.
    pub told: DeviceTold,
}

/// What a tab knows of the deliveries of an impression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmed {
    pub times: u32,
    /// The device's clock at the last one.
    pub wall_ms: u64,
}

/// The namespace that is simulated, what all its keys begin with, and its signal.
pub const NAMESPACE: &str = "feed";
pub const PREFIX: &str = "seenguard/feed/";
pub const SIGNAL: &str = "seenguard-signal/feed";

/// The number that a signal tells.
pub fn signal_of(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split('.').next()?, 36).ok()
}

/// The number under which a key of the namespace stands.
pub fn number_of(key: &str) -> u64 {
    let number = key.strip_prefix(PREFIX).and_then(|rest| rest.split('/').next());
    u64::from_str_radix(number.unwrap_or_default(), 36).expect("a key has a number to the base 36")
}

/// What the keys under a number begin with.
pub fn under(number: u64) -> String {
    format!("{PREFIX}{:0>11}/", base36(number))
}

pub fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.insert(0, char::from_digit((number % 36) as u32, 36).expect("a digit"));
        number /= 36;
    }
    digits.into_iter().collect()
}

/// Most ids that are kept as texts, and their bytes; nine tenths of them at least.
pub const MOST_TEXTS: usize = 5_000;
pub const MOST_TEXT_BYTES: usize = 256 * 1024;
/// Longest id of a feed.
const LONGEST_ID: usize = 8_192;

#[derive(Debug)]
pub struct Tab {
    /// Its number among all tabs of the device.
    pub serial: usize,
    pub guard: Guard,
    pub storage: Storage,
    pub place: Place,
    /// Its localStorage, if it has one, and which of the device's that is.
    pub local: Option<(usize, Copy)>,
    pub is_hidden: bool,
    /// In the back/forward cache, or asleep: nothing runs.
    pub frozen: bool,
    /// Whether what happens while it is frozen reaches it afterwards.
    pub hears_later: bool,
    /// Whether its storage has stopped being waited for, and until when it is.
    pub is_open: bool,
    pub opens_at: u64,
    /// Timers, by which they are, with when they fire.
    pub timers: BTreeMap<u8, u64>,
    /// The transaction under way, and those that are no longer awaited.
    pub job: Option<Job>,
    pub late: Vec<Job>,
    pub clearing: Option<ClearJob>,
    /// Whether it has a connection to IndexedDB; else when an opening that does not answer was begun, and when it does.
    pub is_connected: bool,
    pub opening: Option<(u64, u64)>,
    /// Whether a transaction has failed since one was complete, and when one did last.
    pub is_troubled: bool,
    pub failed_at: u64,
    /// When its page was shown last.
    pub shown_at: u64,
    /// The number of the latest clear that it knows of.
    pub number: u64,
    pub delivering: bool,
    /// Whether it must know that impressions of this namespace are delivered.
    pub is_reporting: bool,
    pub view: View,
    /// Whether a snapshot was taken since it was opened, or the namespace was cleared.
    pub has_applied: bool,
    /// Whether the last snapshot referred to a shard that is not held, and so was not taken.
    pub is_missing_shard: bool,
    /// What it must have known of deletions when the snapshot in use was taken.
    pub knew_deletion: u32,
    /// What its requests said before, newest last.
    pub requests: Vec<String>,
    /// A list that it shows.
    pub verdicts: Verdicts,
    /// What it recorded, by place in the ledger.
    pub own: Vec<usize>,
    /// What it did that no put has finished, and at most how many changes of its table that is.
    pub unsaved: Holds,
    pub changes: usize,
    /// The rows that it has read or written, and the one that it has in localStorage beside IndexedDB.
    pub rows: BTreeSet<String>,
    pub own_local: Option<String>,
    /// Whether a pass of it was complete.
    pub has_passed: bool,
    /// The recordings that it must know.
    pub known: BTreeSet<usize>,
    /// It has heard of no recording from here on but its own.
    pub heard: usize,
    /// The latest deletion of the history that it must know, and may know; Unix seconds.
    pub knows_deletion: u32,
    pub may_know_deletion: u32,
    /// Recordings that must be pending here.
    pub due: BTreeSet<usize>,
    /// Recordings that must be known as covered here.
    pub settled: BTreeSet<usize>,
    pub flights: Vec<Flight>,
    pub confirmed: BTreeMap<(Item, u64), Confirmed>,
    /// The unsees that it has delivered.
    pub delivered_unseen: BTreeSet<(Item, u64)>,
}

impl Tab {
    pub fn new(serial: usize, guard: Guard, storage: Storage, place: Place, opens_at: u64) -> Self {
        Tab {
            serial,
            guard,
            storage,
            place,
            local: None,
            is_hidden: false,
            frozen: false,
            hears_later: false,
            is_open: false,
            opens_at,
            timers: BTreeMap::new(),
            job: None,
            late: Vec::new(),
            clearing: None,
            is_connected: false,
            opening: None,
            is_troubled: false,
            failed_at: 0,
            shown_at: 0,
            number: 0,
            delivering: false,
            is_reporting: false,
            view: View::default(),
            has_applied: false,
            is_missing_shard: false,
            knew_deletion: 0,
            requests: Vec::new(),
            verdicts: Verdicts::default(),
            own: Vec::new(),
            unsaved: Holds::default(),
            changes: 0,
            rows: BTreeSet::new(),
            own_local: None,
            has_passed: false,
            known: BTreeSet::new(),
            heard: 0,
            knows_deletion: 0,
            may_know_deletion: 0,
            due: BTreeSet::new(),
            settled: BTreeSet::new(),
            flights: Vec::new(),
            confirmed: BTreeMap::new(),
            delivered_unseen: BTreeSet::new(),
        }
    }

    /// Whatever was stored may have come in now.
    pub fn hear(&mut self, ledger: &Ledger) {
        self.heard = ledger.recordings.len();
        self.may_know_deletion = ledger.last_deletion();
    }

    /// Another clear is known: what was recorded before it does not exist, but what `stays` is unsaved again.
    pub fn forget(&mut self, stays: impl Fn(usize) -> bool) {
        self.known.retain(|&index| stays(index));
        self.due.retain(|&index| stays(index));
        self.settled.retain(|&index| stays(index));
        self.unsaved = Holds {
            recordings: self.known.clone(),
            covered: self.settled.clone(),
            ..Holds::default()
        };
        self.changes = self.known.len();
        self.number = self.guard.number();
        self.rows.clear();
        self.own_local = None;
        self.view = View::default();
        self.has_applied = false;
        self.is_missing_shard = false;
        self.knew_deletion = 0;
        self.verdicts = Verdicts::default();
        self.confirmed.clear();
        self.delivered_unseen.clear();
        self.knows_deletion = 0;
    }

    /// The rows in its localStorage that it has read.
    pub fn rows_beside(&self) -> Vec<String> {
        let keys = self.local.iter().flat_map(|(_, copy)| copy.keys(PREFIX));
        keys.filter(|key| self.rows.contains(key)).collect()
    }

    pub fn signal(&self) -> Option<u64> {
        self.local
            .as_ref()?
            .1
            .values
            .get(SIGNAL)
            .and_then(|text| signal_of(text))
    }

    pub fn has_looked(&self) -> bool {
        self.storage.has_looked(&self.guard)
    }

    /// From now on no recording of an item so far must be pending here.
    pub fn is_not_due(&mut self, ledger: &Ledger, item: Item) {
        for (index, _) in ledger.of(item) {
            self.due.remove(&index);
        }
    }

    /// Whether a recording may be in the table here, if `clear` is the number of the latest clear that is known.
    pub fn may_know(&self, index: usize, recording: &Recording, clear: u64) -> bool {
        let is_heard = recording.author == self.serial || index < self.heard;
        is_heard && recording.number >= clear
    }

    /// Whether fewer than `remember` others have a higher counter in this table.
    pub fn must_remember(&self, ledger: &Ledger, index: usize) -> bool {
        self.known.contains(&index) && self.most_higher(ledger, index) < ledger.remember
    }

    /// How many recordings with a higher counter than this one there may be in this table, at most.
    fn most_higher(&self, ledger: &Ledger, index: usize) -> usize {
        let recording = &ledger.recordings[index];
        if recording.author != self.serial {
            return ledger.higher(index);
        }
        // Of others it knows at most what it has heard of.
        let heard_and_own = self.heard + self.own.len() - self.own.partition_point(|&own| own < self.heard);
        ledger
            .higher(index)
            .min(heard_and_own.saturating_sub(recording.certain + 1))
    }

    /// The recordings of an item that may be the one that counts here, or were until a deletion of the history reached
    /// them.
    fn unreplaced<'a>(&'a self, ledger: &'a Ledger, item: Item) -> impl Iterator<Item = (usize, &'a Recording)> {
        let clear = self.guard.number();
        let here = ledger
            .of(item)
            .filter(move |&(index, recording)| self.may_know(index, recording, clear));
        here.filter(move |&(index, _)| {
            // Nor is there one since that a deletion may reach: it takes with it what it has replaced.
            let stays = |later| {
                ledger
                    .of(item)
                    .all(|(latest, other)| latest < later || !ledger.may_be_deleted(other))
            };
            let mut replacing = ledger.of(item).filter(|&(later, _)| ledger.replaces(later, index));
            !replacing.any(|(later, _)| self.must_remember(ledger, later) && stays(later))
        })
    }

    /// The recordings of an item that may be the one that counts here.
    pub fn candidates<'a>(&'a self, ledger: &'a Ledger, item: Item) -> impl Iterator<Item = (usize, &'a Recording)> {
        self.unreplaced(ledger, item)
            .filter(|(_, recording)| !ledger.is_deleted(recording, self.knows_deletion))
    }

    /// Whether the table must stop an item at this time of the device's clock, if no snapshot unsees anything.
    pub fn table_must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let mut must_be_there = false;
        for (index, recording) in self.unreplaced(ledger, item) {
            if recording.unseen || wall_ms >= recording.at + ledger.window_ms || ledger.may_be_deleted(recording) {
                return false;
            }
            must_be_there |= self.must_remember(ledger, index);
        }
        must_be_there
    }

    /// Whether an item must be stopped at this time of the device's clock, whatever the server's shards contain.
    pub fn must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let mut all = self.unreplaced(ledger, item);
        self.table_must_stop(ledger, item, wall_ms) && all.all(|(_, recording)| !self.view.unsees(item, recording.at))
    }

    /// Whether an item must pass, whatever the server's shards contain: it was made unseen.
    pub fn must_pass(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_listed = self.view.lists(item);
        let mut must_be_there = is_listed;
        for (index, recording) in self.unreplaced(ledger, item) {
            let is_live = wall_ms < recording.at + ledger.window_ms;
            let passes = if is_listed {
                recording.unseen || !is_live || self.view.unsees(item, recording.at)
            } else {
                recording.unseen && is_live && !ledger.may_be_deleted(recording)
            };
            if !passes {
                return false;
            }
            must_be_there |= self.must_remember(ledger, index);
        }
        must_be_there
    }

    /// Whether an item may pass although a shard contains it.
    pub fn may_be_made_unseen(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_own =
            |(_, recording): (usize, &Recording)| recording.unseen && wall_ms < recording.at + ledger.window_ms;
        self.view.lists(item) || self.candidates(ledger, item).any(is_own)
    }

    /// Whether the table may stop an item because of a recording of this time.
    pub fn may_stop(&self, ledger: &Ledger, item: Item, at: u64, wall_ms: u64) -> bool {
        self.candidates(ledger, item).any(|(_, recording)| {
            !recording.unseen
                && wall_ms < recording.at + ledger.window_ms
                && at == recording.at
                && !self.view.unsees(item, at)
        })
    }

    /// Whether a recording may have lost its text for want of room.
    pub fn may_have_lost_text(&self, ledger: &Ledger, index: usize) -> bool {
        let (texts, bytes) = (MOST_TEXTS / 10 * 9, MOST_TEXT_BYTES / 10 * 9);
        ledger.higher(index) >= texts - 1 || ledger.bytes_since(index) >= bytes - LONGEST_ID
    }

    /// Whether a recording must be in this table, with its text as long as it needs that.
    pub fn must_keep_text(&self, ledger: &Ledger, index: usize) -> bool {
        self.must_remember(ledger, index) && !self.may_have_lost_text(ledger, index)
    }
}
