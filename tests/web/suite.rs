//! What must hold of the crate as Wasm: the same answers, bytes and sizes as native code, though `usize` has 32 bits; and the classes behind the
//! npm package, as JavaScript sees them.

use js_sys::{Float64Array, Uint8Array, Uint32Array, WebAssembly};
use seenguard::web::batch::{fresh, reserve, reserve_ends, shrink, widen};
use seenguard::web::chain::{filter_by_chain, free_chain, new_chain, record_in_chain, ship_chain};
use seenguard::web::guard::{ask, asked, filter, free_guard, new_guard};
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

/// The module's memory, as JavaScript has it.
fn buffer() -> JsValue {
    wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>().buffer()
}

/// Writes bytes where JavaScript would.
fn write(pointer: usize, bytes: &[u8]) {
    Uint8Array::new(&buffer()).set(&Uint8Array::from(bytes), pointer as u32);
}

/// Writes where ids end, one after the other, each as long as told.
fn write_ends(lengths: impl Iterator<Item = usize>) {
    let mut end = 0;
    let ends: Vec<u32> = lengths
        .map(|length| {
            end += length as u32;
            end
        })
        .collect();
    let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    write(reserve_ends(ends.len()), &bytes);
}

/// A batch of ids that are ASCII alone.
fn with_ends(ids: &[&str]) {
    let all = ids.concat();
    write(reserve(all.len()), all.as_bytes());
    write_ends(ids.iter().map(|id| id.len()));
}

/// A batch of any ids, with a byte between each two.
fn joined(ids: &[&str]) {
    write_ends(ids.iter().map(|id| id.encode_utf16().count()));
    let all = ids.join("\0");
    write(reserve(all.len()), all.as_bytes());
    widen(all.len());
}

/// An answer, copied from where it lies.
struct Answer {
    numbers: Vec<f64>,
    /// With their times.
    ids: Vec<(String, f64)>,
    text: String,
}

impl Answer {
    fn at(place: *const f64) -> Answer {
        let numbers_at = |place, count| {
            Float64Array::new_with_byte_offset_and_length(&buffer(), place as u32, count as u32).to_vec()
        };
        let counts = numbers_at(place as usize, 4);
        let [numbers, ids, length, bytes] = [counts[0], counts[1], counts[2], counts[3]].map(|count| count as usize);
        let all = numbers_at(place as usize + 32, numbers + ids);
        let text = Uint8Array::new_with_byte_offset_and_length(&buffer(), bytes as u32, length as u32).to_vec();
        let text = String::from_utf8(text).unwrap();
        let mut start = 0;
        let timed = |timed: &[f64]| {
            let end = timed[0] as usize;
            let id = text[start..end].to_string();
            start = end;
            (id, timed[1])
        };
        Answer {
            numbers: all[..numbers].to_vec(),
            ids: all[numbers..].chunks(2).map(timed).collect(),
            text,
        }
    }
}

fn explain(guard: &AskedGuard, id: &str, wall: f64, steady: f64) -> Vec<f64> {
    with_ends(&[id]);
    guard.ask(asked::EXPLAIN, &[], wall, steady).numbers
}

fn has(guard: &AskedGuard, id: &str, wall: f64, steady: f64) -> bool {
    !explain(guard, id, wall, steady).is_empty()
}

/// Applies native shards; `server_ms` is the server's clock.
fn apply(guard: &AskedGuard, shards: &[&str], version: f64, server_ms: f64, wall: f64, steady: f64) -> Answer {
    with_ends(shards);
    let arguments = [0.0, 0.0, 0.0, version, server_ms, 1.0];
    guard.ask(asked::APPLY, &arguments, wall, steady)
}

/// A guard as `js/core.ts` asks it: what is left out is no number.
struct AskedGuard(usize);

impl AskedGuard {
    fn new() -> Self {
        AskedGuard(new_guard(30.0))
    }

    /// Asks about the batch.
    fn ask(&self, question: u8, arguments: &[f64], wall: f64, steady: f64) -> Answer {
        let [a, b, c, d, e, f] = std::array::from_fn(|index| arguments.get(index).copied().unwrap_or(f64::NAN));
        Answer::at(ask(self.0, wall, steady, question, a, b, c, d, e, f))
    }

