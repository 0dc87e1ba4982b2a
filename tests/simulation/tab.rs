//! One open page: a guard, its writer, and what the guard must know and hold.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::{Guard, Now};

use super::items::Item;
use super::ledger::{Impression, Ledger, REMEMBERED};
use super::server::Shipped;
use super::writer::Writer;

/// The snapshot in use, read plainly: one filter after the other.
#[derive(Debug, Default)]
pub struct View {
    pub version: Option<u64>,
    pub shards: Vec<Rc<Shipped>>,
    /// The server's clock less the steady one, if the snapshot told it.
    pub server_ahead: Option<i128>,
}

impl View {
    fn seconds(&self, now: Now) -> u64 {
        match self.server_ahead {
            Some(ahead) => (i128::from(now.steady_ms) + ahead).max(0) as u64 / 1000,
            None => now.wall_ms / 1000,
        }
    }

    /// The shards that are not past their expiry, each with its place.
    pub fn live(&self, now: Now) -> impl Iterator<Item = (usize, &Shipped)> {
        let seconds = self.seconds(now);
        let is_live = move |expires: u32| expires == 0 || seconds < u64::from(expires);
        let shards = self.shards.iter().enumerate();
        shards.filter_map(move |(place, shipped)| is_live(shipped.shard.expires).then_some((place, &**shipped)))
    }

    /// The first live shard that contains an id.
    pub fn find(&self, text: &str, now: Now) -> Option<(usize, u32)> {
        self.live(now)
            .find(|(_, shipped)| shipped.shard.filter.contains(text))
            .map(|(place, shipped)| (place, shipped.shard.epoch))
    }

    pub fn contains(&self, text: &str, now: Now) -> bool {
        self.find(text, now).is_some()
    }
}

/// A batch under way.
#[derive(Debug)]
pub struct Flight {
    pub batch: u32,
    pub impressions: Vec<(Item, u64)>,
    pub sent_ms: u64,
    pub generation: u64,
    pub has_arrived: bool,
}

/// A delivery that a tab was told of.
#[derive(Debug, Clone, Copy)]
pub struct Confirmed {
    pub times: u32,
    /// Its place among all of the device.
    pub serial: u64,
    pub wall_ms: u64,
}

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
    /// A clear was asked for here and is not done.
    pub clearing: bool,
    pub view: View,
    /// What it recorded, by place in the ledger.
    pub own: Vec<usize>,
    /// How many of them have been in storage.
    pub stored: usize,
    known: Vec<bool>,
    /// What it took over, by place in the ledger.
    pub taken: Vec<usize>,
    /// What it has promised to deliver.
    pub promised: Vec<usize>,
    /// Items that must be pending here, each with the number of journal entries that had come when it came.
    pub due: BTreeMap<Item, Entered>,
    /// How many entries have come into the journal at most, and of how many bytes.
    pub entered: Entered,
    pub flights: Vec<Flight>,
    pub confirmed: BTreeMap<(Item, u64), Confirmed>,
    /// The latest confirmed delivery whose item a snapshot covered here since.
    pub covered_delivery: u64,
    /// Whether a snapshot claimed to cover what no server has seen.
    pub was_misled: bool,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Entered {
    pub entries: usize,
    pub bytes: usize,
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
            clearing: false,
            view: View::default(),
            own: Vec::new(),
            stored: 0,
            known: Vec::new(),
            taken: Vec::new(),
            promised: Vec::new(),
            due: BTreeMap::new(),
            entered: Entered::default(),
            flights: Vec::new(),
            confirmed: BTreeMap::new(),
            covered_delivery: 0,
            was_misled: false,
        }
    }

    pub fn knows(&self, index: usize) -> bool {
        self.known.get(index).copied().unwrap_or(false)
    }

    /// From now on this impression must be known here. Whether that is new.
    pub fn learn(&mut self, index: usize) -> bool {
        if self.known.len() <= index {
            self.known.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.known[index], true)
    }

    pub fn forget(&mut self) {
        self.known.clear();
        self.due.clear();
        self.entered = Entered::default();
        self.view = View::default();
        self.confirmed.clear();
        self.covered_delivery = 0;
        self.was_misled = false;
    }

    /// Whether an impression must be stopped at this time of the device's clock.
    pub fn must_stop(&self, ledger: &Ledger, index: usize, wall_ms: u64, window_ms: u64) -> bool {
        let impression = &ledger.impressions[index];
        self.must_remember(ledger, index) && wall_ms < impression.at + window_ms
    }

    pub fn must_remember(&self, ledger: &Ledger, index: usize) -> bool {
        self.knows(index)
            && ledger.impressions[index].generation == self.writer.generation
            && ledger.others_since(index) <= REMEMBERED
    }

    /// The impression for which an item must be stopped, if there is one.
    pub fn reason_to_stop<'a>(
        &self,
        ledger: &'a Ledger,
        item: Item,
        wall_ms: u64,
        window_ms: u64,
    ) -> Option<&'a Impression> {
        let mut impressions = ledger.of(item).rev();
        impressions
            .find(|&(index, _)| self.must_stop(ledger, index, wall_ms, window_ms))
            .map(|(_, impression)| impression)
    }
}
