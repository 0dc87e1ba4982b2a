//! The guard's decisions: which snapshots are applied, which ids are stopped and why, which are pending, and the rate of
//! false positives.

use crate::common::device::{Device, save};
use crate::common::random::Random;
use crate::common::{
    DAY, START, apply, at, at_ms, cover_all, guard, guard_of, has_all, ids, list_of, shard_of, shard_with,
    shards_in_use, split_by,
};
use seenguard::device::{DEFAULT_REMEMBER, Guard, MAX_REMEMBER};
use seenguard::wire::Reference;
use seenguard::{ChainOptions, Format, Parameters, Shard, ShardChain, Snapshot, Time};

fn text_of(ids: &[String], epoch: u32) -> String {
    shard_of(ids, epoch, 0).to_base64().unwrap()
}

// Which snapshots are applied.

#[test]
fn i3_shards_that_stay_in_use_have_the_same_results_whichever_others_are_added() {
    let mut guard = guard();
    let texts: Vec<String> = (0..10)
        .map(|epoch| text_of(&ids(&format!("shard {epoch}"), 0..200), epoch))
        .collect();
    let shards: Vec<Shard> = texts.iter().map(|text| Shard::from_base64(text).unwrap()).collect();
    let mut random = Random::seeded(1);
    let mut held: Vec<usize> = Vec::new();
    for version in 0..300 {
        let shipped: Vec<usize> = (0..random.index(7)).map(|_| random.index(texts.len())).collect();
        let mut element = |&shard: &usize| match held.contains(&shard) && !random.once_in(5) {
            true => Reference::of(Format::Native, texts[shard].as_bytes()).to_element(),
            false => texts[shard].clone(),
        };
        let elements: Vec<String> = shipped.iter().map(&mut element).collect();
        let applied = apply(&mut guard, Some(version), &elements, at(START)).unwrap();
        assert_eq!((applied.reason, shards_in_use(&guard)), (None, shipped.len()));

        let queried: Vec<String> = (0..texts.len())
            .map(|shard| format!("shard {shard}-{}", random.index(200)))
            .collect();
        let newest = |id: &str| shipped.iter().position(|&shard| shards[shard].filter.contains(id));
        assert_eq!(guard.split(&queried, at(START)), split_by(&queried, newest));
        held = shipped;
    }
}

#[test]
fn i3_sixty_four_shards_of_any_parameters_are_queried_together() {
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
        let queried: Vec<String> = (0..64)
            .flat_map(|epoch| ids(&format!("shard {epoch}"), 0..13))
            .collect();
        let expected: Vec<u32> = (0..queried.len() as u32)
            .filter(|&index| {
                !shards[start..]
                    .iter()
                    .any(|shard| shard.filter.contains(&queried[index as usize]))
            })
            .collect();
        assert_eq!(guard.filter(&queried, at(START)), expected);
    }
}

// Expiry.

fn apply_at_server_time(guard: &mut Guard, shards: &[String], server_seconds: u64, now: Time) {
    let snapshot = Snapshot {
        now_ms: Some(server_seconds * 1000),
        ..Snapshot::new(shards)
    };
    guard.apply(snapshot, now).unwrap();
}

#[test]
fn i2_with_the_servers_clock_expiry_does_not_depend_on_the_wall_clock() {
    let shards = [shard_of(&["a"], 1, START as u32 + 100).to_base64().unwrap()];
    for wall_ms in [
        0,
        START * 1000,
        (START - 40 * DAY) * 1000,
        (START + 40 * DAY) * 1000,
        1 << 52,
    ] {
        let mut guard = guard();
        let later = |ms: u64| at_ms(wall_ms + ms);
        apply_at_server_time(&mut guard, &shards, START, later(0));
        assert!(guard.explain("a", later(99_999)).is_some() && guard.explain("a", later(100_000)).is_none());
        // A clock that has jumped is used until the next snapshot with the server's time.
        let jumped = at_ms(wall_ms + 1_000_000);
        assert!(guard.explain("a", jumped).is_none());
        apply_at_server_time(&mut guard, &shards, START, jumped);
        assert!(guard.explain("a", jumped).is_some());
    }
}

// Which ids are stopped, and why.

