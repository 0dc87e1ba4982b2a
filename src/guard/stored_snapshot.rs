//! How the snapshot in use survives visits: its shards' texts, each under its reference, and an index.
//!
//! The index is ASCII text. Its first line is `SGV` and the version of this format; the second is a chunk of the kind
//! `v`: the format (three numbers); the time of the deletion that the snapshot knows of (Unix s), else 0; the number of
//! shards, and of each, newest first, its reference; the number of ids that the server has taken back, and of each the
//! XXH64 of the id (8 bytes), the server's time and this device's (Unix ms), and the counter of this device's own taking
//! back.

use super::chunk::{self, Chunk, DAMAGED, push_number};
use super::segment::SegmentState;
use super::server_view::ServerView;
use super::taken_back::{TakenBack, TakenBackAt};
use crate::error::Error;
use crate::id_list::IdList;
use crate::params::{MAX_SNAPSHOT_SHARDS, MAX_SNAPSHOT_UNSEEN};
use crate::wire::{Format, Reference};

/// Longest texts of shards, together, that are kept across visits.
const MAX_TEXT_LENGTH: usize = 512 * 1024;

const FORMAT: &str = "SGV";
const VERSION: &str = "1";
const SNAPSHOT: u8 = b'v';

/// A snapshot to be stored.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StoredSnapshot<'a> {
    /// ASCII.
    pub index: String,
    /// The shards whose texts are to be stored.
    pub shards: Vec<StoredShard<'a>>,
}

/// The text of a shard in use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StoredShard<'a> {
    /// The name of its reference: 12 hexadecimal digits.
    pub reference: String,
    /// As it came with a snapshot; of a RedisBloom key, the chunks joined by commas.
    pub text: &'a str,
}

/// What an index says.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) format: Format,
    pub(super) forget_before: u32,
    /// Newest first.
    pub(super) references: Vec<Reference>,
    pub(super) taken_back: TakenBack,
}

impl Index {
    pub(super) fn write(&self) -> String {
        let mut content = Vec::new();
        for number in self.format.to_numbers() {
            push_number(&mut content, number);
        }
        push_number(&mut content, u64::from(self.forget_before));
        push_number(&mut content, self.references.len() as u64);
        for reference in &self.references {
            push_number(&mut content, reference.to_number());
        }
        push_number(&mut content, self.taken_back.by_hash.len() as u64);
        for (hash, taken_back) in &self.taken_back.by_hash {
            content.extend_from_slice(&hash.to_le_bytes());
            for number in [taken_back.stated, taken_back.at, taken_back.own] {
                push_number(&mut content, number);
            }
        }
        let mut text = format!("{FORMAT}{VERSION}\n");
        chunk::push(&mut text, SNAPSHOT, &content);
        text
    }

    /// # Errors
    /// The state of a text that is not read.
    pub(super) fn read(text: &[u8]) -> Result<Index, SegmentState> {
        let mut lines = text.split(|&byte| byte == b'\n');
        let version = lines.next().and_then(|line| line.strip_prefix(FORMAT.as_bytes()));
        if version != Some(VERSION.as_bytes()) {
            let is_newer = version.is_some_and(|version| version.iter().all(u8::is_ascii_digit));
            return Err(if is_newer {
                SegmentState::Newer
            } else {
                SegmentState::Damaged
            });
        }
        read_content(lines.next().unwrap_or_default()).map_err(|_| SegmentState::Damaged)
    }
}

fn read_content(line: &[u8]) -> Result<Index, Error> {
    let chunk = Chunk::read(line)?;
    let mut reader = chunk.content();
    let numbers = [reader.number()?, reader.number()?, reader.number()?];
    let mut index = Index {
        format: Format::from_numbers(numbers).ok_or(DAMAGED)?,
        forget_before: reader.seconds()?,
        ..Index::default()
    };
    for _ in 0..reader.count_to(MAX_SNAPSHOT_SHARDS)? {
        index.references.push(Reference::from_number(reader.number()?));
    }
    for _ in 0..reader.count_to(MAX_SNAPSHOT_UNSEEN)? {
        let hash = reader.hash()?;
        let (stated, at, own) = (reader.time()?, reader.time()?, reader.seq()?);
        index.taken_back.by_hash.insert(hash, TakenBackAt { stated, at, own });
    }
    Ok(index)
}

/// The texts of the shards in use, each once; none if they are too long together.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldTexts {
    by_reference: Vec<(Reference, Box<str>)>,
}

impl HeldTexts {
    /// Keeps the texts of the shards that are now in use: `texts` are as they came, texts or references.
    pub(super) fn replace(&mut self, view: &ServerView, texts: &(impl IdList + ?Sized)) {
        let mut before = std::mem::take(&mut self.by_reference);
        if view.text_length() > MAX_TEXT_LENGTH {
            return;
        }
        for (index, reference) in view.references().enumerate() {
            if self.contains(reference) {
                continue;
            }
            let known = before.iter().position(|&(other, _)| other == reference);
            let text = match known {
                Some(place) => Some(before.swap_remove(place).1),
                None => copy_of(texts.get(index)),
            };
            self.by_reference.extend(text.map(|text| (reference, text)));
        }
    }

    pub(super) fn contains(&self, reference: Reference) -> bool {
        self.by_reference.iter().any(|&(other, _)| other == reference)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_reference.is_empty()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.by_reference.iter().map(|(_, text)| text.len()).sum()
    }

    pub(super) fn to_stored(&self) -> Vec<StoredShard<'_>> {
        let stored = self.by_reference.iter().map(|(reference, text)| StoredShard {
            reference: reference.to_string(),
            text,
        });
        stored.collect()
    }
}

/// A shard's text; nothing of a reference, or if there is no memory for it: then it is not kept across visits.
fn copy_of(text: &[u8]) -> Option<Box<str>> {
    if Reference::from_element(text).is_some() {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).ok()?;
    copy.push_str(text);
    Some(copy.into_boxed_str())
}
