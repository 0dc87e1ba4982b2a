//! A batch of strings from JavaScript, written by one `encodeInto`, and of indices for JavaScript.
//!
//! JavaScript writes the strings one after the other as UTF-8, and separately their ends in UTF-16 units. In an ASCII
//! string, such as most ids, these equal bytes. Otherwise there is a byte between every two strings, so that halves of
//! surrogate pairs do not join, and [`TextBatch::separated`] computes the ends in bytes.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::id_list::IdList;
use crate::impression::Impression;
use crate::time::Time;

/// Strings as input, indices as output. Each batch reuses the memory.
#[wasm_bindgen]
#[derive(Default)]
pub struct TextBatch {
    text: Vec<u8>,
    /// The end of each string.
    ends: Vec<u32>,
    /// The number of bytes between two strings.
    gap: usize,
    indices: Vec<u32>,
}

#[wasm_bindgen]
impl TextBatch {
    /// An empty batch.
    #[wasm_bindgen(constructor)]
    pub fn new() -> TextBatch {
        TextBatch::default()
    }

    /// Returns the address at which JavaScript may write this many bytes; bytes written before stay. 0 if there is no
    /// memory. With 0 bytes, frees the memory.
    pub fn reserve(&mut self, bytes: usize) -> usize {
        if bytes == 0 {
            self.text = Vec::new();
        }
        if bytes > self.text.len() {
            if self.text.try_reserve(bytes - self.text.len()).is_err() {
                return 0;
            }
            self.text.resize(bytes, 0);
        }
        self.text.as_mut_ptr() as usize
    }

    /// Returns the address at which JavaScript may write this many ends (u32) of adjacent strings.
    #[wasm_bindgen(js_name = reserveEnds)]
    pub fn reserve_ends(&mut self, count: usize) -> usize {
        self.gap = 0;
        self.ends.clear();
        self.ends.resize(count, 0);
        self.ends.as_mut_ptr() as usize
    }

    /// Converts the ends from UTF-16 units to bytes. The strings have the first `bytes` bytes, with a byte between
    /// every two strings.
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
                // A character of four bytes has two units, all others have one.
                units += u32::from(is_first_byte) + u32::from(byte >= 0xF0);
                at += 1;
            }
            *end = at as u32;
            at += 1;
        }
    }

    /// The address of the indices (u32) of the latest result.
    pub fn indices(&self) -> *const u32 {
        self.indices.as_ptr()
    }

    /// The number of indices of the latest result.
    #[cfg(feature = "server")]
    pub fn answered(&self) -> usize {
        self.indices.len()
    }

    /// The strings from `first` on as ids with these times, in Unix milliseconds.
    pub(super) fn impressions(&self, first: usize, times_ms: &[f64]) -> Vec<Impression> {
        let mut list = Vec::with_capacity(times_ms.len());
        for (index, &at) in (first..self.len()).zip(times_ms) {
            list.push(Impression {
                // JavaScript has written UTF-8.
                id: String::from(std::str::from_utf8(self.get(index)).unwrap_or_default()),
                at: Time::from_unix_ms(at as u64),
            });
        }
        list
    }

    /// Sets the resulting indices of this batch: `first` and then `others`. Returns the length of `first`.
    pub(super) fn answer(&mut self, first: Vec<u32>, others: &[u32]) -> usize {
        let count = first.len();
        self.indices = first;
        self.indices.extend_from_slice(others);
        count
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
        // Ends are untrusted: an invalid one yields an empty string instead of a trap.
        self.text.get(start..self.ends[index] as usize).unwrap_or_default()
    }
}
