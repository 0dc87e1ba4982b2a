//! Merging what was read, in portions: a page must go on meanwhile.

use crate::guard::{Guard, Now, SegmentReader, SegmentState};

/// Chunks of segments, of 4 KB each, that are merged at once.
const CHUNKS_A_PORTION: usize = 16;

/// One text that was read.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) key: String,
    pub(super) text: String,
    /// Nothing without memory for what it says.
    reader: Option<SegmentReader>,
    /// The recordings in it that count.
    pub(super) hashes: Vec<u64>,
}

impl Text {
    pub(super) fn new(key: String, text: String) -> Self {
        Text {
            reader: SegmentReader::new(text.as_bytes()).ok(),
            key,
            text,
            hashes: Vec::new(),
        }
    }

    pub(super) fn clear(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.header.clear)
    }

    /// What there is no memory for is left alone, as what a newer version has stored.
    pub(super) fn state(&self) -> SegmentState {
        self.reader.as_ref().map_or(SegmentState::Newer, SegmentReader::state)
    }
}

/// Texts that were read together, while they are merged.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) texts: Vec<Text>,
    /// Of how many of them all is merged.
    merged: usize,
    /// Whether they are read to be compacted.
    pub(super) is_group: bool,
    /// Whether this writer delivers what they have pending.
    own: bool,
}

impl Reading {
    /// Merges what the texts say of all recordings, before any of these.
    pub(super) fn begin(texts: Vec<Text>, is_group: bool, own: bool, guard: &mut Guard, now: Now) -> Self {
        let readers = texts.iter().filter_map(|text| text.reader.as_ref());
        guard.merge_headers(readers.map(|reader| &reader.header), now);
        Reading {
            texts,
            merged: 0,
            is_group,
            own,
        }
    }

    /// Merges the next portion. Returns whether everything is merged.
    pub(super) fn merge_portion(&mut self, guard: &mut Guard, now: Now) -> bool {
        for _ in 0..CHUNKS_A_PORTION {
            let Some(text) = self.texts.get_mut(self.merged) else {
                return true;
            };
            let merge = |reader| guard.merge_chunk(reader, text.text.as_bytes(), self.own, now, &mut text.hashes);
            let has_more = text.reader.as_mut().map_or(Ok(false), merge);
            if has_more.is_err() {
                text.reader = None;
            }
            self.merged += usize::from(has_more != Ok(true));
        }
        self.merged == self.texts.len()
    }
}
