//! The table alone: rows come back as they were written, and copies become one in any order of merging.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::row;
use super::*;
use crate::base64;

const NOW: u64 = 1_764_000_000_000;
const WINDOW_MS: u64 = 86_400_000;
const ITEMS: usize = 12;

fn table() -> Table {
    Table::new(WINDOW_MS, DEFAULT_REMEMBER)
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

/// All that is unsaved, as rows, and then it is saved.
fn rows_of(table: &mut Table) -> Vec<String> {
    let ranks = table.ranks_of(table.latest_unsaved(true, usize::MAX).1);
    table.set_saved(0, u64::MAX);
    ranks.chunks(MAX_ROW).map(|ranks| row::write(table, ranks)).collect()
}

fn merge_row(table: &mut Table, row: &str) {
    for (hash, recording) in row::read(row, true).unwrap() {
        table.merge(hash, recording);
    }
}

fn merged<'a>(rows: impl IntoIterator<Item = &'a String>) -> Table {
    let mut table = table();
    rows.into_iter().for_each(|row| merge_row(&mut table, row));
    table
}

/// All that a row can hold, which is not whether this tab recorded it.
fn contents(table: &Table) -> BTreeMap<u64, Recording> {
    let mut contents = BTreeMap::new();
    for (&hash, one) in &table.recordings {
        let mut one = one.clone();
        if let Some(undelivered) = &mut one.undelivered {
            undelivered.is_recorded_here = false;
        }
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
    for (place, id) in ["a", "", "\0", "🦀", "covered", "unseen", "delivered", "twice"]
        .iter()
        .enumerate()
    {
        record(&mut table, id, NOW - 1_000 * place as u64);
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
fn a_row_that_is_read_back_is_what_was_written() {
    let (table, row) = row_of_all_kinds();
    assert!(row.is_ascii());
    let mut later = self::table();
    later.set_reporting();
    merge_row(&mut later, &row);
    assert_eq!((contents(&later), later.counter()), (contents(&table), table.counter()));
}

#[test]
fn what_is_to_be_delivered_keeps_its_text_in_whatever_order_a_look_reads_the_rows() {
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
        let mut table = table();
        table.expect_look();
        rows.into_iter().for_each(|row| merge_row(&mut table, row));
        table.finish_look();
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
fn damage_of_any_byte_costs_the_row() {
    let (_, row) = row_of_all_kinds();
    // Padding says nothing.
    for place in 0..row.trim_end_matches('=').len() {
        for other in ["A", "/", "\n", "é", ""] {
            let mut damaged = row.clone();
            damaged.replace_range(place..=place, other);
            assert!(
                damaged == row || row::read(&damaged, true).is_none(),
                "{place} {other:?}"
            );
        }
        assert!(row::read(&row[..place], true).is_none(), "{place}");
    }
}

/// The bytes of a recording, with a checksum that is right.
fn sealed(bytes: &[u8]) -> String {
    let checksum = crate::hash::hash_id(bytes, 0) as u32;
    base64::encode(&[bytes, &checksum.to_le_bytes()].concat())
}

#[test]
fn what_cannot_be_is_damage_though_the_checksum_is_right() {
    const LARGEST: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    let recording = |flags: u8, counter: &[u8], time: &[u8], id: &[u8]| sealed(&[&[flags], counter, time, id].concat());
    let (hash, same) = (&[7u8; 8], &[0u8]);
    let largest = row::read(&recording(0, &LARGEST, same, hash), true).unwrap();
    assert_eq!((largest[0].1.seq, largest[0].1.at), (MAX_SEQ, MAX_AT));
    let above = [&[0x80; 7][..], &[0x10]].concat();
    for (what, row) in [
        ("a counter of 2^53", recording(0, &above, same, hash)),
        ("a time after the latest", recording(0, &LARGEST, &[2], hash)),
        ("a time before 1970", recording(0, &[3], &[7], hash)),
        ("three deliveries", recording(3 * 8, &[9], same, hash)),
        ("a number without an end", recording(0, &[0xFF; 10], same, hash)),
        ("a text longer than the row", recording(4, &[9], same, &[9, b'a'])),
        ("half a hash", recording(0, &[9], same, &[7; 4])),
    ] {
        assert_eq!(row::read(&row, true), None, "{what}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "[A-Za-z0-9+/=]{0,99}", bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        row::read(&text, true);
        if let Some(recordings) = row::read(&sealed(&bytes), true) {
            let mut table = table();
            for (hash, recording) in recordings {
                table.merge(hash, recording);
            }
            // What is recorded then counts in any case, and can be stored.
            record(&mut table, "a", NOW);
            prop_assert!(is_seen(&merged(&rows_of(&mut table)), "a"));
        }
    }
}

// Merging.

/// What a tab does.
#[derive(Debug, Clone)]
enum Action {
    Record(usize),
    Unsee(usize),
    Cover(usize),
    Deliver(usize),
    Put,
    /// It merges all rows that were put so far.
    Look,
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
        4 => Just(Action::Put),
        2 => Just(Action::Look),
        1 => clock().prop_map(Action::SetClock),
    ];
    prop::collection::vec((0..3usize, action), 0..50)
}

fn name(item: usize) -> String {
    format!("item-{item}")
}

/// The rows that three tabs put; `reporting`: their impressions are delivered.
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
            Action::Put => rows.extend(rows_of(tab)),
            Action::Look => rows.iter().for_each(|row| merge_row(tab, row)),
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
        let ranks = compacting.in_order(&|_| true);
        let mut grouped = merged(right);
        merge_row(&mut grouped, &row::write(&compacting, &ranks));
        prop_assert_eq!(&contents(&grouped), &all);
        right.iter().for_each(|row| merge_row(&mut compacting, row));
        prop_assert_eq!(&contents(&compacting), &all);
        let repeated: Vec<String> = again.iter().map(|index| index.get(&rows).clone()).collect();
        rows.extend(repeated);
        prop_assert_eq!(&contents(&merged(&rows)), &all);
        prop_assert_eq!(&contents(&merged(rows.iter().rev())), &all);
    }

    #[test]
    fn the_highest_by_counter_stay_whatever_the_clock_does(
        clocks in prop::collection::vec(clock(), 1..120),
        remember in 1..40usize,
    ) {
        let mut table = Table::new(WINDOW_MS, remember);
        for (place, &now) in clocks.iter().enumerate() {
            record(&mut table, &name(place), now);
        }
        let mut later = Table::new(WINDOW_MS, remember);
        rows_of(&mut table).iter().for_each(|row| merge_row(&mut later, row));
        for table in [&table, &later] {
            for (place, &now) in clocks.iter().enumerate().rev().take(remember) {
                prop_assert!(table.get_live(hash(&name(place)), now).is_some());
            }
            prop_assert!(table.len() <= remember + remember / 10);
        }
    }

    #[test]
    fn floors_and_rows_merge_in_any_order(
        recorded in prop::collection::vec(0..9u64, 1..9),
        floors in prop::collection::vec((1..4u32, 0..9u64), 1..5),
        rotation in any::<prop::sample::Index>(),
    ) {
        let mut writer = table();
        recorded.iter().enumerate().for_each(|(item, &at)| record(&mut writer, &name(item), at));
        let rows = rows_of(&mut writer);
        let floors: Vec<Floor> = floors.into_iter().map(|(deleted_at, at)| Floor { deleted_at, at }).collect();
        // Of two the later deletion counts, of one the earlier time.
        let latest = floors.iter().map(|floor| floor.deleted_at).max().unwrap();
        let of_latest = floors.iter().filter(|floor| floor.deleted_at == latest);
        let at = of_latest.map(|floor| floor.at).min().unwrap();
        let mut rotated = floors.clone();
        rotated.rotate_left(rotation.index(floors.len()));
        for (before, after) in [(&floors[..], &[][..]), (&[], &rotated), (&rotated[1..], &rotated[..1])] {
            let mut table = table();
            let deletes = |table: &mut Table, floors: &[Floor]| {
                floors.iter().for_each(|&floor| table.merge_floor(floor));
            };
            deletes(&mut table, before);
            rows.iter().for_each(|row| merge_row(&mut table, row));
            deletes(&mut table, after);
            prop_assert_eq!(table.floor(), Some(Floor { deleted_at: latest, at }));
        }
    }
}

#[test]
fn an_unsee_counts_although_the_clock_was_set_back_before_it() {
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
fn a_deletion_reaches_what_was_recorded_before_it_alone() {
    let mut writer = table();
    record(&mut writer, "before", NOW - 1);
    record(&mut writer, "since", NOW);
    let rows = rows_of(&mut writer);
    let floor = Floor { deleted_at: 9, at: NOW };
    let mut late = merged(&rows);
    let mut early = table();
    late.merge_floor(floor);
    early.merge_floor(floor);
    let revision = early.unseen_revision();
    early.merge_floor(floor);
    assert_eq!(early.unseen_revision(), revision);
    rows.iter().for_each(|row| merge_row(&mut early, row));
    for table in [late, early] {
        assert!(!is_seen(&table, "before") && is_seen(&table, "since"));
        assert_eq!(table.counter(), NOW);
    }
}

// A clear.

#[test]
fn a_table_that_learns_of_a_clear_keeps_only_what_was_recorded_since() {
    for keeps in [false, true] {
        let mut table = table();
        table.merge_floor(Floor { deleted_at: 9, at: NOW });
        table.name_device(DeviceName::new("home", 7));
        record(&mut table, "a", NOW);
        table.set_saved(0, u64::MAX);
        assert!(table.learn(5, keeps) && !table.learn(5, false) && !table.learn(4, false));
        assert_eq!((table.number(), table.floor(), table.device_name()), (5, None, None));
        assert_eq!((is_seen(&table, "a"), table.tally.texts), (keeps, usize::from(keeps)));
        // It is stored anew, under this number.
        assert_eq!(table.is_unsaved(false, 0, u64::MAX), keeps);
    }
}

// What is unsaved.

#[test]
fn of_what_nothing_stores_the_latest_change_of_each_id_waits() {
    let mut table = Table::new(WINDOW_MS, 100);
    for round in 0..2_000 {
        record(&mut table, &name(round % 150), NOW);
        assert!(table.unsaved.len() <= 2 * 110 + MAX_ROW + 1);
    }
    // Most of them have been evicted.
    let rows = rows_of(&mut table);
    assert_eq!((contents(&merged(&rows)), rows.len()), (contents(&table), 1));
}

// The counter.

#[test]
fn the_counter_is_above_all_that_was_heard_of_and_not_below_the_clock() {
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
    // At the highest that there is, the time decides.
    assert_eq!([MAX_AT, MAX_AT].map(|at| counts(&mut table, at)), [MAX_SEQ, MAX_SEQ]);
}

// Seen elsewhere, before the storage was read.

/// A table that has yet to look, and has recorded `a` as seen elsewhere.
fn early_local() -> Table {
    let mut table = table();
    table.expect_look();
    table.record_local(HashedId::new(b"a"), NOW);
    assert!(is_seen(&table, "a") && !table.is_unsaved(true, 0, u64::MAX));
    table
}

#[test]
fn what_was_seen_elsewhere_is_stored_after_the_first_look_unless_it_is_stopped_already() {
    let mut unknown = early_local();
    unknown.finish_look();
    assert!(is_seen(&unknown, "a") && unknown.is_unsaved(false, 0, u64::MAX));

    let mut writer = table();
    record(&mut writer, "a", NOW - 1);
    let mut known = early_local();
    merge_row(&mut known, &rows_of(&mut writer)[0]);
    known.finish_look();
    assert!(known.get(hash("a")).unwrap().is_pending() && !known.is_unsaved(true, 0, u64::MAX));
}

#[test]
fn it_stays_stopped_in_whatever_order_an_unsee_from_before_is_read() {
    let mut writer = table();
    record(&mut writer, "a", NOW - 9);
    let mut rows = rows_of(&mut writer);
    unsee(&mut writer, "a", NOW - 8);
    rows.extend(rows_of(&mut writer));
    for order in [[0, 1], [1, 0]] {
        let mut table = early_local();
        order.iter().for_each(|&row| merge_row(&mut table, &rows[row]));
        table.finish_look();
        let stored = rows.iter().cloned().chain(rows_of(&mut table)).collect::<Vec<_>>();
        assert!(is_seen(&table, "a") && is_seen(&merged(&stored), "a"), "{order:?}");
    }
}

#[test]
fn what_is_forgotten_or_unseen_before_the_first_look_does_not_come_back() {
    let (mut cleared, mut deleted, mut unseen) = (early_local(), early_local(), early_local());
    cleared.learn(1, false);
    deleted.merge_floor(Floor {
        deleted_at: 9,
        at: NOW + 1,
    });
    unsee(&mut unseen, "a", NOW);
    for mut table in [cleared, deleted, unseen] {
        table.finish_look();
        assert!(!is_seen(&table, "a"));
    }
}
