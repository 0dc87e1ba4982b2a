//! The filters of a Go library that keeps a person's shards as a Redis list: `go-bloomfilter`.
//!
//! An element of the list is a record, the newest first: the number of ids inserted in decimal digits, `::`, and base64 of the bits, as words of
//! 32 bits, big-endian; bit i is bit `i mod 32` of word `i div 32`. The bits are a multiple of 32. A record does not tell k, so whoever reads it
//! must know it.
//!
//! An id is hashed twice by FNV-1a of 32 bits, whose last value is mixed; the second time the offset basis is XORed with a seed. From these a
//! and b, all arithmetic in 32 bits: the first position is `a mod m`, each next one `(position + b) mod m`.
//!
//! For n items at the false positive rate ε the library takes `m = ceil(−n · ln ε / (ln 2)²)`, `k = ceil(m / n · ln 2)`, and then rounds m up.

use std::f64::consts::LN_2;

use crate::bloom::FilterSpec;
use crate::hash::HashScheme;
use crate::{Error, Parameters, Shard};

use super::{Decoded, base64, number, payload};

const SEPARATOR: &[u8] = b"::";
/// The offset bases of the two hashes.
const BASES: [u32; 2] = [0x811C_9DC5, 0x811C_9DC5 ^ 1_576_284_489];
const PRIME: u32 = 0x0100_0193;

/// m and k of a filter for so many items at this false positive rate, as the library takes them.
pub(crate) fn parameters(capacity: u32, rate: f64) -> Result<Parameters, Error> {
    let bits = Parameters::ideal_bits(capacity, rate)?.ceil();
    let hashes = (bits / f64::from(capacity) * LN_2).ceil();
    super::parameters((bits as u64).next_multiple_of(32), hashes as u64)
}

pub(super) fn decode(text: &[u8], hashes: u32, bits: Option<u32>) -> Result<Decoded, Error> {
    let end = memchr::memchr(b':', text).ok_or(Error::BadMagic)?;
    let filter = text[end..].strip_prefix(SEPARATOR).ok_or(Error::BadMagic)?;
    let count = number(&text[..end]).and_then(|count| u32::try_from(count).ok());
    if count.is_none() {
        return Err(Error::BadParameters(
            "what stands before :: must be the number of items",
        ));
    }
    let bytes = base64::decode(filter)?;
    if bytes.is_empty() {
        return Err(Error::Truncated { length: 0 });
    }
    if bytes.len() % 4 != 0 {
        return Err(Error::BadPayload("a record's bits must be whole words of 32"));
    }
    let bits = bits.map_or(bytes.len() as u64 * 8, u64::from);
    let spec = FilterSpec::foreign(HashScheme::GoBloomfilter, super::parameters(bits, u64::from(hashes))?);
    Ok(Decoded::single(bytes, 0, spec, count))
}

pub(super) fn write(shard: &Shard) -> String {
    let mut bytes = Vec::new();
    payload::write(&shard.filter, &mut bytes);
    let mut digits = Vec::new();
    let mut rest = shard.count;
    while rest > 0 || digits.is_empty() {
        digits.insert(0, char::from(b'0' + (rest % 10) as u8));
        rest /= 10;
    }
    digits.iter().collect::<String>() + "::" + &base64::encode(&bytes)
}

pub(super) fn hash(id: &[u8]) -> [u64; 4] {
    let [a, b] = BASES.map(|basis| {
        let hash = id
            .iter()
            .fold(basis, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
        u64::from(mix(hash))
    });
    [a, b, 0, 0]
}

fn mix(mut hash: u32) -> u32 {
    hash = hash.wrapping_add(hash << 13);
    hash ^= hash >> 7;
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 17;
    hash.wrapping_add(hash << 5)
}

pub(super) fn place(hash: &mut [u64; 4], bits: u64) -> u64 {
    let place = hash[0] % bits;
    hash[0] = u64::from((place as u32).wrapping_add(hash[1] as u32));
    place
}
