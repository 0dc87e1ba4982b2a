//! The storage protocol alone: what it asks of a storage, and when. That it loses nothing is what the simulation tells.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::collections::BTreeMap;

use common::{DAY, START, apply, at, at_ms, guard, ids, next_visit, shard_of, unsaved};
use seenguard::{DEFAULT_REMEMBER, Guard, Operation, Outcome, Storage, Trouble};

const PREFIX: &str = "seenguard/home/";

/// A segment of one recording by a page that has heard of no clear.
fn segment_of_one(id: &str, recorded_ms: u64) -> String {
    let mut guard = guard();
    guard.record(&[id], at_ms(recorded_ms)).unwrap();
    unsaved(&mut guard)
}

/// A storage, and what it was asked to do.
#[derive(Default)]
struct Store {
    values: BTreeMap<String, String>,
    is_broken: bool,
    is_full: bool,
    asked: Vec<Operation>,
}

impl Store {
    /// With segments of other writers, of one recording each.
    fn with_segments(count: usize) -> Self {
        let mut store = Store::default();
        for (number, id) in ids("stored", 0..count).iter().enumerate() {
            store.put(&format!("s/0/writer{number}/1"), &segment_of_one(id, START * 1000));
        }
        store
    }

    fn put(&mut self, key: &str, text: &str) {
        self.values.insert(format!("{PREFIX}{key}"), text.to_owned());
    }

    /// The values whose keys begin so.
    fn texts(&self, kind: &str) -> Vec<&String> {
        let prefix = format!("{PREFIX}{kind}/");
        let meant = self.values.iter().filter(|(key, _)| key.starts_with(&prefix));
        meant.map(|(_, text)| text).collect()
    }

    fn perform(&mut self, operation: Operation) -> Outcome {
        self.asked.push(operation.clone());
        if self.is_broken || (self.is_full && matches!(operation, Operation::Write { .. })) {
            return Outcome::Failed { is_full: self.is_full };
        }
        match operation {
            Operation::List(prefixes) => {
                let is_meant = |key: &&String| prefixes.iter().any(|prefix| key.starts_with(prefix));
                return Outcome::Keys(self.values.keys().filter(is_meant).cloned().collect());
            }
            Operation::Read(keys) => {
                let found = keys.iter().filter_map(|key| self.values.get_key_value(key));
                return Outcome::Texts(found.map(|(key, text)| (key.clone(), text.clone())).collect());
            }
            Operation::Write { key, text } => drop(self.values.insert(key, text)),
            Operation::Remove { keys, .. } => keys.iter().for_each(|key| drop(self.values.remove(key))),
            Operation::Wait { .. } => {}
        }
        Outcome::Done
    }

    /// The keys of each removal.
    fn removed(&self) -> Vec<&[String]> {
        let removals = self.asked.iter().filter_map(|operation| match operation {
            Operation::Remove { keys, .. } => Some(keys.as_slice()),
            _ => None,
        });
        removals.collect()
    }
}

/// A page that keeps the namespace "home".
struct Page {
    guard: Guard,
    storage: Storage,
    now_ms: u64,
}

impl Page {
    fn of(remember: usize, seed: u64, now_ms: u64) -> Self {
        let mut storage = Storage::new("home", 30.0, remember, seed);
        storage.begin(true, true, None);
        let guard = Guard::new(30.0, remember).unwrap();
        Page { guard, storage, now_ms }
    }

    /// One that has loaded what a store has.
    fn opened(store: &mut Store) -> Self {
        let mut page = Page::of(DEFAULT_REMEMBER, 1, START * 1000);
        page.work(store);
        page
    }

    fn record(&mut self, ids: &[String]) {
        self.guard.record(ids, at_ms(self.now_ms)).unwrap();
        self.storage.changed();
    }

    fn next(&mut self) -> Operation {
        self.storage.next(&mut self.guard, at_ms(self.now_ms))
    }

    fn complete(&mut self, outcome: Outcome) {
        let number = self.storage.operation();
        self.storage
            .complete(&mut self.guard, number, outcome, at_ms(self.now_ms));
    }

