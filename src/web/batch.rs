//! A batch of texts as it crosses from JavaScript, written by one `encodeInto`, and of indices on their way back.
//!
//! JavaScript writes the texts one after the other, and beside them where each ends, as it counts: in UTF-16 units. Of
//! texts that are ASCII alone, as most ids are, these are bytes. Others have a byte between each two, so that halves of
//! characters stay apart, and [`TextBatch::separated`] finds their ends.

use std::ops::Range;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::Error;
use crate::id_list::{IdList, Split};
use crate::impression::Impression;
use crate::time::Time;

/// A batch that took more memory than this gives it back.
const KEPT_BYTES: usize = 1 << 20;

/// Texts on their way in, indices on their way out. Its memory is used again by each batch.
#[wasm_bindgen]
#[derive(Default)]
pub struct TextBatch {
    text: Vec<u8>,
    /// Where each text ends.
    ends: Vec<u32>,
    /// Bytes between one text's end and the next one's start.
    gap: usize,
    /// After which text each item ends; empty if each text is an item's only id.
    item_ends: Vec<u32>,
    indices: Vec<u32>,
}

#[wasm_bindgen]
impl TextBatch {
    /// An empty batch.
    #[wasm_bindgen(constructor)]
    pub fn new() -> TextBatch {
        TextBatch::default()
    }

    /// Where JavaScript may write so many bytes of text; what was written before stays. 0 if there is no memory for
    /// them.
    pub fn reserve(&mut self, bytes: usize) -> usize {
        if bytes > self.text.len() {
            if self.text.try_reserve(bytes - self.text.len()).is_err() {
                return 0;
            }
            self.text.resize(bytes, 0);
        }
        self.text.as_mut_ptr() as usize
    }

    /// Where JavaScript may write so many ends (u32) of texts that follow each other. 0 if there is no memory for them.
    #[wasm_bindgen(js_name = reserveEnds)]
    pub fn reserve_ends(&mut self, count: usize) -> usize {
        self.gap = 0;
        self.item_ends.clear();
        self.ends.clear();
        if self.ends.try_reserve(count).is_err() {
            return 0;
        }
        self.ends.resize(count, 0);
        self.ends.as_mut_ptr() as usize
    }

    /// Where JavaScript may write after which text (u32) each of so many items ends. 0 if there is no memory for them.
    #[wasm_bindgen(js_name = reserveItems)]
    pub fn reserve_items(&mut self, count: usize) -> usize {
        if self.item_ends.try_reserve(count).is_err() {
            return 0;
        }
        self.item_ends.resize(count, 0);
        self.item_ends.as_mut_ptr() as usize
    }

    /// Turns ends that count UTF-16 units into those of the texts' UTF-8, which takes the first `bytes` bytes, with a
    /// byte between each two texts.
    pub fn separated(&mut self, bytes: usize) {
        self.gap = 1;
        let text = self.text.get(..bytes).unwrap_or_default();
        let (mut at, mut units) = (0, 0);
        for end in &mut self.ends {
            while let Some(&byte) = text.get(at) {
                let is_first_byte = byte & 0xC0 != 0x80;
                if is_first_byte && units >= *end {
                    break;
                }
                // A character of four bytes has two units, any other one.
                units += u32::from(is_first_byte) + u32::from(byte >= 0xF0);
                at += 1;
            }
            *end = at as u32;
            at += 1;
        }
    }

    /// Where the indices (u32) of the latest answer lie.
    pub fn indices(&self) -> *const u32 {
        self.indices.as_ptr()
    }

    /// How many indices the latest answer has.
    pub fn answered(&self) -> usize {
        self.indices.len()
    }

    /// Gives back memory that an unusually large batch took.
    pub fn shrink(&mut self) {
        if self.text.capacity() > KEPT_BYTES {
            *self = TextBatch::default();
        }
    }

    /// The texts from `first` on as ids with these times, in Unix milliseconds.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn impressions(&self, first: usize, times_ms: &[f64]) -> Result<Vec<Impression>, Error> {
        let mut list = Vec::new();
        list.try_reserve_exact(times_ms.len())?;
        for (index, &at) in (first..self.len()).zip(times_ms) {
            let text = String::from_utf8_lossy(self.get(index));
            let mut id = String::new();
            id.try_reserve_exact(text.len())?;
            id.push_str(&text);
            let at = Time::from_unix_ms(at as u64);
            list.push(Impression { id, at });
        }
        Ok(list)
    }

    /// Keeps the indices that answer for this batch. Returns how many they are.
    pub(super) fn answer(&mut self, indices: Vec<u32>) -> usize {
        self.indices = indices;
        self.indices.len()
    }

    /// Keeps the indices of a list in two, the fresh ones first. Returns how many of them are fresh.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn answer_split(&mut self, Split { mut fresh, seen }: Split) -> Result<usize, Error> {
        let count = fresh.len();
        fresh.try_reserve_exact(seen.len())?;
        fresh.extend(seen);
        self.indices = fresh;
        Ok(count)
    }
}

impl IdList for TextBatch {
    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends[before] as usize + self.gap,
            None => 0,
        };
        // Ends come from outside: an impossible one makes an empty text, not a trap.
        self.text.get(start..self.ends[index] as usize).unwrap_or_default()
    }

    #[inline]
    fn items(&self) -> usize {
        if self.item_ends.is_empty() {
            self.ends.len()
        } else {
            self.item_ends.len()
        }
    }

    #[inline]
    fn ids_of(&self, item: usize) -> Range<usize> {
        if self.item_ends.is_empty() {
            return item..item + 1;
        }
        // Ends come from outside: an impossible one makes an item without ids.
        let end = (self.item_ends[item] as usize).min(self.ends.len());
        let start = item.checked_sub(1).map_or(0, |before| self.item_ends[before] as usize);
        start.min(end)..end
    }
}
