//! The filters of the Go library bits-and-blooms: `bits-and-blooms`.
//!
//! `MarshalBinary` writes m and k, then the bits: their number, which is m again, and words of 64 bits; all of these 64
//! bits, big-endian. Bit i is bit `i mod 64` of word `i div 64`. `MarshalJSON` writes `{"m":…,"k":…,"b":"…"}`, where b
//! is the base64 of the bits, beginning with their number.

use std::borrow::Cow;

use serde::Deserialize;

use super::encoded::EncodedShard;
use super::foreign;
use super::payload::Words;
use super::reader::Reader;
use crate::base64;
use crate::error::{Error, message};
use crate::hash::ForeignScheme;

/// The output of `MarshalJSON`.
#[derive(Deserialize)]
struct Json<'a> {
    m: u64,
    k: u64,
    #[serde(borrow)]
    b: Cow<'a, str>,
}

pub(super) fn decode(text: &[u8]) -> Result<EncodedShard, Error> {
    let is_json = text.trim_ascii_start().starts_with(b"{");
    let (bits, hashes, bytes, start);
    if is_json {
        let json: Json<'_> = serde_json::from_slice(text).map_err(|_| {
            Error::BadPayload(message(
                "a filter as JSON must be {\"m\":bits,\"k\":hashes,\"b\":\"base64\"}",
            ))
        })?;
        (bits, hashes, start) = (json.m, json.k, 0);
        bytes = base64::decode(json.b.as_bytes())?;
    } else {
        bytes = base64::decode(text)?;
        let mut reader = Reader::new(&bytes);
        (bits, hashes, start) = (reader.u64_be()?, reader.u64_be()?, reader.position());
    }
    let length = Reader::new(&bytes[start..]).u64_be()?;
    let parameters = foreign::parameters(bits, hashes)?;
    if length != bits {
        return Err(Error::BadPayload(message("the set of bits must have m bits")));
    }
    let spec = foreign::spec(ForeignScheme::BitsAndBlooms, parameters);
    Ok(foreign::single(bytes, start + 8, Words::BigEndian64, spec, None))
}
