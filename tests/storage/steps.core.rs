//! The storage of one namespace, step by step, over plain maps: what it puts, looks at, passes, and when. That nothing
//! is lost whatever happens is what the simulation tells.

use crate::common::device::{Answer, Device, PREFIX, Tab};
use crate::common::{DAY, START, apply, at, at_ms, ids, shard_of, shard_of_everything};
use seenguard::Snapshot;
use seenguard::device::{Guard, Others, Place, Step, Trouble};

const DAY_MS: u64 = DAY * 1000;
const PLACES: [Place; 3] = [Place::IndexedDb, Place::Local, Place::Custom];

/// A device with rows of an earlier visit, of so many impressions each.
fn device_with_rows(sizes: &[usize]) -> Device {
    let mut device = Device::with_signal();
    let mut tab = Tab::new(Place::IndexedDb);
    for (row, &size) in sizes.iter().enumerate() {
        tab.record(&ids(&format!("row {row}"), 0..size));
        tab.work(&mut device);
    }
    device
}

/// A tab whose stored impression the server has covered since, which is not stored yet.
fn tab_with_unstored_coverage(device: &mut Device) -> Tab {
    let mut tab = Tab::open(device, Place::IndexedDb);
    tab.record(&["a"]);
    tab.work(device);
    apply(&mut tab.guard, None, &[shard_of_everything()], at(START)).unwrap();
    tab.storage.changed(&tab.guard);
    tab
}

/// How many rows of these sizes are left when the next visit has passed.
fn rows_left(sizes: &[usize]) -> usize {
    let mut device = device_with_rows(sizes);
    assert_eq!(device.rows(), sizes.len());
    let mut tab = device.next_visit();
    tab.wait(&mut device, 2_000);
    let left = device.rows();
    // Whatever was compacted, the next visit knows it all.
    assert_eq!(device.next_visit().pending().len(), sizes.iter().sum::<usize>());
    left
}

// What was recorded comes back.

#[test]
fn i6_a_later_visit_knows_what_was_recorded_wherever_it_is_kept() {
    let strange = ["a", "", "\0", "a\0b", "🦀", "a\nb", "\u{FFFD}"];
    for place in PLACES {
        let mut device = Device::default();
        let mut tab = Tab::open(&mut device, place);
        for id in strange {
            tab.now_ms += 1;
            tab.record(&[id]);
        }
        tab.unsee(&["a"]);
        tab.record_local(&["local"]);
        tab.work(&mut device);
        let later = Tab::open(&mut device, place);
        assert_eq!(later.pending(), strange[1..]);
        assert!(later.has("local") && !later.has("a") && !later.has("b"));
    }
}

#[test]
fn i5_without_a_place_nothing_is_stored_and_nothing_is_waited_for() {
    let mut guard = Guard::new(30.0, 10).unwrap();
    let mut storage = seenguard::device::Storage::new(PREFIX, "home", None, 1, &mut guard);
    guard.record(&["a"], at(START));
    storage.changed(&guard);
    storage.flush(&guard);
    assert_eq!(storage.next(&guard, at(START)), Step::Wait);
    assert!(storage.has_looked(&guard) && storage.is_settled());
    // A clear reaches it all the same.
    storage.hear(&mut guard, Some(5));
    assert!(guard.explain("a", at(START)).is_none());
}

// Put.

#[test]
fn a_row_is_put_before_the_first_look_where_the_signal_tells_its_number_and_else_after_it() {
    for (signal, first) in [(Some(0), Step::Put), (None, Step::Look)] {
        let mut device = Device {
            signal,
            ..Device::default()
        };
        let mut tab = Tab::new(Place::IndexedDb);
        tab.record(&["a"]);
        assert_eq!(tab.work(&mut device)[0], first);
        assert_eq!(device.rows(), 1);
    }
}

#[test]
fn without_a_signal_a_row_is_put_once_the_first_look_has_failed_or_the_page_hides() {
    let mut device = Device::answering(Answer::Never);
    let mut tab = Tab::new(Place::IndexedDb);
    tab.record(&["a"]);
    assert_eq!(tab.work(&mut device), [Step::Look]);
    device.answer = Answer::Complete;
    tab.hide(&mut device);
    assert_eq!(device.rows(), 1);

    let mut device = Device::answering(Answer::Failed);
    let mut tab = Tab::new(Place::IndexedDb);
    tab.record(&["a"]);
    assert_eq!(tab.work(&mut device), [Step::Look, Step::Put]);
}

#[test]
fn i6_a_recording_between_two_rows_of_a_put_damages_no_row() {
    let ids: Vec<String> = (0..1_500).map(|number| format!("id-{number}")).collect();
    let mut tab = Tab::new(Place::Custom);
    tab.record(&ids);
    tab.storage.hide(&tab.guard);
    let now = tab.now();
    while tab.storage.next(&tab.guard, now) != Step::Put {}
    tab.storage.begin(&tab.guard, Place::Custom);
    let mut device = Device::default();
    device.main.extend(tab.storage.next_write(&tab.guard, now));
    tab.record(&ids[..3]);
    device.main.extend(tab.storage.next_write(&tab.guard, now));
    assert_eq!(device.main.len(), 2);

    let mut next = Tab::open(&mut device, Place::Custom);
    assert!(ids.iter().all(|id| next.has(id)));
    assert!(!next.storage.take_notices().0, "no row is damaged");
}

#[test]
fn a_put_has_the_latest_thousand_and_the_next_ones_the_rest() {
    let mut device = Device::with_signal();
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    tab.record(&ids("item", 0..2_500));
    device.answer = Answer::Never;
    tab.work(&mut device);
    tab.complete_late(&mut device);
    assert_eq!(device.next_visit().pending(), ids("item", 1_500..2_500));
    device.answer = Answer::Complete;
    let puts = tab.work(&mut device).into_iter().filter(|&step| step == Step::Put);
    assert_eq!((puts.count(), device.rows()), (2, 3));
    assert_eq!(device.next_visit().pending().len(), 2_500);
}

