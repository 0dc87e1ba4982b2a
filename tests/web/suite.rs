//! What must hold of the crate as Wasm: the same answers, bytes and sizes as native code, though `usize` has 32 bits; and the classes behind the
//! npm package, as JavaScript sees them.

use js_sys::{Array, Reflect, Uint8Array, WebAssembly};
use seenguard::web::{IdBatch, RawChain, RawGuard, random_writer_id};
use seenguard::{ChainOptions, Explanation, Guard, MAX_BITS, Now, Parameters, SegmentState, Shard, ShardChain};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::common::random::Random;
use crate::common::reference::ReferenceShard;
use crate::common::sizes::{ESTIMATES, SIZES};
use crate::common::vectors::{edges, native};
use crate::common::{RawShard, START, at, cover_all, ids, shard_of, shard_with};

// The same as native code.

#[wasm_bindgen_test]
fn every_reference_shard_gives_every_answer_and_the_same_text() {
    for vectors in [native(), edges()] {
        for case in &vectors.cases {
            let shard = Shard::from_base64(&case.base64).unwrap();
            assert_eq!((shard.count, shard.filter.set_bits()), (case.count, case.set_bits));
            for (index, id) in vectors.ids.iter().enumerate() {
                assert_eq!(shard.filter.contains(id), case.answer(index));
            }
            assert_eq!(shard.to_base64(), case.base64);
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
        ReferenceShard::from_bytes(&shard.to_bytes()).unwrap().set.first(),
        Some(&(MAX_BITS - 1))
    );
}

#[wasm_bindgen_test]
fn payloads_that_claim_more_than_they_hold_are_refused() {
    let claims = [
        RawShard::rice(MAX_BITS, 31, MAX_BITS, &[0; 9]),
        RawShard::rice(MAX_BITS, 0, u32::MAX, &[]),
        RawShard::rice(MAX_BITS, 31, 1, &[[0xFF; 64].as_slice(), &[0; 5]].concat()),
        RawShard {
            payload: vec![0; 3],
            ..RawShard::raw(MAX_BITS)
        },
    ];
    for claim in claims {
        assert_eq!(Shard::from_bytes(&claim.bytes()).unwrap_err().code(), "bad-payload");
    }
}

#[wasm_bindgen_test]
fn any_payload_is_read_exactly_when_the_plain_reference_reads_it() {
    let mut random = Random::seeded(21);
    for _ in 0..5_000 {
        let (bits, length) = (1 + random.below(90) as u32, random.index(16));
        let encoding = random.below(2) as u8;
        let payload = match encoding {
            0 => random.bytes(bits.div_ceil(8) as usize),
            _ => [
                [random.below(8) as u8, random.below(6) as u8, 0, 0, 0].as_slice(),
                &random.bytes(length),
            ]
            .concat(),
        };
        let shard = RawShard {
            encoding,
            payload,
            ..RawShard::raw(bits)
        };
        let (ours, reference) = (
            Shard::from_bytes(&shard.bytes()),
            ReferenceShard::from_bytes(&shard.bytes()),
        );
        assert_eq!(ours.is_ok(), reference.is_ok());
        if let (Ok(ours), Ok(reference)) = (ours, reference) {
            assert_eq!(ours.to_bytes(), reference.to_bytes());
        }
    }
}

#[wasm_bindgen_test]
fn nothing_comes_back_over_visits_and_a_flushed_store() {
    let mut checkpoint = Guard::new(30.0).unwrap().checkpoint();
    for visit in 0..20u64 {
        let now = at(START + visit * 3_600);
        let mut guard = Guard::new(30.0).unwrap();
        assert_eq!(
            guard.take_over(&[("earlier", &*checkpoint)], now),
            [SegmentState::Whole]
        );
        guard.record(&ids(&format!("visit {visit}"), 0..200), now);
        if visit % 3 == 0 {
            cover_all(&mut guard, now);
        }
        for earlier in 0..=visit {
            assert!(guard.filter(&ids(&format!("visit {earlier}"), 0..200), now).is_empty());
        }
        checkpoint = guard.checkpoint();
    }
}

#[wasm_bindgen_test]
fn segments_that_vouch_for_lengths_beyond_32_bits_are_damaged() {
    // An impression whose id has 2^40 bytes.
    let content = [0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
    let mut body = vec![b'i'];
    body.extend_from_slice(&content);
    let checksum = seenguard::hash::hash_id(&body, 1) as u32;
    body.extend_from_slice(&checksum.to_le_bytes());
    let text = format!("SGJ1\n{}\n", crate::common::base64_of(&body));
    let mut guard = Guard::new(30.0).unwrap();
    assert_eq!(guard.take_over(&[("w", &*text)], at(START)), [SegmentState::Damaged]);
}

#[wasm_bindgen_test]
fn times_of_javascript_keep_their_milliseconds() {
    let mut guard = Guard::new(30.0).unwrap();
    let latest = 8_640_000_000_000_000;
    guard.record(&["a"], Now::at(latest));
    assert_eq!(
        guard.explain("a", Now::at(latest)),
        Some(Explanation::Pending { at: latest })
    );
}

// As JavaScript sees it.

const WALL: f64 = START as f64 * 1000.0;

fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap()
}

fn number(object: &JsValue, name: &str) -> f64 {
    field(object, name).as_f64().unwrap()
}

fn text(object: &JsValue, name: &str) -> String {
    field(object, name).as_string().unwrap()
}

/// Writes bytes where JavaScript would.
fn write(pointer: usize, bytes: &[u8]) {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    Uint8Array::new(&memory.buffer()).set(&Uint8Array::from(bytes), pointer as u32);
}

/// A batch of ids joined by NUL. Whether it could be split again.
fn joined(batch: &mut IdBatch, ids: &[&str]) -> bool {
    let all = ids.join("\0");
    write(batch.reserve(all.len()), all.as_bytes());
    batch.split(all.len(), ids.len())
}

/// A batch of ids one after the other, with their ends.
fn with_ends(batch: &mut IdBatch, ids: &[&str]) {
    let all = ids.concat();
    write(batch.reserve(all.len()), all.as_bytes());
    let mut end = 0;
    let ends = ids.iter().flat_map(|id| {
        end += id.len() as u32;
        end.to_le_bytes()
    });
    let ends: Vec<u8> = ends.collect();
    write(batch.reserve_ends(ids.len()), &ends);
}

fn fresh_of(batch: &IdBatch, count: usize) -> Vec<u32> {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    js_sys::Uint32Array::new_with_byte_offset_and_length(&memory.buffer(), batch.fresh_pointer() as u32, count as u32)
        .to_vec()
}

#[wasm_bindgen_test]
fn ids_cross_in_one_batch() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    assert!(joined(&mut batch, &["shown", "", "🦀"]));
    assert_eq!(guard.record(&mut batch, WALL, 0.0), [3, 0]);
    assert!(joined(&mut batch, &["new", "shown", "", "new", "🦀", "other"]));
    let count = guard.filter(&mut batch, WALL, 0.0);
    assert_eq!(fresh_of(&batch, count), [0, 5]);
    assert!(joined(&mut batch, &[]));
    assert_eq!(guard.filter(&mut batch, WALL, 0.0), 0);
    assert!(joined(&mut batch, &[""]));
    assert_eq!(guard.filter(&mut batch, WALL, 0.0), 0);
}

