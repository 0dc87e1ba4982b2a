//! The costs and the error rate of each placement, by formula.
//!
//! A Bloom filter for n items at the rate ε has `m = −n · ln ε / (ln 2)²` bits and `k = m / n · ln 2` hashes; when it
//! is full its rate is `(1 − e^(−k · n / m))^k` (Bloom 1970; Broder and Mitzenmacher 2004, Network Applications of Bloom
//! Filters). How many users have seen an item is in `popularity.rs`; of v expected, the number is Poisson distributed.

use std::f64::consts::LN_2;

use super::popularity::Popularity;
use super::{Estimate, FALSE_POSITIVE_RATE, Placement};

/// How many there are of what.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub users: u64,
    pub items: u64,
    /// Different items that each user has seen.
    pub impressions: u64,
}

/// Users whose numbers share a container of a Roaring bitmap: 2^16.
const CONTAINER_USERS: f64 = 65_536.0;
/// Up to here a container lists its users in 2 bytes each; beyond, it is a bitmap of 2^16 bits (the format's
/// specification, <https://github.com/RoaringBitmap/RoaringFormatSpec>).
const MAX_LISTED: f64 = 4_096.0;
const CONTAINER_BITMAP_BYTES: f64 = 8_192.0;
/// Of a Roaring bitmap, and of each container: its key, count and offset.
const ROARING_HEADER_BYTES: f64 = 8.0;

/// The estimate of a placement.
pub fn estimate(placement: Placement, scenario: Scenario) -> Estimate {
    let (users, impressions) = (scenario.users as f64, scenario.impressions as f64);
    let viewers = Popularity::new(scenario.items, scenario.impressions);
    let of_items = |bytes: &dyn Fn(f64) -> f64| viewers.sum(|_, chance| bytes(users * chance));
    let bytes = match placement {
        Placement::UserFilters => users * filter_bytes(impressions).ceil(),
        Placement::PairFilter => filter_bytes(users * impressions),
        // The last byte of each filter is half empty.
        Placement::ItemFilters => of_items(&|viewers| filter_bytes(viewers) + 0.5 * some(viewers)),
        Placement::ItemBitmaps => of_items(&|viewers| bitmap_bytes(users, viewers)),
        Placement::CompressedBitmaps => of_items(&|viewers| roaring_bytes(users, viewers)),
    };
    let is_exact = matches!(placement, Placement::ItemBitmaps | Placement::CompressedBitmaps);
    let false_positives = if is_exact { 0.0 } else { full_rate() };
    Estimate { bytes, false_positives }
}

fn bits_an_item() -> f64 {
    -FALSE_POSITIVE_RATE.ln() / (LN_2 * LN_2)
}

fn filter_bytes(items: f64) -> f64 {
    bits_an_item() * items / 8.0
}

/// With a whole number of hashes.
fn full_rate() -> f64 {
    let hashes = (bits_an_item() * LN_2).round();
    (1.0 - (-hashes / bits_an_item()).exp()).powf(hashes)
}

/// The chance that there is any, of so many expected.
fn some(expected: f64) -> f64 {
    -(-expected).exp_m1()
}

/// A plain bitmap reaches to the highest user's number. Of V numbers out of U, the highest is `U · V / (V + 1)` in
/// expectation, and for V Poisson distributed with the mean v, `V / (V + 1)` is `1 − (1 − e^−v) / v`.
fn bitmap_bytes(users: f64, viewers: f64) -> f64 {
    users / 8.0 * (1.0 - some(viewers) / viewers)
}

fn roaring_bytes(users: f64, viewers: f64) -> f64 {
    let containers = (users / CONTAINER_USERS).ceil();
    let listed = viewers / containers;
    let content = if listed <= MAX_LISTED {
        2.0 * listed
    } else {
        CONTAINER_BITMAP_BYTES
    };
    some(viewers) * ROARING_HEADER_BYTES + containers * (content + ROARING_HEADER_BYTES * some(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_14_4_bits_an_item_and_errs_once_in_a_thousand() {
        assert!((bits_an_item() - 14.378).abs() < 0.001);
        assert!((full_rate() - 0.001).abs() < 0.00001);
    }

    #[test]
    fn a_bitmap_of_one_viewer_reaches_half_of_the_users_on_average() {
        assert!((bitmap_bytes(8000.0, 1e9) - 1000.0).abs() < 0.01);
        assert!((bitmap_bytes(8000.0, 1e-6) / 1e-6 - 500.0).abs() < 0.01);
    }
}