#[test]
fn i1_an_id_is_stopped_for_exactly_the_window_by_this_devices_clock() {
    for window_days in [1.0, 0.5, 30.0, 0.000_1, 400.0] {
        let mut guard = guard_of(window_days, DEFAULT_REMEMBER);
        let recorded = START * 1000 + 999;
        guard.record(&["covered"], at_ms(recorded));
        cover_all(&mut guard, at_ms(recorded));
        guard.record(&["pending"], at_ms(recorded));
        let end = recorded + (window_days * 86_400_000.0) as u64;
        for now in [recorded, end - 1, 0, recorded / 2] {
            let fresh = guard.filter(&["pending", "covered"], at_ms(now));
            assert!(fresh.is_empty(), "{window_days} {now}");
        }
        let fresh = guard.filter(&["pending", "covered"], at_ms(end));
        assert_eq!(fresh, [0, 1], "{window_days}");
        // The clock went back: nothing was lost.
        let fresh = guard.filter(&["pending", "covered"], at_ms(recorded));
        assert!(fresh.is_empty());
    }
}

#[test]
fn i1_an_id_is_evicted_after_as_many_others_as_are_remembered_and_not_before() {
    for remember in [1, 2, 10, 100, 3_000] {
        let mut guard = guard_of(30.0, remember);
        guard.record(&["first"], at(START));
        guard.record(&ids("other", 1..remember), at(START));
        assert!(guard.explain("first", at(START)).is_some(), "{remember}");
        // A tenth more are remembered before any is evicted.
        guard.record(&ids("more", 0..1 + remember / 10), at(START));
        assert!(guard.explain("first", at(START)).is_none(), "{remember}");
        assert!(has_all(&guard, &ids("more", 0..1 + remember / 10), at(START)));
    }
}

#[test]
fn i1_eviction_is_by_the_counter_and_not_by_the_clock() {
    let mut guard = guard();
    // Shown with a clock that is months behind, and last: of 12,000 they are the newest.
    guard.record(&ids("early", 0..6_000), at(START));
    guard.record(&ids("late", 0..6_000), at(START - 100 * DAY));
    assert!(has_all(&guard, &ids("late", 0..6_000), at(START - 100 * DAY)));
    assert!(has_all(&guard, &ids("early", 2_000..6_000), at(START)));
    assert!(guard.stats(at(START - 100 * DAY)).remembered <= 11_000);
}

#[test]
fn options_out_of_range_are_refused() {
    let code = |guard: Result<Guard, seenguard::Error>| guard.map(drop).map_err(|error| error.code());
    for days in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 36_501.0] {
        assert_eq!(code(Guard::new(days, DEFAULT_REMEMBER)), Err("bad-option"), "{days}");
    }
    for remember in [0, MAX_REMEMBER + 1, usize::MAX] {
        assert_eq!(code(Guard::new(30.0, remember)), Err("bad-option"), "{remember}");
    }
    for days in [f64::MIN_POSITIVE, 0.000_01, 1.0, 36_500.0] {
        let mut guard = guard_of(days, 1);
        guard.record(&["a"], at(START));
        cover_all(&mut guard, at(START));
        assert!(guard.explain("a", at(START)).is_some(), "{days}");
    }
}

// Unseen ids and deletions.

#[test]
fn i7_at_most_the_latest_thousand_ids_are_unseen_on_a_device() {
    let mut guard = guard();
    guard.record(&ids("item", 0..1_500), at(START));
    guard.unsee(&ids("item", 0..1_500), at(START));
    let stay = guard.unseen(&ids("item", 0..1_500), at(START));
    assert!((1_000..=1_100).contains(&stay.len()), "{}", stay.len());
    assert!(
        ids("item", 0..1_500)
            .iter()
            .all(|id| guard.explain(id, at(START)).is_none())
    );
}

/// Applies a snapshot without shards whose `forgetBefore` is `seconds`.
fn apply_deletion(guard: &mut Guard, seconds: u64, server_ms: Option<u64>, now: Time) {
    let snapshot = Snapshot {
        now_ms: server_ms,
        forget_before: Some(seconds as u32),
        ..Snapshot::new(&[] as &[&str])
    };
    assert!(guard.apply(snapshot, now).unwrap().reason.is_none());
}

