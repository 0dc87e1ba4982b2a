//! Delivery: each impression once, covered or not, and again if it is pending a day later; never twice at the same
//! time.

use crate::common::device::{self, Device, save};
use crate::common::{START, apply, at, at_ms, guard, ids, shard_of};
use seenguard::device::{DeliveryBatch, Guard, Scope, Source};
use seenguard::{Impression, Time};

const MANY: usize = 10_000;
const MINUTE: u64 = 60;

fn reporting() -> Guard {
    let mut guard = guard();
    guard.start_reporting();
    guard
}

fn begin(guard: &mut Guard, now: Time) -> (u32, Vec<String>) {
    let DeliveryBatch {
        number, impressions, ..
    } = guard.begin_batch(MANY, usize::MAX, Scope::All, now);
    (
        number,
        impressions.into_iter().map(|impression| impression.id).collect(),
    )
}

fn texts(impressions: &[Impression]) -> Vec<&str> {
    impressions.iter().map(|impression| impression.id.as_str()).collect()
}

/// Delivers all that is due. Returns the ids.
fn deliver(guard: &mut Guard, now: Time) -> Vec<String> {
    let (batch, ids) = begin(guard, now);
    guard.end_batch(batch, true, now);
    ids
}

/// Applies a snapshot that covers exactly these ids.
fn cover<S: AsRef<[u8]>>(guard: &mut Guard, ids: &[S], now: Time) {
    apply(guard, None, &[shard_of(ids, 1, 0).to_base64().unwrap()], now).unwrap();
}

/// The next visit, which delivers.
fn next_visit(guard: &mut Guard) -> Guard {
    let mut next = device::next_visit(guard);
    next.start_reporting();
    next
}

#[test]
fn impressions_are_delivered_oldest_first_with_their_times() {
    let mut guard = reporting();
    guard.record(&["a"], at_ms(5_001));
    guard.record(&["b", "c"], at_ms(5_002));
    let batch = guard.begin_batch(MANY, usize::MAX, Scope::All, at_ms(6_000));
    assert!(batch.number > 0);
    let expected = [("a", 5_001), ("b", 5_002), ("c", 5_002)].map(|(id, at)| Impression {
        id: id.into(),
        at: at_ms(at),
    });
    assert_eq!(batch.impressions, expected);
    assert_eq!(guard.undelivered(), 0);
}

#[test]
fn a_batch_is_as_large_as_allowed() {
    let mut guard = reporting();
    guard.record(&ids("item", 0..100), at(START));
    assert_eq!(
        guard
            .begin_batch(30, usize::MAX, Scope::All, at(START))
            .impressions
            .len(),
        30
    );
    let by_size = guard.begin_batch(MANY, 1_000, Scope::All, at(START)).impressions;
    let bytes: usize = by_size
        .iter()
        .map(|Impression { id, at }| format!(r#"{{"id":"{id}","at":{}}},"#, at.unix_ms()).len())
        .sum();
    assert!((900..=1_000).contains(&bytes), "{bytes}");
    // An impression over the limit is a batch by itself.
    assert_eq!(guard.begin_batch(MANY, 1, Scope::All, at(START)).impressions.len(), 1);
    assert_eq!(guard.begin_batch(0, 1, Scope::All, at(START)).number, 0);
}

#[test]
fn entries_in_progress_are_in_no_other_batch_and_failed_ones_are_in_the_next() {
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
fn impressions_of_another_tab_are_delivered_by_that_tab() {
    let mut device = Device::default();
    let (mut here, mut there) = (device.next_visit(), device.next_visit());
    there.record(&["there"], at(START));
    save(&mut there, &mut device);
    device.load(&mut here, Source::Row);
    assert_eq!((here.pending(9, at(START)).len(), here.undelivered()), (1, 0));
    assert_eq!(deliver(&mut here, at(START)), [""; 0]);
    assert_eq!(deliver(&mut there, at(START)), ["there"]);
}

// As the page hides.

#[test]
fn impressions_of_an_earlier_visit_wait_until_they_are_requested() {
    let mut former = reporting();
    former.record(&["found"], at(START));
    let mut guard = next_visit(&mut former);
    guard.record(&["here"], at(START + 1));
    let own = guard.begin_batch(MANY, usize::MAX, Scope::Own, at(START + 2));
    assert_eq!(texts(&own.impressions), ["here"]);
    assert_eq!(deliver(&mut guard, at(START + 2)), ["found"]);
}

#[test]
fn as_the_page_hides_the_newest_that_it_recorded_are_delivered() {
    let mut former = reporting();
    former.record(&["found"], at(START));
    let mut guard = next_visit(&mut former);
    guard.record(&["here"], at(START + 1));
    guard.unsee(&["unseen here"], at(START + 1));
    let batch = guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START + 2));
    assert_eq!(texts(&batch.impressions), ["here"]);
    assert_eq!(texts(&batch.unseen), ["unseen here"]);
    assert_eq!(
        guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START + 2)).number,
        0
    );
    assert_eq!(deliver(&mut guard, at(START + 2)), ["found"]);
    guard.record(&["older", "newer", "newest"], at(START + 3));
    let newest = guard.begin_batch(2, usize::MAX, Scope::Hiding, at(START + 3));
    assert_eq!(texts(&newest.impressions), ["newer", "newest"]);
}

