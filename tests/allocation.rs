//! What a shard claims is not believed before it is checked: memory is taken for what is there, not for what a header
//! promises.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use allocation_counter::measure;
use common::{RawShard, START, apply, at, base64_of};
use seenguard::{MAX_BITS, Shard};

/// Enough for an error and a copy of a small input.
const LITTLE: u64 = 4096;

fn most_bytes_while(run: impl FnOnce()) -> u64 {
    measure(run).bytes_max
}

#[test]
fn the_measure_sees_what_a_filter_takes() {
    let honest = RawShard::raw(MAX_BITS).bytes();
    assert!(most_bytes_while(|| drop(Shard::from_bytes(&honest).unwrap())) >= 1 << 21);
}

#[test]
fn a_damaged_shard_of_2_to_the_24_bits_takes_nothing() {
    let mut bytes = RawShard::rice(MAX_BITS, 0, 0, &[]).bytes();
    bytes[20] ^= 1;
    let bits_over = RawShard {
        bits: MAX_BITS + 1,
        ..RawShard::rice(64, 0, 0, &[])
    }
    .bytes();
    for bytes in [bytes, bits_over] {
        assert!(most_bytes_while(|| assert!(Shard::from_bytes(&bytes).is_err())) < LITTLE);
        let text = base64_of(&bytes);
        assert!(most_bytes_while(|| assert!(Shard::from_base64(&text).is_err())) < LITTLE);
    }
}

#[test]
fn a_payload_too_short_for_its_claim_takes_nothing() {
    let claims = [
        RawShard {
            payload: vec![0; 5],
            ..RawShard::raw(MAX_BITS)
        },
        RawShard::rice(MAX_BITS, 0, MAX_BITS, &[0; 5]),
        RawShard::rice(MAX_BITS, 31, 2, &[0; 5]),
        RawShard::rice(MAX_BITS, 32, 0, &[]),
        RawShard::rice(MAX_BITS, 0, MAX_BITS + 1, &[]),
        RawShard {
            payload: vec![0; 4],
            encoding: 1,
            ..RawShard::raw(MAX_BITS)
        },
    ];
    for claim in claims {
        let bytes = claim.bytes();
        assert!(most_bytes_while(|| assert_eq!(Shard::from_bytes(&bytes).unwrap_err().code(), "bad-payload")) < LITTLE);
    }
}

#[test]
fn a_snapshot_that_is_too_large_takes_nothing() {
    let large = RawShard::rice(MAX_BITS, 0, 0, &[]).base64();
    let mut guard = common::guard();
    for shards in [
        vec![large.as_str(); 5],
        vec![large.as_str(); 64],
        vec![large.as_str(); 1_000],
    ] {
        let taken = most_bytes_while(|| {
            let error = apply(&mut guard, None, &shards, at(START)).unwrap_err();
            assert_eq!(error.code(), "too-large");
        });
        assert!(taken < 64 * 1024, "{taken}");
    }
}

#[test]
fn the_largest_snapshot_takes_no_more_than_a_few_times_its_bits() {
    let large: Vec<String> = (0..4)
        .map(|epoch| {
            RawShard {
                epoch,
                ..RawShard::rice(MAX_BITS, 0, 0, &[])
            }
            .base64()
        })
        .collect();
    let mut guard = common::guard();
    let taken = most_bytes_while(|| drop(apply(&mut guard, None, &large, at(START)).unwrap()));
    assert!(taken <= 3 * (1 << 23), "{taken}");
    assert!(guard.stats(at(START)).bytes <= (1 << 23) + 4096);
}
