//! The server's shards on this device: the snapshot in use.
//!
//! A shard is one filter, or several in formats whose filters grow by adding further ones: an id is in the shard if it
//! is in any of them. Each of these filters counts against the limits of a snapshot.
//!
//! An element of a snapshot may be the reference of a shard in use, which is then used again.

use std::sync::Arc;

use crate::bit_sliced::{BitSlicedFilters, Query};
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::{Error, message};
use crate::hash::HashedId;
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, union_rate};
use crate::shard::has_expired;
use crate::wire::{self, Format, Reference};

/// Most bytes of all shards as strings: larger snapshots are not stored.
const MAX_ENCODED_BYTES: usize = 512 * 1024;

/// One shard of the snapshot.
#[derive(Debug, Clone)]
struct ShardInUse {
    /// The reference of the shard.
    reference: Reference,
    expires: u32,
    /// The shard as a string; empty if the snapshot is too large to be stored.
    encoded: Arc<Vec<u8>>,
}

/// One filter of the snapshot.
#[derive(Debug, Clone, Copy)]
struct FilterInUse {
    /// The index of its group in [`ServerView::groups`], and its slot there.
    group: usize,
    slot: usize,
    /// The index of its shard in the snapshot.
    shard: usize,
    /// The number of set bits.
    set_bits: u32,
}

/// The filters that have not expired at one time, as a mask of slots for each group. Made once for a batch of ids.
#[derive(Debug)]
pub(crate) struct LiveShards(Vec<u64>);

/// The shards of the snapshot in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerView {
    format: Format,
    /// The bits, with filters of equal specs side by side.
    groups: Vec<BitSlicedFilters>,
    /// Newest first, as received.
    shards: Vec<ShardInUse>,
    /// The filters of the newest shard first.
    filters: Vec<FilterInUse>,
}

impl ServerView {
    /// Whether no snapshot with shards is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    /// The references of the shards, the newest first.
    pub(crate) fn references(&self) -> impl Iterator<Item = Reference> {
        self.shards.iter().map(|shard| shard.reference)
    }

    /// Replaces the shards in use, or changes nothing. Returns false if an element is the reference of a shard that is
    /// not in use.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::InShard`] for the first shard that is invalid, or too large for the memory.
    pub(crate) fn replace(&mut self, elements: &(impl IdList + ?Sized), format: Format) -> Result<bool, Error> {
        if elements.len() > MAX_SNAPSHOT_SHARDS {
            return Err(Error::TooLarge(message("a snapshot has at most 64 shards")));
        }
        let mut held = Vec::with_capacity(elements.len());
        for shard in 0..elements.len() {
            let element = elements.get(shard);
            let reference = Reference::from_element(element);
            let index = self.position(reference.unwrap_or_else(|| Reference::of(format, element)), format);
            if reference.is_some() && index.is_none() {
                return Ok(false);
            }
            held.push(index);
        }
        let is_in_use = |(shard, held): (usize, &Option<usize>)| *held == Some(shard);
        if held.len() != self.shards.len() || !held.iter().enumerate().all(is_in_use) {
            *self = self.with(elements, &held, format)?;
        }
        self.format = format;
        Ok(true)
    }

    /// The index of the shard in use with this reference.
    fn position(&self, reference: Reference, format: Format) -> Option<usize> {
        let mut held = self.shards.iter();
        held.position(|held| format == self.format && held.reference == reference)
    }

    /// Makes the view of these shards, each in use at the index in `held`, or new. The bits of several filters are
    /// interleaved, so the filters that stay in use are copied.
    fn with(
        &self,
        elements: &(impl IdList + ?Sized),
        held: &[Option<usize>],
        format: Format,
    ) -> Result<ServerView, Error> {
        let mut next = ServerView {
            format,
            ..ServerView::default()
        };
        let (mut filters, mut bits) = (Vec::new(), 0);
        for (shard, held) in held.iter().enumerate() {
            let before = filters.len();
            match held {
                Some(held) => {
                    next.shards.push(self.shards[*held].clone());
                    for filter in self.filters_of(*held) {
                        bits += u64::from(self.spec_of(filter).bits());
                        check_size(bits, filters.len() + 1)?;
                        filters.push(self.groups[filter.group].filter(filter.slot)?);
                    }
                }
                None => {
                    let element = elements.get(shard);
                    let decoded = wire::decode(format, element).map_err(|error| error.in_shard(shard))?;
                    bits += decoded.bits();
                    // Check the size before memory is allocated for the bits.
                    check_size(bits, filters.len() + decoded.filters().len())?;
                    for filter in decoded.filters() {
                        filters.push(decoded.read_filter(filter).map_err(|error| error.in_shard(shard))?);
                    }
                    next.shards.push(ShardInUse {
                        reference: Reference::of(format, element),
                        expires: decoded.expires,
                        encoded: Arc::new(element.to_vec()),
                    });
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
        if next.shards.iter().map(|shard| shard.encoded.len()).sum::<usize>() > MAX_ENCODED_BYTES {
            next.shards.iter_mut().for_each(|shard| shard.encoded = Arc::default());
        }
        Ok(next)
    }

    /// Adds a filter to the group of its spec.
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

    /// The shards as strings, newest first; `None` if they are too large to be stored.
    pub(crate) fn encoded_shards(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let fits = self.shards.iter().all(|shard| !shard.encoded.is_empty());
        fits.then(|| self.shards.iter().map(|shard| shard.encoded.as_slice()))
    }

    /// The filters that have not expired at this time of the server's clock, Unix seconds.
    pub(crate) fn live(&self, now: u64) -> LiveShards {
        let mut slots = vec![0; self.groups.len()];
        for filter in self.live_filters(now) {
            slots[filter.group] |= 1 << filter.slot;
        }
        LiveShards(slots)
    }

    /// Queries that test many ids against these shards.
    pub(crate) fn queries(&self, live: &LiveShards) -> impl Iterator<Item = Query<'_>> {
        let groups = self.groups.iter().zip(&live.0);
        let live = groups.filter(|&(_, &slots)| slots != 0);
        live.map(|(group, &slots)| group.query(slots))
    }

    /// Whether any of these shards contains the id.
    pub(crate) fn contains(&self, id: HashedId<'_>, live: &LiveShards) -> bool {
        let mut groups = self.groups.iter().zip(&live.0);
        groups.any(|(group, &slots)| group.matches(id) & slots != 0)
    }

    /// The index in the snapshot of the newest live shard that contains the id.
    pub(crate) fn newest_with(&self, id: HashedId<'_>, now: u64) -> Option<usize> {
        let contains = |filter: &&FilterInUse| self.groups[filter.group].matches(id) >> filter.slot & 1 == 1;
        self.live_filters(now).find(contains).map(|found| found.shard)
    }

    /// The expected rate of false positives of the live shards together.
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

/// # Errors
/// [`Error::TooLarge`].
fn check_size(bits: u64, filters: usize) -> Result<(), Error> {
    if bits > MAX_SNAPSHOT_BITS {
        return Err(Error::TooLarge(message(
            "the snapshot's shards together have over 2^26 bits",
        )));
    }
    if filters > MAX_SNAPSHOT_SHARDS {
        return Err(Error::TooLarge(message(
            "the snapshot's shards together have over 64 filters",
        )));
    }
    Ok(())
}
