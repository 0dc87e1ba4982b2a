//! A namespace is cleared, and others that nobody uses are removed, as the package's TypeScript does it: no engine
//! decides it.

use seenguard::device::{Others, Place};

use super::chance::Chance;
use super::conditions::DAY;
use super::device::Device;
use super::job::{ClearJob, Stage};
use super::scene::Scene;
use super::tab::{NAMESPACE, PREFIX, base36, number_of, under};
use crate::random::Random;

const ROOT: &str = "seenguard/";
/// Of a namespace that tells nothing of itself.
const DEFAULT_WINDOW_DAYS: u64 = 30;

impl Device {
    /// The namespace is cleared, as a tab asks for it.
    pub fn clear(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &self.tabs[tab];
        let known = page.signal().unwrap_or(0).max(page.guard.number());
        let number = self.wall(scene.now).max(1 + known);
        self.end_clear(tab);
        self.clear_at(tab, number, false, scene);
        assert!(
            self.tabs[tab].guard.number() == number && self.tabs[tab].known.is_empty(),
            "cleared: a tab that clears knows of it at once"
        );
        self.clear_local(tab, scene);
        let number = self.tabs[tab].guard.number();
        let has_database = self.tabs[tab].place != Place::Local && !self.is_broken;
        self.tabs[tab].clearing = has_database.then(|| ClearJob {
            number,
            stage: Stage::List,
            lock: (self.tabs[tab].place == Place::IndexedDb).then(|| self.database.begin(true)),
            deletions: Default::default(),
        });
    }

    fn clear_at(&mut self, tab: usize, number: u64, keeps: bool, scene: &mut Scene<'_>) {
        if !self.write_signal(tab, number, scene) {
            for key in self.local_keys(tab) {
                self.set_local(tab, &key, None, scene);
            }
            self.write_signal(tab, number, scene);
        }
        self.call(tab, keeps, scene, |storage, guard, _| {
            storage.clear(guard, number, keeps)
        });
        self.run(tab, scene);
    }

    fn local_keys(&self, tab: usize) -> Vec<String> {
        let local = self.tabs[tab].local.as_ref();
        local.map(|(_, copy)| copy.keys(PREFIX)).unwrap_or_default()
    }

    /// In localStorage a clear is done at once.
    fn clear_local(&mut self, tab: usize, scene: &mut Scene<'_>) {
        if self.tabs[tab].place == Place::Custom {
            return;
        }
        let highest = self.local_keys(tab).iter().map(|key| number_of(key)).max().unwrap_or(0);
        if highest > self.tabs[tab].guard.number() {
            self.clear_at(tab, highest + 1, true, scene);
        }
        let below = under(self.tabs[tab].guard.number());
        for key in self.local_keys(tab).into_iter().filter(|key| *key < below) {
            self.set_local(tab, &key, None, scene);
        }
        let day = self.wall(scene.now) / DAY;
        self.set_local(tab, &format!("{below}m"), Some(day.to_string()), scene);
    }

    /// The next request of a clear.
    pub fn step_clear(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let Some(mut clearing) = self.tabs[tab].clearing.take() else {
            return;
        };
        match clearing.stage {
            Stage::List => {
                let keys: Vec<String> = self.database.keys(PREFIX).cloned().collect();
                let highest = keys.iter().map(|key| number_of(key)).max().unwrap_or(0);
                if highest > clearing.number {
                    clearing.number = highest + 1;
                    self.clear_at(tab, clearing.number, true, scene);
                    scene.tally.reach("a clear finds a higher number");
                }
                let below = under(clearing.number);
                clearing.deletions = keys.into_iter().filter(|key| *key < below).collect();
                clearing.stage = Stage::Delete;
            }
            Stage::Delete if clearing.lock.is_none() && !clearing.deletions.is_empty() => {
                let key = clearing.deletions.pop_front();
                key.inspect(|key| drop(self.database.set(key, None)));
            }
            _ => {
                for key in &clearing.deletions {
                    self.database.set(key, None);
                }
                let key = format!("{}m", under(clearing.number));
                if !self.database.is_full {
                    self.database.set(&key, Some((self.wall(scene.now) / DAY).to_string()));
                }
                clearing.lock.inspect(|&lock| self.database.end(lock));
                let older = self.database.keys(PREFIX).find(|key| number_of(key) < clearing.number);
                assert!(
                    older.is_none() || clearing.lock.is_none(),
                    "cleared: {older:?} is from before {}",
                    clearing.number
                );
                self.clear_local(tab, scene);
                scene.tally.reach("a clear is done");
                return;
            }
        }
        self.tabs[tab].clearing = Some(clearing);
    }

