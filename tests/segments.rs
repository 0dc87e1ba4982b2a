//! What a writer stores, and how it comes back: whole, damaged, cut off, of a newer version, hostile, from several
//! writers at once.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::random::Random;
use common::{DAY, START, apply, at, base64_of, bytes_of, cover_all, guard, guard_of, has_all, ids};
use common::{loaded, next_visit, sealed, shard_of, unsaved};
use seenguard::hash::hash_id;
use seenguard::{DEFAULT_REMEMBER, Explanation, Guard, SegmentState, Snapshot};

fn all_pending(guard: &Guard) -> Vec<String> {
    guard.pending(usize::MAX, at(START))
}

// Coming back.

#[test]
fn what_was_recorded_is_written_once() {
    let mut guard = guard();
    assert_eq!(guard.take_unsaved(true), None);
    guard.record(&["a", "b"], at(START)).unwrap();
    assert!(guard.take_unsaved(false).is_some());
    assert_eq!(guard.take_unsaved(true), None);
    guard.filter(&["c"], at(START)).unwrap();
    assert_eq!(guard.take_unsaved(true), None);
}

#[test]
fn what_a_snapshot_covers_is_written_with_the_next_change_or_when_the_page_hides() {
    let covering = |guard: &mut Guard| {
        let shard = shard_of(&["a"], 1, 0).to_base64().unwrap();
        apply(guard, None, &[shard], at(START)).unwrap();
    };
    for with_next_change in [true, false] {
        let mut guard = guard();
        guard.record(&["a"], at(START)).unwrap();
        let mut segments = vec![unsaved(&mut guard)];
        covering(&mut guard);
        assert_eq!(guard.take_unsaved(false), None);
        if with_next_change {
            guard.record(&["b"], at(START)).unwrap();
        }
        segments.push(guard.take_unsaved(!with_next_change).unwrap().text);
        assert_eq!(guard.take_unsaved(true), None);
        assert!(!all_pending(&next_visit(&segments)).contains(&"a".into()));
    }
}

#[test]
fn a_segment_is_ascii_text_and_one_recording_takes_less_than_a_kilobyte() {
    let mut guard = guard();
    guard.record(&["ü", "\0", "", "🦀", "a\nb"], at(START)).unwrap();
    assert!(unsaved(&mut guard).is_ascii());
    guard.record(&["x".repeat(300)], at(START)).unwrap();
    assert!(unsaved(&mut guard).len() < 1_024);
}

#[test]
fn a_segments_level_is_the_logarithm_of_its_recordings_to_the_base_4() {
    for (count, level) in [
        (1, 0),
        (3, 0),
        (4, 1),
        (15, 1),
        (16, 2),
        (64, 3),
        (1_000, 4),
        (4_096, 6),
    ] {
        let mut guard = guard();
        guard.record(&ids("item", 0..count), at(START)).unwrap();
        assert_eq!(guard.take_unsaved(false).unwrap().level, level, "{count}");
    }
}

#[test]
fn a_later_visit_stops_and_holds_pending_what_an_earlier_one_recorded() {
    let strange = ["a", "", "\0", "a\0b", "🦀", "a\nb", "\u{FFFD}"].map(String::from);
    let mut earlier = guard();
    for (second, id) in (0..).zip(&strange) {
        earlier.record(&[id], at(START + second)).unwrap();
    }
    let later = next_visit(&[unsaved(&mut earlier)]);
    assert_eq!(all_pending(&later), strange);
    assert_eq!(
        later.explain(&strange[3], at(START + 100)),
        Some(Explanation::Pending { at: (START + 3) * 1000 })
    );
    assert!(!later.has("b", at(START + 100)));
}