#[test]
fn what_was_merely_covered_goes_with_the_next_put_or_as_the_page_hides() {
    for hides in [false, true] {
        let mut device = Device::default();
        let mut tab = tab_with_unstored_coverage(&mut device);
        assert_eq!((tab.work(&mut device), device.rows()), (vec![], 1));
        match hides {
            true => drop(tab.hide(&mut device)),
            false => tab.record(&["b"]),
        }
        tab.work(&mut device);
        assert_eq!((device.rows(), device.next_visit().pending().len()), (2, 0));
    }
}

#[test]
fn other_tabs_are_told_of_what_was_put_and_of_nothing_else() {
    let mut device = Device::default();
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    tab.record(&["a"]);
    assert_eq!(tab.work(&mut device), [Step::Put, Step::Signal]);
    let mut other = device.next_visit();
    other.storage.signalled();
    assert_eq!(other.work(&mut device), [Step::Look]);
    // What is said of the namespace as a whole is no row.
    assert_eq!(other.flush(&mut device), [Step::Look, Step::Pass]);
    // Nor do they hear of rows in a store of the app's own.
    let mut tab = Tab::open(&mut device, Place::Custom);
    tab.record(&["b"]);
    assert_eq!(tab.work(&mut device), [Step::Put]);
}

// Look.

#[test]
fn a_first_look_that_fails_is_tried_again_while_the_page_waits_and_after_that_ever_less_often() {
    let mut device = device_with_rows(&[1]);
    device.answer = Answer::Failed;
    let mut tab = Tab::new(Place::IndexedDb);
    assert_eq!(tab.wait(&mut device, 1_900).len(), 10);
    assert_eq!(tab.trouble(), Some(Trouble::Unavailable));
    tab.storage.opened();
    assert!((6..9).contains(&tab.wait(&mut device, 120_000).len()));
    device.answer = Answer::Complete;
    tab.wait(&mut device, 75_000);
    assert!(tab.has("row 0-0") && tab.trouble().is_none());
}

#[test]
fn what_was_put_after_a_first_look_has_failed_asks_for_a_look_at_once() {
    let mut device = device_with_rows(&[1]);
    device.answer = Answer::Failed;
    let mut tab = Tab::new(Place::IndexedDb);
    tab.storage.opened();
    tab.wait(&mut device, 120_000);
    device.answer = Answer::Complete;
    tab.record(&["a"]);
    assert!(tab.work(&mut device).starts_with(&[Step::Put]) && tab.has("row 0-0"));
}

#[test]
fn i6_a_visible_page_looks_every_ten_seconds_and_a_hidden_one_when_it_is_shown() {
    let mut device = Device::default();
    let (mut here, mut there) = (device.next_visit(), device.next_visit());
    here.wait(&mut device, 3_000);
    there.record(&["a"]);
    there.work(&mut device);
    here.wait(&mut device, 6_999);
    assert!(!here.has("a"));
    here.wait(&mut device, 1);
    assert!(here.has("a"));
    here.hide(&mut device);
    there.record(&["b"]);
    there.work(&mut device);
    here.storage.signalled();
    assert_eq!(here.wait(&mut device, 60_000), []);
    here.storage.show();
    here.work(&mut device);
    assert!(here.has("b"));
}

#[test]
fn a_store_of_the_apps_own_is_not_looked_at_without_a_reason() {
    let mut device = Device::default();
    let mut tab = Tab::open(&mut device, Place::Custom);
    tab.wait(&mut device, 3_000);
    tab.storage.signalled();
    assert_eq!(tab.wait(&mut device, 60_000), []);
    tab.storage.look();
    assert_eq!(tab.work(&mut device), [Step::Look]);
}

#[test]
fn a_signal_that_comes_during_a_look_asks_for_another() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.storage.look();
    device.answer = Answer::Never;
    tab.work(&mut device);
    let mut other = Tab::new(Place::IndexedDb);
    device.answer = Answer::Complete;
    other.record(&["a"]);
    other.work(&mut device);
    tab.storage.signalled();
    tab.complete_late(&mut device);
    assert!(tab.storage.is_looking());
    tab.work(&mut device);
    assert!(tab.has("a") && !tab.storage.is_looking());
}

#[test]
fn looks_do_not_wait_for_puts_that_fail() {
    let mut device = Device::default();
    let (mut here, mut there) = (device.next_visit(), device.next_visit());
    device.answer = Answer::Full;
    here.record(&["mine"]);
    here.work(&mut device);
    device.answer = Answer::Complete;
    there.record(&["theirs"]);
    there.work(&mut device);
    here.storage.signalled();
    assert!(here.work(&mut device).contains(&Step::Look) && here.has("theirs"));
}

// A page that hides.

#[test]
fn i6_as_a_page_hides_a_look_is_aborted_and_all_that_is_unsaved_is_put() {
    let mut device = Device::answering(Answer::Never);
    let mut tab = Tab::new(Place::IndexedDb);
    tab.record(&ids("item", 0..2_500));
    assert_eq!(tab.work(&mut device), [Step::Look]);
    let steps = tab.hide(&mut device);
    assert_eq!(steps, [Step::Abort, Step::LocalPut, Step::Put]);
    // The latest are in localStorage, whatever becomes of the put.
    assert!(device.local.values().all(|row| row.len() <= 50_000));
    let known = device.next_visit().pending();
    assert!(known.len() >= 500 && known.ends_with(&ids("item", 2_000..2_500)));
    tab.complete_late(&mut device);
    assert_eq!(device.rows(), 3);
    assert_eq!(device.next_visit().pending().len(), 2_500);
    // The row in localStorage goes once all is saved.
    tab.work(&mut device);
    assert_eq!(device.local_rows(), 0);
}

