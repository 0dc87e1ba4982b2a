//! The guard's decisions: which snapshot is taken, what is stopped and why, what is pending, and how often something is
//! stopped wrongly.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::random::Random;
use common::{DAY, START, apply, at, cover_all, ids, shard_of, shard_with};
use seenguard::{
    Applied, BloomFilter, ChainOptions, Explanation, Filtered, Format, Guard, Now, Parameters, Shard, ShardChain,
    Snapshot,
};

fn guard() -> Guard {
    Guard::new(30.0).unwrap()
}

fn text_of(ids: &[String], epoch: u32) -> String {
    shard_of(ids, epoch, 0).to_base64().unwrap()
}

// Which snapshot is taken.

#[test]
fn a_snapshot_in_use_is_replaced_whole() {
    let mut guard = guard();
    apply(&mut guard, Some(1), &[text_of(&ids("one", 0..9), 1)], at(START)).unwrap();
    let applied = apply(&mut guard, Some(2), &[text_of(&ids("two", 0..9), 2)], at(START)).unwrap();
    let expected = Applied {
        applied: true,
        shards: 1,
        reused: 0,
        expired: 0,
        covered: 0,
        lags: vec![],
    };
    assert_eq!(applied, expected);
    assert!(!guard.has("one-0", at(START)) && guard.has("two-0", at(START)));
    assert_eq!(guard.version(), Some(2));
}

#[test]
fn an_older_version_is_not_taken() {
    let mut guard = guard();
    let (old, new) = (
        [text_of(&ids("old", 0..9), 1)],
        [text_of(&ids("new", 0..9), 2), text_of(&ids("old", 0..9), 1)],
    );
    apply(&mut guard, Some(10), &new, at(START)).unwrap();
    for version in [9, 0] {
        let applied = apply(&mut guard, Some(version), &old, at(START)).unwrap();
        assert_eq!((applied.applied, applied.shards, applied.covered), (false, 2, 0));
        assert!(guard.has("new-0", at(START)) && guard.version() == Some(10));
    }
}

#[test]
fn the_same_version_with_other_bytes_is_taken() {
    let mut guard = guard();
    apply(&mut guard, Some(10), &[text_of(&ids("one", 0..9), 1)], at(START)).unwrap();
    assert!(
        apply(&mut guard, Some(10), &[text_of(&ids("two", 0..9), 1)], at(START))
            .unwrap()
            .applied
    );
    assert!(guard.has("two-0", at(START)) && !guard.has("one-0", at(START)));
}

#[test]
fn a_snapshot_without_a_version_is_taken_and_so_is_whatever_follows_it() {
    let mut guard = guard();
    for version in [Some(10), None, None, Some(3)] {
        assert!(
            apply(&mut guard, version, &[text_of(&ids("item", 0..9), 1)], at(START))
                .unwrap()
                .applied
        );
        assert_eq!(guard.version(), version);
    }
}

#[test]
fn version_0_and_the_largest_are_versions() {
    let mut guard = guard();
    assert!(apply(&mut guard, Some(0), &[] as &[&str], at(START)).unwrap().applied);
    assert_eq!(guard.version(), Some(0));
    let largest = (1 << 53) - 1;
    assert!(
        apply(&mut guard, Some(largest), &[] as &[&str], at(START))
            .unwrap()
            .applied
    );
    assert!(
        !apply(&mut guard, Some(largest - 1), &[] as &[&str], at(START))
            .unwrap()
            .applied
    );
}

#[test]
fn an_empty_snapshot_after_full_ones_is_taken() {
    let mut guard = guard();
    apply(&mut guard, Some(1), &[text_of(&ids("item", 0..9), 1)], at(START)).unwrap();
    let applied = apply(&mut guard, Some(2), &[] as &[&str], at(START)).unwrap();
    assert_eq!((applied.applied, applied.shards), (true, 0));
    assert_eq!(guard.filter(&["item-0"], at(START)), [0]);
}

