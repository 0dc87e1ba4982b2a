//! What a writer stores, and how it comes back: whole, damaged, cut off, of a newer version, from several writers at
//! once.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::random::Random;
use common::{DAY, START, apply, at, base64_of, cover_all, ids, shard_of};
use seenguard::hash::hash_id;
use seenguard::{Explanation, Guard, SegmentState};
use seenguard::{MAX_BITS, Now};

fn guard() -> Guard {
    Guard::new(30.0).unwrap()
}

/// A guard that has taken over these segments, each of a writer of its own.
fn taken_over<S: AsRef<str>>(segments: &[S], now: Now) -> (Guard, Vec<SegmentState>) {
    let mut guard = guard();
    let writers: Vec<String> = (0..segments.len()).map(|index| format!("writer-{index}")).collect();
    let segments: Vec<(&str, &str)> = writers
        .iter()
        .zip(segments)
        .map(|(writer, text)| (&**writer, text.as_ref()))
        .collect();
    let states = guard.take_over(&segments, now);
    (guard, states)
}

fn restored<S: AsRef<str>>(segments: &[S], now: Now) -> Guard {
    let (guard, states) = taken_over(segments, now);
    assert!(states.iter().all(|state| *state == SegmentState::Whole), "{states:?}");
    guard
}

fn all_pending(guard: &Guard) -> Vec<String> {
    guard.pending(usize::MAX)
}

fn has_all(guard: &Guard, ids: &[String], now: Now) -> bool {
    ids.iter().all(|id| guard.has(id, now))
}

// Coming back.

