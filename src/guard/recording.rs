//! One entry of the impression table: the last recording of an id, and how two recordings of one id become one.

use std::collections::BinaryHeap;

use crate::error::Error;

/// Highest counter of a recording: what a JavaScript number holds exactly.
pub(crate) const MAX_SEQ: u64 = (1 << 53) - 1;

/// The highest number of a clear: what is higher is damage.
pub(crate) const MAX_CLEAR: u64 = 1 << 51;

/// Latest time of a recording, Unix milliseconds.
pub(crate) const MAX_AT: u64 = (1 << 53) - 1;

/// Whether an id was shown or taken back. Of two recordings made at the same count and time, `Seen` wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Unseen,
    Seen,
}

/// The last recording of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The table's counter when it was made: a Lamport clock.
    pub(crate) seq: u64,
    /// Unix milliseconds of the device's clock.
    pub(crate) at: u64,
    pub(crate) kind: Kind,
    /// Whether a snapshot that would stop it was in use; of one that was taken back, whether the server has listed it
    /// so and lists it no longer: then the snapshot in use decides.
    pub(crate) covered: bool,
    /// Whether it was delivered to the server at least once.
    pub(crate) delivered: bool,
    /// Its text and delivery, while it is pending or still to be delivered.
    pub(crate) unsettled: Option<Box<Unsettled>>,
}

/// What is kept of a recording while it is pending or still to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsettled {
    /// The id, UTF-8.
    pub(crate) id: Box<[u8]>,
    pub(crate) delivery: Delivery,
    /// Whether this writer delivers it: it recorded it, or loaded it when it opened.
    pub(crate) own: bool,
    /// The batch that it is under way in; 0: none.
    pub(crate) batch: u32,
}

/// The deliveries of a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) times: u8,
    /// The table's counter at the first one.
    pub(crate) first: u64,
    /// The device's clock at the last one, Unix milliseconds.
    pub(crate) last: u64,
}

impl Unsettled {
    /// Copies an id.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn new(id: &[u8], own: bool) -> Result<Box<Self>, Error> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(id.len()).map_err(|_| Error::OutOfMemory)?;
        copy.extend_from_slice(id);
        Ok(Box::new(Unsettled {
            id: copy.into_boxed_slice(),
            delivery: Delivery::default(),
            own,
            batch: 0,
        }))
    }

    /// The id as text; it was UTF-8 when it came in.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.id).into_owned()
    }
}

impl Delivery {
    /// Whether the first one was made before the storage had loaded, when the table had no counter yet.
    pub(crate) fn is_provisional(self) -> bool {
        self.first > MAX_SEQ
    }

    fn merge(self, other: Delivery) -> Delivery {
        let first = match (self.times, other.times) {
            (0, _) => other.first,
            (_, 0) => self.first,
            _ => self.first.min(other.first),
        };
        Delivery {
            times: self.times.max(other.times),
            first,
            last: self.last.max(other.last),
        }
    }
}

impl Recording {
    /// What decides which of two recordings of one id stays: the higher one.
    fn order(&self) -> (u64, u64, Kind) {
        (self.seq, self.at, self.kind)
    }

    /// Whether it was shown, and no snapshot covers it yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.kind == Kind::Seen && !self.covered && self.unsettled.is_some()
    }

    /// Whether it was taken back, and the server has not decided otherwise since.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.kind == Kind::Unseen && !self.covered
    }

    /// Whether this writer has yet to deliver it, and it is not under way.
    pub(crate) fn is_undelivered(&self) -> bool {
        !self.delivered
            && self
                .unsettled
                .as_ref()
                .is_some_and(|unsettled| unsettled.own && unsettled.batch == 0)
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.unsettled.as_ref().map_or(0, |unsettled| unsettled.id.len())
    }

    /// Drops the text once the recording is neither pending nor to be delivered. `reporting`: impressions of this
    /// namespace are delivered.
    pub(crate) fn drop_unneeded_text(&mut self, reporting: bool) {
        let needed = match self.kind {
            Kind::Seen => !self.covered || (!self.delivered && reporting),
            Kind::Unseen => !self.delivered && (!self.covered || reporting),
        };
        if !needed {
            self.unsettled = None;
        }
    }

    /// Makes one recording of two of the same id: the higher one, with what is known of it from either.
    pub(crate) fn merge(self, other: Recording) -> Recording {
        match self.order().cmp(&other.order()) {
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Equal => Recording {
                covered: self.covered || other.covered,
                delivered: self.delivered || other.delivered,
                unsettled: merge_unsettled(self.unsettled, other.unsettled),
                ..self
            },
        }
    }
}

fn merge_unsettled(mine: Option<Box<Unsettled>>, other: Option<Box<Unsettled>>) -> Option<Box<Unsettled>> {
    match (mine, other) {
        (Some(mut mine), Some(other)) => {
            mine.delivery = mine.delivery.merge(other.delivery);
            mine.own |= other.own;
            mine.batch = mine.batch.max(other.batch);
            Some(mine)
        }
        (mine, other) => mine.or(other),
    }
}

/// What orders recordings: the table drops the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    pub(crate) hash: u64,
}

impl Rank {
    /// Lowest first. Heap sort, whose code is a fraction of that of the other sorts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn sorted(ranks: impl Iterator<Item = Rank>) -> Result<Vec<Rank>, Error> {
        let mut sorted = BinaryHeap::new();
        for rank in ranks {
            sorted.try_reserve(1)?;
            sorted.push(rank);
        }
        Ok(sorted.into_sorted_vec())
    }

    pub(crate) fn of(hash: u64, recording: &Recording) -> Rank {
        Rank {
            seq: recording.seq,
            at: recording.at,
            hash,
        }
    }
}
