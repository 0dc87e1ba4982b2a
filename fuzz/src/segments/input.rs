//! Segments as they could lie in a storage that somebody else writes to: of arbitrary recordings or of arbitrary
//! content, in chunks whose checksums are right, and then perhaps damaged.

use arbitrary::Arbitrary;

use crate::common::{base64_of, sealed};
use crate::pieces::{Bytes, Few, Id, Number, Time};
use crate::shards::Change;

#[derive(Debug, Clone, Arbitrary)]
pub struct SegmentInput<'a> {
    /// 0 for the version that is known; else another first line.
    version: u8,
    /// What the header's number of recordings is off by.
    miscount: i8,
    reporting: bool,
    forgotten: Option<(Time, Time)>,
    chunks: Few<ChunkInput<'a>, 6>,
    damage: Few<Change, 2>,
}

#[derive(Debug, Clone, Arbitrary)]
enum ChunkInput<'a> {
    Recordings(Few<RecordingInput, 24>),
    /// As many recordings of one kind as limits are about: up to some 8,000, few of them often.
    Run {
        first: u16,
        count: u8,
        recording: RecordingInput,
    },
    Content {
        kind: u8,
        content: Bytes<'a>,
    },
    Line(Bytes<'a>),
}

#[derive(Debug, Clone, Arbitrary)]
struct RecordingInput {
    id: Id,
    flags: u8,
    /// By how much its counter is higher than that of the one before.
    count: Number,
    at: Time,
    deliveries: (u8, Number, Time),
}

/// What a segment says of the device beside its recordings; of most nothing.
#[derive(Debug, Clone, Copy, Default, Arbitrary)]
pub struct Mark {
    /// The number of the latest clear.
    clear: Option<Time>,
    device_name: Option<Number>,
}

/// What a recordings chunk is written with.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    /// Of the recording before.
    at_ms: u64,
    recordings: u64,
}

impl SegmentInput<'_> {
    pub fn text(&self, mark: Mark) -> Vec<u8> {
        let (mut lines, mut recordings) = (Vec::new(), 0u64);
        for chunk in &self.chunks.0 {
            let (line, count) = chunk.line();
            recordings += count;
            lines.push(line);
        }
        let count = recordings.saturating_add_signed(self.miscount.into());
        let forgotten = self.forgotten.map(|(before, at)| (before.seconds(), at.ms()));
        let header = [
            count,
            self.reporting.into(),
            forgotten.map_or(0, |(before, _)| before.into()),
            forgotten.map_or(0, |(_, at)| at),
            mark.device_name.map_or(0, Number::get),
        ];
        let version = format!("SGI{}", u16::from(self.version) + 1).into_bytes();
        let clear = [mark.clear.map_or(0, Time::ms)];
        lines.splice(0..0, [version, numbers(b'c', &clear), numbers(b'h', &header)]);
        let mut text = lines.join(&b'\n');
        text.push(b'\n');
        for change in &self.damage.0 {
            change.apply(&mut text);
        }
        text
    }
}

impl ChunkInput<'_> {
    /// The line, and how many recordings it holds.
    fn line(&self) -> (Vec<u8>, u64) {
        let mut content = Content::default();
        match self {
            ChunkInput::Recordings(recordings) => {
                for recording in &recordings.0 {
                    content.push(recording, recording.id.text().as_bytes());
                }
            }
            ChunkInput::Run {
                first,
                count,
                recording,
            } => {
                for number in 0..(u32::from(*count).pow(3) >> 11) as u16 {
                    let id = format!("run-{}", first.wrapping_add(number));
                    content.push(recording, id.as_bytes());
                }
            }
            ChunkInput::Content { kind, content } => {
                let body = [&[*kind], content.0].concat();
                return (base64_of(&sealed(body)).into_bytes(), 0);
            }
            ChunkInput::Line(line) => return (line.0.to_vec(), 0),
        }
        let line = base64_of(&sealed([&b"r"[..], &content.bytes].concat()));
        (line.into_bytes(), content.recordings)
    }
}

impl Content {
    fn push(&mut self, recording: &RecordingInput, id: &[u8]) {
        let flags = recording.flags & 31;
        self.bytes.push(flags);
        push_number(&mut self.bytes, recording.count.get() & (1 << 53) - 1);
        let at_ms = recording.at.ms() & (1 << 53) - 1;
        let difference = at_ms as i64 - self.at_ms as i64;
        push_number(&mut self.bytes, ((difference << 1) ^ (difference >> 63)) as u64);
        if flags & 8 != 0 {
            push_number(&mut self.bytes, id.len() as u64);
            self.bytes.extend_from_slice(id);
        } else {
            self.bytes
                .extend_from_slice(&seenguard::hash::hash_id(id, 0).to_le_bytes());
        }
        if flags & 16 != 0 {
            let (times, first, last) = recording.deliveries;
            self.bytes.push(times);
            push_number(&mut self.bytes, first.get() & (1 << 53) - 1);
            push_number(&mut self.bytes, last.ms() & (1 << 53) - 1);
        }
        self.at_ms = at_ms;
        self.recordings += 1;
    }
}

/// A chunk of numbers, as a line.
fn numbers(kind: u8, numbers: &[u64]) -> Vec<u8> {
    let mut body = vec![kind];
    for &number in numbers {
        push_number(&mut body, number);
    }
    base64_of(&sealed(body)).into_bytes()
}

/// LEB128.
fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