#[test]
fn a_page_that_is_hidden_before_its_first_look_looks_once() {
    let mut device = Device::answering(Answer::Never);
    let mut tab = Tab::new(Place::IndexedDb);
    tab.work(&mut device);
    // The look has failed, and is tried again in a moment.
    tab.wait(&mut device, 10_000);
    assert_eq!(tab.hide(&mut device), [Step::Look]);
    assert_eq!(tab.wait(&mut device, 1_000), []);
    tab.complete_late(&mut device);
    device.answer = Answer::Complete;
    assert_eq!(tab.work(&mut device), []);
    assert!(tab.storage.has_looked(&tab.guard));
}

#[test]
fn a_hidden_page_passes_no_more_and_a_pass_under_way_is_aborted() {
    let mut device = device_with_rows(&[1; 13]);
    let mut tab = device.next_visit();
    device.answer = Answer::Never;
    assert_eq!(tab.wait(&mut device, 2_000), [Step::Pass]);
    assert_eq!(tab.hide(&mut device), [Step::Abort]);
    device.answer = Answer::Complete;
    assert_eq!(tab.wait(&mut device, 60_000), []);
    tab.storage.show();
    assert_eq!(tab.work(&mut device)[..2], [Step::Look, Step::Pass]);
    assert_eq!(device.rows(), 1);
}

// localStorage beside IndexedDB.

#[test]
fn i6_what_no_put_has_finished_within_a_second_is_in_local_storage_until_it_is_saved() {
    let mut device = Device::with_signal();
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    device.answer = Answer::Never;
    tab.record(&["a"]);
    tab.wait(&mut device, 999);
    assert_eq!(device.local_rows(), 0);
    tab.wait(&mut device, 1);
    let first: Vec<String> = device.local.keys().cloned().collect();
    assert_eq!((first.len(), device.rows()), (1, 0));
    // A later row is another one, which has both.
    tab.record(&["b"]);
    assert_eq!(tab.wait(&mut device, 1_000), [Step::LocalPut, Step::LocalRemove]);
    assert!(device.local_rows() == 1 && !device.local.contains_key(&first[0]));
    assert_eq!(device.next_visit().pending(), ["a", "b"]);
    // No more is written than once a second, and nothing without a change.
    assert_eq!(tab.wait(&mut device, 5_000), []);
    tab.complete_late(&mut device);
    device.answer = Answer::Complete;
    tab.work(&mut device);
    assert_eq!((device.local_rows(), device.rows()), (0, 2));
    assert_eq!(device.next_visit().pending(), ["a", "b"]);
}

#[test]
fn what_is_merely_covered_takes_no_room_in_local_storage() {
    let mut device = Device::with_signal();
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    let stored = ids("stored", 0..1_500);
    tab.record(&stored);
    tab.work(&mut device);
    device.answer = Answer::Never;
    tab.record(&["a"]);
    // These are the latest 1,500 changes.
    let covering = shard_of(&stored, 1, 0).to_base64().unwrap();
    apply(&mut tab.guard, None, &[covering], at(START)).unwrap();
    tab.hide(&mut device);
    assert_eq!(device.local_rows(), 1);
    device.main.clear();
    device.answer = Answer::Complete;
    let visit = device.next_visit();
    assert!(visit.guard.explain("a", at(START)).is_some());
}

#[test]
fn i6_a_row_that_another_tab_writes_into_local_storage_is_merged_at_once() {
    let mut device = Device::with_signal();
    let (mut here, mut there) = (device.next_visit(), device.next_visit());
    device.answer = Answer::Never;
    there.record(&["a"]);
    there.wait(&mut device, 1_000);
    let (key, text) = device.local.first_key_value().unwrap();
    here.storage.merge_local(&mut here.guard, key, text);
    assert!(here.has("a"));
    // So is the number of a clear that it stands under.
    there.storage.clear(&mut there.guard, 7, false);
    there.record(&["b"]);
    there.hide(&mut device);
    let (key, text) = device.local.last_key_value().unwrap();
    here.storage.merge_local(&mut here.guard, key, text);
    assert!(here.guard.number() == 7 && here.has("b") && !here.has("a"));
    // What stands under a lower number does not exist.
    let (key, text) = device.local.first_key_value().unwrap();
    here.storage.merge_local(&mut here.guard, key, text);
    assert!(!here.has("a"));
}

#[test]
fn a_pass_moves_what_lies_in_local_storage_into_indexed_db() {
    let mut device = Device::away();
    let mut away = device.next_visit();
    away.record(&["a"]);
    away.guard.start_reporting();
    away.wait(&mut device, 3_000);
    assert_eq!(
        (device.rows(), device.local_rows(), away.device_name().len()),
        (0, 1, 12)
    );
    device.is_away = false;
    let mut tab = device.next_visit();
    assert_eq!(tab.pending(), ["a"]);
    tab.wait(&mut device, 2_000);
    assert!(device.local.is_empty() && device.rows() == 1);
    assert_eq!(tab.device_name(), away.device_name());
    // Once is enough.
    assert!(!tab.wait(&mut device, 30_000).contains(&Step::Pass));
}

#[test]
fn a_visit_moves_to_indexed_db_that_opens_late() {
    let mut device = Device::away();
    let mut tab = device.next_visit();
    tab.record(&["a"]);
    tab.wait(&mut device, 3_000);
    let name = tab.device_name();
    device.is_away = false;
    tab.wait(&mut device, 20_000);
    assert!(device.local.is_empty() && device.rows() == 1);
    assert_eq!((device.next_visit().device_name(), name.len()), (name, 12));
}

#[test]
fn rows_are_compacted_in_local_storage_while_indexed_db_is_not_open() {
    let mut device = Device::away();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 2_000);
    for id in ids("item", 0..40) {
        tab.record(&[id]);
        tab.work(&mut device);
        assert!(device.local_rows() <= 13);
    }
    assert_eq!((device.next_visit().pending().len(), device.rows()), (40, 0));
}

/// Rows of other tabs in localStorage, of so many characters or a little more together.
fn fill_local(device: &mut Device, characters: usize) {
    device.answer = Answer::Never;
    let mut length = 0;
    for number in 0.. {
        let mut tab = Tab::new(Place::IndexedDb);
        tab.now_ms += number;
        tab.record(&ids(&format!("tab {number}"), 0..900));
        tab.hide(device);
        length = device.local.values().map(String::len).sum();
        if length >= characters {
            break;
        }
    }
    assert!(length < characters + 50_000);
    device.answer = Answer::Complete;
}

