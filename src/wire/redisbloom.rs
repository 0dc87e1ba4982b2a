//! The filters of Redis, as `BF.SCANDUMP` gives them: `redisbloom`.
//!
//! A shard is the dump of one key: its chunks in order, each as base64, joined by commas. The first one is the header, little-endian:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | the number of items |
//! | 8 | 4 | the number of filters: a key that scales begins a larger one when the last is full |
//! | 12 | 4 | options: 4 for hashes of 64 bits, which every key has that was made by a released version |
//! | 16 | 4 | by how much a filter is larger than the one before |
//! | 20 | 53 each | a filter: its bytes (8), bits (8) and items (8), error rate (8), bits an item (8), k (4), capacity (8), and n (1) |
//!
//! The other chunks together are the filters' bytes; bit i is bit `i mod 8` of byte `i div 8`. m is all of a filter's bits, or 2^n where n is
//! not 0. An id is in the key if it is in any of its filters: each has an error rate, a k and an m of its own.
//!
//! An id is hashed with MurmurHash64A, the seed being its multiplier: a; and once more with the seed a: b. For i from 0: `a + i · b` in 64 bits,
//! mod m.

use crate::Error;
use crate::bloom::FilterSpec;
use crate::hash::HashScheme;
use crate::params::MAX_SNAPSHOT_BITS;

use super::{Decoded, EncodedFilter, TOO_LARGE, base64, payload};

const HEADER_LENGTH: usize = 20;
const FILTER_LENGTH: usize = 53;
const HASHES_OF_64_BITS: u64 = 4;
const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;

pub(super) fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let (mut header, mut bytes) = (None, Vec::new());
    for chunk in text.split(|&byte| byte == b',') {
        let mut chunk = base64::decode(chunk)?;
        match header {
            None => header = Some(chunk),
            Some(_) => bytes.append(&mut chunk),
        }
    }
    let header = header.unwrap_or_default();
    let (count, options) = (integer(&header, 8, 4)? as usize, integer(&header, 12, 4)?);
    let (links, rest) = header
        .get(HEADER_LENGTH..)
        .unwrap_or_default()
        .as_chunks::<FILTER_LENGTH>();
    if links.is_empty() || links.len() < count {
        return Err(Error::Truncated { length: header.len() });
    }
    if links.len() > count || !rest.is_empty() {
        return Err(Error::BadPayload(
            "the header must be as long as its number of filters says",
        ));
    }
    if options & HASHES_OF_64_BITS == 0 {
        return Err(Error::BadEncoding);
    }
    let (mut filters, mut start) = (Vec::with_capacity(links.len()), 0);
    for link in links {
        let filter = read_link(link, start)?;
        start = filter.end;
        if start as u64 * 8 > MAX_SNAPSHOT_BITS {
            return Err(TOO_LARGE);
        }
        filters.push(filter);
    }
    // Bytes that belong to no filter make the last one too long.
    if let Some(last) = filters.last_mut() {
        last.end = last.end.max(bytes.len());
    }
    Ok(Decoded {
        bytes,
        filters,
        ..Decoded::default()
    })
}

/// The filter of a link, whose bytes begin at `start`.
fn read_link(link: &[u8; FILTER_LENGTH], start: usize) -> Result<EncodedFilter, Error> {
    let (length, bits) = (integer(link, 0, 8)?, integer(link, 8, 8)?);
    let (items, hashes) = (integer(link, 16, 8)?, integer(link, 40, 4)?);
    let used = match link[52] {
        0 => bits,
        n @ 1..=63 => 1 << n,
        _ => u64::MAX,
    };
    let parameters = super::parameters(used, hashes)?;
    let spec = FilterSpec::foreign(HashScheme::RedisBloom, parameters);
    if length.wrapping_mul(8) != bits || length != payload::length(spec) as u64 {
        return Err(Error::BadParameters(
            "a filter's bytes, bits and m do not fit each other",
        ));
    }
    Ok(EncodedFilter {
        spec,
        start,
        end: start + length as usize,
        count: Some(u32::try_from(items).unwrap_or(u32::MAX)),
    })
}

/// The unsigned integer of `length` bytes at a place.
#[inline(never)]
fn integer(bytes: &[u8], at: usize, length: usize) -> Result<u64, Error> {
    super::integer(bytes, at, length).map(|integer| integer.swap_bytes() >> (64 - 8 * length))
}

pub(super) fn hash(id: &[u8]) -> [u64; 4] {
    let a = murmur_64a(id, MULTIPLIER);
    [a, murmur_64a(id, a), 0, 0]
}

pub(super) fn place(hash: &mut [u64; 4]) -> u64 {
    let place = hash[0];
    hash[0] = place.wrapping_add(hash[1]);
    place
}

/// MurmurHash64A (Appleby 2008).
#[inline(never)]
fn murmur_64a(bytes: &[u8], seed: u64) -> u64 {
    let scramble = |word: u64| word ^ word >> 47;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    for chunk in bytes.chunks(8) {
        let word = chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        hash ^= if chunk.len() == 8 {
            scramble(word.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER)
        } else {
            word
        };
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash = scramble(hash).wrapping_mul(MULTIPLIER);
    scramble(hash)
}
