//! One device: its clock, its storage, its tabs, and the ledger of what truly happened on it.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::Time;
use seenguard::device::{Guard, Place, Step, Storage};

use super::chance::Chance;
use super::conditions::{Conditions, DAY, MINUTE, SECOND};
use super::database::{Database, is_row};
use super::ledger::Ledger;
use super::local_storage::LocalStorage;
use super::scene::Scene;
use super::stored_snapshot::Kept;
use super::tab::{Holds, MOST_TEXT_BYTES, NAMESPACE, PREFIX, Tab};
use crate::random::Random;

/// Characters of a namespace for each recording that is kept, and for the texts.
const MOST_BYTES_A_RECORDING: usize = 300;
/// Nothing takes more steps than this.
const MANY_STEPS: usize = 100_000;
/// A page waits so long for what is stored.
const OPEN_MS: u64 = 2 * SECOND;

#[derive(Debug)]
pub struct Device {
    /// The wall clock less the true time.
    pub clock_off_ms: i64,
    pub database: Database,
    /// The one that most tabs share, and another one that is some others' own.
    pub locals: [LocalStorage; 2],
    /// Whether IndexedDB cannot be opened.
    pub is_broken: bool,
    /// Whether rows may lie in localStorage that were kept there for want of IndexedDB.
    pub was_away: bool,
    /// What the rows hold that were ever put, and when they were stored.
    pub contents: BTreeMap<String, Holds>,
    pub stored_at: BTreeMap<String, u64>,
    /// What is said of the whole: the deletion that its writer knew, and whether impressions are delivered; by
    /// its key and text.
    pub metas: BTreeMap<(String, String), (u32, bool)>,
    /// The snapshots that tabs have stored, by their texts.
    pub snapshots: BTreeMap<String, Rc<Kept>>,
    /// The number of the latest clear.
    pub highest: u64,
    /// Other namespaces, with the last day on which they are kept.
    pub others: BTreeMap<String, u64>,
    pub tabs: Vec<Tab>,
    /// How many tabs there ever were.
    pub opened: usize,
    pub ledger: Ledger,
    /// Whether rows may have been dropped for want of room, or damaged.
    pub was_dropped: bool,
    pub clock_jumped: bool,
    /// The same, or it was set right in the end.
    pub clock_was_set: bool,
}

impl Device {
    pub fn new(clock_off_ms: i64, conditions: &Conditions) -> Self {
        Device {
            clock_off_ms,
            database: Database::default(),
            locals: Default::default(),
            is_broken: false,
            was_away: false,
            contents: BTreeMap::new(),
            stored_at: BTreeMap::new(),
            metas: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            highest: 0,
            others: BTreeMap::new(),
            tabs: Vec::new(),
            opened: 0,
            ledger: Ledger::new(conditions.remember, conditions.window_ms()),
            was_dropped: false,
            clock_jumped: false,
            clock_was_set: false,
        }
    }

