//! A batch of ids as it crosses from JavaScript: one text, written by one `encodeInto`, since a call for each id costs more than the filter.
//!
//! JavaScript writes ids that are ASCII alone as one text, and their ends beside it. Others it joins with NUL between them, and [`IdBatch::split`]
//! finds the ends. An id that holds a NUL itself shows as a wrong number of parts; then JavaScript encodes the ids one after the other.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::ids::IdList;

/// What stands between ids in a joined text.
const SEPARATOR: u8 = 0;

/// Ids on their way in, and the indices of the fresh ones on their way out. Its memory is used again by each batch.
#[wasm_bindgen]
#[derive(Default)]
pub struct IdBatch {
    text: Vec<u8>,
    ends: Vec<u32>,
    /// Bytes between one id's end and the next one's start.
    gap: usize,
    pub(super) fresh: Vec<u32>,
}

#[wasm_bindgen]
impl IdBatch {
    /// An empty batch.
    #[wasm_bindgen(constructor)]
    pub fn new() -> IdBatch {
        IdBatch::default()
    }

    /// Where JavaScript may write `length` bytes of text; what was written before stays. 0 if there is no memory for them.
    pub fn reserve(&mut self, length: usize) -> usize {
        if length > self.text.len() {
            if self.text.try_reserve(length - self.text.len()).is_err() {
                return 0;
            }
            self.text.resize(length, 0);
        }
        self.text.as_mut_ptr() as usize
    }

    /// Takes the first `length` bytes as `count` joined ids. False if they are not so many: then one of them holds a separator.
    pub fn split(&mut self, length: usize, count: usize) -> bool {
        self.ends.clear();
        self.gap = 1;
        if count == 0 || length > self.text.len() || self.ends.try_reserve(count).is_err() {
            return count == 0;
        }
        for end in memchr::memchr_iter(SEPARATOR, &self.text[..length]) {
            if self.ends.len() == count {
                return false;
            }
            self.ends.push(end as u32);
        }
        self.ends.push(length as u32);
        self.ends.len() == count
    }

    /// Where JavaScript may write `count` ends (u32) of ids that follow each other without a separator. 0 if there is no memory for them.
    #[wasm_bindgen(js_name = reserveEnds)]
    pub fn reserve_ends(&mut self, count: usize) -> usize {
        self.gap = 0;
        self.ends.clear();
        if self.ends.try_reserve(count).is_err() {
            return 0;
        }
        self.ends.resize(count, 0);
        self.ends.as_mut_ptr() as usize
    }

    /// Where the indices (u32) of the fresh ids lie after a filter.
    #[wasm_bindgen(js_name = freshPointer)]
    pub fn fresh_pointer(&self) -> usize {
        self.fresh.as_ptr() as usize
    }

    /// Gives back memory that an unusually large batch took.
    pub fn shrink(&mut self, length: usize) {
        if self.text.capacity() > length {
            self.text = Vec::new();
            self.ends = Vec::new();
            self.fresh = Vec::new();
        }
    }
}

impl IdBatch {
    /// The ids, and where the fresh ones' indices go.
    pub(super) fn parts(&mut self) -> (Ids<'_>, &mut Vec<u32>) {
        (
            Ids {
                text: &self.text,
                ends: &self.ends,
                gap: self.gap,
            },
            &mut self.fresh,
        )
    }
}

/// The ids of a batch.
pub(super) struct Ids<'a> {
    text: &'a [u8],
    ends: &'a [u32],
    gap: usize,
}

impl IdList for Ids<'_> {
    fn count(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn id(&self, index: usize) -> &[u8] {
        let start = if index == 0 {
            0
        } else {
            self.ends[index - 1] as usize + self.gap
        };
        // Ends come from outside where JavaScript writes them: an impossible one makes an empty id, not a trap.
        self.text.get(start..self.ends[index] as usize).unwrap_or_default()
    }
}
