//! What must hold of the crate as Wasm: the same answers, bytes and sizes as native code, though `usize` has 32 bits;
//! and the classes behind the npm package, as JavaScript sees them.

use js_sys::{Uint8Array, Uint32Array, WebAssembly};
use seenguard::device::{Due, Explanation, Scope, Source};
use seenguard::web::batch::TextBatch;
use seenguard::web::chain::{Chain, GivenOptions};
use seenguard::web::guard::{ApplyStatus, BatchEnd, Count, FilterKind, Guard, RecordKind, SeenBy, row_facts};
use seenguard::wire::Reference;
use seenguard::{ChainOptions, Format, MAX_BITS, Parameters, Shard, ShardChain, Time};
use serde_json::{Value, json};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::common::random::Random;
use crate::common::reference::ReferenceShard;
use crate::common::sizes::{ESTIMATES, SIZES};
use crate::common::vectors::{edges, native};
use crate::common::{RawShard, START, at, ids, list_of, shard_of, shard_with};

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
        ReferenceShard::from_bytes(&shard.to_bytes().unwrap())
            .unwrap()
            .set
            .first(),
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
            assert_eq!(ours.to_bytes().unwrap(), reference.to_bytes());
        }
    }
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

// As JavaScript sees it.

const WALL: f64 = START as f64 * 1000.0;
const NONE: f64 = f64::NAN;

/// The module's memory, as JavaScript has it.
fn buffer() -> JsValue {
    wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>().buffer()
}

/// Writes bytes where JavaScript would.
fn write(pointer: usize, bytes: &[u8]) {
    Uint8Array::new(&buffer()).set(&Uint8Array::from(bytes), pointer as u32);
}

/// Writes where texts end that follow each other, each as long as told.
fn write_ends(batch: &mut TextBatch, lengths: impl Iterator<Item = usize>) {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u32;
        Some(*end)
    });
    let ends: Vec<u32> = ends.collect();
    let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    write(batch.reserve_ends(ends.len()), &bytes);
}

/// A batch of texts that are ASCII alone.
fn ascii(texts: &[&str]) -> TextBatch {
    let mut batch = TextBatch::new();
    let all = texts.concat();
    write(batch.reserve(all.len()), all.as_bytes());
    write_ends(&mut batch, texts.iter().map(|text| text.len()));
    batch
}

/// Makes this a batch of any texts, with a byte between each two.
fn rewrite(batch: &mut TextBatch, texts: &[&str]) {
    write_ends(batch, texts.iter().map(|text| text.encode_utf16().count()));
    let all = texts.join("\0");
    write(batch.reserve(all.len()), all.as_bytes());
    batch.separated(all.len());
}

fn separated(texts: &[&str]) -> TextBatch {
    let mut batch = TextBatch::new();
    rewrite(&mut batch, texts);
    batch
}

/// The indices that an answer of `count` left with a batch.
fn indices(batch: &TextBatch, count: usize) -> Vec<u32> {
    Uint32Array::new_with_byte_offset_and_length(&buffer(), batch.indices() as u32, count as u32).to_vec()
}

fn parsed(value: JsValue) -> Value {
    serde_wasm_bindgen::from_value(value).unwrap()
}

/// What was thrown.
fn thrown<T>(result: Result<T, JsValue>) -> Value {
    match result {
        Ok(_) => panic!("nothing was thrown"),
        Err(error) => parsed(error),
    }
}

/// A guard of the namespace, which has yet to load its rows if it is stored.
fn guard_of(is_stored: bool, seed: f64) -> Guard {
    Guard::new("home:reader", 30.0, 10_000, is_stored, &[seed])
}

fn guard() -> Guard {
    guard_of(false, 0.0)
}

/// Saves what is due, as rows.
fn save(guard: &mut Guard, due: Due) -> Vec<String> {
    let mut rows = Vec::new();
    while let Some(row) = guard.unsaved(0, due, WALL) {
        let mark = guard.numbers()[0];
        guard.saved(mark as u32);
        rows.push(row);
    }
    rows
}

fn record(guard: &mut Guard, ids: &[&str]) -> usize {
    guard.record(&separated(ids), RecordKind::Seen, WALL)
}

fn fresh(guard: &mut Guard, ids: &[&str]) -> Vec<u32> {
    let mut batch = separated(ids);
    let count = guard.filter(&mut batch, FilterKind::Fresh, WALL);
    indices(&batch, count)
}

fn has(guard: &mut Guard, id: &str, wall: f64) -> bool {
    guard.explain(&separated(&[id]), wall).is_some()
}

