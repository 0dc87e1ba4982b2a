//! Sizes and rates: how many bits a filter needs, and its false positive rate by its fill.
//!
//! A Bloom filter of `m` bits sets `k` of them for each item. For an item that is not in it, it answers
//! "contained" when all of that item's `k` bits happen to be set, so the false positive rate follows from the share of
//! bits that are set, the fill.

use std::f64::consts::LN_2;

use crate::error::{Error, message};

/// Most bits that one native shard has: 2^24.
pub const MAX_BITS: u32 = 1 << 24;
/// Most hashes that one native shard has.
pub const MAX_HASHES: u32 = 32;
/// Most bits of a snapshot's shards together: 2^26.
pub const MAX_SNAPSHOT_BITS: u64 = 1 << 26;
/// Most shards of a snapshot.
pub const MAX_SNAPSHOT_SHARDS: usize = 64;
/// Most unseen ids that a snapshot may list.
pub const MAX_SNAPSHOT_UNSEEN: usize = 1000;

/// The size of a filter: `m` bits, `k` hashes an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    bits: u32,
    hashes: u32,
}

impl Parameters {
    /// For 1,000 items at ε = 0.001: the parameters of a chain with the default options.
    pub(crate) const DEFAULT: Parameters = Parameters::unchecked(14_378, 10);

    /// Parameters that are known to be in range.
    pub(crate) const fn unchecked(bits: u32, hashes: u32) -> Self {
        Parameters { bits, hashes }
    }

    /// A filter of `bits` (m, 1 to 2^24) bits with `hashes` (k, 1 to 32) hashes an item.
    ///
    /// # Errors
    /// [`Error::BadParameters`] if either is out of range.
    pub fn new(bits: u32, hashes: u32) -> Result<Self, Error> {
        if !(1..=MAX_HASHES).contains(&hashes) {
            return Err(Error::BadParameters(message(
                "the number of hashes (k) must be 1 to 32",
            )));
        }
        if !(1..=MAX_BITS).contains(&bits) {
            return Err(Error::BadParameters(message(
                "the number of bits (m) must be 1 to 2^24",
            )));
        }
        Ok(Parameters::unchecked(bits, hashes))
    }

    /// The smallest filter for `capacity` (n) items at a false positive rate of `rate` (ε): `m = ceil(−n · ln ε / (ln
    /// 2)²)`, `k = max(1, round(m / n · ln 2))` (Bloom 1970; Broder and Mitzenmacher 2004).
    ///
    /// ```
    /// let parameters = seenguard::Parameters::for_capacity(1000, 0.001)?;
    /// assert_eq!((parameters.bits(), parameters.hashes()), (14_378, 10));
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a capacity of 0 or a rate that is not between 0 and 1; [`Error::BadParameters`] if the
    /// filter would have over 2^24 bits or 32 hashes. Nothing is clamped.
    pub fn for_capacity(capacity: u32, rate: f64) -> Result<Self, Error> {
        let bits = Parameters::ideal_bits(capacity, rate)?.ceil();
        if bits > f64::from(MAX_BITS) {
            return Err(Error::BadParameters(message(
                "this capacity and false positive rate need over 2^24 bits a shard",
            )));
        }
        let hashes = (bits / f64::from(capacity) * LN_2).round_ties_even().max(1.0);
        if hashes > f64::from(MAX_HASHES) {
            return Err(Error::BadParameters(message(
                "this false positive rate needs over 32 hashes",
            )));
        }
        Parameters::new(bits as u32, hashes as u32)
    }

    /// `−n · ln ε / (ln 2)²`, not yet rounded.
    pub(crate) fn ideal_bits(capacity: u32, rate: f64) -> Result<f64, Error> {
        if capacity == 0 {
            return Err(Error::BadOption(message("the capacity must be at least 1")));
        }
        if !(rate > 0.0 && rate < 1.0) {
            return Err(Error::BadOption(message(
                "the false positive rate must be between 0 and 1, neither of them included",
            )));
        }
        Ok(-f64::from(capacity) * rate.ln() / (LN_2 * LN_2))
    }

    /// m, the number of bits.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// k, the number of hashes an item.
    pub fn hashes(self) -> u32 {
        self.hashes
    }

    /// The number of items at which about half of the bits are set, for which `k` hashes are the best number: `m / k ·
    /// ln 2`, at least 1.
    pub fn capacity(self) -> u32 {
        (f64::from(self.bits) / f64::from(self.hashes) * LN_2)
            .round_ties_even()
            .max(1.0) as u32
    }

    /// The share of bits that are set, 0 to 1.
    pub fn fill(self, set_bits: u32) -> f64 {
        f64::from(set_bits) / f64::from(self.bits)
    }

    /// The expected number of bits that `items` (n) distinct items set: `m · (1 − (1 − 1 / m)^(k · n))` (Bloom 1970).
    pub(crate) fn expected_set_bits(self, items: f64) -> f64 {
        let m = f64::from(self.bits);
        m * -(f64::from(self.hashes) * items * (-1.0 / m).ln_1p()).exp_m1()
    }

    /// The expected false positive rate of a filter with `items` distinct items.
    pub(crate) fn expected_rate(self, items: f64) -> f64 {
        (self.expected_set_bits(items) / f64::from(self.bits)).powi(self.hashes as i32)
    }

    /// The expected false positive rate of a filter with `set_bits` bits set: `fill^k`.
    pub fn false_positive_rate(self, set_bits: u32) -> f64 {
        self.fill(set_bits).powi(self.hashes as i32)
    }

    /// The estimated number of distinct items in a filter with `set_bits` bits set: `−m / k · ln(1 − X / m)` (Swamidass
    /// and Baldi 2007). A full filter counts as if half a bit were free, since the formula is undefined there.
    pub fn estimate_items(self, set_bits: u32) -> f64 {
        let m = f64::from(self.bits);
        let free = f64::from(self.bits.saturating_sub(set_bits)).max(0.5);
        -m / f64::from(self.hashes) * (free / m).ln()
    }
}

/// The false positive rate of several filters together: `1 − ∏(1 − rate)`.
pub fn union_rate(rates: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - rates.into_iter().map(|rate| 1.0 - rate).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_for_1000_items_at_a_rate_of_0_001() {
        assert_eq!(Parameters::for_capacity(1000, 0.001), Ok(Parameters::DEFAULT));
    }

    #[test]
    fn a_capacity_that_needs_over_2_24_bits_is_refused() {
        let for_bits = |bits: f64| {
            let rate = (-bits / 1e6 * LN_2 * LN_2).exp();
            Parameters::for_capacity(1_000_000, rate).map(Parameters::bits)
        };
        assert_eq!(for_bits(f64::from(MAX_BITS) - 0.5), Ok(MAX_BITS));
        assert!(matches!(
            for_bits(f64::from(MAX_BITS) + 0.5),
            Err(Error::BadParameters(_))
        ));
    }
}
