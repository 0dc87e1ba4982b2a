//! Counts of recordings, so that none of them is asked for by looking at each.

use super::recording::{Kind, Recording};

/// Counts of recordings, kept up to date by each change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) texts: usize,
    pub(crate) text_bytes: usize,
    pub(crate) undelivered: usize,
    pub(crate) unseen: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, recording: &Recording) {
        self.texts += usize::from(recording.unsettled.is_some());
        self.text_bytes += recording.text_bytes();
        self.undelivered += usize::from(recording.is_undelivered());
        self.unseen += usize::from(recording.kind == Kind::Unseen);
    }

    pub(crate) fn remove(&mut self, recording: &Recording) {
        self.texts -= usize::from(recording.unsettled.is_some());
        self.text_bytes -= recording.text_bytes();
        self.undelivered -= usize::from(recording.is_undelivered());
        self.unseen -= usize::from(recording.kind == Kind::Unseen);
    }
}
