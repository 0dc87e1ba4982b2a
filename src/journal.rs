//! The impressions that are still of use one by one: those that no snapshot covers yet, and those that have not been delivered.
//!
//! Exact, in the order of recording, and bounded: beyond the limits the oldest leave, delivered ones first. Leaving here loses nothing that
//! protects the reader: the memory holds every impression too.

use crate::hash::HashedId;
use crate::hash_index::HashIndex;

/// Most impressions.
pub const MAX_IMPRESSIONS: usize = 5_000;
/// Most bytes of their ids together.
pub const MAX_ID_BYTES: usize = 256 * 1024;

/// One impression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Box<[u8]>,
    hash: u64,
    /// Unix milliseconds of this device's clock.
    pub(crate) at: u64,
    /// Whether this writer recorded or took it over.
    pub(crate) own: bool,
    /// Whether a snapshot has covered it: then it is here for delivery alone.
    pub(crate) covered: bool,
    /// Whether it was recorded while impressions are delivered: then it stays until it is, covered or not.
    pub(crate) to_deliver: bool,
    /// What became of its delivery.
    pub(crate) delivery: Delivery,
}

/// What became of an impression's delivery to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// How often it was delivered.
    pub(crate) times: u8,
    /// When it was delivered last, Unix milliseconds.
    pub(crate) at: u64,
    /// The place of that among all deliveries known here; 0: none. Between two deliveries made here one place is free, for what another writer
    /// delivered in between.
    order: u64,
    /// The same of its first delivery, that of an earlier impression of the id included: what covers it may be that one.
    first: u64,
    /// The batch that it is under way in; 0: none.
    batch: u32,
}

impl Entry {
    /// In a box, since it goes from hand to hand.
    pub(crate) fn new(id: HashedId<'_>, at: u64, own: bool) -> Box<Self> {
        Box::new(Entry {
            id: id.bytes().into(),
            hash: id.unseeded(),
            at,
            own,
            covered: false,
            to_deliver: false,
            delivery: Delivery::default(),
        })
    }

    pub(crate) fn hashed(&self) -> HashedId<'_> {
        HashedId::with_hash(&self.id, self.hash)
    }

    pub(crate) fn is_delivered(&self) -> bool {
        self.delivery.times > 0
    }

    /// Whether this writer has yet to deliver it, covered or not.
    pub(crate) fn is_promised(&self) -> bool {
        self.own && self.to_deliver && !self.is_delivered()
    }

    /// Whether it is of use in the journal.
    pub(crate) fn is_needed(&self) -> bool {
        !self.covered || self.is_promised()
    }

    /// What tells this impression from others of the same id.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.hash, self.at)
    }

    /// The id as text; it was UTF-8 when it came in.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.id).into_owned()
    }
}

/// The impressions of one namespace that are pending or not delivered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    /// In the order of recording; what has left is a hole until the journal is packed.
    entries: Vec<Option<Box<Entry>>>,
    /// How many of the first are known to be holes.
    holes: usize,
    /// Where each one's id lies.
    places: HashIndex,
    id_bytes: usize,
    pending: usize,
    delivered: usize,
    /// The number of the last batch that went out.
    batches: u32,
    /// How many deliveries there were: each has its place in their order.
    deliveries: u64,
    /// The time and the place of that which is the latest by the clock.
    latest_delivery: (u64, u64),
    /// The latest first delivery whose impression was covered since: the stream runs as far as that.
    covered_delivery: u64,
}

impl Journal {
    /// An empty journal in place of this one. Its batches have numbers of their own: what becomes of one that is still under way says nothing of them.
    pub(crate) fn begun_anew(&self) -> Self {
        Journal {
            batches: self.batches,
            ..Journal::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many no snapshot has covered.
    pub(crate) fn pending_len(&self) -> usize {
        self.pending
    }

    pub(crate) fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Option<Box<Entry>>>() + self.len() * size_of::<Entry>();
        entries + self.places.bytes() + self.id_bytes
    }

    /// In the order of recording.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().flatten().map(Box::as_ref)
    }

    /// Those that no snapshot has covered, oldest first.
    pub(crate) fn pending(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.iter().filter(|entry| !entry.covered)
    }

