//! One device: its clock, its storage, its tabs, and the ledger of what truly happened on it.

use seenguard::Time;
use seenguard::device::Guard;

use super::bag::Bag;
use super::chance::Chance;
use super::conditions::{Conditions, DAY, MINUTE, SECOND};
use super::ledger::Ledger;
use super::tab::Tab;
use super::world::Scene;
use crate::random::Random;

pub fn new_guard(window_days: f64, remember: usize, seed: u64) -> Guard {
    Guard::with_storage("feed", seed, window_days, remember).expect("the options are those of a guard")
}

#[derive(Debug)]
pub struct Device {
    /// The wall clock less the true time.
    pub clock_off_ms: i64,
    /// The storage, by generation.
    pub bags: Vec<Bag>,
    /// The number of rows ever written.
    pub rows: usize,
    pub tabs: Vec<Tab>,
    /// The number of tabs ever opened.
    pub opened: usize,
    pub ledger: Ledger,
    pub clock_jumped: bool,
}

impl Device {
    pub fn new(clock_off_ms: i64, conditions: &Conditions) -> Self {
        Device {
            clock_off_ms,
            bags: vec![Bag::default()],
            rows: 0,
            tabs: Vec::new(),
            opened: 0,
            ledger: Ledger {
                remember: conditions.remember,
                window_ms: conditions.window_ms(),
                ..Ledger::default()
            },
            clock_jumped: false,
        }
    }

    pub fn wall(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.clock_off_ms)
    }

    pub fn time(&self, now: u64) -> Time {
        Time::from_unix_ms(self.wall(now))
    }

    pub fn generation(&self) -> usize {
        self.bags.len() - 1
    }

    /// Opens a page, which may have read the latest clear, or reads it by its first load.
    pub fn open(&mut self, scene: &mut Scene<'_>) -> usize {
        let Conditions {
            window_days, remember, ..
        } = *scene.conditions;
        let guard = new_guard(window_days, remember, scene.random.next());
        let knows_clear = scene.random.percent(80);
        let generation = if knows_clear { self.generation() } else { 0 };
        self.opened += 1;
        self.tabs
            .push(Tab::new(self.opened, guard, generation, self.ledger.recordings.len()));
        self.tabs.len() - 1
    }

    /// Sets the wall clock, by seconds or by years.
    pub fn jump_clock(&mut self, random: &mut Random) {
        let far = *random.pick(&[10 * SECOND, 10 * MINUTE, DAY, 40 * DAY, 3_000 * DAY]);
        let by = random.between(0, 2 * far) as i64 - far as i64;
        self.clock_jumped = true;
        self.clock_off_ms = (self.clock_off_ms + by).clamp(-(4_000 * DAY as i64), 4_000 * DAY as i64);
    }
}
