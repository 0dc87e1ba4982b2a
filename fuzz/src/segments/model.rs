//! The impression table as plainly as possible, from the description of its segments and of its merge alone.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use seenguard::SegmentState;
use seenguard::hash::hash_id;

use crate::common::reference::decode_base64;

/// Lines up to this length are read bit by bit; of longer ones that takes long.
const MOST_PLAIN_CHARACTERS: usize = 512;
const ENGINES: [GeneralPurpose; 4] = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD];

/// The highest counter and the latest time.
pub const MAX_NUMBER: u64 = (1 << 53) - 1;
/// The highest number of a clear.
pub const MAX_CLEAR: u64 = 1 << 51;
/// Device names have 12 digits to the base 36.
const DEVICE_NAMES: u64 = 36u64.pow(12);

/// A recording that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub seq: u64,
    pub at: u64,
    pub is_seen: bool,
    pub covered: bool,
    pub delivered: bool,
    pub id: Option<Vec<u8>>,
    pub deliveries: Option<(u8, u64, u64)>,
}

/// What a segment says.
#[derive(Debug, Default)]
pub struct Contents {
    pub state: Option<SegmentState>,
    /// The number of the latest clear; 0: none.
    pub clear: u64,
    pub reporting: bool,
    pub forgotten: Option<(u32, u64)>,
    pub device_name: Option<u64>,
    pub recordings: Vec<(u64, Recording)>,
}

/// All that several segments say together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub clear: u64,
    pub reporting: bool,
    pub forgotten: Option<(u32, u64)>,
    pub device_name: Option<u64>,
    pub recordings: BTreeMap<u64, Recording>,
    pub highest_seq: u64,
}

pub fn read(text: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let mut lines: VecDeque<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let version = lines.pop_front().and_then(|line| line.strip_prefix(b"SGI"));
    let is_number = |version: &[u8]| !version.is_empty() && version.iter().all(u8::is_ascii_digit);
    let is_newer = version.is_some_and(|version| version != b"1" && is_number(version));
    let clear = next_of(&mut lines, b'c').and_then(|content| number(&mut &content[..]));
    let clear = clear.filter(|&clear| clear <= MAX_CLEAR);
    contents.clear = clear.unwrap_or(0);
    if is_newer {
        contents.state = Some(SegmentState::Newer);
        return contents;
    }
    let count = next_of(&mut lines, b'h').and_then(|content| read_header(&content, &mut contents));
    let mut is_damaged = version != Some(b"1") || clear.is_none();
    for line in lines {
        let read = open(line).and_then(|body| read_chunk(&body, &mut contents));
        is_damaged |= read.is_none();
    }
    let is_whole = !is_damaged && count == Some(contents.recordings.len() as u64);
    contents.state = Some(if is_whole {
        SegmentState::Whole
    } else {
        SegmentState::Damaged
    });
    contents
}

/// The content of the next line, which is to be a chunk of this kind. A whole chunk of another kind stays.
fn next_of(lines: &mut VecDeque<&[u8]>, kind: u8) -> Option<Vec<u8>> {
    let body = open(lines.front()?);
    if body.as_ref().is_none_or(|body| body[0] == kind) {
        lines.pop_front();
    }
    body.filter(|body| body[0] == kind).map(|body| body[1..].to_vec())
}

/// A line's kind and content, if the line is whole.
fn open(line: &[u8]) -> Option<Vec<u8>> {
    let mut body = match line.len() <= MOST_PLAIN_CHARACTERS {
        true => decode_base64(std::str::from_utf8(line).ok()?)?,
        false => ENGINES.iter().find_map(|engine| engine.decode(line).ok())?,
    };
    let checksum = body.split_off(body.len().checked_sub(4).filter(|&length| length > 0)?);
    (checksum == (hash_id(&body, 0) as u32).to_le_bytes()).then_some(body)
}

/// How many recordings there are by the header. None if it is damaged: then nothing of it counts.
fn read_header(mut content: &[u8], contents: &mut Contents) -> Option<u64> {
    let content = &mut content;
    let (count, reporting) = (number(content)?, number(content)? != 0);
    let (before, at) = (u32::try_from(number(content)?).ok()?, small(content)?);
    let device_name = number(content)?;
    contents.reporting = reporting;
    contents.forgotten = (before != 0).then_some((before, at));
    contents.device_name = (1..DEVICE_NAMES).contains(&device_name).then_some(device_name);
    Some(count)
}

/// None if the chunk is damaged; what was read of it until then stays.
fn read_chunk(body: &[u8], contents: &mut Contents) -> Option<()> {
    let (kind, mut content) = body.split_first()?;
    let (mut seq, mut at) = (0, 0);
    while *kind == b'r' && !content.is_empty() {
        let (hash, recording) = read_recording(&mut content, seq, at)?;
        (seq, at) = (recording.seq, recording.at);
        contents.recordings.push((hash, recording));
    }
    Some(())
}

