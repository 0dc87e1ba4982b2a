//! The options of a chain.

use crate::bloom::FilterSpec;
use crate::error::Error;
use crate::params::{MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS};
use crate::wire::Format;

/// Most shards of a chain whose shards expire. Shards sealed by time are additional, and a snapshot has at most 64.
pub(crate) const MAX_SHARDS_WITH_TTL: usize = MAX_SNAPSHOT_SHARDS / 2;
/// Longest ttl. Even with a slice of the same length, the expiry of a shard that is begun today fits into the format's
/// 32 bits of seconds.
pub(crate) const MAX_TTL_SECONDS: u32 = 1_000_000_000;

/// The parameters of a chain. The fields have the defaults of [`ChainOptions::default`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainOptions {
    /// Items in each shard; 1000.
    pub capacity: u32,
    /// The number of full shards that are stored, including the newest; 5.
    pub shards: usize,
    /// ε of each shard when it is full; 0.001.
    pub false_positive_rate: f64,
    /// Seed of XXH64, the same in a whole deployment; 0.
    pub seed: u64,
    /// Seconds for which no item is dropped, unless `(shards − 1) · capacity` others were inserted since; at most 10^9.
    /// 0: items are dropped by capacity alone.
    pub ttl_seconds: u32,
    /// The format in which shards are stored and sent; native. `Format::GoBloomfilter` and `Format::Guava` continue the
    /// shards of such a server: without a seed, and without expiry. Without `bits`, the capacity and the rate give m;
    /// the other formats can only be read.
    pub format: Format,
}

impl Default for ChainOptions {
    fn default() -> Self {
        ChainOptions {
            capacity: 1000,
            shards: 5,
            false_positive_rate: 0.001,
            seed: FilterSpec::DEFAULT.seed,
            ttl_seconds: 0,
            format: Format::Native,
        }
    }
}

impl ChainOptions {
    /// Recommended for a feed that shows 150 items a day and none of them again for 30 days, and stops at most 0.5% of
    /// fresh ones, as computed by [`plan`](crate::plan()). The defaults of stores.
    pub const RECOMMENDED: ChainOptions = ChainOptions {
        capacity: 281,
        shards: 20,
        false_positive_rate: 0.000_25,
        seed: FilterSpec::DEFAULT.seed,
        ttl_seconds: 30 * 86_400,
        format: Format::Native,
    };

    /// [`ChainOptions::RECOMMENDED`] in another format. Only the native format has an expiry.
    pub fn recommended(format: Format) -> Self {
        let ttl_seconds = if format.is_native() {
            Self::RECOMMENDED.ttl_seconds
        } else {
            0
        };
        ChainOptions {
            ttl_seconds,
            format,
            ..Self::RECOMMENDED
        }
    }

    /// Checks the options. Returns the spec of new shards.
    ///
    /// # Errors
    /// As `ShardChain::new`.
    pub(crate) fn check(&self) -> Result<FilterSpec, Error> {
        let has_ttl = self.ttl_seconds > 0;
        if !self.format.is_native() && (has_ttl || self.seed != 0) {
            return Err(Error::BadOption(
                "ttlSeconds and seed are for the native format: others store neither an expiry nor a seed",
            ));
        }
        let spec = self
            .format
            .filter_spec(self.capacity, self.false_positive_rate, self.seed)?;
        if has_ttl && !(1..=MAX_SHARDS_WITH_TTL).contains(&self.shards) {
            return Err(Error::BadOption("the number of shards must be 1 to 32 with a ttl"));
        }
        if !(1..=MAX_SNAPSHOT_SHARDS).contains(&self.shards) {
            return Err(Error::BadOption("the number of shards must be 1 to 64"));
        }
        if self.ttl_seconds > MAX_TTL_SECONDS {
            return Err(Error::BadOption(
                "the ttl must be at most 10^9 seconds; 0 is for items that never expire",
            ));
        }
        let most_shards = self.shards as u64 * if has_ttl { 2 } else { 1 };
        if most_shards * u64::from(spec.bits()) > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge(
                "the chain's shards could together have over 2^26 bits, which no client accepts",
            ));
        }
        Ok(spec)
    }
}