#[test]
fn i1_a_deletion_removes_earlier_recordings_wherever_they_are_loaded_from() {
    let mut guard = guard();
    guard.record(&["before", "again"], at(START));
    let mut before = Device::default();
    save(&mut guard, &mut before);
    let mut since = before.clone();
    guard.record(&["since, not knowing of it"], at(START + 11));
    let deleted = (START + 10) * 1000;
    apply_deletion(&mut guard, START + 10, Some(deleted + 5_000), at_ms(deleted + 5_000));
    guard.record(&["again"], at(START + 20));
    save(&mut guard, &mut since);
    // It loads the rows stored before the deletion.
    save(&mut guard, &mut before);
    for guard in [&guard, &since.next_visit()] {
        assert!(guard.explain("before", at(START + 21)).is_none());
        assert!(has_all(
            guard,
            &["again".into(), "since, not knowing of it".into()],
            at(START + 21)
        ));
    }
}

#[test]
fn i1_recordings_made_after_a_deletion_was_applied_stay_whatever_the_clock_does() {
    let mut guard = guard();
    apply_deletion(&mut guard, START, None, at(START + 5));
    guard.record(&["with a clock that went back"], at(START - 100 * DAY));
    let mut device = Device::default();
    save(&mut guard, &mut device);
    let mut later = device.next_visit();
    apply_deletion(&mut later, START, None, at(START + 6));
    for guard in [&mut guard, &mut later] {
        save(guard, &mut device);
        assert!(
            guard
                .explain("with a clock that went back", at(START - 99 * DAY))
                .is_some()
        );
    }
}

#[test]
fn a_deletion_is_compared_by_the_servers_clock_if_the_devices_is_behind_or_a_day_ahead() {
    // The device's clock less the server's, and whether a recording a second after the deletion must stay.
    for offset in [-400 * DAY as i64, -60, -1, 0, 2 * DAY as i64, 400 * DAY as i64] {
        let device = |server_seconds: u64| at(server_seconds.saturating_add_signed(offset));
        let mut guard = guard();
        guard.record(&["before"], device(START));
        guard.record(&["since"], device(START + 11));
        apply_deletion(&mut guard, START + 10, Some((START + 20) * 1000), device(START + 20));
        assert!(guard.explain("before", device(START + 20)).is_none(), "{offset}");
        assert!(guard.explain("since", device(START + 20)).is_some(), "{offset}");
    }
}

#[test]
fn i2_a_snapshot_from_before_a_deletion_is_not_applied() {
    let mut guard = guard();
    let snapshot = |version, forget_before| Snapshot {
        version: Some(version),
        forget_before,
        ..Snapshot::new(&[] as &[&str])
    };
    let mut apply = |version, forget_before| {
        guard
            .apply(snapshot(version, forget_before), at(START))
            .unwrap()
            .reason
            .is_none()
    };
    assert!(apply(900, None) && apply(5, Some(START as u32)));
    assert!(!apply(901, None) && !apply(999, Some(START as u32 - 1)) && !apply(4, Some(START as u32)));
    assert!(apply(5, Some(START as u32)) && apply(1, Some(START as u32 + 1)));
}

// Pending impressions.

#[test]
fn an_id_stays_pending_although_the_memory_claims_it() {
    let mut guard = guard();
    guard.record(&["a"], at(START));
    cover_all(&mut guard, at(START));
    assert_eq!(guard.record(&["a"], at(START)).unknown, 0);
    assert_eq!(guard.pending(9, at(START)), ["a"]);
}

#[test]
fn i7_beyond_5000_the_oldest_are_no_longer_pending_and_still_stopped() {
    let mut guard = guard();
    let recorded = guard.record(&ids("item", 0..7_000), at(START));
    let pending = guard.pending(usize::MAX, at(START));
    assert_eq!((recorded.unknown, recorded.lost_text), (7_000, 7_000 - pending.len()));
    assert!((4_500..=5_000).contains(&pending.len()), "{}", pending.len());
    assert_eq!(pending, ids("item", 7_000 - pending.len()..7_000));
    assert!(has_all(&guard, &ids("item", 0..7_000), at(START)));
}