    #[inline]
    pub(crate) fn get(&self, id: HashedId<'_>) -> Option<&Entry> {
        self.entries[self.place_of(id)?].as_deref()
    }

    #[inline(never)]
    fn place_of(&self, id: HashedId<'_>) -> Option<usize> {
        let is = |place: u32| matches!(&self.entries[place as usize], Some(entry) if *entry.id == *id.bytes());
        self.places.find(id.unseeded(), is).map(|place| place as usize)
    }

    /// Appends an impression; one of the same id that is here leaves. Returns how many left for want of room.
    pub(crate) fn push(&mut self, mut entry: Box<Entry>) -> usize {
        if let Some(before) = self.remove(entry.hashed()) {
            entry.delivery.first = before.delivery.first;
        }
        if entry.id.len() > MAX_ID_BYTES {
            return 1;
        }
        self.places.add(entry.hash, self.entries.len() as u32);
        self.count(&entry, true);
        self.entries.push(Some(entry));
        self.make_room()
    }

    /// Marks as covered what `covers` says, which is asked oldest first; takes out what is then of no more use.
    pub(crate) fn cover(&mut self, mut covers: impl FnMut(&Entry) -> bool) {
        for place in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[place] else {
                continue;
            };
            if entry.covered || !covers(entry) {
                continue;
            }
            entry.covered = true;
            self.pending -= 1;
            self.covered_delivery = self.covered_delivery.max(entry.delivery.first);
            if !entry.is_needed() {
                self.take(place);
            }
        }
        self.pack();
    }

    /// Takes an id out.
    pub(crate) fn remove(&mut self, id: HashedId<'_>) -> Option<Box<Entry>> {
        let removed = self.take(self.place_of(id)?);
        self.pack();
        removed
    }

    fn make_room(&mut self) -> usize {
        let before = self.len();
        while self.len() > MAX_IMPRESSIONS || self.id_bytes > MAX_ID_BYTES {
            while self.entries[self.holes].is_none() {
                self.holes += 1;
            }
            let mut leaving = self.holes;
            while self.delivered > 0 && !matches!(&self.entries[leaving], Some(entry) if entry.is_delivered()) {
                leaving += 1;
            }
            self.take(leaving);
        }
        self.pack();
        before - self.len()
    }

    /// Leaves a hole.
    #[inline(never)]
    fn take(&mut self, place: usize) -> Option<Box<Entry>> {
        let entry = self.entries[place].take()?;
        self.places.remove(entry.hash, place as u32);
        self.count(&entry, false);
        Some(entry)
    }

    fn count(&mut self, entry: &Entry, comes: bool) {
        let change = |total: &mut usize, by: usize| *total = if comes { *total + by } else { *total - by };
        change(&mut self.id_bytes, entry.id.len());
        change(&mut self.pending, usize::from(!entry.covered));
        change(&mut self.delivered, usize::from(entry.is_delivered()));
    }

    /// Closes the holes when they are a third of all.
    #[inline(never)]
    fn pack(&mut self) {
        if self.entries.len() <= self.len() * 3 / 2 + 64 {
            return;
        }
        self.holes = 0;
        self.entries.retain(Option::is_some);
        self.places.clear(self.entries.len());
        for (place, entry) in self.entries.iter().flatten().enumerate() {
            self.places.add(entry.hash, place as u32);
        }
    }
}

/// Delivery: each impression once, and again only if the stream runs and has lost it.
impl Journal {
    /// Calls `take` with the next impressions to deliver, oldest first: at most so many, of at most so many bytes of ids with `overhead` for each.
    /// Returns the number of their batch, 0 if there are none.
    pub(crate) fn begin_batch(&mut self, limits: BatchLimits, now: u64, mut take: impl FnMut(&Entry)) -> u32 {
        let (mut impressions, mut bytes) = (0, 0);
        let (batch, covered_delivery) = (self.batches.wrapping_add(1).max(1), self.covered_delivery);
        for entry in self.entries.iter_mut().flatten() {
            if !entry.is_due(covered_delivery, now) {
                continue;
            }
            bytes += entry.id.len() + limits.overhead;
            if impressions == limits.impressions || (bytes > limits.bytes && impressions > 0) {
                break;
            }
            impressions += 1;
            entry.delivery.batch = batch;
            take(entry);
        }
        if impressions == 0 {
            return 0;
        }
        self.batches = batch;
        batch
    }

