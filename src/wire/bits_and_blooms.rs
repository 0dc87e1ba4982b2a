//! The filters of the Go library bits-and-blooms: `bits-and-blooms`.
//!
//! `MarshalBinary` writes m and k, then the bits: their number, which is m again, and words of 64 bits; all of these 64 bits, big-endian. Bit i
//! is bit `i mod 64` of word `i div 64`. `MarshalJSON` writes `{"m":…,"k":…,"b":"…"}`, b being the bits from their number on, as base64.
//!
//! An id is hashed with MurmurHash3 of 128 bits, h0 and h1, and again with a byte 1 after it, h2 and h3. For i from 0, in 64 bits and mod m:
//! `h(i mod 2) + i · h(3 or 2)`, the last one being h3 where `(i + i mod 2) mod 4` is 2.

use crate::Error;
use crate::bloom::FilterSpec;
use crate::hash::HashScheme;

use super::murmur3::murmur3_128;
use super::{Decoded, base64, integer, number};

pub(super) fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let text = text.trim_ascii_start();
    let (bits, hashes, bytes, at) = if text.first() == Some(&b'{') {
        let (bits, hashes, b) = Scanner { rest: text }.filter().ok_or(Error::BadPayload(
            "a filter as JSON must be {\"m\":bits,\"k\":hashes,\"b\":\"base64\"}",
        ))?;
        (bits, hashes, base64::decode(b)?, 0)
    } else {
        let bytes = base64::decode(text)?;
        (integer(&bytes, 0, 8)?, integer(&bytes, 8, 8)?, bytes, 16)
    };
    let length = integer(&bytes, at, 8)?;
    let spec = FilterSpec::foreign(HashScheme::BitsAndBlooms, super::parameters(bits, hashes)?);
    if length != bits {
        return Err(Error::BadPayload("the set of bits must have m bits"));
    }
    Ok(Decoded::single(bytes, at + 8, spec, None))
}

/// Reads the one JSON object that there can be.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn filter(&mut self) -> Option<(u64, u64, &'a [u8])> {
        let (mut bits, mut hashes, mut set) = (None, None, None);
        let mut before = b'{';
        while self.pass(before).is_some() {
            let name = self.text()?;
            self.pass(b':')?;
            match name {
                b"m" => bits = self.number(),
                b"k" => hashes = self.number(),
                b"b" => set = self.text(),
                _ => return None,
            }
            before = b',';
        }
        self.pass(b'}')?;
        self.rest.trim_ascii().is_empty().then_some(())?;
        Some((bits?, hashes?, set?))
    }

    #[inline(never)]
    fn pass(&mut self, token: u8) -> Option<()> {
        self.rest = self.rest.trim_ascii_start().strip_prefix(&[token])?;
        Some(())
    }

    #[inline(never)]
    fn text(&mut self) -> Option<&'a [u8]> {
        self.pass(b'"')?;
        let (text, rest) = self.rest.split_at_checked(memchr::memchr(b'"', self.rest)?)?;
        self.rest = &rest[1..];
        Some(text)
    }

    fn number(&mut self) -> Option<u64> {
        let from = self.rest.trim_ascii_start();
        let digits = from.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = from.split_at_checked(digits)?;
        self.rest = rest;
        number(digits)
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
