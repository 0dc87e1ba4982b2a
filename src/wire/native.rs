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
//! A raw payload has bit i at bit `i mod 8`, least significant first, of byte `i div 8`. The Rice payload encodes the
//! gaps between set bits, which is shorter while a filter is sparse. Writers choose the shorter one, raw on a tie, so a
//! set of bits has exactly one canonical encoding.
//!
//! A reader returns the first error in this order: `truncated`, `bad-magic`, `bad-checksum`, `bad-encoding`,
//! `bad-parameters`; then, by the sum of the sizes of a snapshot's shards, `too-large`; then `bad-payload`. So reading
//! has two steps: [`Header::read`] allocates nothing; [`Header::read_payload`] is called once the sizes are known to be
//! within the limits.

use super::encoded::{EncodedFilter, EncodedShard, Encoding, Payload};
use super::payload::{self, Words};
use super::reader::Reader;
use super::rice;
use crate::base64;
use crate::bloom::FilterSpec;
use crate::error::Error;
use crate::hash::hash_id;
use crate::params::Parameters;
use crate::shard::Shard;

/// The first bytes of every shard; the digit is the version.
pub const MAGIC: [u8; 4] = *b"SGS1";
/// The beginning of a shard as base64: those characters that the magic alone determines.
pub const BASE64_BEGINNING: &[u8] = b"U0dTM";

const RAW: u8 = 0;
const RICE: u8 = 1;
const HEADER_LENGTH: usize = 32;
const CHECKSUM_LENGTH: usize = 4;

/// A shard with a valid header and checksum, whose payload is not read yet.
#[derive(Debug, Clone)]
pub struct Header<'a> {
    /// The encoding of the bits.
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
    /// [`Error::Truncated`], [`Error::BadMagic`], [`Error::BadChecksum`], [`Error::BadEncoding`] or
    /// [`Error::BadParameters`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let truncated = Error::Truncated { length: bytes.len() };
        let Some((body, checksum)) = bytes.split_last_chunk() else {
            return Err(truncated);
        };
        let Some((header, payload)) = body.split_at_checked(HEADER_LENGTH) else {
            return Err(truncated);
        };
        let mut reader = Reader::new(header);
        if reader.array()? != MAGIC {
            return Err(Error::BadMagic);
        }
        if u32::from_le_bytes(*checksum) != checksum_of(body) {
            return Err(Error::BadChecksum);
        }
        let (encoding, hashes, reserved) = (reader.u8()?, reader.u8()?, reader.array::<2>()?);
        let encoding = match (encoding, reserved) {
            (RAW, [0, 0]) => Encoding::Raw,
            (RICE, [0, 0]) => Encoding::Rice,
            _ => return Err(Error::BadEncoding),
        };
        Ok(Header {
            encoding,
            parameters: Parameters::new(reader.u32_le()?, u32::from(hashes))?,
            count: reader.u32_le()?,
            seed: reader.u64_le()?,
            epoch: reader.u32_le()?,
            expires: reader.u32_le()?,
            payload,
        })
    }

    /// Reads the bits.
    ///
    /// # Errors
    /// [`Error::BadPayload`] or [`Error::OutOfMemory`].
    pub fn read_payload(&self) -> Result<Shard, Error> {
        Ok(Shard {
            filter: self.payload_kind().read(self.payload, self.spec())?,
            count: self.count,
            epoch: self.epoch,
            expires: self.expires,
        })
    }

    fn payload_kind(&self) -> Payload {
        match self.encoding {
            Encoding::Raw => Payload::Raw(Words::Bytes),
            Encoding::Rice => Payload::Rice,
        }
    }

    fn spec(&self) -> FilterSpec {
        FilterSpec::native(self.parameters, self.seed)
    }
}

pub(super) fn decode(text: &[u8]) -> Result<EncodedShard, Error> {
    let bytes = base64::decode(text)?;
    let header = Header::read(&bytes)?;
    let (epoch, expires) = (header.epoch, header.expires);
    let filter = EncodedFilter {
        spec: header.spec(),
        payload: header.payload_kind(),
        start: HEADER_LENGTH,
        end: bytes.len() - CHECKSUM_LENGTH,
        count: Some(header.count),
    };
    Ok(EncodedShard::single(bytes, filter, epoch, expires))
}

/// The number of bytes that [`encode`] adds to the payload.
pub(super) const FRAME_LENGTH: usize = HEADER_LENGTH + CHECKSUM_LENGTH;

/// The expected length in bytes of [`encode`] for a shard with this many items, at least one.
pub(super) fn expected_encoded_len(parameters: Parameters, items: f64) -> f64 {
    let raw_length = payload::length(Words::Bytes, parameters.bits()) as f64;
    let rice_length = rice::expected_byte_length(parameters.bits(), parameters.expected_set_bits(items));
    FRAME_LENGTH as f64 + raw_length.min(rice_length)
}

/// The canonical bytes of a shard of the native format.
pub(super) fn encode(shard: &Shard) -> Vec<u8> {
    let filter = &shard.filter;
    let raw_length = payload::length(Words::Bytes, filter.spec().bits());
    let plan = rice::plan(filter);
    let is_rice = plan.byte_length() < raw_length as u64;

    let mut bytes = Vec::with_capacity(HEADER_LENGTH + raw_length + CHECKSUM_LENGTH);
    bytes.extend_from_slice(&MAGIC);
    bytes.push(if is_rice { RICE } else { RAW });
    bytes.push(filter.parameters().hashes() as u8);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&filter.parameters().bits().to_le_bytes());
    bytes.extend_from_slice(&shard.count.to_le_bytes());
    bytes.extend_from_slice(&filter.seed().to_le_bytes());
    bytes.extend_from_slice(&shard.epoch.to_le_bytes());
    bytes.extend_from_slice(&shard.expires.to_le_bytes());
    if is_rice {
        rice::write(filter, &plan, &mut bytes);
    } else {
        payload::write(filter, Words::Bytes, &mut bytes);
    }
    let checksum = checksum_of(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn checksum_of(body: &[u8]) -> u32 {
    hash_id(body, 0) as u32
}
