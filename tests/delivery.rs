//! Delivery: each impression at least once, covered or not; again only when the stream runs and has lost it; never
//! twice at the same time.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::collections::VecDeque;

use common::{START, apply, at, at_ms, guard, ids, milliseconds, seconds, shard_of, shard_of_everything, unsaved};
use seenguard::{ChainOptions, DEFAULT_REMEMBER, DeliveryBatch, Guard, Impression, Now, ShardChain};

const MANY: usize = 10_000;
const MINUTE: u64 = 60;

fn reporting() -> Guard {
    let mut guard = guard();
    guard.start_reporting();
    guard
}

fn begin(guard: &mut Guard, now: Now) -> (u32, Vec<String>) {
    let DeliveryBatch {
        number, impressions, ..
    } = guard.begin_batch(MANY, usize::MAX, now);
    (
        number,
        impressions.into_iter().map(|impression| impression.id).collect(),
    )
}

/// Delivers all that is due. Returns the ids.
fn deliver(guard: &mut Guard, now: Now) -> Vec<String> {
    let (batch, ids) = begin(guard, now);
    guard.end_batch(batch, true, now);
    ids
}

/// Takes a snapshot that covers exactly these ids.
fn cover<S: AsRef<[u8]>>(guard: &mut Guard, ids: &[S], now: Now) {
    apply(guard, None, &[shard_of(ids, 1, 0).to_base64().unwrap()], now).unwrap();
}

/// The next visit, which loads these segments and delivers.
fn next_visit(segments: &[String]) -> Guard {
    let mut next = common::next_visit(segments);
    next.start_reporting();
    next
}

#[test]
fn impressions_go_out_oldest_first_with_their_times() {
    let mut guard = reporting();
    guard.record(&["a"], at_ms(5_001)).unwrap();
    guard.record(&["b", "c"], at_ms(5_002)).unwrap();
    let batch = guard.begin_batch(MANY, usize::MAX, at_ms(6_000));
    assert!(batch.number > 0);
    let expected = [("a", 5_001), ("b", 5_002), ("c", 5_002)].map(|(id, at)| Impression {
        id: id.into(),
        at: milliseconds(at),
    });
    assert_eq!(batch.impressions, expected);
    assert_eq!(guard.undelivered(), 0);
}

