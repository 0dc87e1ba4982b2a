//! Plans chains: computes a chain's options, bytes and false positive rates from a rate of impressions.
//!
//! The policy is this project's, the formulas of sizes and rates are those of [`Parameters`] and [`crate::wire::native`]:
//!
//! - **The chain has the whole window.** The ttl is the window, and `(shards − 1) · capacity ≥ per_day · (window_days +
//!   √window_days)`, so that no item of the window is dropped by count. The root is a margin for busier days: if days
//!   are independent and deviate by as much as their mean, it is one standard deviation of the window's sum, in days.
//!   For a user who exceeds even that the oldest items are dropped first.
//! - **Each shard has the same share of the rate**: `1 − (1 − rate)^(1 / shards)`.
//! - **A refresh moves the fewest bytes**, over all numbers of shards from 2 to 32. With few shards the newest one is
//!   large, and each refresh sends it; many shards have many references, 16 bytes down and 13 up for each. The first
//!   page grows with their number, too, but slowly, and a device receives it once.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::chain::{ChainOptions, MAX_SHARDS_WITH_TTL, MAX_TTL_SECONDS};
use crate::error::Error;
use crate::params::Parameters;
use crate::wire::{Reference, expected_base64_len};

const SECONDS_PER_DAY: f64 = 86_400.0;
/// The shortest ttl, in seconds: a slice of 32 shards is then over a second.
const MIN_TTL_SECONDS: f64 = 60.0;
/// The number of shards of a chain. With one shard all items would be dropped at once.
const SHARDS: RangeInclusive<usize> = 2..=MAX_SHARDS_WITH_TTL;
/// Significant digits of a shard's rate.
const RATE_DIGITS: i32 = 3;
/// The newest shard is between empty and full: its size is averaged over this many fills.
const FILLS: u32 = 16;
/// A snapshot without shards, as JSON.
const EMPTY_SNAPSHOT: &str = r#"{"version":3700252983296123,"shards":[],"now":1764000000}"#;
/// In JSON, the quotes of an element and the comma before the next one.
const QUOTES_AND_COMMA: f64 = 3.0;

/// The impressions of a feed's user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanOptions {
    /// The average number of impressions of one user a day.
    pub per_day: f64,
    /// The number of days for which an item must not be shown again.
    pub window_days: f64,
    /// The share of fresh items that all shards together stop wrongly when each is full.
    pub false_positive_rate: f64,
    /// Impressions between two refreshes.
    pub per_refresh: f64,
}

impl PlanOptions {
    /// Options with 10 impressions between two refreshes.
    pub fn new(per_day: f64, window_days: f64, false_positive_rate: f64) -> Self {
        PlanOptions {
            per_day,
            window_days,
            false_positive_rate,
            per_refresh: 10.0,
        }
    }

    /// Checks the options. They may still exceed any chain.
    fn check(&self) -> Result<(), Error> {
        let is_positive = |number: f64| number > 0.0 && number.is_finite();
        if !is_positive(self.per_day) || !is_positive(self.per_refresh) {
            return Err(Error::BadOption(
                "the impressions a day and between two refreshes must be numbers over 0",
            ));
        }
        if !(MIN_TTL_SECONDS..=f64::from(MAX_TTL_SECONDS)).contains(&self.ttl_seconds()) {
            return Err(Error::BadOption("the window must be a minute to 10^9 seconds, in days"));
        }
        if !(self.false_positive_rate > 0.0 && self.false_positive_rate < 1.0) {
            return Err(Error::BadOption(
                "the false positive rate must be between 0 and 1, neither of them included",
            ));
        }
        Ok(())
    }

    fn ttl_seconds(&self) -> f64 {
        (self.window_days * SECONDS_PER_DAY).round()
    }

    /// The items of a window, with a margin for busier days.
    fn window_items(&self) -> f64 {
        self.per_day * (self.window_days + self.window_days.sqrt())
    }

    /// Each shard's rate, rounded down to a few digits, so that it can be read and copied.
    fn shard_rate(&self, shards: usize) -> f64 {
        let rate = -((-self.false_positive_rate).ln_1p() / shards as f64).exp_m1();
        let scale = 10f64.powi(RATE_DIGITS - 1 - rate.log10().floor() as i32);
        (rate * scale).floor() / scale
    }

    /// The error if no number of shards is possible.
    fn refusal(&self) -> Error {
        match Parameters::for_capacity(1, self.shard_rate(*SHARDS.start())) {
            Err(_) => Error::BadParameters("this false positive rate needs over 32 hashes a shard: raise it"),
            Ok(_) => Error::TooLarge(
                "the window's impressions do not fit into 2^26 bits: plan with fewer a day, fewer days or a higher \
                 false positive rate",
            ),
        }
    }
}

/// A chain and its costs for a user whose shards are all full, as those of few users are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The chain's options; the false positive rate is that of each full shard.
    pub chain: ChainOptions,
    /// m and k of each shard.
    pub parameters: Parameters,
    /// Bytes of the shards in a store.
    pub bytes_stored: u64,
    /// Bytes of the snapshot as JSON for a device without shards.
    pub bytes_first_page: u64,
    /// Bytes of the snapshot as JSON for a device that has the shards of its last refresh, on average: the newest one
    /// has changed, and others may have been sealed since.
    pub bytes_refresh: u64,
    /// The share of fresh items that are stopped wrongly after a user's first day.
    pub rate_when_young: f64,
    /// The share of fresh items that are stopped wrongly when all shards are full.
    pub rate_when_full: f64,
}

