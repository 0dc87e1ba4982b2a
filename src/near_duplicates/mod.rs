//! Near-duplicates: reposts and edited copies of an item, which get one group's id.
//!
//! [`simhash()`] makes a fingerprint of an item's features, and [`NearDuplicates`] puts fingerprints that differ in few
//! bits into one group.

mod fingerprint_index;
mod groups;
mod simhash;

pub use groups::{NearDuplicate, NearDuplicates};
pub use simhash::{hamming_distance, simhash};
