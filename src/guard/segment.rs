//! Segments: the table's changes as ASCII text, for storage and other tabs.
//!
//! A segment is written once, under a key of its writer's, and never rewritten. Its first line is `SGI` and the version
//! of this format; each further line is a chunk. Damage costs the chunks that it hits.
//!
//! `c`, the second line: the number of the latest clear that the writer knew of, and nothing else: whatever the version
//! is, this can be read.
//!
//! `h`, the third line: the number of recordings in the segment; 1 if impressions are delivered, else 0; of a deleted
//! history the server's time (Unix s) and the device's (Unix ms), else 0 and 0; the device name as a number, 0: none.
//!
//! `r`, recordings by ascending counter, each:
//! - flags (1 byte): 1 taken back, 2 covered, 4 delivered, 8 the id is text, 16 with deliveries;
//! - the counter and the time (Unix ms), as differences to the recording before it in the chunk;
//! - the id: the length and UTF-8 bytes of its text, else its XXH64 (8 bytes);
//! - its deliveries: how often (1 byte), the counter at the first, the time of the last (Unix ms).
//!
//! Differences of times are zigzag. Chunks of other kinds are skipped, so a later version may add some; one that
//! changes the meaning of these has another version.

use super::chunk::{self, Chunk, DAMAGED, Reader, push_number, unzigzag, within, zigzag};
use super::forgotten::Forgotten;
use super::impressions::Impressions;
use super::recording::{Delivery, Kind, MAX_AT, MAX_CLEAR, MAX_SEQ, Recording, Unsettled};
use crate::device_name::DeviceName;
use crate::error::Error;
use crate::hash::hash_id;

const FORMAT: &str = "SGI";
const VERSION: &str = "1";

/// A chunk is closed when its content has become this long: damage costs no more than that.
const CHUNK_BYTES: usize = 4096;

const CLEAR: u8 = b'c';
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
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn write(impressions: &Impressions, hashes: &[u64]) -> Result<Segment, Error> {
    let recordings: Vec<(u64, &Recording)> = impressions.get_in_order(hashes)?.collect();
    let mut text = format!("{FORMAT}{VERSION}\n");
    let mut clear = Vec::new();
    push_number(&mut clear, impressions.clear_number());
    chunk::push(&mut text, CLEAR, &clear);
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
    Ok(Segment {
        text,
        level: recordings.len().max(1).ilog2() / 2,
    })
}

fn header(impressions: &Impressions, recordings: usize) -> Vec<u8> {
    let forgotten = impressions.forgotten();
    let numbers = [
        recordings as u64,
        u64::from(impressions.is_reporting()),
        forgotten.map_or(0, |forgotten| u64::from(forgotten.before)),
        forgotten.map_or(0, |forgotten| forgotten.at),
        impressions.device_name().map_or(0, DeviceName::number),
    ];
    let mut content = Vec::new();
    for number in numbers {
        push_number(&mut content, number);
    }
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
        let unsettled = recording.unsettled.as_deref();
        let deliveries = unsettled
            .map(|unsettled| unsettled.delivery)
            .filter(|delivery| delivery.times > 0);
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        self.content.push(
            flag(recording.kind == Kind::Unseen, UNSEEN)
                | flag(recording.covered, COVERED)
                | flag(recording.delivered, DELIVERED)
                | flag(unsettled.is_some(), TEXT)
                | flag(deliveries.is_some(), DELIVERIES),
        );
        push_number(&mut self.content, recording.seq - self.seq);
        push_number(&mut self.content, zigzag(recording.at as i64 - self.at as i64));
        (self.seq, self.at) = (recording.seq, recording.at);
        match unsettled {
            Some(unsettled) => {
                push_number(&mut self.content, unsettled.id.len() as u64);
                self.content.extend_from_slice(&unsettled.id);
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

/// What a segment says of all recordings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Header {
    /// The latest clear that its writer knew of; 0 if that cannot be read.
    pub(crate) clear: u64,
    pub(crate) reporting: bool,
    pub(crate) forgotten: Option<Forgotten>,
    pub(crate) device_name: Option<DeviceName>,
}

/// Reads a segment chunk by chunk. What a segment claims takes no more memory than its text does.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    pub(crate) header: Header,
    /// Where the next line begins.
    at: usize,
    state: SegmentState,
    /// How many recordings there are by the header, and were read.
    expected: u64,
    found: u64,
}

impl SegmentReader {
    /// Reads what the segment says of all recordings, and none of them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] alone: damage shows in the state.
    pub(crate) fn new(text: &[u8]) -> Result<Self, Error> {
        let mut reader = SegmentReader {
            header: Header::default(),
            at: 0,
            state: SegmentState::Whole,
            expected: 0,
            found: 0,
        };
        let version = reader.line(text).and_then(|line| line.strip_prefix(FORMAT.as_bytes()));
        let is_number = |version: &[u8]| !version.is_empty() && version.iter().all(u8::is_ascii_digit);
        if version != Some(VERSION.as_bytes()) {
            let is_newer = version.is_some_and(is_number);
            reader.state = if is_newer {
                SegmentState::Newer
            } else {
                SegmentState::Damaged
            };
        }
        if let Some(chunk) = reader.chunk(text, CLEAR)? {
            let clear = within(chunk.content().number().unwrap_or(u64::MAX), MAX_CLEAR);
            reader.header.clear = reader.or_damage(clear)?.unwrap_or(0);
        }
        if reader.state == SegmentState::Newer {
            return Ok(reader);
        }
        if let Some(chunk) = reader.chunk(text, HEADER)? {
            let header = read_header(chunk.content(), reader.header);
            if let Some((expected, header)) = reader.or_damage(header)? {
                (reader.expected, reader.header) = (expected, header);
            }
        }
        Ok(reader)
    }

    /// The next line, if it is a chunk of this kind. One of another kind is left for the next call.
    fn chunk(&mut self, text: &[u8], kind: u8) -> Result<Option<Chunk>, Error> {
        let before = self.at;
        let line = self.line(text).unwrap_or_default();
        let chunk = self.or_damage(Chunk::read(line))?;
        if chunk.as_ref().is_some_and(|chunk| chunk.kind() != kind) {
            self.at = before;
            return self.or_damage(Err(DAMAGED));
        }
        Ok(chunk)
    }

    /// Reads the recordings of the next chunk, with the hash of its id each; nothing at the end. `own`: the reader
    /// delivers what it finds.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] alone: damage shows in the state.
    pub(crate) fn next_chunk(&mut self, text: &[u8], own: bool) -> Result<Option<Vec<(u64, Recording)>>, Error> {
        if self.state == SegmentState::Newer {
            return Ok(None);
        }
        let Some(line) = self.line(text) else {
            if self.found != self.expected {
                self.state = SegmentState::Damaged;
            }
            return Ok(None);
        };
        let mut recordings = Vec::new();
        let read = read_recordings(line, own, &mut recordings);
        self.or_damage(read)?;
        self.found += recordings.len() as u64;
        Ok(Some(recordings))
    }

    /// How much could be read so far.
    pub(crate) fn state(&self) -> SegmentState {
        self.state
    }

    /// The next line that is not empty.
    fn line<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            let rest = text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            self.at += end + 1;
            if end > 0 {
                return Some(&rest[..end]);
            }
        }
    }

    fn or_damage<T>(&mut self, read: Result<T, Error>) -> Result<Option<T>, Error> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Error::OutOfMemory) => Err(Error::OutOfMemory),
            Err(_) => {
                if self.state == SegmentState::Whole {
                    self.state = SegmentState::Damaged;
                }
                Ok(None)
            }
        }
    }
}

