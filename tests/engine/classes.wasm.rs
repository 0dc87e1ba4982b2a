//! The crate as Wasm: the same results, bytes and sizes as native code, though `usize` has 32 bits; its classes trap for no
//! input and free their memory. Their results are tested through the npm package.

use js_sys::{Uint8Array, WebAssembly};
use seenguard::device::Explanation;
use seenguard::web::guard::{FilterKind, Guard, RecordKind};
use seenguard::{ChainOptions, MAX_BITS, Parameters, Shard, ShardChain, Time};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::common::reference::ReferenceShard;
use crate::common::sizes::{ESTIMATES, SIZES};
use crate::common::vectors::{edges, native};
use crate::common::{RawShard, START, at, ids, shard_with};

// The same as native code.

#[wasm_bindgen_test]
fn every_reference_shard_has_the_same_results_and_encoding() {
    for vectors in [native(), edges()] {
        for case in &vectors.cases {
            let shard = Shard::from_base64(&case.base64).unwrap();
            assert_eq!((shard.count, shard.filter.set_bits()), (case.count, case.set_bits));
            for (index, id) in vectors.ids.iter().enumerate() {
                assert_eq!(shard.filter.contains(id), case.answer(index));
            }
            assert_eq!(shard.to_base64().unwrap(), case.base64);
            let parameters = Parameters::new(case.bits, case.hashes).unwrap();
            let inserted = &vectors.ids[..case.inserted];
            assert_eq!(
                shard_with(parameters, case.seed(), inserted, case.epoch, case.expires),
                shard
            );
        }
    }
}

#[wasm_bindgen_test]
fn sizes_and_estimates_are_those_of_native_code() {
    for &(capacity, rate, bits, hashes) in SIZES {
        let parameters = Parameters::for_capacity(capacity, rate).unwrap();
        assert_eq!((parameters.bits(), parameters.hashes()), (bits, hashes));
    }
    for &(bits, hashes, set_bits, items, rate) in ESTIMATES {
        let parameters = Parameters::new(bits, hashes).unwrap();
        assert!((parameters.estimate_items(set_bits) - items).abs() <= 1e-9 * items);
        assert!((parameters.false_positive_rate(set_bits) - rate).abs() <= 1e-9 * rate);
    }
}

#[wasm_bindgen_test]
fn the_largest_numbers_keep_all_their_bits() {
    let largest = RawShard {
        hashes: 32,
        count: u32::MAX,
        seed: u64::MAX - 1,
        epoch: u32::MAX,
        expires: u32::MAX,
        ..RawShard::rice(MAX_BITS, 31, 1, &[0xFE, 0xFF, 0xFF, 0x01])
    };
    let shard = Shard::from_bytes(&largest.bytes()).unwrap();
    assert_eq!(
        (shard.count, shard.filter.seed(), shard.epoch),
        (u32::MAX, u64::MAX - 1, u32::MAX)
    );
    assert_eq!(shard.filter.set_bits(), 1);
    assert_eq!(
        ReferenceShard::from_bytes(&shard.to_bytes().unwrap())
            .unwrap()
            .set
            .first(),
        Some(&(MAX_BITS - 1))
    );
}

#[wasm_bindgen_test]
fn times_of_javascript_keep_their_milliseconds() {
    let mut guard = seenguard::device::Guard::new(30.0, seenguard::device::DEFAULT_REMEMBER).unwrap();
    let latest = 8_640_000_000_000_000;
    guard.record(&["a"], Time::from_unix_ms(latest));
    assert_eq!(
        guard.explain("a", Time::from_unix_ms(latest)),
        Some(Explanation::Pending { at: latest })
    );
}

// The classes.

const WALL: f64 = START as f64 * 1000.0;
const NONE: f64 = f64::NAN;

/// The module's memory as a value of JavaScript.
fn buffer() -> JsValue {
    wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>().buffer()
}

/// Writes bytes where JavaScript would.
fn write(pointer: usize, bytes: &[u8]) {
    Uint8Array::new(&buffer()).set(&Uint8Array::from(bytes), pointer as u32);
}

/// Writes the ends of adjacent strings with these lengths.
fn write_ends(guard: &mut Guard, lengths: impl Iterator<Item = usize>) {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u32;
        Some(*end)
    });
    let ends: Vec<u32> = ends.collect();
    let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    write(guard.ends(ends.len()), &bytes);
}

/// Writes any strings, with a byte between each two.
fn write_separated<'a>(guard: &'a mut Guard, texts: &[&str]) -> &'a mut Guard {
    write_ends(guard, texts.iter().map(|text| text.encode_utf16().count()));
    let all = texts.join("\0");
    write(guard.reserve(all.len()), all.as_bytes());
    guard.separated(all.len());
    guard
}

fn guard() -> Guard {
    Guard::new(30.0, 10_000, &[0.0])
}

fn record(guard: &mut Guard, ids: &[&str]) -> usize {
    write_separated(guard, ids).record(RecordKind::Seen, WALL)
}

fn fresh(guard: &mut Guard, ids: &[&str]) -> usize {
    write_separated(guard, ids).filter(FilterKind::Fresh, WALL)
}

fn apply(guard: &mut Guard, shards: &[&str], version: f64) {
    write_separated(guard, shards).apply(0, 0, 0.0, version, NONE, &[], NONE, false, true, WALL);
}

#[wasm_bindgen_test]
fn impossible_ends_and_lengths_trap_nothing() {
    let mut guard = guard();
    guard.separated(5);
    write(guard.reserve(4), b"abcd");
    let ends = [9u32, 2, u32::MAX, 1].iter().flat_map(|end| end.to_le_bytes());
    let ends: Vec<u8> = ends.collect();
    for length in [0, 4, usize::MAX] {
        write(guard.ends(4), &ends);
        guard.filter(FilterKind::Fresh, WALL);
        guard.separated(length);
        guard.record(RecordKind::Seen, WALL);
    }
    assert_eq!(guard.reserve(usize::MAX), 0);
    assert_eq!(fresh(&mut guard, &["x", "y"]), 2);
}

#[wasm_bindgen_test]
fn a_batch_frees_unusual_memory_and_can_be_used_again() {
    let mut guard = guard();
    let many = ids(&"a rather long id ".repeat(8), 0..20_000);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(fresh(&mut guard, &many), 20_000);
    guard.reserve(0);
    assert_eq!(fresh(&mut guard, &["a"]), 1);
}

/// Bytes of the module's memory, which never shrinks.
fn memory_bytes() -> u32 {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length()
}

#[wasm_bindgen_test]
fn memory_does_not_grow_over_a_day_of_use() {
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let mut guard = guard();
    let mut used = 0;
    // A refresh every half minute, whose items differ in number and length.
    for refresh in 0..3000u64 {
        let now = at(START + 30 * refresh);
        let first = refresh as usize * 20;
        let shown = ids(
            &"x".repeat(refresh as usize % 60),
            first..first + 5 + refresh as usize % 15,
        );
        let texts: Vec<&str> = shown.iter().map(String::as_str).collect();
        let shipped = chain.snapshot(now, None).unwrap();
        let shards: Vec<&str> = shipped.shards.iter().map(String::as_str).collect();
        apply(&mut guard, &shards, refresh as f64);
        fresh(&mut guard, &texts);
        record(&mut guard, &texts);
        chain.record(&shown, now).unwrap();
        // By then all bounded structures have been full.
        if refresh == 1500 {
            used = memory_bytes();
        }
    }
    assert!(
        memory_bytes() <= used + used / 8,
        "{used} bytes became {}",
        memory_bytes()
    );
}