    /// Asks what takes no times.
    fn ask_now(&self, question: u8, arguments: &[f64]) -> Answer {
        self.ask(question, arguments, WALL, 0.0)
    }

    fn filter(&self) -> usize {
        filter(self.0, WALL, 0.0)
    }

    fn record(&self) -> Vec<f64> {
        self.ask_now(asked::RECORD, &[]).numbers
    }

    fn stats(&self) -> Vec<f64> {
        self.ask_now(asked::STATS, &[]).numbers
    }

    fn pending(&self, limit: f64) -> Vec<(String, f64)> {
        self.ask_now(asked::PENDING, &[limit]).ids
    }

    fn begin_batch(&self, impressions: f64) -> Answer {
        self.ask_now(asked::BEGIN_BATCH, &[impressions, 1_000.0])
    }

    fn take_in(&self, own: bool) -> Vec<f64> {
        self.ask_now(asked::TAKE_IN, &[f64::from(u8::from(own))]).numbers
    }

    /// The text that answers.
    fn text(&self, question: u8) -> String {
        self.ask_now(question, &[]).text
    }

    /// The version of the snapshot in use.
    fn version(&self) -> f64 {
        self.stats()[0]
    }
}

impl Drop for AskedGuard {
    fn drop(&mut self) {
        free_guard(self.0);
    }
}

fn fresh_of(count: usize) -> Vec<u32> {
    Uint32Array::new_with_byte_offset_and_length(&buffer(), fresh() as u32, count as u32).to_vec()
}

#[wasm_bindgen_test]
fn ids_cross_in_one_batch() {
    let guard = AskedGuard::new();
    joined(&["shown", "", "🦀"]);
    assert_eq!(guard.record(), [3.0, 0.0, 3.0]);
    joined(&["new", "shown", "", "new", "🦀", "other"]);
    let count = guard.filter();
    assert_eq!(fresh_of(count), [0, 5]);
    joined(&[]);
    assert_eq!(guard.filter(), 0);
    joined(&[""]);
    assert_eq!(guard.filter(), 0);
}

#[wasm_bindgen_test]
fn ids_of_any_characters_keep_their_ends() {
    let guard = AskedGuard::new();
    let shown = ["a\0b", "", "\0", "\0\0", "é", "看見", "🦀", "\u{fffd}", "a🦀"];
    joined(&shown);
    assert_eq!(guard.record()[0], shown.len() as f64);
    for id in shown {
        assert!(has(&guard, id, WALL, 0.0));
    }
    for other in ["a", "b", "a\0", "é\0", "\0é", "看", "見", "🦀\0"] {
        assert!(!has(&guard, other, WALL, 0.0));
    }
    joined(&["🦀", "x", "看見", "見", "", "é", "🦀🦀"]);
    let count = guard.filter();
    assert_eq!(fresh_of(count), [1, 3, 6]);
}

#[wasm_bindgen_test]
fn what_an_earlier_batch_left_is_no_part_of_an_id() {
    let guard = AskedGuard::new();
    joined(&["看見看見看見"]);
    for id in ["é", "éé", "a"] {
        joined(&[id]);
        assert_eq!(guard.record()[0], 1.0);
        assert!(has(&guard, id, WALL, 0.0));
    }
}

#[wasm_bindgen_test]
fn impossible_ends_and_lengths_trap_nothing() {
    let guard = AskedGuard::new();
    shrink(0);
    widen(5);
    write(reserve(4), b"abcd");
    let ends: Vec<u8> = [9u32, 2, u32::MAX, 1]
        .iter()
        .flat_map(|end| end.to_le_bytes())
        .collect();
    for length in [0, 4, usize::MAX] {
        write(reserve_ends(4), &ends);
        guard.filter();
        guard.record();
        widen(length);
        guard.filter();
        guard.record();
    }
    assert_eq!(reserve(usize::MAX), 0);
    assert_eq!(reserve_ends(usize::MAX / 2), 0);
    joined(&["a", "b"]);
    assert_eq!(guard.filter(), 2);
}

