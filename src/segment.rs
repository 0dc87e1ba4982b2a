//! Segments: what a writer of this device puts into storage, as ASCII text.
//!
//! A segment is written once, under a key of its writer's, and never rewritten. Its first line names the format and its version; each further
//! line is a record: base64 of a kind (1 byte), the record's content and the low 32 bits of XXH64 of both, seeded with the version. So whatever
//! damages a part of a segment costs the records of that part alone, and if it hits the first line, the records still tell their version.
//!
//! | kind | content |
//! | --- | --- |
//! | `i` | impressions, each: time (Unix ms), flags (1 covered, 2 to be delivered, 4 in a shard of this segment), the id's length, its UTF-8 bytes |
//! | `d` | deliveries, each: the impression's time (Unix ms) and XXH64 of its id (8 bytes), how often it was delivered, when last (Unix ms) |
//! | `p` | impressions recorded before that are to be delivered since, each as in `i` |
//! | `h` | impressions that only the memory needs, each: time (Unix ms), XXH64 of the id (8 bytes) |
//! | `m` | a shard of the memory: when it was begun (Unix s), the counter at its last insertion, the native shard's bytes |
//! | `c` | the namespace's impression counter as the writer knew it; how many of these impressions the writer has counted itself |
//!
//! Numbers without a size are LEB128. Kinds that are not known are passed over, so a later version may add some; one that changes the meaning of
//! these has another first line, and is left alone by this one.

use crate::Shard;
use crate::hash::{HashedId, hash_id};
use crate::journal::Entry;
use crate::memory::{Age, StoredShard};
use crate::wire::base64;

const FORMAT: &str = "SGJ";
const VERSION: &str = "1";
const VERSION_SEED: u64 = 1;
/// A record is closed when its content has become this long: damage costs no more than that.
const RECORD_BYTES: usize = 4096;
const CHECKSUM_BYTES: usize = 4;

const COVERED: u8 = 1;
const TO_DELIVER: u8 = 2;
const IN_SHARD: u8 = 4;

/// Builds a segment's text.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentWriter {
    lines: String,
    impressions: Vec<u8>,
    hashes: Vec<u8>,
    promises: Vec<u8>,
    deliveries: Vec<u8>,
}

impl SegmentWriter {
    pub(crate) fn is_empty(&self) -> bool {
        let open = [&self.impressions, &self.hashes, &self.promises, &self.deliveries];
        self.lines.is_empty() && open.iter().all(|content| content.is_empty())
    }

    /// An impression with its id; `in_shard`: this segment has a shard of the memory that contains it.
    pub(crate) fn impression(&mut self, entry: &Entry, in_shard: bool) {
        push_impression(&mut self.impressions, entry, in_shard);
        if self.impressions.len() >= RECORD_BYTES {
            self.close_records();
        }
    }

    /// An impression that only the memory needs.
    pub(crate) fn hash(&mut self, id: HashedId<'_>, at: u64) {
        push_number(&mut self.hashes, at);
        self.hashes.extend_from_slice(&id.unseeded().to_le_bytes());
        if self.hashes.len() >= RECORD_BYTES {
            self.close_records();
        }
    }

    /// That an impression is to be delivered, which was written before as one that need not be. With its id: a writer that has taken that over and
    /// has not heard of this may drop it as covered.
    pub(crate) fn promise(&mut self, entry: &Entry) {
        push_impression(&mut self.promises, entry, false);
        if self.promises.len() >= RECORD_BYTES {
            self.close_records();
        }
    }

    /// That an impression was delivered.
    pub(crate) fn delivery(&mut self, entry: &Entry) {
        let (hash, at) = entry.key();
        push_number(&mut self.deliveries, at);
        self.deliveries.extend_from_slice(&hash.to_le_bytes());
        self.deliveries.push(entry.delivery.times);
        push_number(&mut self.deliveries, entry.delivery.at);
        if self.deliveries.len() >= RECORD_BYTES {
            self.close_records();
        }
    }

    pub(crate) fn shard(&mut self, stored: StoredShard) {
        let mut content = Vec::new();
        push_number(&mut content, stored.age.begun);
        push_number(&mut content, stored.age.last);
        let shard = Shard {
            filter: stored.filter,
            count: stored.age.count,
            epoch: 0,
            expires: stored.age.expires,
        };
        content.extend_from_slice(&shard.to_bytes());
        push_record(&mut self.lines, b'm', &content);
    }

    /// The whole segment.
    pub(crate) fn finish(mut self, count: Count) -> String {
        self.close_records();
        let mut content = Vec::new();
        push_number(&mut content, count.counter);
        push_number(&mut content, count.recorded);
        // The counter comes last: a segment without one was cut off.
        push_record(&mut self.lines, b'c', &content);
        format!("{FORMAT}{VERSION}\n{}", self.lines)
    }

    fn close_records(&mut self) {
        for (kind, content) in [
            (b'i', &mut self.impressions),
            (b'h', &mut self.hashes),
            (b'p', &mut self.promises),
            (b'd', &mut self.deliveries),
        ] {
            if !content.is_empty() {
                push_record(&mut self.lines, kind, content);
                content.clear();
            }
        }
    }
}

