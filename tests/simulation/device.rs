//! One device: its clock, its storage, its tabs, and the ledger of what truly happened on it.

use std::collections::BTreeSet;

use seenguard::{Guard, Now};

use super::chance::Chance;
use super::conditions::{Conditions, DAY, MINUTE, SECOND};
use super::items::{Item, Items};
use super::ledger::{Impression, Ledger};
use super::statistics::Tally;
use super::store::Store;
use super::tab::{Entered, Tab};
use super::writer::{Effect, Job, Made, Surroundings, Writer, stored_generation};
use crate::random::Random;

/// What tabs write, others know within this time, unless they sleep.
pub const SOON_MS: u64 = SECOND;
/// Keys and bytes of a namespace when an opening is done.
const MOST_KEYS: usize = 32;
const MOST_BYTES: usize = 512 * 1024;
/// No job takes more storage operations than this.
const MANY_STEPS: usize = 100_000;

#[derive(Debug)]
pub struct Device {
    /// The wall clock less the true time.
    pub clock_off_ms: i64,
    pub store: Store,
    pub tabs: Vec<Tab>,
    opened: usize,
    pub ledger: Ledger,
    /// Whether anything was ever damaged, or its clock ever jumped.
    pub was_damaged: bool,
    pub clock_jumped: bool,
}

impl Device {
    pub fn new(clock_off_ms: i64) -> Self {
        Device {
            clock_off_ms,
            store: Store::default(),
            tabs: Vec::new(),
            opened: 0,
            ledger: Ledger::default(),
            was_damaged: false,
            clock_jumped: false,
        }
    }