/// The version of the snapshot in use.
fn version(guard: &Guard) -> f64 {
    guard.stats(WALL)[4]
}

/// The ids that the latest call has left, each with its number; before them it has left so many others.
fn left(guard: &mut Guard, others: usize) -> Vec<(String, f64)> {
    let text: Vec<u16> = guard.text().encode_utf16().collect();
    let mut start = 0;
    let of = |pair: &[f64]| {
        let id = &text[std::mem::replace(&mut start, pair[0] as usize)..pair[0] as usize];
        (String::from_utf16_lossy(id), pair[1])
    };
    guard.numbers()[others..].chunks_exact(2).map(of).collect()
}

fn pending(guard: &mut Guard, limit: usize) -> Vec<String> {
    guard.pending(limit, WALL);
    left(guard, 0).into_iter().map(|(id, _)| id).collect()
}

/// Applies native shards; `server_ms` is the server's clock. Returns what became of them, as its number.
fn apply(guard: &mut Guard, shards: &[&str], version: f64, server_ms: f64, wall: f64) -> u32 {
    guard.apply(&ascii(shards), 0, 0, 0.0, version, server_ms, &[], NONE, false, wall) as u32
}

fn text_of(ids: &[&str], epoch: u32, expires: u32) -> String {
    shard_of(ids, epoch, expires).to_base64().unwrap()
}

#[wasm_bindgen_test]
fn ids_cross_in_one_batch() {
    let mut guard = guard();
    assert_eq!(record(&mut guard, &["shown", "", "🦀"]), 3);
    assert_eq!((guard.numbers(), guard.count(Count::Undelivered)), (vec![0.0], 3.0));
    assert_eq!(fresh(&mut guard, &["new", "shown", "", "new", "🦀", "other"]), [0, 5]);
    assert!(fresh(&mut guard, &[]).is_empty());
    assert!(fresh(&mut guard, &[""]).is_empty());
}

#[wasm_bindgen_test]
fn ids_of_any_characters_keep_their_ends() {
    let mut guard = guard();
    let shown = ["a\0b", "", "\0", "\0\0", "é", "看見", "🦀", "\u{fffd}", "a🦀"];
    assert_eq!(record(&mut guard, &shown), shown.len());
    for id in shown {
        assert!(has(&mut guard, id, WALL));
    }
    for other in ["a", "b", "a\0", "é\0", "\0é", "看", "見", "🦀\0"] {
        assert!(!has(&mut guard, other, WALL));
    }
    assert_eq!(
        fresh(&mut guard, &["🦀", "x", "看見", "見", "", "é", "🦀🦀"]),
        [1, 3, 6]
    );
}

#[wasm_bindgen_test]
fn what_an_earlier_batch_left_is_no_part_of_an_id() {
    let mut guard = guard();
    let mut batch = separated(&["看見看見看見"]);
    for id in ["é", "éé", "a"] {
        rewrite(&mut batch, &[id]);
        guard.record(&batch, RecordKind::Seen, WALL);
        assert!(has(&mut guard, id, WALL));
    }
}

#[wasm_bindgen_test]
fn impossible_ends_and_lengths_trap_nothing() {
    let mut guard = guard();
    let mut batch = TextBatch::new();
    batch.separated(5);
    write(batch.reserve(4), b"abcd");
    let ends = [9u32, 2, u32::MAX, 1].iter().flat_map(|end| end.to_le_bytes());
    let ends: Vec<u8> = ends.collect();
    for length in [0, 4, usize::MAX] {
        write(batch.reserve_ends(4), &ends);
        guard.filter(&mut batch, FilterKind::Fresh, WALL);
        batch.separated(length);
        guard.record(&batch, RecordKind::Seen, WALL);
    }
    assert_eq!(batch.reserve(usize::MAX), 0);
    assert_eq!(fresh(&mut guard, &["x", "y"]), [0, 1]);
}

#[wasm_bindgen_test]
fn a_batch_gives_back_unusual_memory_and_goes_on() {
    let mut guard = guard();
    let many = ids(&"a rather long id ".repeat(8), 0..20_000);
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut batch = separated(&many);
    assert_eq!(guard.filter(&mut batch, FilterKind::Fresh, WALL), 20_000);
    batch.reserve(0);
    rewrite(&mut batch, &["a"]);
    assert_eq!(guard.filter(&mut batch, FilterKind::Fresh, WALL), 1);
}