#[test]
fn what_was_recorded_is_written_once() {
    let mut guard = guard();
    assert_eq!(guard.take_unsaved(), None);
    guard.record(&["a", "b"], at(START));
    assert!(guard.take_unsaved().is_some());
    assert_eq!(guard.take_unsaved(), None);
    guard.filter(&["c"], at(START));
    apply(
        &mut guard,
        None,
        &[shard_of(&["a"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    assert_eq!(guard.take_unsaved(), None);
}

#[test]
fn a_segment_is_ascii_text() {
    let mut guard = guard();
    guard.record(&["ü", "\0", "", "🦀", "a\nb"], at(START));
    assert!(guard.take_unsaved().unwrap().is_ascii() && guard.checkpoint().is_ascii());
}

#[test]
fn a_later_visit_stops_and_holds_pending_what_an_earlier_one_recorded() {
    let strange = ["a", "", "\0", "a\0b", "🦀", "a\nb", "\u{FFFD}"].map(String::from);
    let mut earlier = guard();
    for (second, id) in (0..).zip(&strange) {
        earlier.record(&[id], at(START + second));
    }
    let later = restored(&[earlier.take_unsaved().unwrap()], at(START + 100));
    assert_eq!(all_pending(&later), strange);
    assert_eq!(
        later.explain(&strange[3], at(START + 100)),
        Some(Explanation::Pending { at: (START + 3) * 1000 })
    );
    assert!(!later.has("b", at(START + 100)));
}

#[test]
fn segments_and_their_checkpoint_stand_for_the_same() {
    let mut guard = guard();
    let mut segments = Vec::new();
    for round in 0..20 {
        let now = at(START + round * DAY);
        guard.record(&ids(&format!("round {round}"), 0..30), now);
        if round == 10 {
            cover_all(&mut guard, now);
        }
        segments.extend(guard.take_unsaved());
    }
    let now = at(START + 19 * DAY);
    let checkpoint = guard.checkpoint();
    let from_checkpoint = restored(&[checkpoint], now);
    let mut from_segments = self::guard();
    let segments: Vec<(&str, &String)> = segments.iter().map(|segment| ("one writer", segment)).collect();
    let segments: Vec<(&str, &str)> = segments.iter().map(|(writer, text)| (*writer, text.as_str())).collect();
    from_segments.take_over(&segments, now);
    assert_eq!(all_pending(&from_checkpoint), all_pending(&guard));
    for round in 0..20 {
        let all = ids(&format!("round {round}"), 0..30);
        assert!(has_all(&from_checkpoint, &all, now) && has_all(&from_segments, &all, now));
    }
}

#[test]
fn what_was_covered_when_it_was_recorded_is_remembered_and_not_pending() {
    let mut earlier = guard();
    apply(
        &mut earlier,
        None,
        &[shard_of(&["covered"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    earlier.record(&["covered", "open"], at(START));
    let later = restored(&[earlier.take_unsaved().unwrap()], at(START));
    assert_eq!(all_pending(&later), ["open"]);
    assert_eq!(later.explain("covered", at(START)), Some(Explanation::Memory));
}

#[test]
fn who_takes_over_holds_the_union_in_the_order_of_time() {
    let (mut left, mut right) = (guard(), guard());
    for second in 0..40 {
        let tab = if second % 2 == 0 { &mut left } else { &mut right };
        tab.record(&[format!("item-{second}")], at(START + second));
    }
    let segments = [left.take_unsaved().unwrap(), right.checkpoint()];
    let union = restored(&segments, at(START + 60));
    assert_eq!(all_pending(&union), ids("item", 0..40));
    let again = restored(&[union.checkpoint()], at(START + 60));
    assert_eq!(all_pending(&again), ids("item", 0..40));
    assert_eq!(again.stats(at(START + 60)).remembered, 40);
    assert!(has_all(&again, &ids("item", 0..40), at(START + 60)));
}

#[test]
fn taking_over_twice_is_taking_over_once() {
    let mut earlier = guard();
    earlier.record(&ids("item", 0..500), at(START));
    let segment = earlier.take_unsaved().unwrap();
    let once = restored(&[&segment], at(START));
    let twice = restored(
        &[&segment, &segment, &earlier.checkpoint(), &once.checkpoint()],
        at(START),
    );
    assert_eq!(all_pending(&twice), ids("item", 0..500));
    assert_eq!(twice.stats(at(START)).remembered, 500);
}

#[test]
fn an_id_recorded_by_two_writers_is_pending_once_with_the_later_time() {
    let (mut left, mut right) = (guard(), guard());
    left.record(&["both", "left"], at(START));
    right.record(&["both", "right"], at(START + 5));
    for segments in [
        [left.checkpoint(), right.checkpoint()],
        [right.checkpoint(), left.checkpoint()],
    ] {
        let union = restored(&segments, at(START + 9));
        assert_eq!(all_pending(&union), ["left", "both", "right"]);
        assert_eq!(
            union.explain("both", at(START + 9)),
            Some(Explanation::Pending { at: (START + 5) * 1000 })
        );
    }
}

#[test]
fn a_tab_that_hears_of_another_stops_what_that_recorded_and_leaves_storing_it_to_it() {
    let (mut here, mut there) = (guard(), guard());
    there.record(&ids("there", 0..20), at(START));
    assert_eq!(
        here.merge(&there.take_unsaved().unwrap(), at(START)),
        SegmentState::Whole
    );
    assert!(has_all(&here, &ids("there", 0..20), at(START)));
    assert_eq!(all_pending(&here), ids("there", 0..20));
    assert_eq!(here.take_unsaved(), None);
    let stored = restored(&[here.checkpoint()], at(START));
    assert!(!ids("there", 0..20).iter().any(|id| stored.has(id, at(START))));
    here.record(&["there-3"], at(START + 1));
    assert!(restored(&[here.checkpoint()], at(START + 1)).has("there-3", at(START + 1)));
}

#[test]
fn a_tab_that_hears_of_a_checkpoint_stops_what_is_in_it() {
    let mut there = guard();
    there.record(&ids("there", 0..3_000), at(START));
    cover_all(&mut there, at(START));
    let mut here = guard();
    here.record(&["here"], at(START));
    here.merge(&there.checkpoint(), at(START));
    here.merge(&there.checkpoint(), at(START));
    assert!(has_all(&here, &ids("there", 0..3_000), at(START)));
    assert_eq!(here.stats(at(START)).remembered, 3_001);
}

#[test]
fn record_counts_what_was_not_known_on_this_device() {
    let mut earlier = guard();
    assert_eq!(earlier.record(&["a", "b", "a"], at(START)).unknown, 2);
    assert_eq!(earlier.record(&["a", "c"], at(START)).unknown, 1);
    let mut later = restored(&[earlier.checkpoint()], at(START));
    assert_eq!(later.record(&["a", "b", "c", "d"], at(START)).unknown, 1);
    apply(
        &mut later,
        None,
        &[shard_of(&["server"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    assert_eq!(later.record(&["server"], at(START)).unknown, 1);
    assert_eq!(later.record(&[] as &[&str], at(START)).unknown, 0);
}

#[test]
fn what_is_forgotten_is_gone() {
    let mut guard = guard();
    apply(
        &mut guard,
        Some(7),
        &[shard_of(&["server"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    guard.record(&["a"], at(START));
    guard.forget();
    assert_eq!(
        (guard.version(), guard.take_unsaved(), all_pending(&guard)),
        (None, None, vec![])
    );
    assert_eq!(guard.filter(&["a", "server"], at(START)), [0, 1]);
    assert!(!restored(&[guard.checkpoint()], at(START)).has("a", at(START)));
    let stats = guard.stats(at(START));
    assert_eq!((stats.shards, stats.pending, stats.remembered), (0, 0, 0));
    guard.record(&["b"], at(START));
    assert!(guard.has("b", at(START)));
}

// Damage.

/// A segment of several records, and for each of its lines the ids that are gone when it is gone.
fn segment_of_many_records() -> (String, Vec<Vec<String>>) {
    let mut guard = guard();
    let covered = ids("covered", 0..100);
    apply(
        &mut guard,
        None,
        &[shard_of(&covered, 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    let mut all = ids("an item with a name", 0..300);
    all.extend(covered);
    guard.record(&all, at(START));
    let text = guard.take_unsaved().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let without = |gone: usize| {
        let rest = (0..lines.len())
            .filter(|&line| line != gone)
            .map(|line| format!("{}\n", lines[line]));
        let (guard, _) = taken_over(&[rest.collect::<String>()], at(START));
        all.iter().filter(|id| !guard.has(id, at(START))).cloned().collect()
    };
    let held: Vec<Vec<String>> = (0..lines.len()).map(without).collect();
    assert_eq!(held.iter().map(Vec::len).sum::<usize>(), all.len());
    assert!(held.iter().filter(|ids| !ids.is_empty()).count() >= 3);
    (text, held)
}

/// All ids of the lines but those that `lost` tells.
fn ids_but(lines: &[Vec<String>], lost: impl Fn(usize) -> bool) -> Vec<String> {
    let kept = (0..lines.len()).filter(|&line| !lost(line));
    kept.flat_map(|line| lines[line].clone()).collect()
}

#[test]
fn damage_at_any_byte_costs_the_record_that_it_hits_alone() {
    let (text, lines) = segment_of_many_records();
    let all = ids_but(&lines, |_| false);
    for (place, &byte) in text.as_bytes().iter().enumerate() {
        let line = text[..place].matches('\n').count();
        for damage in [1 << (place % 7), b'!' ^ byte] {
            let mut damaged = text.clone().into_bytes();
            damaged[place] ^= damage;
            let damaged = String::from_utf8(damaged).unwrap();
            let (guard, states) = taken_over(&[&damaged], at(START));
            assert_eq!(
                states,
                [SegmentState::Damaged],
                "byte {place} becomes {:?}",
                damaged.as_bytes()[place]
            );
            // An end of line that is lost makes one line of two.
            let lost = |index: usize| index == line || (byte == b'\n' && index == line + 1);
            let kept = all.iter().filter(|id| guard.has(id, at(START))).count();
            let expected = ids_but(&lines, lost);
            assert_eq!(kept, expected.len(), "byte {place}");
            if place % 16 == 0 {
                assert!(has_all(&guard, &expected, at(START)));
            }
        }
    }
}

#[test]
fn a_segment_that_was_cut_off_tells_so_and_keeps_what_is_there() {
    let (text, lines) = segment_of_many_records();
    let content = text.trim_end().trim_end_matches('=').len();
    for length in 0..text.len() {
        let (guard, states) = taken_over(&[&text[..length]], at(START));
        let complete = text[..length].matches('\n').count();
        assert!(has_all(&guard, &ids_but(&lines, |line| line >= complete), at(START)));
        // The last line's padding and its end say nothing.
        assert!(
            states == [SegmentState::Damaged] || length >= content,
            "{length} of {}",
            text.len()
        );
        assert!(length < content || has_all(&guard, &ids_but(&lines, |_| false), at(START)));
    }
}

#[test]
fn a_checkpoint_cut_off_anywhere_tells_so() {
    let mut guard = guard();
    guard.record(&ids("item", 0..40), at(START));
    let text = guard.checkpoint();
    let content = text.trim_end().trim_end_matches('=').len();
    for length in 0..content {
        let (_, states) = taken_over(&[&text[..length]], at(START));
        assert_eq!(states, [SegmentState::Damaged], "{length} of {content}");
    }
}

#[test]
fn a_damaged_checkpoint_keeps_what_its_other_records_hold() {
    let mut guard = guard();
    guard.record(&ids("old", 0..100), at(START));
    cover_all(&mut guard, at(START));
    guard.record(&ids("young", 0..100), at(START + 20 * DAY));
    let text = guard.checkpoint();
    let now = at(START + 20 * DAY);
    let lines: Vec<&str> = text.lines().collect();
    for damaged in 1..lines.len() {
        let mut copy: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        copy[damaged].insert(10, '%');
        let (guard, states) = taken_over(&[copy.join("\n")], now);
        assert_eq!(states, [SegmentState::Damaged]);
        // The young are in a shard and in the journal, the old in a shard of their own.
        assert!(has_all(&guard, &ids("young", 0..100), now));
        assert_eq!(has_all(&guard, &ids("old", 0..100), now), damaged != 1);
    }
}

#[test]
fn texts_that_are_no_segments_are_damaged_and_harm_nothing() {
    let texts = [
        "",
        "\n",
        "SGJ",
        "SGJ1",
        "SGJ1\n",
        "SGJx\n",
        "{}",
        "null",
        "\0",
        "🦀\n🦀",
        "SGJ1\r\n\r\n",
        "AAAA\nBBBB",
    ];
    for text in texts {
        let (guard, states) = taken_over(&[text], at(START));
        assert_eq!(states, [SegmentState::Damaged], "{text:?}");
        assert_eq!(all_pending(&guard).len(), 0);
        assert_eq!(self::guard().merge(text, at(START)), SegmentState::Damaged);
    }
}

#[test]
fn damage_in_one_segment_leaves_the_others() {
    let (mut left, mut right) = (guard(), guard());
    left.record(&ids("left", 0..50), at(START));
    right.record(&ids("right", 0..50), at(START));
    let (guard, states) = taken_over(&[left.checkpoint(), "rubbish".into(), right.checkpoint()], at(START));
    assert_eq!(
        states,
        [SegmentState::Whole, SegmentState::Damaged, SegmentState::Whole]
    );
    assert!(has_all(&guard, &ids("left", 0..50), at(START)) && has_all(&guard, &ids("right", 0..50), at(START)));
}

#[test]
fn a_segment_of_a_newer_version_is_told_and_left_alone() {
    for text in ["SGJ2\n", "SGJ2\nAAAA\n", "SGJ17\nsomething else", "SGJ2"] {
        let (guard, states) = taken_over(&[text], at(START));
        assert_eq!(states, [SegmentState::Newer], "{text:?}");
        assert_eq!(all_pending(&guard).len(), 0);
        assert_eq!(self::guard().merge(text, at(START)), SegmentState::Newer);
    }
}

/// A record as the format describes it.
fn record_line(kind: u8, content: &[u8]) -> String {
    let mut body = vec![kind];
    body.extend_from_slice(content);
    let checksum = hash_id(&body, 1) as u32;
    body.extend_from_slice(&checksum.to_le_bytes());
    base64_of(&body)
}

#[test]
fn records_of_an_unknown_kind_are_passed_over() {
    let mut guard = guard();
    guard.record(&["a"], at(START));
    let text = guard.take_unsaved().unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let text = format!("{first}\n{}\n{rest}", record_line(b'z', b"whatever"));
    let (guard, states) = taken_over(&[text], at(START));
    assert_eq!(states, [SegmentState::Whole]);
    assert!(guard.has("a", at(START)));
}

#[test]
fn records_that_vouch_for_nonsense_never_panic() {
    let mut random = Random::seeded(11);
    let shard = |random: &mut Random| {
        let mut shard = shard_of(&["a"], 1, random.next() as u32);
        shard.count = random.next() as u32;
        shard.to_bytes().unwrap()
    };
    let memory_shard = |random: &mut Random| {
        let parameters = seenguard::Parameters::for_capacity(2_000, 0.000_1).unwrap();
        let mut shard = common::shard_with(parameters, 0, &["remembered"], 0, random.next() as u32);
        shard.count = random.next() as u32;
        shard.to_bytes().unwrap()
    };
    let huge = seenguard::Shard::new(
        seenguard::BloomFilter::new(seenguard::Parameters::new(MAX_BITS, 1).unwrap(), 0),
        0,
        0,
    );
    let huge = huge.to_bytes().unwrap();
    for round in 0..4_000 {
        let lines = (0..1 + random.below(6)).map(|_| {
            let kind = *random.pick(b"ihdmmcc");
            // Numbers that are small, or as large as they come.
            let number = |random: &mut Random| match random.below(3) {
                0 => vec![random.next() as u8 & 0x7F],
                1 => vec![0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
                _ => vec![
                    0x80 | random.next() as u8,
                    0x80 | random.next() as u8,
                    0x80 | random.next() as u8,
                    0xFF,
                    0x0F,
                ],
            };
            let mut content = number(&mut random);
            content.extend(number(&mut random));
            content.extend(match random.below(5) {
                0 if kind == b'm' => shard(&mut random),
                1 | 2 if kind == b'm' => memory_shard(&mut random),
                3 if kind == b'm' && round % 50 == 0 => huge.clone(),
                _ => {
                    let length = random.index(30);
                    random.bytes(length)
                }
            });
            record_line(kind, &content)
        });
        let text = format!("SGJ1\n{}\n", lines.collect::<Vec<_>>().join("\n"));
        let now = at(START);
        let (mut guard, _) = taken_over(&[&text], now);
        let mut other = self::guard();
        other.record(&["b"], now);
        other.merge(&text, now);
        for guard in [&mut guard, &mut other] {
            guard.record(&["x", "y"], now);
            assert!(guard.has("x", now) && guard.has("y", now));
            guard.stats(now);
            assert_eq!(taken_over(&[guard.checkpoint()], now).1, [SegmentState::Whole]);
        }
    }
}

// How long it is remembered.

#[test]
fn what_a_writer_heard_of_does_not_age_what_it_had_recorded_before() {
    // Another tab shows 8,000 items, of which this one hears only after it has written its own first.
    let (mut here, mut there) = (guard(), guard());
    there.record(&ids("there", 0..8_000), at(START));
    here.record(&["first"], at(START + 1));
    let first = here.take_unsaved().unwrap();
    let other = there.checkpoint();
    let later = at(START + 9 * DAY);
    here.merge(&other, later);
    here.record(&["second"], later);
    let second = here.take_unsaved().unwrap();
    let mut next = guard();
    next.take_over(&[("here", &*first), ("here", &*second), ("there", &*other)], later);
    cover_all(&mut next, later);
    next.record(&ids("next", 0..4_000), later);
    cover_all(&mut next, later);
    assert!(next.has("first", later), "only 4,001 others were recorded since");
}

#[test]
fn a_shard_of_a_checkpoint_is_not_aged_by_what_its_writer_heard_of_later() {
    let (mut here, mut there) = (guard(), guard());
    here.record(&["first"], at(START));
    here.take_unsaved();
    let checkpoint = here.checkpoint();
    let later = at(START + 10 * DAY);
    there.record(&ids("there", 0..9_000), later);
    here.merge(&there.checkpoint(), later);
    here.record(&["second"], later);
    let rest = here.take_unsaved().unwrap();
    let mut next = guard();
    next.take_over(&[("here", &*checkpoint), ("here", &*rest)], later);
    cover_all(&mut next, later);
    next.record(&ids("next", 0..2_000), later);
    cover_all(&mut next, later);
    assert!(next.has("first", later));
}

#[test]
fn what_others_counted_at_the_same_time_does_not_age_what_is_here() {
    let now = at(START);
    let mut there = guard();
    there.record(&ids("there", 0..9_500), now);
    let heard: fn(&mut Guard, &str, Now) -> SegmentState = |guard, text, now| guard.merge(text, now);
    let taken: fn(&mut Guard, &str, Now) -> SegmentState =
        |guard, text, now| guard.take_over(&[("there", text)], now)[0];
    for learn in [heard, taken] {
        let mut here = guard();
        here.record(&["first"], now);
        cover_all(&mut here, now);
        assert_eq!(learn(&mut here, &there.checkpoint(), now), SegmentState::Whole);
        here.record(&ids("here", 0..3_000), at(START + 9 * DAY));
        cover_all(&mut here, at(START + 9 * DAY));
        assert!(
            here.has("first", at(START + 9 * DAY)),
            "it was shown after the others, as far as known here"
        );
    }
}

#[test]
fn a_segment_whose_count_is_lost_is_not_taken_for_old() {
    let mut writer = guard();
    let mut written = Vec::new();
    for round in 0..4 {
        writer.record(&ids(&format!("round {round}"), 0..2_000), at(START + round));
        written.push(writer.take_unsaved().unwrap());
    }
    // The newest one loses its last line.
    let newest = written[3].lines().count();
    written[3] = written[3]
        .lines()
        .take(newest - 1)
        .map(|line| format!("{line}\n"))
        .collect();
    let segments: Vec<(&str, &str)> = written.iter().map(|text| ("writer", text.as_str())).collect();
    let mut next = guard();
    let states = next.take_over(&segments, at(START + 9));
    assert_eq!(states[3], SegmentState::Damaged);
    cover_all(&mut next, at(START + 9));
    next.record(&ids("next", 0..5_000), at(START + 10));
    cover_all(&mut next, at(START + 10));
    assert!(has_all(&next, &ids("round 3", 0..2_000), at(START + 10)));
}

#[test]
fn what_more_than_10_000_others_followed_leaves_over_many_visits() {
    let mut checkpoint = guard().checkpoint();
    for visit in 0..60 {
        let now = at(START + visit * 600);
        let mut guard = restored(&[checkpoint], now);
        let mut written = vec![guard.checkpoint()];
        for part in 0..4 {
            guard.record(&ids(&format!("visit {visit} part {part}"), 0..100), now);
            cover_all(&mut guard, now);
            written.extend(guard.take_unsaved());
        }
        // The tab dies; what it wrote is one writer's.
        let segments: Vec<(&str, &str)> = written.iter().map(|text| ("one", text.as_str())).collect();
        let mut next = self::guard();
        next.take_over(&segments, now);
        cover_all(&mut next, now);
        checkpoint = next.checkpoint();
    }
    let now = at(START + 60 * 600);
    let guard = restored(&[checkpoint], now);
    let shown = |visit: usize| ids(&format!("visit {visit} part 0"), 0..100);
    assert!((35..60).all(|visit| has_all(&guard, &shown(visit), now)));
    let long_ago = (0..20).flat_map(shown).filter(|id| guard.has(id, now)).count();
    assert!(long_ago < 20, "{long_ago} of 2,000");
    assert!(guard.stats(now).bytes < 512 * 1024);
}

#[test]
fn a_longer_window_holds_for_what_is_recorded_under_it() {
    let mut week = Guard::new(7.0).unwrap();
    week.record(&["old"], at(START));
    let mut month = Guard::new(30.0).unwrap();
    month.take_over(&[("week", &*week.checkpoint())], at(START + DAY));
    month.record(&["new"], at(START + DAY));
    cover_all(&mut month, at(START + DAY));
    assert!(month.has("new", at(START + 31 * DAY - 1)));
}

#[test]
fn a_shorter_window_holds_for_what_is_recorded_under_it() {
    let mut month = Guard::new(30.0).unwrap();
    month.record(&["old"], at(START));
    let mut day = Guard::new(1.0).unwrap();
    day.take_over(&[("month", &*month.checkpoint())], at(START + DAY));
    day.record(&["new"], at(START + DAY));
    cover_all(&mut day, at(START + DAY));
    assert!(day.has("new", at(START + 2 * DAY - 1)));
    assert!(!day.has("new", at(START + 3 * DAY)));
}

#[test]
fn daily_visits_in_two_tabs_do_not_keep_alive_what_is_old() {
    let mut left = guard().checkpoint();
    let mut right = guard().checkpoint();
    for day in 0..120 {
        let now = at(START + day * DAY);
        // Each tab opens on what both left, without having heard of the other's visit of that day.
        let (mut one, mut two) = (
            restored(&[&left, &right], now),
            restored(&[&left, &right], at(START + day * DAY + DAY / 2)),
        );
        one.record(&ids(&format!("one {day}"), 0..3), now);
        two.record(&ids(&format!("two {day}"), 0..3), at(START + day * DAY + DAY / 2));
        for tab in [&mut one, &mut two] {
            cover_all(tab, now);
        }
        (left, right) = (one.checkpoint(), two.checkpoint());
    }
    let now = at(START + 119 * DAY + DAY / 2);
    let guard = restored(&[left, right], now);
    for day in 90..120 {
        assert!(
            has_all(&guard, &ids(&format!("one {day}"), 0..3), now)
                && has_all(&guard, &ids(&format!("two {day}"), 0..3), now)
        );
    }
    // Thirty days, a slice of seven and a half, and as much again where two shards became one.
    let old = (0..70)
        .flat_map(|day| ids(&format!("one {day}"), 0..3))
        .filter(|id| guard.has(id, now))
        .count();
    assert!(old <= 2, "{old}");
}

#[test]
fn two_tabs_begun_days_apart_do_not_keep_alive_what_is_old() {
    let mut first = guard();
    first.record(&["first day"], at(START));
    let mut stored = vec![first.checkpoint()];
    let mut second = guard();
    second.record(&["fourth day"], at(START + 3 * DAY));
    stored.push(second.checkpoint());
    for day in 6..110 {
        let now = at(START + day * DAY);
        let mut visit = restored(&stored, now);
        visit.record(&[format!("day {day}")], now);
        cover_all(&mut visit, now);
        stored = vec![visit.checkpoint()];
        if day <= 29 {
            assert!(visit.has("first day", now));
        }
        if day >= 46 {
            assert!(!visit.has("first day", now), "on day {day}");
        }
    }
}

// Bounds.

#[test]
fn a_stream_that_stands_still_over_many_visits_does_not_swell_the_memory() {
    let mut first = guard();
    first.record(&ids("item", 0..6_000), at(START));
    let mut checkpoint = first.checkpoint();
    let before = first.stats(at(START));
    for visit in 1..40 {
        let now = at(START + visit * 600);
        let mut guard = restored(&[checkpoint], now);
        guard.record(&[format!("visit {visit}")], now);
        checkpoint = guard.checkpoint();
    }
    let now = at(START + 40 * 600);
    let guard = restored(&[checkpoint.clone()], now);
    let after = guard.stats(now);
    assert_eq!(after.pending, 5_000);
    assert!(after.remembered <= before.remembered + 39, "{}", after.remembered);
    assert!(after.memory_false_positive_rate < 1.5 * before.memory_false_positive_rate);
    assert!(after.bytes < 2 * before.bytes);
    assert!(has_all(&guard, &ids("item", 0..6_000), now));
    assert!((1..40).all(|visit| guard.has(format!("visit {visit}"), now)));
}

#[test]
fn a_full_checkpoint_is_under_512_kb() {
    let mut guard = guard();
    let long = "x".repeat(40);
    for round in 0..12 {
        guard.record(&ids(&format!("{long}{round}"), 0..1_000), at(START + round));
    }
    let stats = guard.stats(at(START + 12));
    assert_eq!((stats.pending, stats.remembered), (5_000, 10_000));
    let checkpoint = guard.checkpoint();
    assert!(checkpoint.len() < 512 * 1024, "{}", checkpoint.len());
    let again = restored(&[checkpoint], at(START + 12));
    assert_eq!(all_pending(&again), all_pending(&guard));
}

#[test]
fn a_checkpoint_after_a_wild_clock_is_under_512_kb() {
    let mut random = Random::seeded(5);
    let mut guard = guard();
    for _ in 0..30_000 {
        let now = at(random.below(8 * START));
        let id = format!("item-{}", random.next());
        guard.record(&[&id], now);
        assert!(guard.has(&id, now));
    }
    let checkpoint = guard.checkpoint();
    assert!(checkpoint.len() < 512 * 1024, "{}", checkpoint.len());
}