#[test]
fn a_batch_sent_as_the_page_hid_counts_as_delivered_if_a_snapshot_was_applied() {
    for (has_applied, due) in [(true, vec![]), (false, vec!["a", "covered"])] {
        let mut guard = reporting();
        guard.record(&["a", "covered"], at(START));
        guard.unsee(&["unseen"], at(START));
        if has_applied {
            cover(&mut guard, &["covered"], at(START));
        }
        let batch = guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START + 1));
        guard.leave_batch(batch.number, at(START + 1));
        // No response is read.
        let mut next = next_visit(&mut guard);
        let again = next.begin_batch(MANY, usize::MAX, Scope::All, at(START + 2));
        assert_eq!(texts(&again.impressions), due);
        assert_eq!(texts(&again.unseen), ["unseen"]);
    }
}

#[test]
fn a_batch_lost_as_the_page_hid_is_delivered_again_a_day_later() {
    let mut guard = reporting();
    guard.record(&["a"], at(START));
    cover(&mut guard, &["something else"], at(START));
    let batch = guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START));
    guard.leave_batch(batch.number, at(START));
    let mut next = next_visit(&mut guard);
    let later = at(START + 2 * 24 * 60 * MINUTE);
    cover(&mut next, &["something else"], later);
    assert_eq!(deliver(&mut next, later), ["a"]);
}

#[test]
fn a_response_that_reaches_a_hidden_page_counts_as_any() {
    for (arrived, due) in [(true, vec![]), (false, vec!["a", "covered meanwhile"])] {
        let mut guard = reporting();
        guard.record(&["a", "covered meanwhile"], at(START));
        guard.unsee(&["unseen"], at(START));
        cover(&mut guard, &["something else"], at(START));
        let batch = guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START));
        guard.leave_batch(batch.number, at(START));
        cover(&mut guard, &["covered meanwhile"], at(START + 1));
        assert_eq!(begin(&mut guard, at(START + 1)).0, 0);
        guard.end_batch(batch.number, arrived, at(START + 2));
        let again = guard.begin_batch(MANY, usize::MAX, Scope::All, at(START + 2));
        assert_eq!(texts(&again.impressions), due);
        assert_eq!(again.unseen.is_empty(), arrived);
        // It was delivered once, not twice: a day later it is due.
        let day = at(START + 2 * 24 * 60 * MINUTE);
        guard.end_batch(again.number, true, at(START + 3));
        assert_eq!(deliver(&mut guard, day), ["a"]);
    }
}

#[test]
fn a_batch_that_failed_after_the_page_hid_is_delivered_by_the_next_visit() {
    let (mut guard, mut device) = (reporting(), Device::default());
    guard.record(&["a"], at(START));
    cover(&mut guard, &["another"], at(START));
    let batch = guard.begin_batch(MANY, usize::MAX, Scope::Hiding, at(START));
    guard.leave_batch(batch.number, at(START));
    save(&mut guard, &mut device);
    guard.end_batch(batch.number, false, at(START + 1));
    save(&mut guard, &mut device);
    assert_eq!(guard.undelivered(), 1);
    let mut next = device.next_visit();
    next.start_reporting();
    assert_eq!(deliver(&mut next, at(START + 2)), ["a"]);
    assert_eq!(next.pending(10, at(START + 2)), ["a"]);
}

// Delivered again.

/// Delivers `a`, and returns when it is due again within ten days, in minutes after the first time.
fn delivered_again(guard: &mut Guard, covered: bool, clock_ahead: u64) -> Vec<u64> {
    guard.record(&["a"], at(START));
    assert_eq!(deliver(guard, at(START + clock_ahead)), ["a"]);
    if covered {
        cover(guard, &["a"], at(START));
    }
    let minutes = 1..10 * 24 * 60;
    minutes
        .filter(|minute| deliver(guard, at(START + minute * MINUTE)) == ["a"])
        .collect()
}