    /// Does what there is to do now. Returns for how long it waits then.
    fn work(&mut self, store: &mut Store) -> u64 {
        loop {
            match self.next() {
                Operation::Wait { until_ms } if until_ms > self.now_ms => return until_ms - self.now_ms,
                Operation::Wait { .. } => {}
                operation => {
                    let outcome = store.perform(operation);
                    self.complete(outcome);
                }
            }
        }
    }

    /// Does what there is to do now and for so long.
    fn work_for(&mut self, store: &mut Store, ms: u64) {
        let end_ms = self.now_ms + ms;
        while self.now_ms < end_ms {
            self.now_ms = self.now_ms.saturating_add(self.work(store)).min(end_ms);
        }
        self.work(store);
    }
}

// Compaction.

#[test]
fn four_segments_become_one_within_a_second_and_each_tab_waits_for_another_time() {
    let mut waits: Vec<u64> = Vec::new();
    for seed in 0..20 {
        let mut store = Store::default();
        let mut page = Page::of(DEFAULT_REMEMBER, seed, START * 1000);
        for id in ids("item", 0..4) {
            assert_eq!(page.work(&mut store), u64::MAX - page.now_ms);
            page.record(&[id]);
        }
        let wait = page.work(&mut store);
        assert!(wait < 1000);
        assert_eq!(store.texts("s").len(), 4);
        page.now_ms += wait;
        page.work(&mut store);
        assert_eq!(store.texts("s").len(), 1);
        waits.push(wait);
    }
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() > 15);
}

#[test]
fn two_segments_become_one_if_each_has_a_quarter_of_all_that_is_remembered() {
    for (remember, segments) in [(16, 1), (64, 2)] {
        let mut store = Store::default();
        let mut page = Page::of(remember, 1, START * 1000);
        for prefix in ["a", "b"] {
            page.work(&mut store);
            page.record(&ids(prefix, 0..4));
        }
        page.work_for(&mut store, 1000);
        assert_eq!(store.texts("s").len(), segments);
    }
}

#[test]
fn an_opening_makes_one_of_sixteen_segments_and_leaves_fifteen_as_they_are() {
    for (found, left) in [(15, 15), (16, 1)] {
        let mut store = Store::with_segments(found);
        Page::opened(&mut store).work_for(&mut store, 1000);
        assert_eq!(store.texts("s").len(), left);
    }
}

#[test]
fn of_damaged_segments_four_are_set_aside_16_kb_of_each() {
    let mut store = Store::default();
    for number in 0..6 {
        store.put(&format!("s/0/writer{number}/1"), &"damage".repeat(4_000));
    }
    Page::opened(&mut store);
    assert_eq!(store.texts("x"), vec![&"damage".repeat(4_000)[..16_384]; 4]);
    assert!(store.texts("s").iter().all(|text| !text.contains("damage")));
}

// Failures.

#[test]
fn the_wait_after_a_failure_doubles_from_a_second_to_a_minute_with_jitter() {
    let mut store = Store {
        is_broken: true,
        ..Store::default()
    };
    let mut page = Page::of(DEFAULT_REMEMBER, 1, START * 1000);
    for longest in [1, 2, 4, 8, 16, 32, 60, 60, 60].map(|seconds| seconds * 1000) {
        let wait = page.work(&mut store);
        assert!((longest / 2..longest).contains(&wait), "{wait} of {longest}");
        page.now_ms += wait;
    }
}

#[test]
fn what_is_recorded_waits_for_nothing_that_has_failed() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    store.is_broken = true;
    page.record(&ids("a", 0..1));
    assert!(page.work(&mut store) < 1000);
    store.is_broken = false;
    page.record(&ids("b", 0..1));
    page.work(&mut store);
    assert_eq!(store.texts("s").len(), 2);
}

