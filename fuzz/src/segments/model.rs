//! The impression table as plainly as possible, from the description of its segments and of its merge alone.

use std::collections::BTreeMap;

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
    pub reporting: bool,
    pub forgotten: Option<(u32, u64)>,
    pub recordings: Vec<(u64, Recording)>,
    /// Whether the header stands where a writer puts it, and nowhere else.
    pub is_in_order: bool,
}

/// All that several segments say together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub reporting: bool,
    pub forgotten: Option<(u32, u64)>,
    pub recordings: BTreeMap<u64, Recording>,
    pub highest_seq: u64,
}

pub fn read(text: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let version = lines.first().and_then(|line| line.strip_prefix(b"SGI"));
    let is_number = |version: &[u8]| !version.is_empty() && version.iter().all(u8::is_ascii_digit);
    if version.is_some_and(|version| version != b"1" && is_number(version)) {
        contents.state = Some(SegmentState::Newer);
        return contents;
    }
    let (mut counts, mut is_damaged) = (Vec::new(), version != Some(b"1"));
    let mut headers = Vec::new();
    for (place, line) in lines.iter().enumerate().skip(1) {
        let chunk = open(line);
        if chunk.as_ref().is_some_and(|body| body[0] == b'h') {
            headers.push(place);
        }
        let read = chunk.and_then(|body| read_chunk(&body, &mut contents, &mut counts));
        is_damaged |= read.is_none();
    }
    let is_at_top =
        text.iter().take_while(|&&byte| byte != b'\n').count() > 0 && !text.windows(2).any(|two| two == b"\n\n");
    contents.is_in_order = is_at_top && (headers.is_empty() || headers == [1]);
    let is_whole = !is_damaged && counts.first() == Some(&(contents.recordings.len() as u64));
    contents.state = Some(if is_whole {
        SegmentState::Whole
    } else {
        SegmentState::Damaged
    });
    contents
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

/// None if the chunk is damaged; what was read of it until then stays.
fn read_chunk(body: &[u8], contents: &mut Contents, counts: &mut Vec<u64>) -> Option<()> {
    let (kind, mut content) = body.split_first()?;
    match kind {
        b'h' => {
            let count = number(&mut content)?;
            contents.reporting |= number(&mut content)? != 0;
            let before = u32::try_from(number(&mut content)?).ok()?;
            let at = small(&mut content)?;
            if before != 0 {
                contents.forgotten = Some((before, at));
            }
            counts.push(count);
        }
        b'r' => {
            let (mut seq, mut at) = (0, 0);
            while !content.is_empty() {
                let (hash, recording) = read_recording(&mut content, seq, at)?;
                (seq, at) = (recording.seq, recording.at);
                contents.recordings.push((hash, recording));
            }
        }
        _ => {}
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

impl Table {
    pub fn of(segments: &[Contents]) -> Table {
        let mut table = Table {
            reporting: segments.iter().any(|segment| segment.reporting),
            forgotten: segments
                .iter()
                .filter_map(|segment| segment.forgotten)
                .max_by_key(|&(before, at)| (before, std::cmp::Reverse(at))),
            ..Table::default()
        };
        for (hash, recording) in segments.iter().flat_map(|segment| &segment.recordings) {
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

    pub fn pending(&self) -> Vec<String> {
        let open = self
            .in_order()
            .into_iter()
            .filter(|(_, one)| one.is_seen && !one.covered);
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
