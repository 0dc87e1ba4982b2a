//! What a guard takes of a chain: the server ships it, and the device applies it.

use crate::impression::Impression;
use crate::wire::Format;

/// What the server ships beside a page.
#[derive(Debug)]
pub struct Snapshot<'a, L: ?Sized> {
    /// Grows with every change; absent: every snapshot is taken as it comes.
    pub version: Option<u64>,
    /// The shards' texts, newest first, at most 64; of a shard that the device holds the reference may stand for it.
    pub shards: &'a L,
    /// What they are written in.
    pub format: Format,
    /// The server's clock, Unix milliseconds.
    pub now_ms: Option<u64>,
    /// What is unseen, at most 1,000 ids, each with the time of it by the server's clock.
    pub unseen: &'a [Impression],
    /// When the person deleted the history, Unix seconds of the server's clock: what this device recorded before is
    /// forgotten.
    pub forget_before: Option<u32>,
}

impl<'a, L: ?Sized> Snapshot<'a, L> {
    /// Native shards, and nothing else: without a version, a time, or anything unseen or deleted.
    pub fn new(shards: &'a L) -> Self {
        Snapshot {
            version: None,
            shards,
            format: Format::Native,
            now_ms: None,
            unseen: &[],
            forget_before: None,
        }
    }
}
