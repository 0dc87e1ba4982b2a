//! One device: its clock, its storage, its tabs, and the ledger of what truly happened on it.

use std::collections::BTreeSet;

use seenguard::{Guard, Now};

use super::bounds;
use super::chance::Chance;
use super::conditions::{Conditions, DAY, MINUTE, SECOND};
use super::held::{self, HeldStore};
use super::items::Item;
use super::ledger::{Ledger, Recording};
use super::scene::Scene;
use super::snapshots;
use super::store::Store;
use super::tab::{Confirmed, Tab};
use super::writer::{Effect, Holds, Job, Surroundings, Writer, stored_generation};
use crate::random::Random;

/// What tabs write, others know within this time, unless they sleep.
pub const SOON_MS: u64 = SECOND;
/// Bytes of a namespace for each recording that is kept, and for the texts.
const MOST_BYTES_A_RECORDING: usize = 150;
/// No job takes more storage operations than this.
const MANY_STEPS: usize = 100_000;

#[derive(Debug)]
pub struct Device {
    /// The wall clock less the true time.
    pub clock_off_ms: i64,
    pub store: Store,
    pub held: HeldStore,
    pub tabs: Vec<Tab>,
    /// How many tabs there ever were.
    pub opened: usize,
    pub ledger: Ledger,
    /// Whether anything was ever damaged, or its clock ever jumped.
    pub was_damaged: bool,
    pub clock_jumped: bool,
    /// The same, or it was set right in the end.
    pub clock_was_set: bool,
}

