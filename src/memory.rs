//! What this device showed: a chain of the same Bloom shards that a server keeps, in which age is counted in impressions.
//!
//! Every recorded impression goes in at once. A shard covers one slice of time, so that what was shown lately does not keep alive what was shown
//! long ago, and holds the namespace's impression counter as of its last insertion: it leaves when more than [`REMEMBERED`] impressions have
//! been counted since. The clock never deletes: a shard past its expiry is skipped, so a clock that jumps ahead and back loses nothing.
//!
//! A device may have several writers (tabs, visits). Shards of *our own* are those that this writer recorded or took over, which it stores; the
//! others are stored by who recorded them.

use crate::bit_sliced::{BitSlicedFilters, MAX_SLOTS, Query};
use crate::bloom::FilterSpec;
use crate::chain::{RotationSchedule, outlasts};
use crate::hash::HashedId;
use crate::order::ascending;
use crate::params::union_rate;
use crate::shard::has_expired;
use crate::{BloomFilter, Parameters};

/// Impressions after which a shard leaves.
pub const REMEMBERED: u64 = 10_000;
/// Impressions a shard.
pub(crate) const CAPACITY: u32 = 2_000;
/// What so many need at ε = 0.0001.
const PARAMETERS: Parameters = Parameters::of_others(38_341, 13);
/// Shards that cover the window; the slice of time that one covers is the window's quarter.
const SHARDS_A_WINDOW: usize = 5;

/// One shard of the memory as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredShard {
    pub(crate) filter: BloomFilter,
    pub(crate) age: Age,
}

/// What is known of a shard beside its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    pub(crate) count: u32,
    /// Unix seconds.
    pub(crate) begun: u64,
    /// Unix seconds from which on it is skipped.
    pub(crate) expires: u32,
    /// The namespace's impression counter at the last insertion.
    pub(crate) last: u64,
    /// Whether this writer recorded it or took it over.
    pub(crate) own: bool,
}

#[derive(Debug, Clone)]
struct Lane {
    slot: usize,
    age: Age,
}

/// The device's memory of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    slices: RotationSchedule,
    bank: BitSlicedFilters,
    slots: Vec<Lane>,
    counter: u64,
    recorded: u64,
}

impl Memory {
    /// `window_seconds`: how long an impression is remembered.
    pub(crate) fn new(window_seconds: u32) -> Self {
        Memory {
            // A slice of no length would begin a shard for each impression.
            slices: RotationSchedule::new(window_seconds.max(SHARDS_A_WINDOW as u32), SHARDS_A_WINDOW),
            bank: BitSlicedFilters::new(FilterSpec::native(PARAMETERS, 0)),
            slots: Vec::new(),
            counter: 0,
            recorded: 0,
        }
    }

    pub(crate) fn spec(&self) -> FilterSpec {
        self.bank.spec()
    }

    /// Impressions counted in this namespace, as far as known here.
    pub(crate) fn counter(&self) -> u64 {
        self.counter
    }

    /// How many of them this writer has counted itself.
    pub(crate) fn recorded(&self) -> u64 {
        self.recorded
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bank.bytes() + self.slots.capacity() * size_of::<Lane>()
    }

