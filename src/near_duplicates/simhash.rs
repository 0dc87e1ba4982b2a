//! Simhash: a fingerprint of 64 bits, which differs in few of them between texts that have most of their features in
//! common (Charikar 2002, "Similarity estimation techniques from rounding algorithms"; Manku, Jain and Das Sarma 2007,
//! "Detecting near-duplicates for web crawling").
//!
//! Each feature is hashed to 64 bits. A bit of the fingerprint is 1 if the features whose hash has a 1 there weigh more
//! than the others. The caller chooses the features, such as words or a few words in a row, and their weights.
//!
//! As a string, for stores and for JavaScript, a fingerprint is 16 hexadecimal digits: `format!("{:016x}")`.

use crate::error::Error;
use crate::hash::hash_id;

/// Bits of a fingerprint.
const BITS: usize = 64;
/// Whole numbers up to it are exact in an `f64`, and no list of features is long enough for an infinite sum.
const MAX_WEIGHT: f64 = 9_007_199_254_740_992.0;

/// The fingerprint of features with their weights, each 0 to 2^53. A feature that occurs twice has the sum of both
/// weights. The order of the features changes nothing. A bit whose two sides weigh the same is 0; without features all
/// bits are.
///
/// Features are hashed with XXH64. Sums are of `f64`, in the order of the hashes, so the fingerprint is the same on
/// every platform.
///
/// ```
/// use seenguard::near_duplicates::{hamming_distance, simhash};
/// let words = |text: &'static str| text.split(' ').map(|word| (word, 1.0));
/// let story = simhash(words("the harbour bridge opens again after three years of repairs"))?;
/// let copy = simhash(words("after three years of repairs the harbour bridge opens again"))?;
/// let other = simhash(words("rain is expected in the north until the end of the week"))?;
/// assert_eq!(hamming_distance(story, copy), 0);
/// assert!(hamming_distance(story, other) > 16);
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadOption`] for a weight that is out of range or not a number; [`Error::OutOfMemory`].
pub fn simhash<F: AsRef<[u8]>>(features: impl IntoIterator<Item = (F, f64)>) -> Result<u64, Error> {
    let mut weighted = Vec::new();
    for (feature, weight) in features {
        if !(0.0..=MAX_WEIGHT).contains(&weight) {
            return Err(Error::BadOption("a feature's weight must be a number from 0 to 2^53"));
        }
        weighted.try_reserve(1)?;
        weighted.push((hash_id(feature.as_ref(), 0), weight));
    }
    // The sum of floating-point numbers depends on their order.
    weighted
        .sort_unstable_by(|(hash, weight), (other, other_weight)| hash.cmp(other).then(weight.total_cmp(other_weight)));
    let mut sums = [0.0; BITS];
    for (hash, weight) in weighted {
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { weight } else { -weight };
        }
    }
    let ones = sums.iter().enumerate().filter(|&(_, &sum)| sum > 0.0);
    Ok(ones.fold(0, |fingerprint, (bit, _)| fingerprint | 1 << bit))
}

/// The number of bits in which two fingerprints differ, 0 to 64.
pub fn hamming_distance(one: u64, other: u64) -> u32 {
    (one ^ other).count_ones()
}