impl Device {
    pub fn new(clock_off_ms: i64) -> Self {
        Device {
            clock_off_ms,
            store: Store::default(),
            held: HeldStore::default(),
            tabs: Vec::new(),
            opened: 0,
            ledger: Ledger::default(),
            was_damaged: false,
            clock_jumped: false,
            clock_was_set: false,
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
        let guard = Guard::new(conditions.window_days, conditions.remember).expect("the options are those of a guard");
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
        self.clock_was_set = true;
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

    /// The namespace is cleared, as a tab asks for it.
    pub fn clear(&mut self, tab: usize, now: u64) {
        if self.tabs.iter().any(|tab| tab.clearing.is_some()) {
            return;
        }
        let clocks = self.clocks(tab, now);
        self.tabs[tab].guard.clear_before(clocks.wall_ms, clocks);
        self.cleared(tab, clocks.wall_ms, clocks);
        self.tabs[tab].clearing = Some(clocks.wall_ms);
        self.tabs[tab].ask(Job::Clear(clocks.wall_ms), now);
    }

    /// Does one storage operation of a tab.
    pub fn step(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let clocks = self.clocks(tab, scene.now);
        let page = &mut self.tabs[tab];
        if page.frozen {
            return;
        }
        let mut around = Surroundings {
            store: &mut self.store,
            held: &self.held,
            guard: &mut page.guard,
            random: scene.random,
            now: clocks,
            true_ms: scene.now,
            remember: scene.conditions.remember,
            unsaved: &mut page.unsaved,
            piecewise: scene.conditions.piecewise,
            effects: Vec::new(),
        };
        page.writer.step(&mut around);
        let effects = around.effects;
        if page.writer.is_idle() {
            page.waiting_since = None;
            page.idle_since = scene.now;
        }
        for effect in effects {
            self.take_effect(tab, effect, scene);
        }
        self.check_storage(scene);
    }

    /// Lets a tab do all that waits to be done.
    pub fn settle(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let mut steps = 0;
        while !self.tabs[tab].frozen && !self.tabs[tab].writer.is_idle() {
            self.step(tab, scene);
            steps += 1;
            assert!(steps < MANY_STEPS, "storage: a tab's jobs never end");
        }
    }

    fn take_effect(&mut self, tab: usize, effect: Effect, scene: &mut Scene<'_>) {
        match effect {
            Effect::Stored { holds, text } => {
                bounds::check_size_of_one(&holds, &text, &self.ledger, scene);
                self.stored(tab, holds, scene.now);
            }
            Effect::Heard => {
                self.tabs[tab].hear(&self.ledger);
                snapshots::note_dropped(&mut self.tabs[tab], &self.ledger, scene);
            }
            Effect::Restored(restored) => held::restored(self, tab, restored, scene),
            Effect::CaughtUp { began_ms } => self.learn_stored(tab, began_ms, scene),
            Effect::Loaded { began_ms } => {
                self.learn_stored(tab, began_ms, scene);
                self.number_early(tab);
            }
            Effect::Cleared(cleared_at_ms) => {
                let clocks = self.clocks(tab, scene.now);
                if self.tabs[tab].clearing.take().is_some() {
                    self.ledger.cleared_ms = scene.now;
                }
                self.cleared(tab, cleared_at_ms, clocks);
                if self.tabs[tab].known_count > 0 {
                    scene.tally.reach("what was recorded since a clear is kept");
                }
            }
            Effect::Signalled => self.signal(tab, scene),
            Effect::Noticed(what) => scene.tally.reach(what),
        }
    }

    fn stored(&mut self, tab: usize, holds: Holds, now: u64) {
        let page = &self.tabs[tab];
        let ledger = &mut self.ledger;
        if page.writer.generation != stored_generation(&self.store).0 {
            // Another tab has cleared the namespace since this one looked.
            assert!(
                page.waiting_since.is_none_or(|since| since <= ledger.cleared_ms),
                "storage: what was recorded since a clear is written where nobody reads it"
            );
            return;
        }
        for &index in &holds.recordings {
            let recording = &mut ledger.recordings[index];
            recording.stored_ms.get_or_insert(now);
        }
        for index in holds.promised {
            ledger.recordings[index].to_deliver = true;
        }
        for index in holds.covered {
            ledger.stored_coverages.entry(index).or_insert(now);
        }
        for key in holds.delivered {
            if let Some(&confirmed) = page.confirmed.get(&key) {
                ledger.stored_deliveries.insert(key, (confirmed, now));
            }
        }
        if page.is_reporting {
            ledger.reporting_stored_ms.get_or_insert(now);
        }
        ledger.stored_deletions.entry(holds.deletion).or_insert(now);
    }

    /// What was recorded before the storage had loaded gets its counters now, above all that was loaded.
    fn number_early(&mut self, tab: usize) {
        let (page, ledger) = (&self.tabs[tab], &mut self.ledger);
        // A clear that was heard of first has made it forget the others.
        let kept = || page.own.iter().filter(|&&index| page.knows(index));
        let others_known = page.known_count - kept().count();
        for (place, &index) in kept().enumerate() {
            let item = ledger.recordings[index].item;
            let missed_of_item = missed_of_item(page, ledger, item, index);
            let recording = &mut ledger.recordings[index];
            recording.generation = page.writer.generation;
            recording.certain = others_known + place;
            recording.missed = index.saturating_sub(recording.certain);
            recording.missed_of_item = missed_of_item;
            recording.knew_deletion = recording.knew_deletion.max(page.knows_deletion);
            recording.may_have_known_deletion = page.may_know_deletion;
        }
    }

    /// The namespace was cleared: what a tab keeps is unsaved again.
    fn cleared(&mut self, tab: usize, cleared_at_ms: u64, clocks: Now) {
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        page.clear_before(cleared_at_ms, clocks.wall_ms, ledger);
        let kept: Vec<usize> = page.all_known().collect();
        for &index in &kept {
            let recording = &mut ledger.recordings[index];
            if recording.generation < page.writer.generation {
                recording.generation = page.writer.generation;
                recording.stored_ms = None;
                recording.signalled_ms = None;
            }
        }
        page.unsaved = Holds {
            recordings: kept,
            ..Holds::default()
        };
        ledger.reporting_stored_ms = None;
        ledger.stored_deliveries.clear();
        ledger.stored_coverages.clear();
        ledger.stored_deletions.clear();
    }

    /// What was in storage then must be known in this tab.
    fn learn_stored(&mut self, tab: usize, by_ms: u64, scene: &Scene<'_>) {
        let is_stored = |recording: &Recording| recording.stored_ms.is_some_and(|stored| stored <= by_ms);
        let stored = self.ledger.recordings.iter().map(is_stored).collect();
        self.learn(tab, stored, by_ms, scene);
    }

    /// What others have stored for longer than "soon" must be known in this tab: they have said so, or are awake and
    /// have nothing left to do.
    fn learn_signalled(&mut self, tab: usize, scene: &Scene<'_>) {
        let by_ms = scene.now - SOON_MS;
        let awake: BTreeSet<usize> = self
            .tabs
            .iter()
            .filter(|tab| !tab.frozen && tab.writer.is_idle() && tab.idle_since <= by_ms)
            .map(|tab| tab.serial)
            .collect();
        let is_known = |recording: &Recording| {
            let is_stored = recording.stored_ms.is_some_and(|stored| stored <= by_ms);
            let is_signalled = recording.signalled_ms.is_some_and(|signalled| signalled <= by_ms);
            is_stored && (is_signalled || awake.contains(&recording.author))
        };
        let known = self.ledger.recordings.iter().map(is_known).collect();
        self.learn(tab, known, 0, scene);
    }

    /// Notes what a tab must know from now on: these recordings, and what else was in storage at that time.
    fn learn(&mut self, tab: usize, must_know: Vec<bool>, by_ms: u64, scene: &Scene<'_>) {
        if self.tabs[tab].clearing.is_some() {
            return;
        }
        let clocks = self.clocks(tab, scene.now);
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        page.is_reporting |= ledger.reporting_stored_ms.is_some_and(|stored| stored <= by_ms);
        for index in (0..must_know.len()).filter(|&index| must_know[index]) {
            let recording = &ledger.recordings[index];
            if recording.generation != page.writer.generation || !page.learn(index) {
                continue;
            }
            page.is_reporting |= recording.was_to_deliver;
            page.knows_deletion = page.knows_deletion.max(recording.knew_deletion);
            let item = recording.item;
            let is_settled = ledger.covered.contains(&item) || page.view.contains(scene.items.text(item), clocks);
            if !is_settled && !recording.unseen {
                page.due.insert(index);
            }
        }
        // What another tab has settled need not be pending here.
        page.due
            .retain(|&index| !ledger.covered.contains(&ledger.recordings[index].item));
        let is_stored = |stored: &u64| *stored <= by_ms;
        let deletions = ledger.stored_deletions.iter().filter(|(_, stored)| is_stored(stored));
        page.knows_deletion = deletions.map(|(&before, _)| before).fold(page.knows_deletion, u32::max);
        page.settled.extend(
            ledger
                .stored_coverages
                .iter()
                .filter(|(_, stored)| is_stored(stored))
                .map(|(&index, _)| index),
        );
        for (&key, (confirmed, _)) in ledger
            .stored_deliveries
            .iter()
            .filter(|(_, (_, stored))| is_stored(stored))
        {
            let known = page.confirmed.entry(key).or_insert(Confirmed {
                is_own: false,
                ..*confirmed
            });
            known.times = known.times.max(confirmed.times);
            known.wall_ms = known.wall_ms.max(confirmed.wall_ms);
        }
    }

    /// Other tabs hear that something was written, those that sleep excepted.
    fn signal(&mut self, tab: usize, scene: &Scene<'_>) {
        if !scene.conditions.has_signals {
            return;
        }
        let author = self.tabs[tab].serial;
        for recording in &mut self.ledger.recordings {
            if recording.author == author && recording.stored_ms.is_some() {
                recording.signalled_ms.get_or_insert(scene.now);
            }
        }
        for (index, other) in self.tabs.iter_mut().enumerate() {
            if index != tab && !other.frozen {
                other.ask(Job::Pull, scene.now);
            }
        }
    }

    /// Bytes in storage.
    fn check_storage(&self, scene: &Scene<'_>) {
        let bytes = self.store.bytes();
        let texts = self.ledger.bytes.min(super::tab::TEXT_LIMITS.bytes);
        let most = MOST_BYTES_A_RECORDING * scene.conditions.remember + 4 * texts + 64 * 1024;
        assert!(
            bytes <= most,
            "limits: {bytes} bytes in storage, with {} recordings to be kept",
            scene.conditions.remember
        );
    }

    /// Does what waits for longer than "soon". Whether there was any.
    pub fn settle_waiting(&mut self, tab: usize, scene: &mut Scene<'_>) -> bool {
        let page = &self.tabs[tab];
        let waits = !page.frozen && page.waiting_since.is_some_and(|since| since + SOON_MS <= scene.now);
        if waits {
            self.settle(tab, scene);
        }
        waits
    }

    /// Before a page is looked at, what waits for longer than "soon" has been done.
    pub fn catch_up(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let mut others_wrote = false;
        for other in 0..self.tabs.len() {
            others_wrote |= self.settle_waiting(other, scene);
        }
        if others_wrote {
            self.settle(tab, scene);
        }
        let page = &self.tabs[tab];
        let has_heard =
            scene.conditions.has_signals && page.writer.is_loaded && page.awake_since + SOON_MS <= scene.now;
        if has_heard {
            self.learn_signalled(tab, scene);
        }
    }
}

/// Earlier recordings of an item that this tab need not have known.
pub fn missed_of_item(page: &Tab, ledger: &Ledger, item: Item, before: usize) -> Vec<usize> {
    let earlier = ledger.of(item).map(|(index, _)| index).filter(|&index| index < before);
    earlier.filter(|&index| !page.knows(index)).collect()
}
