//! Rows as they could lie in a storage that somebody else writes to: of arbitrary recordings or of arbitrary content,
//! with a checksum that is right, and then perhaps damaged.

use arbitrary::Arbitrary;

use crate::common::device::PREFIX;
use crate::common::{base64_of, sealed};
use crate::pieces::{Bytes, Few, Id, Number, Time};
use crate::shards::Change;

#[derive(Debug, Clone, Arbitrary)]
pub struct RowInput<'a> {
    /// How many clears its writer knew of.
    clears: u8,
    pieces: Few<Piece<'a>, 6>,
    damage: Few<Change, 2>,
}

#[derive(Debug, Clone, Arbitrary)]
enum Piece<'a> {
    Recordings(Few<RecordingInput, 24>),
    /// As many recordings of one kind as limits are about: up to some 8,000, few of them often.
    Run {
        first: u16,
        count: u8,
        recording: RecordingInput,
    },
    Content(Bytes<'a>),
}

#[derive(Debug, Clone, Arbitrary)]
struct RecordingInput {
    id: Id,
    flags: u8,
    /// By how much its counter is higher than that of the one before.
    count: Number,
    at: Time,
    deliveries: u8,
    delivered_at: Time,
}

/// The metadata of the namespace.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct MetaInput {
    pub reporting: bool,
    floor: Option<(Time, Time)>,
}

/// The counter of the recording before.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    seq: u64,
}

impl RowInput<'_> {
    /// The number of the latest clear that the row stands under.
    pub fn number(&self) -> u64 {
        u64::from(self.clears % 3)
    }

    pub fn key(&self, writer: usize) -> String {
        format!("{PREFIX}{:011}/r/{writer}/1", self.number())
    }

    pub fn text(&self) -> String {
        let mut content = Content::default();
        for piece in &self.pieces.0 {
            match piece {
                Piece::Recordings(recordings) => {
                    for recording in &recordings.0 {
                        content.push(recording, recording.id.text().as_bytes());
                    }
                }
                Piece::Run {
                    first,
                    count,
                    recording,
                } => {
                    for number in 0..(u32::from(*count).pow(3) >> 11) as u16 {
                        content.push(recording, format!("run-{}", first.wrapping_add(number)).as_bytes());
                    }
                }
                Piece::Content(bytes) => content.bytes.extend_from_slice(bytes.0),
            }
        }
        let mut text = base64_of(&sealed(content.bytes)).into_bytes();
        for change in &self.damage.0 {
            change.apply(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl MetaInput {
    /// The server's time of a deletion and the device's, if there was one.
    pub fn floor(&self) -> Option<(u32, u64)> {
        let (deleted_at, at) = self.floor?;
        let can_be = deleted_at.seconds() > 0 && at.ms() < 1 << 53;
        can_be.then_some((deleted_at.seconds(), at.ms()))
    }

    pub fn text(&self) -> String {
        let (deleted_at, at) = self.floor().unwrap_or((0, 0));
        format!("20000,30,{},{deleted_at},{at},", u8::from(self.reporting))
    }
}

impl Content {
    fn push(&mut self, recording: &RecordingInput, id: &[u8]) {
        let (flags, deliveries) = (recording.flags & 7, recording.deliveries % 4);
        self.bytes.push(flags | deliveries << 3);
        let count = recording.count.get() & (1 << 53) - 1;
        self.push_number(count);
        self.seq = self.seq.wrapping_add(count);
        let at = recording.at.ms() & (1 << 53) - 1;
        self.push_difference(at, self.seq);
        if flags & 4 == 0 {
            let hash = seenguard::hash::hash_id(id, 0);
            return self.bytes.extend_from_slice(&hash.to_le_bytes());
        }
        self.push_number(id.len() as u64);
        self.bytes.extend_from_slice(id);
        if deliveries > 0 {
            self.push_difference(recording.delivered_at.ms() & (1 << 53) - 1, at);
        }
    }

    fn push_difference(&mut self, number: u64, base: u64) {
        let difference = number.wrapping_sub(base) as i64;
        self.push_number(((difference << 1) ^ (difference >> 63)) as u64);
    }

    /// LEB128.
    fn push_number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}
