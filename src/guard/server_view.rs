//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the
//! shard if it is in any of them. Each of these filters counts against the limits of a snapshot.

use crate::bit_sliced::{BitSlicedFilters, Query};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::{HashedId, hash_id};
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, EncodedShard, Format};

/// What recognises the text of a shard that is held already: 128 bits of hash, and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    hashes: [u64; 2],
    length: usize,
}

impl Fingerprint {
    fn of(text: &[u8]) -> Self {
        // Two seeds that have nothing in common.
        Fingerprint {
            hashes: [hash_id(text, 0x5EE7), hash_id(text, !0x5EE7)],
            length: text.len(),
        }
    }
}

/// Where a filter's bits lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The index of its group in [`ServerView::groups`].
    group: usize,
    slot: usize,
}

/// One filter of the snapshot.
#[derive(Debug, Clone, Copy)]
struct HeldFilter {
    place: Place,
    /// The index of its shard in the snapshot.
    shard: usize,
    /// Whether it is the first filter of its shard.
    is_first: bool,
    /// Of its shard's text.
    fingerprint: Fingerprint,
    epoch: u32,
    expires: u32,
}

/// A shard of a new snapshot.
enum IncomingShard {
    /// Its text is that of a shard in use, of this index.
    Held(usize),
    New {
        fingerprint: Fingerprint,
        encoded: EncodedShard,
    },
}

/// The filters that answer at one time. Made once for a batch of ids.
#[derive(Debug, Default)]
pub(crate) struct LiveShards {
    groups: Vec<LiveGroup>,
}

#[derive(Debug)]
struct LiveGroup {
    group: usize,
    slots: u64,
}

/// The shard that contains an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundShard {
    /// Its index in the snapshot, the newest being 0.
    pub(crate) shard: usize,
    /// Its number in its chain, in the native format.
    pub(crate) epoch: Option<u32>,
}

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    format: Format,
    /// The bits, filters of one spec side by side.
    groups: Vec<BitSlicedFilters>,
    /// Those of the newest shard first, as shipped.
    filters: Vec<HeldFilter>,
}

impl ServerView {
    /// How many shards there are.
    pub(crate) fn len(&self) -> usize {
        self.first_filters().count()
    }

    /// One filter of each shard.
    fn first_filters(&self) -> impl Iterator<Item = &HeldFilter> {
        self.filters.iter().filter(|filter| filter.is_first)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let groups: usize = self.groups.iter().map(BitSlicedFilters::bytes).sum();
        groups + self.filters.len() * size_of::<HeldFilter>()
    }

    /// Takes these shards in place of those in use, or, on an error, leaves everything as it is. Returns how many were
    /// held already.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::OutOfMemory`]; [`Error::InShard`] for the first shard that is wrong.
    pub(crate) fn replace(&mut self, texts: &(impl IdList + ?Sized), format: Format) -> Result<usize, Error> {
        // The sizes of all shards are learnt before any is read: no memory is taken for bits until they are known to be
        // bearable.
        let incoming = self.decode(texts, format)?;
        self.check_size(&incoming)?;
        let next = self.with(&incoming, format)?;
        *self = next;
        let is_held = |incoming: &&IncomingShard| matches!(incoming, IncomingShard::Held(_));
        Ok(incoming.iter().filter(is_held).count())
    }

    fn decode(&self, texts: &(impl IdList + ?Sized), format: Format) -> Result<Vec<IncomingShard>, Error> {
        if texts.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let mut incoming = Vec::with_capacity(texts.len());
        let mut is_reused = [false; MAX_SNAPSHOT_SHARDS];
        for shard in 0..texts.len() {
            let text = texts.get(shard);
            let fingerprint = Fingerprint::of(text);
            let held = self
                .first_filters()
                .find(|held| self.format == format && held.fingerprint == fingerprint && !is_reused[held.shard]);
            incoming.push(if let Some(held) = held {
                is_reused[held.shard] = true;
                IncomingShard::Held(held.shard)
            } else {
                let encoded = wire::decode(format, text).map_err(|error| error.in_shard(shard))?;
                IncomingShard::New { fingerprint, encoded }
            });
        }
        Ok(incoming)
    }

