//! Tests of the table alone: rows are read back as they were written, and copies merge in any order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::facts::Facts;
use super::row;
use super::*;
use crate::base64;

const NOW: u64 = 1_764_000_000_000;
const WINDOW_MS: u64 = 86_400_000;
const ITEMS: usize = 12;

fn table() -> Table {
    table_of(DEFAULT_REMEMBER)
}

fn table_of(remember: usize) -> Table {
    Table::new(WINDOW_MS, remember, MultiplyShift::default())
}

/// A table with storage, whose rows are not loaded yet.
fn stored_table(seed: u64) -> Table {
    let mut table = table();
    table.expect_rows("home:ada", seed);
    table
}

fn hash(id: &str) -> u64 {
    HashedId::new(id.as_bytes()).unseeded()
}

fn record(table: &mut Table, id: &str, at: u64) {
    table.record(HashedId::new(id.as_bytes()), at, false);
}

fn unsee(table: &mut Table, id: &str, at: u64) {
    table.unsee(HashedId::new(id.as_bytes()), at);
}

fn read(row: &str) -> Option<row::Row> {
    row::read(row.as_bytes())
}

/// All unsaved changes, as rows with their marks.
fn unsaved_rows(table: &mut Table, due: Due) -> Vec<(String, Mark)> {
    let mut rows = Vec::new();
    let mut after = Mark::default();
    while let Some((row, mark)) = table.unsaved(after, due, NOW) {
        rows.push((row.text, mark));
        after = mark;
    }
    rows
}

/// All unsaved changes, as rows, which are then marked as saved.
fn rows_of(table: &mut Table) -> Vec<String> {
    let rows = unsaved_rows(table, Due::All);
    rows.iter().for_each(|&(_, mark)| table.saved(mark));
    rows.into_iter().map(|(row, _)| row).collect()
}

fn merge_from(table: &mut Table, row: &str, source: Source) {
    let row = read(row).unwrap();
    table.merge_facts(&row.facts, source);
    for (hash, recording) in row.recordings {
        table.merge(hash, recording, source);
    }
}

/// Merges a row of an earlier visit.
fn merge_row(table: &mut Table, row: &str) {
    merge_from(table, row, Source::Found);
}

/// The ids in a row, by their hashes.
fn hashes_in(row: &str) -> BTreeSet<u64> {
    read(row).unwrap().recordings.iter().map(|(hash, _)| *hash).collect()
}

fn hashes_of(ids: &[&str]) -> BTreeSet<u64> {
    ids.iter().map(|id| hash(id)).collect()
}

/// The first row of what is unsaved.
fn unsaved(table: &mut Table, due: Due) -> Option<(String, Mark)> {
    let (row, mark) = table.unsaved(Mark::default(), due, NOW)?;
    Some((row.text, mark))
}

/// Whether a change that cannot wait is unsaved.
fn is_unsaved(table: &mut Table) -> bool {
    unsaved(table, Due::Changes).is_some()
}

fn merged<'a>(rows: impl IntoIterator<Item = &'a String>) -> Table {
    let mut table = table();
    rows.into_iter().for_each(|row| merge_row(&mut table, row));
    table
}

/// The part of the recordings that rows have, without their origin and unsaved changes.
fn contents(table: &Table) -> BTreeMap<u64, Recording> {
    let mut contents = BTreeMap::new();
    for (&hash, one) in &table.recordings {
        let mut one = one.clone();
        if let Some(undelivered) = &mut one.undelivered {
            undelivered.origin = Origin::Other;
        }
        (one.change, one.can_wait) = (0, false);
        contents.insert(hash, one);
    }
    contents
}

fn is_seen(table: &Table, id: &str) -> bool {
    table.get(hash(id)).is_some_and(|one| one.kind == Kind::Seen)
}

// A row.

/// A row of every kind of recording.
fn row_of_all_kinds() -> (Table, String) {
    let mut table = table();
    table.set_reporting();
    for (index, id) in ["a", "", "\0", "🦀", "covered", "unseen", "delivered", "twice"]
        .iter()
        .enumerate()
    {
        record(&mut table, id, NOW - 1_000 * index as u64);
    }
    table.record_local(HashedId::new(b"local"), 0);
    unsee(&mut table, "unseen", MAX_AT);
    table.set_covered(hash("covered"));
    for (id, at) in [("delivered", NOW), ("twice", 5), ("twice", MAX_AT)] {
        table.set_delivered(hash(id), at);
    }
    let row = rows_of(&mut table).remove(0);
    (table, row)
}

