//! The filters of Redis, as `BF.SCANDUMP` returns them: `redisbloom`.
//!
//! A shard is the dump of one key: its chunks in order, each as base64, joined by commas. The first one is the header,
//! little-endian:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | the number of items |
//! | 8 | 4 | the number of filters: a key that scales begins a larger one when the last is full |
//! | 12 | 4 | options: 4 for hashes of 64 bits, which all released versions set |
//! | 16 | 4 | the growth factor of each new filter |
//! | 20 | 53 each | the filters |
//!
//! Each filter has: bytes (8), bits (8), items (8), error rate (8), bits per item (8), k (4), capacity (8), n (1).
//!
//! The other chunks together are the filters' bytes; bit i is bit `i mod 8` of byte `i div 8`. m is the number of a
//! filter's bits, or 2^n if n is not 0. An id is in the key if it is in any of its filters, which differ in error rate,
//! k and m.

use super::encoded::{EncodedFilter, EncodedShard, Payload};
use super::foreign;
use super::payload::{self, Words};
use super::reader::Reader;
use crate::base64;
use crate::error::{Error, message};
use crate::hash::ForeignScheme;
use crate::params::MAX_SNAPSHOT_BITS;

const HEADER_LENGTH: usize = 20;
const LINK_LENGTH: usize = 53;
const HASHES_OF_64_BITS: u32 = 4;

pub(super) fn decode(text: &[u8]) -> Result<EncodedShard, Error> {
    let mut chunks = text.split(|&byte| byte == b',');
    let header = base64::decode(chunks.next().unwrap_or_default())?;
    let mut bytes = Vec::new();
    for chunk in chunks {
        let chunk = base64::decode(chunk)?;
        bytes.try_reserve(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    let mut filters = Vec::new();
    let mut start = 0;
    for link in links(&header)? {
        let filter = read_link(link, start)?;
        start = filter.end;
        if start as u64 * 8 > MAX_SNAPSHOT_BITS {
            return Err(Error::TooLarge(message("a shard has over 2^26 bits")));
        }
        filters.push(filter);
    }
    // Bytes that belong to no filter make the last one too long.
    if let Some(last) = filters.last_mut() {
        last.end = last.end.max(bytes.len());
    }
    Ok(EncodedShard::of_filters(bytes, filters))
}

/// The descriptions of the filters in a header, at least one.
fn links(header: &[u8]) -> Result<&[[u8; LINK_LENGTH]], Error> {
    let mut reader = Reader::new(header);
    let (_items, count, options, _growth) = (reader.u64_le()?, reader.u32_le()?, reader.u32_le()?, reader.u32_le()?);
    let (links, rest) = header[HEADER_LENGTH..].as_chunks();
    let count = count as usize;
    if links.is_empty() || links.len() < count {
        return Err(Error::Truncated { length: header.len() });
    }
    if links.len() > count || !rest.is_empty() {
        return Err(Error::BadPayload(message(
            "the header must be as long as its number of filters requires",
        )));
    }
    if options & HASHES_OF_64_BITS == 0 {
        return Err(Error::BadEncoding);
    }
    Ok(links)
}

/// Reads the description of a filter whose bytes begin at `start`.
fn read_link(link: &[u8; LINK_LENGTH], start: usize) -> Result<EncodedFilter, Error> {
    let mut reader = Reader::new(link);
    let (byte_length, bits, items) = (reader.u64_le()?, reader.u64_le()?, reader.u64_le()?);
    let (_error_rate, _bits_per_item) = (reader.u64_le()?, reader.u64_le()?);
    let (hashes, _capacity, power) = (reader.u32_le()?, reader.u64_le()?, reader.u8()?);
    let used_bits = match power {
        0 => bits,
        1..=63 => 1 << power,
        _ => u64::MAX,
    };
    let parameters = foreign::parameters(used_bits, u64::from(hashes))?;
    let fits = payload::length(Words::LittleEndian64, parameters.bits()) as u64;
    if byte_length.checked_mul(8) != Some(bits) || byte_length != fits {
        return Err(Error::BadParameters(message(
            "a filter's bytes, bits and m are inconsistent",
        )));
    }
    Ok(EncodedFilter {
        spec: foreign::spec(ForeignScheme::RedisBloom, parameters),
        payload: Payload::Raw(Words::LittleEndian64),
        start,
        end: start + byte_length as usize,
        count: Some(u32::try_from(items).unwrap_or(u32::MAX)),
    })
}