#[test]
fn what_can_be_read_does_not_show_that_there_is_room() {
    let mut store = Store {
        is_full: true,
        ..Store::default()
    };
    let mut page = Page::opened(&mut store);
    assert_eq!(page.storage.trouble(), Some(Trouble::Full));
    page.storage.look();
    page.work_for(&mut store, 60_000);
    assert_eq!(page.storage.trouble(), Some(Trouble::Full));
    (store.is_full, store.is_broken) = (false, false);
    page.record(&ids("a", 0..1));
    page.work(&mut store);
    assert_eq!(page.storage.trouble(), None);
}

#[test]
fn an_outcome_that_comes_too_late_changes_nothing() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    page.record(&ids("a", 0..1));
    let Operation::Write { key, .. } = page.next() else {
        panic!("what was recorded is written");
    };
    let late = page.storage.operation();
    page.complete(Outcome::Failed { is_full: false });
    page.storage.changed();
    assert!(matches!(page.next(), Operation::Write { key: again, .. } if again == key));
    page.storage
        .complete(&mut page.guard, late, Outcome::Done, at_ms(page.now_ms));
    assert_eq!(page.next(), Operation::Wait { until_ms: u64::MAX });
}

#[test]
fn for_room_the_stored_snapshot_is_given_up_first_then_what_was_set_aside() {
    let mut store = Store::default();
    store.put("h/0", &stored_snapshot_of("b"));
    store.put("x/0/1", "damage");
    let mut page = Page::opened(&mut store);
    store.asked.clear();
    store.is_full = true;
    page.record(&ids("a", 0..1));
    page.work(&mut store);
    assert_eq!(store.removed(), [[format!("{PREFIX}h/0")], [format!("{PREFIX}x/0/1")]]);
    assert_eq!(page.storage.trouble(), Some(Trouble::Full));
}

// A clear.

#[test]
fn a_clear_lists_once_more_for_what_was_written_meanwhile() {
    let mut store = Store::with_segments(1);
    let mut page = Page::opened(&mut store);
    let late = segment_of_one("late", page.now_ms);
    page.now_ms += 10;
    page.storage.clear(&mut page.guard, at_ms(page.now_ms));
    loop {
        let operation = page.next();
        let is_removal = matches!(operation, Operation::Remove { .. });
        let outcome = store.perform(operation);
        if is_removal {
            store.put("s/0/late/1", &late);
        }
        page.complete(outcome);
        if is_removal {
            break;
        }
    }
    page.work(&mut store);
    assert!(!page.storage.is_clearing());
    assert!(!store.texts("s").contains(&&late));
}

#[test]
fn a_clear_removes_what_was_gone_when_it_was_read_and_is_there_again() {
    let mut store = Store::with_segments(1);
    let mut page = Page::opened(&mut store);
    let before = segment_of_one("before", page.now_ms);
    page.now_ms += 10;
    store.put("s/0/late/1", &before);
    page.storage.clear(&mut page.guard, at_ms(page.now_ms));
    loop {
        let operation = page.next();
        if matches!(&operation, Operation::Read(keys) if keys.contains(&format!("{PREFIX}s/0/late/1"))) {
            // Another tab has removed it, and its write was still on its way.
            let without = Outcome::Texts(Vec::new());
            store.asked.push(operation);
            page.complete(without);
            break;
        }
        let outcome = store.perform(operation);
        page.complete(outcome);
    }
    page.work(&mut store);
    assert!(!page.storage.is_clearing());
    assert!(!store.texts("s").contains(&&before));
}

