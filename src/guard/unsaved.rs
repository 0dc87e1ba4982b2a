//! What of the impression table has changed since it was last written to storage.

/// Hashes of changed recordings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unsaved {
    /// Written at once.
    pub(crate) recordings: Vec<u64>,
    /// Written with the next that is, or when the page hides: a snapshot has covered them, and would again after a
    /// reload.
    pub(crate) covered: Vec<u64>,
    /// Whether what is said of the whole table has changed.
    pub(crate) header: bool,
}

impl Unsaved {
    /// Whether anything has to be written. `everything`: what only a snapshot has covered, too.
    pub(crate) fn is_due(&self, everything: bool) -> bool {
        self.header || !self.recordings.is_empty() || (everything && !self.covered.is_empty())
    }

    pub(crate) fn into_hashes(mut self) -> Vec<u64> {
        self.recordings.append(&mut self.covered);
        self.recordings
    }
}