#[test]
fn a_row_is_read_back_as_it_was_written() {
    let (table, row) = row_of_all_kinds();
    assert!(row.is_ascii());
    let mut later = self::table();
    later.set_reporting();
    merge_row(&mut later, &row);
    assert_eq!((contents(&later), later.counter()), (contents(&table), table.counter()));
}

#[test]
fn undelivered_ids_stay_as_strings_in_any_order_of_rows() {
    let mut recorder = table();
    record(&mut recorder, "a", NOW);
    let pending = rows_of(&mut recorder).remove(0);
    recorder.set_covered(hash("a"));
    let covered = rows_of(&mut recorder).remove(0);
    let mut deliverer = table();
    deliverer.set_reporting();
    record(&mut deliverer, "b", NOW + 1);
    deliverer.set_covered(hash("b"));
    let to_deliver = rows_of(&mut deliverer).remove(0);
    let texts_after = |rows: [&String; 3]| {
        let mut table = stored_table(1);
        rows.into_iter().for_each(|row| merge_row(&mut table, row));
        table.loaded();
        table
            .undelivered()
            .into_iter()
            .map(|(hash, ..)| hash)
            .collect::<Vec<u64>>()
    };
    let expected = [hash("a"), hash("b")];
    assert_eq!(texts_after([&pending, &covered, &to_deliver]), expected);
    assert_eq!(texts_after([&covered, &to_deliver, &pending]), expected);
    assert_eq!(texts_after([&to_deliver, &covered, &pending]), expected);
    assert!(texts_after([&pending, &covered, &pending]).is_empty());
}

#[test]
fn a_row_with_any_damaged_byte_is_refused() {
    let (_, row) = row_of_all_kinds();
    // Padding carries no data.
    for index in 0..row.trim_end_matches('=').len() {
        for other in ["A", "/", "\n", "é", ""] {
            let mut damaged = row.clone();
            damaged.replace_range(index..=index, other);
            assert!(damaged == row || read(&damaged).is_none(), "{index} {other:?}");
        }
        assert!(index == 0 || read(&row[..index]).is_none(), "{index}");
    }
}

#[test]
fn an_empty_row_changes_nothing() {
    assert_eq!(read(""), Some(row::Row::default()));
    assert!(!table().has_unsaved(&row::Row::default()));
}

/// The bytes of a recording, with a checksum that is right.
fn sealed(bytes: &[u8]) -> String {
    let checksum = crate::hash::hash_id(bytes, 0) as u32;
    base64::encode(&[bytes, &checksum.to_le_bytes()].concat())
}