#[test]
fn a_new_guard_believes_a_counter_that_started_again() {
    let mut earlier = guard();
    apply(&mut earlier, Some(1_000), &[text_of(&ids("item", 0..9), 1)], at(START)).unwrap();
    let mut later = guard();
    later.take_over(&[("earlier", &*earlier.checkpoint())], at(START));
    assert_eq!(later.version(), None);
    assert!(apply(&mut later, Some(1), &[] as &[&str], at(START)).unwrap().applied);
}

#[test]
fn shards_that_are_held_are_not_decoded_again() {
    let mut guard = guard();
    let texts: Vec<String> = (0..10)
        .map(|epoch| text_of(&ids(&format!("shard {epoch}"), 0..200), epoch))
        .collect();
    let mut random = Random::seeded(1);
    let mut held: Vec<&String> = Vec::new();
    for version in 0..300 {
        let count = random.index(7);
        let shipped: Vec<&String> = (0..count).map(|_| random.pick(&texts)).collect();
        let mut left = held.clone();
        let reused = shipped.iter().filter(|text| {
            let found = left.iter().position(|held| held == *text);
            found.map(|found| left.swap_remove(found)).is_some()
        });
        let reused = reused.count();
        let applied = apply(&mut guard, Some(version), &shipped, at(START)).unwrap();
        assert_eq!((applied.shards, applied.reused), (count, reused));
        for (epoch, text) in texts.iter().enumerate() {
            let id = format!("shard {epoch}-{}", random.index(200));
            let place = shipped.iter().position(|shipped| *shipped == text);
            let expected = place.map(|shard| Explanation::Server {
                shard,
                epoch: Some(epoch as u32),
            });
            let found = guard.explain(&id, at(START));
            // Another shard may claim it falsely, but only an earlier one hides the right one.
            let right = match (&found, &expected) {
                (Some(Explanation::Server { shard: found, .. }), Some(Explanation::Server { shard, .. })) => {
                    found <= shard
                }
                (found, None) => found.is_none() || Shard::from_base64(text).unwrap().filter.contains(&id),
                _ => false,
            };
            assert!(right, "{found:?} instead of {expected:?}");
        }
        held = shipped;
    }
}

#[test]
fn the_order_of_held_shards_may_change() {
    let mut guard = guard();
    let (a, b) = (text_of(&ids("a", 0..9), 1), text_of(&ids("b", 0..9), 2));
    apply(&mut guard, None, &[&a, &b], at(START)).unwrap();
    assert_eq!(apply(&mut guard, None, &[&b, &a], at(START)).unwrap().reused, 2);
    assert_eq!(
        guard.explain("a-0", at(START)),
        Some(Explanation::Server {
            shard: 1,
            epoch: Some(1)
        })
    );
}

#[test]
fn sixty_four_shards_of_any_parameters_answer_together() {
    let mut random = Random::seeded(2);
    let shards: Vec<Shard> = (0..64)
        .map(|epoch| {
            let parameters =
                Parameters::for_capacity(10 + 10 * (epoch % 5), [0.001, 0.000_01][epoch as usize % 2]).unwrap();
            shard_with(
                parameters,
                u64::from(epoch % 3),
                &ids(&format!("shard {epoch}"), 0..10),
                epoch,
                0,
            )
        })
        .collect();
    let texts: Vec<String> = shards.iter().map(|shard| shard.to_base64().unwrap()).collect();
    let mut guard = guard();
    for _ in 0..20 {
        let start = random.index(60);
        apply(&mut guard, None, &texts[start..], at(START)).unwrap();
        let asked: Vec<String> = (0..64)
            .flat_map(|epoch| ids(&format!("shard {epoch}"), 0..13))
            .collect();
        let expected: Vec<u32> = (0..asked.len() as u32)
            .filter(|&index| {
                !shards[start..]
                    .iter()
                    .any(|shard| shard.filter.contains(&asked[index as usize]))
            })
            .collect();
        assert_eq!(guard.filter(&asked, at(START)), expected);
    }
}

