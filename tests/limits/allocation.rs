//! Claims of a shard are checked before memory is allocated: for the data that exists, not for the size in a header.
#![cfg(not(target_arch = "wasm32"))]

#[path = "../common/mod.rs"]
mod common;

use allocation_counter::measure;
use common::device::{Device, save, stored_guard};
use common::random::Random;
use common::{RawShard, START, apply, at, base64_of, guard, guard_of, ids, list_of, sealed};
use seenguard::device::{Due, Mark};
use seenguard::near_duplicates::NearDuplicates;
use seenguard::{
    ChainOptions, MAX_BITS, MAX_SNAPSHOT_BITS, PENDING_SECONDS, Pending, PendingUpdate, Shard, ShardChain,
};

/// Enough for an error and a copy of a small input.
const LITTLE: u64 = 4096;

fn most_bytes_while(run: impl FnOnce()) -> u64 {
    measure(run).bytes_max
}

#[test]
fn i7_a_shard_with_a_false_size_allocates_nothing() {
    let mut damaged = RawShard::rice(MAX_BITS, 0, 0, &[]).bytes();
    damaged[20] ^= 1;
    let (raw, rice) = (RawShard::raw, RawShard::rice);
    for (code, bytes) in [
        ("bad-checksum", damaged),
        (
            "bad-parameters",
            rice(64, 0, 0, &[]).with(|shard| shard.bits = MAX_BITS + 1).bytes(),
        ),
        (
            "bad-payload",
            raw(MAX_BITS).with(|shard| shard.payload = vec![0; 5]).bytes(),
        ),
        (
            "bad-payload",
            rice(MAX_BITS, 0, 0, &[])
                .with(|shard| shard.payload = vec![0; 4])
                .bytes(),
        ),
        ("bad-payload", rice(MAX_BITS, 0, MAX_BITS, &[0; 5]).bytes()),
        ("bad-payload", rice(MAX_BITS, 31, 2, &[0; 5]).bytes()),
        ("bad-payload", rice(MAX_BITS, 32, 0, &[]).bytes()),
        ("bad-payload", rice(MAX_BITS, 0, MAX_BITS + 1, &[]).bytes()),
    ] {
        let text = base64_of(&bytes);
        assert!(most_bytes_while(|| assert_eq!(Shard::from_bytes(&bytes).unwrap_err().code(), code)) < LITTLE);
        assert!(most_bytes_while(|| assert!(Shard::from_base64(&text).is_err())) < LITTLE);
    }
}

#[test]
fn i7_a_snapshot_over_the_limit_allocates_no_more_than_one_at_the_limit() {
    let large = RawShard::rice(MAX_BITS, 0, 0, &[]).base64();
    let mut guard = guard();
    for (count, bits) in [(5, MAX_SNAPSHOT_BITS), (64, MAX_SNAPSHOT_BITS), (1_000, 0)] {
        let shards = vec![large.as_str(); count];
        let taken = most_bytes_while(|| {
            let error = apply(&mut guard, None, &shards, at(START)).unwrap_err();
            assert_eq!(error.code(), "too-large");
        });
        assert!(taken < bits / 8 + 64 * 1024, "{count} shards: {taken}");
    }
}

#[test]
fn i7_the_largest_snapshot_allocates_a_few_times_its_bits_however_they_are_divided() {
    // 5, 9, 17 or 33 filters have a power of two of slots: nearly half of them stay empty.
    for (count, at_most, held) in [(4, 3, 1), (5, 4, 2), (9, 4, 2), (17, 4, 2), (33, 4, 2), (64, 4, 2)] {
        let shard = |epoch| RawShard::rice((1 << 26) / count, 0, 0, &[]).with(|shard| shard.epoch = epoch);
        let shards: Vec<String> = (0..count).map(|epoch| shard(epoch).base64()).collect();
        let mut guard = guard();
        let taken = measure(|| drop(apply(&mut guard, None, &shards, at(START)).unwrap()));
        assert!(taken.bytes_max <= at_most * (1 << 23), "{count} shards: {taken:?}");
        assert!(
            taken.bytes_current <= held * (1 << 23) + 8192,
            "{count} shards: {taken:?}"
        );
    }
}

