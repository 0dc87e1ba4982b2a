//! Describes a shard of any format for people.
//!
//! Representing n items at a false positive rate of ε takes at least `n · log2(1 / ε)` bits (Carter, Floyd, Gill,
//! Markowsky and Wegman 1978). A Bloom filter at its best, half full, takes 1.44 times as many. A shard that is far
//! above that was made for many more items than it has.

use crate::error::Error;
use crate::params::union_rate;
use crate::shard::Shard;
use crate::time::Time;
use crate::wire::{self, Encoding, Format};

/// The content of one shard.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// The length before base64, without the count of a go-bloomfilter record, and without the header of RedisBloom's
    /// chunks.
    pub bytes: usize,
    /// One filter, or those of a RedisBloom key that has grown, oldest first.
    pub filters: Vec<InspectedFilter>,
}

/// One filter of a shard.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InspectedFilter {
    /// The bits and the header. Its count is the estimate if none is stored.
    pub shard: Shard,
    /// The stored number of items; `None` in formats without a count.
    pub count: Option<u32>,
    /// The encoding of the bits: [`Encoding::Raw`] in all formats but the native one.
    pub encoding: Encoding,
}

/// Reads a shard of any format, and describes it.
///
/// ```
/// use seenguard::{inspect, BloomFilter, Format, Parameters, Shard, Time};
/// let mut shard = Shard::new(BloomFilter::new(Parameters::for_capacity(1000, 0.001)?, 0), 1_764_000_000, 0);
/// (0..500).for_each(|number| drop(shard.insert(format!("article-{number}"))));
///
/// let inspected = inspect(Format::Native, &shard.to_base64()?)?;
/// assert_eq!(inspected.filters[0].count, Some(500));
/// assert!((inspected.estimated_items() - 500.0).abs() < 10.0);
/// assert!(inspected.contains("article-17", Time::from_unix_seconds(1_764_000_000)));
/// let size_against_limit = 8.0 * inspected.bytes as f64 / inspected.information_limit_bits();
/// assert!((1.3..1.6).contains(&size_against_limit));
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// As [`wire::read`].
pub fn inspect(format: Format, text: &str) -> Result<Inspection, Error> {
    let encoded = wire::decode(format, text.as_bytes())?;
    encoded.check_size()?;
    let inspect_filter = |filter| {
        Ok(InspectedFilter {
            shard: encoded.read_shard(filter)?,
            count: filter.count,
            encoding: filter.encoding(),
        })
    };
    let filters: Result<Vec<InspectedFilter>, Error> = encoded.filters().iter().map(inspect_filter).collect();
    Ok(Inspection {
        bytes: encoded.byte_length(),
        filters: filters?,
    })
}

impl Inspection {
    /// The estimated number of distinct items in it.
    pub fn estimated_items(&self) -> f64 {
        self.filters.iter().map(|each| each.shard.filter.estimate_items()).sum()
    }

    /// The current false positive rate.
    pub fn false_positive_rate(&self) -> f64 {
        union_rate(self.filters.iter().map(|each| each.shard.filter.false_positive_rate()))
    }

    /// The least number of bits for the estimated items at this false positive rate: `n · log2(1 / ε)`, summed over the
    /// filters.
    pub fn information_limit_bits(&self) -> f64 {
        self.filters.iter().map(InspectedFilter::information_limit_bits).sum()
    }

    /// Whether the shard contains an id. After its expiry it contains none.
    pub fn contains(&self, id: impl AsRef<[u8]>, now: Time) -> bool {
        self.filters
            .iter()
            .any(|each| !each.shard.is_expired(now) && each.shard.filter.contains(id.as_ref()))
    }
}

impl InspectedFilter {
    /// `n · log2(1 / ε)`; see [`Inspection::information_limit_bits`].
    pub fn information_limit_bits(&self) -> f64 {
        let filter = &self.shard.filter;
        let rate = filter.false_positive_rate();
        // An empty filter has no false positives, and needs no bits.
        if rate > 0.0 {
            filter.estimate_items() * -rate.log2()
        } else {
            0.0
        }
    }
}