#[test]
fn what_was_covered_when_it_was_recorded_is_remembered_and_not_pending() {
    let mut earlier = guard();
    let shard = shard_of(&["covered"], 1, 0).to_base64().unwrap();
    apply(&mut earlier, None, &[shard], at(START)).unwrap();
    earlier.record(&["covered", "open"], at(START)).unwrap();
    let later = next_visit(&[unsaved(&mut earlier)]);
    assert_eq!(all_pending(&later), ["open"]);
    assert_eq!(
        later.explain("covered", at(START)),
        Some(Explanation::Memory { at: START * 1000 })
    );
}

#[test]
fn segments_and_what_they_are_compacted_to_stand_for_the_same() {
    let mut guard = guard();
    let mut segments = Vec::new();
    for round in 0..20 {
        let now = at(START + round * DAY);
        guard.record(&ids(&format!("round {round}"), 0..30), now).unwrap();
        if round == 10 {
            cover_all(&mut guard, now);
        }
        segments.push(unsaved(&mut guard));
    }
    let now = at(START + 19 * DAY);
    let compacted = guard.compact(&segments, at(START)).unwrap();
    assert_eq!(compacted.level, 4);
    let (from_one, from_all) = (next_visit(&[compacted.text]), next_visit(&segments));
    for later in [&from_one, &from_all] {
        assert_eq!(all_pending(later), all_pending(&guard));
        for round in 0..20 {
            assert!(has_all(later, &ids(&format!("round {round}"), 0..30), now));
        }
    }
}

#[test]
fn a_compaction_by_a_page_that_knows_nothing_of_the_segments_loses_nothing() {
    let (mut left, mut right, mut third) = (guard(), guard(), guard());
    left.record(&ids("left", 0..50), at(START)).unwrap();
    right.record(&ids("right", 0..50), at(START)).unwrap();
    third.record(&["third"], at(START)).unwrap();
    let union = third
        .compact(&[unsaved(&mut left), unsaved(&mut right)], at(START))
        .unwrap()
        .text;
    let later = next_visit(&[union]);
    assert!(has_all(&later, &ids("left", 0..50), at(START)) && has_all(&later, &ids("right", 0..50), at(START)));
    // What is not in the segments has a segment of its own.
    assert!(!later.has("third", at(START)) && third.take_unsaved(false).is_some());
}

#[test]
fn two_writers_that_compact_the_same_at_once_leave_what_either_would_have() {
    let mut guards: Vec<Guard> = (0..2).map(|_| guard()).collect();
    let segments: Vec<String> = (0..4)
        .map(|number| {
            let writer = &mut guards[number % 2];
            writer
                .record(&ids(&format!("segment {number}"), 0..10), at(START))
                .unwrap();
            unsaved(writer)
        })
        .collect();
    let unions: Vec<String> = guards
        .iter_mut()
        .map(|guard| guard.compact(&segments, at(START)).unwrap().text)
        .collect();
    let (once, twice) = (next_visit(&unions[..1]), next_visit(&unions));
    assert_eq!(all_pending(&once), all_pending(&twice));
    assert_eq!(twice.stats(at(START)).remembered, 40);
}

#[test]
fn loading_twice_is_loading_once() {
    let mut earlier = guard();
    earlier.record(&ids("item", 0..500), at(START)).unwrap();
    let segment = unsaved(&mut earlier);
    let twice = next_visit(&[&segment, &segment]);
    assert_eq!(all_pending(&twice), ids("item", 0..500));
    assert_eq!(twice.stats(at(START)).remembered, 500);
}

#[test]
fn an_id_recorded_by_two_writers_is_pending_once_with_the_later_time() {
    let (mut left, mut right) = (guard(), guard());
    left.record(&["both", "left"], at(START)).unwrap();
    right.record(&["both", "right"], at(START + 5)).unwrap();
    let (left, right) = (unsaved(&mut left), unsaved(&mut right));
    for segments in [[&left, &right], [&right, &left]] {
        let union = next_visit(&segments);
        assert_eq!(all_pending(&union).len(), 3);
        assert_eq!(
            union.explain("both", at(START + 9)),
            Some(Explanation::Pending { at: (START + 5) * 1000 })
        );
    }
}

