//! One open page: a guard, its storage protocol, and what the guard must know, and may know.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::{Guard, Notices, Operation, Received, Storage};

use super::elsewhere::DeviceTold;
use super::items::Item;
use super::job::Job;
use super::ledger::{Ledger, Recording};
use super::lists::Verdicts;
use super::store::is_segment;
use super::view::View;

/// What a tab did that a segment holds.
#[derive(Debug, Clone, Default)]
pub struct Holds {
    /// Recordings, by place in the ledger.
    pub recordings: Vec<usize>,
    /// Recordings that a snapshot covered.
    pub covered: Vec<usize>,
    /// Deliveries that have arrived.
    pub delivered: Vec<(Item, u64)>,
    /// Recordings that the tab held pending when it began to deliver.
    pub promised: Vec<usize>,
    /// The deletion of the history that the tab took last; 0: none since the segment before.
    pub deletion: u32,
    /// Whether it tells that impressions are delivered.
    pub is_reporting: bool,
}

impl Holds {
    pub fn add(&mut self, other: Holds) {
        self.recordings.extend(other.recordings);
        self.covered.extend(other.covered);
        self.delivered.extend(other.delivered);
        self.promised.extend(other.promised);
        self.deletion = self.deletion.max(other.deletion);
        self.is_reporting |= other.is_reporting;
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
    pub clear: u64,
    pub has_arrived: bool,
    /// What the report tells of what is pending.
    pub told: DeviceTold,
}

/// What a tab knows of the deliveries of an impression.
#[derive(Debug, Clone, Copy)]
pub struct Confirmed {
    pub times: u32,
    /// The place of the first one among all of the device.
    pub serial: u64,
    /// The device's clock at the last one.
    pub wall_ms: u64,
    /// Whether all of them were made by this tab.
    pub is_own: bool,
}

/// A delivered impression was covered: the stream has come as far.
#[derive(Debug, Clone, Copy)]
pub struct Sign {
    /// The place of its first delivery among all of the device, if this tab made it.
    pub serial: Option<u64>,
    pub steady_ms: u64,
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
    /// The storage operation under way, and those that are no longer awaited.
    pub job: Option<Job>,
    pub late: Vec<Job>,
    /// When its storage has something to do.
    pub acts_at: u64,
    /// What its storage has told last.
    pub notices: Notices,
    /// Whether an operation has failed since its storage had nothing to do.
    pub is_troubled: bool,
    /// When the storage was listed last, counted by the store, and what was learned of it.
    pub listed: u64,
    pub learned: u64,
    /// The stored snapshot that it has read, with the number of its key.
    pub found_snapshot: Option<(u64, String)>,
    /// A segment that it wrote when there were enough for a compaction.
    pub crowded: Option<String>,
    /// Whether it has written a union, and not removed what that stands for.
    pub has_union: bool,
    /// The earliest time by the device's clock since it has cleared.
    pub earliest_ms: u64,
    /// What it did last for a clear that is not done.
    pub clear_step: Option<&'static str>,
    /// In the back/forward cache, or asleep: nothing runs.
    pub frozen: bool,
    pub steady_zero: u64,
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
    pub received: Received,
    /// What its requests said before, newest last.
    pub requests: Vec<String>,
    /// A list that it shows.
    pub verdicts: Verdicts,
    /// What it recorded, by place in the ledger.
    pub own: Vec<usize>,
    /// What it did that is in no segment yet; what its storage has taken of that, and is yet to write; and what it
    /// writes, with the key.
    pub unsaved: Holds,
    pub taken: Option<Holds>,
    pub writing: Option<(String, Holds)>,
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
    /// The takings back that it has delivered.
    pub delivered_unseen: BTreeSet<(Item, u64)>,
    /// The delivered impressions that a snapshot covered here.
    pub signs: Vec<Sign>,
    /// How many of these signs are of no delivery that this device knows of.
    pub misleading_signs: usize,
}

impl Tab {
    pub fn new(serial: usize, guard: Guard, storage: Storage, now: u64, steady_zero: u64) -> Self {
        Tab {
            serial,
            guard,
            storage,
            job: None,
            late: Vec::new(),
            acts_at: now,
            notices: Notices::default(),
            is_troubled: false,
            listed: 0,
            learned: 0,
            found_snapshot: None,
            crowded: None,
            has_union: false,
            earliest_ms: u64::MAX,
            clear_step: None,
            frozen: false,
            steady_zero,
            delivering: false,
            is_reporting: false,
            view: View::default(),
            has_applied: false,
            is_missing_shard: false,
            knew_deletion: 0,
            received: Received::default(),
            requests: Vec::new(),
            verdicts: Verdicts::default(),
            own: Vec::new(),
            unsaved: Holds::default(),
            taken: None,
            writing: None,
            known: BTreeSet::new(),
            heard: 0,
            knows_deletion: 0,
            may_know_deletion: 0,
            due: BTreeSet::new(),
            settled: BTreeSet::new(),
            flights: Vec::new(),
            confirmed: BTreeMap::new(),
            delivered_unseen: BTreeSet::new(),
            signs: Vec::new(),
            misleading_signs: 0,
        }
    }

