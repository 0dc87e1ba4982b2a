//! How a guard's impressions come from storage and other tabs, and go there: as segments. Who writes which when is up
//! to the caller.

use super::server_view::ServerView;
use super::taken_back::TakenBack;
use super::{Guard, Now, Segment, SegmentState, segment};
use crate::error::Error;
use crate::id_list::IdList;

impl Guard {
    /// Takes over stored segments when the storage has loaded: what is pending there is delivered by this writer. Tells
    /// how each could be read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn load<L: IdList + ?Sized>(&mut self, segments: &L) -> Result<Vec<SegmentState>, Error> {
        self.read_segments(segments, true)
    }

    /// Ends loading: numbers what was recorded meanwhile. To be called at once where there is no storage.
    pub fn finish_loading(&mut self) {
        self.impressions.finish_loading();
    }

    /// Takes notice of segments that another writer has stored since, and delivers itself. Tells how each could be
    /// read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn merge<L: IdList + ?Sized>(&mut self, segments: &L) -> Result<Vec<SegmentState>, Error> {
        self.read_segments(segments, false)
    }

    /// Another tab has heard of a deletion of the history, or it was known before: forgets a snapshot from before it.
    fn forget_older_snapshot(&mut self, deleted_at: u32) {
        let is_in_use = self.has_applied || self.server.len() > 0;
        if is_in_use && deleted_at > self.forget_before {
            let version = self.version.map(|_| 0);
            self.forget_snapshot();
            (self.forget_before, self.version) = (deleted_at, version);
        }
    }

    /// When the history was deleted, Unix seconds of the server's clock; 0: never.
    pub(super) fn latest_deletion(&self) -> u32 {
        self.impressions.forgotten().map_or(0, |forgotten| forgotten.before)
    }

    fn read_segments<L: IdList + ?Sized>(&mut self, segments: &L, own: bool) -> Result<Vec<SegmentState>, Error> {
        self.merge_headers(segments)?;
        let mut states = Vec::new();
        for index in 0..segments.len() {
            let contents = segment::read(segments.get(index), own)?;
            states.push(contents.state);
            self.merge_contents(contents)?;
        }
        Ok(states)
    }

    /// Takes over what segments say of all recordings before any of them is merged: so their order does not matter.
    fn merge_headers<L: IdList + ?Sized>(&mut self, segments: &L) -> Result<(), Error> {
        for index in 0..segments.len() {
            let header = segment::read_header(segments.get(index))?;
            self.merge_contents(header)?;
        }
        Ok(())
    }

    fn merge_contents(&mut self, contents: segment::Contents) -> Result<(), Error> {
        if contents.reporting {
            self.impressions.merge_reporting();
        }
        if let Some(forgotten) = contents.forgotten {
            self.forget_older_snapshot(forgotten.before);
            self.impressions.forget_before(forgotten);
        }
        for (hash, recording) in contents.recordings {
            self.impressions.merge(hash, recording)?;
        }
        Ok(())
    }

    /// What has changed since the last call, as a segment; nothing if nothing has. `everything`: also if a snapshot has
    /// covered impressions and nothing else has changed, for a page that hides.
    pub fn take_unsaved(&mut self, everything: bool) -> Option<Segment> {
        if !self.impressions.is_unsaved(everything) {
            return None;
        }
        let hashes = self.impressions.take_unsaved();
        Some(segment::write(&self.impressions, hashes))
    }

    /// One segment in place of several: what this table knows of the recordings in them, after merging them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn compact<L: IdList + ?Sized>(&mut self, segments: &L) -> Result<Segment, Error> {
        self.merge_headers(segments)?;
        let mut hashes = Vec::new();
        for index in 0..segments.len() {
            let contents = segment::read(segments.get(index), false)?;
            hashes.extend(contents.recordings.iter().map(|&(hash, _)| hash));
            self.merge_contents(contents)?;
        }
        Ok(segment::write(&self.impressions, hashes))
    }

    /// Forgets the snapshot in use and what was recorded before `cleared_at_ms`. What was recorded between then and now
    /// stays, and is unsaved again.
    pub fn clear_before(&mut self, cleared_at_ms: u64, now: Now) {
        self.forget_snapshot();
        self.has_applied = false;
        self.impressions.clear_before(cleared_at_ms, now.wall_ms);
    }

    fn forget_snapshot(&mut self) {
        self.server = ServerView::default();
        self.taken_back = TakenBack::default();
        self.version = None;
        self.forget_before = 0;
        self.server_clock = None;
        self.is_missing_shard = false;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.clear_before(u64::MAX, Now::at(0));
    }
}
