//! One entry of the impression table: the last recording of an id, and the merge of two recordings of one id.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Highest counter of a recording: the largest safe integer of JavaScript.
pub(crate) const MAX_SEQ: u64 = (1 << 53) - 1;

/// Latest time of a recording, Unix milliseconds.
pub(crate) const MAX_AT: u64 = (1 << 53) - 1;

/// The counter of local recordings made before the storage was read: below all counters in it.
pub(super) const EARLY_LOCAL: u64 = 0;

/// Most deliveries that are counted.
pub(crate) const MAX_DELIVERIES: u8 = 2;

/// Whether an id was shown or is unseen. Of two recordings made at the same count and time, `Seen` wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Unseen,
    Seen,
}

/// The last recording of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    /// A hybrid clock: 1 above the highest counter that the table had seen, and at least `at`.
    pub(crate) seq: u64,
    /// Unix milliseconds of the device's clock.
    pub(crate) at: u64,
    pub(crate) kind: Kind,
    /// Whether a snapshot in use has contained it.
    pub(crate) covered: bool,
    /// The number of deliveries to the server, 0 to [`MAX_DELIVERIES`].
    pub(crate) deliveries: u8,
    /// Present while it is pending or not delivered yet.
    pub(crate) undelivered: Option<Box<Undelivered>>,
}

/// Additional data of a recording that is pending or not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undelivered {
    /// The id, UTF-8.
    pub(crate) id: Box<[u8]>,
    /// When it was last delivered, Unix milliseconds of the device's clock; 0: never.
    pub(crate) delivered_at: u64,
    /// Whether this tab delivers it: it recorded it, or read it at its first look.
    pub(crate) is_for_us: bool,
    /// Whether this tab recorded it.
    pub(crate) is_recorded_here: bool,
    /// The batch that contains it; 0: none.
    pub(crate) batch: u32,
}

impl Undelivered {
    /// For an id that this tab records.
    pub(crate) fn recorded(id: &[u8]) -> Box<Self> {
        Box::new(Undelivered {
            is_recorded_here: true,
            ..Undelivered::found(id, true)
        })
    }

    /// For an id that this tab has read from storage.
    pub(crate) fn found(id: &[u8], is_for_us: bool) -> Self {
        Undelivered {
            id: id.into(),
            delivered_at: 0,
            is_for_us,
            is_recorded_here: false,
            batch: 0,
        }
    }

    /// The id as text; its bytes are valid UTF-8.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.id).into_owned()
    }
}

impl Recording {
    /// The order that decides which of two recordings of one id stays: the higher one.
    fn order(&self) -> (u64, u64, Kind) {
        (self.seq, self.at, self.kind)
    }

    /// Whether it was shown, and no snapshot covers it yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.kind == Kind::Seen && !self.covered && self.undelivered.is_some()
    }

    pub(crate) fn is_unseen(&self) -> bool {
        self.kind == Kind::Unseen
    }

    /// Whether this tab has yet to deliver it, and it is in no batch.
    pub(crate) fn is_undelivered(&self) -> bool {
        self.deliveries == 0
            && self
                .undelivered
                .as_ref()
                .is_some_and(|undelivered| undelivered.is_for_us && undelivered.batch == 0)
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.undelivered.as_ref().map_or(0, |undelivered| undelivered.id.len())
    }

    /// Drops the text once the recording is neither pending nor to be delivered, nor in a batch. `reporting`:
    /// impressions of this namespace are delivered.
    pub(crate) fn drop_unneeded_text(&mut self, reporting: bool) {
        let is_needed = match self.kind {
            Kind::Seen => !self.covered || (self.deliveries == 0 && reporting),
            Kind::Unseen => self.deliveries == 0,
        };
        let is_under_way = self
            .undelivered
            .as_ref()
            .is_some_and(|undelivered| undelivered.batch != 0);
        if !is_needed && !is_under_way {
            self.undelivered = None;
        }
    }

    /// Merges two recordings of the same id: the higher one, with the state of both if they are equal.
    pub(crate) fn merge(self, other: Recording) -> Recording {
        match self.order().cmp(&other.order()) {
            Ordering::Greater => self,
            Ordering::Less => other,
            Ordering::Equal => Recording {
                covered: self.covered || other.covered,
                deliveries: self.deliveries.max(other.deliveries),
                undelivered: merge_undelivered(self.undelivered, other.undelivered),
                ..self
            },
        }
    }
}

fn merge_undelivered(mine: Option<Box<Undelivered>>, other: Option<Box<Undelivered>>) -> Option<Box<Undelivered>> {
    match (mine, other) {
        (Some(mut mine), Some(other)) => {
            mine.delivered_at = mine.delivered_at.max(other.delivered_at);
            mine.is_for_us |= other.is_for_us;
            mine.is_recorded_here |= other.is_recorded_here;
            mine.batch = mine.batch.max(other.batch);
            Some(mine)
        }
        (mine, other) => mine.or(other),
    }
}

/// The order of recordings: the table evicts the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    pub(crate) hash: u64,
}

impl Rank {
    /// Lowest first. Heap sort, which compiles to far less code than the other sorts.
    pub(crate) fn sorted(ranks: Vec<Rank>) -> Vec<Rank> {
        BinaryHeap::from(ranks).into_sorted_vec()
    }

    pub(crate) fn of(hash: u64, recording: &Recording) -> Rank {
        Rank {
            seq: recording.seq,
            at: recording.at,
            hash,
        }
    }
}
