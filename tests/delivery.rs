//! Delivery: each impression at least once, covered or not; again only when the stream runs and has lost it; never
//! twice at the same time.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::collections::HashMap;

use common::random::Random;
use common::{START, apply, at, ids, shard_of, shard_of_everything};
use seenguard::{Guard, Now};

const MANY: usize = 10_000;
const MINUTE: u64 = 60;

fn reporting() -> Guard {
    let mut guard = Guard::new(30.0).unwrap();
    guard.set_delivering(true);
    guard
}

fn begin(guard: &mut Guard, now: Now) -> (u32, Vec<String>) {
    let (batch, impressions) = guard.begin_batch(MANY, usize::MAX, now);
    (batch, impressions.into_iter().map(|(id, _)| id).collect())
}

/// Delivers all that is due. Returns the ids.
fn deliver(guard: &mut Guard, now: Now) -> Vec<String> {
    let (batch, ids) = begin(guard, now);
    guard.end_batch(batch, true, now);
    ids
}

/// Takes a snapshot that covers exactly these ids.
fn cover(guard: &mut Guard, ids: &[&str], now: Now) {
    apply(guard, None, &[shard_of(ids, 1, 0).to_base64().unwrap()], now).unwrap();
}

/// The next visit, which takes over all that was stored.
fn next_visit(guard: &Guard, now: Now) -> Guard {
    let mut next = reporting();
    next.take_over(&[("before", &*guard.checkpoint())], now);
    next
}

#[test]
fn impressions_go_out_oldest_first_with_their_times() {
    let mut guard = reporting();
    guard.record(&["a"], Now::at(5_001));
    guard.record(&["b", "c"], Now::at(5_002));
    let (batch, impressions) = guard.begin_batch(MANY, usize::MAX, Now::at(6_000));
    assert!(batch > 0);
    let expected = [("a", 5_001), ("b", 5_002), ("c", 5_002)].map(|(id, at)| (id.to_string(), at));
    assert_eq!(impressions, expected);
    assert_eq!(guard.undelivered(), 0);
}