    /// Whatever was stored may have come in now.
    pub fn hear(&mut self, ledger: &Ledger) {
        self.heard = ledger.recordings.len();
        self.may_know_deletion = ledger.last_deletion();
    }

    /// The namespace was cleared: of what was recorded only this must be known still.
    pub fn clear(&mut self, stays: impl Fn(&usize) -> bool) {
        self.known.retain(stays);
        self.unsaved = Holds {
            recordings: self.known.iter().copied().collect(),
            ..Holds::default()
        };
        self.taken = None;
        self.writing = None;
        self.due.clear();
        self.settled.clear();
        self.view = View::default();
        self.has_applied = false;
        self.is_missing_shard = false;
        self.knew_deletion = 0;
        self.verdicts = Verdicts::default();
        self.confirmed.clear();
        self.delivered_unseen.clear();
        self.signs.clear();
        self.misleading_signs = 0;
        self.knows_deletion = 0;
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
        is_heard && recording.clear.max(recording.at) >= clear
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
        let clear = self.guard.clear_number();
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

    /// Whether the table must stop an item at this time of the device's clock, if no snapshot takes anything back.
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
        self.table_must_stop(ledger, item, wall_ms)
            && all.all(|(_, recording)| !self.view.takes_back(item, recording.at))
    }

    /// Whether an item must pass, whatever the server's shards contain: it was taken back.
    pub fn must_pass(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_listed = self.view.lists(item);
        let mut must_be_there = is_listed;
        for (index, recording) in self.unreplaced(ledger, item) {
            let is_live = wall_ms < recording.at + ledger.window_ms;
            let is_own = recording.unseen && !ledger.may_have_ended.contains(&index);
            let passes = if is_listed {
                recording.unseen || !is_live || self.view.takes_back(item, recording.at)
            } else {
                is_own && is_live && !ledger.may_be_deleted(recording)
            };
            if !passes {
                return false;
            }
            must_be_there |= self.must_remember(ledger, index);
        }
        must_be_there
    }

    /// Whether an item may pass although a shard contains it.
    pub fn may_be_taken_back(&self, ledger: &Ledger, item: Item, wall_ms: u64) -> bool {
        let is_own = |(index, recording): (usize, &Recording)| {
            recording.unseen && wall_ms < recording.at + ledger.window_ms && !self.settled.contains(&index)
        };
        self.view.lists(item) || self.candidates(ledger, item).any(is_own)
    }

    /// Whether the table may stop an item because of a recording of this time.
    pub fn may_stop(&self, ledger: &Ledger, item: Item, at: u64, wall_ms: u64) -> bool {
        self.candidates(ledger, item).any(|(_, recording)| {
            !recording.unseen
                && wall_ms < recording.at + ledger.window_ms
                && at == recording.at
                && !self.view.takes_back(item, at)
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

    /// Something has changed, and is to be written soon.
    pub fn change(&mut self, now: u64) {
        self.storage.changed();
        self.acts_at = self.acts_at.min(now);
    }

    /// Others have written something, or may have.
    pub fn look(&mut self, now: u64) {
        self.storage.look();
        self.acts_at = self.acts_at.min(now);
    }

    /// Whether its storage has something to do that is not late.
    pub fn is_busy(&self, now: u64) -> bool {
        let is_answered = self.job.as_ref().is_some_and(|job| !job.hangs);
        !self.frozen && (is_answered || self.acts_at <= now)
    }

    /// Its storage has taken what is in no segment yet.
    pub fn take_unsaved(&mut self) {
        let mut unsaved = std::mem::take(&mut self.unsaved);
        unsaved.is_reporting = self.is_reporting;
        self.taken.get_or_insert_default().add(unsaved);
    }

    /// What the tab did that a segment holds which is to be written; nothing of one that only stands for others.
    pub fn holds_of(&mut self, operation: &Operation) -> Option<Holds> {
        let Operation::Write { key, .. } = operation else {
            return None;
        };
        if let Some((known, holds)) = &self.writing
            && known == key
        {
            return Some(holds.clone());
        }
        let mut holds = if is_segment(key) {
            self.taken.take()?
        } else {
            return None;
        };
        // What could not be written before is in it, too.
        holds.add(self.writing.take().map(|(_, holds)| holds).unwrap_or_default());
        self.writing = Some((key.clone(), holds.clone()));
        Some(holds)
    }

    /// What the tab did that is not written yet, and was taken to be.
    pub fn unwritten(&self) -> Holds {
        let mut unwritten = self.taken.clone().unwrap_or_default();
        unwritten.add(self.writing.clone().map(|(_, holds)| holds).unwrap_or_default());
        unwritten
    }
}
