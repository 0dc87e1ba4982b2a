//! One entry of the impression table: the last recording of an id, and the merge of two recordings of one id.

use std::cmp::Ordering;

use crate::rank::Rank;

/// Highest counter of a recording: the largest safe integer of JavaScript.
pub(crate) const MAX_SEQ: u64 = (1 << 53) - 1;

/// Latest time of a recording, Unix milliseconds.
pub(crate) const MAX_AT: u64 = (1 << 53) - 1;

/// The counter of local recordings made before the storage was read, below all stored counters.
pub(super) const EARLY_LOCAL: u64 = 0;

/// Most deliveries that are counted.
pub(crate) const MAX_DELIVERIES: u8 = 2;

/// Whether an id was shown or is unseen. Of two recordings with the same counter and time, `Seen` wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Unseen,
    Seen,
}

/// The last recording of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    /// A hybrid logical clock: 1 above the table's highest counter, and at least `at`.
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
    /// The number of its latest unsaved change; 0: none.
    pub(crate) change: u32,
    /// Whether its only unsaved change is that it is covered, which the snapshot would repeat after a reload. It is
    /// saved with the next change that cannot wait.
    pub(crate) can_wait: bool,
}

/// The origin of an undelivered recording, which decides when this tab delivers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Another tab, which delivers it.
    Other,
    /// An earlier visit.
    Found,
    /// This tab.
    Own,
}

/// Additional data of a recording that is pending or not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undelivered {
    pub(crate) id: Box<str>,
    /// When it was last delivered, Unix milliseconds of the device's clock; 0: never.
    pub(crate) delivered_at: u64,
    pub(crate) origin: Origin,
    /// The batch that contains it; 0: none.
    pub(crate) batch: u32,
}

impl Undelivered {
    /// An id that another tab delivers.
    pub(crate) fn new(id: &str) -> Box<Self> {
        Box::new(Undelivered {
            id: id.into(),
            delivered_at: 0,
            origin: Origin::Other,
            batch: 0,
        })
    }
}

impl Recording {
    /// The order that decides which of two recordings of one id stays: the higher one.
    fn order(&self) -> (u64, u64, Kind) {
        (self.seq, self.at, self.kind)
    }

    /// The order of eviction, lowest first.
    pub(crate) fn rank(&self, hash: u64) -> Rank {
        (self.seq, self.at, hash)
    }

    /// Whether it was shown, and no snapshot covers it yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.kind == Kind::Seen && !self.covered && self.undelivered.is_some()
    }

    pub(crate) fn is_unseen(&self) -> bool {
        self.kind == Kind::Unseen
    }

    /// Its rank, if it is unseen.
    pub(crate) fn unseen_rank(&self, hash: u64) -> Option<Rank> {
        self.is_unseen().then(|| self.rank(hash))
    }

    /// Whether this tab has yet to deliver it, and it is in no batch.
    pub(crate) fn is_undelivered(&self) -> bool {
        self.deliveries == 0
            && self
                .undelivered
                .as_ref()
                .is_some_and(|undelivered| undelivered.origin != Origin::Other && undelivered.batch == 0)
    }

    /// Whether it has a change that must be saved.
    pub(crate) fn must_be_saved(&self) -> bool {
        self.change != 0 && !self.can_wait
    }

    pub(crate) fn id_string_bytes(&self) -> usize {
        self.undelivered.as_ref().map_or(0, |undelivered| undelivered.id.len())
    }

    /// Drops the id's string once the recording is neither pending nor to be delivered, nor in a batch. `reported`:
    /// whether impressions of this namespace are delivered.
    pub(crate) fn drop_unneeded_id_string(&mut self, reported: bool) {
        let is_needed = match self.kind {
            Kind::Seen => !self.covered || (self.deliveries == 0 && reported),
            Kind::Unseen => self.deliveries == 0,
        };
        let is_in_batch = self
            .undelivered
            .as_ref()
            .is_some_and(|undelivered| undelivered.batch != 0);
        if !is_needed && !is_in_batch {
            self.undelivered = None;
        }
    }

    /// The part of a recording that is in a row: a merge that changes it has news.
    pub(crate) fn state(&self) -> (u64, u64, Kind, bool, u8, bool) {
        let has_text = self.undelivered.is_some();
        (self.seq, self.at, self.kind, self.covered, self.deliveries, has_text)
    }

    /// Merges another recording of the same id: the higher one stays, with the state of both if they are equal.
    pub(crate) fn merge(&mut self, other: Recording) {
        match self.order().cmp(&other.order()) {
            Ordering::Greater => {}
            Ordering::Less => *self = other,
            Ordering::Equal => {
                self.covered |= other.covered;
                self.deliveries = self.deliveries.max(other.deliveries);
                match (&mut self.undelivered, other.undelivered) {
                    (Some(mine), Some(other)) => {
                        mine.delivered_at = mine.delivered_at.max(other.delivered_at);
                        mine.origin = mine.origin.max(other.origin);
                        mine.batch = mine.batch.max(other.batch);
                    }
                    (mine @ None, other) => *mine = other,
                    (Some(_), None) => {}
                }
            }
        }
    }
}