#[test]
fn a_batch_is_as_large_as_it_may_be() {
    let mut guard = reporting();
    guard.record(&ids("item", 0..100), at(START));
    assert_eq!(guard.begin_batch(30, usize::MAX, at(START)).1.len(), 30);
    let (_, by_size) = guard.begin_batch(MANY, 1_000, at(START));
    let bytes: usize = by_size
        .iter()
        .map(|(id, at)| format!(r#"{{"id":"{id}","at":{at}}},"#).len())
        .sum();
    assert!((900..=1_000).contains(&bytes), "{bytes}");
    // One that is too large alone goes alone.
    assert_eq!(guard.begin_batch(MANY, 1, at(START)).1.len(), 1);
    assert_eq!(guard.begin_batch(0, 1, at(START)), (0, vec![]));
}

#[test]
fn what_is_under_way_is_in_no_other_batch_and_what_failed_is_in_the_next() {
    let mut guard = reporting();
    guard.record(&["a", "b"], at(START));
    let (first, ids) = begin(&mut guard, at(START));
    assert_eq!((ids.len(), begin(&mut guard, at(START)).1.len()), (2, 0));
    guard.record(&["c"], at(START));
    let (second, ids) = begin(&mut guard, at(START));
    assert_eq!(ids, ["c"]);
    guard.end_batch(first, false, at(START));
    assert_eq!(guard.undelivered(), 2);
    guard.end_batch(second, true, at(START));
    assert_eq!(deliver(&mut guard, at(START)), ["a", "b"]);
    assert_eq!(guard.undelivered(), 0);
}

#[test]
fn what_is_covered_before_it_was_delivered_is_delivered_all_the_same() {
    let mut guard = reporting();
    guard.record(&["a"], at(START));
    apply(&mut guard, None, &[shard_of_everything()], at(START)).unwrap();
    guard.record(&["covered when recorded"], at(START));
    assert_eq!(guard.pending(9), [] as [&str; 0]);
    let mut next = next_visit(&guard, at(START));
    for guard in [&mut guard, &mut next] {
        assert_eq!(deliver(guard, at(START)), ["a", "covered when recorded"]);
        assert_eq!(begin(guard, at(START + 86_400)).1, [] as [&str; 0]);
    }
}

#[test]
fn the_next_visit_delivers_what_this_one_did_not() {
    let mut guard = reporting();
    guard.record(&["delivered", "also"], at(START));
    deliver(&mut guard, at(START));
    guard.record(&["under way", "left"], at(START + 1));
    begin(&mut guard, at(START + 1));
    let mut written = Vec::new();
    written.extend(guard.take_unsaved());
    for segments in [written, vec![guard.checkpoint()]] {
        let segments: Vec<(&str, &str)> = segments.iter().map(|text| ("before", text.as_str())).collect();
        let mut next = reporting();
        next.take_over(&segments, at(START + 2));
        assert_eq!(deliver(&mut next, at(START + 2)), ["under way", "left"]);
    }
}

#[test]
fn what_another_tab_recorded_is_delivered_there() {
    let (mut here, mut there) = (reporting(), reporting());
    there.record(&["there"], at(START));
    here.merge(&there.take_unsaved().unwrap(), at(START));
    assert_eq!((here.undelivered(), begin(&mut here, at(START)).1.len()), (0, 0));
    assert_eq!(deliver(&mut there, at(START)), ["there"]);
}

#[test]
fn a_stream_that_is_merely_late_causes_no_second_delivery() {
    let mut guard = reporting();
    for hour in 0..48 {
        let now = at(START + hour * 3_600);
        guard.record(&ids(&format!("hour {hour}"), 0..20), now);
        assert_eq!(deliver(&mut guard, now).len(), 20);
        cover(&mut guard, &["nothing of ours"], now);
    }
    // It catches up, in order.
    for hour in 0..48 {
        let now = at(START + (48 + hour) * 3_600);
        let brought: Vec<String> = (0..=hour)
            .flat_map(|hour| ids(&format!("hour {hour}"), 0..20))
            .collect();
        cover(&mut guard, &brought.iter().map(String::as_str).collect::<Vec<_>>(), now);
        assert_eq!(begin(&mut guard, now).1, [] as [&str; 0]);
    }
    assert_eq!(guard.pending(9), [] as [&str; 0]);
}

#[test]
fn what_the_stream_lost_is_delivered_three_more_times_at_growing_intervals() {
    let mut guard = reporting();
    guard.record(&["lost"], at(START));
    deliver(&mut guard, at(START));
    guard.record(&["later"], at(START + 1));
    deliver(&mut guard, at(START + 1));
    cover(&mut guard, &["later"], at(START + 2));
    let mut delivered = vec![START];
    for second in (START + 2..START + 600 * MINUTE).step_by(10) {
        if deliver(&mut guard, at(second)) == ["lost"] {
            delivered.push(second);
            // Each time the stream brings something later, and loses this again.
            let id = format!("after {second}");
            guard.record(&[&id], at(second + 1));
            deliver(&mut guard, at(second + 1));
            cover(&mut guard, &["later", &id], at(second + 2));
        }
    }
    let waits: Vec<u64> = delivered.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), 3, "{waits:?}");
    for (wait, shortest) in waits.iter().zip([5 * MINUTE, 10 * MINUTE, 20 * MINUTE]) {
        assert!((shortest..=shortest * 3 / 2 + 10).contains(wait), "{waits:?}");
    }
    assert_eq!(guard.pending(9), ["lost"]);
}

#[test]
fn one_that_is_covered_in_the_end_is_not_delivered_again() {
    let mut guard = reporting();
    guard.record(&["slow"], at(START));
    deliver(&mut guard, at(START));
    guard.record(&["later"], at(START + 1));
    deliver(&mut guard, at(START + 1));
    cover(&mut guard, &["later"], at(START + 2));
    cover(&mut guard, &["later", "slow"], at(START + 3));
    assert_eq!(deliver(&mut guard, at(START + 3_600)), [] as [&str; 0]);
}

#[test]
fn what_a_report_found_pending_is_delivered_on_a_later_visit_though_it_is_covered_by_then() {
    let mut guard = Guard::new(30.0).unwrap();
    guard.record(&["a", "b"], at(START));
    let before = guard.take_unsaved().unwrap();
    guard.set_delivering(true);
    let written = [before, guard.take_unsaved().unwrap()];
    // The page dies, and the next one is no reporting one yet.
    let segments = |texts: &[String]| texts.iter().map(|text| ("before", text.clone())).collect::<Vec<_>>();
    for stored in [segments(&written), segments(&[guard.checkpoint()])] {
        for covers_first in [false, true] {
            let stored: Vec<(&str, &str)> = stored.iter().map(|(writer, text)| (*writer, text.as_str())).collect();
            let mut next = Guard::new(30.0).unwrap();
            if covers_first {
                cover(&mut next, &["a"], at(START + 1));
            }
            next.take_over(&stored, at(START + 1));
            cover(&mut next, &["a"], at(START + 1));
            assert_eq!(next.pending(9), ["b"]);
            next.set_delivering(true);
            assert_eq!(deliver(&mut next, at(START + 2)), ["a", "b"]);
        }
    }
}

