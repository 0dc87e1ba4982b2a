//! One device: its clock, its storage, its tabs, and the ledger of what truly happened on it.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::{Guard, Now, Storage};

use super::chance::Chance;
use super::conditions::{Conditions, DAY, MINUTE, SECOND};
use super::ledger::Ledger;
use super::performing::Before;
use super::scene::Scene;
use super::store::{Store, is_segment, is_snapshot, is_stash};
use super::stored_snapshot::Kept;
use super::tab::{MOST_TEXT_BYTES, Tab};
use crate::random::Random;

/// What tabs write, others know within this time, unless they sleep.
pub const SOON_MS: u64 = SECOND;
/// Bytes of a namespace for each recording that is kept, and for the texts.
const MOST_BYTES_A_RECORDING: usize = 150;
/// Nothing takes more steps than this.
const MANY_STEPS: usize = 100_000;

#[derive(Debug)]
pub struct Device {
    /// The wall clock less the true time.
    pub clock_off_ms: i64,
    pub store: Store,
    /// The snapshots that tabs have stored, by their texts.
    pub snapshots: BTreeMap<String, Rc<Kept>>,
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
    pub fn new(clock_off_ms: i64, conditions: &Conditions) -> Self {
        Device {
            clock_off_ms,
            store: Store::default(),
            snapshots: BTreeMap::new(),
            tabs: Vec::new(),
            opened: 0,
            ledger: Ledger::new(conditions.remember, conditions.window_ms()),
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
        let (window_days, remember) = (conditions.window_days, conditions.remember);
        let guard = Guard::new(window_days, remember).expect("the options are those of a guard");
        let mut storage = Storage::new("feed", window_days, remember, random.next());
        storage.begin(conditions.has_signals, conditions.stashes, Some(self.wall(now)));
        let steady_zero = now - random.below(MINUTE);
        self.opened += 1;
        self.tabs.push(Tab::new(self.opened, guard, storage, now, steady_zero));
    }

    /// A page hides: what is not written goes into its stash.
    pub fn hide(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let hidden = self.call(tab, scene, |page, now| page.storage.hide(&mut page.guard, now));
        let (key, clear) = (self.tabs[tab].storage.stash_key(), self.tabs[tab].guard.clear_number());
        if let Some(text) = hidden.stash {
            let is_whole = text.len() <= scene.conditions.surely_stashed();
            self.store.put(&key, text);
            if is_whole {
                let unwritten = self.tabs[tab].unwritten();
                self.stored(tab, unwritten, clear);
            }
            self.tell_others(tab, scene);
        }
        self.tabs[tab].acts_at = scene.now;
        if let Some(write) = hidden.write {
            self.begin(tab, write, scene);
        }
    }

    /// Everything that a page has is to be written.
    pub fn flush(&mut self, tab: usize, now: u64) {
        let page = &mut self.tabs[tab];
        page.storage.flush();
        page.acts_at = page.acts_at.min(now);
    }

    pub fn thaw(&mut self, tab: usize, now: u64) {
        let tab = &mut self.tabs[tab];
        tab.frozen = false;
        tab.look(now);
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
        let keys: Vec<String> = self
            .store
            .keys()
            .filter(|key| is_segment(key) || is_stash(key))
            .cloned()
            .collect();
        if !keys.is_empty() {
            let key = random.pick::<String>(&keys);
            let place = random.percent(75).then_some(random.next() as usize);
            self.store.damage(key, place);
            self.ledger.unstore_all();
            self.was_damaged = true;
        }
    }

    /// A stored snapshot is lost, damaged, or an older one again.
    pub fn lose_snapshot(&mut self, random: &mut Random) {
        let Some(key) = self.store.keys().find(|key| is_snapshot(key)).cloned() else {
            return;
        };
        let kept = self.store.read(&key).and_then(|text| self.snapshots.get(text)).cloned();
        match random.below(4) {
            0 => self.store.lose(&key),
            1 => self.store.roll_back(),
            _ => self.store.damage(&key, Some(random.next() as usize)),
        }
        if let (Some(text), Some(kept)) = (self.store.read(&key), kept) {
            self.snapshots.entry(text.to_owned()).or_insert(kept);
        }
    }

    /// The namespace is cleared, as a tab asks for it.
    pub fn clear(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let clocks = self.clocks(tab, scene.now);
        let page = &mut self.tabs[tab];
        let before = Before {
            is_own_clear: true,
            ..Before::of(page)
        };
        page.storage.clear(&mut page.guard, clocks);
        page.earliest_ms = clocks.wall_ms;
        page.acts_at = scene.now;
        assert!(
            page.guard.clear_number() > clocks.wall_ms,
            "cleared: what is recorded by now is older"
        );
        self.observe(tab, before, scene);
    }

    /// Lets a tab do all that waits to be done.
    pub fn settle(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let mut steps = 0;
        while self.tabs[tab].is_busy(scene.now) {
            self.step(tab, scene);
            steps += 1;
            assert!(steps < MANY_STEPS, "storage: a tab's work never ends");
        }
    }

    /// Other tabs hear that something was written, those that sleep excepted.
    pub fn tell_others(&mut self, tab: usize, scene: &Scene<'_>) {
        for (index, other) in self.tabs.iter_mut().enumerate() {
            if index != tab && !other.frozen && scene.conditions.has_signals {
                other.look(scene.now);
            }
        }
    }

    /// Bytes in storage.
    pub fn check_storage(&self, scene: &Scene<'_>) {
        let bytes = self.store.bytes;
        let texts = self.ledger.bytes.min(MOST_TEXT_BYTES);
        let most = MOST_BYTES_A_RECORDING * scene.conditions.remember + 4 * texts + 64 * 1024;
        assert!(
            bytes <= most,
            "limits: {bytes} bytes in storage, with {} recordings to be kept",
            scene.conditions.remember
        );
    }

    /// Does what waits for longer than "soon". Whether there was any.
    pub fn settle_waiting(&mut self, tab: usize, scene: &mut Scene<'_>) -> bool {
        let waits = self.tabs[tab].is_busy(scene.now - SOON_MS);
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
    }
}
