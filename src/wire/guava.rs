//! Guava's `BloomFilter<CharSequence>` with `Funnels.stringFunnel(UTF_8)`, as `writeTo` writes it: `guava`.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 1 | strategy: 0 `MURMUR128_MITZ_32`, 1 `MURMUR128_MITZ_64` |
//! | 1 | 1 | k |
//! | 2 | 4 | the number of words, big-endian |
//! | 6 | … | words of 64 bits, big-endian; bit i is bit `i mod 64` of word `i div 64` |
//!
//! m is 64 for each word. An id is hashed with MurmurHash3 of 128 bits, halves h1 and h2. Strategy 1: for i from 0, `h1 + i · h2` in 64 bits
//! without its sign bit, mod m. Strategy 0 takes the halves of h1, a and b: for i from 1, `a + i · b` in 32 bits, all bits flipped if it is
//! negative, mod m.
//!
//! For n items at the false positive rate ε Guava takes `m = −n · ln ε / (ln 2)²` without its fraction, `k = max(1, round(m / n · ln 2))`, and
//! then rounds m up to whole words.

use std::f64::consts::LN_2;

use crate::bloom::FilterSpec;
use crate::hash::HashScheme;
use crate::{Error, Parameters, Shard};

use super::murmur3::murmur3_128;
use super::{Decoded, base64, integer, payload};

const HEADER_LENGTH: usize = 6;
/// All of a Java long but its sign.
const MAX_LONG: u64 = u64::MAX >> 1;

/// m and k of a filter for so many items at this false positive rate, as Guava takes them.
pub(crate) fn parameters(capacity: u32, rate: f64) -> Result<Parameters, Error> {
    let bits = Parameters::ideal_bits(capacity, rate)?.trunc();
    let hashes = (bits / f64::from(capacity) * LN_2).round_ties_even().max(1.0);
    super::parameters((bits as u64).max(1).next_multiple_of(64), hashes as u64)
}

pub(super) fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let bytes = base64::decode(text)?;
    let words = integer(&bytes, 2, 4)?;
    let scheme = match bytes[0] {
        0 => HashScheme::Guava32,
        1 => HashScheme::Guava64,
        _ => return Err(Error::BadEncoding),
    };
    let parameters = super::parameters(words * 64, u64::from(bytes[1]))?;
    let spec = FilterSpec::foreign(scheme, parameters);
    Ok(Decoded::single(bytes, HEADER_LENGTH, spec, None))
}

pub(super) fn encode(shard: &Shard) -> Vec<u8> {
    let spec = shard.filter.spec();
    let mut bytes = vec![
        u8::from(spec.scheme == HashScheme::Guava64),
        spec.parameters.hashes() as u8,
    ];
    bytes.extend_from_slice(&(spec.bits() / 64).to_be_bytes());
    payload::write(&shard.filter, &mut bytes);
    bytes
}

pub(super) fn hash(id: &[u8]) -> [u64; 4] {
    let [h1, h2] = murmur3_128(id, None);
    [h1, h2, 0, 0]
}

pub(super) fn place_64(hash: &mut [u64; 4]) -> u64 {
    let place = hash[0] & MAX_LONG;
    hash[0] = hash[0].wrapping_add(hash[1]);
    place
}

pub(super) fn place_32(hash: &mut [u64; 4]) -> u64 {
    // The third keeps what has been added to a.
    hash[2] = hash[2].wrapping_add(hash[0] >> 32);
    let sum = (hash[0] as i32).wrapping_add(hash[2] as i32);
    u64::from((if sum < 0 { !sum } else { sum }) as u32)
}