#[test]
fn a_report_that_begins_again_has_nothing_to_write() {
    let mut guard = reporting();
    guard.record(&["a"], at(START));
    assert!(guard.take_unsaved().is_some());
    guard.set_delivering(false);
    guard.set_delivering(true);
    assert_eq!(guard.take_unsaved(), None);
}

#[test]
fn what_is_taken_over_while_a_report_runs_is_delivered_though_it_is_covered_by_then() {
    let mut before = Guard::new(30.0).unwrap();
    before.record(&["a"], at(START));
    let mut guard = reporting();
    guard.take_over(&[("before", &*before.checkpoint())], at(START + 1));
    cover(&mut guard, &["a"], at(START + 1));
    assert_eq!(guard.pending(9), [] as [&str; 0]);
    assert_eq!(deliver(&mut next_visit(&guard, at(START + 2)), at(START + 2)), ["a"]);
    assert_eq!(deliver(&mut guard, at(START + 2)), ["a"]);
}

/// What a page delivers that takes over what one page promised and what another one stored, covers all of it and only
/// then reports.
fn deliver_after_both(promise: &str, there: &Guard) -> Vec<String> {
    let mut next = Guard::new(30.0).unwrap();
    next.take_over(&[("here", promise), ("there", &*there.checkpoint())], at(START + 3));
    cover(&mut next, &["a"], at(START + 3));
    next.set_delivering(true);
    deliver(&mut next, at(START + 4))
}

#[test]
fn a_promise_holds_for_the_impression_that_took_the_promised_ones_place() {
    let mut here = Guard::new(30.0).unwrap();
    here.record(&["a"], at(START));
    let recorded = here.take_unsaved().unwrap();
    // Another page takes it over and records it again; only then does this one begin to report.
    let mut there = Guard::new(30.0).unwrap();
    there.take_over(&[("here", &*recorded)], at(START + 1));
    there.record(&["a"], at(START + 2));
    here.set_delivering(true);
    let promise = here.take_unsaved().unwrap();
    assert_eq!(deliver_after_both(&promise, &there), ["a"]);
}

#[test]
fn a_promise_holds_though_another_page_took_the_impression_over_and_dropped_it_as_covered() {
    let mut here = Guard::new(30.0).unwrap();
    here.record(&["a"], at(START));
    let mut there = Guard::new(30.0).unwrap();
    there.take_over(&[("here", &*here.take_unsaved().unwrap())], at(START + 1));
    cover(&mut there, &["a"], at(START + 1));
    here.set_delivering(true);
    let promise = here.take_unsaved().unwrap();
    // The page that was told nothing of it neither delivers it nor holds it pending again.
    cover(&mut there, &[], at(START + 2));
    there.merge(&promise, at(START + 2));
    assert_eq!((there.undelivered(), there.pending(9).len()), (0, 0));
    assert_eq!(deliver_after_both(&promise, &there), ["a"]);
}

#[test]
fn what_is_to_be_delivered_stays_so_when_a_page_without_a_report_records_it_again() {
    let mut guard = reporting();
    guard.record(&["a", "b"], at(START));
    guard.set_delivering(false);
    guard.record(&["a"], at(START + 1));
    cover(&mut guard, &["a", "b"], at(START + 2));
    guard.record(&["b"], at(START + 3));
    let mut next = next_visit(&guard, at(START + 4));
    for guard in [&mut guard, &mut next] {
        assert_eq!(deliver(guard, at(START + 5)), ["a", "b"]);
    }
}

#[test]
fn a_guard_that_does_not_report_keeps_nothing_for_delivery() {
    let mut guard = Guard::new(30.0).unwrap();
    guard.record(&["a", "b"], at(START));
    cover(&mut guard, &["a"], at(START));
    assert_eq!(guard.undelivered(), 1);
    guard.set_delivering(true);
    assert_eq!(deliver(&mut guard, at(START)), ["b"]);
}