#[test]
fn a_taking_back_counts_although_the_clock_was_set_back_before_it() {
    let mut first = guard();
    first.record(&["a"], at(START + 60)).unwrap();
    let shown = unsaved(&mut first);
    let mut second = next_visit(&[&shown]);
    second.unsee(&["a"], at(START)).unwrap();
    let taken_back = unsaved(&mut second);
    for segments in [[&shown, &taken_back], [&taken_back, &shown]] {
        assert!(!next_visit(&segments).has("a", at(START + 60)));
    }
}

#[test]
fn a_tab_that_hears_of_another_stops_what_that_recorded_and_leaves_storing_it_to_it() {
    let (mut here, mut there) = (guard(), guard());
    there.record(&ids("there", 0..20), at(START)).unwrap();
    assert_eq!(
        here.merge(&[unsaved(&mut there)], at(START)).unwrap(),
        [SegmentState::Whole]
    );
    assert!(has_all(&here, &ids("there", 0..20), at(START)));
    assert_eq!(all_pending(&here), ids("there", 0..20));
    assert_eq!(here.take_unsaved(true), None);
    here.record(&["there-3"], at(START + 1)).unwrap();
    assert!(next_visit(&[unsaved(&mut here)]).has("there-3", at(START + 1)));
}

#[test]
fn record_counts_what_was_not_known_on_this_device() {
    let mut earlier = guard();
    let unknown = |guard: &mut Guard, ids: &[&str]| guard.record(ids, at(START)).unwrap().unknown;
    assert_eq!(unknown(&mut earlier, &["a", "b", "a"]), 2);
    assert_eq!(unknown(&mut earlier, &["a", "c"]), 1);
    let mut later = next_visit(&[unsaved(&mut earlier)]);
    assert_eq!(unknown(&mut later, &["a", "b", "c", "d"]), 1);
    let shard = shard_of(&["server"], 1, 0).to_base64().unwrap();
    apply(&mut later, None, &[shard], at(START)).unwrap();
    assert_eq!(unknown(&mut later, &["server"]), 1);
    assert_eq!(unknown(&mut later, &[]), 0);
}

#[test]
fn what_is_recorded_before_the_storage_has_loaded_is_newer_than_all_that_it_holds() {
    let mut earlier = guard_of(30.0, 100);
    earlier.record(&ids("stored", 0..100), at(START)).unwrap();
    let segment = unsaved(&mut earlier);
    let mut guard = Guard::new(30.0, 100).unwrap();
    guard.record(&ids("early", 0..30), at(START - DAY)).unwrap();
    assert_eq!(guard.take_unsaved(true), None);
    guard.load(&[segment], at(START)).unwrap();
    guard.finish_loading();
    let now = at(START - DAY);
    assert!(has_all(&guard, &ids("early", 0..30), now) && has_all(&guard, &ids("stored", 30..100), now));
    assert!(!guard.has("stored-0", now));
    let later = next_visit(&[unsaved(&mut guard)]);
    assert_eq!(all_pending(&later), ids("early", 0..30));
}

// Clearing.

#[test]
fn what_is_cleared_is_gone() {
    let mut guard = guard();
    let shard = shard_of(&["server"], 1, 0).to_base64().unwrap();
    apply(&mut guard, Some(7), &[shard], at(START)).unwrap();
    guard.record(&["a"], at(START)).unwrap();
    guard.clear(at(START + 1));
    assert_eq!(
        (guard.version(), guard.take_unsaved(true), all_pending(&guard)),
        (None, None, vec![])
    );
    assert_eq!(guard.filter(&["a", "server"], at(START)).unwrap(), [0, 1]);
    let stats = guard.stats(at(START));
    assert_eq!((stats.shards, stats.pending, stats.remembered), (0, 0, 0));
    guard.record(&["b"], at(START + 1)).unwrap();
    assert!(guard.has("b", at(START + 1)));
}