#[wasm_bindgen_test]
fn ids_that_hold_a_nul_show_as_a_wrong_number_and_cross_with_their_ends() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    for ids in [["a\0b", "c"], ["\0", ""], ["x", "\0\0"]] {
        assert!(!joined(&mut batch, &ids));
    }
    assert!(!joined(&mut batch, &["\0"]));
    with_ends(&mut batch, &["a\0b", "", "c"]);
    assert_eq!(guard.record(&mut batch, WALL, 0.0), [3, 0]);
    with_ends(&mut batch, &["a", "a\0b", "b", "", "c", "\0"]);
    let count = guard.filter(&mut batch, WALL, 0.0);
    assert_eq!(fresh_of(&batch, count), [0, 2, 5]);
    assert!(guard.has("a\0b", WALL, 0.0) && !guard.has("a", WALL, 0.0));
}

#[wasm_bindgen_test]
fn impossible_ends_and_lengths_trap_nothing() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    assert!(!batch.split(5, 1));
    write(batch.reserve(4), b"abcd");
    let ends: Vec<u8> = [9u32, 2, u32::MAX, 1]
        .iter()
        .flat_map(|end| end.to_le_bytes())
        .collect();
    write(batch.reserve_ends(4), &ends);
    guard.filter(&mut batch, WALL, 0.0);
    guard.record(&mut batch, WALL, 0.0);
    assert_eq!(batch.reserve(usize::MAX), 0);
    assert_eq!(batch.reserve_ends(usize::MAX / 2), 0);
    assert!(joined(&mut batch, &["a", "b"]));
    assert_eq!(guard.filter(&mut batch, WALL, 0.0), 2);
}