    /// A batch has arrived, or has not. Calls `delivered` for each impression that arrived.
    pub(crate) fn end_batch(&mut self, batch: u32, arrived: bool, now: u64, mut delivered: impl FnMut(&Entry)) {
        if arrived {
            self.deliveries += 1;
            self.note_latest(now, 2 * self.deliveries);
        }
        let order = 2 * self.deliveries;
        for place in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[place] else {
                continue;
            };
            if entry.delivery.batch != batch || batch == 0 {
                continue;
            }
            entry.delivery.batch = 0;
            if !arrived {
                continue;
            }
            self.delivered += usize::from(!entry.is_delivered());
            let delivery = &mut entry.delivery;
            delivery.times = delivery.times.saturating_add(1);
            (delivery.at, delivery.order) = (now, order);
            if delivery.first == 0 {
                delivery.first = order;
            }
            delivered(entry);
            if entry.covered {
                self.take(place);
            }
        }
        self.pack();
    }

    /// An impression, told by its [`Entry::key`], was delivered by whoever had it before, or has it too.
    pub(crate) fn note_delivery(&mut self, told: &Entry) {
        let Delivery {
            times,
            at: delivered_at,
            ..
        } = told.delivery;
        let is = |place: u32| matches!(&self.entries[place as usize], Some(entry) if entry.key() == told.key());
        let Some(place) = self.places.find(told.hash, is) else {
            return;
        };
        let order = self.order_of_noted(delivered_at);
        let Some(entry) = &mut self.entries[place as usize] else {
            return;
        };
        self.delivered += usize::from(!entry.is_delivered());
        let known = &mut entry.delivery;
        known.first = match known.first {
            // Of several deliveries only the last one's time is told.
            0 if times > 1 => 1,
            0 => order,
            first => first.min(order),
        };
        // What is known here may be later than what was stored.
        if known.order == 0 || delivered_at > known.at {
            (known.at, known.order) = (delivered_at, order);
        }
        known.times = known.times.max(times);
        if entry.covered && entry.delivery.batch == 0 {
            self.take(place as usize);
            self.pack();
        }
    }

    /// The place of a delivery that becomes known only now: that of those made with it, or before those made after it. Else its coverage would
    /// tell of them what it cannot, and they would be sent again to a stream that is merely late.
    fn order_of_noted(&mut self, delivered_at: u64) -> u64 {
        let (latest_at, latest) = self.latest_delivery;
        if delivered_at > latest_at {
            self.deliveries += 1;
            self.note_latest(delivered_at, 2 * self.deliveries);
            return 2 * self.deliveries;
        }
        if delivered_at == latest_at {
            return latest;
        }
        // The earliest of those that were not made before it.
        let mut after = None;
        for Delivery { at, order, .. } in self.iter().map(|entry| entry.delivery) {
            if order > 0 && at >= delivered_at && after.is_none_or(|after| (at, order) < after) {
                after = Some((at, order));
            }
        }
        match after {
            Some((at, order)) if at == delivered_at => order,
            Some((_, order)) => (order - 1).max(1),
            None => latest,
        }
    }

    fn note_latest(&mut self, at: u64, order: u64) {
        if at >= self.latest_delivery.0 {
            self.latest_delivery = (at, order);
        }
    }

    /// All that is here is to be delivered from now on. Calls `promised` for each impression of this writer of which that is new.
    pub(crate) fn deliver_all(&mut self, mut promised: impl FnMut(&Entry)) {
        for entry in self.entries.iter_mut().flatten() {
            let was_promised = std::mem::replace(&mut entry.to_deliver, true);
            if !was_promised && entry.is_promised() {
                promised(entry);
            }
        }
    }

    /// An impression of this id that is here is to be delivered.
    pub(crate) fn promise(&mut self, id: HashedId<'_>) {
        let place = self.place_of(id);
        if let Some(Some(entry)) = place.map(|place| &mut self.entries[place]) {
            entry.to_deliver = true;
        }
    }

    /// How many of this writer's impressions were never delivered and are not under way.
    pub(crate) fn undelivered_len(&self) -> usize {
        self.iter().filter(|entry| entry.is_due(0, 0)).count()
    }
}