#[test]
fn a_key_that_is_listed_and_has_no_value_is_read_twice_at_most_for_each_look() {
    let mut store = Store::with_segments(2);
    let mut page = Page::of(DEFAULT_REMEMBER, 1, START * 1000);
    let mut reads = 0;
    let mut work = |page: &mut Page, store: &mut Store| {
        for _ in 0..100 {
            match page.next() {
                Operation::Wait { until_ms } if until_ms > page.now_ms => break,
                Operation::Read(keys) => {
                    reads += 1;
                    let has_value = |(key, _): &(&String, &String)| keys.contains(key) && !key.contains("writer1");
                    let texts = store.values.iter().filter(has_value);
                    let texts = texts.map(|(key, text)| (key.clone(), text.clone())).collect();
                    page.complete(Outcome::Texts(texts));
                }
                operation => {
                    let outcome = store.perform(operation);
                    page.complete(outcome);
                }
            }
        }
        std::mem::take(&mut reads)
    };
    assert!((1..=2).contains(&work(&mut page, &mut store)));
    assert!(page.storage.is_loaded() && page.guard.has("stored-0", at(START)));
    for _ in 0..3 {
        page.storage.look();
        assert!((1..=2).contains(&work(&mut page, &mut store)));
    }
}

#[test]
fn what_could_not_be_written_before_a_clear_is_not_written_after_it() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    page.record(&ids("a", 0..1));
    let Operation::Write { text, .. } = page.next() else {
        panic!("what was recorded is written");
    };
    page.now_ms += 10;
    page.storage.clear(&mut page.guard, at_ms(page.now_ms));
    page.complete(Outcome::Failed { is_full: false });
    page.storage.changed();
    page.work(&mut store);
    let is_written =
        |operation: &Operation| matches!(operation, Operation::Write { text: other, .. } if *other == text);
    assert!(!page.storage.is_clearing() && !store.asked.iter().any(is_written));
}

#[test]
fn for_room_a_segment_from_before_a_clear_is_given_up_if_nothing_in_it_counts() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    let before_ms = page.now_ms;
    page.now_ms += 10;
    page.storage.clear(&mut page.guard, at_ms(page.now_ms));
    page.work(&mut store);
    page.now_ms += 10;
    store.put("s/0/before/1", &segment_of_one("before", before_ms));
    store.put("s/0/since/1", &segment_of_one("since", page.now_ms));
    store.asked.clear();
    store.is_full = true;
    page.storage.look();
    page.work(&mut store);
    assert_eq!(store.removed(), [[format!("{PREFIX}s/0/before/1")]]);
}

// A page that hides.

#[test]
fn a_stash_is_of_100_000_characters_at_most_the_latest_of_all_that_is_unwritten() {
    let mut page = Page::opened(&mut Store::default());
    let all = ids(&"a-long-id-".repeat(10), 0..2000);
    page.record(&all);
    let hidden = page.storage.hide(&mut page.guard, at_ms(page.now_ms));
    let stash = hidden.stash.unwrap();
    assert!((40_000..=100_000).contains(&stash.len()), "{}", stash.len());
    let next = next_visit(&[stash]);
    assert!(!next.has(&all[0], at(START)) && next.has(&all[1999], at(START)));
}

#[test]
fn a_stash_has_what_is_being_written_and_is_removed_as_it_was_left_once_that_is() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    page.record(&ids("a", 0..1));
    let write = page.next();
    let hidden = page.storage.hide(&mut page.guard, at_ms(page.now_ms));
    assert_eq!(hidden.write, None);
    let stash = hidden.stash.unwrap();
    assert!(next_visit(&[&stash]).has("a-0", at(START)));
    let outcome = store.perform(write);
    page.complete(outcome);
    page.work(&mut store);
    let removal = Operation::Remove {
        keys: vec![page.storage.stash_key()],
        only_if: Some(stash),
    };
    assert!(store.asked.contains(&removal));
}

#[test]
fn a_stash_that_is_taken_over_is_removed_after_what_it_has_is_written() {
    let mut store = Store::default();
    let (stash, text) = ("seenguard-stash/home/writer", segment_of_one("a", START * 1000));
    store.values.insert(stash.into(), text.clone());
    let page = Page::opened(&mut store);
    assert!(page.guard.has("a", at(START)));
    let is_write = |operation: &Operation| matches!(operation, Operation::Write { key, .. } if key.contains("/s/"));
    let removal = Operation::Remove {
        keys: vec![stash.into()],
        only_if: Some(text),
    };
    let written = store.asked.iter().position(is_write);
    let removed = store.asked.iter().position(|operation| *operation == removal);
    assert!(written.is_some() && written < removed, "{:?}", store.asked);
}