#[test]
fn ends_of_batches_that_are_not_under_way_change_nothing() {
    let mut guard = reporting();
    guard.record(&["a"], at(START));
    for (batch, arrived) in [(0, true), (1, true), (7, false), (u32::MAX, true)] {
        guard.end_batch(batch, arrived, at(START));
        assert_eq!(guard.undelivered(), 1);
    }
    let (batch, _) = begin(&mut guard, at(START));
    guard.end_batch(batch, true, at(START));
    guard.end_batch(batch, false, at(START));
    assert_eq!((guard.undelivered(), begin(&mut guard, at(START)).1.len()), (0, 0));
}

#[test]
fn a_batch_from_before_a_clear_says_nothing_of_one_that_came_after_it() {
    for old_one_arrived in [true, false] {
        let mut guard = reporting();
        guard.record(&["before"], at(START));
        let (old, _) = begin(&mut guard, at(START));
        guard.forget();
        guard.record(&["after"], at(START + 1));
        let (new, ids) = begin(&mut guard, at(START + 1));
        assert_eq!(ids, ["after"]);
        guard.end_batch(old, old_one_arrived, at(START + 2));
        assert_eq!(begin(&mut guard, at(START + 2)).1, [] as [&str; 0]);
        guard.end_batch(new, false, at(START + 3));
        assert_eq!(deliver(&mut guard, at(START + 3)), ["after"]);
    }
}

#[test]
fn delivered_ones_make_room_first() {
    let mut guard = reporting();
    guard.record(&ids("delivered", 0..3_000), at(START));
    deliver(&mut guard, at(START));
    guard.record(&ids("undelivered", 0..4_000), at(START));
    assert_eq!(guard.undelivered(), 4_000);
    let pending = guard.pending(usize::MAX);
    assert_eq!((pending.len(), &*pending[0]), (5_000, "delivered-2000"));
}

#[test]
fn over_any_schedule_each_impression_is_delivered_at_least_once_and_no_two_batches_share_one() {
    for seed in 0..40 {
        let mut random = Random::seeded(seed);
        let mut guard = reporting();
        let (mut recorded, mut delivered) = (0, HashMap::<String, usize>::new());
        let mut under_way: Vec<(u32, Vec<String>)> = Vec::new();
        let mut now = START;
        for _ in 0..300 {
            now += random.below(30);
            match random.below(8) {
                0..=2 => {
                    let count = random.index(20);
                    guard.record(&ids("item", recorded..recorded + count), at(now));
                    recorded += count;
                }
                3 | 4 => {
                    let (batch, ids) = guard.begin_batch(1 + random.index(30), 1 + random.index(2_000), at(now));
                    let ids: Vec<String> = ids.into_iter().map(|(id, _)| id).collect();
                    assert!(
                        !under_way
                            .iter()
                            .any(|(_, others)| others.iter().any(|other| ids.contains(other)))
                    );
                    assert_eq!(batch == 0, ids.is_empty());
                    under_way.extend((batch != 0).then_some((batch, ids)));
                }
                5 if !under_way.is_empty() => {
                    let (batch, ids) = under_way.swap_remove(random.index(under_way.len()));
                    let arrived = random.once_in(2);
                    guard.end_batch(batch, arrived, at(now));
                    for id in ids.into_iter().filter(|_| arrived) {
                        *delivered.entry(id).or_default() += 1;
                    }
                }
                6 => {
                    let covered = ids("item", 0..random.index(recorded + 1));
                    cover(
                        &mut guard,
                        &covered.iter().map(String::as_str).collect::<Vec<_>>(),
                        at(now),
                    );
                }
                7 if random.once_in(4) => {
                    // The page dies; whatever was under way is not known to have arrived.
                    under_way.clear();
                    guard = next_visit(&guard, at(now));
                }
                _ => {}
            }
        }
        for (batch, _) in under_way {
            guard.end_batch(batch, false, at(now));
        }
        for id in deliver(&mut guard, at(now)) {
            *delivered.entry(id).or_default() += 1;
        }
        assert!(
            ids("item", 0..recorded).iter().all(|id| delivered.contains_key(id)),
            "seed {seed}"
        );
        // The schedule takes a quarter of an hour or two: what is delivered again waits longer than most of it.
        assert!(delivered.values().all(|&times| times <= 3), "seed {seed}");
    }
}
