//! How a guard's impressions come from storage and other tabs, and go there: as segments. Who writes which when,
//! [`Storage`](crate::Storage) decides.

use super::segment::{self, Header, SegmentReader};
use super::server_view::ServerView;
use super::taken_back::TakenBack;
use super::{Guard, Now, Segment, SegmentState};
use crate::device_name::DeviceName;
use crate::error::Error;
use crate::id_list::IdList;

impl Guard {
    /// Takes over stored segments when the storage has loaded: what is pending there is delivered by this writer. Tells
    /// how each could be read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn load<L: IdList + ?Sized>(&mut self, segments: &L, now: Now) -> Result<Vec<SegmentState>, Error> {
        self.read_segments(segments, true, now, &mut Vec::new())
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
    pub fn merge<L: IdList + ?Sized>(&mut self, segments: &L, now: Now) -> Result<Vec<SegmentState>, Error> {
        self.read_segments(segments, false, now, &mut Vec::new())
    }

    /// One segment in place of several: what this table knows of the recordings in them, after merging them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn compact<L: IdList + ?Sized>(&mut self, segments: &L, now: Now) -> Result<Segment, Error> {
        let mut hashes = Vec::new();
        self.read_segments(segments, false, now, &mut hashes)?;
        self.segment_of(&hashes)
    }

    /// Whether anything has changed since the last [`Guard::take_unsaved`]. `everything`: also if a snapshot has covered
    /// impressions and nothing else has changed.
    pub fn is_unsaved(&self, everything: bool) -> bool {
        self.impressions.is_unsaved(everything)
    }

    /// What has changed since the last call, as a segment; nothing if nothing has. `everything`: also if a snapshot has
    /// covered impressions and nothing else has changed, for a page that hides.
    pub fn take_unsaved(&mut self, everything: bool) -> Option<Segment> {
        self.take_unsaved_hashes(everything).map(|(segment, _)| segment)
    }

    /// The same, with the hashes of the recordings in it. Without memory for it there is nothing, and all stays unsaved.
    pub(crate) fn take_unsaved_hashes(&mut self, everything: bool) -> Option<(Segment, Vec<u64>)> {
        if !self.is_unsaved(everything) {
            return None;
        }
        let hashes = self.impressions.take_unsaved();
        match self.segment_of(&hashes) {
            Ok(segment) => Some((segment, hashes)),
            Err(_) => {
                self.impressions.set_unsaved(&hashes);
                None
            }
        }
    }

    /// The recordings of these hashes, as far as the table has them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn segment_of(&self, hashes: &[u64]) -> Result<Segment, Error> {
        segment::write(&self.impressions, hashes)
    }

    fn read_segments<L: IdList + ?Sized>(
        &mut self,
        segments: &L,
        own: bool,
        now: Now,
        hashes: &mut Vec<u64>,
    ) -> Result<Vec<SegmentState>, Error> {
        let texts = || (0..segments.len()).map(|index| segments.get(index));
        let mut readers = Vec::new();
        for text in texts() {
            readers.push(SegmentReader::new(text)?);
        }
        self.merge_headers(readers.iter().map(|reader| &reader.header), now);
        for (reader, text) in readers.iter_mut().zip(texts()) {
            while self.merge_chunk(reader, text, own, now, hashes)? {}
        }
        Ok(readers.iter().map(SegmentReader::state).collect())
    }

    /// Takes over what segments say of all recordings, before any of these is merged: so their order does not matter.
    pub(crate) fn merge_headers<'a>(&mut self, headers: impl Iterator<Item = &'a Header> + Clone, now: Now) {
        let latest = headers.clone().map(|header| header.clear).max().unwrap_or(0);
        if self.impressions.merge_clear(latest, now.wall_ms) {
            self.forget_snapshot();
            self.has_applied = false;
        }
        for header in headers {
            if header.reporting {
                self.impressions.merge_reporting();
            }
            if header.clear < self.impressions.clear_number() {
                continue;
            }
            if let Some(forgotten) = header.forgotten {
                self.forget_older_snapshot(forgotten.before);
                self.impressions.forget_before(forgotten);
            }
            if let Some(name) = header.device_name {
                self.impressions.merge_device_name(name);
            }
        }
    }

    /// Merges the next chunk of a segment whose header was merged, and adds the hashes of the recordings that count.
    /// Returns false at the end.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn merge_chunk(
        &mut self,
        reader: &mut SegmentReader,
        text: &[u8],
        own: bool,
        now: Now,
        hashes: &mut Vec<u64>,
    ) -> Result<bool, Error> {
        let Some(recordings) = reader.next_chunk(text, own)? else {
            return Ok(false);
        };
        for (hash, recording) in recordings {
            if self.impressions.counts(&recording, reader.header.clear, now.wall_ms) {
                hashes.try_reserve(1)?;
                hashes.push(hash);
                self.impressions.merge(hash, recording)?;
            }
        }
        Ok(true)
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

    /// The number of the latest clear that is known: 1 above the device's time of it, Unix milliseconds; 0: none.
    pub fn clear_number(&self) -> u64 {
        self.impressions.clear_number()
    }

    /// The clear of this guard has reached the storage.
    pub(crate) fn finish_clear(&mut self) {
        self.impressions.finish_clear();
    }

    /// Names the device, unless it has a name.
    pub(crate) fn name_device(&mut self, name: DeviceName) {
        self.impressions.name_device(name);
    }

    /// What was read of these recordings is to be written anew.
    pub(crate) fn set_unsaved(&mut self, hashes: &[u64]) {
        self.impressions.set_unsaved(hashes);
    }

    /// The device's name for this namespace, 12 of `0-9a-z`; nothing before the storage has loaded, or without one.
    pub fn device_name(&self) -> Option<String> {
        self.impressions.device_name().map(|name| name.to_string())
    }

    /// Forgets everything that was recorded so far, and the snapshot in use. What is merged from before counts no more.
    pub fn clear(&mut self, now: Now) {
        self.impressions.clear(now.wall_ms);
        self.forget_snapshot();
        self.has_applied = false;
    }

    fn forget_snapshot(&mut self) {
        self.server = ServerView::default();
        self.taken_back = TakenBack::default();
        self.version = None;
        self.forget_before = 0;
        self.server_clock = None;
        self.is_missing_shard = false;
        self.snapshots += 1;
    }
}
