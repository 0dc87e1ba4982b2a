//! The calls of stores: what is stored again, what is retried, and how pages are made without the stored data.

use std::sync::Arc;

use crate::common::{START, at};
use seenguard::{
    ChainOptions, PageRequest, ReceivedReport, Report, StoreCall, StoreClock, StoreFailure, StoreStep, StoreUse,
    StoredChain, check_namespace,
};

fn call(kind: StoreUse) -> StoreCall {
    StoreCall::new(ChainOptions::RECOMMENDED, kind, 1_000, 7)
}

/// The step after a change that records these ids.
fn recorded(stored: &StoredChain, ids: &[&str]) -> StoreStep {
    let mut call = call(StoreUse::Change);
    assert_eq!(
        call.loaded(Arc::new(stored.clone()), 3, at(START)),
        Ok(StoreStep::Change)
    );
    let (chain, now) = call.chain().unwrap();
    chain.record(ids, now).unwrap();
    call.changed().unwrap()
}

fn stored(ids: &[&str]) -> StoredChain {
    match recorded(&StoredChain::default(), ids) {
        StoreStep::Replace(replacement) => replacement.after,
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_chain_is_replaced_only_if_it_has_changed() {
    let before = stored(&["a"]);
    assert_eq!(recorded(&before, &["a"]), StoreStep::Done);
    let StoreStep::Replace(replacement) = recorded(&before, &["b"]) else {
        panic!("it has changed");
    };
    assert_eq!((replacement.revision, &*replacement.before), (3, &before));
    assert!(replacement.life_seconds >= 30 * 86_400);
    // A deletion is stored even if there was no history: it removes the devices' lists.
    let mut forgetting = call(StoreUse::Forget);
    forgetting.loaded(Arc::default(), 0, at(START)).unwrap();
    let (chain, now) = forgetting.chain().unwrap();
    chain.forget(now).unwrap();
    assert!(matches!(forgetting.changed(), Ok(StoreStep::Forget(_))));
}

#[test]
fn unreadable_data_is_ignored_reported_and_removed_by_the_next_change() {
    let mut before = stored(&["a"]);
    let cut = before.shards[0][..before.shards[0].len() - 4].to_owned();
    before.shards.insert(0, cut);
    before.fields.push(("forgetBefore".into(), "soon".into()));
    let mut reading = call(StoreUse::Read);
    assert_eq!(
        reading.loaded(Arc::new(before.clone()), 3, at(START)),
        Ok(StoreStep::Done)
    );
    let damage: Vec<_> = reading
        .damage()
        .iter()
        .map(|error| (error.shard(), error.code()))
        .collect();
    assert_eq!(damage, [(Some(0), "bad-checksum"), (None, "bad-snapshot")]);
    let chain = reading.into_chain().unwrap();
    assert_eq!(chain.filter(&["a", "b"], None, at(START)), Ok(vec![1]));
    let StoreStep::Replace(replacement) = recorded(&before, &["a"]) else {
        panic!("it is damaged");
    };
    // The intact shard stays, with a higher version than the damaged one may have had.
    assert_eq!((replacement.after.shards.len(), replacement.after.fields.len()), (1, 0));
    let mut again = call(StoreUse::Read);
    again.loaded(Arc::new(replacement.after), 4, at(START)).unwrap();
    assert_eq!(again.damage(), []);
    assert!(again.into_chain().unwrap().contains("a", at(START)).unwrap());
}

#[test]
fn transient_failures_are_retried_until_the_limit() {
    use StoreFailure::{Conflict, Denied, OutOfMemory, ReadOnly, Timeout, Unavailable, WrongType};
    for failure in [Unavailable, ReadOnly, Conflict] {
        let mut call = call(StoreUse::Change);
        for _ in 0..100 {
            let StoreStep::Wait(ms) = call.failed(failure, 0) else {
                panic!("{failure:?} is transient");
            };
            assert!((1..=100).contains(&ms), "{ms}");
        }
        assert!(matches!(call.failed(failure, 899), StoreStep::Wait(_)));
        assert_eq!(call.failed(failure, 999), StoreStep::Failed);
    }
    // A further device of a user who has the most: it would be refused again.
    assert_eq!(
        StoreFailure::of_redis("LIMIT more than 32 devices of a user"),
        OutOfMemory
    );
    for failure in [Denied, OutOfMemory, Timeout, WrongType] {
        assert_eq!(call(StoreUse::Change).failed(failure, 0), StoreStep::Failed);
    }
    // Writers that have met do not meet again: their pauses differ.
    let pauses = |random| {
        let mut call = StoreCall::new(ChainOptions::RECOMMENDED, StoreUse::Change, 10_000, random);
        (0..20).map(|_| call.failed(Conflict, 0)).collect::<Vec<_>>()
    };
    assert_ne!(pauses(1), pauses(2));
}

#[test]
fn a_call_at_its_limit_fails_by_what_it_has_retried_unless_a_write_may_have_been_done() {
    use StoreFailure::{ReadOnly, Timeout};
    // The store did not respond.
    let mut changing = call(StoreUse::Change);
    changing.begin();
    assert_eq!(changing.expired(), Timeout);
    // It waits, or loads again.
    assert!(matches!(changing.failed(ReadOnly, 0), StoreStep::Wait(_)));
    assert_eq!(changing.expired(), ReadOnly);
    assert_eq!(changing.begin(), StoreStep::Load);
    assert_eq!(changing.expired(), ReadOnly);
    // It writes.
    changing.loaded(Arc::default(), 0, at(START)).unwrap();
    let (chain, now) = changing.chain().unwrap();
    chain.record(&["a"], now).unwrap();
    assert!(matches!(changing.changed(), Ok(StoreStep::Replace(_))));
    assert_eq!(changing.expired(), Timeout);
    // A device's list is written at once.
    let mut appending = call(StoreUse::Append);
    appending.begin();
    appending.failed(ReadOnly, 0);
    assert_eq!(appending.expired(), ReadOnly);
    appending.begin();
    assert_eq!(appending.expired(), Timeout);
}

#[test]
fn i5_a_page_for_which_nothing_was_loaded_is_degraded() {
    let request = PageRequest {
        size: 3,
        ..PageRequest::default()
    };
    let mut reading = call(StoreUse::Read);
    let page = reading.page(&["a", "b"], &request, at(START)).unwrap();
    assert!(page.is_degraded && page.page.items == [0, 1]);
    reading.loaded(Arc::new(stored(&["a"])), 1, at(START)).unwrap();
    let page = reading.page(&["a", "b"], &request, at(START)).unwrap();
    assert!(!page.is_degraded && page.page.items == [1]);
}

#[test]
fn the_stores_clock_is_used_as_soon_as_it_is_known() {
    let clock = StoreClock::default();
    assert_eq!(clock.now(at(START), None), at(START));
    assert_eq!(clock.now(at(START), Some(at(START + 60))), at(START + 60));
    assert_eq!(clock.now(at(START + 1), None), at(START + 61));
    // A report moves with its arrival.
    let mut report = Report::new("home:ada", at(START));
    report.impressions = vec![seenguard::Impression {
        id: "a".into(),
        at: at(START - 5),
    }];
    let mut report: ReceivedReport = report.received(at(START));
    report.stamp(at(START + 60));
    assert_eq!(
        (report.received_at, report.impressions[0].at),
        (at(START + 60), at(START + 55))
    );
}

#[test]
fn a_report_of_another_namespace_is_refused() {
    assert_eq!(check_namespace(Some("home:ada"), "home:ada"), Ok(()));
    assert_eq!(check_namespace(None, "home:bob"), Ok(()));
    let refused = check_namespace(Some("home:ada"), "home:bob").unwrap_err();
    assert_eq!(refused.code(), "wrong-namespace");
}