    /// Nobody goes on with a tab's clear.
    pub fn end_clear(&mut self, tab: usize) {
        if let Some(ClearJob { lock: Some(lock), .. }) = self.tabs[tab].clearing.take() {
            self.database.end(lock);
        }
    }

    /// What a tab deletes is a row, or the stored snapshot; a later version's keys only under a lower number.
    pub fn check_deletion(&self, tab: usize, key: &str) {
        let is_ours = key.contains("/r/") || key.ends_with("/h") || key.ends_with("/m");
        assert!(
            is_ours || number_of(key) < self.tabs[tab].guard.number(),
            "later versions: {key} is deleted"
        );
    }

    /// A later version leaves a key, perhaps of a clear that nobody here has heard of.
    pub fn plant_later_key(&mut self, random: &mut Random) {
        let number = self.highest + *random.pick(&[0, 0, 0, 1]);
        self.highest = number;
        self.database
            .set(&format!("{}x/{}", under(number), random.below(3)), Some("?".to_owned()));
    }

    /// A person who has signed out, or uses another feed, has left something.
    pub fn plant_other(&mut self, now: u64, random: &mut Random) {
        let name = format!("other-{}", self.others.len());
        let today = self.wall(now) / DAY;
        let day = today.saturating_sub(random.between(0, 100));
        let window = *random.pick(&[1, 7, 30]);
        let under = format!("{ROOT}{name}/{:0>11}/", base36(random.below(1 << 40)));
        let writer = base36(random.below(1 << 40));
        let row = |day: u64| format!("{under}r/{writer:0>13}/{}", base36(day * DAY));
        let last = match random.below(4) {
            0 => {
                self.database.set(&row(day), Some("?".to_owned()));
                day + 2 * DEFAULT_WINDOW_DAYS
            }
            1 => {
                self.database.set(&format!("{under}x/y"), Some("?".to_owned()));
                2 * DEFAULT_WINDOW_DAYS
            }
            2 => {
                let (mut copy, text) = (self.locals[0].copy(0), format!("{day},{window},0,0,0,"));
                self.locals[0].set(&mut copy, &format!("{under}m"), Some(text), now);
                day + 2 * window
            }
            _ => {
                self.database.set(&row(today), Some("?".to_owned()));
                self.database
                    .set(&format!("{under}m"), Some(format!("{day},{window},0,0,0,")));
                day + 2 * window
            }
        };
        self.others.insert(name, last);
    }

    /// Namespaces that were last used more than twice their window ago are removed, and no others.
    pub fn clean(&mut self, tab: usize, scene: &mut Scene<'_>) {
        if !self.tabs[tab].storage.cleans_up() {
            return;
        }
        let mut others = Others::default();
        let copy = self.tabs[tab].local.as_ref().map(|(_, copy)| copy);
        let found = self.database.keys(ROOT).map(|key| (key, self.database.read(key)));
        let local = copy.into_iter().flat_map(|copy| &copy.values);
        let found = found.chain(local.map(|(key, text)| (key, Some(text))));
        for (key, text) in found {
            let is_read = Others::is_to_read(key);
            others.note(key, text.filter(|_| is_read).map(String::as_str));
        }
        let wall_ms = self.wall(scene.now);
        let mut idle = others.idle(NAMESPACE, wall_ms);
        idle.sort();
        let sees = |name: &str| {
            let start = format!("{ROOT}{name}/");
            let mut local = copy.into_iter().flat_map(|copy| copy.values.keys());
            self.database.keys(&start).next().is_some() || local.any(|key| key.starts_with(&start))
        };
        let expected = self
            .others
            .iter()
            .filter(|(name, last)| wall_ms / DAY > **last && sees(name));
        let mut expected: Vec<String> = expected.map(|(name, _)| name.clone()).collect();
        expected.sort();
        assert_eq!(
            idle,
            expected,
            "idle: exactly what nobody uses is removed, at {wall_ms}: {:?}",
            self.database.keys(ROOT).collect::<Vec<_>>()
        );
        for name in idle {
            let start = format!("{ROOT}{name}/");
            let keys: Vec<String> = self.database.keys(&start).cloned().collect();
            keys.iter().for_each(|key| drop(self.database.set(key, None)));
            let copy = self.tabs[tab].local.as_ref().map(|(_, copy)| copy.keys(&start));
            for key in copy.unwrap_or_default() {
                self.set_local(tab, &key, None, scene);
            }
            scene.tally.reach("an idle namespace is removed");
        }
    }
}
