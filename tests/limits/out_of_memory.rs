//! Allocations whose size depends on input may fail: the call returns an error, and does not abort the process.
#![cfg(not(target_arch = "wasm32"))]

#[path = "../common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

use common::{RawShard, START, apply, at, guard, ids, options};
use seenguard::{Error, Impression, Report, ShardChain};

/// Smaller allocations do not grow with an input of a thousand ids.
const LARGE: usize = 4096;

thread_local! {
    /// How many large allocations of this thread succeed before one fails; `None`: none fails.
    static UNTIL_FAILURE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The system's allocator, of which one large allocation can be made to fail.
struct Failing;

impl Failing {
    fn fails(size: usize) -> bool {
        if size < LARGE {
            return false;
        }
        let left = UNTIL_FAILURE.get();
        UNTIL_FAILURE.set(left.and_then(|left| left.checked_sub(1)));
        left == Some(0)
    }
}

// SAFETY: each call is one of the system's allocator, or has failed, which every allocation may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Failing::fails(layout.size()) {
            return null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Failing::fails(size) {
            return null_mut();
        }
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Makes the first large allocation of a call fail, then the second one, and so on until there are no more. Each time
/// the call must return the error. Returns the number of large allocations.
fn fail_each<T>(mut call: impl FnMut() -> Result<T, Error>) -> usize {
    let mut failed = 0;
    loop {
        UNTIL_FAILURE.set(Some(failed));
        let result = call();
        let has_failed = UNTIL_FAILURE.take().is_none();
        if !has_failed {
            assert!(result.is_ok());
            return failed;
        }
        let code = result.err().map(|error| error.code());
        assert_eq!(code, Some("out-of-memory"), "allocation {failed}");
        failed += 1;
    }
}

#[test]
fn i5_a_chain_returns_an_error_if_its_interleaved_shards_do_not_fit() {
    let mut chain = ShardChain::new(options(1000, 5, 0)).unwrap();
    chain.record(&ids("seen", 0..4_000), at(START)).unwrap();
    let list = ids("seen", 0..500);
    // The first one is for the list, whose length a caller bounds.
    UNTIL_FAILURE.set(Some(1));
    let result = chain.filter(&list, None, at(START));
    assert!(UNTIL_FAILURE.take().is_none() && result == Err(Error::OutOfMemory));
}

#[test]
fn i5_a_chain_returns_an_error_if_a_report_does_not_fit() {
    let impression = |id| Impression { id, at: at(START) };
    let mut report = Report::new("home:ada", at(START));
    report.impressions = ids("item", 0..1_000).into_iter().map(impression).collect();
    let report = report.received(at(START));
    let chain = ShardChain::new(options(4_000, 5, 0)).unwrap();
    // The ids that count, and the shard.
    assert_eq!(fail_each(|| chain.clone().ingest(&report)), 2);
}

#[test]
fn i5_a_guard_returns_an_error_if_the_shards_do_not_fit() {
    let shard = RawShard::rice(1 << 20, 0, 0, &[]).base64();
    let empty = guard();
    // The bits of the shard, and of the group in which it lies.
    assert_eq!(fail_each(|| apply(&mut empty.clone(), None, &[&shard], at(START))), 2);
}