    /// Impressions held to be remembered: the newest 10,000 at most, though older ones in the same shards may be remembered too.
    pub(crate) fn remembered(&self, now: u64) -> u64 {
        self.live(now)
            .map(|slot| u64::from(slot.age.count))
            .sum::<u64>()
            .min(REMEMBERED)
    }

    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(
            self.live(now)
                .map(|slot| PARAMETERS.false_positive_rate(self.bank.set_bits(slot.slot))),
        )
    }

    /// The slots that answer at this time.
    fn live_slots(&self, now: u64) -> u64 {
        self.live(now).fold(0, |mask, slot| mask | 1 << slot.slot)
    }

    /// What answers at this time, if anything does, made ready to be asked for many ids.
    pub(crate) fn query(&self, now: u64) -> Option<Query<'_>> {
        let slots = self.live_slots(now);
        (slots != 0).then(|| self.bank.query(slots))
    }

    pub(crate) fn contains(&self, id: HashedId<'_>, now: u64) -> bool {
        self.bank.matches(id) & self.live_slots(now) != 0
    }

    /// Records an impression of this writer at a time of this device's clock. An id that its shard contains renews the shard.
    pub(crate) fn record(&mut self, id: HashedId<'_>, at: u64) {
        let Some(index) = self.covering(at, true, self.counter) else {
            return;
        };
        if self.insert(index, id) {
            self.counter = self.counter.saturating_add(1);
            self.recorded += 1;
        }
        self.slots[index].age.last = self.counter;
        self.rotate();
    }

    /// Remembers an impression that another writer has stored, or that this one takes over, as of a count.
    pub(crate) fn remember(&mut self, id: HashedId<'_>, at: u64, last: u64, own: bool) {
        let Some(index) = self.covering(at, own, last) else {
            return;
        };
        self.insert(index, id);
        let age = &mut self.slots[index].age;
        age.last = age.last.max(last);
    }

    /// Remembers a stored shard. False if it is none of this memory's.
    pub(crate) fn absorb(&mut self, stored: &StoredShard, now: u64) -> bool {
        let fits = stored.filter.spec() == self.spec();
        if fits && !self.join(stored, now) {
            self.push(stored, now);
        }
        fits
    }

    /// Takes notice of the namespace's counter as another writer knew it. What is held here counts as recorded after what that writer counted:
    /// nothing leaves early because two writers counted at the same time.
    pub(crate) fn notice_counter(&mut self, counter: u64) {
        let ahead = counter.saturating_sub(self.counter);
        for slot in &mut self.slots {
            slot.age.last = slot.age.last.saturating_add(ahead);
        }
        self.counter += ahead;
    }

    /// Drops the shards that more than [`REMEMBERED`] impressions came after.
    pub(crate) fn rotate(&mut self) {
        let mut leaving = 0;
        for slot in &self.slots {
            leaving |= u64::from(self.counter.saturating_sub(slot.age.last) > REMEMBERED) << slot.slot;
        }
        self.drop_slots(leaving);
    }

    /// This writer's shards, to be stored.
    pub(crate) fn own_shards(&self) -> impl Iterator<Item = StoredShard> + '_ {
        self.slots
            .iter()
            .filter(|slot| slot.age.own)
            .map(|slot| self.stored(slot))
    }

    fn stored(&self, slot: &Lane) -> StoredShard {
        StoredShard {
            filter: self.bank.filter(slot.slot),
            age: slot.age,
        }
    }

    fn live(&self, now: u64) -> impl Iterator<Item = &Lane> {
        self.slots
            .iter()
            .filter(move |slot| !has_expired(slot.age.expires, now))
    }

    /// Inserts into a shard; whether its bits changed.
    fn insert(&mut self, index: usize, id: HashedId<'_>) -> bool {
        let new = self.bank.insert(self.slots[index].slot, id);
        self.slots[index].age.count += u32::from(new);
        new
    }

    /// The shard of a writer that takes impressions of this time, begun as of a count if there is none: not full, begun within a slice before it, and kept for
    /// a window after it. A clock that went back a little begins no new one; nor does one that went back far, where it has begun many already.
    fn covering(&mut self, at: u64, own: bool, last: u64) -> Option<usize> {
        self.unite_past(at);
        let slice = self.slices.slice();
        let early = if self.slots.len() < MAX_SLOTS / 2 {
            slice / 8
        } else {
            u64::MAX
        };
        let needed = expiry(self.slices.end_of_ttl(at));
        let mut fitting: Option<usize> = None;
        for (index, Lane { age, .. }) in self.slots.iter().enumerate() {
            let in_slice = age.begun <= at.saturating_add(early) && at < age.begun.saturating_add(slice);
            let covers = in_slice && age.own == own && age.count < CAPACITY && outlasts(age.expires, needed);
            // The one that ends first keeps nothing longer than it need be kept.
            if covers && fitting.is_none_or(|other| !outlasts(age.expires, self.slots[other].age.expires)) {
                fitting = Some(index);
            }
        }
        if fitting.is_some() {
            return fitting;
        }
        let age = Age {
            count: 0,
            begun: at,
            expires: expiry(self.slices.expires(at)),
            last,
            own,
        };
        let filter = BloomFilter::with_spec(self.spec());
        self.push(&StoredShard { filter, age }, at)
    }

    /// Lets a shard that is already here stand for this one too, where that keeps what either promises. Whether it did.
    fn join(&mut self, stored: &StoredShard, now: u64) -> bool {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            // What this writer must store does not vanish in what another one stores.
            if stored.age.own && !slot.age.own {
                continue;
            }
            let (here, there) = (slot.age, stored.age);
            let mut both = self.bank.filter(slot.slot);
            both.take_over(&stored.filter);
            let set_bits = both.set_bits();
            let holds_there = set_bits == self.bank.set_bits(slot.slot);
            let expires = if outlasts(here.expires, there.expires) {
                here
            } else {
                there
            }
            .expires;
            let mut age = if holds_there && here.expires == expires {
                here
            } else if set_bits == stored.filter.set_bits() && there.expires == expires {
                there
            } else {
                let both_past = has_expired(here.expires, now) && has_expired(there.expires, now);
                let span = |age: Age| (age.begun, age.expires);
                let items = both.estimate_items();
                if items > f64::from(CAPACITY) || !(both_past || self.slices.allow_union(span(here), span(there))) {
                    continue;
                }
                Age {
                    count: items.round_ties_even() as u32,
                    begun: here.begun.min(there.begun),
                    expires,
                    ..here
                }
            };
            age.last = here.last.max(there.last);
            age.own = here.own;
            if !here.own || there.own || holds_there {
                self.bank.load(slot.slot, &both);
                self.slots[index].age = age;
                return true;
            }
        }
        false
    }

    fn push(&mut self, stored: &StoredShard, now: u64) -> Option<usize> {
        if self.slots.len() == MAX_SLOTS {
            self.make_room(now);
        }
        let slot = self.bank.add_slot(1)?;
        self.bank.load(slot, &stored.filter);
        let age = stored.age;
        self.slots.push(Lane { slot, age });
        Some(self.slots.len() - 1)
    }

    /// Where there are many shards, unites the small ones that are past: a page that stays open leaves one behind with each slice, and that is no
    /// reason to keep anything longer.
    fn unite_past(&mut self, now: u64) {
        if self.slots.len() < MAX_SLOTS / 2 {
            return;
        }
        let mut past = 0u64;
        for slot in &self.slots {
            // Any two of them fit into one, so few are left.
            let is_small = slot.age.count <= CAPACITY / 2;
            past |= u64::from(is_small && has_expired(slot.age.expires, now)) << slot.slot;
        }
        if past.count_ones() as usize >= MAX_SLOTS / 8 {
            self.unite(past, now, now);
        }
    }

    /// Unites shards until half of the slots are free. A clock that jumps to and fro can leave many small shards; nothing of them is lost, some
    /// of it is only kept longer.
    fn make_room(&mut self, now: u64) {
        // Whatever fits into one shard unites, as if all of it were past.
        self.unite(u64::MAX, now, u64::MAX);
        // Sixty-four shards that no two fit into one hold far more than is to be remembered.
        let lasts: Vec<u64> = self.slots.iter().map(|slot| slot.age.last).collect();
        let oldest = ascending(&lasts)
            .into_iter()
            .take(lasts.len().saturating_sub(MAX_SLOTS / 2));
        let leaving = oldest.fold(0, |leaving, index| leaving | 1 << self.slots[index].slot);
        self.drop_slots(leaving);
    }

    /// Takes shards out and in again, where each may join one that is there at a time when both are past.
    #[cold]
    #[inline(never)]
    fn unite(&mut self, slots: u64, now: u64, past_at: u64) {
        let taken = self.slots.iter().filter(|slot| slots >> slot.slot & 1 == 1);
        let taken: Vec<StoredShard> = taken.map(|slot| self.stored(slot)).collect();
        self.drop_slots(slots);
        // Those that are past first, then the smallest: what is united with something live is kept longer.
        let rank =
            |stored: &StoredShard| u64::from(!has_expired(stored.age.expires, now)) << 32 | u64::from(stored.age.count);
        for index in ascending(&taken.iter().map(rank).collect::<Vec<u64>>()) {
            if !self.join(&taken[index], past_at) {
                self.push(&taken[index], now);
            }
        }
    }

    fn drop_slots(&mut self, leaving: u64) {
        if leaving != 0 {
            self.bank.remove(leaving);
            self.slots.retain(|slot| leaving >> slot.slot & 1 == 0);
        }
    }
}