    fn check_size(&self, incoming: &[IncomingShard]) -> Result<(), Error> {
        let (mut bits, mut filters) = (0, 0);
        for incoming in incoming {
            match incoming {
                IncomingShard::Held(held) => {
                    bits += self
                        .filters_of(*held)
                        .map(|filter| u64::from(self.spec_of(filter).bits()))
                        .sum::<u64>();
                    filters += self.filters_of(*held).count();
                }
                IncomingShard::New { encoded, .. } => {
                    bits += encoded.bits();
                    filters += encoded.filters().len();
                }
            }
        }
        if bits > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge("the snapshot's shards together have over 2^26 bits"));
        }
        if filters > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("the snapshot's shards together have over 64 filters"));
        }
        Ok(())
    }

    /// The view of these shards.
    fn with(&self, incoming: &[IncomingShard], format: Format) -> Result<ServerView, Error> {
        let new_filters = read_new(incoming)?;
        let mut next = ServerView {
            format,
            groups: self.groups_without(incoming)?,
            filters: Vec::new(),
        };
        let mut left = new_filters.as_slice();
        for (shard, incoming) in incoming.iter().enumerate() {
            match incoming {
                IncomingShard::Held(held) => {
                    let held = self.filters_of(*held).map(|filter| HeldFilter { shard, ..*filter });
                    next.filters.extend(held);
                }
                IncomingShard::New { fingerprint, encoded } => {
                    for index in 0..encoded.filters().len() {
                        let place = next.add(left)?;
                        left = &left[1..];
                        next.filters.push(HeldFilter {
                            place,
                            shard,
                            is_first: index == 0,
                            fingerprint: *fingerprint,
                            epoch: encoded.epoch,
                            expires: encoded.expires,
                        });
                    }
                }
            }
        }
        Ok(next)
    }

    /// A copy of the groups with the filters alone that are held on.
    fn groups_without(&self, incoming: &[IncomingShard]) -> Result<Vec<BitSlicedFilters>, Error> {
        let mut kept = vec![0u64; self.groups.len()];
        for incoming in incoming {
            if let IncomingShard::Held(held) = incoming {
                for Place { group, slot } in self.filters_of(*held).map(|filter| filter.place) {
                    kept[group] |= 1 << slot;
                }
            }
        }
        let mut groups = Vec::with_capacity(self.groups.len());
        for (group, kept) in self.groups.iter().zip(kept) {
            groups.push(group.with_slots(kept)?);
        }
        Ok(groups)
    }

    /// Adds the first of these filters to a group of its spec, which gets room for all of them that are of this spec.
    fn add(&mut self, filters: &[BloomFilter]) -> Result<Place, Error> {
        let spec = filters[0].spec();
        let has_room = |group: &BitSlicedFilters| group.spec() == spec && !group.is_full();
        let found = self.groups.iter().position(has_room);
        // An empty group, whose filters are no longer held, takes no memory.
        let empty = || self.groups.iter().position(BitSlicedFilters::is_empty);
        let group = found.or_else(empty).unwrap_or(self.groups.len());
        if group == self.groups.len() {
            self.groups.push(BitSlicedFilters::new(spec));
        } else if found.is_none() {
            self.groups[group] = BitSlicedFilters::new(spec);
        }
        let coming = filters.iter().filter(|filter| filter.spec() == spec).count();
        let slot = self.groups[group].add(&filters[0], coming)?;
        Ok(Place { group, slot })
    }

    /// What answers at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut slots = vec![0; self.groups.len()];
        for filter in self.live_filters(now) {
            slots[filter.place.group] |= 1 << filter.place.slot;
        }
        let groups = slots.into_iter().enumerate().filter(|&(_, slots)| slots != 0);
        LiveShards {
            groups: groups.map(|(group, slots)| LiveGroup { group, slots }).collect(),
        }
    }

    /// These shards, ready to be tested for many ids.
    pub(crate) fn queries(&self, live: &LiveShards) -> impl Iterator<Item = Query<'_>> {
        live.groups.iter().map(|live| self.groups[live.group].query(live.slots))
    }

    /// Whether any of these shards contains the id.
    pub(crate) fn contains(&self, id: HashedId<'_>, live: &LiveShards) -> bool {
        live.groups
            .iter()
            .any(|live| self.groups[live.group].matches(id) & live.slots != 0)
    }

    /// The newest live shard that contains the id.
    pub(crate) fn find(&self, id: HashedId<'_>, now: u64) -> Option<FoundShard> {
        let contains = |filter: &&HeldFilter| {
            let Place { group, slot } = filter.place;
            self.groups[group].matches(id) >> slot & 1 == 1
        };
        let found = self.live_filters(now).find(contains)?;
        Some(FoundShard {
            shard: found.shard,
            epoch: self.format.is_native().then_some(found.epoch),
        })
    }

    /// How many shards are past their expiry.
    pub(crate) fn expired(&self, now: u64) -> usize {
        self.first_filters()
            .filter(|filter| has_expired(filter.expires, now))
            .count()
    }

    /// The expected rate at which the live shards answer "contained" for an id that is in none.
    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(self.live_filters(now).map(|filter| {
            let group = &self.groups[filter.place.group];
            let set_bits = group.set_bits(filter.place.slot);
            group.spec().parameters.false_positive_rate(set_bits)
        }))
    }

    /// The spec of the newest shard, if that is a native one.
    pub(crate) fn newest_native_spec(&self) -> Option<FilterSpec> {
        let newest = self.filters.first().filter(|_| self.format.is_native())?;
        Some(self.spec_of(newest))
    }

    fn spec_of(&self, filter: &HeldFilter) -> FilterSpec {
        self.groups[filter.place.group].spec()
    }

    fn filters_of(&self, shard: usize) -> impl Iterator<Item = &HeldFilter> {
        self.filters.iter().filter(move |filter| filter.shard == shard)
    }

    fn live_filters(&self, now: u64) -> impl Iterator<Item = &HeldFilter> {
        self.filters
            .iter()
            .filter(move |filter| !has_expired(filter.expires, now))
    }
}

/// Reads the filters of all new shards, in their order.
fn read_new(incoming: &[IncomingShard]) -> Result<Vec<BloomFilter>, Error> {
    let mut filters = Vec::new();
    for (shard, incoming) in incoming.iter().enumerate() {
        if let IncomingShard::New { encoded, .. } = incoming {
            for filter in encoded.filters() {
                filters.push(encoded.read_filter(filter).map_err(|error| error.in_shard(shard))?);
            }
        }
    }
    Ok(filters)
}