#[test]
fn i7_a_request_allocates_no_more_than_the_devices_pending_lists() {
    let chain = ShardChain::new(ChainOptions::default()).unwrap();
    let list = list_of(&ids("item", 0..1_000));
    let text = |device: usize| format!("00000000000{device}.1.0.{list}");
    let kept: String = (1..=9).map(|device| format!("{START} {}\n", text(device))).collect();
    let (own, foreign) = (text(0), "A".repeat(10_000_000));
    let pending = |requesting| Pending {
        requesting: Some(requesting),
        stored: &kept,
        ..Pending::default()
    };
    // 4 bytes an id, of at most 9 devices; a list of them grows to less than twice that.
    for requesting in [&own, &foreign] {
        let taken = most_bytes_while(|| assert_eq!(chain.filter(&["a"], pending(requesting), at(START)).unwrap(), [0]));
        assert!(taken <= 2 * 9 * 4_000 + LITTLE, "{taken}");
        let to_keep = most_bytes_while(|| _ = PendingUpdate::of(requesting, None, at(START), PENDING_SECONDS));
        assert!(to_keep <= LITTLE, "{to_keep}");
    }
}

#[test]
fn i7_a_shard_that_outlasts_the_others_allocates_no_more_than_its_bits() {
    const BITS: u32 = 1 << 14;
    let mut guard = guard();
    // Of 64 shards the oldest stays, next to 63 of another seed, of which the oldest stays, and so on.
    let (mut oldest, mut held) = (Vec::new(), 0);
    for seed in 0..32 {
        let shard = |epoch: u32| RawShard {
            seed,
            epoch,
            ..RawShard::rice(BITS, 0, 0, &[])
        };
        let newer: Vec<String> = (oldest.len() as u32..64).map(|epoch| shard(epoch).base64()).collect();
        let shards = [newer.clone(), oldest.clone()].concat();
        held += measure(|| drop(apply(&mut guard, None, &shards, at(START)).unwrap())).bytes_current;
        oldest.extend(newer.last().cloned());
        assert!(
            held <= 3 * 64 * i64::from(BITS) / 8,
            "{held} bytes are held after {seed} others"
        );
    }
}

#[test]
fn i7_replaced_snapshots_free_their_memory() {
    let mut random = Random::seeded(4);
    let mut guard = guard();
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let mut held = 0;
    for round in 0..300 {
        let news = ids(&format!("round {round}"), 0..random.index(400));
        chain.record(&news, at(START)).unwrap();
        let mut shards = chain.snapshot(at(START), None).unwrap().shards;
        shards.truncate(random.index(6));
        held += measure(|| drop(apply(&mut guard, None, &shards, at(START)).unwrap())).bytes_current;
        // Five interleaved shards of 14,378 bits take eight lanes, besides their encodings.
        assert!(held < 2 * 8 * 14_378 / 8, "{held}");
    }
    held += measure(|| drop(apply(&mut guard, None, &[] as &[&str], at(START)).unwrap())).bytes_current;
    assert!(held < 4_096, "{held}");
}

// Rows.

/// A device with this row in its storage.
fn device_with(row: String) -> Device {
    Device { rows: vec![row] }
}

/// A row of these recordings: its facts are a day and a window.
fn row_of(recordings: &[u8]) -> String {
    base64_of(&sealed([&[0, 1, 30], recordings].concat()))
}

#[test]
fn i7_false_sizes_in_a_row_allocate_nothing() {
    // LEB128 of 2^63 − 1, the largest number of the format.
    const LARGEST: [u8; 9] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    let empty = |row: &str| most_bytes_while(|| drop(device_with(row.into()).next_visit()));
    let text = [&[4, 1, 0][..], &LARGEST, b"abc"].concat();
    let counter = [&[0][..], &LARGEST, &[0], &[7; 8]].concat();
    let time = [&[0, 1][..], &LARGEST, &[7; 8]].concat();
    let endless = [&[0][..], &[0xFF; 40]].concat();
    for content in [text, counter, time, endless] {
        let row = row_of(&content);
        let taken = empty(&row);
        assert!(taken < empty("no row") + LITTLE, "{taken}");
    }
}