fn read_recording(content: &mut &[u8], seq: u64, at: u64) -> Option<(u64, Recording)> {
    let flags = take(content, 1)?[0];
    let has = |flag: u8| flags & flag != 0;
    let seq = seq + number(content)?;
    let zigzag = number(content)?;
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    let at = at.checked_add_signed(difference)?;
    let (hash, id) = if has(8) {
        let length = usize::try_from(number(content)?).ok()?;
        let id = take(content, length)?;
        (hash_id(id, 0), Some(id.to_vec()))
    } else {
        (u64::from_le_bytes(take(content, 8)?.try_into().ok()?), None)
    };
    let deliveries = match has(16) {
        true => Some((take(content, 1)?[0], small(content)?, small(content)?)),
        false => None,
    };
    let is_in_range = seq <= MAX_NUMBER && at <= MAX_NUMBER;
    let recording = Recording {
        seq,
        at,
        is_seen: !has(1),
        covered: has(2),
        delivered: has(4),
        id,
        deliveries,
    };
    is_in_range.then_some((hash, recording))
}

fn take<'a>(content: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = content.split_at_checked(length)?;
    *content = rest;
    Some(taken)
}

/// LEB128 of at most 63 bits.
fn number(content: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..9 {
        let byte = take(content, 1)?[0];
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn small(content: &mut &[u8]) -> Option<u64> {
    number(content).filter(|&number| number <= MAX_NUMBER)
}

impl Recording {
    fn order(&self) -> (u64, u64, bool) {
        (self.seq, self.at, self.is_seen)
    }

    fn merge(&mut self, other: &Recording) {
        if other.order() > self.order() {
            *self = other.clone();
        } else if other.order() == self.order() {
            self.covered |= other.covered;
            self.delivered |= other.delivered;
            self.id = self.id.take().or(other.id.clone());
        }
    }

    /// Whether its text is of use.
    fn needs_text(&self, reporting: bool) -> bool {
        match self.is_seen {
            true => !self.covered || (!self.delivered && reporting),
            false => !self.delivered && (!self.covered || reporting),
        }
    }
}

impl Contents {
    /// The recordings that count after this clear.
    fn counted(&self, clear: u64, now_ms: u64) -> impl Iterator<Item = &(u64, Recording)> {
        let is_since = move |at: u64| clear <= at && at <= now_ms;
        let all = self.recordings.iter();
        all.filter(move |(_, recording)| self.clear == clear || is_since(recording.at))
    }
}

impl Table {
    pub fn of(segments: &[Contents], now_ms: u64) -> Table {
        let clear = segments.iter().map(|segment| segment.clear).max().unwrap_or(0);
        let latest = || segments.iter().filter(|segment| segment.clear == clear);
        let mut table = Table {
            clear,
            reporting: segments.iter().any(|segment| segment.reporting),
            forgotten: latest()
                .filter_map(|segment| segment.forgotten)
                .max_by_key(|&(before, at)| (before, std::cmp::Reverse(at))),
            device_name: latest().filter_map(|segment| segment.device_name).min(),
            ..Table::default()
        };
        for (hash, recording) in segments.iter().flat_map(|segment| segment.counted(clear, now_ms)) {
            table.highest_seq = table.highest_seq.max(recording.seq);
            if table.forgets(recording) {
                continue;
            }
            let known = table.recordings.entry(*hash).or_insert_with(|| recording.clone());
            known.merge(recording);
        }
        for recording in table.recordings.values_mut() {
            if !recording.needs_text(table.reporting) {
                recording.id = None;
            }
        }
        table
    }

    fn forgets(&self, recording: &Recording) -> bool {
        self.forgotten
            .is_some_and(|(before, at)| recording.seq <= (u64::from(before) << 20).min(MAX_NUMBER) && recording.at < at)
    }

    /// The recordings with their hashes, lowest first.
    pub fn in_order(&self) -> Vec<(u64, &Recording)> {
        let mut all: Vec<(u64, &Recording)> = self.recordings.iter().map(|(&hash, one)| (hash, one)).collect();
        all.sort_by_key(|(hash, one)| (one.seq, one.at, *hash));
        all
    }

    /// `is_live`: whether a time is within the window.
    pub fn pending(&self, is_live: impl Fn(u64) -> bool) -> Vec<String> {
        let open = self
            .in_order()
            .into_iter()
            .filter(|(_, one)| one.is_seen && !one.covered && is_live(one.at));
        open.filter_map(|(_, one)| Some(String::from_utf8_lossy(one.id.as_ref()?).into_owned()))
            .collect()
    }

    pub fn undelivered(&self) -> usize {
        self.recordings
            .values()
            .filter(|one| !one.delivered && one.id.is_some())
            .count()
    }
}
