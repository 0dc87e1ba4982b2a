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
const FIRST_LINE: &str = "SGJ1\n";
const VERSION_SEED: u64 = 1;
/// A record is closed when its content has become this long: damage costs no more than that.
const RECORD_BYTES: usize = 4096;
const CHECKSUM_BYTES: usize = 4;

const COVERED: u8 = 1;
const TO_DELIVER: u8 = 2;
const IN_SHARD: u8 = 4;

/// The kinds whose records hold several things each, in the order in which open records are closed.
const KINDS: [u8; 4] = *b"ihpd";
const IMPRESSIONS: usize = 0;
pub(crate) const HASHES: usize = 1;
pub(crate) const PROMISES: usize = 2;
pub(crate) const DELIVERIES: usize = 3;

/// Builds a segment's text.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentWriter {
    lines: String,
    /// The contents of the records that are open, one of each of [`KINDS`].
    open: [Vec<u8>; KINDS.len()],
}

impl SegmentWriter {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.open.iter().all(Vec::is_empty)
    }

    /// An impression with its id; `in_shard`: this segment has a shard of the memory that contains it.
    pub(crate) fn impression(&mut self, entry: &Entry, in_shard: bool) {
        self.push_impression(IMPRESSIONS, entry, in_shard);
    }

    /// That an impression is to be delivered, which was written before as one that need not be. With its id: a writer that has taken that over and
    /// has not heard of this may drop it as covered.
    pub(crate) fn promise(&mut self, entry: &Entry) {
        self.push_impression(PROMISES, entry, false);
    }

    fn push_impression(&mut self, kind: usize, entry: &Entry, in_shard: bool) {
        let content = &mut self.open[kind];
        push_number(content, entry.at);
        let flag = |holds: bool, flag: u8| u8::from(holds) * flag;
        let flags = flag(entry.covered, COVERED) | flag(entry.to_deliver, TO_DELIVER) | flag(in_shard, IN_SHARD);
        content.extend_from_slice(&[flags]);
        push_number(content, entry.id.len() as u64);
        content.extend_from_slice(&entry.id);
        self.close(RECORD_BYTES);
    }

    /// An impression that only the memory needs.
    pub(crate) fn hash(&mut self, id: HashedId<'_>, at: u64) {
        self.push_key(HASHES, (id.unseeded(), at));
        self.close(RECORD_BYTES);
    }

    /// That an impression was delivered.
    pub(crate) fn delivery(&mut self, entry: &Entry) {
        self.push_key(DELIVERIES, entry.key());
        let content = &mut self.open[DELIVERIES];
        content.extend_from_slice(&[entry.delivery.times]);
        push_number(content, entry.delivery.at);
        self.close(RECORD_BYTES);
    }

    fn push_key(&mut self, kind: usize, (hash, at): (u64, u64)) {
        push_number(&mut self.open[kind], at);
        self.open[kind].extend_from_slice(&hash.to_le_bytes());
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
        content.extend_from_slice(&shard.to_bytes().unwrap_or_default());
        push_record(&mut self.lines, b'm', &content);
    }

    /// The whole segment.
    pub(crate) fn finish(mut self, count: Count) -> String {
        self.close(1);
        let mut content = Vec::new();
        push_number(&mut content, count.counter);
        push_number(&mut content, count.recorded);
        // The counter comes last: a segment without one was cut off.
        push_record(&mut self.lines, b'c', &content);
        self.lines.insert_str(0, FIRST_LINE);
        self.lines
    }

    /// Closes all open records if one has become so long.
    #[inline(never)]
    fn close(&mut self, length: usize) {
        if self.open.iter().all(|content| content.len() < length) {
            return;
        }
        for (kind, content) in KINDS.into_iter().zip(&mut self.open) {
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

/// What a segment holds, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub(crate) told: Vec<Told>,
    pub(crate) shards: Vec<StoredShard>,
    pub(crate) count: Option<Count>,
    pub(crate) state: SegmentState,
}

/// What is told of an impression.
#[derive(Debug)]
pub(crate) struct Told {
    /// The namespace's impression counter when it was recorded, as [`Age::last`].
    pub(crate) last: u64,
    /// One of [`KINDS`].
    pub(crate) kind: usize,
    /// Without its id in [`HASHES`] and [`DELIVERIES`]; with its delivery in these alone.
    pub(crate) entry: Box<Entry>,
    /// Whether a shard of the same segment contains it, so that the memory need not take it once more.
    pub(crate) in_shard: bool,
}

impl Told {
    /// Where it comes among all that is told: as impressions were recorded, of one impression the promise first, since without it a snapshot that
    /// covers it would let it go; then deliveries, as they were made.
    pub(crate) fn order(&self) -> u64 {
        let is_delivery = self.kind == DELIVERIES;
        let at = if is_delivery {
            self.entry.delivery.at
        } else {
            self.entry.at
        };
        u64::from(is_delivery) << 63 | at.min(LATEST) << 1 | u64::from(self.kind != PROMISES)
    }
}

/// Later times than any clock tells are of one order.
const LATEST: u64 = u64::MAX >> 2;

/// How much of a segment could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SegmentState {
    /// All.
    Whole,
    /// Some or nothing: the text is not what was written.
    #[default]
    Damaged,
    /// Nothing: a later version of this library wrote it.
    Newer,
}

