//! A history that the person has deleted on the server.
//!
//! What was recorded knowing of the deletion has a higher counter, so it stays whatever the clock does; what was
//! recorded since but before hearing of it has a later time, so it stays, too.

use super::recording::{MAX_SEQ, Recording};

/// Counts up to which a deletion of the history reaches, for each second of the server's clock.
const SEQ_PER_SECOND: u64 = 1 << 20;

/// A history that the person has deleted on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// The server's time of it, Unix seconds.
    pub(crate) before: u32,
    /// The device's time of it, Unix milliseconds.
    pub(crate) at: u64,
}

impl Forgotten {
    /// The highest counter that the deletion reaches.
    pub(crate) fn max_seq(self) -> u64 {
        (u64::from(self.before) * SEQ_PER_SECOND).min(MAX_SEQ)
    }

    /// Whether a recording is forgotten.
    pub(crate) fn covers(self, recording: &Recording) -> bool {
        recording.seq <= self.max_seq() && recording.at < self.at
    }
}
