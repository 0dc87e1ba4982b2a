//! What the guard and the server exchange beside shards: references, what was taken back, and lists of what was seen.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::{START, apply, at, guard, ids, next_visit, shard_of, unsaved};
use seenguard::wire::Reference;
use seenguard::{
    BloomFilter, DEFAULT_REMEMBER, Explanation, Format, Guard, IdList, Impression, ItemIds, NotApplied, Parameters,
    Received, Shard, Snapshot, Split, Time,
};

fn text_of(ids: &[String], epoch: u32) -> String {
    shard_of(ids, epoch, 0).to_base64().unwrap()
}

fn reference_of(text: &str) -> String {
    Reference::of(Format::Native, text.as_bytes()).to_element()
}

/// A snapshot of native shards.
fn snapshot<'a, L: IdList + ?Sized>(shards: &'a L, unseen: &'a [Impression]) -> Snapshot<'a, L> {
    Snapshot {
        unseen,
        ..Snapshot::new(shards)
    }
}

/// An id that the server has taken back so many seconds after `START`.
fn taken_back(id: &str, seconds: u64) -> Impression {
    Impression {
        id: id.into(),
        at: Time::from_unix_seconds(START + seconds),
    }
}

// References.

#[test]
fn a_reference_stands_for_a_shard_that_is_held() {
    let mut guard = guard();
    assert_eq!(guard.held(), "");
    let texts = [text_of(&ids("new", 0..9), 2), text_of(&ids("old", 0..9), 1)];
    apply(&mut guard, Some(1), &texts, at(START)).unwrap();
    let names: Vec<String> = texts.iter().map(|text| reference_of(text)[1..].to_owned()).collect();
    assert_eq!(guard.held(), names.join("."));

    let newer = text_of(&ids("newer", 0..9), 3);
    let shipped = [newer.clone(), reference_of(&texts[1])];
    let applied = apply(&mut guard, Some(2), &shipped, at(START)).unwrap();
    assert_eq!((applied.reason, applied.shards, applied.reused), (None, 2, 1));
    assert!(guard.has("newer-0", at(START)) && guard.has("old-0", at(START)) && !guard.has("new-0", at(START)));
    assert_eq!(guard.held(), format!("{}.{}", &reference_of(&newer)[1..], names[1]));
    let brought = texts[0].len() + texts[1].len() + newer.len() + shipped[1].len();
    let received = guard.stats(at(START)).received;
    assert_eq!(
        (received.characters, received.spared),
        (brought as u64, texts[1].len() as u64)
    );
}

#[test]
fn a_reference_to_a_shard_that_is_not_held_leaves_everything_as_it_is() {
    let mut guard = guard();
    guard.record(&["mine"], at(START)).unwrap();
    let [old, other, newest] = [1, 2, 3].map(|epoch| text_of(&ids(&format!("shard {epoch}"), 0..9), epoch));
    apply(&mut guard, Some(5), &[&old], at(START)).unwrap();
    let held = guard.held();
    let missing = [newest, reference_of(&other), reference_of(&old)];
    let applied = apply(&mut guard, Some(6), &missing, at(START)).unwrap();
    assert_eq!((applied.reason, applied.shards), (Some(NotApplied::MissingShard), 1));
    assert_eq!(
        (guard.version(), guard.pending(9, at(START))),
        (Some(5), vec!["mine".into()])
    );
    assert!(guard.has("shard 1-0", at(START)) && !guard.has("shard 3-0", at(START)));
    // From here on it asks for all shards, until it has taken a snapshot.
    assert_eq!(guard.held(), "");
    let older = apply(&mut guard, Some(4), &missing, at(START)).unwrap();
    assert_eq!(
        (older.reason, guard.held()),
        (Some(NotApplied::OlderVersion), String::new())
    );
    apply(&mut guard, Some(6), &[&old], at(START)).unwrap();
    assert_eq!(guard.held(), held);
}

