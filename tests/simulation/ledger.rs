//! What truly happened on one device: every recording, whether it is in storage, and what became of it. The guards are
//! judged by it.

use std::collections::{BTreeMap, BTreeSet};

use super::items::Item;

/// An impression, or an unsee.
#[derive(Debug, Clone)]
pub struct Recording {
    pub item: Item,
    /// Whether it unsees the item.
    pub unseen: bool,
    /// Whether no server is to learn of it.
    pub is_local: bool,
    /// The device's clock when it was made.
    pub at: u64,
    /// When that truly was.
    pub true_ms: u64,
    /// The number of the latest clear that its tab knows.
    pub number: u64,
    /// The number under which it is stored.
    pub saved: Option<u64>,
    /// The tab that made it.
    pub author: usize,
    /// How many recordings before it its tab may not have known: their counters may be higher.
    pub missed: usize,
    /// Those of them of the same item.
    pub missed_of_item: Vec<usize>,
    /// Bytes of all ids that were recorded before it.
    pub bytes_before: usize,
    /// How many recordings its tab knew for certain: their counters are lower.
    pub certain: usize,
    /// The latest deletion of the history that its tab may have known; Unix seconds.
    pub may_have_known_deletion: u32,
    /// Whether it is to be delivered: its tab knew that impressions of this namespace are, or a tab that held it
    /// pending began to.
    pub to_deliver: bool,
    /// Whether it was so from the beginning.
    pub was_to_deliver: bool,
}

/// One arrival of an impression at the server, as a tab delivered it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: u64,
    pub sent_ms: u64,
}

/// A deletion of the history on the server, as this device has taken it.
#[derive(Debug, Clone, Copy)]
pub struct Deletion {
    /// The server's time of it, Unix seconds.
    pub before: u32,
    /// The earliest and the latest time by the device's clock that a tab made of it.
    pub earliest_ms: u64,
    pub latest_ms: u64,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// How many recordings a table keeps, and how long each.
    pub remember: usize,
    pub window_ms: u64,
    pub recordings: Vec<Recording>,
    of_item: BTreeMap<Item, Vec<usize>>,
    /// Items that a snapshot covered in some tab.
    pub covered: BTreeSet<Item>,
    /// Items whose text a tab dropped because it did not know that impressions are delivered, or for want of room.
    pub text_dropped: BTreeSet<Item>,
    arrivals: BTreeMap<Item, Vec<Arrival>>,
    /// Unsees that have reached the server.
    pub unseen_arrived: BTreeSet<(Item, u64)>,
    pub deletions: Vec<Deletion>,
    /// Bytes of the ids of all recordings.
    pub bytes: usize,
}

impl Ledger {
    pub fn new(remember: usize, window_ms: u64) -> Self {
        Ledger {
            remember,
            window_ms,
            ..Ledger::default()
        }
    }

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

    /// How many unsees were made since this recording.
    pub fn unseen_since(&self, index: usize) -> usize {
        self.recordings[index..]
            .iter()
            .filter(|recording| recording.unseen)
            .count()
    }

    /// Bytes of the ids of recordings that may have a higher counter than this one, at most.
    pub fn bytes_since(&self, index: usize) -> usize {
        let recording = &self.recordings[index];
        let before = if recording.missed == 0 {
            recording.bytes_before
        } else {
            0
        };
        self.bytes - before
    }

    /// Whether the tab that made the later of two recordings of one item knew the earlier one, so that the later one
    /// replaces it everywhere.
    pub fn replaces(&self, later: usize, earlier: usize) -> bool {
        later > earlier && !self.recordings[later].missed_of_item.contains(&earlier)
    }

    /// Notes that a tab took a deletion, which it dates to this time of the device's clock.
    pub fn delete(&mut self, before: u32, at_ms: u64) {
        match self.deletions.iter_mut().find(|known| known.before == before) {
            Some(known) => {
                known.earliest_ms = known.earliest_ms.min(at_ms);
                known.latest_ms = known.latest_ms.max(at_ms);
            }
            None => self.deletions.push(Deletion {
                before,
                earliest_ms: at_ms,
                latest_ms: at_ms,
            }),
        }
    }

    /// Notes that a tab dates a deletion that it knows anew: the earlier time counts.
    pub fn date_deletion_back(&mut self, before: u32, at_ms: u64) {
        if let Some(known) = self.deletions.iter_mut().find(|known| known.before == before) {
            known.earliest_ms = known.earliest_ms.min(at_ms);
        }
    }

    pub fn last_deletion(&self) -> u32 {
        self.deletions.iter().map(|deletion| deletion.before).max().unwrap_or(0)
    }

    /// Whether some deletion may reach a recording: also one that its tab knew, or one before that, where another tab,
    /// which knows neither after a clear, dates it later by a clock that is behind.
    pub fn may_be_deleted(&self, recording: &Recording) -> bool {
        let mut deletions = self.deletions.iter();
        deletions.any(|deletion| recording.at < deletion.latest_ms)
    }

    /// Whether some deletion may reach a recording of an item.
    pub fn item_may_be_deleted(&self, item: Item) -> bool {
        self.of(item).any(|(_, recording)| self.may_be_deleted(recording))
    }

    /// Whether a tab that knows of this deletion must have dropped a recording.
    pub fn is_deleted(&self, recording: &Recording, before: u32) -> bool {
        before > recording.may_have_known_deletion
            && self
                .deletions
                .iter()
                .any(|deletion| deletion.before == before && recording.at < deletion.earliest_ms)
    }

    pub fn arrived(&mut self, item: Item, arrival: Arrival) {
        self.arrivals.entry(item).or_default().push(arrival);
    }

    /// Whether an impression has reached the server: itself, or a later one of the same item, by either clock; or any
    /// that its tab had missed, whose counter may be higher.
    pub fn has_arrived(&self, recording: &Recording) -> bool {
        let arrivals = self.arrivals.get(&recording.item).map_or(&[][..], Vec::as_slice);
        if !recording.missed_of_item.is_empty() && !arrivals.is_empty() {
            return true;
        }
        arrivals
            .iter()
            .any(|arrival| arrival.at >= recording.at || arrival.sent_ms >= recording.true_ms)
    }

    pub fn times_arrived(&self, item: Item) -> usize {
        self.arrivals.get(&item).map_or(0, Vec::len)
    }

    /// Whether an item was made unseen.
    pub fn is_unseen(&self, item: Item) -> bool {
        self.of(item).any(|(_, recording)| recording.unseen)
    }
}
