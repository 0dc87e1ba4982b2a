//! The impression table as a whole, by random schedules of tabs that record, take back, cover, deliver, hear of each
//! other, clear and open: whatever is merged in whichever order, the answers are those of a plain model.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use std::collections::{BTreeMap, HashSet};

use common::{START, apply, at, at_ms, guard_of, ids, loaded, shard_of};
use proptest::prelude::*;
use seenguard::{DEFAULT_REMEMBER, Explanation, Format, Guard, Now, SegmentState, Snapshot};

const WINDOW_DAYS: f64 = 1.0;
const WINDOW_MS: u64 = 86_400_000;
const ITEMS: usize = 12;

/// What a tab does.
#[derive(Debug, Clone)]
enum Action {
    Record(usize),
    TakeBack(usize),
    /// A snapshot covers these.
    Cover(Vec<usize>),
    Deliver,
    Write,
    /// It hears of what all have written so far.
    Hear,
    /// The device's clock is set to this time.
    SetClock(u64),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..ITEMS).prop_map(Action::Record),
        2 => (0..ITEMS).prop_map(Action::TakeBack),
        2 => prop::collection::vec(0..ITEMS, 0..4).prop_map(Action::Cover),
        2 => Just(Action::Deliver),
        4 => Just(Action::Write),
        2 => Just(Action::Hear),
        1 => clock().prop_map(Action::SetClock),
    ]
}

/// Around a day of 2025, seldom any other time.
fn clock() -> impl Strategy<Value = u64> {
    prop_oneof![4 => START * 1000..START * 1000 + 2 * WINDOW_MS, 1 => 0..1u64 << 53]
}

/// Actions of three tabs.
fn schedule(most: usize) -> impl Strategy<Value = Vec<(usize, Action)>> {
    prop::collection::vec((0..3usize, action()), 0..most)
}

fn name(item: usize) -> String {
    format!("item-{item}")
}

fn names() -> Vec<String> {
    ids("item", 0..ITEMS)
}

/// What was recorded last of an item, as the rule says: the highest counter, the latest time, seen before taken back.
type Last = BTreeMap<usize, (u64, u64, bool)>;

/// A tab, and a plain model of what it knows.
struct Tab {
    guard: Guard,
    last: Last,
    counter: u64,
    unwritten: HashSet<usize>,
    heard: usize,
}

/// All of a device, and for each segment what the model says is in it.
struct Device {
    tabs: Vec<Tab>,
    segments: Vec<(String, Last)>,
    now_ms: u64,
}

impl Device {
    fn new() -> Self {
        let tab = || Tab {
            guard: guard_of(WINDOW_DAYS, DEFAULT_REMEMBER),
            last: Last::new(),
            counter: 0,
            unwritten: HashSet::new(),
            heard: 0,
        };
        Device {
            tabs: (0..3).map(|_| tab()).collect(),
            segments: Vec::new(),
            now_ms: START * 1000,
        }
    }

    fn after(schedule: &[(usize, Action)]) -> Self {
        let mut device = Device::new();
        for (tab, action) in schedule {
            device.act(*tab, action);
            device.check(*tab);
        }
        device
    }

    fn act(&mut self, tab: usize, action: &Action) {
        let now = at_ms(self.now_ms);
        let page = &mut self.tabs[tab];
        match action {
            Action::Record(item) => {
                page.guard.record(&[name(*item)], now).unwrap();
                page.note(*item, self.now_ms, true);
            }
            Action::TakeBack(item) => {
                page.guard.unsee(&[name(*item)], now).unwrap();
                page.note(*item, self.now_ms, false);
            }
            Action::Cover(items) => cover(&mut page.guard, items, now),
            Action::Deliver => {
                page.guard.start_reporting();
                let batch = page.guard.begin_batch(100, usize::MAX, now);
                page.guard.end_batch(batch.number, true, now);
            }
            Action::Write => self.write(tab),
            Action::Hear => self.hear(tab),
            Action::SetClock(now_ms) => self.now_ms = *now_ms,
        }
    }

    fn write(&mut self, tab: usize) {
        let page = &mut self.tabs[tab];
        if let Some(segment) = page.guard.take_unsaved(true) {
            let written = page.unwritten.drain().map(|item| (item, page.last[&item]));
            self.segments.push((segment.text, written.collect()));
        }
    }

    fn hear(&mut self, tab: usize) {
        let page = &mut self.tabs[tab];
        let texts: Vec<&String> = self.segments[page.heard..].iter().map(|(text, _)| text).collect();
        let states = page.guard.merge(&texts, at_ms(self.now_ms)).unwrap();
        assert!(states.iter().all(|state| *state == SegmentState::Whole));
        for (_, written) in &self.segments[page.heard..] {
            page.merge(written);
        }
        page.heard = self.segments.len();
    }