#[wasm_bindgen_test]
fn apply_reports_what_became_of_a_snapshot() {
    let mut guard = guard();
    record(&mut guard, &["a", "é🦀", "b"]);
    let shards = [text_of(&["a", "é🦀", "s"], 7, 0), text_of(&["t"], 6, 1)];
    let shards = shards.each_ref().map(String::as_str);
    let status = apply(&mut guard, &shards, 9.0, NONE, WALL + 250.0);
    assert_eq!((status, version(&guard)), (ApplyStatus::Taken as u32, 9.0));
    let lags = [("a".to_owned(), 250.0), ("é🦀".to_owned(), 250.0)];
    assert_eq!(left(&mut guard, 2), lags);
    for (number, expected) in [(9.0, ApplyStatus::Taken), (8.0, ApplyStatus::OlderVersion)] {
        assert_eq!(apply(&mut guard, &shards, number, NONE, WALL), expected as u32);
        assert_eq!((guard.numbers(), version(&guard)), (vec![0.0, 0.0], 9.0));
    }
    let missing = apply(&mut guard, &["~0123456789ab"], 10.0, NONE, WALL);
    assert_eq!((missing, version(&guard)), (ApplyStatus::MissingShard as u32, 9.0));
    assert!(guard.held().is_empty());
}

#[wasm_bindgen_test]
fn the_snapshot_of_an_earlier_visit_is_told_by_its_shards_and_taken_over() {
    let (mut before, mut after) = (guard(), guard());
    let shards = [text_of(&["a"], 8, 0), text_of(&["b"], 7, 0)];
    let shards = shards.each_ref().map(String::as_str);
    apply(&mut before, &shards, 9.0, NONE, WALL);
    assert_eq!(before.shard_texts(), Some(shards.join("\n") + "\n"));
    let taken = after.apply(&ascii(&shards), 0, 0, 0.0, NONE, NONE, &[], NONE, true, WALL);
    assert_eq!(taken as u32, ApplyStatus::Taken as u32);
    assert!(version(&after).is_nan() && after.held() == before.held());
}

#[wasm_bindgen_test]
fn apply_tells_what_is_wrong_and_changes_nothing() {
    let mut guard = guard();
    let good = text_of(&["s"], 7, 0);
    let largest = 9_007_199_254_740_991.0;
    apply(&mut guard, &[&good], largest, NONE, WALL);
    for (status, bad) in [
        (ApplyStatus::BadBase64, "?"),
        (ApplyStatus::BadBase64, "\0"),
        (ApplyStatus::Truncated, ""),
        (ApplyStatus::BadMagic, &*"A".repeat(48)),
    ] {
        assert_eq!(apply(&mut guard, &[&good, bad], NONE, NONE, WALL), status as u32);
        assert_eq!((guard.numbers(), version(&guard)), (vec![1.0], largest));
        assert!(has(&mut guard, "s", WALL));
    }
    let too_many = apply(&mut guard, &[""; 65], NONE, NONE, WALL);
    assert_eq!((too_many, guard.numbers()), (ApplyStatus::TooLarge as u32, vec![]));
}

#[wasm_bindgen_test]
fn the_servers_clock_is_carried_on_by_the_devices() {
    let mut guard = guard();
    let shard = text_of(&["s"], 7, START as u32 + 10);
    // This device's clock is at its beginning, or far ahead.
    for wall in [0.0, 8.63e15] {
        apply(&mut guard, &[&shard], NONE, WALL, wall);
        assert!(has(&mut guard, "s", wall + 9_999.0) && !has(&mut guard, "s", wall + 10_000.0));
    }
    // It is broken.
    for wall in [-5.0, f64::NAN] {
        apply(&mut guard, &[&shard], NONE, WALL, wall);
        assert!(has(&mut guard, "s", wall));
    }
}