#[test]
fn i7_rows_in_local_storage_beside_indexed_db_have_200_000_characters_together() {
    let mut device = Device::with_signal();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 2_000);
    fill_local(&mut device, 290_000);
    let rows: Vec<(String, String)> = device.local.clone().into_iter().collect();
    for (key, text) in &rows {
        tab.storage.merge_local(&mut tab.guard, key, text);
    }
    device.answer = Answer::Never;
    tab.record(&["mine"]);
    tab.wait(&mut device, 1_000);
    let length: usize = device.local.values().map(String::len).sum();
    assert!(length <= 200_000, "{length}");
    assert_eq!(tab.storage.take_notices(), (false, true));
    // The oldest have gone; what they had stays in the table.
    let later = device.next_visit();
    assert!(later.has("mine") && !later.has("tab 0-899") && tab.has("tab 0-899"));
}

#[test]
fn i6_what_earlier_visits_left_in_local_storage_is_moved_and_not_dropped() {
    let mut device = Device::with_signal();
    fill_local(&mut device, 290_000);
    let mut tab = device.next_visit();
    let known = tab.pending().len();
    device.answer = Answer::Never;
    tab.record(&["mine"]);
    tab.wait(&mut device, 5_000);
    assert_eq!(device.next_visit().pending().len(), known + 1);
}

#[test]
fn a_row_that_finds_no_room_in_local_storage_has_the_oldest_of_others_go() {
    let mut device = Device::with_signal();
    fill_local(&mut device, 90_000);
    let rows = device.local_rows();
    let mut tab = device.next_visit();
    device.is_local_full = true;
    tab.record(&["mine"]);
    device.answer = Answer::Never;
    let steps = tab.hide(&mut device);
    let removed = steps.iter().filter(|&&step| step == Step::LocalRemove).count();
    assert_eq!(
        (removed, device.local_rows(), tab.storage.take_notices()),
        (rows, 0, (false, true))
    );
}

// Compaction.

#[test]
fn i7_twelve_small_rows_stay_and_of_more_few_become_one() {
    for (rows, left) in [(12, 12), (13, 1), (16, 1)] {
        assert_eq!(rows_left(&vec![1; rows]), left, "{rows}");
    }
}

#[test]
fn the_smallest_are_compacted_eight_at_least_and_larger_ones_that_are_no_larger_than_those_together() {
    // Eight of 1, then 8 and 16, but not 40, 41 and 42.
    assert_eq!(rows_left(&[1, 1, 1, 1, 1, 1, 1, 1, 8, 16, 40, 41, 42]), 4);
    assert_eq!(rows_left(&[1, 1, 1, 1, 1, 1, 1, 1, 9, 16, 40, 41, 42]), 6);
    // Rows of 1,000 are no small ones.
    assert_eq!(rows_left(&[1_000, 1_000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), 14);
}

#[test]
fn i7_all_rows_are_compacted_where_they_have_more_than_twice_the_table_and_a_thousand() {
    // Each of them the same ids.
    for (rows, left) in [(4, 6), (5, 2)] {
        let mut device = Device::with_signal();
        let mut tab = Tab::new(Place::IndexedDb);
        for _ in 0..rows {
            tab.record(&ids("item", 0..999));
            tab.work(&mut device);
        }
        tab.record(&ids("more", 0..1_001));
        tab.work(&mut device);
        device.next_visit().wait(&mut device, 2_000);
        assert_eq!(device.rows(), left, "{rows}");
        assert_eq!(device.next_visit().pending().len(), 2_000);
    }
}

#[test]
fn a_tab_that_has_put_asks_for_a_compaction_and_a_tab_that_only_looked_does_not() {
    let mut device = device_with_rows(&[1; 11]);
    let (mut here, mut there) = (device.next_visit(), device.next_visit());
    here.wait(&mut device, 3_000);
    there.wait(&mut device, 3_000);
    device.main.extend(device_with_rows(&[1; 5]).main);
    here.storage.signalled();
    assert_eq!(here.work(&mut device), [Step::Look]);
    there.record(&["a"]);
    there.storage.signalled();
    let steps = there.work(&mut device);
    assert!(
        steps.contains(&Step::Put) && !steps.contains(&Step::Pass),
        "it had not looked: {steps:?}"
    );
    there.record(&["b"]);
    assert!(there.work(&mut device).contains(&Step::Pass));
    assert_eq!(device.rows(), 1);
}

// A pass.

#[test]
fn i5_damaged_rows_are_told_once_and_deleted_by_the_next_pass() {
    let mut device = device_with_rows(&[3, 3]);
    for text in device.main.values_mut().take(1) {
        text.replace_range(9..10, "?");
    }
    let mut tab = device.next_visit();
    assert_eq!((tab.pending().len(), tab.storage.take_notices()), (3, (true, false)));
    tab.storage.look();
    tab.work(&mut device);
    assert_eq!(tab.storage.take_notices(), (false, false));
    tab.wait(&mut device, 2_000);
    assert_eq!((device.rows(), device.next_visit().pending().len()), (1, 3));
}

#[test]
fn what_stands_under_lower_numbers_is_deleted_unread() {
    for place in PLACES {
        let mut device = Device::default();
        let other = device_with_rows(&[2]);
        let map = if place == Place::Local {
            &mut device.local
        } else {
            &mut device.main
        };
        map.extend(other.main);
        map.insert(format!("{PREFIX}00000000001/r/w/1"), "damaged".into());
        map.insert(format!("{PREFIX}00000000002/z/later"), "of a later version".into());
        map.insert(format!("{PREFIX}00000000003/z/later"), "of a later version".into());
        map.insert(format!("{PREFIX}of no such form"), String::new());
        map.insert("seenguard/homer/00000000001/m".into(), "20416,30".into());
        let mut tab = Tab::open(&mut device, place);
        assert_eq!((tab.guard.number(), tab.pending().len()), (3, 0));
        assert_eq!(tab.storage.take_notices(), (false, false));
        tab.wait(&mut device, 2_000);
        let map = if place == Place::Local {
            &device.local
        } else {
            &device.main
        };
        let left: Vec<&str> = map.keys().map(String::as_str).collect();
        let own = ["00000000003/m", "00000000003/z/later", "of no such form"].map(|key| format!("{PREFIX}{key}"));
        assert_eq!(left, [&own[0][..], &own[1], &own[2], "seenguard/homer/00000000001/m"]);
    }
}

#[test]
fn i6_a_pass_that_misses_a_listed_key_of_the_apps_store_deletes_nothing() {
    let mut device = device_with_rows(&[1; 14]);
    let mut tab = Tab::open(&mut device, Place::Custom);
    let vanish = |device: &mut Device, tab: &mut Tab, key: &str| {
        device.main.extend(device_with_rows(&[5]).main);
        device.vanishing = device.main.keys().next_back().cloned();
        tab.record(&[key]);
    };
    vanish(&mut device, &mut tab, "a");
    tab.storage.flush(&tab.guard);
    let before = device.rows();
    let steps = tab.work(&mut device);
    assert!(
        steps.iter().filter(|&&step| step == Step::Pass).count() <= 2,
        "{steps:?} of {before}"
    );
    assert!(device.next_visit().has("a"));
}

// Failures.

#[test]
fn the_wait_after_a_failure_doubles_from_a_second_to_a_minute_with_jitter() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 3_000);
    device.answer = Answer::Failed;
    tab.record(&["a"]);
    let mut waits = Vec::new();
    let mut last = tab.now_ms;
    tab.work(&mut device);
    while waits.len() < 9 {
        if tab.wait(&mut device, 10).contains(&Step::Put) {
            waits.push(tab.now_ms - last);
            last = tab.now_ms;
        }
    }
    for (wait, expected) in waits
        .iter()
        .zip([1, 2, 4, 8, 16, 32, 60, 60, 60].map(|seconds| seconds * 1_000))
    {
        assert!((expected..=expected * 5 / 4 + 20).contains(wait), "{waits:?}");
    }
    assert_eq!(tab.trouble(), Some(Trouble::Unavailable));
}