#[test]
fn what_is_wrong_with_another_shard_is_told_before_one_that_is_missing() {
    let mut guard = guard();
    let shards = ["~0123456789ab".to_owned(), "no shard".to_owned()];
    let error = apply(&mut guard, None, &shards, at(START)).unwrap_err();
    assert_eq!((error.code(), error.shard()), ("bad-base64", Some(1)));
    for broken in ["~", "~0123456789", "~0123456789AB", "~0123456789abc"] {
        let error = apply(&mut guard, None, &[broken], at(START)).unwrap_err();
        assert_eq!((error.code(), error.shard()), ("bad-base64", Some(0)), "{broken}");
    }
}

#[test]
fn two_equal_references_stand_for_one_shard_twice() {
    let mut guard = guard();
    let text = text_of(&ids("item", 0..9), 1);
    apply(&mut guard, None, &[&text], at(START)).unwrap();
    let twice = [reference_of(&text), reference_of(&text)];
    let applied = apply(&mut guard, None, &twice, at(START)).unwrap();
    assert_eq!((applied.shards, applied.reused), (2, 2));
    let applied = apply(&mut guard, None, &[&twice[0], &text, &twice[0]], at(START)).unwrap();
    assert_eq!((applied.shards, applied.reused), (3, 3));
    assert!(guard.has("item-0", at(START)));
    apply(&mut guard, None, &[] as &[&str], at(START)).unwrap();
    assert!(!guard.has("item-0", at(START)));
    let applied = apply(&mut guard, None, &twice, at(START)).unwrap();
    assert_eq!(applied.reason, Some(NotApplied::MissingShard));
}

#[test]
fn a_reference_is_of_the_format_that_the_shard_came_in() {
    let mut guard = guard();
    let text = text_of(&ids("item", 0..9), 1);
    apply(&mut guard, None, &[&text], at(START)).unwrap();
    let reference = [reference_of(&text)];
    let other = Snapshot {
        format: Format::Guava,
        ..snapshot(&reference, &[])
    };
    assert_eq!(
        guard.apply(other, at(START)).unwrap().reason,
        Some(NotApplied::MissingShard)
    );
}

// The snapshot of an earlier visit.

/// The snapshot in use at a time as it is stored.
fn stored(guard: &Guard, seconds: u64) -> String {
    guard.stored_snapshot(at(seconds)).expect("it is short enough")
}

#[test]
fn the_snapshot_of_the_last_visit_stops_what_it_did_until_one_of_this_visit_is_taken() {
    let texts = [text_of(&ids("new", 0..9), 2), text_of(&ids("old", 0..9), 1)];
    let unseen = [taken_back("old-3", 5)];
    let mut before = guard();
    let first = Snapshot {
        version: Some(9),
        ..snapshot(&texts, &unseen)
    };
    before.apply(first, at(START + 50)).unwrap();
    let stored = stored(&before, START + 55);

    let mut guard = guard();
    guard.restore(&stored, at(START + 60)).unwrap();
    assert!(guard.has("new-0", at(START + 60)) && !guard.has("old-3", at(START + 60)));
    assert_eq!(
        (guard.version(), guard.stats(at(START + 60)).received),
        (None, Received::default())
    );
    // A server whose counter starts again is believed, and needs not send what is held.
    let shipped = [reference_of(&texts[0]), reference_of(&texts[1])];
    assert_eq!(guard.held(), before.held());
    assert_eq!(apply(&mut guard, Some(1), &shipped, at(START + 61)).unwrap().reused, 2);
    apply(&mut guard, Some(2), &shipped[..1], at(START + 62)).unwrap();
    guard.restore(&stored, at(START + 63)).unwrap();
    assert_eq!((guard.version(), guard.shards()), (Some(2), 1));
}