#[wasm_bindgen_test]
fn a_batch_gives_back_unusual_memory_and_goes_on() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    let many = ids("a rather long id", 0..20_000);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(joined(&mut batch, &many));
    assert_eq!(guard.filter(&mut batch, WALL, 0.0), 20_000);
    batch.shrink(1 << 10);
    assert!(joined(&mut batch, &["a"]));
    assert_eq!(guard.filter(&mut batch, WALL, 0.0), 1);
}

#[wasm_bindgen_test]
fn apply_reports_what_became_of_a_snapshot() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    assert!(joined(&mut batch, &["a", "b"]));
    guard.record(&mut batch, WALL, 0.0);
    let shards = vec![
        shard_of(&["a", "s"], 7, 0).to_base64(),
        shard_of(&["t"], 6, 1).to_base64(),
    ];
    let report = guard.apply(0, 0, 0.0, shards.clone(), 9.0, -1.0, true, WALL + 250.0, 250.0);
    assert_eq!(field(&report, "applied"), JsValue::TRUE);
    let counts = ["shards", "reused", "expired", "covered"].map(|name| number(&report, name));
    assert_eq!(counts, [2.0, 0.0, 1.0, 1.0]);
    let lags: Array = field(&report, "lags").unchecked_into();
    let lag: Array = lags.get(0).unchecked_into();
    assert_eq!(
        (lag.get(0).as_string(), lag.get(1).as_f64()),
        (Some("a".into()), Some(250.0))
    );
    assert_eq!(guard.version(), Some(9.0));
    let again = guard.apply(0, 0, 0.0, shards.clone(), 9.0, -1.0, false, WALL, 0.0);
    assert_eq!((number(&again, "reused"), number(&again, "covered")), (2.0, 0.0));
    let older = guard.apply(0, 0, 0.0, shards, 8.0, -1.0, false, WALL, 0.0);
    assert_eq!((field(&older, "applied"), guard.version()), (JsValue::FALSE, Some(9.0)));
}

#[wasm_bindgen_test]
fn apply_tells_errors_by_their_code_and_changes_nothing() {
    let mut guard = RawGuard::new(30.0).unwrap();
    let good = shard_of(&["s"], 7, 0).to_base64();
    guard.apply(
        0,
        0,
        0.0,
        vec![good.clone()],
        9_007_199_254_740_991.0,
        -1.0,
        false,
        WALL,
        0.0,
    );
    for (code, bad) in [("bad-base64", "?"), ("truncated", ""), ("bad-magic", &*"A".repeat(48))] {
        let report = guard.apply(0, 0, 0.0, vec![good.clone(), bad.into()], -1.0, -1.0, false, WALL, 0.0);
        let error = field(&report, "error");
        assert_eq!(text(&error, "code"), code);
        assert!(text(&error, "message").starts_with("shard 1: "));
        assert_eq!((number(&report, "shards"), number(&report, "expired")), (1.0, 0.0));
        assert_eq!(guard.version(), Some(9_007_199_254_740_991.0));
        assert!(guard.has("s", WALL, 0.0));
    }
}

#[wasm_bindgen_test]
fn the_servers_clock_is_carried_on_by_the_steady_one() {
    let mut guard = RawGuard::new(30.0).unwrap();
    let shard = shard_of(&["s"], 7, START as u32 + 10).to_base64();
    // This device's clock is at its beginning, or broken.
    for wall in [0.0, -5.0, f64::NAN, 8.64e15] {
        guard.apply(0, 0, 0.0, vec![shard.clone()], -1.0, WALL, false, wall, 1_000.0);
        assert!(guard.has("s", wall, 10_999.0) && !guard.has("s", wall, 11_000.0));
    }
}