#[test]
fn a_batch_is_as_large_as_it_may_be() {
    let mut guard = reporting();
    guard.record(&ids("item", 0..100), at(START)).unwrap();
    assert_eq!(guard.begin_batch(30, usize::MAX, at(START)).impressions.len(), 30);
    let by_size = guard.begin_batch(MANY, 1_000, at(START)).impressions;
    let bytes: usize = by_size
        .iter()
        .map(|Impression { id, at }| format!(r#"{{"id":"{id}","at":{}}},"#, at.unix_ms()).len())
        .sum();
    assert!((900..=1_000).contains(&bytes), "{bytes}");
    // One that is too large alone goes alone.
    assert_eq!(guard.begin_batch(MANY, 1, at(START)).impressions.len(), 1);
    assert_eq!(guard.begin_batch(0, 1, at(START)).number, 0);
}

#[test]
fn what_is_under_way_is_in_no_other_batch_and_what_failed_is_in_the_next() {
    let mut guard = reporting();
    guard.record(&["a", "b"], at(START)).unwrap();
    let (first, ids) = begin(&mut guard, at(START));
    assert_eq!((ids.len(), begin(&mut guard, at(START)).1.len()), (2, 0));
    guard.record(&["c"], at(START)).unwrap();
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
    guard.record(&["a"], at(START)).unwrap();
    apply(&mut guard, None, &[shard_of_everything()], at(START)).unwrap();
    guard.record(&["covered when recorded"], at(START)).unwrap();
    assert_eq!(guard.pending(9, at(START)), [] as [&str; 0]);
    let mut next = next_visit(&[unsaved(&mut guard)]);
    for guard in [&mut guard, &mut next] {
        assert_eq!(deliver(guard, at(START)), ["a", "covered when recorded"]);
        assert_eq!(begin(guard, at(START + 86_400)).1, [] as [&str; 0]);
    }
}

#[test]
fn the_next_visit_delivers_what_this_one_did_not() {
    let mut guard = reporting();
    guard.record(&["delivered", "also"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    guard.record(&["under way", "left"], at(START + 1)).unwrap();
    begin(&mut guard, at(START + 1));
    let written = unsaved(&mut guard);
    let compacted = guard.compact(&[&written], at(START)).unwrap().text;
    for segment in [written, compacted] {
        assert_eq!(
            deliver(&mut next_visit(&[segment]), at(START + 2)),
            ["under way", "left"]
        );
    }
}

#[test]
fn what_another_tab_recorded_is_delivered_there() {
    let (mut here, mut there) = (reporting(), reporting());
    there.record(&["there"], at(START)).unwrap();
    here.merge(&[unsaved(&mut there)], at(START)).unwrap();
    assert_eq!((here.undelivered(), begin(&mut here, at(START)).1.len()), (0, 0));
    assert_eq!(deliver(&mut there, at(START)), ["there"]);
}

#[test]
fn what_was_delivered_before_the_storage_had_loaded_is_no_sign_for_what_went_with_it() {
    let mut writer = reporting();
    writer.record(&["stored"], at(START)).unwrap();
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
    guard.start_reporting();
    guard.record(&["a", "b", "c"], at(START + 1)).unwrap();
    // Its table is read, and its storage has more to read.
    guard.load(&[unsaved(&mut writer)], at(START + 1)).unwrap();
    assert_eq!(deliver(&mut guard, at(START + 1)), ["stored", "a", "b", "c"]);
    guard.finish_loading();
    cover(&mut guard, &["a", "b", "c"], at(START + 2));
    assert_eq!(deliver(&mut guard, at(START + 60 * MINUTE)), [""; 0]);

    // Three that were delivered later are.
    guard.record(&["d", "e", "f"], at(START + 60 * MINUTE)).unwrap();
    assert_eq!(deliver(&mut guard, at(START + 60 * MINUTE)), ["d", "e", "f"]);
    cover(&mut guard, &["a", "b", "c", "d", "e", "f"], at(START + 61 * MINUTE));
    assert_eq!(deliver(&mut guard, at(START + 120 * MINUTE)), ["stored"]);
}

#[test]
fn what_was_merged_and_then_loaded_is_delivered_here() {
    let mut earlier = guard();
    earlier.record(&["a"], at(START)).unwrap();
    let text = unsaved(&mut earlier);
    let mut here = reporting();
    here.merge(&[&text], at(START)).unwrap();
    assert_eq!(here.undelivered(), 0);
    here.load(&[&text], at(START)).unwrap();
    assert_eq!((here.undelivered(), here.pending(9, at(START))), (1, vec!["a".into()]));
    assert_eq!(deliver(&mut here, at(START + 1)), ["a"]);
}

#[test]
fn what_another_tab_has_delivered_since_is_not_delivered_here() {
    let mut first = reporting();
    first.record(&["a"], at(START)).unwrap();
    let text = unsaved(&mut first);
    let mut second = next_visit(&[text]);
    deliver(&mut first, at(START + 1));
    assert_eq!(second.undelivered(), 1);
    second.merge(&[unsaved(&mut first)], at(START)).unwrap();
    assert_eq!(
        (second.undelivered(), deliver(&mut second, at(START + 2)).len()),
        (0, 0)
    );
    assert_eq!(second.pending(9, at(START)), ["a"]);
}

#[test]
fn a_stream_that_is_merely_late_causes_no_second_delivery() {
    let mut guard = reporting();
    for hour in 0..48 {
        let now = at(START + hour * 3_600);
        guard.record(&ids(&format!("hour {hour}"), 0..20), now).unwrap();
        assert_eq!(deliver(&mut guard, now).len(), 20);
        cover(&mut guard, &["nothing of ours"], now);
    }
    // It catches up, in order.
    for hour in 0..48 {
        let now = at(START + (48 + hour) * 3_600);
        let brought: Vec<String> = (0..=hour)
            .flat_map(|hour| ids(&format!("hour {hour}"), 0..20))
            .collect();
        cover(&mut guard, &brought, now);
        assert_eq!(begin(&mut guard, now).1, [] as [&str; 0]);
    }
    assert_eq!(guard.pending(9, at(START)), [] as [&str; 0]);
}

/// Three more are delivered, and covered a second later; returns what covers all so far.
fn sign(guard: &mut Guard, covered: &mut Vec<String>, now: u64) {
    for number in 0..3 {
        let id = format!("after {now}, {number}");
        guard.record(&[&id], at(now)).unwrap();
        deliver(guard, at(now));
        covered.push(id);
    }
    cover(guard, covered, at(now + 1));
}

#[test]
fn what_the_stream_lost_is_delivered_three_more_times_at_growing_intervals() {
    let mut guard = reporting();
    guard.record(&["lost"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    let (mut delivered, mut covered) = (vec![START], Vec::new());
    sign(&mut guard, &mut covered, START + 1);
    for second in (START + 2..START + 600 * MINUTE).step_by(10) {
        if deliver(&mut guard, at(second)) == ["lost"] {
            delivered.push(second);
        }
    }
    let waits: Vec<u64> = delivered.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits.len(), 3, "{waits:?}");
    for (wait, shortest) in waits.iter().zip([5 * MINUTE, 10 * MINUTE, 20 * MINUTE]) {
        assert!((shortest..=shortest * 5 / 4 + 20).contains(wait), "{waits:?}");
    }
    assert_eq!(guard.pending(9, at(START)), ["lost"]);
}

#[test]
fn two_signs_of_the_stream_or_three_that_are_young_cause_no_second_delivery() {
    let mut guard = reporting();
    guard.record(&["slow"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    for number in 0..2 {
        guard.record(&ids("sign", number..number + 1), at(START + 1)).unwrap();
        deliver(&mut guard, at(START + 1));
    }
    cover(&mut guard, &ids("sign", 0..2), at(START + 2));
    assert_eq!(deliver(&mut guard, at(START + 600)), [] as [&str; 0]);
    guard.record(&["third"], at(START + 600)).unwrap();
    deliver(&mut guard, at(START + 600));
    cover(&mut guard, &["third"], at(START + 700));
    assert_eq!(deliver(&mut guard, at(START + 700 + 5 * MINUTE - 1)), [] as [&str; 0]);
    assert_eq!(deliver(&mut guard, at(START + 700 + 5 * MINUTE)), ["slow"]);
}

#[test]
fn what_was_covered_before_its_delivery_is_no_sign_of_the_stream() {
    let mut guard = reporting();
    guard.record(&["slow"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    guard.record(&ids("false positive", 0..5), at(START + 1)).unwrap();
    cover(&mut guard, &ids("false positive", 0..5), at(START + 1));
    assert_eq!(deliver(&mut guard, at(START + 2)).len(), 5);
    cover(&mut guard, &ids("false positive", 0..5), at(START + 3));
    assert_eq!(deliver(&mut guard, at(START + 3_600)), [] as [&str; 0]);
}

#[test]
fn an_impression_recorded_anew_is_delivered_anew_and_inherits_nothing() {
    let mut guard = reporting();
    guard.record(&["a"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    guard.record(&["a"], at(START + 100)).unwrap();
    let DeliveryBatch {
        number, impressions, ..
    } = guard.begin_batch(MANY, usize::MAX, at(START + 100));
    assert_eq!((impressions[0].at, impressions.len()), (seconds(START + 100), 1));
    // While it is under way it is shown again: that is another one.
    guard.record(&["a"], at(START + 200)).unwrap();
    guard.end_batch(number, true, at(START + 200));
    assert_eq!(deliver(&mut guard, at(START + 200)), ["a"]);
}

/// A feed of one impression every 30 seconds over ten hours, delivered one by one, with a stream of this lag and shards
/// of this rate of false positives. Returns how many impressions there were, and how many deliveries.
fn traffic(lag_seconds: u64, false_positive_rate: f64) -> (usize, usize) {
    let mut guard = reporting();
    let options = ChainOptions {
        capacity: 100,
        shards: 20,
        false_positive_rate,
        ..ChainOptions::default()
    };
    let mut chain = ShardChain::new(options).unwrap();
    let mut stream: VecDeque<(u64, String)> = VecDeque::new();
    let mut deliveries = 0;
    for number in 0..1_200 {
        let now = START + 30 * number as u64;
        while stream.front().is_some_and(|&(arrives, _)| arrives <= now) {
            let (_, id) = stream.pop_front().unwrap();
            chain.record(&[id], seconds(now)).unwrap();
        }
        apply(
            &mut guard,
            None,
            &chain.snapshot(seconds(now), None).unwrap().shards,
            at(now),
        )
        .unwrap();
        guard.record(&ids("item", number..number + 1), at(now)).unwrap();
        for id in deliver(&mut guard, at(now)) {
            deliveries += 1;
            stream.push_back((now + lag_seconds, id));
        }
    }
    (1_200, deliveries)
}

#[test]
fn a_healthy_stream_carries_hardly_more_than_each_impression_once() {
    for (lag_seconds, false_positive_rate) in [(60, 0.001), (1_800, 0.001), (1_800, 0.01), (7_200, 0.001)] {
        let (impressions, deliveries) = traffic(lag_seconds, false_positive_rate);
        assert!(
            deliveries <= impressions + impressions / 20,
            "{deliveries} deliveries for {impressions} impressions at a lag of {lag_seconds} s and ε = {false_positive_rate}"
        );
    }
}

#[test]
fn one_that_is_covered_in_the_end_is_not_delivered_again() {
    let mut guard = reporting();
    guard.record(&["slow"], at(START)).unwrap();
    deliver(&mut guard, at(START));
    guard.record(&["later"], at(START + 1)).unwrap();
    deliver(&mut guard, at(START + 1));
    cover(&mut guard, &["later"], at(START + 2));
    cover(&mut guard, &["later", "slow"], at(START + 3));
    assert_eq!(deliver(&mut guard, at(START + 3_600)), [] as [&str; 0]);
}

#[test]
fn what_was_pending_when_delivery_began_is_delivered_on_a_later_visit_though_it_is_covered_by_then() {
    let mut guard = guard();
    guard.record(&["a", "b"], at(START)).unwrap();
    let before = unsaved(&mut guard);
    guard.start_reporting();
    let written = [before, unsaved(&mut guard)];
    // The page dies, and the next one does not deliver yet.
    let compacted = [guard.compact(&written, at(START)).unwrap().text];
    for stored in [&written[..], &compacted[..]] {
        let mut next = common::next_visit(stored);
        cover(&mut next, &["a"], at(START + 1));
        assert_eq!(next.pending(9, at(START)), ["b"]);
        assert_eq!(deliver(&mut next, at(START + 2)), ["a", "b"]);
    }
}

#[test]
fn that_impressions_are_delivered_is_written_once() {
    let mut guard = reporting();
    assert!(guard.take_unsaved(false).is_some());
    guard.start_reporting();
    assert_eq!(guard.take_unsaved(false), None);
}

#[test]
fn what_a_page_records_that_knows_of_deliveries_and_makes_none_is_delivered_by_the_next() {
    let mut first = reporting();
    let mut second = common::next_visit(&[unsaved(&mut first)]);
    second.record(&["a"], at(START)).unwrap();
    cover(&mut second, &["a"], at(START + 1));
    assert_eq!(deliver(&mut next_visit(&[unsaved(&mut second)]), at(START + 2)), ["a"]);
}

#[test]
fn a_guard_that_does_not_report_keeps_nothing_for_delivery() {
    let mut guard = guard();
    guard.record(&["a", "b"], at(START)).unwrap();
    cover(&mut guard, &["a"], at(START));
    assert_eq!(guard.undelivered(), 1);
    guard.start_reporting();
    assert_eq!(deliver(&mut guard, at(START)), ["b"]);
}

#[test]
fn ends_of_batches_that_are_not_under_way_change_nothing() {
    let mut guard = reporting();
    guard.record(&["a"], at(START)).unwrap();
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
        guard.record(&["before"], at(START)).unwrap();
        let (old, _) = begin(&mut guard, at(START));
        guard.clear(at(START));
        guard.record(&["after"], at(START + 1)).unwrap();
        let (new, ids) = begin(&mut guard, at(START + 1));
        assert_eq!(ids, ["after"]);
        guard.end_batch(old, old_one_arrived, at(START + 2));
        assert_eq!(begin(&mut guard, at(START + 2)).1, [] as [&str; 0]);
        guard.end_batch(new, false, at(START + 3));
        assert_eq!(deliver(&mut guard, at(START + 3)), ["after"]);
    }
}