/// An expiry beyond the format's time is never.
fn expiry(expires: u32) -> u32 {
    if expires == u32::MAX { 0 } else { expires }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;
    const NOW: u64 = 1_764_000_000;

    fn memory() -> Memory {
        Memory::new(30 * DAY as u32)
    }

    fn record(memory: &mut Memory, id: &str, at: u64) {
        memory.record(HashedId::new(id.as_bytes()), at);
    }

    fn has(memory: &Memory, id: &str, now: u64) -> bool {
        memory.contains(HashedId::new(id.as_bytes()), now)
    }

    #[test]
    fn a_shard_is_made_for_its_capacity() {
        assert_eq!(Parameters::for_capacity(CAPACITY, 0.0001), Ok(PARAMETERS));
    }

    #[test]
    fn an_impression_is_remembered_for_the_window_and_not_a_slice_longer() {
        let mut memory = memory();
        record(&mut memory, "first", NOW);
        record(&mut memory, "late in the slice", NOW + 7 * DAY + DAY / 2 - 1);
        assert!(has(&memory, "first", NOW + 30 * DAY));
        assert!(has(&memory, "late in the slice", NOW + 37 * DAY + DAY / 2 - 1));
        assert!(!has(&memory, "first", NOW + 38 * DAY));
    }

    #[test]
    fn the_clock_deletes_nothing() {
        let mut memory = memory();
        record(&mut memory, "here", NOW);
        record(&mut memory, "in a year", NOW + 365 * DAY);
        assert!(!has(&memory, "here", NOW + 365 * DAY));
        assert!(has(&memory, "here", NOW) && has(&memory, "in a year", NOW));
    }

    #[test]
    fn rotation_never_drops_the_newest_ten_thousand() {
        let mut memory = memory();
        for i in 0..25_000 {
            record(&mut memory, &format!("id-{i}"), NOW + i / 100);
        }
        assert!((15_000..25_000).all(|i| has(&memory, &format!("id-{i}"), NOW)));
        assert!((0..12_000).filter(|i| has(&memory, &format!("id-{i}"), NOW)).count() < 60);
        assert_eq!(memory.remembered(NOW), REMEMBERED);
        assert!(memory.slots.len() <= 7);
    }

    #[test]
    fn a_clock_that_jumps_at_random_stays_bounded_and_loses_nothing() {
        let mut memory = memory();
        let mut clock = 1u64;
        for i in 0..2_000 {
            clock = clock
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = clock >> 33;
            record(&mut memory, &format!("id-{i}"), at);
            assert!(has(&memory, &format!("id-{i}"), at) && memory.slots.len() <= MAX_SLOTS);
        }
        let earliest = 0;
        assert!((0..2_000).all(|i| has(&memory, &format!("id-{i}"), earliest)));
    }

    #[test]
    fn an_impression_that_becomes_known_late_is_kept_no_longer_for_it_among_many_shards() {
        let mut memory = memory();
        // From the latest on: none of them is past when the next one is begun.
        let days = (0..40).rev().map(|i| 10 * i);
        for day in days {
            memory.remember(HashedId::new(b"in time"), NOW + day * DAY, 0, false);
        }
        assert!(memory.slots.len() >= MAX_SLOTS / 2);
        memory.remember(HashedId::new(b"late"), NOW + 100 * DAY, 0, false);
        assert!(has(&memory, "late", NOW + 130 * DAY - 1) && !has(&memory, "late", NOW + 138 * DAY));
    }

    #[test]
    fn an_impression_that_becomes_known_late_is_kept_no_longer_for_it_where_a_page_stays_open() {
        let mut memory = memory();
        let visits = 60u64;
        for visit in 0..visits {
            let at = NOW + 40 * visit * DAY;
            record(&mut memory, &format!("here-{visit}"), at);
            memory.remember(HashedId::new(format!("there-{visit}").as_bytes()), at, 0, false);
        }
        let now = NOW + 40 * (visits - 1) * DAY;
        let recorded = now - 25 * DAY;
        memory.remember(HashedId::new(b"late"), recorded, 0, false);
        assert!(has(&memory, "late", recorded) && has(&memory, "late", recorded + 30 * DAY));
        assert!(!has(&memory, "late", recorded + 38 * DAY));
        for visit in 0..visits {
            let at = NOW + 40 * visit * DAY;
            assert!(has(&memory, &format!("here-{visit}"), at) && has(&memory, &format!("there-{visit}"), at));
        }
        assert!((0..visits - 1).all(|visit| !has(&memory, &format!("here-{visit}"), now)));
        assert!(memory.slots.len() <= MAX_SLOTS / 2);
    }

    #[test]
    fn daily_visits_do_not_renew_what_is_old() {
        let mut memory = memory();
        for day in 0..100 {
            let mut next = self::memory();
            next.notice_counter(memory.counter());
            for stored in memory.own_shards() {
                assert!(next.absorb(&stored, NOW + day * DAY));
            }
            memory = next;
            for i in 0..5 {
                record(&mut memory, &format!("{day}-{i}"), NOW + day * DAY);
            }
        }
        let now = NOW + 99 * DAY;
        assert!((69..100).all(|day| has(&memory, &format!("{day}-0"), now)));
        assert!((0..60).all(|day| !has(&memory, &format!("{day}-0"), now)));
        assert!(memory.slots.len() <= 7, "{}", memory.slots.len());
    }

    #[test]
    fn what_another_writer_counted_at_the_same_time_drops_nothing_of_ours() {
        let mut memory = memory();
        record(&mut memory, "ours", NOW);
        memory.notice_counter(10_500);
        memory.rotate();
        record(&mut memory, "next", NOW);
        assert!(has(&memory, "ours", NOW));
    }

    #[test]
    fn a_shard_that_another_one_contains_is_dropped() {
        let mut memory = memory();
        record(&mut memory, "a", NOW);
        let smaller: Vec<StoredShard> = memory.own_shards().collect();
        record(&mut memory, "b", NOW);
        for mut stored in smaller {
            stored.age.own = false;
            assert!(memory.absorb(&stored, NOW));
        }
        assert_eq!(memory.slots.len(), 1);
    }
}