    /// The guard's answers are the model's.
    fn check(&self, tab: usize) {
        let page = &self.tabs[tab];
        for item in 0..ITEMS {
            let why = page.guard.explain(name(item), at_ms(self.now_ms));
            let at = match why {
                Some(Explanation::Pending { at } | Explanation::Memory { at }) => Some(at),
                // A snapshot that was used to cover is in use still.
                _ => continue,
            };
            let expected = page.last.get(&item).filter(|(_, _, seen)| *seen).map(|&(_, at, _)| at);
            assert_eq!(at, expected, "{item}");
        }
        for (item, &(_, at, seen)) in &page.last {
            let is_live = self.now_ms < at.saturating_add(WINDOW_MS);
            let is_stopped = page.guard.has(name(*item), at_ms(self.now_ms));
            assert!(!is_live || is_stopped == seen, "{item}");
        }
    }

    /// Everybody has written all.
    fn write_all(&mut self) {
        for tab in 0..self.tabs.len() {
            self.write(tab);
        }
    }

    fn texts(&self) -> Vec<&str> {
        self.segments.iter().map(|(text, _)| text.as_str()).collect()
    }
}

impl Tab {
    fn note(&mut self, item: usize, at: u64, seen: bool) {
        self.counter += 1;
        self.last.insert(item, (self.counter, at, seen));
        self.unwritten.insert(item);
    }

    fn merge(&mut self, other: &Last) {
        for (&item, &theirs) in other {
            self.counter = self.counter.max(theirs.0);
            let mine = self.last.entry(item).or_insert(theirs);
            *mine = theirs.max(*mine);
        }
    }
}

fn cover(guard: &mut Guard, items: &[usize], now: Now) {
    let items: Vec<String> = items.iter().map(|&item| name(item)).collect();
    let shard = shard_of(&items, 1, 0).to_base64().unwrap();
    apply(guard, None, &[shard], now).unwrap();
    // None is in use, so that only the table answers.
    apply(guard, None, &[] as &[&str], now).unwrap();
}

/// All that a guard answers, without what it counts.
#[derive(Debug, PartialEq)]
struct Answers {
    explained: Vec<Option<Explanation>>,
    pending: Vec<String>,
    undelivered: usize,
    to_deliver: Vec<(String, u64)>,
    written: String,
}

/// Of a guard that has loaded these segments, at this time.
fn answers<S: AsRef<[u8]>>(segments: &[S], now_ms: u64) -> Answers {
    let (guard, states) = loaded(segments);
    assert!(states.iter().all(|state| *state == SegmentState::Whole));
    answers_of(guard, segments, now_ms)
}