#[test]
fn what_is_recorded_after_a_failure_is_tried_at_once_but_not_within_a_second_of_it() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    device.answer = Answer::Failed;
    tab.record(&["a"]);
    for _ in 0..4 {
        tab.wait(&mut device, 5_000);
    }
    tab.storage.show();
    assert!(tab.work(&mut device).contains(&Step::Put));
    tab.record(&["b"]);
    assert!(!tab.wait(&mut device, 999).contains(&Step::Put));
    assert!(tab.wait(&mut device, 1).contains(&Step::Put));
    // A flush and a page that hides wait for nothing.
    assert!(tab.flush(&mut device).contains(&Step::Put) && tab.storage.is_settled());
    assert!(tab.hide(&mut device).contains(&Step::Put));
    device.answer = Answer::Complete;
    tab.storage.show();
    tab.wait(&mut device, 1_000);
    assert_eq!(
        (tab.trouble(), device.next_visit().pending()),
        (None, vec!["a".into(), "b".into()])
    );
}

#[test]
fn i5_a_transaction_that_is_not_answered_in_ten_seconds_is_aborted_and_what_it_does_later_changes_nothing() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 3_000);
    device.answer = Answer::Never;
    tab.record(&["a"]);
    assert!(!tab.wait(&mut device, 9_999).contains(&Step::Abort));
    assert!(tab.wait(&mut device, 1).contains(&Step::Abort));
    assert_eq!(tab.trouble(), Some(Trouble::Unavailable));
    tab.complete_late(&mut device);
    assert_eq!(tab.trouble(), Some(Trouble::Unavailable));
    device.answer = Answer::Complete;
    assert!(tab.wait(&mut device, 2_000).contains(&Step::Put));
    assert_eq!(device.next_visit().pending(), ["a"]);
}