#[wasm_bindgen_test]
fn explanations_and_statistics_are_plain_objects() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    guard.apply(
        0,
        0,
        0.0,
        vec![shard_of(&["s"], 7, 0).to_base64()],
        1.0,
        -1.0,
        false,
        WALL,
        0.0,
    );
    assert!(joined(&mut batch, &["s", "mine"]));
    guard.record(&mut batch, WALL, 0.0);
    let many = [ids("t", 0..300), vec!["t".into()]].concat();
    guard.apply(
        0,
        0,
        0.0,
        vec![shard_of(&many, 8, 0).to_base64()],
        2.0,
        -1.0,
        false,
        WALL,
        0.0,
    );
    assert!(guard.explain("fresh", WALL, 0.0).is_undefined());
    let (pending, memory, server) = (
        guard.explain("mine", WALL, 0.0),
        guard.explain("s", WALL, 0.0),
        guard.explain("t", WALL, 0.0),
    );
    assert_eq!((text(&pending, "by"), number(&pending, "at")), ("pending".into(), WALL));
    assert_eq!(text(&memory, "by"), "memory");
    assert_eq!(
        (text(&server, "by"), number(&server, "shard"), number(&server, "epoch")),
        ("server".into(), 0.0, 8.0)
    );

    assert!(joined(&mut batch, &["fresh", "mine", "s", "t", "fresh"]));
    guard.filter(&mut batch, WALL, 0.0);
    let stats = guard.stats(WALL, 0.0);
    let held = ["shards", "pending", "remembered"].map(|name| number(&stats, name));
    assert_eq!(held, [1.0, 1.0, 2.0]);
    let filtered = field(&stats, "filtered");
    let counted = ["passed", "pending", "memory", "server", "duplicate"].map(|name| number(&filtered, name));
    assert_eq!(counted, [1.0; 5]);
    let rates = ["serverFalsePositiveRate", "memoryFalsePositiveRate"].map(|name| number(&stats, name));
    assert!(
        rates[0] > 0.0 && rates[0] < 0.001 && rates[1] >= 0.0 && rates[1] < 0.0001,
        "{rates:?}"
    );
    assert!(number(&stats, "bytes") > 1_000.0);
    let lag = field(&stats, "lag");
    assert_eq!(number(&lag, "count"), 0.0);
    assert!(field(&lag, "lastMs").is_undefined() && field(&lag, "p50Ms").is_undefined());
}

#[wasm_bindgen_test]
fn what_one_visit_stores_another_takes_over() {
    let (mut guard, mut batch) = (RawGuard::new(30.0).unwrap(), IdBatch::new());
    assert!(guard.take_unsaved().is_none());
    assert!(joined(&mut batch, &["a", "b"]));
    guard.record(&mut batch, WALL, 0.0);
    let segment = guard.take_unsaved().unwrap();
    let mut later = RawGuard::new(30.0).unwrap();
    let texts = vec![segment.clone(), "rubbish".into(), "SGJ9\n".into()];
    let writers = ["w1", "w2", "w3"].map(String::from).to_vec();
    let states: Array = later.take_over(writers, texts, WALL, 0.0).unchecked_into();
    let states: Vec<String> = states.iter().filter_map(|state| state.as_string()).collect();
    assert_eq!(states, ["whole", "damaged", "newer"]);
    assert_eq!(
        (later.pending(9), later.pending(1)),
        (vec!["a".into(), "b".into()], vec!["a".into()])
    );
    let shard = Shard::from_base64(&later.pending_shard()).unwrap();
    assert!(shard.filter.contains("a") && shard.filter.contains("b") && shard.count == 2);

    let mut other = RawGuard::new(30.0).unwrap();
    assert_eq!(
        other.merge(&later.checkpoint(), WALL, 0.0).as_string().as_deref(),
        Some("whole")
    );
    assert!(other.has("a", WALL, 0.0));
    other.forget();
    assert!(!other.has("a", WALL, 0.0) && other.pending(9).is_empty());
}