// Expiry.

fn apply_at_server_time(guard: &mut Guard, shards: &[String], server_seconds: u64, now: Now) -> Applied {
    let snapshot = Snapshot {
        version: None,
        shards,
        format: Format::Native,
        now_ms: Some(server_seconds * 1000),
    };
    guard.apply(snapshot, now).unwrap()
}

#[test]
fn an_expired_shard_answers_nothing() {
    let mut guard = guard();
    let expires = START as u32 + 100;
    let shards = [
        shard_of(&["a"], 1, expires).to_base64().unwrap(),
        shard_of(&["b"], 0, 0).to_base64().unwrap(),
    ];
    let applied = apply(&mut guard, None, &shards, at(START + 99)).unwrap();
    assert_eq!((applied.shards, applied.expired), (2, 0));
    assert!(guard.has("a", at(START + 99)) && !guard.has("a", at(START + 100)));
    assert_eq!(guard.filter(&["a", "b"], at(START + 100)), [0]);
    assert_eq!(guard.explain("a", at(START + 100)), None);
    let applied = apply(&mut guard, None, &shards, at(START + 100)).unwrap();
    assert_eq!((applied.shards, applied.expired, applied.reused), (2, 1, 2));
    assert_eq!(guard.held(at(START + 100)), (2, 1));
}

#[test]
fn an_expired_shard_covers_nothing() {
    let mut guard = guard();
    guard.record(&["a", "b"], at(START));
    let shards = [
        shard_of(&["a"], 1, START as u32 - 1).to_base64().unwrap(),
        shard_of(&["b"], 0, START as u32 + 1).to_base64().unwrap(),
    ];
    assert_eq!(apply(&mut guard, None, &shards, at(START)).unwrap().covered, 1);
    assert_eq!(guard.pending(9), ["a"]);
}

#[test]
fn with_the_servers_clock_expiry_does_not_depend_on_the_wall_clock() {
    let shards = [shard_of(&["a"], 1, START as u32 + 100).to_base64().unwrap()];
    for wall_ms in [
        0,
        START * 1000,
        (START - 40 * DAY) * 1000,
        (START + 40 * DAY) * 1000,
        u64::MAX,
    ] {
        let mut guard = guard();
        let now = |steady_ms: u64, wall_ms: u64| Now { wall_ms, steady_ms };
        assert_eq!(
            apply_at_server_time(&mut guard, &shards, START, now(7_000, wall_ms)).expired,
            0
        );
        for other_wall_ms in [wall_ms, 0, u64::MAX] {
            assert!(guard.has("a", now(7_000 + 99_999, other_wall_ms)));
            assert!(!guard.has("a", now(7_000 + 100_000, other_wall_ms)));
        }
    }
}

#[test]
fn without_the_servers_clock_expiry_goes_by_the_wall_clock() {
    let mut guard = guard();
    let shards = [shard_of(&["a"], 1, START as u32 + 100).to_base64().unwrap()];
    let now = |wall_seconds: u64| Now {
        wall_ms: wall_seconds * 1000,
        steady_ms: 3,
    };
    apply(&mut guard, None, &shards, now(START)).unwrap();
    assert!(guard.has("a", now(START + 99)) && !guard.has("a", now(START + 100)) && guard.has("a", now(START)));
}