#[wasm_bindgen_test]
fn explanations_and_statistics_are_numbers() {
    let mut guard = guard();
    apply(&mut guard, &[&text_of(&["s"], 7, 0)], 1.0, NONE, WALL);
    record(&mut guard, &["s", "mine"]);
    let many = [ids("t", 0..300), vec!["t".into()]].concat();
    let shard = shard_of(&many, 8, 0).to_base64().unwrap();
    apply(&mut guard, &[&shard], 2.0, NONE, WALL);
    for (id, expected, at) in [
        ("mine", Some(SeenBy::Pending), vec![WALL]),
        ("s", Some(SeenBy::Device), vec![WALL]),
        ("t", Some(SeenBy::Server), vec![]),
        ("fresh", None, vec![]),
    ] {
        let why = guard.explain(&separated(&[id]), WALL);
        assert_eq!(why.map(|why| why as u32), expected.map(|why| why as u32), "{id}");
        assert_eq!(guard.numbers(), at, "{id}");
    }
    let mut batch = separated(&["mine", "fresh", "t"]);
    let fresh = guard.filter(&mut batch, FilterKind::Split, WALL);
    let seen = guard.numbers()[0] as usize;
    assert_eq!((fresh, indices(&batch, fresh + seen)), (1, vec![1, 2, 0]));
    assert_eq!(
        guard.record(&separated(&["mine", "t", "fresh"]), RecordKind::Unseen, WALL),
        2
    );
    let unseen = guard.filter(&mut batch, FilterKind::Unseen, WALL);
    assert_eq!(indices(&batch, unseen), [0, 1, 2]);

    let stats = guard.stats(WALL);
    assert_eq!((&stats[..3], &stats[4..]), (&[0.0, 3.0, 1.0][..], &[2.0, 4.0][..]));
    assert_eq!(guard.count(Count::Recordings), 4.0);
    assert!((1e-9..0.001).contains(&stats[3]));
}

#[wasm_bindgen_test]
fn what_one_visit_stores_another_finds() {
    let mut first = guard_of(true, 1.0);
    record(&mut first, &["a", "b"]);
    let stash = first.unsaved_within(50_000, WALL).unwrap();
    assert_eq!(first.numbers(), [1.0]);
    let rows = save(&mut first, Due::Facts);
    assert_eq!((rows.len(), first.has_unsaved(&stash)), (1, false));
    assert!(first.unsaved(0, Due::All, WALL).is_none() && first.numbers().is_empty());
    assert_eq!(row_facts(&rows[0]), [(START / 86_400) as f64, 30.0]);
    assert!(row_facts("rubbish").is_empty());

    let mut later = guard_of(true, 2.0);
    assert_eq!(later.merge(rows[0].as_bytes(), Source::Found), 2);
    assert_eq!(later.merge(b"rubbish", Source::Row), -1);
    later.loaded();
    record(&mut later, &["c"]);
    assert_eq!(pending(&mut later, 9), ["a", "b", "c"]);
    assert_eq!(pending(&mut later, 1), ["a"]);
    let lists = [0, 1_000].map(|most| later.pending_list(most, WALL));
    assert_eq!(lists[1], [&lists[0], &*list_of(&["c", "b", "a"])].concat());

    let joined = [&rows[..], &save(&mut later, Due::Changes)].concat().join("\n");
    let rewritten = later.rewrite(joined.as_bytes());
    assert_eq!(later.numbers(), [3.0]);
    let mut reader = guard_of(true, 3.0);
    assert_eq!(reader.merge(rewritten.as_bytes(), Source::Row), 3);
    later.reset(false);
    assert!(pending(&mut later, 9).is_empty() && later.count(Count::Recordings) == 0.0);
}

#[wasm_bindgen_test]
fn a_batch_to_deliver_goes_out_with_its_number() {
    let mut guard = guard();
    guard.start_reporting();
    assert_eq!(guard.begin_batch(9, 1_000, Scope::Own, WALL), 0);
    record(&mut guard, &["a", "b", "c"]);
    guard.record(&separated(&["b"]), RecordKind::Unseen, WALL);
    assert_eq!(guard.begin_batch(1, 1_000, Scope::Own, WALL), 1);
    assert_eq!(left(&mut guard, 1), [("a".to_owned(), WALL)]);
    guard.end_batch(1, BatchEnd::Delivered, WALL);
    assert_eq!(guard.begin_batch(9, 1_000, Scope::All, WALL), 2);
    // The impressions, and then what was made unseen.
    assert_eq!(left(&mut guard, 1), ["c", "b"].map(|id| (id.to_owned(), WALL)));
}

fn chain(capacity: u32, shards: usize, rate: f64, ttl: u32, stored: &[&str]) -> Result<Chain, JsValue> {
    let seed = Some(u64::MAX.to_string());
    let (capacity, shards, rate, ttl) = (Some(capacity), Some(shards), Some(rate), Some(ttl));
    let options = GivenOptions::new(false, 0, 0, 0.0, capacity, shards, rate, seed, ttl)?;
    Chain::new(&options, &separated(stored))
}

