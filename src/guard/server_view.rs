//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the
//! shard if it is in any of them. Each of these filters counts against the limits of a snapshot.
//!
//! An element of a snapshot may be the reference of a shard in use, which then is used on.

use crate::bit_sliced::{BitSlicedFilters, Query};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::{HashedId, hash_id};
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, EncodedShard, Format, Reference};

/// What recognises the text of a shard that is held already: its reference, 64 further bits of hash, and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    reference: Reference,
    hash: u64,
    length: usize,
}

impl Fingerprint {
    fn of(format: Format, text: &[u8]) -> Self {
        Fingerprint {
            reference: Reference::of(format, text),
            // Another seed than the reference's.
            hash: hash_id(text, 0x5EE7),
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

/// One shard of the snapshot.
#[derive(Debug, Clone, Copy)]
struct HeldShard {
    /// Of its text.
    fingerprint: Fingerprint,
    epoch: u32,
    expires: u32,
}

/// One filter of the snapshot.
#[derive(Debug, Clone, Copy)]
struct HeldFilter {
    place: Place,
    /// The index of its shard in the snapshot.
    shard: usize,
    /// How many of its bits are set.
    set_bits: u32,
}

/// A shard of a new snapshot.
enum IncomingShard {
    /// A shard in use, of this index: its text came again, or its reference.
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

/// What became of the shards of a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement {
    Replaced {
        /// How many were held already.
        reused: usize,
        /// How long the texts are that references spared.
        spared: usize,
    },
    /// A reference is that of no shard in use: everything stays.
    MissingShard,
}

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    format: Format,
    /// The bits, filters of one spec side by side.
    groups: Vec<BitSlicedFilters>,
    /// The newest first, as shipped.
    shards: Vec<HeldShard>,
    /// Those of the newest shard first.
    filters: Vec<HeldFilter>,
}

impl ServerView {
    /// How many shards there are.
    pub(crate) fn len(&self) -> usize {
        self.shards.len()
    }

    /// The references of the shards, the newest first.
    pub(crate) fn references(&self) -> impl Iterator<Item = Reference> {
        self.shards.iter().map(|shard| shard.fingerprint.reference)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let groups: usize = self.groups.iter().map(BitSlicedFilters::bytes).sum();
        groups + self.shards.len() * size_of::<HeldShard>() + self.filters.len() * size_of::<HeldFilter>()
    }

    /// Takes these shards in place of those in use, or leaves everything as it is.
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::OutOfMemory`]; [`Error::InShard`] for the first shard that is wrong.
    pub(crate) fn replace(&mut self, texts: &(impl IdList + ?Sized), format: Format) -> Result<Replacement, Error> {
        // The sizes of all shards are learnt before any is read: no memory is taken for bits until they are known to be
        // bearable.
        let Some(incoming) = self.decode(texts, format)? else {
            return Ok(Replacement::MissingShard);
        };
        self.check_size(&incoming)?;
        let next = self.with(&incoming, format)?;
        *self = next;
        let is_held = |incoming: &&IncomingShard| matches!(incoming, IncomingShard::Held(_));
        let references = (0..texts.len()).filter(|&shard| Reference::from_element(texts.get(shard)).is_some());
        Ok(Replacement::Replaced {
            reused: incoming.iter().filter(is_held).count(),
            spared: references.map(|shard| self.shards[shard].fingerprint.length).sum(),
        })
    }

    /// Finds the shards that are held, and decodes the others. Returns nothing if one is missing.
    fn decode(&self, texts: &(impl IdList + ?Sized), format: Format) -> Result<Option<Vec<IncomingShard>>, Error> {
        if texts.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge("a snapshot has at most 64 shards"));
        }
        let held = if format == self.format {
            self.shards.as_slice()
        } else {
            &[]
        };
        let mut is_missing = false;
        let mut incoming = Vec::with_capacity(texts.len());
        for shard in 0..texts.len() {
            let text = texts.get(shard);
            if let Some(reference) = Reference::from_element(text) {
                match held.iter().position(|held| held.fingerprint.reference == reference) {
                    Some(index) => incoming.push(IncomingShard::Held(index)),
                    None => is_missing = true,
                }
                continue;
            }
            let fingerprint = Fingerprint::of(format, text);
            incoming.push(match held.iter().position(|held| held.fingerprint == fingerprint) {
                Some(index) => IncomingShard::Held(index),
                None => {
                    let encoded = wire::decode(format, text).map_err(|error| error.in_shard(shard))?;
                    IncomingShard::New { fingerprint, encoded }
                }
            });
        }
        Ok((!is_missing).then_some(incoming))
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
        let kept = self.kept_slots(incoming, &new_filters);
        let mut next = ServerView {
            format,
            groups: self.groups_with(&kept)?,
            shards: Vec::new(),
            filters: Vec::new(),
        };
        let mut left = new_filters.as_slice();
        for (shard, incoming) in incoming.iter().enumerate() {
            match incoming {
                IncomingShard::Held(held) => {
                    next.shards.push(self.shards[*held]);
                    for filter in self.filters_of(*held) {
                        let Place { group, slot } = filter.place;
                        let place = match kept[group] >> slot & 1 {
                            1 => filter.place,
                            _ => next.add(&[self.groups[group].filter(slot)?])?,
                        };
                        next.filters.push(HeldFilter {
                            place,
                            shard,
                            ..*filter
                        });
                    }
                }
                IncomingShard::New { fingerprint, encoded } => {
                    next.shards.push(HeldShard {
                        fingerprint: *fingerprint,
                        epoch: encoded.epoch,
                        expires: encoded.expires,
                    });
                    for _ in encoded.filters() {
                        let place = next.add(left)?;
                        next.filters.push(HeldFilter {
                            place,
                            shard,
                            set_bits: left[0].set_bits(),
                        });
                        left = &left[1..];
                    }
                }
            }
        }
        Ok(next)
    }

    /// Which slots of each group stay as they are: those whose filters are held on, unless few of many are left. Those
    /// are added anew, in the lowest slots: else a filter in a high slot would take the memory of all below it.
    fn kept_slots(&self, incoming: &[IncomingShard], new_filters: &[BloomFilter]) -> Vec<u64> {
        let mut kept = vec![0u64; self.groups.len()];
        for incoming in incoming {
            if let IncomingShard::Held(held) = incoming {
                for Place { group, slot } in self.filters_of(*held).map(|filter| filter.place) {
                    kept[group] |= 1 << slot;
                }
            }
        }
        for (group, kept) in self.groups.iter().zip(&mut kept) {
            let coming = new_filters.iter().filter(|filter| filter.spec() == group.spec());
            if group.is_wide_for(kept.count_ones() as usize + coming.count()) {
                *kept = 0;
            }
        }
        kept
    }

    /// A copy of the groups with these slots alone.
    fn groups_with(&self, kept: &[u64]) -> Result<Vec<BitSlicedFilters>, Error> {
        let mut groups = Vec::with_capacity(self.groups.len());
        for (group, kept) in self.groups.iter().zip(kept) {
            groups.push(group.with_slots(*kept)?);
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
            epoch: self.format.is_native().then(|| self.shards[found.shard].epoch),
        })
    }

    /// How many shards are past their expiry.
    pub(crate) fn expired(&self, now: u64) -> usize {
        self.shards
            .iter()
            .filter(|shard| has_expired(shard.expires, now))
            .count()
    }

    /// The expected rate at which the live shards answer "contained" for an id that is in none.
    pub(crate) fn false_positive_rate(&self, now: u64) -> f64 {
        union_rate(
            self.live_filters(now)
                .map(|filter| self.spec_of(filter).parameters.false_positive_rate(filter.set_bits)),
        )
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
            .filter(move |filter| !has_expired(self.shards[filter.shard].expires, now))
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