#[test]
fn a_guard_without_a_snapshot_stores_none() {
    assert_eq!(guard().stored_snapshot(at(START)), None);
    let mut guard = guard();
    apply(&mut guard, Some(1), &[] as &[&str], at(START)).unwrap();
    assert_eq!(guard.stored_snapshot(at(START)), None);
}

#[test]
fn shards_of_over_half_a_megabyte_are_not_stored() {
    let large = |epoch: u32| {
        let mut filter = BloomFilter::new(Parameters::for_capacity(20_000, 0.001).unwrap(), 0);
        ids(&format!("of {epoch}"), 0..20_000).iter().for_each(|id| {
            filter.insert(id);
        });
        Shard::new(filter, epoch, 0).to_base64().unwrap()
    };
    let texts: Vec<String> = (1..=16).map(large).collect();
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    let fitting = (1..)
        .find(|&count| lengths[..count + 1].iter().sum::<usize>() > 512 * 1024)
        .unwrap();
    for (count, is_stored) in [(fitting, true), (fitting + 1, false), (fitting, true)] {
        let mut guard = guard();
        apply(&mut guard, None, &texts[..count], at(START)).unwrap();
        assert_eq!(guard.stored_snapshot(at(START)).is_some(), is_stored);
        let held = Reference::split(&guard.held()).len();
        assert_eq!(held, count);
    }
}

#[test]
fn shards_that_the_storage_has_damaged_are_not_held() {
    let texts = [3, 2, 1].map(|epoch| text_of(&ids(&format!("shard {epoch}"), 0..9), epoch));
    let mut before = guard();
    apply(&mut before, None, &texts, at(START)).unwrap();
    let names: Vec<String> = before.held().split('.').map(str::to_owned).collect();
    let whole = stored(&before, START);
    for damaged in [vec![], vec![1], vec![0, 2], vec![0, 1, 2]] {
        let mut text = whole.clone();
        for &shard in &damaged {
            text = text.replacen(&texts[shard], &texts[shard].replacen('A', "B", 1), 1);
        }
        let mut later = guard();
        later.restore(&text, at(START)).unwrap();
        let expected: Vec<String> = (0..3)
            .filter(|shard| !damaged.contains(shard))
            .map(|shard| names[shard].clone())
            .collect();
        assert_eq!(later.held(), expected.join("."));
        assert_eq!(later.has("shard 2-0", at(START)), !damaged.contains(&1));
    }
}

#[test]
fn a_stored_snapshot_that_is_damaged_elsewhere_changes_nothing() {
    let mut before = guard();
    let unseen = [taken_back("a", 5)];
    let texts = [text_of(&ids("a", 0..2), 1)];
    before.apply(snapshot(&texts, &unseen), at(START)).unwrap();
    let whole = stored(&before, START);
    let shards = whole.len() - texts[0].len();
    for place in 0..shards {
        let other = if whole.as_bytes()[place] == b'A' { "B" } else { "A" };
        let mut text = whole.clone();
        text.replace_range(place..place + 1, other);
        let mut later = guard();
        let restored = later.restore(&text, at(START));
        assert!(restored.is_err() && later.shards() == 0, "{place}");
    }
    for length in 0..whole.len() {
        let mut later = guard();
        assert!(
            later.restore(&whole[..length], at(START)).is_err() && later.shards() == 0,
            "{length}"
        );
    }
}