#[wasm_bindgen_test]
fn options_without_meaning_are_thrown_by_their_code() {
    let code = |result: Result<Chain, JsValue>| thrown(result)["code"].as_str().unwrap().to_string();
    assert_eq!(code(chain(0, 5, 0.001, 0, &[])), "bad-option");
    assert_eq!(code(chain(1000, 65, 0.001, 0, &[])), "bad-option");
    assert_eq!(code(chain(1000, 5, f64::NAN, 0, &[])), "bad-option");
    assert_eq!(code(chain(1000, 5, 1e-12, 0, &[])), "bad-option");
    assert_eq!(code(chain(1_100_000, 5, 0.001, 0, &[])), "bad-option");
    assert!(chain(1000, 32, 0.001, 60, &[]).is_ok());
    let with_seed = |seed: &str| GivenOptions::new(false, 0, 0, 0.0, None, None, None, Some(seed.into()), None);
    assert_eq!(thrown(with_seed("18446744073709551616"))["code"], "bad-option");
}

#[wasm_bindgen_test]
fn a_chain_records_filters_ships_and_goes_on() {
    let now = START as f64;
    let mut first = chain(3, 5, 0.001, 0, &[]).unwrap();
    assert_eq!(parsed(first.rejected()), json!([]));
    assert_eq!(first.record(&separated(&["a", "b", "a", "c", "d"]), now).unwrap(), 4);
    let shipped = parsed(first.snapshot(now, None).unwrap());
    assert_eq!(
        (&shipped["now"], &shipped["version"]),
        (&json!(START), &json!(((START + 1) << 21) + 1))
    );
    let shards = shipped["shards"].as_array().unwrap();
    let mut stored: Vec<&str> = shards.iter().filter_map(Value::as_str).collect();
    assert_eq!(stored.len(), 2);
    stored.insert(1, "damaged");
    let again = chain(3, 5, 0.001, 0, &stored).unwrap();
    assert_eq!(
        parsed(again.rejected()),
        json!([{ "index": 1, "reason": "bad-base64" }])
    );
    let mut batch = separated(&["a", "x", "d", "x"]);
    let count = again.filter(&mut batch, None, now).unwrap();
    assert_eq!(indices(&batch, count), [1]);
    // Milliseconds.
    assert_eq!(thrown(first.record(&batch, WALL))["code"], "bad-option");
}

#[wasm_bindgen_test]
fn a_chain_unsees_takes_in_forgets_and_refers_to_what_is_held() {
    let now = START as f64;
    let mut chain = chain(2, 5, 0.001, 0, &[]).unwrap();
    chain.record(&separated(&["a", "b", "c"]), now).unwrap();
    chain.unsee(&separated(&["a"]), now + 0.25).unwrap();
    // Unseen, then recorded.
    let times = [WALL + 500.0, WALL + 250.0, WALL + 501.0];
    let reported = separated(&["b", "a", "b"]);
    let unknown = chain.ingest(&reported, &times, 1, WALL + 1_000.0, false);
    assert_eq!(unknown.unwrap(), 0);
    let mut batch = separated(&["a", "c", "x", "b"]);
    let fresh = chain.filter(&mut batch, None, now).unwrap();
    assert_eq!(indices(&batch, fresh), [0, 2]);
    let shipped = parsed(chain.snapshot(now, None).unwrap());
    assert_eq!(shipped["unseen"], json!([{ "id": "a", "at": START * 1000 + 250 }]));
    let text = shipped["shards"][1].as_str().unwrap();
    let reference = Reference::of(Format::Native, text.as_bytes());
    let again = parsed(chain.snapshot(now, Some(reference.to_string())).unwrap());
    assert_eq!(again["shards"], json!([shipped["shards"][0], reference.to_element()]));

    chain.forget(now + 0.5).unwrap();
    let deleted = parsed(chain.snapshot(now, None).unwrap());
    assert_eq!(
        deleted,
        json!({ "version": 0, "shards": [], "now": START, "forgetBefore": START + 1 })
    );
    chain
        .restore(&separated(&["a"]), &[WALL], Some(START as u32 + 9))
        .unwrap();
    assert_eq!(parsed(chain.snapshot(now, None).unwrap())["forgetBefore"], START + 9);
}

/// Bytes of the module's memory, which never shrinks.
fn memory_bytes() -> u32 {
    let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length()
}

#[wasm_bindgen_test]
fn a_day_of_use_takes_no_more_and_more_memory() {
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let mut guard = guard_of(true, 1.0);
    guard.loaded();
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
        apply(&mut guard, &shards, refresh as f64, NONE, WALL);
        fresh(&mut guard, &texts);
        record(&mut guard, &texts);
        save(&mut guard, Due::All);
        chain.record(&shown, now).unwrap();
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
