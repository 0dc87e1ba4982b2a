//! One open page: a guard, its writer, and what the guard must know, and may know.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::{Guard, Received};

use super::items::Item;
use super::ledger::{Ledger, Recording};
use super::lists::Verdicts;
use super::view::View;
use super::writer::{Holds, Job, Writer};

/// A batch under way.
#[derive(Debug)]
pub struct Flight {
    pub batch: u32,
    pub impressions: Vec<(Item, u64)>,
    pub unseen: Vec<(Item, u64)>,
    pub sent_ms: u64,
    /// The same by the device's clock.
    pub sent_at: u64,
    pub generation: u64,
    pub has_arrived: bool,
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

/// Ids of the latest recordings, for the limits of texts.
#[derive(Debug, Clone, Copy)]
pub struct TextLimits {
    pub texts: usize,
    pub bytes: usize,
}

/// Most that there are, and as many as are kept at least.
pub const TEXT_LIMITS: TextLimits = TextLimits {
    texts: 5_000,
    bytes: 256 * 1024,
};
const KEPT_TEXTS: TextLimits = TextLimits {
    texts: TEXT_LIMITS.texts / 10 * 9,
    bytes: TEXT_LIMITS.bytes / 10 * 9,
};
/// Longest id of a feed.
const LONGEST_ID: usize = 8_192;

#[derive(Debug)]
pub struct Tab {
    /// Its number among all tabs of the device.
    pub serial: usize,
    pub guard: Guard,
    pub writer: Writer,
    /// In the back/forward cache, or asleep: nothing runs.
    pub frozen: bool,
    /// Since when it runs without a break.
    pub awake_since: u64,
    /// A job waits since then.
    pub waiting_since: Option<u64>,
    /// Since when none does.
    pub idle_since: u64,
    pub steady_zero: u64,
    pub delivering: bool,
    /// Whether it must know that impressions of this namespace are delivered.
    pub is_reporting: bool,
    /// Unix milliseconds of the device's clock at which a clear was asked for here that is not done.
    pub clearing: Option<u64>,
    /// The time of the last clear that it knows of, by the device's clock.
    pub cleared_at_ms: u64,
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
    /// What it did that is in no segment yet.
    pub unsaved: Holds,
    known: Vec<bool>,
    pub known_count: usize,
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
    pub fn new(serial: usize, guard: Guard, writer: Writer, now: u64, steady_zero: u64) -> Self {
        Tab {
            serial,
            guard,
            writer,
            frozen: false,
            awake_since: now,
            waiting_since: Some(now),
            idle_since: now,
            steady_zero,
            delivering: false,
            is_reporting: false,
            clearing: None,
            cleared_at_ms: 0,
            view: View::default(),
            has_applied: false,
            is_missing_shard: false,
            knew_deletion: 0,
            received: Received::default(),
            requests: Vec::new(),
            verdicts: Verdicts::default(),
            own: Vec::new(),
            unsaved: Holds::default(),
            known: Vec::new(),
            known_count: 0,
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

    pub fn knows(&self, index: usize) -> bool {
        self.known.get(index).copied().unwrap_or(false)
    }

    /// From now on this recording must be known here. Whether that is new.
    pub fn learn(&mut self, index: usize) -> bool {
        if self.known.len() <= index {
            self.known.resize(index + 1, false);
        }
        let is_new = !std::mem::replace(&mut self.known[index], true);
        self.known_count += usize::from(is_new);
        is_new
    }

    /// Whatever was stored may have come in now.
    pub fn hear(&mut self, ledger: &Ledger) {
        self.heard = ledger.recordings.len();
        self.may_know_deletion = ledger.last_deletion();
    }

    /// The namespace was cleared: what was recorded before, or by a clock that was ahead, need not be known any more.
    pub fn clear_before(&mut self, cleared_at_ms: u64, wall_ms: u64, ledger: &Ledger) {
        // Of an item that was recorded several times one recording is there, and that one may leave.
        let stays = |index: usize| {
            let mut of_item = ledger.of(ledger.recordings[index].item);
            of_item.all(|(_, recording)| (cleared_at_ms..=wall_ms).contains(&recording.at))
        };
        for index in 0..self.known.len() {
            if self.known[index] && !stays(index) {
                self.known[index] = false;
                self.known_count -= 1;
            }
        }
        self.cleared_at_ms = cleared_at_ms;
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

    /// The recordings that must be known here.
    pub fn all_known(&self) -> impl Iterator<Item = usize> {
        (0..self.known.len()).filter(|&index| self.known[index])
    }

    /// Whether a recording may be in the table here.
    pub fn may_know(&self, index: usize, recording: &Recording) -> bool {
        let is_heard = recording.author == self.serial || index < self.heard;
        is_heard && (recording.generation >= self.writer.generation || recording.at >= self.cleared_at_ms)
    }

    /// Whether fewer than `remember` others have a higher counter in this table.
    pub fn must_remember(&self, ledger: &Ledger, index: usize, remember: usize) -> bool {
        self.knows(index) && self.most_higher(ledger, index) < remember
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
    fn unreplaced<'a>(
        &'a self,
        ledger: &'a Ledger,
        item: Item,
        remember: usize,
    ) -> impl Iterator<Item = (usize, &'a Recording)> {
        let here = ledger
            .of(item)
            .filter(|&(index, recording)| self.may_know(index, recording));
        here.filter(move |&(index, _)| {
            let is_replaced = ledger.of(item).any(|(later, replacing)| {
                ledger.replaces(later, index)
                    && self.must_remember(ledger, later, remember)
                    && !ledger.may_be_deleted(replacing)
            });
            !is_replaced
        })
    }

    /// The recordings of an item that may be the one that counts here.
    pub fn candidates<'a>(
        &'a self,
        ledger: &'a Ledger,
        item: Item,
        remember: usize,
    ) -> impl Iterator<Item = (usize, &'a Recording)> {
        self.unreplaced(ledger, item, remember)
            .filter(|(_, recording)| !ledger.is_deleted(recording, self.knows_deletion))
    }

    /// Whether the table must stop an item at this time of the device's clock, if no snapshot takes anything back.
    pub fn table_must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64, window_ms: u64, remember: usize) -> bool {
        let mut must_be_there = false;
        for (index, recording) in self.unreplaced(ledger, item, remember) {
            if recording.unseen || wall_ms >= recording.at + window_ms || ledger.may_be_deleted(recording) {
                return false;
            }
            must_be_there |= self.must_remember(ledger, index, remember);
        }
        must_be_there
    }

    /// Whether an item must be stopped at this time of the device's clock, whatever the server's shards contain.
    pub fn must_stop(&self, ledger: &Ledger, item: Item, wall_ms: u64, window_ms: u64, remember: usize) -> bool {
        let mut all = self.unreplaced(ledger, item, remember);
        self.table_must_stop(ledger, item, wall_ms, window_ms, remember)
            && all.all(|(_, recording)| !self.view.takes_back(item, recording.at))
    }

    /// Whether an item must pass, whatever the server's shards contain: it was taken back.
    pub fn must_pass(&self, ledger: &Ledger, item: Item, wall_ms: u64, window_ms: u64, remember: usize) -> bool {
        let is_listed = self.view.lists(item);
        let mut must_be_there = is_listed;
        for (index, recording) in self.unreplaced(ledger, item, remember) {
            let is_live = wall_ms < recording.at + window_ms;
            let is_own = recording.unseen && !ledger.may_have_ended.contains(&index);
            let passes = if is_listed {
                recording.unseen || !is_live || self.view.takes_back(item, recording.at)
            } else {
                is_own && is_live && !ledger.may_be_deleted(recording)
            };
            if !passes {
                return false;
            }
            must_be_there |= self.must_remember(ledger, index, remember);
        }
        must_be_there
    }

    /// Whether an item may pass although a shard contains it.
    pub fn may_be_taken_back(
        &self,
        ledger: &Ledger,
        item: Item,
        wall_ms: u64,
        window_ms: u64,
        remember: usize,
    ) -> bool {
        let is_own = |(index, recording): (usize, &Recording)| {
            recording.unseen && wall_ms < recording.at + window_ms && !self.settled.contains(&index)
        };
        self.view.lists(item) || self.candidates(ledger, item, remember).any(is_own)
    }

    /// Whether the table may stop an item because of a recording of this time.
    pub fn may_stop(&self, ledger: &Ledger, item: Item, at: u64, clocks: (u64, u64), remember: usize) -> bool {
        let (wall_ms, window_ms) = clocks;
        self.candidates(ledger, item, remember).any(|(_, recording)| {
            !recording.unseen
                && wall_ms < recording.at + window_ms
                && at == recording.at
                && !self.view.takes_back(item, at)
        })
    }

    /// Whether a recording may have lost its text for want of room.
    pub fn may_have_lost_text(&self, ledger: &Ledger, index: usize) -> bool {
        ledger.higher(index) >= KEPT_TEXTS.texts - 1 || ledger.bytes_since(index) >= KEPT_TEXTS.bytes - LONGEST_ID
    }

    /// Something is to be done soon.
    pub fn ask(&mut self, job: Job, now: u64) {
        self.writer.enqueue(job);
        self.waiting_since.get_or_insert(now);
    }
}