    pub fn wall(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.clock_off_ms)
    }

    pub fn clocks(&self, tab: usize, now: u64) -> Now {
        Now {
            wall_ms: self.wall(now),
            steady_ms: now - self.tabs[tab].steady_zero,
        }
    }

    /// Opens a page, whose clock that never jumps begins now.
    pub fn open(&mut self, now: u64, conditions: &Conditions, random: &mut Random) {
        let guard = Guard::new(conditions.window_days).expect("the window is one");
        let writer = Writer::new(format!("{:016x}", random.next()));
        let steady_zero = now - random.below(MINUTE);
        self.opened += 1;
        self.tabs.push(Tab::new(self.opened, guard, writer, now, steady_zero));
    }

    pub fn thaw(&mut self, tab: usize, now: u64) {
        let tab = &mut self.tabs[tab];
        tab.frozen = false;
        tab.awake_since = now;
        tab.ask(Job::Pull, now);
    }

    /// The wall clock is set, by seconds or by years.
    pub fn jump_clock(&mut self, random: &mut Random) {
        let far = *random.pick(&[10 * SECOND, 10 * MINUTE, DAY, 40 * DAY, 3_000 * DAY]);
        let by = random.between(0, 2 * far) as i64 - far as i64;
        self.clock_jumped = true;
        self.clock_off_ms = (self.clock_off_ms + by).clamp(-(4_000 * DAY as i64), 4_000 * DAY as i64);
    }

    pub fn damage(&mut self, random: &mut Random) {
        let keys = self.store.keys();
        let segments: Vec<&String> = keys.iter().filter(|key| key.starts_with("s/")).collect();
        if segments.is_empty() {
            return;
        }
        let key = *random.pick(&segments);
        self.store.damage(key, random.next() as usize);
        self.ledger.unstore_all();
        self.was_damaged = true;
    }

    /// Does one storage operation of a tab.
    pub fn step(&mut self, tab: usize, now: u64, conditions: &Conditions, items: &Items, tally: &mut Tally) {
        let clocks = self.clocks(tab, now);
        let page = &mut self.tabs[tab];
        if page.frozen {
            return;
        }
        let mut around = Surroundings {
            store: &mut self.store,
            guard: &mut page.guard,
            now: clocks,
            true_ms: now,
            made: Made {
                recorded: page.own.len(),
                promised: page.promised.len(),
            },
            piecewise: conditions.piecewise,
            effects: Vec::new(),
        };
        page.writer.step(&mut around);
        let effects = around.effects;
        if page.writer.is_idle() {
            page.waiting_since = None;
            page.idle_since = now;
        }
        for effect in effects {
            self.take_effect(tab, effect, now, conditions, items, tally);
        }
    }

    /// Lets a tab do all that waits to be done.
    pub fn settle(&mut self, tab: usize, now: u64, conditions: &Conditions, items: &Items, tally: &mut Tally) {
        let mut steps = 0;
        while !self.tabs[tab].frozen && !self.tabs[tab].writer.is_idle() {
            self.step(tab, now, conditions, items, tally);
            steps += 1;
            assert!(steps < MANY_STEPS, "storage: a tab's jobs never end");
        }
    }

    fn take_effect(
        &mut self,
        tab: usize,
        effect: Effect,
        now: u64,
        conditions: &Conditions,
        items: &Items,
        tally: &mut Tally,
    ) {
        match effect {
            Effect::Stored { holds, is_checkpoint } => self.stored(tab, holds, is_checkpoint, now),
            Effect::CaughtUp { began_ms } => {
                self.learn_stored(tab, began_ms, now, items);
            }
            Effect::Taken => self.note_covered(tab, now, items),
            Effect::TookOver { began_ms, is_written } => {
                let taken = self.learn_stored(tab, began_ms, now, items);
                self.took_over(tab, taken, is_written);
            }
            Effect::Opened => self.check_compacted(tab, tally),
            Effect::FoundGeneration => {
                let page = &self.tabs[tab];
                for &index in &page.own {
                    self.ledger.impressions[index].generation = page.writer.generation;
                }
            }
            Effect::Forgot => {
                self.tabs[tab].clearing = false;
                self.tabs[tab].forget();
            }
            Effect::Rang => self.ring(tab, now, conditions),
            Effect::Noticed(what) => tally.reach(what),
        }
    }

    fn stored(&mut self, tab: usize, holds: Made, is_checkpoint: bool, now: u64) {
        let page = &mut self.tabs[tab];
        let before = std::mem::replace(&mut page.stored, holds.recorded);
        // What is damaged has left the storage; a checkpoint brings it back.
        let from = if is_checkpoint && self.was_damaged { 0 } else { before };
        if page.writer.generation != stored_generation(&self.store) {
            return;
        }
        for &index in &page.own[from..holds.recorded] {
            self.ledger.impressions[index].stored_ms.get_or_insert(now);
        }
        for &index in &page.promised[..holds.promised] {
            self.ledger.impressions[index].promised = true;
        }
    }

    /// What the snapshot in use covers when it is taken over is settled with that, though the snapshot may change until the union is written.
    fn note_covered(&mut self, tab: usize, now: u64, items: &Items) {
        let clocks = self.clocks(tab, now);
        let view = &self.tabs[tab].view;
        if view.shards.is_empty() {
            return;
        }
        let seen = self.ledger.impressions.iter().map(|impression| impression.item);
        let covered = seen.filter(|&item| view.contains(items.text(item), clocks));
        self.ledger.covered.extend(covered);
    }

    /// What is taken over where impressions are delivered is to be delivered; the union says so.
    fn took_over(&mut self, tab: usize, taken: Vec<usize>, is_written: bool) {
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        for &index in &taken {
            let impression = &mut ledger.impressions[index];
            impression.promised |= page.delivering && is_written && page.due.contains_key(&impression.item);
        }
        page.taken = taken;
    }

    /// What was in storage then must be known in this tab. Returns what is new to it.
    fn learn_stored(&mut self, tab: usize, by_ms: u64, now: u64, items: &Items) -> Vec<usize> {
        let is_stored = |impression: &Impression| impression.stored_ms.is_some_and(|stored| stored <= by_ms);
        let stored = self.ledger.impressions.iter().map(is_stored).collect();
        self.learn(tab, stored, now, items)
    }

    /// What others have stored for longer than "soon" must be known in this tab: they have said so, or are awake and have nothing left to do.
    fn learn_told(&mut self, tab: usize, now: u64, items: &Items) {
        let by_ms = now - SOON_MS;
        let awake: BTreeSet<usize> = self
            .tabs
            .iter()
            .filter(|tab| !tab.frozen && tab.writer.is_idle() && tab.idle_since <= by_ms)
            .map(|tab| tab.serial)
            .collect();
        let is_told = |impression: &Impression| {
            let is_stored = impression.stored_ms.is_some_and(|stored| stored <= by_ms);
            let has_told = impression.told_ms.is_some_and(|told| told <= by_ms);
            is_stored && (has_told || awake.contains(&impression.author))
        };
        let told = self.ledger.impressions.iter().map(is_told).collect();
        self.learn(tab, told, now, items);
    }

    fn learn(&mut self, tab: usize, must_know: Vec<bool>, now: u64, items: &Items) -> Vec<usize> {
        let clocks = self.clocks(tab, now);
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        let (mut most, mut learned) = (Entered::default(), Vec::new());
        for (index, must_know) in must_know.into_iter().enumerate() {
            let impression = &ledger.impressions[index];
            if impression.generation != page.writer.generation {
                continue;
            }
            let (item, bytes) = (impression.item, items.text(impression.item).len());
            most.entries += 1;
            most.bytes += bytes;
            if !must_know || !page.learn(index) {
                continue;
            }
            learned.push(index);
            if ledger.covered.contains(&item) {
                continue;
            }
            if page.view.contains(items.text(item), clocks) {
                ledger.covered.insert(item);
            } else {
                page.due.entry(item).or_insert(page.entered);
            }
        }
        page.entered.entries += most.entries;
        page.entered.bytes += most.bytes;
        // What another tab has settled need not be pending here.
        page.due.retain(|item, _| !ledger.covered.contains(item));
        learned
    }

    /// Other tabs hear that something was written, those that sleep excepted.
    fn ring(&mut self, tab: usize, now: u64, conditions: &Conditions) {
        if !conditions.has_bell {
            return;
        }
        for &index in &self.tabs[tab].own[..self.tabs[tab].stored] {
            self.ledger.impressions[index].told_ms.get_or_insert(now);
        }
        for (index, other) in self.tabs.iter_mut().enumerate() {
            if index != tab && !other.frozen {
                other.ask(Job::Pull, now);
            }
        }
    }

    /// Keys and bytes after an opening, less what tabs that are alive have written themselves.
    fn check_compacted(&self, tab: usize, tally: &mut Tally) {
        if self.tabs[tab].writer.has_failed {
            return;
        }
        let living: usize = self.tabs.iter().map(|tab| tab.writer.own_keys()).sum();
        let keys = self.store.keys().len();
        assert!(
            keys <= MOST_KEYS + living,
            "limits: {keys} keys after an opening, of which {living} belong to tabs that are open"
        );
        let bytes = self.store.bytes();
        assert!(
            bytes <= MOST_BYTES || self.tabs.len() > 1,
            "limits: {bytes} bytes in storage after an opening"
        );
        if bytes > MOST_BYTES / 4 {
            tally.reach("over 128 KB are in storage after an opening");
        }
    }

    /// Does what waits for longer than "soon". Whether there was any.
    pub fn settle_waiting(
        &mut self,
        tab: usize,
        now: u64,
        conditions: &Conditions,
        items: &Items,
        tally: &mut Tally,
    ) -> bool {
        let page = &self.tabs[tab];
        let waits = !page.frozen && page.waiting_since.is_some_and(|since| since + SOON_MS <= now);
        if waits {
            self.settle(tab, now, conditions, items, tally);
        }
        waits
    }

    /// Before a page is looked at, what waits for longer than "soon" has been done.
    pub fn catch_up(&mut self, tab: usize, now: u64, conditions: &Conditions, items: &Items, tally: &mut Tally) {
        let mut others_wrote = false;
        for other in 0..self.tabs.len() {
            others_wrote |= self.settle_waiting(other, now, conditions, items, tally);
        }
        if others_wrote {
            self.settle(tab, now, conditions, items, tally);
        }
        let page = &self.tabs[tab];
        let has_heard = conditions.has_bell && page.writer.is_loaded && page.awake_since + SOON_MS <= now;
        if has_heard && !page.clearing {
            self.learn_told(tab, now, items);
        }
    }

    /// Whether all that the namespace ever had fits into a journal.
    pub fn fits_journal(&self, items: &Items) -> bool {
        let distinct: BTreeSet<Item> = self
            .ledger
            .impressions
            .iter()
            .map(|impression| impression.item)
            .collect();
        let bytes: usize = distinct.iter().map(|&item| items.text(item).len()).sum();
        distinct.len() <= MOST_ENTRIES && bytes <= MOST_ID_BYTES
    }
}

/// Limits of a journal.
pub const MOST_ENTRIES: usize = 5_000;
pub const MOST_ID_BYTES: usize = 256 * 1024;

impl Tab {
    /// Something is to be done soon.
    pub fn ask(&mut self, job: Job, now: u64) {
        self.writer.enqueue(job);
        self.waiting_since.get_or_insert(now);
    }

    /// Whether the journal may ever have been full.
    pub fn may_have_overflowed(&self) -> bool {
        self.entered.entries > MOST_ENTRIES || self.entered.bytes > MOST_ID_BYTES
    }
}

impl Entered {
    /// Whether an entry that came with this one may have left the journal for want of room by now.
    pub fn may_have_left(self, now: Entered) -> bool {
        now.entries - self.entries >= MOST_ENTRIES - 1 || now.bytes - self.bytes >= MOST_ID_BYTES - 8_192
    }
}
