//! The filters of a Go library that stores a person's shards as a Redis list: `go-bloomfilter`.
//!
//! An element of the list is a record, the newest first: the number of ids inserted in decimal digits, `::`, and base64
//! of the bits, as words of 32 bits, big-endian; bit i is bit `i mod 32` of word `i div 32`. The bits are a multiple of
//! 32. A record lacks k, so the reader must know it.
//!
//! For n items at the false positive rate ε the library uses `m = ceil(−n · ln ε / (ln 2)²)`, `k = ceil(m / n · ln 2)`,
//! and then rounds m up.

use std::f64::consts::LN_2;

use super::encoded::EncodedShard;
use super::foreign;
use super::payload::{self, Words};
use crate::base64;
use crate::bloom::FilterSpec;
use crate::error::{Error, message};
use crate::hash::ForeignScheme;
use crate::params::Parameters;
use crate::shard::Shard;

const SEPARATOR: &[u8] = b"::";

/// The parameters that the library uses for this number of items and false positive rate.
///
/// # Errors
/// [`Error::BadOption`], [`Error::BadParameters`] or [`Error::TooLarge`].
pub(super) fn parameters(capacity: u32, rate: f64) -> Result<Parameters, Error> {
    let bits = Parameters::ideal_bits(capacity, rate)?.ceil();
    let hashes = (bits / f64::from(capacity) * LN_2).ceil();
    foreign::parameters((bits as u64).next_multiple_of(32), hashes as u64)
}

/// The spec of the shards of a chain with these sizes; without `bits`, the capacity and the rate give m.
///
/// # Errors
/// As [`parameters`].
pub(super) fn spec(hashes: u32, bits: Option<u32>, capacity: u32, rate: f64) -> Result<FilterSpec, Error> {
    let sized = parameters(capacity, rate)?;
    let bits = bits.unwrap_or(sized.bits());
    if !bits.is_multiple_of(32) {
        return Err(Error::BadOption(message(
            "the bits of a go-bloomfilter record are a multiple of 32",
        )));
    }
    let parameters = foreign::parameters(bits.into(), hashes.into())?;
    Ok(foreign::spec(ForeignScheme::GoBloomfilter, parameters))
}

pub(super) fn decode(text: &[u8], hashes: u32, bits: Option<u32>) -> Result<EncodedShard, Error> {
    let end = text
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR)
        .ok_or(Error::BadMagic)?;
    let count = read_count(&text[..end]).ok_or(Error::BadParameters(message(
        "the part before :: must be the number of items",
    )))?;
    let bytes = base64::decode(&text[end + SEPARATOR.len()..])?;
    if bytes.is_empty() {
        return Err(Error::Truncated { length: 0 });
    }
    if bytes.len() % 4 != 0 {
        return Err(Error::BadPayload(message("a record's bits must be whole words of 32")));
    }
    let bits = bits.map_or(bytes.len() as u64 * 8, u64::from);
    let parameters = foreign::parameters(bits, u64::from(hashes))?;
    let spec = foreign::spec(ForeignScheme::GoBloomfilter, parameters);
    Ok(foreign::single(bytes, 0, Words::BigEndian32, spec, Some(count)))
}

/// Decimal digits and nothing else.
fn read_count(text: &[u8]) -> Option<u32> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn write(shard: &Shard) -> String {
    let mut bytes = Vec::new();
    payload::write(&shard.filter, Words::BigEndian32, &mut bytes);
    format!("{}::{}", shard.count, base64::encode(&bytes))
}