#[wasm_bindgen_test]
fn a_batch_gives_back_unusual_memory_and_goes_on() {
    let guard = AskedGuard::new();
    let many = ids("a rather long id", 0..20_000);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    joined(&many);
    assert_eq!(guard.filter(), 20_000);
    shrink(1 << 10);
    joined(&["a"]);
    assert_eq!(guard.filter(), 1);
}

#[wasm_bindgen_test]
fn apply_reports_what_became_of_a_snapshot() {
    let guard = AskedGuard::new();
    joined(&["a", "b"]);
    guard.record();
    let shards = [shard_of(&["a", "s"], 7, 0), shard_of(&["t"], 6, 1)].map(|shard| shard.to_base64().unwrap());
    let shards = shards.each_ref().map(String::as_str);
    let report = apply(&guard, &shards, 9.0, -1.0, WALL + 250.0, 250.0);
    assert_eq!(report.numbers, [2.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(report.ids, [("a".to_string(), 250.0)]);
    assert_eq!(guard.version(), 9.0);
    let again = apply(&guard, &shards, 9.0, -1.0, WALL, 0.0);
    assert_eq!(again.numbers, [2.0, 1.0, 1.0, 2.0, 0.0]);
    let older = apply(&guard, &shards, 8.0, -1.0, WALL, 0.0);
    assert_eq!((older.numbers, guard.version()), (vec![2.0, 1.0, 0.0, 0.0, 0.0], 9.0));
}

#[wasm_bindgen_test]
fn apply_tells_lags_only_if_they_are_wanted() {
    let guard = AskedGuard::new();
    joined(&["a"]);
    guard.record();
    with_ends(&[&shard_of(&["a"], 7, 0).to_base64().unwrap()]);
    let report = guard.ask_now(asked::APPLY, &[0.0, 0.0, 0.0, -1.0, -1.0, 0.0]);
    assert_eq!((report.numbers[4], report.ids.len()), (1.0, 0));
}

#[wasm_bindgen_test]
fn apply_tells_errors_by_their_code_and_changes_nothing() {
    let guard = AskedGuard::new();
    let good = shard_of(&["s"], 7, 0).to_base64().unwrap();
    let largest = 9_007_199_254_740_991.0;
    apply(&guard, &[&good], largest, -1.0, WALL, 0.0);
    for (code, bad) in [
        ("bad-base64", "?"),
        ("bad-base64", "\0"),
        ("truncated", ""),
        ("bad-magic", &*"A".repeat(48)),
    ] {
        let refusal = apply(&guard, &[&good, bad], -1.0, -1.0, WALL, 0.0);
        let told = refusal.text;
        assert!(
            told.split_once(' ')
                .is_some_and(|(told, text)| told == code && text.len() > 20)
        );
        assert_eq!(refusal.numbers, [1.0, 0.0, 1.0]);
        assert_eq!(guard.version(), largest);
        assert!(has(&guard, "s", WALL, 0.0));
    }
    let none = vec![""; 65];
    let refusal = apply(&guard, &none, -1.0, -1.0, WALL, 0.0);
    assert!(refusal.text.starts_with("too-large a snapshot"));
    assert_eq!(refusal.numbers, [1.0, 0.0, -1.0]);
}

#[wasm_bindgen_test]
fn the_servers_clock_is_carried_on_by_the_steady_one() {
    let guard = AskedGuard::new();
    let shard = shard_of(&["s"], 7, START as u32 + 10).to_base64().unwrap();
    // This device's clock is at its beginning, or broken.
    for wall in [0.0, -5.0, f64::NAN, 8.64e15] {
        apply(&guard, &[&shard], -1.0, WALL, wall, 1_000.0);
        assert!(has(&guard, "s", wall, 10_999.0) && !has(&guard, "s", wall, 11_000.0));
    }
}

#[wasm_bindgen_test]
fn explanations_and_statistics_are_numbers() {
    let guard = AskedGuard::new();
    apply(
        &guard,
        &[&shard_of(&["s"], 7, 0).to_base64().unwrap()],
        1.0,
        -1.0,
        WALL,
        0.0,
    );
    joined(&["s", "mine"]);
    guard.record();
    let many = [ids("t", 0..300), vec!["t".into()]].concat();
    apply(
        &guard,
        &[&shard_of(&many, 8, 0).to_base64().unwrap()],
        2.0,
        -1.0,
        WALL,
        0.0,
    );
    let explained = ["fresh", "mine", "s", "t"].map(|id| explain(&guard, id, WALL, 0.0));
    assert_eq!(explained, [vec![], vec![0.0, WALL], vec![1.0], vec![2.0, 0.0, 8.0]]);

    joined(&["fresh", "mine", "s", "t", "fresh"]);
    guard.filter();
    let stats = guard.stats();
    let [
        version,
        shards,
        server_rate,
        memory_rate,
        pending,
        remembered,
        bytes,
        filtered @ ..,
    ] = &stats[..13]
    else {
        panic!("{stats:?}");
    };
    assert_eq!(
        [*version, *shards, *pending, *remembered, stats[13]],
        [2.0, 1.0, 1.0, 2.0, 0.0]
    );
    // Passed, pending, memory, server, duplicate.
    assert_eq!(filtered[..5], [1.0; 5]);
    assert!((1e-9..0.001).contains(server_rate) && (0.0..0.0001).contains(memory_rate) && *bytes > 1_000.0);
}

#[wasm_bindgen_test]
fn what_one_visit_stores_another_takes_over() {
    let guard = AskedGuard::new();
    assert_eq!(guard.text(asked::TAKE_UNSAVED), "");
    joined(&["a", "b"]);
    guard.record();
    let segment = guard.text(asked::TAKE_UNSAVED);
    let later = AskedGuard::new();
    with_ends(&["w1", &segment, "w2", "rubbish", "w3", "SGJ9\n"]);
    assert_eq!(later.take_in(true), [0.0, 1.0, 2.0]);
    assert_eq!(later.pending(9.0), [("a".into(), WALL), ("b".into(), WALL)]);
    assert_eq!(later.pending(1.0).len(), 1);
    let shard = Shard::from_base64(&later.text(asked::PENDING_SHARD)).unwrap();
    assert!(shard.filter.contains("a") && shard.filter.contains("b") && shard.count == 2);

    let other = AskedGuard::new();
    with_ends(&["w4", &later.text(asked::CHECKPOINT)]);
    assert_eq!(other.take_in(false), [0.0]);
    assert!(has(&other, "a", WALL, 0.0));
    other.ask_now(asked::FORGET, &[]);
    assert!(!has(&other, "a", WALL, 0.0) && other.pending(9.0).is_empty());
}

#[wasm_bindgen_test]
fn a_batch_to_deliver_goes_out_with_its_number() {
    let guard = AskedGuard::new();
    assert_eq!(guard.begin_batch(9.0).numbers, [0.0]);
    joined(&["a", "b"]);
    guard.record();
    let first = guard.begin_batch(1.0);
    assert_eq!((first.numbers, first.ids), (vec![1.0], vec![("a".into(), WALL)]));
    guard.ask_now(asked::END_BATCH, &[1.0, 1.0]);
    assert_eq!(guard.begin_batch(9.0).ids, [("b".into(), WALL)]);
}

#[wasm_bindgen_test]
fn options_without_meaning_are_told_by_their_code() {
    let told = |capacity, shards, rate, ttl| {
        joined(&[]);
        let answer = Answer::at(new_chain(0, 0, 0.0, capacity, shards, rate, 0, ttl));
        assert_eq!(answer.numbers.is_empty(), !answer.text.is_empty());
        answer.numbers.iter().for_each(|&chain| free_chain(chain as usize));
        answer.text.split(' ').next().unwrap_or_default().to_string()
    };
    assert_eq!(told(0, 5, 0.001, 0), "bad-option");
    assert_eq!(told(1000, 65, 0.001, 0), "bad-option");
    assert_eq!(told(1000, 5, f64::NAN, 0), "bad-option");
    assert_eq!(told(1000, 5, 1e-12, 0), "bad-parameters");
    assert_eq!(told(1_100_000, 5, 0.001, 0), "too-large");
    assert_eq!(told(1000, 32, 0.001, 60), "");
}

#[wasm_bindgen_test]
fn a_chain_records_filters_ships_and_goes_on() {
    let go_on = |stored: &[&str]| {
        joined(stored);
        let answer = Answer::at(new_chain(0, 0, 0.0, 3, 5, 0.001, u64::MAX, 0));
        (answer.numbers[0] as usize, answer.ids)
    };
    let (chain, rejected) = go_on(&[]);
    assert_eq!(rejected, []);
    joined(&["a", "b", "a", "c", "d"]);
    assert_eq!(record_in_chain(chain, START as f64), 4);
    let shipped = Answer::at(ship_chain(chain, START as f64));
    assert_eq!(shipped.numbers, [START as f64, ((START + 1) * (1 << 21) + 1) as f64]);
    let mut stored: Vec<&str> = shipped.ids.iter().map(|(shard, _)| shard.as_str()).collect();
    assert_eq!(stored.len(), 2);
    stored.insert(1, "damaged");
    let (again, rejected) = go_on(&stored);
    assert_ne!(again, chain);
    assert_eq!(rejected, [("bad-base64".to_string(), 1.0)]);
    joined(&["a", "x", "d", "x"]);
    let count = filter_by_chain(again, START as f64);
    assert_eq!(fresh_of(count), [1]);
}

#[wasm_bindgen_test]
fn numbers_of_nothing_answer_nothing() {
    let guard = AskedGuard::new();
    let number = guard.0;
    drop(guard);
    joined(&["a"]);
    for unknown in [number, usize::MAX] {
        free_guard(unknown);
        free_chain(unknown);
        assert_eq!((filter(unknown, WALL, 0.0), filter_by_chain(unknown, 0.0)), (0, 0));
        assert_eq!(record_in_chain(unknown, 0.0), 0);
        assert!(Answer::at(ship_chain(unknown, 0.0)).numbers.is_empty());
        assert!(AskedGuard(unknown).stats().is_empty());
    }
    assert_eq!(AskedGuard::new().0, number);
}

/// Bytes of the module's memory, which never shrinks.
fn memory_bytes() -> u32 {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length()
}

#[wasm_bindgen_test]
fn blocks_of_all_sizes_keep_what_is_in_them_and_are_used_again() {
    let mut random = Random::seeded(7);
    let mut held: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut used = 0;
    for round in 0..40_000u32 {
        let size = 1 << random.below(15);
        let (mark, size) = (round as u8, random.index(size + 1));
        match random.below(3) {
            0 if !held.is_empty() => {
                let (mark, bytes) = held.swap_remove(random.index(held.len()));
                assert!(bytes.iter().all(|&byte| byte == mark));
            }
            1 if !held.is_empty() => {
                let index = random.index(held.len());
                let (mark, bytes) = &mut held[index];
                bytes.resize(size, *mark);
                bytes.shrink_to_fit();
                assert!(bytes.iter().all(|byte| byte == mark));
            }
            _ if held.len() < 500 => held.push((mark, vec![mark; size])),
            _ => {}
        }
        if round == 20_000 {
            used = memory_bytes();
        }
    }
    assert!(held.iter().all(|(mark, bytes)| bytes.iter().all(|byte| byte == mark)));
    assert!(
        memory_bytes() <= used + used / 2,
        "{used} bytes became {}",
        memory_bytes()
    );
}

#[wasm_bindgen_test]
fn a_day_of_use_takes_no_more_and_more_memory() {
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let guard = AskedGuard::new();
    let mut used = 0;
    // A refresh every half minute, whose items differ in number and length.
    for refresh in 0..3000u64 {
        let shown = ids(
            &"x".repeat(refresh as usize % 60),
            refresh as usize * 20..refresh as usize * 20 + 5 + refresh as usize % 15,
        );
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let shipped = chain.snapshot(START + 30 * refresh).unwrap();
        let shards: Vec<&str> = shipped.shards.iter().map(String::as_str).collect();
        apply(&guard, &shards, refresh as f64, -1.0, WALL, 0.0);
        joined(&shown);
        guard.filter();
        guard.record();
        guard.text(asked::TAKE_UNSAVED);
        if refresh % 16 == 0 {
            guard.text(asked::CHECKPOINT);
        }
        chain.record(&shown, START + 30 * refresh).unwrap();
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
