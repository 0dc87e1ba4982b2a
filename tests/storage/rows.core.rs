//! The core's interface to the storage: rows, their facts, and marks of saved changes. The simulation tests that nothing
//! is lost whatever the order of rows.

use crate::common::device::{Device, save, stored_guard};
use crate::common::{START, apply, at, has_all, ids, shard_of};
use seenguard::device::{Due, Explanation, Guard, Mark, Scope, Source};

const DAY: u64 = 86_400;

/// All unsaved changes, as rows with their marks.
fn unsaved(guard: &mut Guard, due: Due) -> Vec<(String, Mark)> {
    let mut rows = Vec::new();
    let mut after = Mark::default();
    while let Some((row, mark)) = guard.unsaved(after, due, at(START)) {
        rows.push((row, mark));
        after = mark;
    }
    rows
}

fn is_due(guard: &mut Guard, due: Due, now: u64) -> bool {
    guard.unsaved(Mark::default(), due, at(now)).is_some()
}

/// A guard that has saved everything.
fn saved_guard(ids: &[String]) -> (Guard, Device) {
    let (mut guard, mut device) = (stored_guard(), Device::default());
    guard.record(ids, at(START));
    save(&mut guard, &mut device);
    (guard, device)
}

fn knows(rows: &[String], id: &str) -> bool {
    let device = Device { rows: rows.to_vec() };
    device.next_visit().explain(id, at(START)).is_some()
}

/// The device's name, as a server receives it.
fn name(guard: &Guard) -> String {
    let list = guard.pending_list(4_000, at(START));
    list.split('.').next().unwrap_or_default().to_owned()
}

// Rows and marks.

#[test]
fn i6_rows_of_a_thousand_have_all_unsaved_changes() {
    let mut guard = stored_guard();
    guard.record(&ids("item", 0..2_500), at(START));
    let rows = unsaved(&mut guard, Due::Changes);
    let mut reader = stored_guard();
    let counts: Vec<_> = rows.iter().map(|(row, _)| reader.merge_row(row, Source::Row)).collect();
    assert_eq!(counts, [Some(1_000), Some(1_000), Some(500)]);
    assert!(has_all(&reader, &ids("item", 0..2_500), at(START)));
}

#[test]
fn i6_marks_are_confirmed_in_any_order_and_later_changes_stay_unsaved() {
    let mut guard = stored_guard();
    guard.record(&ids("item", 0..2_500), at(START));
    let rows = unsaved(&mut guard, Due::Changes);
    guard.unsee(&["item-7"], at(START + 1));
    guard.saved(rows[2].1);
    guard.saved(rows[0].1);
    let left = unsaved(&mut guard, Due::Changes);
    assert_eq!(left.len(), 2);
    let mut reader = stored_guard();
    assert_eq!(reader.merge_row(&left[0].0, Source::Row), Some(1_000));
    assert_eq!(reader.merge_row(&left[1].0, Source::Row), Some(1));
    assert!(reader.explain("item-1500", at(START)).is_some());
    assert_eq!(reader.unseen(&["item-7"], at(START + 1)), [0]);
    // A mark counts once.
    guard.saved(rows[1].1);
    guard.record(&["item-1500"], at(START + 2));
    guard.saved(rows[1].1);
    assert!(is_due(&mut guard, Due::Changes, START));
}

