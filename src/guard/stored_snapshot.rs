//! The snapshot in use as it is stored, for what is shown on the next visit before the first response.
//!
//! The first line is `SGH` and the version of this format, the second a chunk `h`, and then come the texts of the shards
//! one after the other. The chunk has:
//! - the format: its number (1 byte), and of go-bloomfilter k and m (0: not known);
//! - `forgetBefore` (Unix s), 0 without one;
//! - 1 and by how much the device's clock was ahead of the server's (ms, zigzag) if the server told its time, else 0;
//! - how many ids are taken back, and of each the XXH64 (8 bytes) and the server's time of it (Unix ms);
//! - how many shards there are, and of each the length of its text and the low 32 bits of the text's XXH64.
//!
//! Its version is left out: a server whose own counter starts again is believed from the next visit on. A shard whose
//! text was damaged is left out.

use super::chunk::{self, Chunk, DAMAGED, push_number, unzigzag, zigzag};
use super::recording::MAX_AT;
use super::taken_back::TakenBack;
use super::{Guard, Now};
use crate::error::Error;
use crate::hash::hash_id;
use crate::params::{MAX_SNAPSHOT_SHARDS, MAX_SNAPSHOT_UNSEEN};
use crate::wire::Format;

const FORMAT: &str = "SGH1";
const HEADER: u8 = b'h';

/// What a stored snapshot says beside its shards.
struct Header {
    format: Format,
    forget_before: u32,
    ahead_ms: Option<i64>,
    unseen: Vec<(u64, u64)>,
    /// How long the shards' texts are, and the low 32 bits of their XXH64.
    shards: Vec<(usize, u32)>,
}

impl Guard {
    /// Counts the snapshots in use, none included: whether another one is to be stored.
    pub(crate) fn snapshots(&self) -> u64 {
        self.snapshots
    }

    /// The snapshot in use, to be stored. Nothing if there is none, or if its shards are too long: over 512 KB.
    pub fn stored_snapshot(&self, now: Now) -> Option<String> {
        if self.server.len() == 0 && self.taken_back.is_empty() {
            return None;
        }
        let mut content = Vec::new();
        let [kind, hashes, bits] = self.server.format().to_numbers();
        content.push(kind as u8);
        push_number(&mut content, u64::from(hashes));
        push_number(&mut content, u64::from(bits));
        push_number(&mut content, u64::from(self.forget_before));
        push_number(&mut content, u64::from(self.server_clock.is_some()));
        if let Some((server_ms, steady_ms)) = self.server_clock {
            let server_now = server_ms.saturating_add(now.steady_ms.saturating_sub(steady_ms));
            let ahead = now.recorded_at() as i64 - server_now.min(MAX_AT) as i64;
            push_number(&mut content, zigzag(ahead));
        }
        push_number(&mut content, self.taken_back.by_hash.len() as u64);
        for (hash, taken_back) in &self.taken_back.by_hash {
            content.extend_from_slice(&hash.to_le_bytes());
            push_number(&mut content, taken_back.stated);
        }
        push_number(&mut content, self.server.len() as u64);
        let mut texts = String::new();
        for text in self.server.texts()? {
            // A text of which this makes another one is no shard.
            let text = String::from_utf8_lossy(text);
            push_number(&mut content, text.len() as u64);
            push_number(&mut content, u64::from(checksum_of(text.as_bytes())));
            texts.push_str(&text);
        }
        let mut stored = format!("{FORMAT}\n");
        chunk::push(&mut stored, HEADER, &content);
        stored.push_str(&texts);
        Some(stored)
    }

    /// Takes over a stored snapshot, unless one was applied on this visit, or it is from before a deletion of the
    /// history that is known. Shards whose texts are damaged are left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; all else is damage, or of a version that this one cannot read. Then nothing has changed.
    pub fn restore(&mut self, stored: &str, now: Now) -> Result<(), Error> {
        let mut lines = stored.as_bytes().splitn(3, |&byte| byte == b'\n');
        let mut line = || lines.next().ok_or(DAMAGED);
        if line()? != FORMAT.as_bytes() {
            return Err(DAMAGED);
        }
        let header = read_header(line()?)?;
        if self.has_applied || header.forget_before < self.latest_deletion() {
            return Ok(());
        }
        let mut texts = line()?;
        let mut found = Vec::new();
        for (length, checksum) in header.shards {
            let (text, rest) = texts.split_at_checked(length).ok_or(DAMAGED)?;
            texts = rest;
            if checksum_of(text) == checksum {
                found.push(text);
            }
        }
        let server_now = |ahead: i64| now.recorded_at().saturating_add_signed(-ahead);
        let server_now_ms = header.ahead_ms.map(server_now);
        let unseen = header.unseen.into_iter();
        let taken_back = TakenBack::read_hashed(unseen, server_now_ms, now, &self.taken_back)?;
        self.server.replace(&found, header.format)?;
        self.forget_before = header.forget_before;
        self.server_clock = server_now_ms.map(|server_ms| (server_ms, now.steady_ms));
        self.take_back(taken_back);
        Ok(())
    }
}

fn read_header(line: &[u8]) -> Result<Header, Error> {
    let chunk = Chunk::read(line)?;
    if chunk.kind() != HEADER {
        return Err(DAMAGED);
    }
    let mut reader = chunk.content();
    let kind = u32::from(reader.byte()?);
    // k and m of a filter take 32 bits, as seconds do.
    let format = Format::from_numbers([kind, reader.seconds()?, reader.seconds()?]).ok_or(DAMAGED)?;
    let forget_before = reader.seconds()?;
    let ahead_ms = match reader.number()? {
        0 => None,
        _ => Some(unzigzag(reader.number()?)),
    };
    let mut unseen = Vec::new();
    for _ in 0..reader.count_to(MAX_SNAPSHOT_UNSEEN)? {
        unseen.push((reader.hash()?, reader.time()?));
    }
    let mut shards = Vec::new();
    for _ in 0..reader.count_to(MAX_SNAPSHOT_SHARDS)? {
        shards.push((reader.count_to(usize::MAX)?, reader.seconds()?));
    }
    Ok(Header {
        format,
        forget_before,
        ahead_ms,
        unseen,
        shards,
    })
}

fn checksum_of(text: &[u8]) -> u32 {
    hash_id(text, 0) as u32
}