    pub fn wall(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.clock_off_ms)
    }

    pub fn time(&self, now: u64) -> Time {
        Time::from_unix_ms(self.wall(now))
    }

    /// Opens a page. Returns its place.
    pub fn open(&mut self, scene: &mut Scene<'_>) -> usize {
        let (conditions, random) = (scene.conditions, &mut *scene.random);
        let place = conditions.place;
        let mut guard =
            Guard::new(conditions.window_days, conditions.remember).expect("the options are those of a guard");
        let storage = Storage::new(PREFIX, NAMESPACE, Some(place), random.next(), &mut guard);
        self.opened += 1;
        let mut page = Tab::new(self.opened, guard, storage, place, scene.now + OPEN_MS);
        let is_odd = conditions.odd_tabs && random.percent(40);
        let local = match random.below(2) {
            _ if !is_odd => Some(0),
            0 => Some(1),
            _ => None,
        };
        let local = local.or((place == Place::Local).then_some(0));
        page.local = local.map(|local| (local, self.locals[local].copy(self.opened)));
        page.shown_at = scene.now;
        page.is_connected = random.percent(50) && !self.is_broken;
        self.tabs.push(page);
        let tab = self.tabs.len() - 1;
        self.hear(tab, scene);
        if let (Place::IndexedDb, Some((_, copy))) = (place, &self.tabs[tab].local) {
            for (key, text) in copy.values.clone() {
                if key.starts_with(PREFIX) {
                    self.merge_local(tab, &key, &text, scene);
                }
            }
        }
        self.run(tab, scene);
        tab
    }

    pub fn hide(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.tabs[tab].is_hidden = true;
        self.call(tab, false, scene, |storage, guard, _| storage.hide(guard));
        self.run(tab, scene);
        self.check_hides(tab);
        scene.tally.reach("a page hides");
    }

    pub fn show(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.tabs[tab].is_hidden = false;
        self.tabs[tab].shown_at = scene.now;
        self.call(tab, false, scene, |storage, _, _| storage.show());
        self.run(tab, scene);
    }

    /// A page runs no more for a while; what the browser was handed as a whole goes on.
    pub fn freeze(&mut self, tab: usize, hides: bool, scene: &mut Scene<'_>) {
        if hides {
            self.hide(tab, scene);
        }
        let page = &mut self.tabs[tab];
        page.frozen = true;
        page.hears_later = scene.random.percent(50);
        let reads = page
            .job
            .take_if(|job| matches!(job.step, Step::Look | Step::Pass) && job.lock.is_some());
        if let Some(job) = reads {
            self.undo(job);
        }
    }

    pub fn thaw(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        page.frozen = false;
        if let (false, Some((local, copy))) = (page.hears_later, &mut page.local) {
            self.locals[*local].catch_up(copy);
        }
        self.show(tab, scene);
    }

    /// Everything that a page has is to be written.
    pub fn flush(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.call(tab, false, scene, |storage, guard, _| storage.flush(guard));
        self.run(tab, scene);
    }

    /// Something was recorded, made unseen, delivered or covered.
    pub fn changed(&mut self, tab: usize, changes: usize, scene: &mut Scene<'_>) {
        self.tabs[tab].changes += changes;
        self.call(tab, false, scene, |storage, guard, _| storage.changed(guard));
        self.run(tab, scene);
    }

    /// Lets all tabs do what waits to be done.
    pub fn work(&mut self, scene: &mut Scene<'_>) {
        let mut idle = 0;
        for _ in 0..MANY_STEPS {
            if self.tabs.is_empty() || idle > 4 * self.tabs.len() {
                break;
            }
            let tab = scene.random.index(self.tabs.len());
            idle = if self.step(tab, scene) { 0 } else { idle + 1 };
        }
        let mut steps = 0;
        while (0..self.tabs.len()).any(|tab| self.step(tab, scene)) {
            steps += 1;
            assert!(steps < MANY_STEPS, "storage: the tabs' work never ends");
        }
    }

    /// When something happens to a tab next.
    pub fn next_at(&self, tab: usize, now: u64) -> u64 {
        let page = &self.tabs[tab];
        let heard = page
            .local
            .as_ref()
            .and_then(|(local, copy)| self.locals[*local].next_ms(copy));
        let open = Some(page.opens_at).filter(|_| !page.is_open);
        let jobs = page.job.iter().chain(&page.late).map(|job| job.tells_at);
        let timers = page.timers.values().copied();
        let opening = page
            .opening
            .iter()
            .flat_map(|&(begun, connects_at)| [begun + 10 * SECOND, connects_at]);
        let all = timers.chain(jobs).chain(heard).chain(open).chain(opening);
        all.filter(|&at| at > now).min().unwrap_or(u64::MAX)
    }

    /// The wall clock is set, by seconds or by years.
    pub fn jump_clock(&mut self, random: &mut Random) {
        let far = *random.pick(&[10 * SECOND, 10 * MINUTE, DAY, 40 * DAY, 3_000 * DAY]);
        let by = random.between(0, 2 * far) as i64 - far as i64;
        self.clock_jumped = true;
        self.clock_was_set = true;
        self.clock_off_ms = (self.clock_off_ms + by).clamp(-(4_000 * DAY as i64), 4_000 * DAY as i64);
    }

    /// A row is damaged. What was in it may be lost.
    pub fn damage(&mut self, random: &mut Random) {
        let keys: Vec<String> = self.database.keys(PREFIX).filter(|key| is_row(key)).cloned().collect();
        if !keys.is_empty() {
            let key = random.pick::<String>(&keys);
            self.database.damage(key, random.next() as usize);
            self.contents.clear();
            self.was_dropped = true;
            self.ledger
                .recordings
                .iter_mut()
                .for_each(|recording| recording.saved = None);
        }
    }

    /// A stored snapshot is lost or damaged.
    pub fn lose_snapshot(&mut self, random: &mut Random) {
        let Some(key) = self.database.keys(PREFIX).find(|key| key.ends_with("/h")).cloned() else {
            return;
        };
        match random.below(4) {
            0 => drop(self.database.set(&key, None)),
            _ => self.database.damage(&key, random.next() as usize),
        }
    }

    /// Bytes in storage.
    pub fn check_storage(&self, scene: &Scene<'_>) {
        let bytes = self.database.bytes();
        let texts = self.ledger.bytes.min(MOST_TEXT_BYTES);
        let most = MOST_BYTES_A_RECORDING * scene.conditions.remember + 4 * texts + 64 * 1024;
        assert!(
            bytes <= most || scene.conditions.fails(),
            "limits: {bytes} characters in storage, with {} recordings to be kept",
            scene.conditions.remember
        );
    }
}
