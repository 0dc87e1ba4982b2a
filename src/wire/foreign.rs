//! Helpers shared by the readers of other libraries' filters.

use super::encoded::{EncodedFilter, EncodedShard, Payload};
use super::payload::Words;
use crate::bloom::FilterSpec;
use crate::error::{Error, message};
use crate::hash::{ForeignScheme, HashScheme};
use crate::params::{MAX_SNAPSHOT_BITS, Parameters};

/// The parameters of another library's filter: k from 1 to 255, and at most as many bits as a snapshot.
///
/// # Errors
/// [`Error::BadParameters`] or [`Error::TooLarge`].
pub(super) fn parameters(bits: u64, hashes: u64) -> Result<Parameters, Error> {
    if bits == 0 || !(1..=255).contains(&hashes) {
        return Err(Error::BadParameters(message(
            "a filter has at least 1 bit, and 1 to 255 hashes",
        )));
    }
    if bits > MAX_SNAPSHOT_BITS {
        return Err(Error::TooLarge(message("a shard has over 2^26 bits")));
    }
    Ok(Parameters::unchecked(bits as u32, hashes as u32))
}

/// The spec of filters of another library.
pub(super) fn spec(scheme: ForeignScheme, parameters: Parameters) -> FilterSpec {
    FilterSpec {
        parameters,
        seed: 0,
        scheme: HashScheme::Foreign(scheme),
    }
}

/// A shard of one filter, whose bits are all bytes from `start` on.
pub(super) fn single(bytes: Vec<u8>, start: usize, words: Words, spec: FilterSpec, count: Option<u32>) -> EncodedShard {
    let filter = EncodedFilter {
        spec,
        payload: Payload::Raw(words),
        start,
        end: bytes.len(),
        count,
    };
    EncodedShard::of_filters(bytes, vec![filter])
}
