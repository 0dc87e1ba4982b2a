//! Chunks of stored texts: base64 of a kind (1 byte), a content, and the low 32 bits of XXH64 (seed 0) of both. Numbers
//! in a content are LEB128.

use super::recording::{MAX_AT, MAX_SEQ};
use crate::error::Error;
use crate::hash::hash_id;
use crate::wire::base64;

const CHECKSUM_BYTES: usize = 4;

/// Damage, whatever it is: a stored text is not what was written.
pub(super) const DAMAGED: Error = Error::BadPayload("a stored text is damaged");

/// Appends a chunk as a line.
pub(super) fn push(text: &mut String, kind: u8, content: &[u8]) {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&checksum_of(&bytes));
    text.push_str(&base64::encode(&bytes));
    text.push('\n');
}

/// A line that was read.
pub(super) struct Chunk {
    /// The kind and the content.
    body: Vec<u8>,
}

impl Chunk {
    /// # Errors
    /// [`Error::OutOfMemory`]; all else is damage.
    pub(super) fn read(line: &[u8]) -> Result<Chunk, Error> {
        let mut body = base64::decode(line)?;
        let length = body.len().checked_sub(CHECKSUM_BYTES).filter(|&length| length > 0);
        let checksum = body.split_off(length.ok_or(DAMAGED)?);
        if checksum != checksum_of(&body) {
            return Err(DAMAGED);
        }
        Ok(Chunk { body })
    }

    pub(super) fn kind(&self) -> u8 {
        self.body[0]
    }

    pub(super) fn content(&self) -> Reader<'_> {
        Reader { bytes: &self.body[1..] }
    }
}

/// Appends a number.
pub(super) fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a content from its beginning on.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(DAMAGED)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// A hash of an id.
    pub(super) fn hash(&mut self) -> Result<u64, Error> {
        let bytes = self.take(8)?.try_into().map_err(|_| DAMAGED)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn number(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DAMAGED)
    }

    /// A number that says how long or how many.
    pub(super) fn count_to(&mut self, most: usize) -> Result<usize, Error> {
        let count = self.number_to(most as u64)?;
        usize::try_from(count).map_err(|_| DAMAGED)
    }

    /// A count of the table.
    pub(super) fn seq(&mut self) -> Result<u64, Error> {
        self.number_to(MAX_SEQ)
    }

    /// A time, Unix milliseconds.
    pub(super) fn time(&mut self) -> Result<u64, Error> {
        self.number_to(MAX_AT)
    }

    /// A time, Unix seconds.
    pub(super) fn seconds(&mut self) -> Result<u32, Error> {
        u32::try_from(self.number()?).map_err(|_| DAMAGED)
    }

    fn number_to(&mut self, most: u64) -> Result<u64, Error> {
        self.number().and_then(|number| within(number, most))
    }
}

/// # Errors
/// Damage, if the number is larger than what was written can be.
pub(super) fn within(number: u64, most: u64) -> Result<u64, Error> {
    if number <= most { Ok(number) } else { Err(DAMAGED) }
}

/// Small differences, of either sign, as small numbers.
pub(super) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn checksum_of(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (hash_id(body, 0) as u32).to_le_bytes()
}