#[test]
fn i7_for_want_of_room_the_stored_snapshot_goes_first_then_all_rows_are_compacted_then_it_waits() {
    let mut device = device_with_rows(&[1; 10]);
    let mut tab = device.next_visit();
    apply(
        &mut tab.guard,
        None,
        &[shard_of(&["server"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    tab.flush(&mut device);
    tab.wait(&mut device, 3_000);
    let has_snapshot = |device: &Device| device.keys().iter().any(|key| key.ends_with("/h"));
    assert!(has_snapshot(&device));
    device.answer = Answer::Full;
    tab.record(&["a"]);
    let steps = tab.work(&mut device);
    assert_eq!(steps, [Step::Put, Step::Keep, Step::Put, Step::Pass]);
    assert!(!has_snapshot(&device) && tab.trouble() == Some(Trouble::Full));
    assert!(!tab.wait(&mut device, 999).contains(&Step::Put));
    device.answer = Answer::Complete;
    tab.wait(&mut device, 1_000);
    assert!(tab.trouble().is_none() && device.next_visit().has("a"));
    // It is not kept again on this visit.
    tab.flush(&mut device);
    tab.hide(&mut device);
    assert!(!has_snapshot(&device));
}

#[test]
fn to_have_dropped_the_snapshot_does_not_show_that_there_is_room() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    device.answer = Answer::Full;
    tab.record(&["a"]);
    let mut told = 0;
    let mut before = None;
    for _ in 0..20 {
        let step = tab.storage.next(&tab.guard, tab.now());
        match step {
            Step::Wait => break,
            Step::Put | Step::Look | Step::Pass | Step::Keep => {
                let id = tab.storage.transaction();
                tab.storage.begin(&tab.guard, Place::IndexedDb);
                match step == Step::Keep {
                    true => tab.storage.completed(&mut tab.guard, id, at_ms(tab.now_ms)),
                    false => tab.storage.failed(&tab.guard, id, true),
                }
            }
            _ => {}
        }
        told += usize::from(before.is_none() && tab.trouble().is_some());
        before = tab.trouble();
    }
    assert_eq!((told, before), (1, Some(Trouble::Full)));
}

#[test]
fn in_local_storage_the_oldest_rows_go_in_the_end() {
    let rows = device_with_rows(&[1; 5]).main;
    let mut device = Device::default();
    device.local.extend(rows);
    let mut tab = Tab::open(&mut device, Place::Local);
    tab.wait(&mut device, 3_000);
    device.answer = Answer::Full;
    tab.record(&["a"]);
    let steps = tab.work(&mut device);
    let transactions = steps.iter().filter(|step| **step != Step::LocalRemove);
    assert!(
        transactions
            .take(5)
            .eq(&[Step::Put, Step::Keep, Step::Put, Step::Pass, Step::Put])
    );
    assert_eq!((device.local_rows(), tab.storage.take_notices()), (0, (false, true)));
    // What they had stays in the table.
    assert_eq!(tab.pending().len(), 6);
}

#[test]
fn no_row_in_local_storage_goes_when_nothing_new_is_to_be_stored() {
    // What there is no room for: what is said of the whole; and the one row that many small ones are to become.
    for rows in [1, 13] {
        let mut device = Device::default();
        let mut tab = Tab::open(&mut device, Place::Local);
        for id in ids("item", 0..rows) {
            tab.record(&[id]);
            tab.work(&mut device);
        }
        device.answer = Answer::Full;
        tab.flush(&mut device);
        assert_eq!(tab.trouble(), Some(Trouble::Full));
        tab.wait(&mut device, 10_000);
        assert_eq!(
            (device.local_rows(), tab.storage.take_notices()),
            (rows, (false, false))
        );
        device.answer = Answer::Complete;
        tab.wait(&mut device, 60_000);
        assert_eq!(tab.trouble(), None);
        assert_eq!(Tab::open(&mut device, Place::Local).pending().len(), rows);
    }
}

#[test]
fn no_row_in_local_storage_goes_for_what_a_shard_covers() {
    let mut device = Device::default();
    let mut tab = Tab::open(&mut device, Place::Local);
    tab.record(&["a"]);
    tab.wait(&mut device, 3_000);
    apply(&mut tab.guard, None, &[shard_of_everything()], at(START)).unwrap();
    tab.storage.changed(&tab.guard);
    device.answer = Answer::Full;
    tab.flush(&mut device);
    tab.hide(&mut device);
    assert_eq!((tab.trouble(), device.local_rows()), (Some(Trouble::Full), 1));
}

#[test]
fn what_a_transaction_has_put_into_local_storage_before_it_failed_is_removed() {
    let mut device = Device::default();
    let mut tab = Tab::open(&mut device, Place::Local);
    tab.record(&["a"]);
    let mut step = tab.storage.next(&tab.guard, tab.now());
    while step != Step::Put {
        step = tab.storage.next(&tab.guard, tab.now());
    }
    tab.storage.begin(&tab.guard, Place::Local);
    let (key, _) = tab.storage.next_write(&tab.guard, tab.now()).unwrap();
    tab.storage.failed(&tab.guard, tab.storage.transaction(), true);
    let mut removed = Vec::new();
    while step != Step::Keep {
        step = tab.storage.next(&tab.guard, tab.now());
        if step == Step::LocalRemove {
            removed.push(tab.storage.local_key().to_owned());
        }
    }
    assert_eq!(removed, [key]);
}

// A clear.

#[test]
fn a_tab_that_hears_of_a_clear_drops_everything_and_writes_under_its_number() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.record(&["before"]);
    apply(
        &mut tab.guard,
        Some(7),
        &[shard_of(&["server"], 1, 0).to_base64().unwrap()],
        at(START),
    )
    .unwrap();
    tab.flush(&mut device);
    let name = tab.device_name();
    device.signal = Some(9);
    assert_eq!(tab.work(&mut device), []);
    assert_eq!(
        (tab.pending().len(), tab.guard.held(), tab.device_name()),
        (0, String::new(), String::new())
    );
    assert!(!tab.has("server"));
    tab.record(&["since"]);
    tab.wait(&mut device, 3_000);
    assert!(device.keys().iter().all(|key| key.starts_with("00000000009/")));
    assert!(
        !device.keys().iter().any(|key| key.ends_with("/h")),
        "the snapshot went with it"
    );
    let later = device.next_visit();
    assert_eq!(
        (later.pending(), later.device_name()),
        (vec!["since".into()], tab.device_name())
    );
    assert!(!name.is_empty() && later.device_name() != name);
}

#[test]
fn a_clear_aborts_what_is_under_way_which_changes_nothing_though_it_was_done() {
    let mut device = Device::with_signal();
    let mut tab = device.next_visit();
    device.answer = Answer::Never;
    tab.record(&["before"]);
    tab.work(&mut device);
    tab.storage.clear(&mut tab.guard, 5, false);
    device.signal = Some(5);
    tab.record(&["since"]);
    assert_eq!(tab.work(&mut device)[0], Step::Abort);
    tab.complete_late(&mut device);
    device.answer = Answer::Complete;
    tab.wait(&mut device, 3_000);
    assert_eq!(device.next_visit().pending(), ["since"]);
}

#[test]
fn what_was_recorded_before_the_first_look_gets_the_number_that_it_finds() {
    let mut device = Device::default();
    let mut other = device.next_visit();
    other.storage.clear(&mut other.guard, 8, false);
    other.record(&["theirs"]);
    other.flush(&mut device);
    device.signal = Some(0);
    let mut tab = Tab::new(Place::IndexedDb);
    tab.record(&["early"]);
    tab.work(&mut device);
    assert_eq!(
        (tab.guard.number(), tab.has("early"), tab.has("theirs")),
        (8, true, true)
    );
    assert_eq!(device.next_visit().pending().len(), 2);
    // Not if it hears of it by the signal: it was cleared after this was recorded.
    let mut tab = Tab::new(Place::IndexedDb);
    tab.record(&["early"]);
    tab.storage.hear(&mut tab.guard, Some(9));
    assert_eq!(tab.pending(), [""; 0]);
}

#[test]
fn rows_in_local_storage_from_before_a_clear_are_not_kept() {
    let mut device = Device::with_signal();
    let mut dead = Tab::open(&mut device, Place::IndexedDb);
    device.answer = Answer::Never;
    dead.record(&["cleared"]);
    dead.wait(&mut device, 1_000);
    drop(dead);
    device.answer = Answer::Complete;
    // A clear that this process has not heard of.
    device.main.insert(format!("{PREFIX}00000000009/m"), "20000".to_owned());
    let mut tab = Tab::new(Place::IndexedDb);
    for (key, text) in device.local.clone() {
        tab.storage.merge_local(&mut tab.guard, &key, &text);
    }
    tab.record(&["a"]);
    tab.work(&mut device);
    assert_eq!((tab.guard.number(), tab.pending()), (9, vec!["a".to_owned()]));
}

#[test]
fn i6_a_clear_that_gets_a_higher_number_keeps_what_was_recorded_since_its_call() {
    let mut device = Device::with_signal();
    let mut tab = device.next_visit();
    tab.storage.clear(&mut tab.guard, 5, false);
    device.signal = Some(5);
    tab.record(&["since"]);
    tab.work(&mut device);
    tab.storage.clear(&mut tab.guard, 12, true);
    device.signal = Some(12);
    tab.wait(&mut device, 3_000);
    assert_eq!(
        (device.rows(), device.next_visit().pending()),
        (1, vec!["since".into()])
    );
}

#[test]
fn an_older_number_in_the_signal_is_written_over() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.storage.clear(&mut tab.guard, 5, false);
    device.signal = Some(4);
    assert!(tab.work(&mut device).contains(&Step::Signal));
    assert_eq!(device.signal, Some(5));
}

#[test]
fn a_tab_whose_storage_has_failed_hears_of_a_clear() {
    let mut device = Device::answering(Answer::Failed);
    let mut tab = device.next_visit();
    tab.record(&["a"]);
    tab.wait(&mut device, 3_000);
    device.signal = Some(7);
    tab.work(&mut device);
    assert_eq!(tab.pending(), [""; 0]);
}

#[test]
fn i5_a_number_that_no_clock_and_no_counter_reaches_is_none() {
    let mut device = Device::default();
    device.main.insert(format!("{PREFIX}zzzzzzzzzzz/m"), "1".into());
    let mut tab = device.next_visit();
    tab.record(&["a"]);
    tab.work(&mut device);
    assert_eq!(
        (tab.guard.number(), device.next_visit().pending()),
        (0, vec!["a".into()])
    );
}

// What is said of the namespace as a whole.

#[test]
fn a_device_has_a_name_once_it_is_stored_and_that_of_indexed_db_counts() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 1_999);
    assert_eq!(tab.device_name(), "");
    device.answer = Answer::Never;
    tab.wait(&mut device, 1);
    assert_eq!(tab.device_name(), "");
    tab.complete_late(&mut device);
    let name = tab.device_name();
    assert_eq!(name.len(), 12);
    device.answer = Answer::Complete;
    // A visit without IndexedDB has made another.
    let mut away = Device::away();
    away.next_visit().wait(&mut away, 3_000);
    device.local = away.local;
    let mut later = device.next_visit();
    later.wait(&mut device, 3_000);
    assert_eq!(later.device_name(), name);
    assert!(device.local.is_empty());
    assert_eq!(device.next_visit().device_name(), name);
}

