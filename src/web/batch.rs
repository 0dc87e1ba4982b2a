//! A batch of ids as it crosses from JavaScript: one text, written by one `encodeInto`, since a call for each id costs more than the filter.
//!
//! JavaScript writes ids that are ASCII alone as one text, and their ends beside it. Others it joins with NUL between them, and [`IdBatch::split`]
//! finds the ends. An id that holds a NUL itself shows as a wrong number of parts; then JavaScript encodes the ids one after the other.

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::ids::IdList;

/// What stands between ids in a joined text.
const SEPARATOR: u8 = 0;

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

/// Takes the first `length` bytes as `count` joined ids. False if they are not so many: then one of them holds a separator.
#[wasm_bindgen]
pub fn split(length: usize, count: usize) -> bool {
    BATCH.with_borrow_mut(|Batch { text, ends, gap, .. }| {
        ends.clear();
        *gap = 1;
        if count == 0 || length > text.len() || ends.try_reserve(count).is_err() {
            return count == 0;
        }
        for end in memchr::memchr_iter(SEPARATOR, &text[..length]) {
            if ends.len() == count {
                return false;
            }
            ends.push(end as u32);
        }
        ends.push(length as u32);
        ends.len() == count
    })
}

/// Where JavaScript may write `count` ends (u32) of ids that follow each other without a separator. 0 if there is no memory for them.
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