#[test]
fn impossible_values_are_refused_even_with_a_right_checksum() {
    const LARGEST: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    /// No flags, the first day, no window.
    const FACTS: [u8; 3] = [0; 3];
    let recording =
        |flags: u8, counter: &[u8], time: &[u8], id: &[u8]| sealed(&[&FACTS[..], &[flags], counter, time, id].concat());
    let (hash, same) = (&[7u8; 8], &[0u8]);
    let largest = read(&recording(0, &LARGEST, same, hash)).unwrap().recordings;
    assert_eq!((largest[0].1.seq, largest[0].1.at), (MAX_SEQ, MAX_AT));
    let facts = read(&sealed(&[7, 1, 2, 3, 4, 5])).unwrap().facts;
    assert_eq!(facts.deletion, Some(Deletion { deleted_at: 3, at: 4 }));
    assert_eq!((facts.day, facts.window_days, facts.reported), (1, 2, true));
    assert_eq!(facts.device_name.map(DeviceName::number), Some(5));
    let entry = [&[0, 1, 0][..], &[7; 8]].concat();
    assert!(read(&sealed(&[&FACTS[..], entry.repeat(MAX_ROW).as_slice()].concat())).is_some());
    let above = [&[0x80; 7][..], &[0x10]].concat();
    for (what, row) in [
        ("a counter of 2^53", recording(0, &above, same, hash)),
        ("a time after the latest", recording(0, &LARGEST, &[2], hash)),
        ("a time before 1970", recording(0, &[3], &[7], hash)),
        ("three deliveries", recording(3 * 8, &[9], same, hash)),
        ("a number without an end", recording(0, &[0xFF; 10], same, hash)),
        ("a text longer than the row", recording(4, &[9], same, &[9, b'a'])),
        ("half a hash", recording(0, &[9], same, &[7; 4])),
        ("a counter of 0", recording(0, &[0], same, hash)),
        ("half a character", recording(4, &[9], same, &[1, 0xC3])),
        (
            "1,001 recordings",
            sealed(&[&FACTS[..], entry.repeat(MAX_ROW + 1).as_slice()].concat()),
        ),
        ("no facts", sealed(&[])),
        ("a day after the latest", sealed(&[&[0][..], &LARGEST, &[0]].concat())),
        ("a window of over 36,500 days", sealed(&[0, 0, 0x95, 0x9D, 2])),
        ("a deletion without a time", sealed(&[2, 0, 0, 1])),
        (
            "a deletion after 2106",
            sealed(&[2, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0]),
        ),
        ("a name of no characters", sealed(&[4, 0, 0, 0])),
    ] {
        assert_eq!(read(&row), None, "{what}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "[A-Za-z0-9+/=]{0,99}", bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        read(&text);
        // Random bytes seldom begin with valid facts.
        for bytes in [&[&[0; 3], &bytes[..]].concat(), &bytes] {
            let row = sealed(bytes);
            if read(&row).is_none() {
                continue;
            }
            let mut table = table();
            merge_from(&mut table, &row, Source::Stash);
            // A later recording counts in any case, and can be stored.
            record(&mut table, "a", NOW);
            let deletion = table.deletion();
            let rows = rows_of(&mut table);
            prop_assert!(deletion.is_some() || is_seen(&merged(&rows), "a"));
        }
    }
}

// Merging.

/// An action of a tab.
#[derive(Debug, Clone)]
enum Action {
    Record(usize),
    Unsee(usize),
    Cover(usize),
    Deliver(usize),
    Save,
    /// Merges all rows that were saved so far.
    Load,
    SetClock(u64),
}

/// Around a day of 2025, seldom any other time.
fn clock() -> impl Strategy<Value = u64> {
    prop_oneof![4 => NOW..NOW + 2 * WINDOW_MS, 1 => 0..MAX_AT]
}

fn schedule() -> impl Strategy<Value = Vec<(usize, Action)>> {
    let action = prop_oneof![
        6 => (0..ITEMS).prop_map(Action::Record),
        2 => (0..ITEMS).prop_map(Action::Unsee),
        2 => (0..ITEMS).prop_map(Action::Cover),
        2 => (0..ITEMS).prop_map(Action::Deliver),
        4 => Just(Action::Save),
        2 => Just(Action::Load),
        1 => clock().prop_map(Action::SetClock),
    ];
    prop::collection::vec((0..3usize, action), 0..50)
}

fn name(item: usize) -> String {
    format!("item-{item}")
}

/// The rows that three tabs save; `reporting`: their impressions are delivered.
fn rows_after(schedule: &[(usize, Action)], reporting: bool) -> Vec<String> {
    let mut tabs = [table(), table(), table()];
    if reporting {
        tabs.iter_mut().for_each(Table::set_reporting);
    }
    let (mut rows, mut now) = (Vec::new(), NOW);
    for &(tab, ref action) in schedule {
        let tab = &mut tabs[tab];
        match *action {
            Action::Record(item) => record(tab, &name(item), now),
            Action::Unsee(item) => unsee(tab, &name(item), now),
            Action::Cover(item) => tab.set_covered(hash(&name(item))),
            Action::Deliver(item) => tab.set_delivered(hash(&name(item)), now),
            Action::Save => rows.extend(rows_of(tab)),
            Action::Load => rows.iter().for_each(|row| merge_row(tab, row)),
            Action::SetClock(now_ms) => now = now_ms,
        }
    }
    rows.extend(tabs.iter_mut().flat_map(rows_of));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_commutative_associative_and_idempotent(
        schedule in schedule(),
        reporting in any::<bool>(),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut rows = rows_after(&schedule, reporting);
        prop_assume!(!rows.is_empty());
        let all = contents(&merged(&rows));
        // A part of them is compacted first.
        let (left, right) = rows.split_at(cut.index(rows.len()));
        let mut compacting = merged(left);
        let hashes = compacting.recordings.keys().copied().collect();
        let mut grouped = merged(right);
        compacting.rows_of(hashes).iter().for_each(|row| merge_row(&mut grouped, &row.text));
        prop_assert_eq!(&contents(&grouped), &all);
        right.iter().for_each(|row| merge_row(&mut compacting, row));
        prop_assert_eq!(&contents(&compacting), &all);
        let repeated: Vec<String> = again.iter().map(|index| index.get(&rows).clone()).collect();
        rows.extend(repeated);
        prop_assert_eq!(&contents(&merged(&rows)), &all);
        prop_assert_eq!(&contents(&merged(rows.iter().rev())), &all);
    }

    #[test]
    fn the_highest_counters_stay_with_any_clock(
        clocks in prop::collection::vec(clock(), 1..120),
        remember in 1..40usize,
    ) {
        let mut table = table_of(remember);
        for (index, &now) in clocks.iter().enumerate() {
            record(&mut table, &name(index), now);
        }
        let mut later = table_of(remember);
        rows_of(&mut table).iter().for_each(|row| merge_row(&mut later, row));
        for table in [&table, &later] {
            for (index, &now) in clocks.iter().enumerate().rev().take(remember) {
                prop_assert!(table.get_live(hash(&name(index)), now).is_some());
            }
            prop_assert!(table.len() <= remember + remember / 10);
        }
    }

    #[test]
    fn deletions_and_rows_merge_in_any_order(
        recorded in prop::collection::vec(0..9u64, 1..9),
        deletions in prop::collection::vec((1..4u32, 0..9u64), 1..5),
        rotation in any::<prop::sample::Index>(),
    ) {
        let mut writer = table();
        recorded.iter().enumerate().for_each(|(item, &at)| record(&mut writer, &name(item), at));
        let rows = rows_of(&mut writer);
        let deletions: Vec<Deletion> = deletions.into_iter().map(|(deleted_at, at)| Deletion { deleted_at, at }).collect();
        // The later of two deletions counts; of two times of one, the earlier.
        let latest = deletions.iter().map(|deletion| deletion.deleted_at).max().unwrap();
        let of_latest = deletions.iter().filter(|deletion| deletion.deleted_at == latest);
        let at = of_latest.map(|deletion| deletion.at).min().unwrap();
        let mut rotated = deletions.clone();
        rotated.rotate_left(rotation.index(deletions.len()));
        for (before, after) in [(&deletions[..], &[][..]), (&[], &rotated), (&rotated[1..], &rotated[..1])] {
            let mut table = table();
            let deletes = |table: &mut Table, deletions: &[Deletion]| {
                deletions.iter().for_each(|&deletion| table.merge_deletion(deletion));
            };
            deletes(&mut table, before);
            rows.iter().for_each(|row| merge_row(&mut table, row));
            deletes(&mut table, after);
            prop_assert_eq!(table.deletion(), Some(Deletion { deleted_at: latest, at }));
        }
    }
}

#[test]
fn an_unsee_counts_even_after_the_clock_was_set_back() {
    let mut first = table();
    record(&mut first, "a", NOW + 60_000);
    let shown = rows_of(&mut first);
    let mut second = merged(&shown);
    unsee(&mut second, "a", NOW);
    let unseen = rows_of(&mut second);
    for rows in [[&shown, &unseen], [&unseen, &shown]] {
        assert!(!is_seen(&merged(rows.into_iter().flatten()), "a"));
    }
}

#[test]
fn a_deletion_removes_only_earlier_recordings() {
    let mut writer = table();
    record(&mut writer, "before", NOW - 1);
    record(&mut writer, "since", NOW);
    let rows = rows_of(&mut writer);
    let deletion = Deletion { deleted_at: 9, at: NOW };
    let mut late = merged(&rows);
    let mut early = table();
    late.merge_deletion(deletion);
    early.merge_deletion(deletion);
    let revision = early.unseen_revision();
    early.merge_deletion(deletion);
    assert_eq!(early.unseen_revision(), revision);
    rows.iter().for_each(|row| merge_row(&mut early, row));
    for table in [late, early] {
        assert!(!is_seen(&table, "before") && is_seen(&table, "since"));
        assert_eq!(table.counter(), NOW);
    }
}

// Another generation.

#[test]
fn a_reset_retains_the_counter_and_on_request_this_tabs_recordings() {
    for keep_own in [false, true] {
        let mut table = stored_table(1);
        table.merge_deletion(Deletion { deleted_at: 9, at: NOW });
        record(&mut table, "a", NOW);
        let (row, mark) = unsaved(&mut table, Due::Changes).unwrap();
        table.saved(mark);
        let name = table.device_name();
        assert!(name.is_some() && !is_unsaved(&mut table));
        record(&mut table, "b", NOW);
        let (_, stale) = unsaved(&mut table, Due::Changes).unwrap();
        let revision = table.unseen_revision();
        table.reset(keep_own);
        table.saved(stale);
        assert!(table.unseen_revision() > revision);
        assert_eq!((table.deletion(), table.device_name()), (None, None));
        assert_eq!(
            (is_seen(&table, "a"), table.tally.id_strings),
            (keep_own, if keep_own { 2 } else { 0 })
        );
        assert_eq!(table.counter(), NOW + 1);
        // It is saved again, in the new generation.
        assert_eq!(is_unsaved(&mut table), keep_own);
        let facts_alone = unsaved(&mut table, Due::Facts).unwrap().0;
        assert_eq!(hashes_in(&facts_alone).len(), if keep_own { 2 } else { 0 });
        let names = [&row, &facts_alone].map(|row| read(row).unwrap().facts.device_name);
        assert!(names[0] == name && names[1].is_some() && names[0] != names[1]);
    }
}

#[test]
fn a_reset_forgets_that_the_namespace_has_delivered_unless_this_tab_delivers() {
    let mut writer = table();
    writer.set_reporting();
    record(&mut writer, "a", NOW);
    let row = rows_of(&mut writer).remove(0);
    for reports in [false, true] {
        let mut table = table();
        merge_row(&mut table, &row);
        if reports {
            table.set_reporting();
        }
        table.reset(false);
        assert_eq!(table.facts.reported, reports);
    }
}

// Unsaved changes.

#[test]
fn changes_after_a_row_stay_unsaved_when_it_is_saved() {
    let mut table = table();
    record(&mut table, "a", NOW);
    let (first, mark) = unsaved(&mut table, Due::Changes).unwrap();
    record(&mut table, "b", NOW);
    record(&mut table, "a", NOW);
    table.saved(mark);
    let (second, mark) = unsaved(&mut table, Due::Changes).unwrap();
    assert_eq!(
        (hashes_in(&first), hashes_in(&second)),
        (hashes_of(&["a"]), hashes_of(&["a", "b"]))
    );
    table.saved(mark);
    assert!(!is_unsaved(&mut table));
}

#[test]
fn a_mark_that_is_confirmed_again_has_no_effect() {
    let mut table = table();
    record(&mut table, "a", NOW);
    let (_, mark) = unsaved(&mut table, Due::Changes).unwrap();
    table.saved(mark);
    record(&mut table, "a", NOW);
    table.saved(mark);
    assert!(is_unsaved(&mut table));
}

#[test]
fn all_changes_are_written_in_rows_of_1000() {
    let mut table = table();
    for item in 0..2 * MAX_ROW + 1 {
        record(&mut table, &name(item), NOW);
    }
    let rows = unsaved_rows(&mut table, Due::Changes);
    let sizes: Vec<usize> = rows.iter().map(|(row, _)| hashes_in(row).len()).collect();
    assert_eq!(sizes, [MAX_ROW, MAX_ROW, 1]);
    // The second one alone is confirmed.
    table.saved(rows[1].1);
    let left: BTreeSet<u64> = unsaved_rows(&mut table, Due::Changes)
        .iter()
        .flat_map(|(row, _)| hashes_in(row))
        .collect();
    assert_eq!(left, &hashes_in(&rows[0].0) | &hashes_in(&rows[2].0));
}

#[test]
fn a_covered_mark_starts_no_save_and_is_saved_with_the_next_one() {
    let mut table = table();
    record(&mut table, "a", NOW);
    record(&mut table, "b", NOW);
    rows_of(&mut table);
    table.set_covered(hash("a"));
    assert!(!is_unsaved(&mut table) && table.unsaved_within(10_000, NOW).is_none());
    assert!(unsaved(&mut table, Due::Facts).is_none());
    assert_eq!(unsaved_rows(&mut table.clone(), Due::All).len(), 1);
    record(&mut table, "b", NOW);
    let rows = unsaved_rows(&mut table, Due::Changes);
    assert_eq!((rows.len(), hashes_in(&rows[0].0)), (1, hashes_of(&["a", "b"])));
    // One that is not saved when it is covered must still be saved.
    record(&mut table, "c", NOW);
    table.set_covered(hash("c"));
    assert!(is_unsaved(&mut table));
}

#[test]
fn the_latest_64_unconfirmed_rows_can_be_confirmed() {
    let mut table = table();
    record(&mut table, "a", NOW);
    let mark = |table: &mut Table| unsaved(table, Due::Changes).unwrap().1;
    let first = mark(&mut table);
    let later: Vec<Mark> = (0..64).map(|_| mark(&mut table)).collect();
    table.saved(first);
    assert!(is_unsaved(&mut table));
    assert!(later.iter().all(|mark| *mark > first));
    table.saved(later[63]);
    assert!(!is_unsaved(&mut table));
}

#[test]
fn without_a_store_unsaved_rows_do_not_outgrow_the_table() {
    let mut table = table_of(100);
    for round in 0..2_000 {
        record(&mut table, &name(round % 150), NOW);
    }
    // Most recordings have been evicted.
    let rows = rows_of(&mut table);
    assert_eq!((contents(&merged(&rows)), rows.len()), (contents(&table), 1));
}

#[test]
fn a_stash_has_the_newest_that_fit() {
    let mut table = table();
    for item in 0..50 {
        record(&mut table, &name(item), NOW);
    }
    let stash = table.unsaved_within(1_000, NOW).unwrap().0;
    let ids = hashes_in(&stash);
    assert!(stash.len() <= 1_000 && (10..50).contains(&ids.len()));
    let newest = (50 - ids.len()..50).map(|item| hash(&name(item))).collect();
    assert_eq!(ids, newest);
    // A long id does not displace others.
    record(&mut table, &"x".repeat(5_000), NOW);
    assert!(hashes_in(&table.unsaved_within(1_000, NOW).unwrap().0).is_superset(&newest));
    assert_eq!(table.unsaved_within(99, NOW), None);
    let (all, is_all) = table.unsaved_within(200_000, NOW).unwrap();
    assert_eq!((hashes_in(&all).len(), is_all), (51, true));
    assert!(!table.unsaved_within(1_000, NOW).unwrap().1);
    // A stash marks nothing as saved.
    assert!(is_unsaved(&mut table));
}

#[test]
fn new_recordings_of_a_stash_are_unsaved_and_known_ones_are_not() {
    let mut writer = table();
    record(&mut writer, "a", NOW);
    record(&mut writer, "b", NOW);
    let stash = writer.unsaved_within(10_000, NOW).unwrap().0;
    let mut reader = table();
    record(&mut reader, "b", NOW + 9);
    rows_of(&mut reader);
    merge_from(&mut reader, &stash, Source::Stash);
    let row = read(&stash).unwrap();
    assert!(reader.has_unsaved(&row));
    assert_eq!(
        rows_of(&mut reader)
            .iter()
            .flat_map(|row| hashes_in(row))
            .collect::<BTreeSet<_>>(),
        hashes_of(&["a"])
    );
    assert!(!reader.has_unsaved(&row));
    merge_from(&mut reader, &stash, Source::Stash);
    assert!(!is_unsaved(&mut reader));
    // A later recording of one of its ids is unsaved.
    record(&mut reader, "a", NOW);
    assert!(reader.has_unsaved(&row));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A store that completes some writes, in any order, late or never. Recordings that the table counts as saved are
    /// in the completed rows, whatever is recorded in between.
    #[test]
    fn saved_recordings_are_in_the_confirmed_rows(
        steps in prop::collection::vec((0..5usize, 0..ITEMS, any::<prop::sample::Index>()), 0..60),
    ) {
        let mut table = stored_table(1);
        table.loaded();
        let (mut written, mut confirmed): (Vec<(String, Mark)>, Vec<String>) = (Vec::new(), Vec::new());
        for (step, item, index) in steps {
            match step {
                0 | 1 => record(&mut table, &name(item), NOW),
                2 => table.set_covered(hash(&name(item))),
                3 => written.extend(unsaved_rows(&mut table, Due::All)),
                _ if written.is_empty() => {}
                _ => {
                    let (row, mark) = written.remove(index.index(written.len()));
                    table.saved(mark);
                    confirmed.push(row);
                }
            }
            let store = merged(&confirmed);
            for (&hash, recording) in &table.recordings {
                let stored = store.get(hash).map(|one| (one.seq, one.covered));
                prop_assert!(recording.change != 0 || stored == Some((recording.seq, recording.covered)));
            }
            // The rest of it is in the rows that would be written now.
            let rest: Vec<String> = unsaved_rows(&mut table.clone(), Due::All).into_iter().map(|(row, _)| row).collect();
            prop_assert_eq!(contents(&merged(confirmed.iter().chain(&rest))), contents(&table));
        }
    }

    #[test]
    fn rewriting_is_idempotent_and_loses_only_evicted_recordings(
        schedule in schedule(),
        reporting in any::<bool>(),
        remember in 3..ITEMS,
    ) {
        let rows = rows_after(&schedule, reporting);
        prop_assume!(!rows.is_empty());
        let rewrite = |table: &mut Table, rows: &[String]| {
            let mut hashes = Vec::new();
            for row in rows {
                hashes.extend(hashes_in(row));
                merge_from(table, row, Source::Row);
            }
            let rows = table.rows_of(hashes).into_iter();
            rows.map(|row| row.text).collect::<Vec<String>>()
        };
        let mut table = table();
        let once = rewrite(&mut table, &rows);
        prop_assert_eq!(&contents(&merged(&once)), &contents(&merged(&rows)));
        prop_assert_eq!(&rewrite(&mut table, &once), &once);
        prop_assert_eq!(read(&once[0]).unwrap().facts, table.facts);
        let mut small = table_of(remember);
        let left = rewrite(&mut small, &rows);
        prop_assert_eq!(contents(&merged(&left)), contents(&small));
    }

    #[test]
    fn facts_merge_in_any_order(
        facts in prop::collection::vec((0..4u64, 0..4u64, any::<bool>(), 0..4u32, 0..4u64, 0..4u64), 1..6),
        rotation in any::<prop::sample::Index>(),
    ) {
        let facts: Vec<Facts> = facts.into_iter().map(|(day, window_days, reported, deleted_at, at, name)| Facts {
            day,
            window_days,
            reported,
            deletion: (deleted_at > 0).then_some(Deletion { deleted_at, at }),
            device_name: DeviceName::from_number(name),
        }).collect();
        let merged = |facts: &[Facts]| {
            let mut merged = Facts::default();
            facts.iter().for_each(|facts| merged.merge(facts));
            merged
        };
        let all = merged(&facts);
        let mut rotated = facts.clone();
        rotated.rotate_left(rotation.index(facts.len()));
        prop_assert_eq!(merged(&rotated), all);
        rotated.extend(facts.iter().copied().rev());
        prop_assert_eq!(merged(&rotated), all);
        let (left, right) = facts.split_at(rotation.index(facts.len()));
        prop_assert_eq!(merged(&[merged(left), merged(right)]), all);
        prop_assert!(facts.iter().all(|facts| all.include(facts)));
        prop_assert_eq!(all.day, facts.iter().map(|facts| facts.day).max().unwrap());
        prop_assert_eq!(all.device_name, facts.iter().filter_map(|facts| facts.device_name).min());
        // They are read back as they were written.
        let row = row::write(&table(), &all, &[]);
        prop_assert_eq!(read(&row), Some(row::Row { facts: all, recordings: Vec::new() }));
    }
}

#[test]
fn a_device_has_the_stored_name_and_the_smaller_of_two() {
    let (mut first, mut second) = (stored_table(1), stored_table(2));
    let mut rows = Vec::new();
    for table in [&mut first, &mut second] {
        let (row, mark) = unsaved(table, Due::Facts).unwrap();
        assert!(hashes_in(&row).is_empty() && table.device_name().is_none());
        table.saved(mark);
        assert!(table.device_name().is_some());
        // Nothing is due until the next day.
        assert!(unsaved(table, Due::Facts).is_none());
        assert!(table.unsaved(Mark::default(), Due::Facts, NOW + 86_400_000).is_some());
        rows.push(row);
    }
    let smaller = first.device_name().min(second.device_name());
    merge_row(&mut first, &rows[1]);
    merge_row(&mut second, &rows[0]);
    assert_eq!([first.device_name(), second.device_name()], [smaller; 2]);
    // A name from a stash is not known to be stored.
    let mut third = stored_table(3);
    merge_from(&mut third, &rows[0], Source::Stash);
    assert_eq!(third.device_name(), None);
    assert!(third.has_unsaved(&read(&rows[0]).unwrap()));
}

#[test]
fn facts_that_the_store_lacks_are_due() {
    let mut table = stored_table(1);
    let is_due = |table: &mut Table| match unsaved(table, Due::Facts) {
        Some((_, mark)) => {
            table.saved(mark);
            true
        }
        None => false,
    };
    assert!(is_due(&mut table) && !is_due(&mut table));
    table.set_reporting();
    assert!(is_due(&mut table) && !is_due(&mut table));
    table.merge_deletion(Deletion { deleted_at: 9, at: NOW });
    assert!(is_due(&mut table) && !is_due(&mut table));
    let mut wider = Table::new(3 * WINDOW_MS, 10, MultiplyShift::default());
    let row = unsaved(&mut wider, Due::Facts).unwrap().0;
    merge_from(&mut table, &row, Source::Stash);
    assert!(is_due(&mut table) && !is_due(&mut table));
}

// The counter.

#[test]
fn the_counter_is_above_all_known_ones_and_at_least_the_clock() {
    let mut table = table();
    let counts = |table: &mut Table, at| {
        record(table, "a", at);
        table.counter()
    };
    assert_eq!(
        [NOW, NOW, NOW - 9].map(|at| counts(&mut table, at)),
        [NOW, NOW + 1, NOW + 2]
    );
    let mut ahead = self::table();
    record(&mut ahead, "b", NOW + 99);
    merge_row(&mut table, &rows_of(&mut ahead)[0]);
    assert_eq!(counts(&mut table, NOW), NOW + 100);
    // At the highest counter, the time decides.
    assert_eq!([MAX_AT, MAX_AT].map(|at| counts(&mut table, at)), [MAX_SEQ, MAX_SEQ]);
}

// Local recordings before the rows were loaded.

/// A table whose rows are not loaded yet, with a local recording of `a`.
fn early_local() -> Table {
    let mut table = stored_table(1);
    table.record_local(HashedId::new(b"a"), NOW);
    assert!(is_seen(&table, "a") && !is_unsaved(&mut table));
    table
}

#[test]
fn local_recordings_are_saved_after_the_first_load_unless_they_are_already_stopped() {
    let mut unknown = early_local();
    unknown.loaded();
    assert!(is_seen(&unknown, "a") && is_unsaved(&mut unknown));

    let mut writer = table();
    record(&mut writer, "a", NOW - 1);
    let mut known = early_local();
    merge_row(&mut known, &rows_of(&mut writer)[0]);
    known.loaded();
    assert!(known.get(hash("a")).unwrap().is_pending() && !is_unsaved(&mut known));
}

#[test]
fn local_recordings_stay_stopped_in_any_order_of_rows_with_an_earlier_unsee() {
    let mut writer = table();
    record(&mut writer, "a", NOW - 9);
    let mut rows = rows_of(&mut writer);
    unsee(&mut writer, "a", NOW - 8);
    rows.extend(rows_of(&mut writer));
    for order in [[0, 1], [1, 0]] {
        let mut table = early_local();
        order.iter().for_each(|&row| merge_row(&mut table, &rows[row]));
        table.loaded();
        let stored = rows.iter().cloned().chain(rows_of(&mut table)).collect::<Vec<_>>();
        assert!(is_seen(&table, "a") && is_seen(&merged(&stored), "a"), "{order:?}");
    }
}

#[test]
fn deletions_and_unsees_before_the_first_load_are_final() {
    let (mut cleared, mut deleted, mut unseen) = (early_local(), early_local(), early_local());
    cleared.reset(false);
    deleted.merge_deletion(Deletion {
        deleted_at: 9,
        at: NOW + 1,
    });
    unsee(&mut unseen, "a", NOW);
    for mut table in [cleared, deleted, unseen] {
        table.loaded();
        assert!(!is_seen(&table, "a"));
    }
}
