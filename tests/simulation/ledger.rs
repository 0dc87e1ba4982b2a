//! The exact record of one device: each recording, and its later state. The oracle for the guards.

use std::collections::{BTreeMap, BTreeSet};

use super::items::Item;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Seen,
    /// Seen elsewhere in the app: it is not reported to the server.
    Local,
    Unseen,
}

/// An impression, or an unsee.
#[derive(Debug, Clone)]
pub struct Recording {
    pub item: Item,
    pub what: What,
    /// The device's clock when it was made.
    pub at: u64,
    /// The true time of that.
    pub true_ms: u64,
    /// The tab that made it.
    pub author: usize,
    /// How many recordings its tab knew: their counters are lower.
    pub known: usize,
    /// How many recordings before it its tab did not know: their counters may be higher.
    pub missed: usize,
    /// Those of them of the same item.
    pub missed_of_item: Vec<usize>,
    /// Bytes of all ids that were recorded before it.
    pub bytes_before: usize,
    /// Whether it must be delivered: a tab with it pending knew that impressions of this namespace are delivered.
    pub to_deliver: bool,
}

/// One arrival of an impression at the server.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: u64,
    pub sent_ms: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// The number of recordings that a table remembers, and their window.
    pub remember: usize,
    pub window_ms: u64,
    pub recordings: Vec<Recording>,
    pub of_item: BTreeMap<Item, Vec<usize>>,
    /// Items that a snapshot covered in some tab, or that no server learns of.
    pub covered: BTreeSet<Item>,
    /// Items whose text a tab dropped because it did not know that impressions are delivered.
    pub text_dropped: BTreeSet<Item>,
    pub arrivals: BTreeMap<Item, Vec<Arrival>>,
    /// Unsees that have reached the server.
    pub unseen_arrived: BTreeSet<(Item, u64)>,
    /// The latest time by the device's clock that a tab made of any deletion of the history.
    pub deleted_until: u64,
    /// Bytes of the ids of all recordings.
    pub bytes: usize,
}

impl Ledger {
    pub fn push(&mut self, recording: Recording) -> usize {
        let index = self.recordings.len();
        self.of_item.entry(recording.item).or_default().push(index);
        self.recordings.push(recording);
        index
    }

    /// The recordings of an item.
    pub fn of(&self, item: Item) -> impl DoubleEndedIterator<Item = (usize, &Recording)> {
        let indices = self.of_item.get(&item).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|&index| (index, &self.recordings[index]))
    }

    pub fn has(&self, item: Item) -> bool {
        self.of_item.contains_key(&item)
    }

    /// How many recordings may have a higher counter than this one, at most.
    pub fn higher(&self, index: usize) -> usize {
        self.recordings.len() - index - 1 + self.recordings[index].missed
    }

    /// Bytes of the ids of recordings that may have a higher counter than this one, at most.
    pub fn bytes_since(&self, index: usize) -> usize {
        let recording = &self.recordings[index];
        let is_exact = recording.missed == 0;
        self.bytes - if is_exact { recording.bytes_before } else { 0 }
    }

    /// Whether the tab that made the later of two recordings of one item knew the earlier one, so that the later one
    /// replaces it everywhere.
    pub fn replaces(&self, later: usize, earlier: usize) -> bool {
        later > earlier && !self.recordings[later].missed_of_item.contains(&earlier)
    }

    /// Whether some tab may have deleted a recording with the history.
    pub fn may_be_deleted(&self, recording: &Recording) -> bool {
        recording.at < self.deleted_until
    }

    pub fn item_may_be_deleted(&self, item: Item) -> bool {
        self.of(item).any(|(_, recording)| self.may_be_deleted(recording))
    }

    pub fn arrived(&mut self, item: Item, arrival: Arrival) {
        self.arrivals.entry(item).or_default().push(arrival);
    }

    /// Whether an impression has reached the server: itself, or a later one of the same item, by either clock; or any
    /// that its tab had missed, whose counter may be higher.
    pub fn has_arrived(&self, recording: &Recording) -> bool {
        let arrivals = self.arrivals.get(&recording.item).map_or(&[][..], Vec::as_slice);
        let is_since = |arrival: &Arrival| arrival.at >= recording.at || arrival.sent_ms >= recording.true_ms;
        arrivals.iter().any(is_since) || (!recording.missed_of_item.is_empty() && !arrivals.is_empty())
    }

    pub fn times_arrived(&self, item: Item) -> usize {
        self.arrivals.get(&item).map_or(0, Vec::len)
    }

    /// Whether an item was made unseen.
    pub fn is_unseen(&self, item: Item) -> bool {
        self.of(item).any(|(_, recording)| recording.what == What::Unseen)
    }
}