#[wasm_bindgen_test]
fn options_without_meaning_throw_their_code() {
    for window in [0.0, -1.0, f64::NAN, 1e9] {
        assert_eq!(text(&RawGuard::new(window).err().unwrap(), "code"), "bad-option");
    }
    let chain = |capacity, shards, rate, ttl| {
        RawChain::new(0, 0, 0.0, vec![], capacity, shards, rate, 0, ttl)
            .err()
            .map(|error| text(&error, "code"))
    };
    assert_eq!(chain(0, 5, 0.001, 0).as_deref(), Some("bad-option"));
    assert_eq!(chain(1000, 65, 0.001, 0).as_deref(), Some("bad-option"));
    assert_eq!(chain(1000, 5, f64::NAN, 0).as_deref(), Some("bad-option"));
    assert_eq!(chain(1000, 5, 1e-12, 0).as_deref(), Some("bad-parameters"));
    assert_eq!(chain(1_100_000, 5, 0.001, 0).as_deref(), Some("too-large"));
    assert_eq!(chain(1000, 32, 0.001, 60), None);
}

#[wasm_bindgen_test]
fn a_chain_records_filters_ships_and_goes_on() {
    let mut batch = IdBatch::new();
    let mut chain = RawChain::new(0, 0, 0.0, vec![], 3, 5, 0.001, u64::MAX, 0).unwrap();
    assert!(joined(&mut batch, &["a", "b", "a", "c", "d"]));
    assert_eq!(chain.record(&mut batch, START as f64), 4);
    let shipped = chain.snapshot(START as f64);
    assert_eq!(number(&shipped, "version"), ((START + 1) * (1 << 21) + 1) as f64);
    assert_eq!(number(&shipped, "now"), START as f64);
    let shards: Array = field(&shipped, "shards").unchecked_into();
    let mut stored: Vec<String> = shards.iter().filter_map(|shard| shard.as_string()).collect();
    assert_eq!(stored.len(), 2);
    stored.insert(1, "damaged".into());
    let again = RawChain::new(0, 0, 0.0, stored, 3, 5, 0.001, u64::MAX, 0).unwrap();
    let rejected: Array = again.rejected().unchecked_into();
    assert_eq!(rejected.length(), 1);
    assert_eq!(
        (number(&rejected.get(0), "index"), text(&rejected.get(0), "code")),
        (1.0, "bad-base64".into())
    );
    assert!(again.has("a", START as f64) && !again.has("x", START as f64));
    assert!(joined(&mut batch, &["a", "x", "d", "x"]));
    let count = again.filter(&mut batch, START as f64);
    assert_eq!(fresh_of(&batch, count), [1]);
}

#[wasm_bindgen_test]
fn writers_ids_are_sixteen_hexadecimal_digits_and_differ() {
    let crypto: web_sys::Crypto = js_sys::Reflect::get(&js_sys::global(), &"crypto".into())
        .unwrap()
        .unchecked_into();
    for random in [Some(crypto), None] {
        let all: std::collections::HashSet<String> = (0..1_000).map(|_| random_writer_id(random.clone())).collect();
        assert_eq!(all.len(), 1_000);
        assert!(
            all.iter()
                .all(|id| id.len() == 16 && id.bytes().all(|digit| b"0123456789abcdef".contains(&digit)))
        );
    }
}

/// Bytes of the module's memory, which never shrinks.
fn memory_bytes() -> u32 {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length()
}

#[wasm_bindgen_test]
fn a_day_of_use_takes_no_more_and_more_memory() {
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let mut guard = RawGuard::new(30.0).unwrap();
    let mut batch = IdBatch::new();
    let mut used = 0;
    // A refresh every half minute, whose items differ in number and length.
    for refresh in 0..3000u64 {
        let shown = ids(
            &"x".repeat(refresh as usize % 60),
            refresh as usize * 20..refresh as usize * 20 + 5 + refresh as usize % 15,
        );
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let shipped = chain.snapshot(START + 30 * refresh);
        let shards = shipped.shards.iter().map(String::from).collect();
        guard.apply(0, 0, 0.0, shards, refresh as f64, -1.0, true, WALL, 0.0);
        assert!(joined(&mut batch, &shown));
        guard.filter(&mut batch, WALL, 0.0);
        guard.record(&mut batch, WALL, 0.0);
        guard.take_unsaved();
        if refresh % 16 == 0 {
            guard.checkpoint();
        }
        chain.record(&shown, START + 30 * refresh);
        // By then all that is bounded has been full.
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