#[test]
fn i7_many_small_rows_allocate_in_proportion_to_their_content() {
    let mut device = Device::default();
    let mut writer = stored_guard();
    for number in 0..2_500 {
        writer.record(&ids("item", number..number + 1), at(START));
        while let Some((row, mark)) = writer.unsaved(Mark::default(), Due::Changes, at(START)) {
            device.rows.push(row);
            writer.saved(mark);
        }
    }
    let text: usize = device.rows.iter().map(String::len).sum();
    let taken = most_bytes_while(|| drop(device.next_visit()));
    assert!(taken < 12 * text as u64, "{taken} bytes for {text} of text");
}

#[test]
fn i7_a_row_of_a_megabyte_is_refused_after_a_thousand_recordings() {
    // The shortest recordings: flags, counter and time of 1 byte each, an empty id.
    let recordings: Vec<u8> = (0..190_000).flat_map(|_| [4, 1, 0, 0]).collect();
    let hashes: Vec<u8> = (0..70_000u64)
        .flat_map(|hash| [&[0, 1, 0][..], &hash.to_le_bytes()].concat())
        .collect();
    for content in [recordings, hashes] {
        let row = row_of(&content);
        let (length, device) = (row.len(), device_with(row));
        let mut tab = None;
        let taken = measure(|| tab = Some(device.next_visit()));
        assert!(
            taken.bytes_max < 2 * length as u64,
            "{taken:?} for {length} bytes of text"
        );
        assert!(taken.bytes_current < LITTLE as i64, "{taken:?}");
    }
}

/// The number of allocations while a row is read: a measure of the work that does not depend on the machine.
fn allocations_to_read(row: String) -> u64 {
    let device = device_with(row);
    measure(|| drop(device.next_visit())).count_total
}

#[test]
fn i7_reading_a_row_is_work_in_proportion_to_its_length() {
    let kinds: [fn(usize) -> String; 3] = [
        |length| "A".repeat(length),
        |length| "\u{7f}".repeat(length),
        |length| row_of(&[4, 1, 0, 1, b'a'].repeat(length / 7)),
    ];
    for kind in kinds {
        let (few, many) = (allocations_to_read(kind(100_000)), allocations_to_read(kind(1_000_000)));
        assert!(many <= 15 * few + 100, "{few} allocations for 100 KB, {many} for 1 MB");
    }
}

#[test]
fn i7_impressions_without_storage_use_bounded_memory() {
    let mut guard = guard_of(30.0, 1_000);
    let taken = measure(|| {
        for round in 0..100 {
            guard.record(&ids(&format!("round {round}"), 0..1_000), at(START));
        }
    });
    assert!(taken.bytes_current < 700_000, "{}", taken.bytes_current);
}

#[test]
fn i7_ten_thousand_covered_impressions_take_less_than_700_kb() {
    let ids = ids("item-of-14-ch", 10_000..20_000);
    let mut table = guard();
    let taken = measure(|| {
        table.record(&ids, at(START));
        common::cover_all(&mut table, at(START));
        save(&mut table, &mut Device::default());
    });
    println!(
        "{} bytes are held, {} were at most",
        taken.bytes_current, taken.bytes_max
    );
    assert!(taken.bytes_current < 700_000, "{}", taken.bytes_current);
}

#[test]
fn i7_a_million_fingerprints_take_no_more_than_documented() {
    const FINGERPRINTS: u64 = 1_000_000;
    let mut groups = None;
    let empty = measure(|| groups = Some(NearDuplicates::new(3).unwrap())).bytes_current;
    assert!(empty < 6_300_000, "{empty} bytes when empty");
    let mut groups = groups.unwrap();
    let mut random = Random::seeded(1);
    let add = || {
        for _ in 0..FINGERPRINTS {
            groups.group_of(random.next(), "1r8bq8r7q4izgx").unwrap();
        }
    };
    let added = measure(add).bytes_current;
    assert!(
        added < 60 * FINGERPRINTS as i64,
        "{added} bytes for fingerprints and ids"
    );
}