// Keys.

#[test]
fn a_writer_whose_name_is_taken_has_another() {
    let mut store = Store::default();
    for id in ids("item", 0..3) {
        // Each would have the same name.
        let mut page = Page::opened(&mut store);
        page.record(&[id]);
        page.work(&mut store);
    }
    assert_eq!(store.texts("s").len(), 3);
}

#[test]
fn other_tabs_are_told_of_each_segment() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    assert!(!page.storage.take_notices().signal);
    for id in ids("item", 0..3) {
        page.record(&[id]);
        page.work(&mut store);
        assert!(page.storage.take_notices().signal);
    }
}

// The stored snapshot.

/// As a page would store it.
fn stored_snapshot_of(id: &str) -> String {
    let mut guard = guard();
    let shard = shard_of(&[id], 1, 0).to_base64().unwrap();
    apply(&mut guard, None, &[shard], at(START)).unwrap();
    guard.stored_snapshot(at(START)).unwrap()
}

#[test]
fn the_snapshot_in_use_is_stored_once_a_minute_or_when_everything_is() {
    let mut store = Store::default();
    let mut page = Page::opened(&mut store);
    let mut apply_one = |page: &mut Page, id: &str| {
        let shard = shard_of(&[id], 1, 0).to_base64().unwrap();
        apply(&mut page.guard, None, &[shard], at_ms(page.now_ms)).unwrap();
        page.storage.changed();
        let wait = page.work(&mut store);
        (wait, store.texts("h")[0].clone())
    };
    let (_, first) = apply_one(&mut page, "a");
    page.now_ms += 1000;
    let (wait, second) = apply_one(&mut page, "b");
    assert_eq!((wait, &second), (59_000, &first));
    page.storage.flush();
    let (_, third) = apply_one(&mut page, "c");
    assert_ne!(third, first);
    page.now_ms += 60_000;
    assert_ne!(apply_one(&mut page, "d").1, third);
}

#[test]
fn of_several_stored_snapshots_that_of_the_latest_clear_is_taken_over() {
    let mut store = Store::default();
    for (key, id) in [("h/1", "a"), ("h/3", "c"), ("h/2", "b")] {
        store.put(key, &stored_snapshot_of(id));
    }
    let page = Page::opened(&mut store);
    let taken_over = ["a", "b", "c"].map(|id| page.guard.has(id, at(START)));
    assert_eq!(taken_over, [false, false, true]);
}

// Namespaces that nobody uses any more.

/// What is left of another namespace that was used at first, after openings on these days.
fn other_after(days: &[u64]) -> (Vec<String>, Store) {
    let mut store = Store::default();
    let mut other = Storage::new("other", 30.0, DEFAULT_REMEMBER, 1);
    other.begin(true, true, None);
    let mut page = Page::of(DEFAULT_REMEMBER, 1, START * 1000);
    page.storage = other;
    page.work(&mut store);
    page.record(&ids("item", 0..1));
    page.work(&mut store);
    for day in days {
        store.asked.clear();
        Page::of(DEFAULT_REMEMBER, 1, (START + day * DAY) * 1000).work(&mut store);
    }
    let left = store.values.keys().filter(|key| key.starts_with("seenguard/other/"));
    (left.cloned().collect(), store)
}

#[test]
fn a_namespace_is_removed_with_its_signal_two_days_after_it_was_found_idle() {
    for days in [&[1, 31][..], &[20, 31, 32], &[20, 31, 31], &[20, 32]] {
        assert_eq!(other_after(days).0.len(), 2, "{days:?}");
    }
    let (left, asked) = other_after(&[20, 31, 33]);
    assert!(left.is_empty());
    assert!(asked.removed().concat().contains(&"seenguard-signal/other".into()));
}

#[test]
fn a_clock_that_has_jumped_makes_no_namespace_idle() {
    assert_eq!(other_after(&[0, 400, 402]).0.len(), 2);
}
