//! A row: recordings of the table as one ASCII text, the value in every kind of storage.
//!
//! A row is written once, under a key that no other has, and never rewritten. It is the base64 of its recordings by
//! ascending counter, and of the low 32 bits of the XXH64 (seed 0) of them all (4 bytes): damage costs the row. Each
//! recording:
//! - flags (1 byte): 1 unseen, 2 covered, 4 the id is text, and from 8 on how often it was delivered;
//! - the counter, as the difference to the recording before it;
//! - the time (Unix ms), as the difference to the counter;
//! - the id: the length and UTF-8 bytes of its text, else its XXH64 (8 bytes);
//! - if it is text and was delivered, when it last was (Unix ms), as the difference to the time.
//!
//! Numbers are LEB128, differences of either sign zigzag.

use super::Table;
use super::recording::{Kind, MAX_AT, MAX_DELIVERIES, MAX_SEQ, Rank, Recording, Undelivered};
use crate::base64;
use crate::hash::hash_id;

const UNSEEN: u8 = 1;
const COVERED: u8 = 2;
const TEXT: u8 = 4;
const DELIVERY: u8 = 8;
const CHECKSUM_BYTES: usize = 4;

/// Writes the recordings of those of these ids that the table has now.
pub(crate) fn write(table: &Table, ids: &[Rank]) -> String {
    let mut bytes = Vec::new();
    let mut before = 0;
    // An id that was recorded again since has another rank.
    for Rank { hash, .. } in table.ranks_of(ids.iter().map(|id| id.hash).collect()) {
        let Some(recording) = table.get(hash) else { continue };
        let undelivered = recording.undelivered.as_deref();
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        bytes.push(
            flag(recording.is_unseen(), UNSEEN)
                | flag(recording.covered, COVERED)
                | flag(undelivered.is_some(), TEXT)
                | (recording.deliveries * DELIVERY),
        );
        push_number(&mut bytes, recording.seq - before);
        before = recording.seq;
        push_difference(&mut bytes, recording.at, recording.seq);
        match undelivered {
            Some(undelivered) => {
                push_number(&mut bytes, undelivered.id.len() as u64);
                bytes.extend_from_slice(&undelivered.id);
                if recording.deliveries > 0 {
                    push_difference(&mut bytes, undelivered.delivered_at, recording.at);
                }
            }
            None => bytes.extend_from_slice(&hash.to_le_bytes()),
        }
    }
    let checksum = checksum_of(&bytes);
    bytes.extend_from_slice(&checksum);
    base64::encode(&bytes)
}

/// Reads the recordings of a row, each with the hash of its id; `None` if the text is damaged. `is_for_us`: this tab
/// delivers them.
pub(crate) fn read(text: &str, is_for_us: bool) -> Option<Vec<(u64, Recording)>> {
    let bytes = base64::decode(text.as_bytes()).ok()?;
    let (bytes, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    if checksum != checksum_of(bytes) {
        return None;
    }
    let mut reader = Reader { bytes };
    let mut recordings = Vec::new();
    let mut before = 0;
    while !reader.bytes.is_empty() {
        let (hash, recording) = reader.recording(before, is_for_us)?;
        before = recording.seq;
        recordings.push((hash, recording));
    }
    Some(recordings)
}

fn checksum_of(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (hash_id(bytes, 0) as u32).to_le_bytes()
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn push_difference(bytes: &mut Vec<u8>, number: u64, base: u64) {
    let difference = number as i64 - base as i64;
    push_number(bytes, ((difference << 1) ^ (difference >> 63)) as u64);
}

/// Reads values from bytes; `None` if they end too soon or are out of range.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn recording(&mut self, before: u64, is_for_us: bool) -> Option<(u64, Recording)> {
        let flags = self.take(1)?[0];
        let deliveries = flags / DELIVERY;
        let seq = before.checked_add(self.number()?)?;
        let at = self.difference(seq)?;
        let (hash, undelivered) = if flags & TEXT != 0 {
            let length = usize::try_from(self.number()?).ok()?;
            let id = self.take(length)?;
            let mut undelivered = Box::new(Undelivered::found(id, is_for_us));
            if deliveries > 0 {
                undelivered.delivered_at = self.difference(at)?;
            }
            (hash_id(id, 0), Some(undelivered))
        } else {
            (u64::from_le_bytes(self.take(8)?.try_into().ok()?), None)
        };
        let recording = Recording {
            seq,
            at,
            kind: if flags & UNSEEN != 0 { Kind::Unseen } else { Kind::Seen },
            covered: flags & COVERED != 0,
            deliveries,
            undelivered,
        };
        (seq <= MAX_SEQ && deliveries <= MAX_DELIVERIES).then_some((hash, recording))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a time that was written as the difference to `base`.
    fn difference(&mut self, base: u64) -> Option<u64> {
        let number = self.number()?;
        let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
        base.checked_add_signed(difference).filter(|&time| time <= MAX_AT)
    }
}