#[test]
fn i7_beyond_256_kb_the_oldest_are_no_longer_pending_and_still_stopped() {
    let mut guard = guard();
    let long: Vec<String> = (0..100)
        .map(|number| format!("{number:03}{}", "x".repeat(9_997)))
        .collect();
    let recorded = guard.record(&long, at(START));
    assert_eq!(guard.pending(usize::MAX, at(START)), long[recorded.lost_text..]);
    let pending_bytes = (100 - recorded.lost_text) * 10_000;
    assert!(
        (256 * 1024 / 10 * 9 - 10_000..=256 * 1024).contains(&pending_bytes),
        "{pending_bytes}"
    );
    assert!(has_all(&guard, &long, at(START)));
    // An id that does not fit at all evicts no other.
    let huge = "y".repeat(256 * 1024 + 1);
    assert_eq!(guard.record(&[&huge], at(START)).lost_text, 1);
    assert_eq!(guard.pending(usize::MAX, at(START)).len(), 100 - recorded.lost_text);
    assert!(guard.explain(&huge, at(START)).is_some());
}

#[test]
fn i7_the_pending_list_has_as_many_of_the_newest_ids_as_fit_and_at_most_1000() {
    let mut guard = guard();
    guard.record(&ids("item", 0..3_000), at(START));
    let newest: Vec<String> = guard.pending(usize::MAX, at(START)).into_iter().rev().collect();
    let sent = |most| guard.pending_list(most, at(START));
    let empty = sent(0);
    assert!(empty.ends_with(".0."), "{empty}");
    for most in (0..4_096).chain([4_097, usize::MAX]) {
        let count = (most.saturating_sub(empty.len()) / 4).min(1_000);
        assert_eq!(sent(most), format!("{empty}{}", list_of(&newest[..count])), "{most}");
    }
}

#[test]
fn a_device_sends_its_name_its_counter_the_deletion_and_its_pending_ids() {
    let now = at(START);
    let sent = |guard: &Guard| guard.pending_list(4_000, now);
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
    guard.record(&["a", "b"], now);
    // Without a name: it is not stored.
    assert_eq!(sent(&guard), format!(".midc1z41.0.{}", list_of(&["b", "a"])));
    // A covered impression is not pending, and not in the list.
    cover_all(&mut guard, now);
    assert_eq!(sent(&guard), ".midc1z41.0.");
    // The history was deleted a day ago: 1,763,913,600 seconds.
    let forgets = Snapshot {
        forget_before: Some((START - DAY) as u32),
        ..Snapshot::new(&[] as &[&str])
    };
    guard.apply(forgets, now).unwrap();
    assert_eq!(sent(&guard), ".midc1z41.t66sg0.");
}

// False positive rates.

/// Whether a number of hits in these trials agrees with a rate: within 5 standard deviations of the binomial distribution
/// and one hit, which a correct filter exceeds once in two million times.
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
fn i3_the_servers_reported_rate_is_the_measured_one() {
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
        chain.record(&ids("seen", 0..count), at(START)).unwrap();
        let mut guard = guard();
        apply(
            &mut guard,
            None,
            &chain.snapshot(at(START), None).unwrap().shards,
            at(START),
        )
        .unwrap();
        let rate = guard.stats(at(START)).server_false_positive_rate;
        let bound = 1.0 - (1.0 - options.false_positive_rate).powi(options.shards as i32);
        assert!(rate <= 1.1 * bound, "{rate} {bound}");
        let stopped = wrongly_stopped(&mut guard, 200_000);
        assert!(agrees(stopped, 200_000, rate), "{stopped} of 200,000 at {rate}");
    }
}

#[test]
fn i3_the_table_stops_nothing_that_was_not_shown() {
    let mut guard = guard();
    guard.record(&ids("shown", 0..10_000), at(START));
    cover_all(&mut guard, at(START));
    assert_eq!(guard.stats(at(START)).server_false_positive_rate, 0.0);
    assert_eq!(wrongly_stopped(&mut guard, 400_000), 0);
}

#[test]
fn i3_rates_leave_out_what_has_expired() {
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
    assert_eq!(guard.stats(at(START)).remembered, 500);
    assert_eq!(guard.stats(at(START + 40 * DAY)).remembered, 0);
}
