//! The server's shards as this device holds them: the snapshot in use.
//!
//! A shard is one filter, or, where the server's format lets a filter grow by further ones, several: an id is in the
//! shard if it is in any of them. Each of these filters counts against the limits of a snapshot.
//!
//! An element of a snapshot may be the reference of a shard in use, which then is used on.

use std::sync::Arc;

use crate::bit_sliced::{BitSlicedFilters, Query};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;
use crate::hash::{HashedId, hash_id};
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, EncodedShard, Format, Reference};

/// Longest texts of shards, together (bytes), that are kept for the storage.
const MAX_TEXT_BYTES: usize = 512 * 1024;

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

/// One shard of the snapshot.
#[derive(Debug, Clone)]
struct ShardInUse {
    /// Of its text.
    fingerprint: Fingerprint,
    epoch: u32,
    expires: u32,
    /// Empty where those of all shards are too long to be kept.
    text: Arc<[u8]>,
}

/// One filter of the snapshot.
#[derive(Debug, Clone, Copy)]
struct FilterInUse {
    /// The index of its group in [`ServerView::groups`], and its slot there.
    group: usize,
    slot: usize,
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
        text: Arc<[u8]>,
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
    shards: Vec<ShardInUse>,
    /// Those of the newest shard first.
    filters: Vec<FilterInUse>,
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
        let texts: usize = self.shards.iter().map(|shard| shard.text.len()).sum();
        groups + texts + self.shards.len() * size_of::<ShardInUse>() + self.filters.len() * size_of::<FilterInUse>()
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
        let held = incoming.iter().enumerate();
        let is_the_same = incoming.len() == self.shards.len()
            && format == self.format
            && held
                .into_iter()
                .all(|(shard, incoming)| matches!(incoming, IncomingShard::Held(held) if *held == shard));
        if !is_the_same {
            *self = self.with(&incoming, format)?;
        }
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
                    IncomingShard::New {
                        fingerprint,
                        encoded,
                        text: copy(text)?,
                    }
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

    /// The view of these shards. Bits lie side by side, so the filters that are held on are copied out first.
    fn with(&self, incoming: &[IncomingShard], format: Format) -> Result<ServerView, Error> {
        let mut next = ServerView {
            format,
            ..ServerView::default()
        };
        let mut filters = Vec::new();
        for (shard, incoming) in incoming.iter().enumerate() {
            let before = filters.len();
            match incoming {
                IncomingShard::Held(held) => {
                    next.shards.push(self.shards[*held].clone());
                    for filter in self.filters_of(*held) {
                        filters.push(self.groups[filter.group].filter(filter.slot)?);
                    }
                }
                IncomingShard::New {
                    fingerprint,
                    encoded,
                    text,
                } => {
                    next.shards.push(ShardInUse {
                        fingerprint: *fingerprint,
                        epoch: encoded.epoch,
                        expires: encoded.expires,
                        text: Arc::clone(text),
                    });
                    for filter in encoded.filters() {
                        filters.push(encoded.read_filter(filter).map_err(|error| error.in_shard(shard))?);
                    }
                }
            }
            for filter in &filters[before..] {
                next.add(filter, shard);
            }
        }
        for group in &mut next.groups {
            let spec = group.spec();
            group.fill(filters.iter().filter(|filter| filter.spec() == spec))?;
        }
        if next.shards.iter().map(|shard| shard.text.len()).sum::<usize>() > MAX_TEXT_BYTES {
            next.shards.iter_mut().for_each(|shard| shard.text = Arc::default());
        }
        Ok(next)
    }

    /// Gives a filter a slot in the group of its spec.
    fn add(&mut self, filter: &BloomFilter, shard: usize) {
        let found = self.groups.iter().position(|group| group.spec() == filter.spec());
        let group = found.unwrap_or(self.groups.len());
        if found.is_none() {
            self.groups.push(BitSlicedFilters::new(filter.spec()));
        }
        self.filters.push(FilterInUse {
            group,
            slot: self.filters.iter().filter(|other| other.group == group).count(),
            shard,
            set_bits: filter.set_bits(),
        });
    }

    /// The shards' texts, the newest first; nothing if they are too long to be stored.
    pub(crate) fn texts(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let is_kept = self.shards.iter().all(|shard| !shard.text.is_empty());
        is_kept.then(|| self.shards.iter().map(|shard| &*shard.text))
    }

    /// What answers at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut slots = vec![0; self.groups.len()];
        for filter in self.live_filters(now) {
            slots[filter.group] |= 1 << filter.slot;
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
        let contains = |filter: &&FilterInUse| self.groups[filter.group].matches(id) >> filter.slot & 1 == 1;
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

    fn spec_of(&self, filter: &FilterInUse) -> FilterSpec {
        self.groups[filter.group].spec()
    }

    fn filters_of(&self, shard: usize) -> impl Iterator<Item = &FilterInUse> {
        self.filters.iter().filter(move |filter| filter.shard == shard)
    }

    fn live_filters(&self, now: u64) -> impl Iterator<Item = &FilterInUse> {
        self.filters
            .iter()
            .filter(move |filter| !has_expired(self.shards[filter.shard].expires, now))
    }
}

fn copy(text: &[u8]) -> Result<Arc<[u8]>, Error> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(text.len())?;
    copy.extend_from_slice(text);
    Ok(copy.into())
}
