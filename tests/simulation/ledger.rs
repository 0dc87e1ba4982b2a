//! What truly happened on one device: every impression, whether it is in storage, and what became of it. The guards are judged by it.

use std::collections::{BTreeMap, BTreeSet};

use super::items::Item;

/// So many other impressions may be recorded before one may be forgotten.
pub const REMEMBERED: usize = 10_000;

#[derive(Debug, Clone)]
pub struct Impression {
    pub item: Item,
    /// The device's clock when it was recorded.
    pub at: u64,
    /// When that truly was.
    pub true_ms: u64,
    /// How often the namespace had been cleared then, as its tab knew.
    pub generation: u64,
    /// Since when it is in storage.
    pub stored_ms: Option<u64>,
    /// Since when its tab has told others to look.
    pub told_ms: Option<u64>,
    /// The tab that recorded it.
    pub author: usize,
    /// Whether its tab delivered impressions then.
    pub to_deliver: bool,
    /// Whether it is in storage that a tab which holds it delivers impressions since.
    pub promised: bool,
}

/// One arrival of an impression at the server, as a tab delivered it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: u64,
    pub sent_ms: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    pub impressions: Vec<Impression>,
    of_item: BTreeMap<Item, Vec<usize>>,
    /// Items that a snapshot covered in some tab.
    pub covered: BTreeSet<Item>,
    arrivals: BTreeMap<Item, Vec<Arrival>>,
    /// How often a tab was told that a batch had arrived, and for each item which of them was its latest.
    pub confirmations: u64,
    pub confirmed: BTreeMap<Item, u64>,
    /// Items that were asked for long after they may be forgotten: once each.
    pub asked_overdue: BTreeSet<Item>,
    pub asked_cleared: BTreeSet<Item>,
}

impl Ledger {
    pub fn push(&mut self, impression: Impression) -> usize {
        let index = self.impressions.len();
        self.of_item.entry(impression.item).or_default().push(index);
        self.impressions.push(impression);
        index
    }

    /// The impressions of an item.
    pub fn of(&self, item: Item) -> impl DoubleEndedIterator<Item = (usize, &Impression)> {
        let indices = self.of_item.get(&item).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|&index| (index, &self.impressions[index]))
    }

    pub fn has(&self, item: Item) -> bool {
        self.of_item.contains_key(&item)
    }

    /// How many impressions came after this one.
    pub fn others_since(&self, index: usize) -> usize {
        self.impressions.len() - index - 1
    }

    pub fn arrived(&mut self, item: Item, arrival: Arrival) {
        self.arrivals.entry(item).or_default().push(arrival);
    }

    /// Whether an impression has reached the server: itself, or a later one of the same item, by either clock.
    pub fn has_arrived(&self, impression: &Impression) -> bool {
        let arrivals = self.arrivals.get(&impression.item).map_or(&[][..], Vec::as_slice);
        arrivals
            .iter()
            .any(|arrival| arrival.at >= impression.at || arrival.sent_ms >= impression.true_ms)
    }

    pub fn times_arrived(&self, item: Item) -> usize {
        self.arrivals.get(&item).map_or(0, Vec::len)
    }

    /// What was in storage may be gone: somebody has damaged it.
    pub fn unstore_all(&mut self) {
        for impression in &mut self.impressions {
            impression.stored_ms = None;
            impression.promised = false;
        }
    }
}
