//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the shard if it is in any of
//! them. Each of these filters counts against the limits of a snapshot.

use crate::bit_sliced::{BitSlicedFilters, Query};
use crate::bloom::FilterSpec;
use crate::hash::{HashedId, hash_id};
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire;
use crate::{BloomFilter, Error, Format};

/// Two hashes and the length of a shard's text: what recognises one that is held already.
type Fingerprint = (u64, u64, usize);

/// One filter of the snapshot: its shard, and where its bits lie.
#[derive(Debug, Clone, Copy)]
struct HeldFilter {
    /// What its shard's text was.
    fingerprint: Fingerprint,
    epoch: u32,
    expires: u32,
    /// Its shard's place in the snapshot.
    shard: usize,
    /// Whether it is the first one of its shard.
    is_first: bool,
    bank: usize,
    slot: usize,
}

/// Which filters answer at one time, bank by bank: made once for a batch.
#[derive(Debug, Default)]
pub(crate) struct LiveShards {
    slots: Vec<(usize, u64)>,
}

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    format: Format,
    banks: Vec<BitSlicedFilters>,
    /// Those of the newest shard first, as shipped.
    filters: Vec<HeldFilter>,
}

/// The bank of a filter that has not been read.
const NO_BANK: usize = usize::MAX;

impl ServerView {
    /// How many shards there are.
    pub(crate) fn len(&self) -> usize {
        self.first_filters().count()
    }

    /// One filter of each shard.
    fn first_filters(&self) -> impl Iterator<Item = &HeldFilter> {
        let is_first = |filter: &&HeldFilter| !cfg!(feature = "formats") || filter.is_first;
        self.filters.iter().filter(is_first)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.banks.iter().map(BitSlicedFilters::bytes).sum::<usize>()
            + self.filters.capacity() * size_of::<HeldFilter>()
    }