/// A plan as JSON: of the command `plan`, and of the service's route `/v1/plan`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Plan))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanJson {
    /// Items in each shard: `--capacity`.
    pub capacity: u32,
    /// Full shards that are stored: `--shards`.
    pub shards: usize,
    /// The rate of each full shard: `--false-positive-rate`.
    pub false_positive_rate: f64,
    /// `--ttl-seconds`.
    pub ttl_seconds: u32,
    /// Bits of each shard.
    pub bits: u32,
    /// Hashes of each shard.
    pub hashes: u32,
    /// Bytes stored for a user whose shards are all full.
    pub bytes_stored: u64,
    /// Bytes of the snapshot for a device without shards.
    pub bytes_first_page: u64,
    /// Bytes of the snapshot for a device that has the shards of its last refresh, on average.
    pub bytes_refresh: u64,
    /// The share of fresh items that are stopped wrongly after a user's first day.
    pub rate_when_young: f64,
    /// The share of fresh items that are stopped wrongly when all shards are full.
    pub rate_when_full: f64,
}

impl From<Plan> for PlanJson {
    fn from(plan: Plan) -> Self {
        PlanJson {
            capacity: plan.chain.capacity,
            shards: plan.chain.shards,
            false_positive_rate: plan.chain.false_positive_rate,
            ttl_seconds: plan.chain.ttl_seconds,
            bits: plan.parameters.bits(),
            hashes: plan.parameters.hashes(),
            bytes_stored: plan.bytes_stored,
            bytes_first_page: plan.bytes_first_page,
            bytes_refresh: plan.bytes_refresh,
            rate_when_young: plan.rate_when_young,
            rate_when_full: plan.rate_when_full,
        }
    }
}

/// Plans a chain and its costs for a rate of impressions.
///
/// ```
/// use seenguard::{PlanOptions, ShardChain, plan};
/// let plan = plan(&PlanOptions::new(200.0, 30.0, 0.005))?;
/// assert_eq!((plan.chain.shards, plan.chain.capacity), (24, 309));
/// assert!(plan.bytes_refresh < 1300);
/// let chain = ShardChain::new(plan.chain)?;
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadOption`] for a number out of range; [`Error::BadParameters`] for a rate that no shard can have;
/// [`Error::TooLarge`] for more than fits into a chain. Nothing is clamped.
pub fn plan(options: &PlanOptions) -> Result<Plan, Error> {
    options.check()?;
    // Skip numbers of shards that a chain cannot have.
    let plans = SHARDS.filter_map(|shards| Plan::with_shards(options, shards).ok());
    plans.min_by_key(Plan::bytes_moved).ok_or_else(|| options.refusal())
}

impl Plan {
    fn with_shards(options: &PlanOptions, shards: usize) -> Result<Self, Error> {
        let chain = ChainOptions {
            capacity: (options.window_items() / (shards - 1) as f64).ceil() as u32,
            shards,
            false_positive_rate: options.shard_rate(shards),
            ttl_seconds: options.ttl_seconds() as u32,
            ..ChainOptions::default()
        };
        let parameters = chain.check()?.parameters;
        let (shards, capacity) = (shards as f64, f64::from(chain.capacity));
        let reference = Reference::ELEMENT_LENGTH as f64;
        let full = expected_base64_len(parameters, capacity);
        let snapshot = EMPTY_SNAPSHOT.len() as f64 - 1.0 + shards * QUOTES_AND_COMMA;
        // The shards that have changed since the last refresh: those that have become full, and the newest one.
        let filled = (options.per_refresh / capacity).min(shards - 1.0);
        let growing = 1.0 - 1.0 / capacity;
        let changed = filled * full + growing * growing_base64_len(parameters, capacity);
        Ok(Plan {
            chain,
            parameters,
            bytes_stored: (shards * full) as u64,
            bytes_first_page: (snapshot + shards * full) as u64,
            bytes_refresh: (snapshot + changed + (shards - filled - growing) * reference) as u64,
            rate_when_young: rate_holding(&chain, parameters, options.per_day),
            rate_when_full: rate_holding(&chain, parameters, shards * capacity),
        })
    }

    /// Bytes of a refresh in both directions: the request names the device's shards.
    fn bytes_moved(&self) -> u64 {
        self.bytes_refresh + Reference::joined_len(self.chain.shards) as u64
    }
}

/// The mean length of the newest shard as base64 while it grows from empty to full.
fn growing_base64_len(parameters: Parameters, capacity: f64) -> f64 {
    let fills = (0..FILLS).map(|step| (f64::from(step) + 0.5) / f64::from(FILLS));
    let lengths = fills.map(|fill| expected_base64_len(parameters, fill * capacity));
    lengths.sum::<f64>() / f64::from(FILLS)
}

/// The false positive rate of a chain with this many items, in full shards except the newest one.
fn rate_holding(chain: &ChainOptions, parameters: Parameters, items: f64) -> f64 {
    let capacity = f64::from(chain.capacity);
    let full = (items / capacity).floor().min(chain.shards as f64);
    let newest = (items - full * capacity).min(capacity);
    // In a product of 1 − rate the smallest rates would be lost.
    let logarithm = full * (-parameters.expected_rate(capacity)).ln_1p() + (-parameters.expected_rate(newest)).ln_1p();
    -logarithm.exp_m1()
}
