//! The result of every reader's first step: a shard whose header is checked and whose bits are not decoded yet.

use super::payload::{self, Words};
use super::rice;
use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::{Error, message};
use crate::params::MAX_SNAPSHOT_BITS;
use crate::shard::Shard;

/// The encoding of the bits in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// All bits, one after the other.
    Raw,
    /// The gaps between the set bits, Rice-coded; in the native format alone.
    Rice,
}

/// The encoding of one filter's bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload {
    Raw(Words),
    Rice,
}

impl Payload {
    /// # Errors
    /// [`Error::BadPayload`] or [`Error::OutOfMemory`].
    pub(super) fn read(self, bytes: &[u8], spec: FilterSpec) -> Result<BloomFilter, Error> {
        match self {
            Payload::Raw(words) => payload::read(bytes, words, spec),
            Payload::Rice => rice::read(bytes, spec),
        }
    }
}

/// A shard's bytes, and the filters in them.
#[derive(Debug)]
pub(crate) struct EncodedShard {
    bytes: Vec<u8>,
    filters: Vec<EncodedFilter>,
    /// The shard's number in its chain; 0 in a format without epochs.
    pub(crate) epoch: u32,
    /// Unix seconds; 0 for never.
    pub(crate) expires: u32,
}

/// The location of one filter's bits, and their parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodedFilter {
    pub(super) spec: FilterSpec,
    pub(super) payload: Payload,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The stored number of items, if the format has one.
    pub(crate) count: Option<u32>,
}

impl EncodedShard {
    /// A shard of one filter.
    pub(super) fn single(bytes: Vec<u8>, filter: EncodedFilter, epoch: u32, expires: u32) -> Self {
        EncodedShard {
            bytes,
            filters: vec![filter],
            epoch,
            expires,
        }
    }

    /// A shard of a format without epoch and expiry.
    pub(super) fn of_filters(bytes: Vec<u8>, filters: Vec<EncodedFilter>) -> Self {
        EncodedShard {
            bytes,
            filters,
            epoch: 0,
            expires: 0,
        }
    }

    /// Its filters: one, or several in a RedisBloom key that has grown.
    pub(crate) fn filters(&self) -> &[EncodedFilter] {
        &self.filters
    }

    /// The bits of all its filters.
    pub(crate) fn bits(&self) -> u64 {
        self.filters.iter().map(|filter| u64::from(filter.spec.bits())).sum()
    }

    /// The length before base64.
    pub(crate) fn byte_length(&self) -> usize {
        self.bytes.len()
    }

    /// # Errors
    /// [`Error::TooLarge`] if the shard alone exceeds the limit of a snapshot.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        if self.bits() > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge(message("a shard has over 2^26 bits")));
        }
        Ok(())
    }

    /// Reads the bits of one of its filters.
    ///
    /// # Errors
    /// [`Error::BadPayload`] or [`Error::OutOfMemory`].
    pub(crate) fn read_filter(&self, filter: &EncodedFilter) -> Result<BloomFilter, Error> {
        let bytes = self.bytes.get(filter.start..filter.end).unwrap_or_default();
        filter.payload.read(bytes, filter.spec)
    }

    /// One of its filters as a shard. Without a stored count, the count is the estimate.
    ///
    /// # Errors
    /// As [`EncodedShard::read_filter`].
    pub(crate) fn read_shard(&self, encoded: &EncodedFilter) -> Result<Shard, Error> {
        let filter = self.read_filter(encoded)?;
        let estimate = || filter.estimate_items().round_ties_even() as u32;
        Ok(Shard {
            count: encoded.count.unwrap_or_else(estimate),
            filter,
            epoch: self.epoch,
            expires: self.expires,
        })
    }
}

impl EncodedFilter {
    pub(crate) fn encoding(&self) -> Encoding {
        match self.payload {
            Payload::Raw(_) => Encoding::Raw,
            Payload::Rice => Encoding::Rice,
        }
    }
}