    /// Takes these shards in place of those in use, or, on an error, leaves everything as it is. Returns how many were held already.
    ///
    /// Learns the sizes of all shards before it reads any: nothing is allocated for bits until they are known to be bearable.
    pub(crate) fn replace<L: IdList + ?Sized>(&mut self, texts: &L, format: Format) -> Result<usize, Error> {
        if !format.is_known() {
            return Err(Error::BadSnapshot(wire::NOT_KNOWN));
        }
        if texts.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let (mut coming, mut new, mut bits, mut reused) = (Vec::new(), Vec::new(), 0, 0);
        for shard in 0..texts.len() {
            let text = texts.get(shard);
            let fingerprint = fingerprint_of(text);
            if let Some(held) = self.find_held(fingerprint, format, &coming) {
                reused += 1;
                for filter in self.filters.iter().filter(|filter| filter.shard == held) {
                    bits += u64::from(self.spec_of(filter).bits());
                    coming.push(HeldFilter { shard, ..*filter });
                }
                continue;
            }
            let decoded = wire::decode(format, text).map_err(|error| error.in_shard(shard))?;
            bits += decoded.bits();
            for index in 0..decoded.filters.len() {
                coming.push(HeldFilter {
                    fingerprint,
                    epoch: decoded.epoch,
                    expires: decoded.expires,
                    shard,
                    is_first: index == 0,
                    bank: NO_BANK,
                    slot: 0,
                });
            }
            new.push((shard, decoded));
        }
        if bits > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the snapshot's shards together have over 2^26 bits"));
        }
        // Of the native format a shard is one filter.
        if cfg!(feature = "formats") && coming.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("the snapshot's shards together have over 64 filters"));
        }
        let mut read = Vec::new();
        for (shard, decoded) in &new {
            for unread in &decoded.filters {
                read.push(decoded.filter(unread).map_err(|error| error.in_shard(*shard))?);
            }
        }
        self.format = format;
        self.drop_slots_but(&coming);
        let to_place = coming.iter_mut().filter(|filter| filter.bank == NO_BANK);
        for (index, filter) in to_place.enumerate() {
            (filter.bank, filter.slot) = self.place(&read[index..]);
        }
        self.filters = coming;
        Ok(reused)
    }

    /// The place of a shard that is held, is recognised by this, and that none of those that are coming stands for.
    fn find_held(&self, fingerprint: Fingerprint, format: Format, coming: &[HeldFilter]) -> Option<usize> {
        let is_left = |held: &HeldFilter| {
            !coming
                .iter()
                .any(|coming| (coming.bank, coming.slot) == (held.bank, held.slot))
        };
        let found = self
            .filters
            .iter()
            .find(|held| self.format.is(format) && held.fingerprint == fingerprint && is_left(held))?;
        Some(found.shard)
    }

    /// Empties the slots that no held shard needs any more. What is left of a bank without any takes no memory, and the next one goes there.
    fn drop_slots_but(&mut self, coming: &[HeldFilter]) {
        for (index, bank) in self.banks.iter_mut().enumerate() {
            let kept = coming.iter().filter(|filter| filter.bank == index);
            let kept = kept.fold(0, |kept, filter| kept | 1 << filter.slot);
            if bank.used() & !kept != 0 {
                bank.remove(!kept);
            }
        }
    }

    /// Puts the first one's bits into a slot, where those of its spec among the others will find room. Returns the bank and the slot.
    fn place(&mut self, filters: &[BloomFilter]) -> (usize, usize) {
        let spec = filters[0].spec();
        let with_room = |bank: &BitSlicedFilters| bank.spec() == spec && bank.used() != u64::MAX;
        let place = self.banks.iter().position(with_room);
        let place = place.or_else(|| self.banks.iter().position(BitSlicedFilters::is_empty));
        let bank = place.unwrap_or(self.banks.len());
        if place.is_none() {
            self.banks.push(BitSlicedFilters::new(spec));
        }
        self.banks[bank].set_spec(spec);
        let coming = filters.iter().filter(|filter| filter.spec() == spec).count();
        let slot = self.banks[bank].add_slot(coming).unwrap_or_default();
        self.banks[bank].load(slot, &filters[0]);
        (bank, slot)
    }

    /// What answers at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut slots: Vec<(usize, u64)> = (0..self.banks.len()).map(|bank| (bank, 0)).collect();
        for filter in self.live_filters(now) {
            slots[filter.bank].1 |= 1 << filter.slot;
        }
        slots.retain(|&(_, slots)| slots != 0);
        LiveShards { slots }
    }

    /// The same, made ready to be asked for many ids.
    pub(crate) fn queries(&self, live: &LiveShards) -> impl Iterator<Item = Query<'_>> {
        live.slots.iter().map(|&(bank, slots)| self.banks[bank].query(slots))
    }

    pub(crate) fn contains(&self, id: HashedId<'_>, live: &LiveShards) -> bool {
        live.slots
            .iter()
            .any(|&(bank, slots)| self.banks[bank].matches(id) & slots != 0)
    }

    /// The newest live shard that contains the id: its place in the snapshot and, in the native format, its epoch.
    pub(crate) fn find(&self, id: HashedId<'_>, now: u64) -> Option<(usize, Option<u32>)> {
        let contains = |filter: &&HeldFilter| self.banks[filter.bank].matches(id) >> filter.slot & 1 == 1;
        let found = self.live_filters(now).find(contains)?;
        Some((found.shard, self.format.is_native().then_some(found.epoch)))
    }

    pub(crate) fn expired(&self, now: u64) -> usize {
        self.first_filters()
            .filter(|filter| has_expired(filter.expires, now))
            .count()
    }

    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(self.live_filters(now).map(|filter| {
            let set_bits = self.banks[filter.bank].set_bits(filter.slot);
            self.spec_of(filter).parameters.false_positive_rate(set_bits)
        }))
    }

    /// What the newest shard's positions follow, if it is a native one.
    pub(crate) fn newest_native_spec(&self) -> Option<FilterSpec> {
        let newest = self.filters.first().filter(|_| self.format.is_native());
        newest.map(|filter| self.spec_of(filter))
    }

    fn spec_of(&self, filter: &HeldFilter) -> FilterSpec {
        self.banks[filter.bank].spec()
    }

    fn live_filters(&self, now: u64) -> impl Iterator<Item = &HeldFilter> {
        self.filters
            .iter()
            .filter(move |filter| !has_expired(filter.expires, now))
    }
}

fn fingerprint_of(text: &[u8]) -> Fingerprint {
    // Two seeds that have nothing in common make 128 bits.
    (hash_id(text, 0x5EE7), hash_id(text, !0x5EE7), text.len())
}