#[test]
fn an_impression_pending_a_day_after_its_delivery_is_delivered_again() {
    let day = 24 * 60;
    for (has_applied, covered, times) in [(true, false, 1), (true, true, 0), (false, false, 0)] {
        let mut guard = reporting();
        if has_applied {
            cover(&mut guard, &["something else"], at(START));
        }
        let again = delivered_again(&mut guard, covered, 0);
        assert_eq!(again.len(), times);
        assert!(
            again.iter().all(|&minute| (day..=day * 5 / 4).contains(&minute)),
            "{again:?}"
        );
    }
}

#[test]
fn devices_repeat_lost_deliveries_at_different_times() {
    let mut guard = reporting();
    cover(&mut guard, &["something else"], at(START));
    guard.record(&ids("item", 0..100), at(START));
    deliver(&mut guard, at(START));
    let hours = (24..=30).map(|hour| deliver(&mut guard, at(START + hour * 60 * MINUTE)).len());
    let hours: Vec<usize> = hours.collect();
    assert!(
        hours.iter().sum::<usize>() == 100 && hours.iter().all(|&count| count < 40),
        "{hours:?}"
    );
}

#[test]
fn an_impression_delivered_by_a_clock_that_was_ahead_is_delivered_again() {
    let mut guard = reporting();
    cover(&mut guard, &["something else"], at(START));
    assert_eq!(delivered_again(&mut guard, false, 1_000 * 24 * 60 * MINUTE), [1]);
}

#[test]
fn a_later_visit_repeats_deliveries_of_an_earlier_one() {
    let mut guard = reporting();
    guard.record(&["a", "unseen", "expired"], at(START));
    guard.unsee(&["unseen"], at(START));
    assert_eq!(deliver(&mut guard, at(START)).len(), 2);
    for (day, due) in [(2, vec!["a", "expired"]), (31, vec![])] {
        let mut later = next_visit(&mut guard);
        let now = at(START + day * 24 * 60 * MINUTE);
        cover(&mut later, &["something else"], now);
        assert_eq!(deliver(&mut later, now), due);
        assert_eq!(deliver(&mut next_visit(&mut later), now), [""; 0]);
    }
}

#[test]
fn an_impression_recorded_again_is_delivered_again_and_inherits_nothing() {
    let mut guard = reporting();
    guard.record(&["a"], at(START));
    deliver(&mut guard, at(START));
    guard.record(&["a"], at(START + 100));
    let DeliveryBatch {
        number, impressions, ..
    } = guard.begin_batch(MANY, usize::MAX, Scope::All, at(START + 100));
    assert_eq!((impressions[0].at, impressions.len()), (at(START + 100), 1));
    // Shown again during its delivery, it is another impression.
    guard.record(&["a"], at(START + 200));
    guard.end_batch(number, true, at(START + 200));
    assert_eq!(deliver(&mut guard, at(START + 200)), ["a"]);
}

#[test]
fn impressions_pending_at_the_first_report_are_delivered_later_though_they_are_covered_by_then() {
    let mut guard = guard();
    guard.record(&["a", "b"], at(START));
    let mut device = Device::default();
    save(&mut guard, &mut device);
    guard.start_reporting();
    save(&mut guard, &mut device);
    // The page dies, and the next one does not deliver yet.
    let mut next = device.next_visit();
    cover(&mut next, &["a"], at(START + 1));
    assert_eq!(next.pending(9, at(START)), ["b"]);
    assert_eq!(deliver(&mut next, at(START + 2)), ["a", "b"]);
}

#[test]
fn impressions_of_a_page_without_a_report_are_delivered_by_the_next_one_with_one() {
    let mut first = reporting();
    let mut second = device::next_visit(&mut first);
    second.record(&["a"], at(START));
    cover(&mut second, &["a"], at(START + 1));
    assert_eq!(deliver(&mut next_visit(&mut second), at(START + 2)), ["a"]);
}

#[test]
fn ending_a_batch_that_is_not_in_progress_changes_nothing() {
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
fn a_batch_from_before_a_clear_does_not_affect_a_later_one() {
    for old_one_arrived in [true, false] {
        let mut guard = reporting();
        guard.record(&["before"], at(START));
        let (old, _) = begin(&mut guard, at(START));
        guard.reset(false);
        guard.record(&["after"], at(START + 1));
        let (new, ids) = begin(&mut guard, at(START + 1));
        assert_eq!(ids, ["after"]);
        guard.end_batch(old, old_one_arrived, at(START + 2));
        assert_eq!(begin(&mut guard, at(START + 2)).1, [] as [&str; 0]);
        guard.end_batch(new, false, at(START + 3));
        assert_eq!(deliver(&mut guard, at(START + 3)), ["after"]);
    }
}