/// Returns how many recordings there are, too.
fn read_header(mut reader: Reader<'_>, known: Header) -> Result<(u64, Header), Error> {
    let expected = reader.number()?;
    let reporting = reader.number()? != 0;
    let (before, at) = (reader.seconds()?, reader.time()?);
    let device_name = DeviceName::from_number(reader.number()?);
    let header = Header {
        reporting,
        forgotten: (before != 0).then_some(Forgotten { before, at }),
        device_name,
        ..known
    };
    Ok((expected, header))
}

/// Reads the recordings of a chunk; none from a chunk of another kind.
fn read_recordings(line: &[u8], own: bool, recordings: &mut Vec<(u64, Recording)>) -> Result<(), Error> {
    let chunk = Chunk::read(line)?;
    if chunk.kind() != RECORDINGS {
        return Ok(());
    }
    let mut reader = chunk.content();
    let (mut seq, mut at) = (0, 0);
    while !reader.bytes.is_empty() {
        let (hash, recording) = read_recording(&mut reader, seq, at, own)?;
        (seq, at) = (recording.seq, recording.at);
        recordings.try_reserve(1)?;
        recordings.push((hash, recording));
    }
    Ok(())
}

/// Reads a recording; `seq` and `at` are those of the one before it.
fn read_recording(reader: &mut Reader<'_>, seq: u64, at: u64, own: bool) -> Result<(u64, Recording), Error> {
    let flags = reader.byte()?;
    let has = |flag: u8| flags & flag != 0;
    let seq = within(seq + reader.number()?, MAX_SEQ)?;
    let at = at.checked_add_signed(unzigzag(reader.number()?)).ok_or(DAMAGED)?;
    let (hash, mut text) = if has(TEXT) {
        let length = reader.count_to(reader.bytes.len())?;
        let id = reader.take(length)?;
        (hash_id(id, 0), Some(Unsettled::new(id, own)?))
    } else {
        (reader.hash()?, None)
    };
    if has(DELIVERIES) {
        let delivery = Delivery {
            times: reader.byte()?,
            first: reader.seq()?,
            last: reader.time()?,
        };
        if let Some(text) = &mut text {
            text.delivery = delivery;
        }
    }
    let recording = Recording {
        seq,
        at: within(at, MAX_AT)?,
        kind: if has(UNSEEN) { Kind::Unseen } else { Kind::Seen },
        covered: has(COVERED),
        delivered: has(DELIVERED),
        unsettled: text,
    };
    Ok((hash, recording))
}
