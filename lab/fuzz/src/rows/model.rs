//! The impression table as plainly as possible, from the description of its rows and of its merge alone.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use seenguard::hash::hash_id;

use crate::common::reference::decode_base64;

/// Texts up to this length are read bit by bit; of longer ones that takes long.
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
    covered: bool,
    deliveries: u8,
    pub id: Option<Vec<u8>>,
}

pub type Row = Vec<(u64, Recording)>;

/// All that several rows say together.
#[derive(Debug, Default)]
pub struct Table {
    pub recordings: BTreeMap<u64, Recording>,
    pub highest_seq: u64,
}

/// None if the row is damaged.
pub fn read(text: &str) -> Option<Row> {
    let mut body = match text.len() <= MOST_PLAIN_CHARACTERS {
        true => decode_base64(text)?,
        false => ENGINES.iter().find_map(|engine| engine.decode(text).ok())?,
    };
    let checksum = body.split_off(body.len().checked_sub(4)?);
    let content = &mut &body[..];
    let (mut row, mut seq) = (Row::new(), 0);
    while !content.is_empty() {
        let (hash, recording) = read_recording(content, seq)?;
        seq = recording.seq;
        row.push((hash, recording));
    }
    let is_whole = checksum == (hash_id(&body, 0) as u32).to_le_bytes();
    (is_whole && !row.is_empty()).then_some(row)
}

fn read_recording(content: &mut &[u8], before: u64) -> Option<(u64, Recording)> {
    let flags = take(content, 1)?[0];
    let deliveries = flags >> 3;
    let seq = before + number(content)?;
    let at = difference(content, seq)?;
    let (hash, id) = if flags & 4 != 0 {
        let length = usize::try_from(number(content)?).ok()?;
        let id = take(content, length)?;
        if deliveries > 0 {
            difference(content, at)?;
        }
        (hash_id(id, 0), Some(id.to_vec()))
    } else {
        (u64::from_le_bytes(take(content, 8)?.try_into().ok()?), None)
    };
    let recording = Recording {
        seq,
        at,
        is_seen: flags & 1 == 0,
        covered: flags & 2 != 0,
        deliveries,
        id,
    };
    (seq <= MAX_NUMBER && deliveries <= 2).then_some((hash, recording))
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

fn difference(content: &mut &[u8], base: u64) -> Option<u64> {
    let zigzag = number(content)?;
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    base.checked_add_signed(difference).filter(|&time| time <= MAX_NUMBER)
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
            self.deliveries = self.deliveries.max(other.deliveries);
            self.id = self.id.take().or(other.id.clone());
        }
    }

    /// Only who delivers keeps the text of what is covered.
    fn is_to_deliver(&self) -> bool {
        self.is_seen && self.covered && self.deliveries == 0 && self.id.is_some()
    }

    /// Whether its text is of use.
    fn needs_text(&self, reporting: bool) -> bool {
        match self.is_seen {
            true => !self.covered || (self.deliveries == 0 && reporting),
            false => self.deliveries == 0,
        }
    }
}

impl Table {
    /// `floor`: what was recorded before it does not exist.
    pub fn of<'a>(rows: impl Iterator<Item = &'a Row>, mut reporting: bool, floor: u64) -> Table {
        let mut table = Table::default();
        for (hash, recording) in rows.flatten() {
            table.highest_seq = table.highest_seq.max(recording.seq);
            if recording.at >= floor {
                reporting |= recording.is_to_deliver();
                let known = table.recordings.entry(*hash).or_insert_with(|| recording.clone());
                known.merge(recording);
            }
        }
        for recording in table.recordings.values_mut() {
            if !recording.needs_text(reporting) {
                recording.id = None;
            }
        }
        table
    }

    /// The recordings with their hashes, lowest first.
    pub fn in_order(&self) -> Vec<(u64, &Recording)> {
        let mut all: Vec<(u64, &Recording)> = self.recordings.iter().map(|(&hash, one)| (hash, one)).collect();
        all.sort_by_key(|(hash, one)| (one.seq, one.at, *hash));
        all
    }

    /// `is_live`: whether a time is within the window.
    pub fn pending(&self, is_live: impl Fn(u64) -> bool) -> Vec<String> {
        let pending = |one: &Recording| one.is_seen && !one.covered && is_live(one.at);
        let all = self.in_order().into_iter().filter(|(_, one)| pending(one));
        all.filter_map(|(_, one)| Some(String::from_utf8_lossy(one.id.as_ref()?).into_owned()))
            .collect()
    }

    pub fn undelivered(&self) -> usize {
        let all = self.recordings.values();
        all.filter(|one| one.deliveries == 0 && one.id.is_some()).count()
    }
}
