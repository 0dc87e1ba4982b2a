//! The exchange of guard and server besides shards: references, unseen ids, deletions and pending lists.

use crate::common::device::{Device, save};
use crate::common::{START, apply, at, guard, ids, shard_of, shards_in_use};
use seenguard::device::{Guard, NotApplied, Source};
use seenguard::wire::Reference;
use seenguard::{BloomFilter, Format, IdList, Impression, Parameters, Shard, Snapshot, Split, Time};

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

/// An id that the server has made unseen this number of seconds after `START`.
fn unseen(id: &str, seconds: u64) -> Impression {
    Impression {
        id: id.into(),
        at: Time::from_unix_seconds(START + seconds),
    }
}

// References.

#[test]
fn a_reference_stands_for_a_shard_in_use() {
    let mut guard = guard();
    assert_eq!(guard.held(), "");
    let texts = [text_of(&ids("new", 0..9), 2), text_of(&ids("old", 0..9), 1)];
    apply(&mut guard, Some(1), &texts, at(START)).unwrap();
    let names: Vec<String> = texts.iter().map(|text| reference_of(text)[1..].to_owned()).collect();
    assert_eq!(guard.held(), names.join("."));

    let newer = text_of(&ids("newer", 0..9), 3);
    let shipped = [newer.clone(), reference_of(&texts[1])];
    let applied = apply(&mut guard, Some(2), &shipped, at(START)).unwrap();
    assert_eq!(applied.reason, None);
    assert!(
        guard.explain("newer-0", at(START)).is_some()
            && guard.explain("old-0", at(START)).is_some()
            && guard.explain("new-0", at(START)).is_none()
    );
    assert_eq!(guard.held(), format!("{}.{}", &reference_of(&newer)[1..], names[1]));
}

