//! Segments: the table's changes as ASCII text, for storage and other tabs.
//!
//! A segment is written once, under a key of its writer's, and never rewritten. Its first line is `SGI` and the version
//! of this format; each further line is a chunk. Damage costs the chunks that it hits.
//!
//! `h`, first and once: the number of recordings in the segment; 1 if impressions are delivered, else 0; of a deleted
//! history the server's time (Unix s) and the device's (Unix ms), else 0 and 0.
//!
//! `r`, recordings by ascending counter, each:
//! - flags (1 byte): 1 taken back, 2 covered, 4 delivered, 8 the id is text, 16 with deliveries;
//! - the counter and the time (Unix ms), as differences to the recording before it in the chunk;
//! - the id: the length and UTF-8 bytes of its text, else its XXH64 (8 bytes);
//! - its deliveries: how often (1 byte), the counter at the first, the time of the last (Unix ms).
//!
//! Differences of times are zigzag. Chunks of other kinds are skipped, so a later version may add some; one that
//! changes the meaning of these has another version.

use super::chunk::{self, Chunk, DAMAGED, Reader, push_number, within};
use super::forgotten::Forgotten;
use super::impressions::Impressions;
use super::recording::{Delivery, Kind, MAX_AT, MAX_SEQ, Open, Recording};
use crate::error::Error;
use crate::hash::hash_id;

const FORMAT: &str = "SGI";
const VERSION: &str = "1";
/// A chunk is closed when its content has become this long: damage costs no more than that.
const CHUNK_BYTES: usize = 4096;

const HEADER: u8 = b'h';
const RECORDINGS: u8 = b'r';

const UNSEEN: u8 = 1;
const COVERED: u8 = 2;
const DELIVERED: u8 = 4;
const TEXT: u8 = 8;
const DELIVERIES: u8 = 16;

/// A segment to be stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Segment {
    /// ASCII.
    pub text: String,
    /// Its size class: the logarithm of its number of recordings to the base 4, rounded down.
    pub level: u32,
}

/// How much of a segment could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentState {
    /// All.
    Whole,
    /// Some or nothing: the text is not what was written.
    Damaged,
    /// Nothing: a later version of this library wrote it.
    Newer,
}

/// Writes the recordings of these hashes, as far as the table has them.
pub(crate) fn write(impressions: &Impressions, hashes: Vec<u64>) -> Segment {
    let recordings: Vec<(u64, &Recording)> = impressions.get_in_order(hashes).collect();
    let mut text = format!("{FORMAT}{VERSION}\n");
    chunk::push(&mut text, HEADER, &header(impressions, recordings.len()));
    let mut writer = ChunkWriter::default();
    for &(hash, recording) in &recordings {
        writer.push(hash, recording);
        if writer.content.len() >= CHUNK_BYTES {
            chunk::push(&mut text, RECORDINGS, &std::mem::take(&mut writer).content);
        }
    }
    if !writer.content.is_empty() {
        chunk::push(&mut text, RECORDINGS, &writer.content);
    }
    Segment {
        text,
        level: recordings.len().max(1).ilog2() / 2,
    }
}

fn header(impressions: &Impressions, recordings: usize) -> Vec<u8> {
    let mut content = Vec::new();
    push_number(&mut content, recordings as u64);
    push_number(&mut content, u64::from(impressions.is_reporting()));
    let forgotten = impressions.forgotten();
    push_number(
        &mut content,
        forgotten.map_or(0, |forgotten| u64::from(forgotten.before)),
    );
    push_number(&mut content, forgotten.map_or(0, |forgotten| forgotten.at));
    content
}

/// The content of a chunk of recordings.
#[derive(Default)]
struct ChunkWriter {
    content: Vec<u8>,
    /// Of the recording before.
    seq: u64,
    at: u64,
}

impl ChunkWriter {
    fn push(&mut self, hash: u64, recording: &Recording) {
        let open = recording.open.as_deref();
        let deliveries = open.map(|open| open.delivery).filter(|delivery| delivery.times > 0);
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        self.content.push(
            flag(recording.kind == Kind::Unseen, UNSEEN)
                | flag(recording.covered, COVERED)
                | flag(recording.delivered, DELIVERED)
                | flag(open.is_some(), TEXT)
                | flag(deliveries.is_some(), DELIVERIES),
        );
        push_number(&mut self.content, recording.seq - self.seq);
        push_number(&mut self.content, zigzag(recording.at as i64 - self.at as i64));
        (self.seq, self.at) = (recording.seq, recording.at);
        match open {
            Some(open) => {
                push_number(&mut self.content, open.id.len() as u64);
                self.content.extend_from_slice(&open.id);
            }
            None => self.content.extend_from_slice(&hash.to_le_bytes()),
        }
        if let Some(delivery) = deliveries {
            self.content.push(delivery.times);
            push_number(&mut self.content, delivery.first);
            push_number(&mut self.content, delivery.last);
        }
    }
}