#[test]
fn the_metadata_is_put_on_another_day_and_when_it_says_less_than_the_table() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    let passes = |tab: &mut Tab, device: &mut Device| tab.wait(device, 1_000).contains(&Step::Pass);
    tab.wait(&mut device, 3_000);
    assert!(!passes(&mut tab, &mut device));
    tab.guard.start_reporting();
    tab.storage.changed(&tab.guard);
    assert!(passes(&mut tab, &mut device));
    let deletion = Snapshot {
        forget_before: Some(START as u32 - 9),
        ..Snapshot::new(&[] as &[&str])
    };
    tab.guard.apply(deletion, tab.now()).unwrap();
    tab.storage.changed(&tab.guard);
    assert!(passes(&mut tab, &mut device) && !passes(&mut tab, &mut device));
    tab.now_ms += DAY_MS;
    assert!(passes(&mut tab, &mut device) && !passes(&mut tab, &mut device));
    // A later visit of the same day finds nothing to add.
    let mut later = Tab::new(Place::IndexedDb);
    later.now_ms = tab.now_ms;
    later.storage.opened();
    assert!(!passes(&mut later, &mut device) && !passes(&mut later, &mut device));
}

#[test]
fn two_tabs_with_different_windows_do_not_overwrite_the_metadata_in_turn() {
    let mut device = Device::default();
    let mut here = device.next_visit();
    let mut there = Tab::with(Guard::new(7.0, 100).unwrap(), Place::IndexedDb);
    there.storage.opened();
    let mut passes = 0;
    for _ in 0..10 {
        for tab in [&mut here, &mut there] {
            passes += tab
                .wait(&mut device, 10_000)
                .iter()
                .filter(|&&step| step == Step::Pass)
                .count();
        }
    }
    assert!(passes <= 3, "{passes}");
}

#[test]
fn metadata_that_was_lost_is_put_again() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.wait(&mut device, 3_000);
    device.main.clear();
    tab.storage.look();
    tab.work(&mut device);
    assert_eq!(device.keys(), ["00000000000/m"]);
}

#[test]
fn impressions_are_delivered_by_a_later_visit_though_they_were_covered_before() {
    let mut device = Device::default();
    let mut tab = device.next_visit();
    tab.guard.start_reporting();
    tab.record(&["a"]);
    apply(&mut tab.guard, None, &[shard_of_everything()], at(START)).unwrap();
    tab.flush(&mut device);
    // The next visit has not called for delivery yet when it looks.
    let mut later = device.next_visit();
    assert_eq!(later.guard.begin_batch(9, 999, at(START)).impressions.len(), 1);
}