#[test]
fn i2_a_reference_to_an_unknown_shard_changes_nothing() {
    let mut guard = guard();
    guard.record(&["mine"], at(START));
    let [old, other, newest] = [1, 2, 3].map(|epoch| text_of(&ids(&format!("shard {epoch}"), 0..9), epoch));
    apply(&mut guard, Some(5), &[&old], at(START)).unwrap();
    let held = guard.held();
    let missing = [newest, reference_of(&other), reference_of(&old)];
    let applied = apply(&mut guard, Some(6), &missing, at(START)).unwrap();
    assert_eq!(applied.reason, Some(NotApplied::MissingShard));
    assert_eq!(
        (guard.version(), guard.pending(9, at(START))),
        (Some(5), vec!["mine".into()])
    );
    assert!(guard.explain("shard 1-0", at(START)).is_some() && guard.explain("shard 3-0", at(START)).is_none());
    // From here on it requests all shards, until it has applied a snapshot.
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
fn a_shard_that_is_missing_is_reported_before_any_is_read() {
    let mut guard = guard();
    let shards = ["no shard", "~0123456789ab"];
    let applied = apply(&mut guard, None, &shards, at(START)).unwrap();
    assert_eq!(applied.reason, Some(NotApplied::MissingShard));
    for broken in ["~", "~0123456789", "~0123456789AB", "~0123456789abc"] {
        let error = apply(&mut guard, None, &[broken], at(START)).unwrap_err();
        assert_eq!((error.code(), error.shard()), ("bad-base64", Some(0)), "{broken}");
    }
}

#[test]
fn a_reference_is_valid_for_the_format_of_its_shard() {
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

#[test]
fn i2_the_stored_snapshot_is_in_use_until_one_of_this_visit_is_applied() {
    let texts = [text_of(&ids("new", 0..9), 2), text_of(&ids("old", 0..9), 1)];
    let unseen = [unseen("old-3", 5)];
    let mut guard = guard();
    guard.restore(snapshot(&texts, &unseen), at(START + 60)).unwrap();
    assert!(guard.explain("new-0", at(START + 60)).is_some() && guard.explain("old-3", at(START + 60)).is_none());
    assert_eq!(guard.version(), None);
    // The version of a server whose counter has restarted is accepted, and references resolve.
    let shipped = texts.each_ref().map(|text| reference_of(text));
    assert_eq!(
        apply(&mut guard, Some(1), &shipped, at(START + 61)).unwrap().reason,
        None
    );
    apply(&mut guard, Some(2), &shipped[..1], at(START + 62)).unwrap();
    guard.restore(snapshot(&texts, &unseen), at(START + 63)).unwrap();
    assert_eq!((guard.version(), shards_in_use(&guard)), (Some(2), 1));
}

#[test]
fn i2_shards_of_over_half_a_megabyte_are_not_stored() {
    let large = |epoch: u32| {
        let mut filter = BloomFilter::new(Parameters::for_capacity(20_000, 0.001).unwrap(), 0);
        ids(&format!("of {epoch}"), 0..20_000).iter().for_each(|id| {
            filter.insert(id);
        });
        Shard::new(filter, epoch, 0).to_base64().unwrap()
    };
    let texts: Vec<String> = (1..=16).map(large).collect();
    let total = |count: usize| texts[..count].iter().map(String::len).sum::<usize>();
    let fitting = (1..).find(|&count| total(count + 1) > 512 * 1024).unwrap();
    for (count, is_stored) in [(fitting, true), (fitting + 1, false), (0, true)] {
        let mut guard = guard();
        apply(&mut guard, None, &texts[..count], at(START)).unwrap();
        assert_eq!(guard.encoded_shards().is_some(), is_stored);
        if let Some(stored) = guard.encoded_shards() {
            assert!(stored.eq(texts[..count].iter().map(String::as_bytes)));
        }
        assert_eq!(shards_in_use(&guard), count);
    }
}

#[test]
fn i2_a_stored_snapshot_from_before_a_deletion_is_not_applied() {
    let texts = [text_of(&ids("old", 0..9), 1)];
    let of = |forget_before: Option<u64>| Snapshot {
        forget_before: forget_before.map(|seconds| seconds as u32),
        ..snapshot(&texts, &[])
    };
    let mut device = Device::default();
    let mut tab = device.next_visit();
    let deletion = Snapshot {
        shards: &[] as &[&str],
        ..Snapshot::new(&[] as &[&str])
    };
    let deletion = Snapshot {
        forget_before: Some(START as u32),
        ..deletion
    };
    tab.apply(deletion, at(START)).unwrap();
    // These have an earlier snapshot in use, and read the deletion from the storage.
    let (mut applied, mut restored) = (device.next_visit(), device.next_visit());
    apply(&mut applied, Some(7), &texts, at(START)).unwrap();
    restored.restore(of(None), at(START)).unwrap();
    save(&mut tab, &mut device);
    for tab in [&mut applied, &mut restored] {
        assert!(tab.explain("old-0", at(START)).is_some());
        device.load(tab, Source::Row);
        assert!(tab.explain("old-0", at(START)).is_none() && tab.held().is_empty());
    }
    let replica = apply(&mut applied, Some(8), &texts, at(START)).unwrap();
    assert_eq!(replica.reason, Some(NotApplied::OlderVersion));

    let mut later = device.next_visit();
    later.restore(of(Some(START - 1)), at(START)).unwrap();
    assert!(later.explain("old-0", at(START)).is_none());
    later.restore(of(Some(START)), at(START)).unwrap();
    assert!(later.explain("old-0", at(START)).is_some());
}

// Unseen ids of the server.

#[test]
fn i1_an_id_unseen_on_the_server_passes_until_it_is_recorded_again() {
    let mut guard = guard();
    let texts = [text_of(&["theirs".into(), "mine".into()], 1)];
    guard.record(&["mine", "pending"], at(START));
    let unseen = [unseen("theirs", 5), unseen("mine", 5), unseen("pending", 5)];
    guard.apply(snapshot(&texts, &unseen), at(START + 6)).unwrap();
    assert_eq!(guard.filter(&["theirs", "mine", "pending"], at(START + 6)), [0, 1, 2]);
    assert!(guard.explain("theirs", at(START + 6)).is_none());
    assert_eq!(guard.explain("pending", at(START + 6)), None);
    assert_eq!(guard.pending(9, at(START)), [] as [&str; 0]);
    assert!(guard.pending_list(4_000, at(START)).ends_with(".0."));
    assert_eq!(guard.stats(at(START + 6)).pending, 0);

    guard.record(&["mine"], at(START + 7));
    assert!(guard.explain("mine", at(START + 7)).is_some());
    // The shards contain the earlier impression: whether the new one has arrived is not known yet.
    assert_eq!(guard.pending(9, at(START)), ["mine"]);
    let applied = guard.apply(snapshot(&texts, &unseen), at(START + 8)).unwrap();
    assert_eq!((applied.covered, guard.pending(9, at(START))), (0, vec!["mine".into()]));
    assert!(guard.explain("mine", at(START + 8)).is_some() && guard.explain("theirs", at(START + 8)).is_none());
    let applied = guard.apply(snapshot(&texts, &unseen[..1]), at(START + 9)).unwrap();
    assert_eq!(
        (applied.covered, guard.pending(9, at(START))),
        (1, vec!["pending".into()])
    );
}

#[test]
fn i1_a_clock_that_is_off_stops_an_item_rather_than_repeats_it() {
    // The device's clock less the server's, seconds.
    for offset in [-3_600i64, -1, 0, 1, 3_600] {
        let device = |seconds: u64| at((START + seconds).saturating_add_signed(offset));
        let mut guard = guard();
        guard.record(&["before"], device(0));
        guard.record(&["since"], device(11));
        let unseen = [unseen("before", 10), unseen("since", 10)];
        let shipped = Snapshot {
            now_ms: Some((START + 12) * 1000),
            ..snapshot(&[] as &[&str], &unseen)
        };
        guard.apply(shipped, device(12)).unwrap();
        assert!(guard.explain("since", device(12)).is_some(), "{offset}");
        // With a clock that is ahead by more than the elapsed time, the unsee is ignored.
        assert_eq!(guard.explain("before", device(12)).is_some(), offset > 10, "{offset}");
        guard.record(&["before"], device(13));
        assert!(guard.explain("before", device(13)).is_some(), "{offset}");
    }
}

#[test]
fn an_unsee_in_the_future_counts_as_now_and_reaches_no_further_later() {
    let mut guard = guard();
    let unseen = [unseen("a", 3_600)];
    guard.record(&["a"], at(START));
    guard.apply(snapshot(&[] as &[&str], &unseen), at(START + 1)).unwrap();
    assert!(guard.explain("a", at(START + 1)).is_none());
    // At the very moment.
    guard.record(&["a"], at(START + 1));
    assert!(guard.explain("a", at(START + 1)).is_some());
    guard.apply(snapshot(&[] as &[&str], &unseen), at(START + 60)).unwrap();
    assert!(guard.explain("a", at(START + 60)).is_some());
}

#[test]
fn i7_a_snapshot_unsees_at_most_a_thousand_ids() {
    let mut guard = guard();
    let many: Vec<Impression> = (0..1_001).map(|id| unseen(&id.to_string(), 0)).collect();
    apply(&mut guard, Some(1), &[text_of(&["a".into()], 1)], at(START)).unwrap();
    let error = guard.apply(snapshot(&[] as &[&str], &many), at(START)).unwrap_err();
    assert_eq!(error.code(), "bad-snapshot");
    assert!(guard.explain("a", at(START)).is_some() && guard.version() == Some(1));
    guard
        .apply(snapshot(&[] as &[&str], &many[..1_000]), at(START))
        .unwrap();
    let listed: Vec<&str> = many.iter().map(|impression| impression.id.as_str()).collect();
    assert_eq!(guard.unseen(&listed, at(START)), Vec::from_iter(0..1_000));
}

#[test]
fn i1_an_unsee_of_this_device_lasts_until_the_id_is_recorded_again() {
    let mut guard = guard();
    let texts = [text_of(&["a".into()], 1)];
    apply(&mut guard, None, &texts, at(START)).unwrap();
    guard.unsee(&["a"], at(START + 1));
    let mut device = Device::default();
    // Whatever the server lists, and no longer lists.
    for listed in [&[][..], &[unseen("a", 3)], &[]] {
        guard.apply(snapshot(&texts, listed), at(START + 4)).unwrap();
        assert!(guard.explain("a", at(START + 4)).is_none());
        save(&mut guard, &mut device);
        let mut later = device.next_visit();
        apply(&mut later, None, &texts, at(START + 4)).unwrap();
        assert!(later.explain("a", at(START + 4)).is_none());
    }
    guard.record(&["a"], at(START + 5));
    assert!(guard.explain("a", at(START + 5)).is_some());
}

#[test]
fn feeds_are_notified_of_unseen_and_deleted_ids() {
    let mut guard = guard();
    let texts = [text_of(&["server".into(), "stopped".into()], 1)];
    guard.record(&["own", "other"], at(START));
    apply(&mut guard, None, &texts, at(START)).unwrap();
    let all = ["own", "other", "server", "stopped", "fresh"];
    let mut known = guard.unseen_revision();
    let mut is_notified =
        |guard: &Guard| std::mem::replace(&mut known, guard.unseen_revision()) != guard.unseen_revision();
    assert_eq!(guard.unseen(&all, at(START)), [] as [u32; 0]);

    guard.unsee(&["own"], at(START + 1));
    assert!(is_notified(&guard));
    let mut device = Device::default();
    save(&mut guard, &mut device);
    let mut tab = device.next_visit();
    tab.unsee(&["other"], at(START + 2));
    save(&mut tab, &mut device);
    save(&mut guard, &mut device);
    assert!(is_notified(&guard));
    guard
        .apply(snapshot(&texts, &[unseen("server", 0)]), at(START + 3))
        .unwrap();
    assert!(is_notified(&guard));
    assert_eq!(guard.unseen(&all, at(START + 3)), [0, 1, 2]);
    guard
        .apply(snapshot(&texts, &[unseen("server", 0)]), at(START + 4))
        .unwrap();
    guard.filter(&all, at(START + 4));
    assert!(!is_notified(&guard));
    let deletion = Snapshot {
        forget_before: Some(START as u32 + 5),
        ..snapshot(&[] as &[&str], &[])
    };
    guard.apply(deletion, at(START + 5)).unwrap();
    assert!(is_notified(&guard));
    assert_eq!(guard.unseen(&all, at(START + 5)), [0, 1, 2, 3, 4]);
}

#[test]
fn feeds_are_notified_of_an_unsee_again_after_the_window() {
    let mut guard = guard();
    guard.record(&["a"], at(START));
    let mut device = Device::default();
    save(&mut guard, &mut device);
    let mut tab = device.next_visit();
    tab.unsee(&["a"], at(START + 1));
    save(&mut tab, &mut device);
    save(&mut guard, &mut device);
    // A feed that filters now gets no unseen id: it has expired.
    let later = START + 31 * 86_400;
    assert_eq!(guard.unseen(&["a"], at(later)), [] as [u32; 0]);
    let known = guard.unseen_revision();

    tab.unsee(&["a"], at(later));
    save(&mut tab, &mut device);
    save(&mut guard, &mut device);
    assert_ne!(guard.unseen_revision(), known);
    assert_eq!(guard.unseen(&["a"], at(later)), [0]);
}

#[test]
fn the_later_time_counts_for_an_unseen_id_that_is_listed_twice() {
    let texts = [text_of(&["a".into()], 1)];
    for times in [[5, 10], [10, 5]] {
        let mut guard = guard();
        guard.record(&["a"], at(START + 8));
        let listed = times.map(|seconds| unseen("a", seconds));
        guard.apply(snapshot(&texts, &listed), at(START + 11)).unwrap();
        assert!(guard.explain("a", at(START + 11)).is_none(), "{times:?}");
    }
}

// The order of seen items.

#[test]
fn items_seen_longest_ago_come_first() {
    let mut guard = guard();
    for (second, id) in ["c", "a", "b"].iter().enumerate() {
        guard.record(&[id], at(START + second as u64));
    }
    let texts = [("new", 2), ("old", 1)].map(|(prefix, epoch)| text_of(&ids(prefix, 0..2), epoch));
    apply(&mut guard, None, &texts, at(START + 9)).unwrap();
    let list = [
        "a", "new-0", "1", "b", "old-1", "a", "2", "c", "old-0", "1", "new-1", "new-0",
    ];
    let Split { fresh, seen } = guard.split(&list, at(START + 9));
    assert_eq!(fresh, guard.filter(&list, at(START + 9)));
    let seen: Vec<&str> = seen.into_iter().map(|index| list[index as usize]).collect();
    assert_eq!(seen, ["old-1", "old-0", "new-0", "new-1", "c", "a", "b"]);
    assert_eq!(fresh, [2, 6]);
}