/// What a segment holds, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) state: SegmentState,
    pub(crate) reporting: bool,
    pub(crate) forgotten: Option<Forgotten>,
    /// With the hash of its id each.
    pub(crate) recordings: Vec<(u64, Recording)>,
}

/// Reads what a segment says of all recordings, and none of them.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn read_header(text: &[u8]) -> Result<Contents, Error> {
    let mut ends = (0..text.len()).filter(|&place| text[place] == b'\n');
    let end = ends.nth(1).unwrap_or(text.len());
    let header = read(&text[..end], false)?;
    Ok(Contents {
        recordings: Vec::new(),
        ..header
    })
}

/// Reads what can be read. `own`: the reader delivers what it finds. What a segment claims takes no more memory than
/// its text does.
///
/// # Errors
/// [`Error::OutOfMemory`] alone: damage shows in the state.
pub(crate) fn read(text: &[u8], own: bool) -> Result<Contents, Error> {
    let mut contents = Contents {
        state: SegmentState::Damaged,
        reporting: false,
        forgotten: None,
        recordings: Vec::new(),
    };
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let version = lines.next().and_then(|line| line.strip_prefix(FORMAT.as_bytes()));
    let is_number = |version: &[u8]| !version.is_empty() && version.iter().all(u8::is_ascii_digit);
    if version.is_some_and(|version| version != VERSION.as_bytes() && is_number(version)) {
        contents.state = SegmentState::Newer;
        return Ok(contents);
    }
    let (mut expected, mut damaged) = (None, version != Some(VERSION.as_bytes()));
    for line in lines {
        match read_chunk(line, own, &mut contents) {
            Ok(count) => expected = expected.or(count),
            Err(Error::OutOfMemory) => return Err(Error::OutOfMemory),
            Err(_) => damaged = true,
        }
    }
    if !damaged && expected == Some(contents.recordings.len() as u64) {
        contents.state = SegmentState::Whole;
    }
    Ok(contents)
}

/// Reads a chunk. Returns the number of recordings in the segment, if it is the header.
fn read_chunk(line: &[u8], own: bool, contents: &mut Contents) -> Result<Option<u64>, Error> {
    let chunk = Chunk::read(line)?;
    let mut reader = chunk.content();
    match chunk.kind() {
        HEADER => {
            let count = reader.number()?;
            contents.reporting |= reader.number()? != 0;
            let (before, at) = (reader.seconds()?, reader.time()?);
            if before != 0 {
                contents.forgotten = Some(Forgotten { before, at });
            }
            return Ok(Some(count));
        }
        RECORDINGS => {
            let (mut seq, mut at) = (0, 0);
            while !reader.bytes.is_empty() {
                let (hash, recording) = read_recording(&mut reader, seq, at, own)?;
                (seq, at) = (recording.seq, recording.at);
                contents.recordings.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                contents.recordings.push((hash, recording));
            }
        }
        _ => {}
    }
    Ok(None)
}

/// Reads a recording; `seq` and `at` are those of the one before it.
fn read_recording(reader: &mut Reader<'_>, seq: u64, at: u64, own: bool) -> Result<(u64, Recording), Error> {
    let flags = reader.byte()?;
    let has = |flag: u8| flags & flag != 0;
    let seq = within(seq + reader.number()?, MAX_SEQ)?;
    let at = at.checked_add_signed(unzigzag(reader.number()?)).ok_or(DAMAGED)?;
    let (hash, mut open) = if has(TEXT) {
        let length = reader.count_to(reader.bytes.len())?;
        let id = reader.take(length)?;
        (hash_id(id, 0), Some(Open::new(id, own)?))
    } else {
        (reader.hash()?, None)
    };
    if has(DELIVERIES) {
        let delivery = Delivery {
            times: reader.byte()?,
            first: reader.seq()?,
            last: reader.time()?,
        };
        if let Some(open) = &mut open {
            open.delivery = delivery;
        }
    }
    let recording = Recording {
        seq,
        at: within(at, MAX_AT)?,
        kind: if has(UNSEEN) { Kind::Unseen } else { Kind::Seen },
        covered: has(COVERED),
        delivered: has(DELIVERED),
        open,
    };
    Ok((hash, recording))
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
