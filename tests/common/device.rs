//! A device with its tabs, its storage and its clocks, and an exact record of what each tab knows: the oracle for
//! schedules of any kind.

use std::collections::HashSet;

use seenguard::{Guard, Now, SegmentState};

use super::START;
use super::random::Random;

/// Impressions after which one may be forgotten.
pub const REMEMBERED: usize = 10_000;

/// One impression as it happened.
#[derive(Debug, Clone)]
pub struct Impression {
    pub id: String,
    /// Unix milliseconds of this device's clock.
    pub at: u64,
}

/// What one key of the storage holds: the text, and which impressions it stands for.
#[derive(Debug, Clone)]
pub struct Stored {
    pub key: u64,
    pub writer: String,
    pub text: String,
    pub impressions: HashSet<usize>,
}

/// An open page.
pub struct Tab {
    pub guard: Guard,
    pub writer: String,
    /// Impressions that it must stop.
    pub knows: HashSet<usize>,
    /// Those of them that it stores.
    own: HashSet<usize>,
    unsaved: HashSet<usize>,
    merged: HashSet<u64>,
}

/// All of one namespace on one device.
pub struct Device {
    pub window_days: f64,
    pub wall_ms: u64,
    pub steady_ms: u64,
    /// In the order in which they happened.
    pub impressions: Vec<Impression>,
    pub storage: Vec<Stored>,
    pub tabs: Vec<Tab>,
    opened: u64,
    keys: u64,
}

impl Device {
    pub fn new(window_days: f64) -> Self {
        Device {
            window_days,
            wall_ms: START * 1000,
            steady_ms: 5_000,
            impressions: Vec::new(),
            storage: Vec::new(),
            tabs: Vec::new(),
            opened: 0,
            keys: 0,
        }
    }

    pub fn now(&self) -> Now {
        Now {
            wall_ms: self.wall_ms,
            steady_ms: self.steady_ms,
        }
    }

    pub fn pass_seconds(&mut self, seconds: u64) {
        self.wall_ms += seconds * 1000;
        self.steady_ms += seconds * 1000;
    }

    /// Opens a tab that takes over all that is stored. Its checkpoint is written first, and then what it read is
    /// removed: `dies_after` so many of these two steps.
    pub fn open(&mut self, dies_after: usize) -> usize {
        self.opened += 1;
        let mut tab = Tab {
            guard: Guard::new(self.window_days).unwrap(),
            writer: format!("writer-{}", self.opened),
            knows: HashSet::new(),
            own: HashSet::new(),
            unsaved: HashSet::new(),
            merged: HashSet::new(),
        };
        let read = self.storage.clone();
        let segments: Vec<(&str, &str)> = read.iter().map(|stored| (&*stored.writer, &*stored.text)).collect();
        let states = tab.guard.take_over(&segments, self.now());
        assert!(states.iter().all(|state| *state == SegmentState::Whole));
        for stored in &read {
            tab.knows.extend(&stored.impressions);
            tab.own.extend(&stored.impressions);
            tab.merged.insert(stored.key);
        }
        if !read.is_empty() && dies_after > 0 {
            self.write(&tab.writer, tab.guard.checkpoint(), tab.own.clone());
            if dies_after > 1 {
                let read: HashSet<u64> = read.iter().map(|stored| stored.key).collect();
                self.storage.retain(|stored| !read.contains(&stored.key));
            }
        }
        self.tabs.push(tab);
        self.tabs.len() - 1
    }

    pub fn close(&mut self, tab: usize) {
        self.tabs.swap_remove(tab);
    }

    pub fn record<S: AsRef<str>>(&mut self, tab: usize, ids: &[S]) {
        let now = self.now();
        let tab = &mut self.tabs[tab];
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        tab.guard.record(&ids, now);
        for id in ids {
            let index = self.impressions.len();
            self.impressions.push(Impression {
                id: id.into(),
                at: now.wall_ms,
            });
            tab.knows.insert(index);
            tab.own.insert(index);
            tab.unsaved.insert(index);
        }
    }

    /// Writes what is new, as a tab does within milliseconds.
    pub fn flush(&mut self, tab: usize) {
        let tab = &mut self.tabs[tab];
        let Some(text) = tab.guard.take_unsaved() else { return };
        let (writer, impressions) = (tab.writer.clone(), std::mem::take(&mut tab.unsaved));
        self.write(&writer, text, impressions);
    }

    /// Writes all that is the tab's own as one segment, and removes its others.
    pub fn compact(&mut self, tab: usize) {
        let tab = &self.tabs[tab];
        let (writer, text, own) = (tab.writer.clone(), tab.guard.checkpoint(), tab.own.clone());
        self.write(&writer, text, own);
        let newest = self.keys;
        self.storage
            .retain(|stored| stored.writer != writer || stored.key == newest);
    }

    fn write(&mut self, writer: &str, text: String, impressions: HashSet<usize>) {
        self.keys += 1;
        self.storage.push(Stored {
            key: self.keys,
            writer: writer.into(),
            text,
            impressions,
        });
    }

    /// Takes notice of what other tabs wrote since the last time.
    pub fn hear(&mut self, tab: usize) {
        let now = self.now();
        let tab = &mut self.tabs[tab];
        for stored in &self.storage {
            if stored.writer != tab.writer && tab.merged.insert(stored.key) {
                assert_eq!(tab.guard.merge(&stored.text, now), SegmentState::Whole);
                tab.knows.extend(&stored.impressions);
            }
        }
    }

    /// The impressions that a tab must stop now: those within the window, with at most 10,000 others since.
    pub fn protected(&self, tab: usize) -> Vec<&str> {
        let window_ms = (self.window_days * 86_400_000.0) as u64;
        let first = self.impressions.len().saturating_sub(REMEMBERED + 1);
        let known = (first..self.impressions.len()).filter(|index| self.tabs[tab].knows.contains(index));
        let within = known.map(|index| &self.impressions[index]);
        let within = within.filter(|impression| self.wall_ms < impression.at.saturating_add(window_ms));
        within.map(|impression| &*impression.id).collect()
    }

    /// Invariant 1: nothing that a tab knows comes back.
    pub fn check_no_repeat(&mut self, tab: usize) {
        let now = self.now();
        let protected: Vec<String> = self.protected(tab).into_iter().map(String::from).collect();
        let fresh = self.tabs[tab].guard.filter(&protected, now);
        let repeats: Vec<&String> = fresh.iter().map(|&index| &protected[index as usize]).collect();
        assert!(
            repeats.is_empty(),
            "{} of {} come back, such as {:?}, after {} impressions",
            repeats.len(),
            protected.len(),
            repeats[0],
            self.impressions.len()
        );
    }

    /// Moves the wall clock as clocks do when they are set: mostly a little, sometimes by years.
    pub fn set_clock(&mut self, random: &mut Random) {
        let day = 86_400_000;
        self.wall_ms = match random.below(8) {
            0 => START * 1000,
            1 => 0,
            2 => u64::from(u32::MAX) * 1000 + random.below(400) * day,
            3 => random.below(4 * START) * 1000,
            4 | 5 => self.wall_ms + random.below(3 * day),
            _ => self.wall_ms.saturating_sub(random.below(3 * day)),
        };
    }
}
