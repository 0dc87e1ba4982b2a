//! A batch of ids as it crosses from JavaScript: one text, written by one `encodeInto`, since a call for each id costs more than the filter.
//!
//! JavaScript writes the ids one after the other, and beside them where each ends, as it counts: in UTF-16 units. Of ids that are ASCII alone, as most
//! are, these are bytes. Others have a byte between each two, so that halves of characters stay apart, and [`widen`] finds their ends.

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::id_list::IdList;

thread_local! {
    /// One for all guards and chains of an instance. Its memory is used again by each batch.
    static BATCH: RefCell<Batch> = const { RefCell::new(Batch::new()) };
}

/// Ids on their way in, and the indices of the fresh ones on their way out.
struct Batch {
    text: Vec<u8>,
    ends: Vec<u32>,
    /// Bytes between one id's end and the next one's start.
    gap: usize,
    fresh: Vec<u32>,
}

impl Batch {
    const fn new() -> Self {
        Batch {
            text: Vec::new(),
            ends: Vec::new(),
            gap: 0,
            fresh: Vec::new(),
        }
    }
}

/// Calls `run` with the ids, and with where the fresh ones' indices go.
pub(super) fn with_batch<T>(run: impl FnOnce(&Ids<'_>, &mut Vec<u32>) -> T) -> T {
    BATCH.with_borrow_mut(|Batch { text, ends, gap, fresh }| {
        let ids = Ids { text, ends, gap: *gap };
        run(&ids, fresh)
    })
}

/// Where JavaScript may write `length` bytes of text; what was written before stays. 0 if there is no memory for them.
#[wasm_bindgen]
pub fn reserve(length: usize) -> usize {
    BATCH.with_borrow_mut(|Batch { text, .. }| {
        if length > text.len() {
            if text.try_reserve(length - text.len()).is_err() {
                return 0;
            }
            text.resize(length, 0);
        }
        text.as_mut_ptr() as usize
    })
}

/// Where JavaScript may write `count` ends (u32) of ids that follow each other. 0 if there is no memory for them.
#[wasm_bindgen(js_name = reserveEnds)]
pub fn reserve_ends(count: usize) -> usize {
    BATCH.with_borrow_mut(|Batch { ends, gap, .. }| {
        *gap = 0;
        ends.clear();
        if ends.try_reserve(count).is_err() {
            return 0;
        }
        ends.resize(count, 0);
        ends.as_mut_ptr() as usize
    })
}

/// Turns ends that count UTF-16 units into those of the ids' UTF-8, which takes the first `length` bytes, with a byte between each two ids.
#[wasm_bindgen]
pub fn widen(length: usize) {
    BATCH.with_borrow_mut(|Batch { text, ends, gap, .. }| {
        *gap = 1;
        let bytes = text.get(..length).unwrap_or_default();
        let (mut at, mut units) = (0, 0);
        for end in ends {
            while let Some(&byte) = bytes.get(at) {
                let is_first = byte & 0xC0 != 0x80;
                if is_first && units >= *end {
                    break;
                }
                // A character of four bytes has two units, any other one.
                units += u32::from(is_first) + u32::from(byte >= 0xF0);
                at += 1;
            }
            *end = at as u32;
            at += 1;
        }
    });
}

/// Where the indices (u32) of the fresh ids lie after a filter.
#[wasm_bindgen]
pub fn fresh() -> *const u32 {
    with_batch(|_, fresh| fresh.as_ptr())
}

/// Gives back memory that an unusually large batch took.
#[wasm_bindgen]
pub fn shrink(length: usize) {
    BATCH.with_borrow_mut(|batch| {
        if batch.text.capacity() > length {
            *batch = Batch::new();
        }
    });
}

/// The ids of a batch.
pub(super) struct Ids<'a> {
    text: &'a [u8],
    ends: &'a [u32],
    gap: usize,
}

impl IdList for Ids<'_> {
    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 {
            0
        } else {
            self.ends[index - 1] as usize + self.gap
        };
        // Ends come from outside where JavaScript writes them: an impossible one makes an empty id, not a trap.
        self.text.get(start..self.ends[index] as usize).unwrap_or_default()
    }
}
