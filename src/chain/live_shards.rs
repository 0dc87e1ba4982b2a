//! The shards that have not expired at one time, prepared for queries of many ids.

use crate::bit_sliced::BitSlicedFilters;
use crate::error::Error;
use crate::hash::HashedId;
use crate::shard::Shard;

/// From this many ids on the filters are bit-sliced, which takes as long as this many single queries.
const FEWEST_TO_SLICE: usize = 400;

/// The live shards of a chain. A shard's index counts from 0 for the newest.
pub(super) enum LiveShards<'a> {
    /// Queried one after the other.
    Each(Vec<&'a Shard>),
    /// Bit-sliced: shards of equal specs are queried at once.
    Sliced(Vec<SlicedShards>),
}

/// Shards of one spec side by side.
pub(super) struct SlicedShards {
    filters: BitSlicedFilters,
    /// The index of each slot's shard, in ascending order.
    indices: Vec<usize>,
}

impl<'a> LiveShards<'a> {
    /// These shards, newest first, for queries of `ids` ids.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn new(shards: impl Iterator<Item = &'a Shard>, ids: usize) -> Result<Self, Error> {
        let shards: Vec<&Shard> = shards.collect();
        Ok(if ids < FEWEST_TO_SLICE {
            LiveShards::Each(shards)
        } else {
            LiveShards::Sliced(slice(&shards)?)
        })
    }

    /// The index of the newest shard that contains an id.
    pub(super) fn newest_with(&self, id: HashedId<'_>) -> Option<usize> {
        match self {
            LiveShards::Each(shards) => shards.iter().position(|shard| shard.filter.contains_hashed(id)),
            LiveShards::Sliced(groups) => groups.iter().filter_map(|group| group.newest_with(id)).min(),
        }
    }
}

impl SlicedShards {
    #[inline]
    fn newest_with(&self, id: HashedId<'_>) -> Option<usize> {
        let slots = self.filters.query(u64::MAX).matches(id.unseeded(), || id.bytes());
        self.indices.get(slots.trailing_zeros() as usize).copied()
    }
}

/// Groups shards by their specs, in their order.
fn slice(shards: &[&Shard]) -> Result<Vec<SlicedShards>, Error> {
    let mut groups: Vec<SlicedShards> = Vec::new();
    for (index, shard) in shards.iter().enumerate() {
        let spec = shard.filter.spec();
        match groups.iter_mut().find(|group| group.filters.spec() == spec) {
            Some(group) => group.indices.push(index),
            None => groups.push(SlicedShards {
                filters: BitSlicedFilters::new(spec),
                indices: vec![index],
            }),
        }
    }
    for SlicedShards { filters, indices } in &mut groups {
        filters.fill(indices.iter().map(|&index| &shards[index].filter))?;
    }
    Ok(groups)
}