/// A tab that has cleared the namespace at this time, and recorded something a second later: its segment.
fn cleared_at(seconds: u64) -> String {
    let mut tab = guard();
    tab.clear(at(seconds));
    tab.record(&["of the other"], at(seconds + 1)).unwrap();
    unsaved(&mut tab)
}

#[test]
fn what_was_recorded_since_a_clear_elsewhere_stays_and_is_written_anew() {
    let mut guard = guard();
    guard.record(&["before"], at(START)).unwrap();
    guard.record(&["with a clock that was ahead"], at(START + 900)).unwrap();
    guard.record(&["since"], at(START + 10)).unwrap();
    guard.take_unsaved(true);
    guard.merge(&[cleared_at(START + 9)], at(START + 11)).unwrap();
    assert_eq!(guard.clear_number(), (START + 9) * 1000 + 1);
    let later = next_visit(&[unsaved(&mut guard)]);
    assert_eq!(all_pending(&later), ["since"]);
    assert_eq!(all_pending(&guard), ["of the other", "since"]);
}

#[test]
fn of_a_segment_from_before_a_clear_counts_what_was_recorded_since_and_not_later_than_now() {
    let mut tab = guard();
    tab.start_reporting();
    tab.record(&["before"], at(START)).unwrap();
    tab.record(&["since"], at(START + 10)).unwrap();
    tab.record(&["with a clock that was ahead"], at(START + 900)).unwrap();
    let older = unsaved(&mut tab);
    let newer = cleared_at(START + 9);
    for order in [[&older, &newer], [&newer, &older]] {
        let mut guard = guard();
        for segment in order {
            guard.merge(&[segment], at(START + 11)).unwrap();
        }
        let mut pending = all_pending(&guard);
        pending.sort_unstable();
        assert_eq!(pending, ["of the other", "since"]);
        // What was read from the older one is not written anew, and that impressions are delivered still counts.
        let written = guard.take_unsaved(true).map(|segment| next_visit(&[segment.text]));
        assert!(written.is_none_or(|written| !written.has("of the other", at(START + 11))));
    }
}

#[test]
fn whoever_reads_several_segments_learns_of_the_latest_clear_first() {
    let mut tab = guard();
    tab.record(&["before"], at(START)).unwrap();
    let older = unsaved(&mut tab);
    let (guard, _) = loaded(&[older, cleared_at(START + 20), cleared_at(START + 9)]);
    assert_eq!(guard.clear_number(), (START + 20) * 1000 + 1);
    assert_eq!(all_pending(&guard), ["of the other"]);
}

#[test]
fn a_clear_whose_number_is_damaged_clears_nothing() {
    let mut tab = guard();
    tab.record(&["kept"], at(START)).unwrap();
    let older = unsaved(&mut tab);
    let newer = cleared_at(START + 9);
    let line = newer.lines().nth(1).unwrap();
    for place in 0..line.len() {
        let other = if line.as_bytes()[place] == b'A' { "B" } else { "A" };
        let mut damaged = line.to_owned();
        damaged.replace_range(place..place + 1, other);
        let (guard, states) = loaded(&[older.as_str(), &newer.replacen(line, &damaged, 1)]);
        assert_eq!(states, [SegmentState::Whole, SegmentState::Damaged]);
        assert_eq!((guard.clear_number(), guard.has("kept", at(START))), (0, true));
    }
}

#[test]
fn a_clear_is_later_than_the_one_before_whatever_the_clock_says() {
    let mut guard = guard();
    guard.clear(at(START));
    guard.clear(at(START - 60));
    assert_eq!(guard.clear_number(), START * 1000 + 2);
    guard.record(&["a"], at(START - 59)).unwrap();
    let later = next_visit(&[unsaved(&mut guard)]);
    assert!(later.has("a", at(START - 58)));
}

#[test]
fn what_is_recorded_right_after_a_clear_counts_as_recorded_since() {
    let mut tab = guard();
    tab.clear(at(START));
    tab.record(&["in the same millisecond"], at(START)).unwrap();
    let segment = unsaved(&mut tab);
    assert!(next_visit(&[segment]).has("in the same millisecond", at(START + 1)));
}