#[test]
fn a_snapshot_from_before_a_deletion_is_not_taken_over() {
    let texts = [text_of(&ids("old", 0..9), 1)];
    let stored = |forget_before| {
        let mut guard = guard();
        let snapshot = Snapshot {
            forget_before,
            ..snapshot(&texts, &[])
        };
        guard.apply(snapshot, at(START)).unwrap();
        stored(&guard, START)
    };
    let deletion = |seconds: u64| Snapshot {
        forget_before: Some(seconds as u32),
        ..snapshot(&[] as &[&str], &[])
    };
    let mut writer = guard();
    writer.apply(deletion(START), at(START)).unwrap();
    let segment = unsaved(&mut writer);
    let mut later = next_visit(&[&segment]);
    later.restore(&stored(Some(START as u32 - 1)), at(START)).unwrap();
    assert!(!later.has("old-0", at(START)));
    later.restore(&stored(Some(START as u32)), at(START)).unwrap();
    assert!(later.has("old-0", at(START)));

    // Another tab hears of it first: the snapshot that is in use here is from before.
    let mut tab = guard();
    apply(&mut tab, Some(7), &texts, at(START)).unwrap();
    tab.merge(&[&segment], at(START)).unwrap();
    assert!(!tab.has("old-0", at(START)) && tab.held().is_empty());
    let replica = apply(&mut tab, Some(8), &texts, at(START)).unwrap();
    assert_eq!(replica.reason, Some(NotApplied::OlderVersion));

    // The same of one that was stored, before a response has come.
    let mut early = guard();
    early.restore(&stored(None), at(START)).unwrap();
    assert!(early.has("old-0", at(START)));
    early.merge(&[&segment], at(START)).unwrap();
    assert!(!early.has("old-0", at(START)) && early.held().is_empty());
}

// What the server has taken back.

#[test]
fn what_the_server_has_taken_back_passes_until_it_is_recorded_again() {
    let mut guard = guard();
    let texts = [text_of(&["theirs".into(), "mine".into()], 1)];
    guard.record(&["mine", "pending"], at(START)).unwrap();
    let unseen = [taken_back("theirs", 5), taken_back("mine", 5), taken_back("pending", 5)];
    guard.apply(snapshot(&texts, &unseen), at(START + 6)).unwrap();
    assert_eq!(
        guard.filter(&["theirs", "mine", "pending"], at(START + 6)).unwrap(),
        [0, 1, 2]
    );
    assert!(!guard.has("theirs", at(START + 6)));
    assert_eq!(guard.explain("pending", at(START + 6)), None);
    assert_eq!(guard.pending(9, at(START)), [] as [&str; 0]);
    assert_eq!(guard.pending_shard(usize::MAX, at(START)).unwrap(), None);
    let stats = guard.stats(at(START + 6));
    assert_eq!((stats.unseen, stats.pending), (3, 0));

    guard.record(&["mine"], at(START + 7)).unwrap();
    assert!(guard.has("mine", at(START + 7)));
    // The shards contain it from before: whether the server has learnt of it again is not known yet.
    assert_eq!(guard.pending(9, at(START)), ["mine"]);
    let applied = guard.apply(snapshot(&texts, &unseen), at(START + 8)).unwrap();
    assert_eq!((applied.covered, guard.pending(9, at(START))), (0, vec!["mine".into()]));
    assert!(guard.has("mine", at(START + 8)) && !guard.has("theirs", at(START + 8)));
    let applied = guard.apply(snapshot(&texts, &unseen[..1]), at(START + 9)).unwrap();
    assert_eq!(
        (applied.covered, guard.pending(9, at(START))),
        (1, vec!["pending".into()])
    );
}

#[test]
fn a_clock_that_is_off_stops_an_item_rather_than_repeats_it() {
    // The device's clock less the server's, seconds.
    for offset in [-3_600i64, -1, 0, 1, 3_600] {
        let device = |seconds: u64| at((START + seconds).saturating_add_signed(offset));
        let mut guard = guard();
        guard.record(&["before"], device(0)).unwrap();
        guard.record(&["since"], device(11)).unwrap();
        let unseen = [taken_back("before", 10), taken_back("since", 10)];
        let shipped = Snapshot {
            now_ms: Some((START + 12) * 1000),
            ..snapshot(&[] as &[&str], &unseen)
        };
        guard.apply(shipped, device(12)).unwrap();
        assert!(guard.has("since", device(12)), "{offset}");
        // With a clock that is ahead by more than has passed since, the taking back is not believed.
        assert_eq!(guard.has("before", device(12)), offset > 10, "{offset}");
        guard.record(&["before"], device(13)).unwrap();
        assert!(guard.has("before", device(13)), "{offset}");
    }
}

