//! The filters of the Go library bits-and-blooms: `bits-and-blooms`.
//!
//! `MarshalBinary` writes m and k, then the bits: their number, which is m again, and words of 64 bits; all of these 64 bits, big-endian. Bit i
//! is bit `i mod 64` of word `i div 64`. `MarshalJSON` writes `{"m":…,"k":…,"b":"…"}`, b being the bits from their number on, as base64.
//!
//! An id is hashed with MurmurHash3 of 128 bits, h0 and h1, and again with a byte 1 after it, h2 and h3. For i from 0, in 64 bits and mod m:
//! `h(i mod 2) + i · h(3 or 2)`, the last one being h3 where `(i + i mod 2) mod 4` is 2.

use crate::Error;
use crate::bloom::Shape;
use crate::hash::Hashing;

use super::murmur3::murmur3_128;
use super::{Decoded, Layout, base64, integer, number};

pub(super) fn decode(text: &str) -> Result<Decoded, Error> {
    let (bits, hashes, bytes, at) = if text.trim_ascii_start().starts_with('{') {
        let (bits, hashes, b) = Scanner { rest: text }.filter().ok_or(Error::BadPayload(
            "a filter as JSON must be {\"m\":bits,\"k\":hashes,\"b\":\"base64\"}",
        ))?;
        (bits, hashes, base64::decode(b)?, 0)
    } else {
        let bytes = base64::decode(text)?;
        let [bits, hashes] = [0, 8].map(|at| integer(&bytes, at, u64::from_be_bytes));
        (bits?, hashes?, bytes, 16)
    };
    let length = integer(&bytes, at, u64::from_be_bytes)?;
    let shape = Shape::foreign(Hashing::BitsAndBlooms, super::parameters(bits, hashes)?);
    if length != bits {
        return Err(Error::BadPayload("the set of bits must have m bits"));
    }
    Ok(Decoded::single(bytes, at + 8, shape, Layout::BigEndian64, None))
}

/// Reads the one JSON object that there can be.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn filter(&mut self) -> Option<(u64, u64, &'a str)> {
        let (mut bits, mut hashes, mut set) = (None, None, None);
        self.pass('{')?;
        loop {
            let name = self.text()?;
            self.pass(':')?;
            match name {
                "m" => bits = Some(self.number()?),
                "k" => hashes = Some(self.number()?),
                "b" => set = Some(self.text()?),
                _ => return None,
            }
            if self.pass(',').is_none() {
                break;
            }
        }
        self.pass('}')?;
        self.rest.trim_ascii().is_empty().then_some(())?;
        Some((bits?, hashes?, set?))
    }

    fn pass(&mut self, token: char) -> Option<()> {
        self.rest = self.rest.trim_ascii_start().strip_prefix(token)?;
        Some(())
    }

    fn text(&mut self) -> Option<&'a str> {
        self.pass('"')?;
        let (text, rest) = self.rest.split_once('"')?;
        self.rest = rest;
        Some(text)
    }

    fn number(&mut self) -> Option<u64> {
        let from = self.rest.trim_ascii_start();
        let digits = from.bytes().take_while(u8::is_ascii_digit).count();
        self.rest = &from[digits..];
        number(&from[..digits])
    }
}

pub(super) fn hash(id: &[u8]) -> [u64; 4] {
    let ([h0, h1], [h2, h3]) = (murmur3_128(id, None), murmur3_128(id, Some(1)));
    [h0, h1, h2, h3]
}

pub(super) fn place(hash: &[u64; 4], index: u64) -> u64 {
    let odd = index % 2;
    let step = hash[if (index + odd) % 4 == 2 { 3 } else { 2 }];
    hash[odd as usize].wrapping_add(index.wrapping_mul(step))
}