#[test]
fn a_clear_that_has_not_ended_outlasts_one_by_a_clock_that_is_ahead() {
    let mut guard = guard();
    guard.clear(at(START));
    guard.record(&["since"], at(START + 1)).unwrap();
    guard.merge(&[cleared_at(START + 500)], at(START + 2)).unwrap();
    assert_eq!(guard.clear_number(), (START + 500) * 1000 + 2);
    assert_eq!(all_pending(&guard), ["since"]);
}

#[test]
fn what_was_recorded_before_the_storage_has_loaded_stays_against_a_clear_in_the_future() {
    for (cleared, stays) in [(START + 500, true), (START + 5, false)] {
        let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
        guard.record(&["early"], at(START)).unwrap();
        guard.load(&[cleared_at(cleared)], at(START + 10)).unwrap();
        guard.finish_loading();
        assert_eq!(guard.has("early", at(START + 10)), stays);
    }
}

#[test]
fn what_is_recorded_knowing_of_a_deletion_stays_when_a_clear_is_learned_of() {
    // By a clock that is far behind, a tab takes the deletion for as late as it hears of it.
    let deletion = || Snapshot {
        forget_before: Some(START as u32 + 30 * DAY as u32),
        ..Snapshot::new(&[] as &[&str])
    };
    for cleared in [START, START + 500] {
        let mut other = next_visit(&[&cleared_at(cleared)]);
        other.apply(deletion(), at(START + 20)).unwrap();
        let segment = unsaved(&mut other);

        let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
        guard.apply(deletion(), at(START + 10)).unwrap();
        guard.record(&["a"], at(START + 15)).unwrap();
        guard.load(&[&segment], at(START + 25)).unwrap();
        guard.finish_loading();
        assert!(guard.has("a", at(START + 25)), "{cleared}");
    }
}

#[test]
fn of_two_device_names_in_segments_the_lesser_counts_and_a_clear_has_another() {
    use seenguard::{Operation, Outcome, Storage};
    let named = |seed| {
        let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
        let mut storage = Storage::new("home", 30.0, DEFAULT_REMEMBER, seed);
        storage.begin(true, false, None);
        assert_eq!(
            storage.next(&mut guard, at(START)),
            Operation::List(vec!["seenguard/".into(), "seenguard-stash/".into()])
        );
        storage.complete(&mut guard, storage.operation(), Outcome::Keys(vec![]), at(START));
        storage.next(&mut guard, at(START));
        guard.record(&["a"], at(START)).unwrap();
        guard
    };
    let (mut first, mut second) = (named(1), named(2));
    let names = [first.device_name().unwrap(), second.device_name().unwrap()];
    assert!(names[0] != names[1] && names[0][..4] == names[1][..4] && names.iter().all(|name| name.len() == 12));
    let segments = [unsaved(&mut first), unsaved(&mut second)];
    let least = names.iter().min().cloned();
    assert_eq!(next_visit(&segments).device_name(), least);
    // One that is in no segment yields to any that is.
    let mut third = named(3);
    third.merge(&segments[..1], at(START)).unwrap();
    assert_eq!(third.device_name(), Some(names[0].clone()));
    first.clear(at(START + 1));
    assert_eq!(first.device_name(), None);
    first.merge(&segments, at(START + 2)).unwrap();
    assert_eq!(first.device_name(), None);
}

// Damage.