#[test]
fn impressions_are_delivered_although_a_tab_without_delivery_compacts_them() {
    let mut device = Device::with_signal();
    let mut other = Tab::open(&mut device, Place::IndexedDb);
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    tab.guard.start_reporting();
    for id in ids("a", 0..13) {
        tab.record(&[id]);
        apply(&mut tab.guard, None, &[shard_of_everything()], at(START)).unwrap();
        tab.work(&mut device);
    }
    // It dies before it has passed, and so has told of the delivery.
    drop(tab);
    other.storage.look();
    other.work(&mut device);
    other.record(&["b"]);
    other.wait(&mut device, 2_000);
    assert!(device.rows() < 13);
    let mut later = device.next_visit();
    assert_eq!(later.guard.begin_batch(99, 9_999, at(START)).impressions.len(), 14);
}

// The snapshot in use.

#[test]
fn i2_the_snapshot_in_use_is_stored_after_a_minute_or_as_everything_is_or_as_the_page_hides() {
    let ways: [fn(&mut Tab, &mut Device) -> Vec<Step>; 3] =
        [|tab, device| tab.wait(device, 60_000), Tab::flush, Tab::hide];
    for way in ways {
        let mut device = Device::default();
        let mut tab = device.next_visit();
        tab.wait(&mut device, 3_000);
        let shards = [shard_of(&["server"], 1, 0).to_base64().unwrap()];
        apply(&mut tab.guard, None, &shards, at(START)).unwrap();
        tab.storage.changed(&tab.guard);
        let kept = tab.wait(&mut device, 1_000);
        assert!(!kept.contains(&Step::Keep));
        let steps = way(&mut tab, &mut device);
        assert!(
            steps.contains(&Step::Keep) && !steps.contains(&Step::Signal),
            "{steps:?}"
        );
        assert!(!tab.hide(&mut device).contains(&Step::Keep));
        assert!(device.next_visit().has("server"));
        // What was applied on this visit is newer than what is stored.
        let mut later = Tab::new(Place::IndexedDb);
        apply(&mut later.guard, None, &[] as &[&str], at(START)).unwrap();
        later.work(&mut device);
        assert!(!later.has("server"));
    }
}

#[test]
fn as_a_page_hides_the_snapshot_goes_before_what_it_merely_covers_and_after_what_is_recorded() {
    for (recorded, steps) in [
        (None, vec![Step::Keep, Step::Put, Step::Signal]),
        (
            Some("b"),
            vec![Step::LocalPut, Step::Put, Step::Signal, Step::LocalRemove, Step::Keep],
        ),
    ] {
        let mut device = Device::default();
        let mut tab = tab_with_unstored_coverage(&mut device);
        recorded.iter().for_each(|id| tab.record(&[id]));
        assert_eq!(tab.hide(&mut device), steps);
    }
}

// Namespaces that nobody uses any more.

#[test]
fn i7_a_namespace_is_idle_twice_its_window_after_its_last_use() {
    let today = START * 1000 / DAY_MS;
    let idle = |entries: &[(&str, Option<&str>)]| {
        let mut others = Others::default();
        entries.iter().for_each(|&(key, text)| others.note(key, text));
        others.idle("home", START * 1000)
    };
    let meta = |days_ago: u64, window: &str| format!("{}{window}", today - days_ago);
    let [last, over, of_default] = [meta(14, ",7,0,0,0,"), meta(15, ",7,0,0,0,"), meta(60, "")];
    let row = |days_ago: u64| {
        let mut device = Device::default();
        let mut tab = Tab::new(Place::IndexedDb);
        tab.now_ms -= days_ago * DAY_MS;
        tab.record(&["a"]);
        tab.work(&mut device);
        device
            .main
            .keys()
            .find(|key| key.contains("/r/"))
            .unwrap()
            .replace("/home/", "/b/")
    };
    let (recent, old) = (row(60), row(61));
    assert_eq!(idle(&[("seenguard/b/00000000000/m", Some(&last))]), [""; 0]);
    assert_eq!(idle(&[("seenguard/b/00000000000/m", Some(&over))]), ["b"]);
    assert_eq!(idle(&[("seenguard/b/00000000000/m", Some(&of_default))]), [""; 0]);
    // Without it by its rows, and with neither at once; of several places the latest use counts.
    assert_eq!(idle(&[(&recent, None)]), [""; 0]);
    assert_eq!(idle(&[(&old, None)]), ["b"]);
    assert_eq!(idle(&[("seenguard/b/s/of an older version", None)]), ["b"]);
    assert_eq!(
        idle(&[
            ("seenguard/b/00000000000/m", Some(&over)),
            ("seenguard/b/00000000001/m", Some(&last))
        ]),
        [""; 0]
    );
    // What is one's own or nobody's of ours is left alone.
    assert_eq!(
        idle(&[
            ("seenguard/home/00000000000/m", Some(&over)),
            ("other/b/m", Some(&over))
        ]),
        [""; 0]
    );
    assert!(Others::is_to_read("seenguard/b/00000000000/m") && !Others::is_to_read(&old));
}

#[test]
fn i7_others_are_cleaned_up_once_a_day_in_a_visible_page() {
    let mut device = Device::default();
    device
        .main
        .insert("seenguard/idle/00000000000/m".into(), "1,30,0,0,0,".into());
    let mut tab = device.next_visit();
    tab.hide(&mut device);
    tab.wait(&mut device, 5_000);
    assert!(device.main.contains_key("seenguard/idle/00000000000/m"));
    tab.storage.show();
    tab.work(&mut device);
    assert!(!device.main.contains_key("seenguard/idle/00000000000/m"));
    let mut later = device.next_visit();
    later.wait(&mut device, 5_000);
    assert!(!later.storage.cleans_up());
}
