//! Guava's `BloomFilter<CharSequence>` with `Funnels.stringFunnel(UTF_8)`, as `writeTo` writes it: `guava`.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 1 | strategy: 0 `MURMUR128_MITZ_32`, 1 `MURMUR128_MITZ_64` |
//! | 1 | 1 | k |
//! | 2 | 4 | the number of words, big-endian |
//! | 6 | … | words of 64 bits, big-endian; bit i is bit `i mod 64` of word `i div 64` |
//!
//! m is 64 for each word. For n items at the false positive rate ε Guava uses `m = −n · ln ε / (ln 2)²` without its
//! fraction, `k = max(1, round(m / n · ln 2))`, and then rounds m up to whole words.

use std::f64::consts::LN_2;

use super::encoded::EncodedShard;
use super::foreign;
use super::payload::{self, Words};
use super::reader::Reader;
use crate::base64;
use crate::bloom::FilterSpec;
use crate::error::Error;
use crate::hash::{ForeignScheme, HashScheme};
use crate::params::Parameters;
use crate::shard::Shard;

const MITZ_32: u8 = 0;
const MITZ_64: u8 = 1;

/// The spec that Guava uses for this number of items and false positive rate.
///
/// # Errors
/// [`Error::BadOption`], [`Error::BadParameters`] or [`Error::TooLarge`].
pub(super) fn spec(capacity: u32, rate: f64) -> Result<FilterSpec, Error> {
    let bits = Parameters::ideal_bits(capacity, rate)?.trunc();
    let hashes = (bits / f64::from(capacity) * LN_2).round_ties_even().max(1.0);
    let parameters = foreign::parameters((bits as u64).max(1).next_multiple_of(64), hashes as u64)?;
    Ok(foreign::spec(ForeignScheme::Guava64, parameters))
}

pub(super) fn decode(text: &[u8]) -> Result<EncodedShard, Error> {
    let bytes = base64::decode(text)?;
    let mut reader = Reader::new(&bytes);
    let (strategy, hashes, words) = (reader.u8()?, reader.u8()?, reader.u32_be()?);
    let start = reader.position();
    let scheme = match strategy {
        MITZ_32 => ForeignScheme::Guava32,
        MITZ_64 => ForeignScheme::Guava64,
        _ => return Err(Error::BadEncoding),
    };
    let parameters = foreign::parameters(u64::from(words) * 64, u64::from(hashes))?;
    let spec = foreign::spec(scheme, parameters);
    Ok(foreign::single(bytes, start, Words::BigEndian64, spec, None))
}

pub(super) fn write(shard: &Shard) -> String {
    let spec = shard.filter.spec();
    let is_older = spec.scheme == HashScheme::Foreign(ForeignScheme::Guava32);
    let strategy = if is_older { MITZ_32 } else { MITZ_64 };
    let mut bytes = vec![strategy, spec.parameters.hashes() as u8];
    bytes.extend_from_slice(&(spec.bits() / 64).to_be_bytes());
    payload::write(&shard.filter, Words::BigEndian64, &mut bytes);
    base64::encode(&bytes)
}