/// A segment of several chunks, and for each of its lines the ids that are gone when it is gone.
fn segment_of_many_chunks() -> (String, Vec<Vec<String>>) {
    let mut guard = guard();
    let covered = ids("covered", 0..100);
    let shard = shard_of(&covered, 1, 0).to_base64().unwrap();
    apply(&mut guard, None, &[shard], at(START)).unwrap();
    let mut all = ids("an item with a long name to fill more than one chunk", 0..150);
    all.extend(covered);
    guard.record(&all, at(START)).unwrap();
    let text = unsaved(&mut guard);
    let lines: Vec<&str> = text.lines().collect();
    let without = |gone: usize| {
        let rest = (0..lines.len())
            .filter(|&line| line != gone)
            .map(|line| format!("{}\n", lines[line]));
        let (guard, _) = loaded(&[rest.collect::<String>()]);
        all.iter().filter(|id| !guard.has(id, at(START))).cloned().collect()
    };
    let mut held: Vec<Vec<String>> = (0..lines.len()).map(without).collect();
    assert_eq!(held.iter().map(Vec::len).sum::<usize>(), all.len());
    assert!(held.iter().filter(|ids| !ids.is_empty()).count() >= 3);
    held.push(Vec::new());
    (text, held)
}

/// All ids of the lines but those that `lost` tells.
fn ids_but(lines: &[Vec<String>], lost: impl Fn(usize) -> bool) -> Vec<String> {
    let kept = (0..lines.len()).filter(|&line| !lost(line));
    kept.flat_map(|line| lines[line].clone()).collect()
}

#[test]
fn damage_at_any_byte_costs_the_chunk_that_it_hits_alone() {
    let (text, lines) = segment_of_many_chunks();
    let all = ids_but(&lines, |_| false);
    for (place, &byte) in text.as_bytes().iter().enumerate() {
        let line = text[..place].matches('\n').count();
        for damage in [1 << (place % 7), b'!' ^ byte] {
            let mut damaged = text.clone().into_bytes();
            damaged[place] ^= damage;
            let (guard, states) = loaded(&[&damaged]);
            assert_ne!(
                states,
                [SegmentState::Whole],
                "byte {place} becomes {:?}",
                damaged[place]
            );
            // An end of line that is lost makes one line of two.
            let lost = |index: usize| index == line || (byte == b'\n' && index == line + 1);
            let kept = all.iter().filter(|id| guard.has(id, at(START))).count();
            let expected = ids_but(&lines, lost);
            assert!(
                kept == expected.len() || states == [SegmentState::Newer],
                "byte {place}"
            );
        }
    }
}

#[test]
fn a_segment_that_was_cut_off_anywhere_tells_so_and_keeps_what_is_there() {
    let (text, lines) = segment_of_many_chunks();
    let content = text.trim_end().trim_end_matches('=').len();
    for length in 0..content {
        let (guard, states) = loaded(&[&text[..length]]);
        assert_eq!(states, [SegmentState::Damaged], "{length} of {content}");
        let complete = text[..length].matches('\n').count();
        assert!(has_all(&guard, &ids_but(&lines, |line| line >= complete), at(START)));
    }
}

#[test]
fn texts_that_are_no_segments_are_damaged_and_harm_nothing() {
    let texts = [
        "",
        "\n",
        "SGI",
        "SGI1",
        "SGI1\n",
        "SGIx\n",
        "{}",
        "null",
        "\0",
        "🦀\n🦀",
        "SGI1\r\n\r\n",
        "AAAA\nBBBB",
    ];
    for text in texts {
        let (guard, states) = loaded(&[text]);
        assert_eq!(states, [SegmentState::Damaged], "{text:?}");
        assert_eq!(all_pending(&guard).len(), 0);
        assert_eq!(
            self::guard().merge(&[text], at(START)).unwrap(),
            [SegmentState::Damaged]
        );
    }
}

#[test]
fn damage_in_one_segment_leaves_the_others() {
    let (mut left, mut right) = (guard(), guard());
    left.record(&ids("left", 0..50), at(START)).unwrap();
    right.record(&ids("right", 0..50), at(START)).unwrap();
    let (guard, states) = loaded(&[unsaved(&mut left), "rubbish".into(), unsaved(&mut right)]);
    assert_eq!(
        states,
        [SegmentState::Whole, SegmentState::Damaged, SegmentState::Whole]
    );
    assert!(has_all(&guard, &ids("left", 0..50), at(START)) && has_all(&guard, &ids("right", 0..50), at(START)));
}