/// Reads what can be read. Never fails: what cannot be read is told by the state.
pub(crate) fn read(text: &[u8]) -> Segment {
    let mut segment = Segment::default();
    let length = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    let version = text[..length].strip_prefix(FORMAT.as_bytes());
    if version == Some(VERSION.as_bytes()) {
        let is_whole = segment.read_lines(&text[(length + 1).min(text.len())..]);
        if is_whole && segment.count.is_some() {
            segment.state = SegmentState::Whole;
        }
        return segment;
    }
    // The first line may be what was damaged; the records vouch for themselves.
    segment.read_lines(text);
    let is_number = version.is_some_and(|version| !version.is_empty() && version.iter().all(u8::is_ascii_digit));
    if is_number && segment.is_empty() {
        segment.state = SegmentState::Newer;
    }
    segment
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.told.is_empty() && self.shards.is_empty() && self.count.is_none()
    }

    /// Whether all could be read.
    fn read_lines(&mut self, text: &[u8]) -> bool {
        let mut is_whole = true;
        let lines = text.strip_suffix(b"\n").unwrap_or(text);
        for line in lines.split(|&byte| byte == b'\n') {
            is_whole &= self.read_record(line).is_some();
        }
        is_whole
    }

    fn read_record(&mut self, line: &[u8]) -> Option<()> {
        let bytes = base64::decode(line).ok()?;
        let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_BYTES)?)?;
        if checksum != checksum_of(body) {
            return None;
        }
        let (&kind, content) = body.split_first()?;
        let mut reader = Reader { bytes: content };
        match kind {
            b'm' => self.shards.push(reader.shard()?),
            b'c' => {
                let (counter, recorded) = (reader.number()?, reader.number()?);
                self.count = Some(Count { counter, recorded });
            }
            _ => {
                let known = KINDS.iter().position(|&known| known == kind);
                while let (Some(kind), false) = (known, reader.bytes.is_empty()) {
                    self.told.push(reader.told(kind)?);
                }
            }
        }
        Some(())
    }
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

    #[inline(never)]
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// One of the things that a record of one of [`KINDS`] holds.
    fn told(&mut self, kind: usize) -> Option<Told> {
        let at = self.number()?;
        let has_id = kind == IMPRESSIONS || kind == PROMISES;
        let (flags, id);
        if has_id {
            flags = self.take(1)?[0];
            let length = usize::try_from(self.number()?).ok()?;
            id = HashedId::new(self.take(length)?);
        } else {
            flags = 0;
            id = HashedId::with_hash(&[], u64::from_le_bytes(self.take(8)?.try_into().ok()?));
        }
        let mut entry = Entry::new(id, at, true);
        entry.covered = flags & COVERED != 0;
        entry.to_deliver = flags & TO_DELIVER != 0;
        let in_shard = flags & IN_SHARD != 0;
        if kind == DELIVERIES {
            entry.delivery.times = self.take(1)?[0];
            entry.delivery.at = self.number()?;
        }
        Some(Told {
            last: 0,
            kind,
            entry,
            in_shard,
        })
    }

    fn shard(&mut self) -> Option<StoredShard> {
        let (begun, last) = (self.number()?, self.number()?);
        let shard = Shard::from_bytes(self.bytes).ok()?;
        let age = Age {
            count: shard.count,
            begun,
            expires: shard.expires,
            last,
            own: true,
        };
        let filter = shard.filter;
        Some(StoredShard { filter, age })
    }
}

#[inline(never)]
fn push_number(out: &mut Vec<u8>, mut value: u64) {
    // One way to append to bytes: `push` would bring another way to grow.
    while value >= 0x80 {
        out.extend_from_slice(&[value as u8 | 0x80]);
        value >>= 7;
    }
    out.extend_from_slice(&[value as u8]);
}

#[inline(never)]
fn push_record(out: &mut String, kind: u8, content: &[u8]) {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&checksum_of(&bytes));
    out.push_str(&base64::encode(&bytes));
    out.push('\n');
}

fn checksum_of(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (hash_id(body, VERSION_SEED) as u32).to_le_bytes()
}