fn answers_of<S: AsRef<[u8]>>(mut guard: Guard, segments: &[S], now_ms: u64) -> Answers {
    let now = at_ms(now_ms);
    let written = guard.clone().compact(segments, now).unwrap().text;
    let undelivered = guard.undelivered();
    let to_deliver = guard.begin_batch(100, usize::MAX, now).impressions.into_iter();
    Answers {
        explained: names().iter().map(|id| guard.explain(id, now)).collect(),
        pending: guard.pending(usize::MAX, now),
        undelivered,
        to_deliver: to_deliver
            .map(|impression| (impression.id, impression.at.unix_ms()))
            .collect(),
        written,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_tab_answers_as_the_plain_model_does(schedule in schedule(60)) {
        Device::after(&schedule);
    }

    #[test]
    fn merging_is_commutative_associative_and_idempotent(
        schedule in schedule(50),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut device = Device::after(&schedule);
        device.write_all();
        let mut texts = device.texts();
        let in_order = answers(&texts, device.now_ms);
        let again: Vec<&str> = order.iter().filter(|_| !texts.is_empty()).map(|index| *index.get(&texts)).collect();
        texts.extend(&again);
        prop_assert_eq!(&answers(&texts, device.now_ms), &in_order);
        texts.reverse();
        prop_assert_eq!(&answers(&texts, device.now_ms), &in_order);
    }

    #[test]
    fn any_compaction_by_anybody_gives_the_same_answers(
        schedule in schedule(50),
        compactions in prop::collection::vec((any::<prop::sample::Selector>(), 1..4usize, 0..3usize), 0..6),
    ) {
        let mut device = Device::after(&schedule);
        device.write_all();
        // All have heard whether impressions are delivered: who has not drops the texts of what is covered.
        for tab in 0..3 {
            device.hear(tab);
        }
        let mut texts: Vec<String> = device.texts().into_iter().map(String::from).collect();
        let before = answers(&texts, device.now_ms);
        for (selector, count, tab) in compactions {
            let mut chosen = Vec::new();
            for _ in 0..count.min(texts.len()) {
                let index = selector.select(0..texts.len());
                chosen.push(texts.swap_remove(index));
            }
            if !chosen.is_empty() {
                texts.push(device.tabs[tab].guard.compact(&chosen, at_ms(device.now_ms)).unwrap().text);
            }
        }
        // Who compacts may know more of what it read than was written, and no less.
        let after = answers(&texts, device.now_ms);
        prop_assert_eq!(&after, &before);
    }

    #[test]
    fn any_split_into_segments_gives_the_same_answers(
        items in prop::collection::vec((0..ITEMS, any::<bool>()), 1..40),
        writes in prop::collection::vec(any::<bool>(), 40),
    ) {
        let run = |writes: &[bool]| {
            let mut guard = guard_of(WINDOW_DAYS, DEFAULT_REMEMBER);
            let mut segments = Vec::new();
            for (place, &(item, seen)) in items.iter().enumerate() {
                let now = at_ms(START * 1000 + place as u64);
                if seen {
                    guard.record(&[name(item)], now).unwrap();
                } else {
                    guard.unsee(&[name(item)], now).unwrap();
                }
                if writes[place] || place + 1 == items.len() {
                    segments.extend(guard.take_unsaved(true).map(|segment| segment.text));
                }
            }
            answers(&segments, START * 1000 + 100)
        };
        prop_assert_eq!(run(&writes), run(&[false; 40]));
    }

    #[test]
    fn the_highest_by_counter_and_time_stay_whatever_the_clock_does(
        clocks in prop::collection::vec(clock(), 1..120),
        remember in 1..40usize,
    ) {
        let mut guard = guard_of(WINDOW_DAYS, remember);
        for (place, &now_ms) in clocks.iter().enumerate() {
            guard.record(&[name(place)], at_ms(now_ms)).unwrap();
        }
        let segments = guard.take_unsaved(true).map(|segment| segment.text);
        let mut later = Guard::new(WINDOW_DAYS, remember).unwrap();
        later.load(&segments.into_iter().collect::<Vec<_>>(), at(START)).unwrap();
        later.finish_loading();
        for guard in [&guard, &later] {
            for (place, &now_ms) in clocks.iter().enumerate().rev().take(remember) {
                prop_assert!(guard.has(name(place), at_ms(now_ms)));
            }
            prop_assert!(guard.stats(at_ms(0)).remembered <= remember + remember / 10);
        }
    }

    #[test]
    fn an_impression_is_stopped_to_the_last_millisecond_of_its_window_and_no_longer(
        recorded in clock(),
        jumps in prop::collection::vec(clock(), 0..8),
    ) {
        let mut guard = guard_of(WINDOW_DAYS, DEFAULT_REMEMBER);
        guard.record(&["a"], at_ms(recorded)).unwrap();
        for &now_ms in &jumps {
            guard.filter(&["a"], at_ms(now_ms)).unwrap();
            guard.record(&["b"], at_ms(now_ms)).unwrap();
            let segment = guard.take_unsaved(true).unwrap().text;
            guard.merge(&[segment], at_ms(now_ms)).unwrap();
        }
        prop_assert!(guard.has("a", at_ms(recorded + WINDOW_MS - 1)));
        prop_assert!(!guard.has("a", at_ms(recorded + WINDOW_MS)));
    }

    #[test]
    fn a_deletion_reaches_the_same_in_whatever_order_it_is_heard_of(
        before in prop::collection::vec(0..ITEMS, 1..8),
        since in prop::collection::vec(0..ITEMS, 0..8),
        deleted_again in any::<bool>(),
        rotation in 0..6usize,
    ) {
        let mut device = Device::new();
        let record = |device: &mut Device, tab: usize, item: usize| {
            device.now_ms += 1_000;
            device.act(tab, &Action::Record(item));
            device.write(tab);
        };
        for &item in &before {
            record(&mut device, 0, item);
        }
        device.now_ms += 10_000;
        let times = if deleted_again { 2 } else { 1 };
        let seconds = device.now_ms / 1000;
        for time in 0..times {
            delete(&mut device.tabs[1].guard, seconds - 1 + time, device.now_ms);
            device.write(1);
        }
        // Another tab has not heard of it, and this one has; both are right about what came since.
        for (place, &item) in since.iter().enumerate() {
            record(&mut device, 1 + place % 2, item);
        }
        device.write_all();
        let mut texts = device.texts();
        let middle = rotation % texts.len();
        texts.rotate_left(middle);
        let (guard, _) = loaded(&texts);
        let now = at_ms(device.now_ms);
        for item in 0..ITEMS {
            prop_assert_eq!(guard.has(name(item), now), since.contains(&item), "{}", item);
        }
        let forward = answers(&texts, device.now_ms);
        texts.reverse();
        prop_assert_eq!(answers(&texts, device.now_ms).explained, forward.explained);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "SGI1\n[A-Za-z0-9+/=\n]{0,300}") {
        let (mut guard, _) = loaded(&[&bytes[..], text.as_bytes()]);
        guard.record(&["a"], at(START)).unwrap();
        prop_assert!(guard.has("a", at(START)));
    }
}

/// Takes an empty snapshot of a server whose history was deleted at this second.
fn delete(guard: &mut Guard, seconds: u64, now_ms: u64) {
    let snapshot = Snapshot {
        version: None,
        shards: &[] as &[&str],
        format: Format::Native,
        now_ms: Some(now_ms),
        unseen: &[],
        forget_before: Some(seconds as u32),
    };
    guard.apply(snapshot, at_ms(now_ms)).unwrap();
}