#[test]
fn an_impression_is_remembered_beyond_the_expiry_of_the_shard_that_covers_it() {
    let mut guard = guard();
    guard.record(&["a"], at(START));
    let applied = apply(
        &mut guard,
        None,
        &[shard_of(&["a"], 1, START as u32 + 100).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    assert_eq!(applied.covered, 1);
    assert_eq!(guard.explain("a", at(START + 200)), Some(Explanation::Memory));
}

// What is stopped, and why.

#[test]
fn fresh_ids_come_back_in_order_and_each_once() {
    let mut guard = guard();
    guard.record(&["shown"], at(START));
    let page = ["b", "shown", "a", "b", "", "a", "", "c", "shown"];
    assert_eq!(guard.filter(&page, at(START)), [0, 2, 4, 7]);
    assert_eq!(guard.filter(&[] as &[&str], at(START)), [] as [u32; 0]);
}

#[test]
fn filter_changes_nothing_but_its_counters() {
    let mut guard = guard();
    apply(&mut guard, None, &[text_of(&ids("server", 0..50), 1)], at(START)).unwrap();
    guard.record(&ids("shown", 0..50), at(START));
    let page: Vec<String> = [ids("server", 40..60), ids("shown", 40..60), ids("server", 45..50)].concat();
    let first = guard.filter(&page, at(START));
    let (stats, checkpoint) = (guard.stats(at(START)), guard.checkpoint());
    for _ in 0..10 {
        assert_eq!(guard.filter(&page, at(START)), first);
        for id in &page {
            guard.explain(id, at(START));
        }
    }
    let after = guard.stats(at(START));
    assert_eq!(after.filtered.passed, 11 * stats.filtered.passed);
    let mut uncounted = after.clone();
    uncounted.filtered = stats.filtered;
    assert_eq!((uncounted, guard.checkpoint()), (stats, checkpoint));
}

#[test]
fn verdicts_are_counted_by_their_reason() {
    let mut guard = guard();
    apply(&mut guard, None, &[text_of(&ids("server", 0..3), 1)], at(START)).unwrap();
    guard.record(&ids("covered", 0..2), at(START));
    cover_all(&mut guard, at(START));
    apply(&mut guard, None, &[text_of(&ids("server", 0..3), 1)], at(START)).unwrap();
    guard.record(&["pending"], at(START));
    let page = [
        ids("server", 0..3),
        ids("covered", 0..2),
        vec!["pending".into()],
        ids("fresh", 0..5),
        ids("fresh", 2..4),
    ];
    guard.filter(&page.concat(), at(START));
    let expected = Filtered {
        passed: 5,
        pending: 1,
        memory: 2,
        server: 3,
        duplicate: 2,
    };
    assert_eq!(guard.stats(at(START)).filtered, expected);
}

#[test]
fn explanations_name_the_first_reason() {
    let mut guard = guard();
    let now = Now::at(START * 1000 + 123);
    let shards = [
        text_of(&["new".into()], 9),
        text_of(&["old".into(), "both".into(), "new".into()], 8),
    ];
    apply(&mut guard, None, &shards, now).unwrap();
    assert_eq!(guard.explain("fresh", now), None);
    assert_eq!(
        guard.explain("new", now),
        Some(Explanation::Server {
            shard: 0,
            epoch: Some(9)
        })
    );
    assert_eq!(
        guard.explain("old", now),
        Some(Explanation::Server {
            shard: 1,
            epoch: Some(8)
        })
    );
    guard.record(&["both", "mine"], now);
    assert_eq!(guard.explain("both", now), Some(Explanation::Memory));
    assert_eq!(
        guard.explain("mine", now),
        Some(Explanation::Pending { at: START * 1000 + 123 })
    );
    for id in ["fresh", "new", "old", "both", "mine"] {
        assert_eq!(guard.has(id, now), guard.explain(id, now).is_some());
    }
}

#[test]
fn any_bytes_are_an_id() {
    let mut guard = guard();
    let strange: Vec<Vec<u8>> = vec![
        vec![],
        vec![0],
        vec![0, 0],
        "🦀".into(),
        vec![0xFF],
        "x".repeat(300_000).into(),
    ];
    guard.record(&strange, at(START));
    assert!(guard.filter(&strange, at(START)).is_empty());
    assert_eq!(guard.filter(&[vec![0u8, 0, 0], vec![0xFE]], at(START)), [0, 1]);
}

#[test]
fn an_id_is_stopped_for_the_window_by_this_devices_clock() {
    for window_days in [1.0, 0.5, 30.0, 0.000_1, 400.0] {
        let mut guard = Guard::new(window_days).unwrap();
        let recorded = START * 1000 + 999;
        guard.record(&["pending", "covered"], Now::at(recorded));
        cover_all(&mut guard, Now::at(recorded));
        guard.record(&["pending"], Now::at(recorded));
        let end = recorded + (window_days * 86_400_000.0) as u64;
        for now in [recorded, end - 1, 0, recorded / 2] {
            assert!(
                guard.filter(&["pending", "covered"], Now::at(now)).is_empty(),
                "{window_days} {now}"
            );
        }
        let long_after = end + (end - recorded) / 2 + 10_000;
        assert_eq!(
            guard.filter(&["pending", "covered"], Now::at(long_after)),
            [0, 1],
            "{window_days}"
        );
        // The clock went back: nothing was lost.
        assert!(guard.filter(&["pending", "covered"], Now::at(recorded)).is_empty());
    }
}

#[test]
fn reading_and_opening_at_a_wrong_time_delete_nothing() {
    let mut guard = guard();
    guard.record(&ids("item", 0..300), at(START));
    cover_all(&mut guard, at(START));
    for wrong in [0, START + 4_000 * DAY, u64::from(u32::MAX) + 5, 9_000_000_000_000] {
        assert!(wrong < START || guard.filter(&ids("item", 0..300), at(wrong)).len() == 300);
        let mut later = self::guard();
        later.take_over(&[("earlier", &*guard.checkpoint())], at(wrong));
        later.record(&["at the wrong time"], at(wrong));
        guard = later;
    }
    assert!(guard.filter(&ids("item", 0..300), at(START)).is_empty());
}

#[test]
fn an_id_recorded_again_is_kept_from_then_on() {
    let mut guard = guard();
    for day in (0..300).step_by(29) {
        guard.record(&["evergreen"], at(START + day * DAY));
        cover_all(&mut guard, at(START + day * DAY));
        assert!(guard.has("evergreen", at(START + (day + 30) * DAY - 1)));
    }
}

#[test]
fn ten_thousand_others_do_not_push_an_id_out() {
    let mut guard = guard();
    for first in [0, 700, 1_999, 2_000] {
        guard.record(&ids(&format!("before {first}"), 0..first), at(START));
        let id = format!("id after {first}");
        guard.record(&[&id], at(START));
        cover_all(&mut guard, at(START));
        for part in 0..100 {
            guard.record(&ids(&format!("after {first} {part}"), 0..100), at(START + 1));
            cover_all(&mut guard, at(START + 1));
        }
        assert!(guard.has(&id, at(START + 2)));
    }
    let stats = guard.stats(at(START + 2));
    assert_eq!(stats.remembered, 10_000);
    assert!(
        stats.memory_false_positive_rate < 0.000_8,
        "{}",
        stats.memory_false_positive_rate
    );
}

#[test]
fn windows_without_meaning_are_refused() {
    for days in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 36_501.0] {
        assert_eq!(
            Guard::new(days).map(drop).map_err(|error| error.code()),
            Err("bad-option"),
            "{days}"
        );
    }
    for days in [f64::MIN_POSITIVE, 0.000_01, 1.0, 36_500.0] {
        let mut guard = Guard::new(days).unwrap();
        guard.record(&["a"], at(START));
        cover_all(&mut guard, at(START));
        assert!(guard.has("a", at(START)), "{days}");
    }
}

// What is pending.

#[test]
fn what_a_snapshot_covers_is_pending_no_longer() {
    let mut guard = guard();
    guard.record(&ids("item", 0..10), Now::at(1_000_000));
    let covers = text_of(&ids("item", 3..7), 1);
    let applied = apply(&mut guard, None, &[&covers], Now::at(1_060_000)).unwrap();
    let lags: Vec<(String, u64)> = ids("item", 3..7).into_iter().map(|id| (id, 60_000)).collect();
    assert_eq!((applied.covered, applied.lags), (4, lags));
    assert_eq!(guard.pending(99), [ids("item", 0..3), ids("item", 7..10)].concat());
    assert_eq!(
        apply(&mut guard, None, &[&covers], Now::at(1_070_000)).unwrap().covered,
        0
    );
    let lag = guard.stats(Now::at(1_070_000)).lag;
    assert_eq!(
        (lag.count, lag.last_ms, lag.p50_ms, lag.p99_ms),
        (4, Some(60_000), Some(60_000), Some(60_000))
    );
}

#[test]
fn a_bad_or_older_snapshot_covers_nothing() {
    let mut guard = guard();
    apply(&mut guard, Some(5), &[] as &[&str], at(START)).unwrap();
    guard.record(&["a"], at(START));
    let covers = text_of(&["a".into()], 1);
    assert_eq!(apply(&mut guard, Some(4), &[&covers], at(START)).unwrap().covered, 0);
    assert!(apply(&mut guard, Some(6), &[&*covers, "damaged"], at(START)).is_err());
    assert_eq!(guard.pending(9), ["a"]);
}

#[test]
fn what_the_snapshot_in_use_covers_does_not_become_pending() {
    let mut guard = guard();
    apply(&mut guard, None, &[text_of(&["a".into()], 1)], at(START)).unwrap();
    let recorded = guard.record(&["a", "b"], at(START));
    assert_eq!((recorded.unknown, recorded.displaced), (2, 0));
    assert_eq!(guard.pending(9), ["b"]);
}

#[test]
fn an_id_stays_pending_although_the_memory_claims_it() {
    let mut guard = guard();
    guard.record(&["a"], at(START));
    cover_all(&mut guard, at(START));
    assert_eq!(guard.record(&["a"], at(START)).unknown, 0);
    assert_eq!(guard.pending(9), ["a"]);
}

#[test]
fn pending_ids_come_oldest_first_and_a_repeated_one_counts_from_its_last_time() {
    let mut guard = guard();
    guard.record(&ids("item", 0..6), at(START));
    guard.record(&["item-2", "item-0"], at(START + 1));
    let expected = ["item-1", "item-3", "item-4", "item-5", "item-2", "item-0"];
    assert_eq!(guard.pending(usize::MAX), expected);
    assert_eq!(guard.pending(2), expected[..2]);
    assert_eq!(guard.pending(0), [] as [&str; 0]);
}

#[test]
fn beyond_5000_the_oldest_are_no_longer_pending_and_still_stopped() {
    let mut guard = guard();
    let recorded = guard.record(&ids("item", 0..7_000), at(START));
    assert!(recorded.unknown >= 6_990 && recorded.displaced == 2_000);
    assert_eq!(guard.pending(usize::MAX), ids("item", 2_000..7_000));
    assert!(guard.filter(&ids("item", 0..7_000), at(START)).is_empty());
}

#[test]
fn beyond_256_kb_the_oldest_are_no_longer_pending_and_still_stopped() {
    let mut guard = guard();
    let long: Vec<String> = (0..100)
        .map(|number| format!("{number:03}{}", "x".repeat(9_997)))
        .collect();
    let recorded = guard.record(&long, at(START));
    assert_eq!(recorded.displaced, 100 - 256 * 1024 / 10_000);
    assert_eq!(guard.pending(usize::MAX), long[recorded.displaced..]);
    assert!(guard.filter(&long, at(START)).is_empty());
    // One that does not fit at all displaces no other.
    let huge = "y".repeat(256 * 1024 + 1);
    assert_eq!(guard.record(&[&huge], at(START)).displaced, 1);
    assert_eq!(guard.pending(usize::MAX).len(), 100 - recorded.displaced);
    assert!(guard.has(&huge, at(START)));
}

#[test]
fn the_pending_shard_is_an_empty_default_shard_without_anything() {
    let shard = guard().pending_shard();
    let expected = Shard::new(
        BloomFilter::new(Parameters::for_capacity(1000, 0.001).unwrap(), 0),
        0,
        0,
    );
    assert_eq!(shard, expected);
}

#[test]
fn the_pending_shard_has_the_parameters_of_the_newest_server_shard() {
    let mut guard = guard();
    let (newest, older) = (
        Parameters::for_capacity(300, 0.01).unwrap(),
        Parameters::for_capacity(50, 0.1).unwrap(),
    );
    let shards = [shard_with(newest, 77, &["s"], 2, 0), shard_with(older, 5, &["t"], 1, 0)];
    let shards = shards.map(|shard| shard.to_base64().unwrap());
    apply(&mut guard, None, &shards, at(START)).unwrap();
    guard.record(&ids("item", 0..100), at(START));
    let shard = Shard::from_base64(&guard.pending_shard().to_base64().unwrap()).unwrap();
    assert_eq!((shard.filter.parameters(), shard.filter.seed()), (newest, 77));
    assert!(guard.pending(usize::MAX).iter().all(|id| shard.filter.contains(id)));
    assert!(!shard.filter.contains("s"));
}

#[test]
fn the_pending_shard_takes_the_newest_first_and_stays_within_its_rate() {
    let mut guard = guard();
    guard.record(&ids("item", 0..3_000), at(START));
    let shard = guard.pending_shard();
    assert!((950..=1_000).contains(&shard.count), "{}", shard.count);
    assert!(shard.filter.false_positive_rate() < 0.001_1);
    let pending = guard.pending(usize::MAX);
    assert!(
        pending
            .iter()
            .rev()
            .take(shard.count as usize)
            .all(|id| shard.filter.contains(id))
    );
    let older = pending
        .iter()
        .take(1_900)
        .filter(|id| shard.filter.contains(id))
        .count();
    assert!(older < 20, "{older}");
}

// Rates.

/// Whether so many hits in so many trials are what a rate lets expect: within 5 standard deviations of the binomial
/// distribution and one hit, which an honest filter misses once in two million times.
fn agrees(hits: usize, trials: usize, rate: f64) -> bool {
    let expected = rate * trials as f64;
    (hits as f64 - expected).abs() <= 5.0 * (expected * (1.0 - rate)).sqrt() + 1.0
}

/// How many of these ids, none of which was ever recorded, are stopped.
fn wrongly_stopped(guard: &mut Guard, trials: usize) -> usize {
    let strangers = ids("never seen anywhere", 0..trials);
    trials - guard.filter(&strangers, at(START)).len()
}

#[test]
fn the_servers_reported_rate_is_the_measured_one() {
    let chains = [
        ChainOptions::default(),
        ChainOptions {
            false_positive_rate: 0.02,
            capacity: 300,
            ..ChainOptions::default()
        },
        ChainOptions {
            false_positive_rate: 0.2,
            shards: 3,
            seed: 9,
            ..ChainOptions::default()
        },
    ];
    for (options, count) in chains.into_iter().zip([5_000, 1_234, 2_500]) {
        let mut chain = ShardChain::new(options).unwrap();
        chain.record(&ids("seen", 0..count), START).unwrap();
        let mut guard = guard();
        apply(&mut guard, None, &chain.snapshot(START).unwrap().shards, at(START)).unwrap();
        let rate = guard.stats(at(START)).server_false_positive_rate;
        let bound = 1.0 - (1.0 - options.false_positive_rate).powi(options.shards as i32);
        assert!(rate <= 1.1 * bound, "{rate} {bound}");
        let stopped = wrongly_stopped(&mut guard, 200_000);
        assert!(agrees(stopped, 200_000, rate), "{stopped} of 200,000 at {rate}");
    }
}

#[test]
fn the_memorys_reported_rate_is_the_measured_one() {
    let mut guard = guard();
    assert_eq!(guard.stats(at(START)).memory_false_positive_rate, 0.0);
    guard.record(&ids("shown", 0..10_000), at(START));
    cover_all(&mut guard, at(START));
    let stats = guard.stats(at(START));
    let rate = stats.memory_false_positive_rate;
    assert!(
        rate > 0.000_4 && rate <= 0.000_7 && stats.server_false_positive_rate == 0.0,
        "{rate}"
    );
    let stopped = wrongly_stopped(&mut guard, 400_000);
    assert!(agrees(stopped, 400_000, rate), "{stopped} of 400,000 at {rate}");
}

#[test]
fn rates_leave_out_what_has_expired() {
    let mut guard = guard();
    let shards = [
        shard_of(&ids("a", 0..900), 2, START as u32 + 10),
        shard_of(&ids("b", 0..700), 1, START as u32 + 20),
    ];
    let rates = shards.each_ref().map(|shard| shard.filter.false_positive_rate());
    let texts = shards.map(|shard| shard.to_base64().unwrap());
    apply(&mut guard, None, &texts, at(START)).unwrap();
    let rate = |second: u64| guard.stats(at(START + second)).server_false_positive_rate;
    let both = 1.0 - (1.0 - rates[0]) * (1.0 - rates[1]);
    assert!((rate(0) - both).abs() < 1e-12 && (rate(10) - rates[1]).abs() < 1e-12 && rate(20) == 0.0);
    guard.record(&ids("shown", 0..500), at(START));
    assert!(guard.stats(at(START)).memory_false_positive_rate > 0.0);
    assert_eq!(guard.stats(at(START + 40 * DAY)).memory_false_positive_rate, 0.0);
    assert_eq!(guard.stats(at(START + 40 * DAY)).remembered, 0);
}

// Bounds.

#[test]
fn what_a_guard_holds_is_bounded() {
    let mut random = Random::seeded(3);
    let mut guard = guard();
    for part in 0..300 {
        guard.record(
            &ids(&format!("part {part}"), 0..500),
            at(START + random.below(40 * DAY)),
        );
        guard.take_unsaved();
    }
    let stats = guard.stats(at(START));
    assert!(
        stats.pending == 5_000 && stats.remembered <= 10_000 && stats.bytes < 1 << 20,
        "{stats:?}"
    );
    assert!(guard.checkpoint().len() < 512 * 1024);
}

#[test]
fn snapshots_that_come_and_go_leave_nothing_behind() {
    let mut random = Random::seeded(4);
    let mut guard = guard();
    let mut chain = ShardChain::new(ChainOptions::default()).unwrap();
    let mut most = 0;
    for round in 0..300 {
        chain
            .record(&ids(&format!("round {round}"), 0..random.index(400)), START)
            .unwrap();
        let shards = chain.snapshot(START).unwrap().shards;
        apply(
            &mut guard,
            None,
            &shards[..shards.len().min(random.index(6))],
            at(START),
        )
        .unwrap();
        most = most.max(guard.stats(at(START)).bytes);
    }
    // Five shards of 14,378 bits side by side take eight lanes, and what comes and what goes overlap.
    assert!(most < 4 * 8 * 14_378 / 8, "{most}");
    apply(&mut guard, None, &[] as &[&str], at(START)).unwrap();
    assert!(guard.stats(at(START)).bytes < 4_096);
}

#[test]
fn a_thousand_visits_leave_no_more_than_ten() {
    let mut checkpoint = guard().checkpoint();
    let mut sizes = Vec::new();
    for visit in 0..1_000 {
        let now = at(START + visit * 3_600);
        let mut guard = guard();
        guard.take_over(&[("earlier", &*checkpoint)], now);
        guard.record(&ids(&format!("visit {visit}"), 0..20), now);
        cover_all(&mut guard, now);
        checkpoint = guard.checkpoint();
        sizes.push((checkpoint.len(), guard.stats(now).bytes));
    }
    let largest = sizes.iter().max().unwrap();
    assert!(largest.0 < 128 * 1024 && largest.1 < 512 * 1024, "{largest:?}");
}