#[test]
fn a_segment_of_a_newer_version_is_told_and_left_alone() {
    for text in ["SGI2\n", "SGI2\nAAAA\n", "SGI17\nsomething else", "SGI2"] {
        let (guard, states) = loaded(&[text]);
        assert_eq!(states, [SegmentState::Newer], "{text:?}");
        assert_eq!(all_pending(&guard).len(), 0);
        assert_eq!(self::guard().merge(&[text], at(START)).unwrap(), [SegmentState::Newer]);
    }
}

#[test]
fn chunks_of_an_unknown_kind_are_passed_over() {
    let mut guard = guard();
    guard.record(&["a"], at(START)).unwrap();
    let text = unsaved(&mut guard);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.insert(3, chunk(b'z', b"whatever"));
    let later = next_visit(&[lines.join("\n")]);
    assert!(later.has("a", at(START)));
}

// What is hostile: checksums are right, and nothing else.

/// A chunk as the format describes it.
fn chunk(kind: u8, content: &[u8]) -> String {
    base64_of(&sealed([&[kind], content].concat()))
}

/// A number as the format writes it.
fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Numbers that are small, at some edge, or as large as they come.
fn any_number(random: &mut Random) -> Vec<u8> {
    match random.below(6) {
        0 | 1 => number(random.below(300)),
        2 => number((1 << 53) - random.below(3)),
        3 => number(u64::MAX >> random.below(64)),
        4 => vec![0xFF; 1 + random.index(12)],
        _ => number(START * 1000 + random.below(1 << 40)),
    }
}

/// A recording of any flags and numbers, most of which the format allows.
fn any_recording(random: &mut Random) -> Vec<u8> {
    let flags = random.next() as u8 & 0x1F;
    let mut content = vec![flags];
    content.extend(any_number(random));
    content.extend(any_number(random));
    if flags & 8 != 0 {
        let id = random.below(40).to_string();
        let claimed = if random.once_in(10) {
            any_number(random)
        } else {
            number(id.len() as u64)
        };
        content.extend(claimed);
        content.extend(id.bytes());
    } else {
        content.extend(hash_id(random.below(40).to_string().as_bytes(), 0).to_le_bytes());
    }
    if flags & 16 != 0 {
        content.push(*random.pick(&[0, 1, 3, 4, 255]));
        content.extend(any_number(random));
        content.extend(any_number(random));
    }
    content
}

fn any_segment(random: &mut Random) -> String {
    let mut header = any_number(random);
    for _ in 0..4 {
        header.extend(any_number(random));
    }
    let clear = if random.once_in(3) {
        any_number(random)
    } else {
        number(0)
    };
    let mut text = format!("SGI1\n{}\n{}\n", chunk(b'c', &clear), chunk(b'h', &header));
    for _ in 0..random.below(5) {
        let mut content: Vec<u8> = (0..random.below(8)).flat_map(|_| any_recording(random)).collect();
        if random.once_in(8) {
            content = random.bytes(60);
        }
        text += &format!("{}\n", chunk(*random.pick(b"rrrrchz"), &content));
    }
    text
}

/// Everything that a page does with a guard works.
fn use_everything(guard: &mut Guard) {
    let now = at(START);
    guard.start_reporting();
    guard.record(&["x", "y", "3", "7"], now).unwrap();
    guard.unsee(&["y", "5"], now).unwrap();
    assert!(guard.has("x", now) && !guard.has("y", now));
    for later in [0, 60, 3_600, DAY, 4_000 * DAY] {
        let batch = guard.begin_batch(7, 500, at(START + later));
        guard.end_batch(batch.number, later % 7 == 0, at(START + later));
        cover_all(guard, at(START + later));
    }
    guard.filter(&ids("", 0..40), now).unwrap();
    guard.pending_shard(1_000, at(START)).unwrap();
    guard.stats(now);
    let text = unsaved(guard);
    assert_eq!(
        loaded(&[&text]).1,
        [SegmentState::Whole],
        "what it writes can be read: {text}"
    );
}

