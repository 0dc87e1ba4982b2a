//! The snapshot of a chain: the server sends it, and the device applies it.

use crate::impression::Impression;
use crate::wire::Format;

/// The snapshot that the server sends with a page.
#[derive(Debug)]
pub struct Snapshot<'a, L: ?Sized> {
    /// Grows with every change. `None`: snapshots are applied in the order of arrival.
    pub version: Option<u64>,
    /// The shards as strings, newest first, at most 64; or references of shards that the device has.
    pub shards: &'a L,
    /// The format of the shards.
    pub format: Format,
    /// The server's time, Unix milliseconds.
    pub now_ms: Option<u64>,
    /// Unseen ids, at most 1,000, each with its time of the server's clock.
    pub unseen: &'a [Impression],
    /// When the user deleted the history, Unix seconds of the server's clock: this device deletes earlier impressions.
    pub forget_before: Option<u32>,
}

impl<'a, L: ?Sized> Snapshot<'a, L> {
    /// A snapshot of native shards without a version, a time, unseen ids or a deletion.
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