/// How far impressions had been counted when a segment was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// The namespace's impression counter as the writer knew it.
    pub(crate) counter: u64,
    /// How many impressions the writer had counted itself.
    pub(crate) recorded: u64,
}

/// What a segment holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Impression {
        entry: Entry,
        /// Whether a shard of the same segment contains it, so that the memory need not take it once more.
        in_shard: bool,
    },
    Hash {
        hash: u64,
        at: u64,
    },
    /// An impression that was written before, and is to be delivered since.
    Promised {
        entry: Entry,
    },
    Delivered {
        hash: u64,
        at: u64,
        times: u8,
        delivered_at: u64,
    },
    Shard(StoredShard),
    Count(Count),
}

/// How much of a segment could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SegmentState {
    /// All.
    Whole,
    /// Some or nothing: the text is not what was written.
    Damaged,
    /// Nothing: a later version of this library wrote it.
    Newer,
}

/// Reads what can be read. Never fails: what cannot be read is told by the state.
pub(crate) fn read(text: &str) -> (Vec<Record>, SegmentState) {
    let mut lines = text.lines();
    let version = lines.next().and_then(|line| line.strip_prefix(FORMAT));
    if version == Some(VERSION) {
        return read_records(lines);
    }
    // The first line may be what was damaged; the records vouch for themselves.
    let (records, _) = read_records(text.lines());
    let is_number =
        version.is_some_and(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()));
    if records.is_empty() && is_number {
        return (records, SegmentState::Newer);
    }
    (records, SegmentState::Damaged)
}

fn read_records<'a>(lines: impl Iterator<Item = &'a str>) -> (Vec<Record>, SegmentState) {
    let (mut records, mut state, mut counted) = (Vec::new(), SegmentState::Whole, false);
    for line in lines {
        if read_record(line, &mut records).is_none() {
            state = SegmentState::Damaged;
        }
        counted |= matches!(records.last(), Some(Record::Count(_)));
    }
    (records, if counted { state } else { SegmentState::Damaged })
}

fn read_record(line: &str, records: &mut Vec<Record>) -> Option<()> {
    let bytes = base64::decode(line).ok()?;
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
    if checksum != checksum_of(body) {
        return None;
    }
    let (kind, content) = body.split_first()?;
    let mut reader = Reader { bytes: content };
    match kind {
        b'i' => {
            while !reader.bytes.is_empty() {
                let (entry, in_shard) = reader.impression()?;
                records.push(Record::Impression { entry, in_shard });
            }
        }
        b'h' => {
            while !reader.bytes.is_empty() {
                records.push(Record::Hash {
                    at: reader.number()?,
                    hash: reader.hash()?,
                });
            }
        }
        b'p' => {
            while !reader.bytes.is_empty() {
                let (entry, _) = reader.impression()?;
                records.push(Record::Promised { entry });
            }
        }
        b'd' => {
            while !reader.bytes.is_empty() {
                let (at, hash) = (reader.number()?, reader.hash()?);
                let (times, delivered_at) = (reader.byte()?, reader.number()?);
                records.push(Record::Delivered {
                    hash,
                    at,
                    times,
                    delivered_at,
                });
            }
        }
        b'm' => {
            let (begun, last) = (reader.number()?, reader.number()?);
            let shard = Shard::from_bytes(reader.bytes).ok()?;
            let age = Age {
                count: shard.count,
                begun,
                expires: shard.expires,
                last,
            };
            records.push(Record::Shard(StoredShard {
                filter: shard.filter,
                age,
            }));
        }
        b'c' => {
            let (counter, recorded) = (reader.number()?, reader.number()?);
            records.push(Record::Count(Count { counter, recorded }));
        }
        _ => {}
    }
    Some(())
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn hash(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// An impression, and whether a shard of the same segment contains it.
    fn impression(&mut self) -> Option<(Entry, bool)> {
        let at = self.number()?;
        let flags = self.byte()?;
        let length = usize::try_from(self.number()?).ok()?;
        let mut entry = Entry::new(HashedId::new(self.take(length)?), at, true);
        entry.covered = flags & COVERED != 0;
        entry.to_deliver = flags & TO_DELIVER != 0;
        Some((entry, flags & IN_SHARD != 0))
    }
}

fn push_impression(out: &mut Vec<u8>, entry: &Entry, in_shard: bool) {
    push_number(out, entry.at);
    let flags = [
        (entry.covered, COVERED),
        (entry.to_deliver, TO_DELIVER),
        (in_shard, IN_SHARD),
    ];
    out.push(flags.iter().map(|&(holds, flag)| u8::from(holds) * flag).sum());
    push_number(out, entry.id.len() as u64);
    out.extend_from_slice(&entry.id);
}

fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_record(out: &mut String, kind: u8, content: &[u8]) {
    let mut bytes = Vec::with_capacity(1 + content.len() + CHECKSUM_BYTES);
    bytes.push(kind);
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&checksum_of(&bytes));
    out.push_str(&base64::encode(&bytes));
    out.push('\n');
}

fn checksum_of(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (hash_id(body, VERSION_SEED) as u32).to_le_bytes()
}
