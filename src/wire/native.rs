//! The native shard format, version 1. All integers are unsigned and little-endian.
//!
//! | offset | size | field | meaning |
//! | --- | --- | --- | --- |
//! | 0 | 4 | magic | the ASCII bytes `SGS1` |
//! | 4 | 1 | encoding | 0 raw, 1 Rice |
//! | 5 | 1 | hashes | k, 1 to 32 |
//! | 6 | 2 | reserved | 0 |
//! | 8 | 4 | bits | m, 1 to 2^24 |
//! | 12 | 4 | count | how many ids were added that this shard did not contain before |
//! | 16 | 8 | seed | seed of XXH64 |
//! | 24 | 4 | epoch | the shard's number in its chain |
//! | 28 | 4 | expires | Unix seconds from which on the shard is not used; 0: never |
//! | 32 | … | payload | the bits, as `encoding` says |
//! | end − 4 | 4 | checksum | low 32 bits of XXH64 (seed 0) of everything before it |
//!
//! A raw payload has bit i at bit `i mod 8`, least significant first, of byte `i div 8`; the Rice payload codes the gaps between set bits, which
//! is shorter while a filter is young. Writers take the shorter one, raw on a tie, so a set of bits has exactly one canonical encoding.
//!
//! A reader names the first error in this order: `truncated`, `bad-magic`, `bad-checksum`, `bad-encoding`, `bad-parameters`, then, after the
//! sizes of a snapshot's shards have been added up, `too-large`, then `bad-payload`. That is why reading is in two steps: [`Header::read`]
//! allocates nothing, and [`Header::read_payload`] runs once the sizes are known to be bearable.

use crate::bloom::FilterSpec;
use crate::hash::hash_id;
use crate::{BloomFilter, Error, Parameters, Shard};

use super::{Decoded, EncodedFilter, base64, payload, rice};

/// The first bytes of every shard; the digit is the version.
pub const MAGIC: [u8; 4] = *b"SGS1";

const HEADER_LENGTH: usize = 4 * FIELDS;
/// The header's, of 4 bytes each: some hold several things, the seed takes two.
const FIELDS: usize = 8;
const CHECKSUM_LENGTH: usize = 4;

/// How a payload holds the bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// All bits, one after the other.
    #[default]
    Raw = 0,
    /// The gaps between the set bits, Rice-coded.
    Rice = 1,
}

/// A shard whose header and checksum are right and whose payload has not been looked at.
#[derive(Debug, Clone)]
pub struct Header<'a> {
    /// How the payload holds the bits.
    pub encoding: Encoding,
    /// m and k.
    pub parameters: Parameters,
    /// Seed of XXH64.
    pub seed: u64,
    /// How many ids were added.
    pub count: u32,
    /// The shard's number in its chain.
    pub epoch: u32,
    /// Unix seconds, 0 for never.
    pub expires: u32,
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    /// Checks everything but the payload. Allocates nothing.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::BadMagic`], [`Error::BadChecksum`], [`Error::BadEncoding`] or [`Error::BadParameters`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let truncated = Error::Truncated { length: bytes.len() };
        let Some((body, checksum)) = bytes.split_last_chunk() else {
            return Err(truncated);
        };
        let Some((header, payload)) = body.split_first_chunk() else {
            return Err(truncated);
        };
        let [magic, kind, bits, count, seed_low, seed_high, epoch, expires] = fields(header);
        if magic != u32::from_le_bytes(MAGIC) {
            return Err(Error::BadMagic);
        }
        if u32::from_le_bytes(*checksum) != checksum_of(body) {
            return Err(Error::BadChecksum);
        }
        let [encoding, hashes, reserved @ ..] = kind.to_le_bytes();
        let encoding = match (encoding, reserved) {
            (0, [0, 0]) => Encoding::Raw,
            (1, [0, 0]) => Encoding::Rice,
            _ => return Err(Error::BadEncoding),
        };
        Ok(Header {
            encoding,
            parameters: Parameters::new(bits, u32::from(hashes))?,
            seed: u64::from(seed_low) | u64::from(seed_high) << 32,
            count,
            epoch,
            expires,
            payload,
        })
    }

    /// Reads the bits.
    ///
    /// # Errors
    /// [`Error::BadPayload`].
    pub fn read_payload(&self) -> Result<Shard, Error> {
        Ok(Shard {
            filter: read_bits(self.encoding, self.payload, self.spec())?,
            count: self.count,
            epoch: self.epoch,
            expires: self.expires,
        })
    }

    fn spec(&self) -> FilterSpec {
        FilterSpec::native(self.parameters, self.seed)
    }
}

/// Reads the bits of a filter, which only in the native format may be Rice-coded.
#[inline(never)]
pub(super) fn read_bits(encoding: Encoding, bits: &[u8], spec: FilterSpec) -> Result<BloomFilter, Error> {
    match encoding {
        Encoding::Raw => payload::read(bits, spec),
        Encoding::Rice => rice::read(bits, spec),
    }
}

pub(super) fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let bytes = base64::decode(text)?;
    let header = Header::read(&bytes)?;
    let filter = EncodedFilter {
        spec: header.spec(),
        start: HEADER_LENGTH,
        end: bytes.len() - CHECKSUM_LENGTH,
        count: Some(header.count),
    };
    Ok(Decoded {
        filters: vec![filter],
        epoch: header.epoch,
        expires: header.expires,
        encoding: header.encoding,
        bytes,
    })
}

/// The canonical bytes of a shard.
pub(crate) fn encode(shard: &Shard) -> Vec<u8> {
    let filter = &shard.filter;
    let raw_length = payload::length(filter.spec());
    let plan = rice::plan(filter);
    let encoding = if plan.byte_length() < raw_length as u64 {
        Encoding::Rice
    } else {
        Encoding::Raw
    };

    let mut bytes = Vec::with_capacity(HEADER_LENGTH + raw_length + CHECKSUM_LENGTH);
    let header: [u32; FIELDS] = [
        u32::from_le_bytes(MAGIC),
        encoding as u32 | filter.parameters().hashes() << 8,
        filter.parameters().bits(),
        shard.count,
        filter.seed() as u32,
        (filter.seed() >> 32) as u32,
        shard.epoch,
        shard.expires,
    ];
    for field in header {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    match encoding {
        Encoding::Raw => payload::write(filter, &mut bytes),
        Encoding::Rice => rice::write(filter, &plan, &mut bytes),
    }
    let checksum = checksum_of(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn checksum_of(body: &[u8]) -> u32 {
    hash_id(body, 0) as u32
}

fn fields(header: &[u8; HEADER_LENGTH]) -> [u32; FIELDS] {
    let mut fields = [0; FIELDS];
    for (field, bytes) in fields.iter_mut().zip(header.as_chunks().0) {
        *field = u32::from_le_bytes(*bytes);
    }
    fields
}