/// How large a batch may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    pub(crate) impressions: usize,
    pub(crate) bytes: usize,
    /// Bytes that an impression takes beside its id.
    pub(crate) overhead: usize,
}

/// The wait before an impression is delivered again, which doubles each time.
const REDELIVERY_WAIT_MS: u64 = 5 * 60 * 1000;
/// How often an impression is delivered again.
const REDELIVERIES: u8 = 3;

impl Entry {
    /// Whether it is to be delivered now: never yet; or again, because one that was delivered later has been covered since, so that the stream
    /// runs and has lost this one. A stream that is merely late causes nothing.
    fn is_due(&self, covered_delivery: u64, now: u64) -> bool {
        let Delivery {
            times,
            at,
            order,
            batch,
            ..
        } = self.delivery;
        if !self.own || batch != 0 {
            return false;
        }
        if times == 0 {
            return true;
        }
        let wait = REDELIVERY_WAIT_MS << (times.min(REDELIVERIES + 1) - 1);
        // Up to half as long again, so that what was lost together does not come back together.
        let jitter = (self.hash ^ at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let wait = wait + ((wait / 2 * jitter) >> 32);
        !self.covered && times <= REDELIVERIES && order < covered_delivery && now.abs_diff(at) >= wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(journal: &mut Journal, id: &str) -> usize {
        journal.push(Entry::new(HashedId::new(id.as_bytes()), 0, true))
    }

    fn ids(journal: &Journal) -> Vec<String> {
        journal.pending().map(Entry::text).collect()
    }

    #[test]
    fn an_id_recorded_again_moves_to_the_end() {
        let mut journal = Journal::default();
        for id in ["a", "b", "a"] {
            push(&mut journal, id);
        }
        assert_eq!(ids(&journal), ["b", "a"]);
    }

    #[test]
    fn beyond_the_limits_the_oldest_leave() {
        let mut journal = Journal::default();
        let left: usize = (0..6_000).map(|i| push(&mut journal, &format!("{i}"))).sum();
        assert_eq!((journal.len(), left), (MAX_IMPRESSIONS, 1_000));
        assert_eq!(ids(&journal)[0], "1000");
        push(&mut journal, &"x".repeat(MAX_ID_BYTES - 4));
        assert!(journal.id_bytes <= MAX_ID_BYTES && journal.len() == 2);
        assert_eq!(push(&mut journal, &"y".repeat(MAX_ID_BYTES + 1)), 1);
        assert_eq!(journal.len(), 2);
    }

    #[test]
    fn delivered_ones_leave_first() {
        let mut journal = Journal::default();
        for i in 0..MAX_IMPRESSIONS {
            let mut entry = Entry::new(HashedId::new(i.to_string().as_bytes()), 0, true);
            entry.delivery.times = u8::from(i == 4_000);
            journal.push(entry);
        }
        push(&mut journal, "one more");
        assert!(journal.get(HashedId::new(b"4000")).is_none() && journal.get(HashedId::new(b"0")).is_some());
    }

    #[test]
    fn what_is_covered_leaves_unless_it_is_still_to_be_delivered() {
        let mut journal = Journal::default();
        for i in 0..500 {
            push(&mut journal, &format!("{i}"));
        }
        journal.deliver_all(|_| {});
        for i in 400..500 {
            push(&mut journal, &format!("{i}"));
        }
        journal.cover(|entry| entry.text().len() < 3);
        assert_eq!((journal.pending_len(), journal.len()), (400, 500));
        journal.cover(|entry| entry.text().starts_with('4'));
        assert_eq!((journal.pending_len(), journal.len()), (300, 400));
        assert_eq!(ids(&journal).len(), 300);
        assert!(
            (0..500)
                .filter(|i: &u32| i.to_string().starts_with('4') && *i > 99)
                .all(|i| journal.get(HashedId::new(i.to_string().as_bytes())).is_none())
        );
        assert!(journal.get(HashedId::new(b"300")).is_some());
    }
}