#[test]
fn covering_alone_starts_no_save_and_is_saved_with_the_next_change() {
    let (mut guard, mut device) = saved_guard(&ids("item", 0..2));
    apply(
        &mut guard,
        None,
        &[shard_of(&["item-0"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    assert!(!is_due(&mut guard, Due::Changes, START) && !is_due(&mut guard, Due::Facts, START));
    assert!(is_due(&mut guard, Due::All, START) && guard.unsaved_within(50_000, at(START)).is_none());
    guard.record(&["other"], at(START));
    let (row, _) = guard.unsaved(Mark::default(), Due::Changes, at(START)).unwrap();
    assert_eq!(stored_guard().merge_row(&row, Source::Row), Some(2));
    device.rows.push(row);
    assert_eq!(device.next_visit().pending(9, at(START)), ["item-1", "other"]);
}

#[test]
fn i6_a_stash_has_the_newest_changes_that_fit_and_they_are_unsaved_where_it_is_merged() {
    let mut guard = stored_guard();
    guard.record(&ids("item", 0..500), at(START));
    let stash = guard.unsaved_within(2_000, at(START)).unwrap();
    assert!(stash.len() <= 2_000);
    let (mut reader, mut device) = (stored_guard(), Device::default());
    let count = reader.merge_row(&stash, Source::Stash).unwrap();
    assert!(has_all(&reader, &ids("item", 500 - count..500), at(START)) && count > 10);
    assert!(guard.has_unsaved(&stash) && reader.has_unsaved(&stash));
    save(&mut reader, &mut device);
    assert!(!reader.has_unsaved(&stash) && knows(&device.rows, "item-499"));
    device.load(&mut guard, Source::Row);
    assert!(guard.has_unsaved(&stash));
}

#[test]
fn i6_rewritten_rows_have_the_tables_recordings_of_the_former_rows_ids() {
    let (_, mut device) = saved_guard(&ids("item", 0..1_500));
    let (_, others) = saved_guard(&ids("other", 0..600));
    device.rows.extend(others.rows);
    let mut guard = stored_guard();
    guard.record(&["unsaved"], at(START));
    let rows = guard.rewrite(device.rows.iter().map(String::as_str));
    assert_eq!(rows.len(), 3);
    let reader = Device { rows }.next_visit();
    assert!(has_all(&reader, &ids("item", 0..1_500), at(START)) && has_all(&reader, &ids("other", 0..600), at(START)));
    assert!(reader.explain("unsaved", at(START)).is_none());
    assert!(is_due(&mut guard, Due::Changes, START));
}

#[test]
fn i7_ten_thousand_impressions_take_350_kb_in_ten_rows() {
    let (mut guard, device) = saved_guard(&ids("item-of-14-ch", 0..10_000));
    let rows = guard.rewrite(device.rows.iter().map(String::as_str));
    let characters: usize = rows.iter().map(String::len).sum();
    assert!(
        rows.len() == 10 && characters <= 350_000,
        "{} rows of {characters}",
        rows.len()
    );
}

#[test]
fn i5_a_damaged_row_changes_nothing() {
    let (guard, device) = saved_guard(&ids("item", 0..3));
    let row = &device.rows[0];
    assert_eq!(Guard::row_facts(""), None);
    for damaged in ["?", "é", &row[1..], &row[..row.len() - 4]] {
        let mut reader = stored_guard();
        assert_eq!(reader.merge_row(damaged, Source::Found), None, "{damaged}");
        assert!(reader.recordings() == 0 && !guard.has_unsaved(damaged));
        assert_eq!(Guard::row_facts(damaged), None);
        assert_eq!(reader.rewrite([damaged]), [""; 0]);
    }
}

// Facts.

#[test]
fn facts_are_due_if_the_store_lacks_them_and_on_another_day() {
    let mut guard = stored_guard();
    assert!(!is_due(&mut guard, Due::Changes, START) && is_due(&mut guard, Due::Facts, START));
    let mut device = Device::default();
    save(&mut guard, &mut device);
    assert!(!is_due(&mut guard, Due::Facts, START));
    assert_eq!(Guard::row_facts(&device.rows[0]), Some((START / DAY, 30)));
    assert!(is_due(&mut guard, Due::Facts, START + DAY));
    guard.start_reporting();
    assert!(is_due(&mut guard, Due::Facts, START));
    save(&mut guard, &mut device);
    let mut next = device.next_visit();
    assert!(!is_due(&mut next, Due::Facts, START));
    // A covered impression keeps its id for a delivery, of which the row has the fact.
    next.record(&["a"], at(START));
    apply(
        &mut next,
        None,
        &[shard_of(&["a"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    assert_eq!(next.begin_batch(9, 9_999, Scope::Own, at(START)).impressions.len(), 1);
}

#[test]
fn a_device_has_a_name_once_it_is_stored_and_all_tabs_agree_on_one() {
    let (mut here, mut there, mut device) = (stored_guard(), stored_guard(), Device::default());
    let (_, mark) = here.unsaved(Mark::default(), Due::Facts, at(START)).unwrap();
    assert_eq!(name(&here), "");
    here.saved(mark);
    let first = name(&here);
    assert_eq!(first.len(), 12);
    save(&mut there, &mut device);
    assert!(name(&there) != first);
    here.start_reporting();
    save(&mut here, &mut device);
    device.load(&mut there, Source::Row);
    assert_eq!(name(&here), name(&there));
    assert_eq!(name(&device.next_visit()), name(&here));
    here.reset(false);
    assert_eq!(name(&here), "");
    save(&mut here, &mut Device::default());
    assert!(name(&here) != name(&there));
}

// The first load, and a clear.

#[test]
fn local_recordings_before_the_first_load_change_no_stored_recording() {
    let (_, device) = saved_guard(&ids("item", 0..1));
    let mut guard = stored_guard();
    guard.record_local(&["item-0", "met elsewhere"], at(START + 5));
    assert!(!is_due(&mut guard, Due::Changes, START));
    device.load(&mut guard, Source::Found);
    let why = guard.explain("item-0", at(START + 5));
    assert_eq!(why, Some(Explanation::Pending { at: START * 1_000 }));
    assert!(guard.explain("met elsewhere", at(START + 5)).is_some());
    assert!(is_due(&mut guard, Due::Changes, START));
}

#[test]
fn a_reset_keeps_only_what_the_tab_recorded_before_it_merged_anything() {
    let (mut cleared, _) = saved_guard(&ids("item", 0..3));
    cleared.reset(false);
    assert!(cleared.recordings() == 0 && cleared.pending(9, at(START)).is_empty());
    assert!(!is_due(&mut cleared, Due::Changes, START));

    let mut guard = stored_guard();
    guard.record(&["a", "b"], at(START));
    let (_, mark) = guard.unsaved(Mark::default(), Due::Changes, at(START)).unwrap();
    guard.saved(mark);
    guard.record(&["c"], at(START));
    let (_, before) = guard.unsaved(Mark::default(), Due::Changes, at(START)).unwrap();
    guard.reset(true);
    guard.saved(before);
    let mut device = Device::default();
    save(&mut guard, &mut device);
    assert!(has_all(
        &device.next_visit(),
        &["a".into(), "b".into(), "c".into()],
        at(START)
    ));
}