#[test]
fn a_taking_back_in_the_future_counts_as_now_and_reaches_no_further_later() {
    let mut guard = guard();
    let unseen = [taken_back("a", 3_600)];
    guard.record(&["a"], at(START)).unwrap();
    guard.apply(snapshot(&[] as &[&str], &unseen), at(START + 1)).unwrap();
    assert!(!guard.has("a", at(START + 1)));
    // At the very moment.
    guard.record(&["a"], at(START + 1)).unwrap();
    assert!(guard.has("a", at(START + 1)));
    guard.apply(snapshot(&[] as &[&str], &unseen), at(START + 60)).unwrap();
    assert!(guard.has("a", at(START + 60)));
}

#[test]
fn a_snapshot_takes_back_at_most_a_thousand_ids() {
    let mut guard = guard();
    let many: Vec<Impression> = (0..1_001).map(|id| taken_back(&id.to_string(), 0)).collect();
    apply(&mut guard, Some(1), &[text_of(&["a".into()], 1)], at(START)).unwrap();
    let error = guard.apply(snapshot(&[] as &[&str], &many), at(START)).unwrap_err();
    assert_eq!(error.code(), "bad-snapshot");
    assert!(guard.has("a", at(START)) && guard.version() == Some(1));
    guard
        .apply(snapshot(&[] as &[&str], &many[..1_000]), at(START))
        .unwrap();
    assert_eq!(guard.stats(at(START)).unseen, 1_000);
}

#[test]
fn a_taking_back_of_this_device_ends_when_the_server_has_listed_it_and_does_so_no_longer() {
    let mut guard = guard();
    let texts = [text_of(&["a".into(), "b".into()], 1)];
    apply(&mut guard, None, &texts, at(START)).unwrap();
    guard.unsee(&["a", "b"], at(START + 1)).unwrap();
    // The server does not know of it yet.
    apply(&mut guard, None, &texts, at(START + 2)).unwrap();
    assert!(!guard.has("a", at(START + 2)));
    let listed = [taken_back("a", 3), taken_back("b", 3)];
    guard.apply(snapshot(&texts, &listed), at(START + 4)).unwrap();
    assert!(!guard.has("a", at(START + 4)));
    // Seen again on another device.
    guard.apply(snapshot(&texts, &listed[1..]), at(START + 5)).unwrap();
    assert!(guard.has("a", at(START + 5)) && !guard.has("b", at(START + 5)));
    let mut later = next_visit(&[unsaved(&mut guard)]);
    apply(&mut later, None, &texts, at(START + 6)).unwrap();
    assert!(later.has("a", at(START + 6)) && !later.has("b", at(START + 6)));
}

#[test]
fn it_ends_so_too_if_the_storage_had_not_loaded_when_the_server_listed_it() {
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
    let texts = [text_of(&["a".into()], 1)];
    guard.unsee(&["a"], at(START)).unwrap();
    guard
        .apply(snapshot(&texts, &[taken_back("a", 1)]), at(START + 2))
        .unwrap();
    guard.finish_loading();
    assert!(!guard.has("a", at(START + 3)));
    guard.apply(snapshot(&texts, &[]), at(START + 4)).unwrap();
    assert!(guard.has("a", at(START + 4)));
}

#[test]
fn a_newer_taking_back_of_this_device_does_not_end_with_an_older_one() {
    let mut guard = guard();
    let texts = [text_of(&["a".into()], 1)];
    guard.unsee(&["a"], at(START)).unwrap();
    let listed = [taken_back("a", 1)];
    guard.apply(snapshot(&texts, &listed), at(START + 2)).unwrap();
    guard.record(&["a"], at(START + 3)).unwrap();
    guard.unsee(&["a"], at(START + 4)).unwrap();
    guard.apply(snapshot(&texts, &listed), at(START + 5)).unwrap();
    // The server has learnt of the recording in between, and not of what was taken back since.
    guard.apply(snapshot(&texts, &[]), at(START + 6)).unwrap();
    assert!(!guard.has("a", at(START + 6)));
}

