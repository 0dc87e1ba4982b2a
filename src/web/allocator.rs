//! The module's allocator: blocks of a hundred sizes, and for each size a list of those that are free.
//!
//! What merges free neighbours into larger blocks is four times the code, in Rust's standard library ten times. Nothing merges here: a block that was
//! given back serves requests of its size again. That suits what guards and chains do, which is the same again and again: the memory is bounded by
//! the most blocks of each size that were ever held at one time, a block is at most a quarter larger than what it has to hold, and both giving and
//! taking back are a few steps, whatever lies around.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::memory_grow;
use core::cell::Cell;
use core::ptr::null_mut;

const PAGE: usize = 1 << 16;
/// Blocks are whole multiples of it.
const UNIT: usize = 16;
/// A block's first bytes tell how large it is. So whoever gives it back need not know, which would be code at each such place.
const HEADER: usize = 8;
/// Four for each power of two, up to what is just above half of the address space, which is more than anybody may ask for.
const SIZES: usize = 4 * (28 - 2) + 4;

/// The blocks of one size that are free: the first one, in which lies where the next one is.
type FreeList = Cell<*mut u8>;

pub(super) struct Allocator {
    free: [FreeList; SIZES],
    /// What has not been a block yet, up to the end of the memory.
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: the module has one thread.
unsafe impl Sync for Allocator {}

impl Allocator {
    pub(super) const fn new() -> Self {
        Allocator {
            free: [const { Cell::new(null_mut()) }; SIZES],
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// The list of the smallest blocks that have so many bytes, and how many these have: up to 128 the next multiple of 16, then of a quarter of the
    /// power of two below.
    #[inline]
    fn list_for(&self, bytes: usize) -> (&FreeList, usize) {
        let last_unit = (bytes - 1) / UNIT;
        let shift = (last_unit | 4).ilog2() - 2;
        let quarters = last_unit >> shift;
        let list = &self.free[4 * shift as usize + quarters];
        (list, ((quarters + 1) << shift) * UNIT)
    }

    /// A block that never was one, if there is memory for it.
    fn new_block(&self, bytes: usize) -> Option<usize> {
        let missing = bytes.saturating_sub(self.end.get() - self.next.get());
        if missing > 0 {
            let pages = missing.div_ceil(PAGE);
            let before = memory_grow(0, pages);
            if before == usize::MAX {
                return None;
            }
            // The memory that was there first holds the stack and the constants.
            if self.end.get() == 0 {
                self.next.set(before * PAGE);
            }
            self.end.set((before + pages) * PAGE);
        }
        let block = self.next.get();
        self.next.set(block + bytes);
        Some(block)
    }
}

/// How many bytes the block has whose content lies here.
///
/// # Safety
/// It was given away by the allocator.
unsafe fn size_of_block(content: *mut u8) -> usize {
    // SAFETY: that is what lies before the content.
    unsafe { content.sub(HEADER).cast::<usize>().read() }
}

// SAFETY: blocks do not overlap, and each is either in the list of its size or in the caller's hands. Where its content lies is a multiple of 8.
unsafe impl GlobalAlloc for Allocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Nothing in this module has to be aligned to more.
        if layout.align() > HEADER {
            return null_mut();
        }
        let (list, bytes) = self.list_for(layout.size() + HEADER);
        let mut content = list.get();
        if content.is_null() {
            let Some(block) = self.new_block(bytes) else {
                return content;
            };
            content = (block + HEADER) as *mut u8;
            // SAFETY: the block begins with the header.
            unsafe { (block as *mut usize).write(bytes) };
        } else {
            // SAFETY: the block is free, so it holds where the next one is.
            list.set(unsafe { content.cast::<*mut u8>().read() });
        }
        content
    }

    #[inline(never)]
    unsafe fn dealloc(&self, content: *mut u8, _: Layout) {
        // SAFETY: the caller has the block from here, and it has room for where the next one is.
        unsafe {
            let (list, _) = self.list_for(size_of_block(content));
            content.cast::<*mut u8>().write(list.get());
            list.set(content);
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, content: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller has the block from here, and vouches that so many bytes make a layout. What the smaller block has is copied.
        unsafe {
            let room = size_of_block(content) - HEADER;
            if bytes <= room && bytes >= room / 2 {
                return content;
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(bytes, HEADER));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(content, room.min(bytes));
                self.dealloc(content, layout);
            }
            moved
        }
    }
}