#[test]
fn segments_that_claim_nonsense_never_panic_and_what_comes_of_them_can_be_written_and_read() {
    let mut random = Random::seeded(11);
    for _ in 0..6_000 {
        let text = any_segment(&mut random);
        let (mut taken, _) = loaded(&[&text]);
        let mut other = guard_of(30.0, 60);
        other.record(&["b", "3"], at(START)).unwrap();
        other.merge(&[&text], at(START)).unwrap();
        let compacted = other.compact(&[&text, &text], at(START)).unwrap().text;
        assert_eq!(loaded(&[&compacted]).1, [SegmentState::Whole]);
        use_everything(&mut taken);
        use_everything(&mut other);
    }
}

#[test]
fn random_bytes_and_mutated_segments_never_panic() {
    let mut random = Random::seeded(12);
    let (text, _) = segment_of_many_chunks();
    for round in 0..3_000 {
        let bytes = if round % 3 == 0 {
            let length = random.index(400);
            random.bytes(length)
        } else {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random.index(4) {
                let place = random.index(bytes.len());
                bytes[place] = random.next() as u8;
            }
            bytes
        };
        let (mut guard, _) = loaded(&[bytes]);
        if round % 10 == 0 {
            use_everything(&mut guard);
        }
    }
}

#[test]
fn the_highest_counter_that_can_be_read_stops_no_later_recording() {
    let mut guard = guard();
    guard.record(&["known"], at(START)).unwrap();
    let content = [
        vec![8],
        number((1 << 53) - 1),
        number(2 * START * 1000),
        number(1),
        b"a".to_vec(),
    ]
    .concat();
    let text = [chunk(b'c', &[0]), chunk(b'h', &[1, 0, 0, 0, 0]), chunk(b'r', &content)].join("\n");
    let text = format!("SGI1\n{text}\n");
    assert_eq!(guard.merge(&[&text], at(START)).unwrap(), [SegmentState::Whole]);
    for second in 1..50 {
        guard
            .record(&ids("later", second..second + 1), at(START + second as u64))
            .unwrap();
    }
    guard.unsee(&["a"], at(START + 60)).unwrap();
    let later = next_visit(&[unsaved(&mut guard), text]);
    assert!(has_all(&later, &ids("later", 1..50), at(START + 60)) && !later.has("a", at(START + 60)));
}

#[test]
fn what_a_wild_clock_leaves_is_written_and_read() {
    let mut random = Random::seeded(5);
    let mut guard = guard();
    let mut segments = Vec::new();
    for part in 0..300 {
        let now = at(random.next() >> (10 + random.below(54)));
        guard.record(&ids(&format!("part {part}"), 0..40), now).unwrap();
        segments.push(unsaved(&mut guard));
    }
    let compacted = guard.compact(&segments, at(START)).unwrap().text;
    assert!(compacted.len() < 150 * DEFAULT_REMEMBER, "{}", compacted.len());
    assert_eq!(all_pending(&next_visit(&[compacted])), all_pending(&guard));
}

#[test]
fn a_chunk_is_what_its_format_says() {
    let mut guard = guard();
    guard.record(&["ab"], at(1)).unwrap();
    let text = unsaved(&mut guard);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "SGI1");
    assert_eq!(bytes_of(lines[1]), sealed(vec![b'c', 0]));
    assert_eq!(bytes_of(lines[2]), sealed(vec![b'h', 1, 0, 0, 0, 0]));
    // Text, counter 1, 1,000 ms as a zigzag, two bytes of an id.
    let recording = [b"r".to_vec(), vec![8, 1], number(2_000), vec![2], b"ab".to_vec()].concat();
    assert_eq!(bytes_of(lines[3]), sealed(recording));
}