#[test]
fn feeds_hear_of_what_was_taken_back_and_forgotten() {
    let mut guard = guard();
    let texts = [text_of(&["server".into(), "stopped".into()], 1)];
    guard.record(&["own", "other"], at(START)).unwrap();
    apply(&mut guard, None, &texts, at(START)).unwrap();
    let all = ["own", "other", "server", "stopped", "fresh"];
    let mut known = guard.unseen_revision();
    let mut hears = |guard: &Guard| std::mem::replace(&mut known, guard.unseen_revision()) != guard.unseen_revision();
    assert_eq!(guard.taken_back(&all, at(START)).unwrap(), [] as [u32; 0]);

    guard.unsee(&["own"], at(START + 1)).unwrap();
    assert!(hears(&guard));
    let mut tab = next_visit(&[unsaved(&mut guard)]);
    tab.unsee(&["other"], at(START + 2)).unwrap();
    guard.merge(&[unsaved(&mut tab)], at(START)).unwrap();
    assert!(hears(&guard));
    guard
        .apply(snapshot(&texts, &[taken_back("server", 0)]), at(START + 3))
        .unwrap();
    assert!(hears(&guard));
    assert_eq!(guard.taken_back(&all, at(START + 3)).unwrap(), [0, 1, 2]);
    guard
        .apply(snapshot(&texts, &[taken_back("server", 0)]), at(START + 4))
        .unwrap();
    guard.filter(&all, at(START + 4)).unwrap();
    assert!(!hears(&guard));
    let deletion = Snapshot {
        forget_before: Some(START as u32 + 5),
        ..snapshot(&[] as &[&str], &[])
    };
    guard.apply(deletion, at(START + 5)).unwrap();
    assert!(hears(&guard));
    assert_eq!(guard.taken_back(&all, at(START + 5)).unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn feeds_hear_of_what_was_taken_back_once_more_after_the_window() {
    let mut guard = guard();
    guard.record(&["a"], at(START)).unwrap();
    let mut tab = next_visit(&[unsaved(&mut guard)]);
    tab.unsee(&["a"], at(START + 1)).unwrap();
    guard.merge(&[unsaved(&mut tab)], at(START + 1)).unwrap();
    // A feed that asks now is told of nothing: it has expired.
    let later = START + 31 * 86_400;
    assert_eq!(guard.taken_back(&["a"], at(later)).unwrap(), [] as [u32; 0]);
    let known = guard.unseen_revision();

    tab.unsee(&["a"], at(later)).unwrap();
    guard.merge(&[unsaved(&mut tab)], at(later)).unwrap();
    assert_ne!(guard.unseen_revision(), known);
    assert_eq!(guard.taken_back(&["a"], at(later)).unwrap(), [0]);
}

#[test]
fn of_an_id_that_is_listed_twice_the_later_time_counts() {
    let texts = [text_of(&["a".into()], 1)];
    for times in [[5, 10], [10, 5]] {
        let mut guard = guard();
        guard.record(&["a"], at(START + 8)).unwrap();
        let listed = times.map(|seconds| taken_back("a", seconds));
        guard.apply(snapshot(&texts, &listed), at(START + 11)).unwrap();
        assert!(!guard.has("a", at(START + 11)), "{times:?}");
    }
}

#[test]
fn what_the_server_has_decided_since_it_was_taken_back_is_not_decided_anew() {
    let mut guard = guard();
    let texts = [text_of(&["a".into(), "b".into()], 1)];
    guard.unsee(&["a", "b"], at(START)).unwrap();
    let listed = [taken_back("a", 0), taken_back("b", 0)];
    guard.apply(snapshot(&texts, &listed), at(START + 1)).unwrap();
    // Seen again on another device; then the store loses everything.
    guard.apply(snapshot(&texts, &listed[1..]), at(START + 2)).unwrap();
    assert!(guard.has("a", at(START + 2)));
    let flushed = snapshot(&[] as &[&str], &listed[1..]);
    guard.apply(flushed, at(START + 3)).unwrap();
    assert!(!guard.has("a", at(START + 3)));
    assert_eq!(guard.taken_back(&["a", "b"], at(START + 3)).unwrap(), [1]);
}

// Several ids an item, and what was seen longest ago.

fn items(items: &[&[&'static str]]) -> ItemIds<&'static str> {
    items.iter().map(|ids| ids.iter().copied()).collect()
}

#[test]
fn an_item_is_stopped_by_any_of_its_ids() {
    let mut guard = guard();
    apply(&mut guard, None, &[text_of(&["server".into()], 1)], at(START)).unwrap();
    guard.record(&["mine"], at(START)).unwrap();
    let list = items(&[
        &["1", "mine"],
        &["2", "server"],
        &["3", "4"],
        &["1"],
        &["5", "4"],
        &["5"],
        &["mine"],
        &["6", "6"],
    ]);
    // The first and the fifth are not kept, so their other ids make nothing a duplicate.
    assert_eq!(guard.filter(&list, at(START)).unwrap(), [2, 3, 5, 7]);
    let filtered = guard.stats(at(START)).filtered;
    assert_eq!(
        (filtered.passed, filtered.pending, filtered.server, filtered.duplicate),
        (4, 2, 1, 1)
    );
}

#[test]
fn what_was_seen_longest_ago_comes_first() {
    let mut guard = guard();
    for (second, id) in ["c", "a", "b"].iter().enumerate() {
        guard.record(&[id], at(START + second as u64)).unwrap();
    }
    let texts = [("new", 2), ("old", 1)].map(|(prefix, epoch)| text_of(&ids(prefix, 0..2), epoch));
    apply(&mut guard, None, &texts, at(START + 9)).unwrap();
    let list = [
        "a", "new-0", "1", "b", "old-1", "a", "2", "c", "old-0", "1", "new-1", "new-0",
    ];
    let Split { fresh, seen } = guard.split(&list, at(START + 9)).unwrap();
    assert_eq!(fresh, guard.filter(&list, at(START + 9)).unwrap());
    let seen: Vec<&str> = seen.into_iter().map(|index| list[index as usize]).collect();
    assert_eq!(seen, ["old-1", "old-0", "new-0", "new-1", "c", "a", "b"]);
    assert_eq!(fresh, [2, 6]);
}

#[test]
fn an_item_with_several_ids_counts_by_the_one_seen_latest() {
    let mut guard = guard();
    guard.record(&["early"], at(START)).unwrap();
    guard.record(&["late"], at(START + 5)).unwrap();
    apply(
        &mut guard,
        None,
        &[text_of(&["server".into(), "server, too".into()], 1)],
        at(START + 9),
    )
    .unwrap();
    let list = items(&[
        &["1", "late", "server"],
        &["2", "early"],
        &["3", "server, too"],
        &["fresh", "other"],
        &["4", "other"],
        &["5", "early", "fresh"],
        &["2", "6", "late"],
    ]);
    let Split { fresh, seen } = guard.split(&list, at(START + 9)).unwrap();
    // The fifth is a duplicate of the fourth, which is fresh; the sixth and the last have ids of items before them.
    assert_eq!((fresh, seen), (vec![3], vec![2, 1, 0]));
    assert_eq!(
        guard.explain("late", at(START + 9)),
        Some(Explanation::Pending { at: (START + 5) * 1000 })
    );
}
