//! A row: facts about the namespace and recordings of the table, as one ASCII string.
//!
//! A row is written once, under a key of its own, and never overwritten. It is the base64 of its facts, of up to 1,000
//! recordings by ascending counter, and of a checksum, the low 32 bits of the XXH64 (seed 0) of all of it (4 bytes). A
//! damaged row is ignored as a whole.
//!
//! The facts:
//! - flags (1 byte): 1 impressions were delivered, 2 the history was deleted, 4 the device has a name;
//! - the day of the last use (days since 1970), and the window (days);
//! - with flag 2 the time of the deletion by the server's clock (Unix s) and by the device's (Unix ms);
//! - with flag 4 the name, as a number.
//!
//! Each recording:
//! - flags (1 byte): 1 unseen, 2 covered, 4 the id is a string, and from 8 on the number of deliveries;
//! - the counter, as the difference to the recording before it;
//! - the time (Unix ms), as the difference to the counter;
//! - the id: its length and UTF-8 bytes, or its XXH64 (8 bytes);
//! - if it is a string and was delivered, the time of the last delivery (Unix ms), as the difference to the time.
//!
//! Numbers are LEB128; differences that may be negative are zigzag-encoded.

use super::facts::{Deletion, Facts, MAX_DAY, MAX_WINDOW_DAYS};
use super::recording::{EARLY_LOCAL, Kind, MAX_AT, MAX_DELIVERIES, MAX_SEQ, Recording, Undelivered};
use super::{MAX_ROW, Table};
use crate::base64;
use crate::devices::DeviceName;
use crate::hash::hash_id;
use crate::rank::Rank;

const REPORTED: u8 = 1;
const DELETED: u8 = 2;
const NAMED: u8 = 4;

const UNSEEN: u8 = 1;
const COVERED: u8 = 2;
const TEXT: u8 = 4;
const DELIVERY: u8 = 8;

const CHECKSUM_BYTES: usize = 4;
/// Most bytes of the facts and the checksum together.
const FRAME_BYTES: usize = 64;
/// Most bytes of a recording without its id.
const RECORDING_BYTES: usize = 32;

/// The content of a row.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) facts: Facts,
    /// Each with the hash of its id.
    pub(crate) recordings: Vec<(u64, Recording)>,
}

/// The number of bytes of recordings that always fit into a row of this many characters.
pub(super) fn room_in(characters: usize) -> usize {
    (characters / 4 * 3).saturating_sub(FRAME_BYTES)
}

/// An upper bound of a recording's bytes in a row.
pub(super) fn most_bytes_of(recording: &Recording) -> usize {
    RECORDING_BYTES + recording.id_string_bytes()
}

/// Writes the facts and the table's recordings of these ids, which are in ascending order.
pub(super) fn write(table: &Table, facts: &Facts, ids: &[Rank]) -> String {
    let mut bytes = Vec::new();
    push_facts(&mut bytes, facts);
    let mut before = 0;
    for &(_, _, hash) in ids {
        if let Some(recording) = table.get(hash) {
            push_recording(&mut bytes, hash, recording, before);
            before = recording.seq;
        }
    }
    let checksum = checksum_of(&bytes);
    bytes.extend_from_slice(&checksum);
    base64::encode(&bytes)
}

fn push_facts(bytes: &mut Vec<u8>, facts: &Facts) {
    bytes.push(
        flag(facts.reported, REPORTED)
            | flag(facts.deletion.is_some(), DELETED)
            | flag(facts.device_name.is_some(), NAMED),
    );
    push_number(bytes, facts.day);
    push_number(bytes, facts.window_days);
    if let Some(deletion) = facts.deletion {
        push_number(bytes, deletion.deleted_at.into());
        push_number(bytes, deletion.at);
    }
    if let Some(name) = facts.device_name {
        push_number(bytes, name.number());
    }
}

fn push_recording(bytes: &mut Vec<u8>, hash: u64, recording: &Recording, before: u64) {
    let undelivered = recording.undelivered.as_deref();
    bytes.push(
        flag(recording.is_unseen(), UNSEEN)
            | flag(recording.covered, COVERED)
            | flag(undelivered.is_some(), TEXT)
            | (recording.deliveries * DELIVERY),
    );
    push_number(bytes, recording.seq - before);
    push_difference(bytes, recording.at, recording.seq);
    match undelivered {
        Some(undelivered) => {
            push_number(bytes, undelivered.id.len() as u64);
            bytes.extend_from_slice(undelivered.id.as_bytes());
            if recording.deliveries > 0 {
                push_difference(bytes, undelivered.delivered_at, recording.at);
            }
        }
        None => bytes.extend_from_slice(&hash.to_le_bytes()),
    }
}

fn flag(holds: bool, flag: u8) -> u8 {
    if holds { flag } else { 0 }
}

/// Reads a row; `None` if it is damaged. A clear writes an empty one.
pub(crate) fn read(text: &[u8]) -> Option<Row> {
    if text.is_empty() {
        return Some(Row::default());
    }
    let bytes = base64::decode(text).ok()?;
    let (bytes, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    if checksum != checksum_of(bytes) {
        return None;
    }
    let mut reader = Reader { bytes };
    let facts = reader.facts()?;
    let mut recordings = Vec::new();
    let mut before = 0;
    while !reader.bytes.is_empty() {
        if recordings.len() == MAX_ROW {
            return None;
        }
        let (hash, recording) = reader.recording(before)?;
        before = recording.seq;
        recordings.push((hash, recording));
    }
    Some(Row { facts, recordings })
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

/// Reads values from bytes; `None` if the bytes end early or a value is out of range.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn facts(&mut self) -> Option<Facts> {
        let flags = self.byte()?;
        let mut facts = Facts {
            day: self.number_up_to(MAX_DAY)?,
            window_days: self.number_up_to(MAX_WINDOW_DAYS)?,
            reported: flags & REPORTED != 0,
            ..Facts::default()
        };
        if flags & DELETED != 0 {
            facts.deletion = Some(Deletion {
                deleted_at: self.number_up_to(u32::MAX.into())? as u32,
                at: self.number_up_to(MAX_AT)?,
            });
        }
        if flags & NAMED != 0 {
            facts.device_name = Some(DeviceName::from_number(self.number()?)?);
        }
        Some(facts)
    }

    fn recording(&mut self, before: u64) -> Option<(u64, Recording)> {
        let flags = self.byte()?;
        let deliveries = flags / DELIVERY;
        let seq = before.checked_add(self.number()?)?;
        let at = self.difference(seq)?;
        let (hash, undelivered) = if flags & TEXT != 0 {
            let length = usize::try_from(self.number()?).ok()?;
            let id = std::str::from_utf8(self.take(length)?).ok()?;
            let mut undelivered = Undelivered::new(id);
            if deliveries > 0 {
                undelivered.delivered_at = self.difference(at)?;
            }
            (hash_id(id.as_bytes(), 0), Some(undelivered))
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
            change: 0,
            can_wait: false,
        };
        let is_possible = seq != EARLY_LOCAL && seq <= MAX_SEQ && deliveries <= MAX_DELIVERIES;
        is_possible.then_some((hash, recording))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        let mut shift = 0;
        while shift < 63 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
        None
    }

    fn number_up_to(&mut self, most: u64) -> Option<u64> {
        self.number().filter(|&number| number <= most)
    }

    /// Reads a time that was written as the difference to `base`.
    fn difference(&mut self, base: u64) -> Option<u64> {
        let number = self.number()?;
        let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
        base.checked_add_signed(difference).filter(|&time| time <= MAX_AT)
    }
}
