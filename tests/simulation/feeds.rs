//! A person views a feed: a snapshot is applied, items are filtered, and each result is compared with the exact record.

use std::collections::BTreeSet;

use seenguard::Time;
use seenguard::device::{Explanation, Guard};

use super::chance::Chance;
use super::device::Device;
use super::elsewhere;
use super::items::Item;
use super::ledger::{Recording, What};
use super::lists::{self, Candidates};
use super::recording;
use super::snapshots;
use super::statistics::Question;
use super::tab::{MAX_TEXT_BYTES, MAX_TEXTS};
use super::world::Scene;

/// A refresh: a snapshot, a page of items, and impressions of some of them.
pub fn refresh(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let shipment = snapshots::request(device, tab, scene);
    match scene.random.below(60) {
        0 => snapshots::apply_broken(device, tab, &shipment.state, scene),
        1 => {}
        _ => snapshots::apply(device, tab, &shipment, scene),
    }
    let candidates = lists::candidates(device, scene);
    let passed = filter(device, tab, &candidates, scene);
    lists::show(device, tab, &candidates.items, scene);
    elsewhere::check_page(device, tab, &candidates, scene);
    if scene.random.percent(10) {
        lists::check_server_list(scene.server, &candidates.items, scene.now, scene.items);
    }
    scene.server.check_promise(scene.now, scene.items, scene.random);
    check_pending(device, tab, scene);
    probe(device, tab, scene);
    let seen = watched(device, &candidates, &passed, scene);
    recording::record(device, tab, &seen, scene);
    if scene.random.percent(15) && device.tabs[tab].is_loaded {
        let item = match seen.first() {
            Some(&seen) if scene.random.percent(20) => seen,
            _ if scene.random.percent(50) => scene.items.publish(scene.random),
            _ => *scene.random.pick(&candidates.items),
        };
        recording::record_local(device, tab, item, scene);
    }
    check_limits(device, tab, scene);
}

/// Filters, and checks each result. Returns the fresh items.
fn filter(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) -> Vec<Item> {
    let time = device.time(scene.now);
    let page = &mut device.tabs[tab];
    let list = scene.items.texts(&candidates.items);
    let answer = page.guard.filter(&list, time);
    assert_eq!(
        answer,
        page.guard.filter(&list, time),
        "pure filter: the same call, the same answer"
    );
    lists::check_lists(
        &mut page.guard,
        &page.view,
        &candidates.items,
        &answer,
        time,
        scene.items,
    );
    let page = &device.tabs[tab];
    let rate = page.guard.stats(time).server_false_positive_rate;
    for item in candidates.distinct() {
        match page.guard.explain(scene.items.text(item), time) {
            Some(why) => check_stopped(device, tab, item, why, scene),
            None => check_passed(device, tab, item, scene),
        }
    }
    // Nobody has seen the fresh ones: only a shard stops one.
    for &item in &candidates.items[..candidates.fresh] {
        let is_stopped = page.guard.explain(scene.items.text(item), time).is_some();
        scene.tally.ask(Question::Stopped, rate, is_stopped);
    }
    answer.iter().map(|&index| candidates.items[index as usize]).collect()
}

/// An item that passes is in no live shard, and the tab need not know an impression of it; or it was made unseen.
fn check_passed(device: &Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger, wall_ms) = (&device.tabs[tab], &device.ledger, time.unix_ms());
    if page.view.contains(scene.items.text(item), time) {
        let may_pass = page.may_be_unseen(ledger, item, wall_ms);
        assert!(may_pass, "no repeat: {item:?} passes, and a live shard contains it");
        scene.tally.reach(match page.view.lists(item) {
            true => "an item that the server made unseen passes a shard that contains it",
            false => "an item that was made unseen passes a shard that contains it",
        });
    }
    assert!(
        !page.must_stop(ledger, item, wall_ms),
        "no repeat: {item:?} passes at {wall_ms} by the device's clock, and was seen: {:?}",
        page.candidates(ledger, item).collect::<Vec<_>>()
    );
    for (index, recording) in page.candidates(ledger, item) {
        if recording.what == What::Unseen || ledger.may_be_deleted(recording) {
            continue;
        }
        if wall_ms >= recording.at + ledger.window_ms {
            scene.tally.reach("an impression is forgotten after the window");
        } else if !page.must_remember(ledger, index) {
            scene
                .tally
                .reach("an impression is forgotten after as many others as are remembered");
        }
    }
}

/// A stopped item is stopped for a true reason.
fn check_stopped(device: &Device, tab: usize, item: Item, why: Explanation, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger, wall_ms) = (&device.tabs[tab], &device.ledger, time.unix_ms());
    match why {
        Explanation::Server => {
            let is_in_shard = page.view.contains(scene.items.text(item), time);
            assert!(
                is_in_shard,
                "all or nothing: {item:?} is stopped by a shard of the snapshot in use"
            );
            assert!(
                !page.must_pass(ledger, item, wall_ms),
                "unseen: {item:?} is stopped by a shard all the same, listed {}: {:?}",
                page.view.lists(item),
                page.candidates(ledger, item).collect::<Vec<_>>()
            );
        }
        Explanation::Pending { at } | Explanation::Device { at } => assert!(
            page.may_stop(ledger, item, at, wall_ms),
            "known reasons: {item:?} is stopped since {at}, and was not seen then, or deleted or made unseen: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        ),
    }
    if page.candidates(ledger, item).next().is_none() && ledger.has(item) {
        scene.tally.reach("a shard alone stops what this device has forgotten");
    }
}

/// Items that must be pending are, and pending items were seen here and not covered.
fn check_pending(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let pending = page.guard.pending(usize::MAX, time);
    let item_of = |text: &String| scene.items.of(text).expect("an item of this feed");
    let there: BTreeSet<Item> = pending.iter().map(item_of).collect();
    assert_eq!(there.len(), pending.len(), "pending: an id is there once");
    for &item in &there {
        // An evicted or deleted recording may be merged again from a row that was not compacted yet.
        let may_come_back = ledger.item_may_be_deleted(item);
        let is_covered = |index| page.known[&index].is_covered && page.must_remember(ledger, index) && !may_come_back;
        let may_be = |(index, recording): (usize, &Recording)| {
            recording.what == What::Seen && !is_covered(index) && !page.view.unsees(item, recording.at)
        };
        assert!(
            page.candidates(ledger, item).any(may_be),
            "pending: {item:?} was not seen here, or made unseen, or is known to be covered: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        );
    }
    for _ in 0..20.min(page.known.len()) {
        let from = ledger
            .recordings
            .len()
            .saturating_sub(if scene.random.percent(50) { 50 } else { 6_000 });
        let index = from + scene.random.index(ledger.recordings.len() - from);
        let item = ledger.recordings[index].item;
        let has_lost_text = page.may_have_lost_text(ledger, index);
        let is_pending = |(_, recording): (usize, &Recording)| {
            let is_live = time.unix_ms() < recording.at + ledger.window_ms;
            recording.what == What::Seen && is_live && !page.view.unsees(item, recording.at)
        };
        let must_be = page.must_remember(ledger, index)
            && page.must_have(ledger, item)
            && !ledger.is_unseen(item)
            && !ledger.covered.contains(&item)
            && page.known_of(ledger, item).all(is_pending);
        assert!(
            !must_be || has_lost_text || there.contains(&item),
            "pending until covered: {item:?} is not pending, and no snapshot covered it: {:?}",
            ledger.recordings[index]
        );
        if must_be && !there.contains(&item) {
            scene.tally.reach("an impression loses its text for lack of room");
        }
    }
}

/// Queries a few items at other times of the device's clock: to the last millisecond of the window, and whatever the
/// clock says before. And for some as if the server had covered and then lost everything: of the table alone.
fn probe(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let recordings = ledger.recordings.len();
    let alone = scene
        .random
        .percent(15)
        .then(|| snapshots::table_alone(&page.guard, device.time(scene.now)));
    for _ in 0..if recordings == 0 { 0 } else { 10 } {
        let latest = recordings.min(ledger.remember);
        let back = if scene.random.percent(20) {
            latest - 1
        } else {
            scene.random.index(latest)
        };
        check_remembered(device, tab, recordings - 1 - back, alone.as_ref(), scene);
    }
}

/// Whether the item of a recording is stopped at some time of the device's clock at which it must be: by a page, or by
/// its table alone.
pub fn check_remembered(device: &Device, tab: usize, index: usize, table: Option<&Guard>, scene: &mut Scene<'_>) {
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let recording = &ledger.recordings[index];
    let end = recording.at + ledger.window_ms - 1;
    let wall_ms = match scene.random.below(3) {
        0 => end,
        1 => recording.at,
        _ => scene.random.between(0, end),
    };
    let item = recording.item;
    let must_stop = match table {
        Some(_) => page.table_must_stop(ledger, item, wall_ms),
        None => page.must_stop(ledger, item, wall_ms),
    };
    if !must_stop {
        return;
    }
    let guard = table.unwrap_or(&page.guard);
    assert!(
        guard
            .explain(scene.items.text(item), Time::from_unix_ms(wall_ms))
            .is_some(),
        "no repeat: at {wall_ms} by the device's clock, with at most {} higher, this passes: {recording:?}",
        ledger.higher(index)
    );
    if ledger.higher(index) == ledger.remember - 1 {
        scene
            .tally
            .reach("an impression is remembered after as many others as may be");
    }
    if wall_ms == end {
        scene
            .tally
            .reach("an impression is remembered to the window's last millisecond");
    }
}

/// The items that a person views: some that passed, and sometimes a seen one that another list still shows.
fn watched(device: &Device, candidates: &Candidates, passed: &[Item], scene: &mut Scene<'_>) -> Vec<Item> {
    let most = scene.random.between(0, scene.conditions.most_recorded) as usize;
    let mut watched: Vec<Item> = passed.iter().copied().take(most).collect();
    while watched.len() < most && scene.conditions.most_recorded > 40 {
        watched.push(scene.items.publish(scene.random));
    }
    for _ in 0..2 {
        if scene.random.percent(12) {
            watched.push(*scene.random.pick(&candidates.items));
        }
        if scene.random.percent(6) && !device.ledger.recordings.is_empty() {
            watched.push(scene.random.pick(&device.ledger.recordings).item);
        }
    }
    watched
}

/// No limit is exceeded once all rows are merged.
fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    if !device.tabs[tab].is_loaded {
        return;
    }
    let (guard, remember) = (&device.tabs[tab].guard, device.ledger.remember);
    let stats = guard.stats(time);
    assert!(stats.pending <= MAX_TEXTS, "limits: {} are pending", stats.pending);
    let recordings = guard.recordings();
    assert!(
        recordings <= remember + remember / 10,
        "limits: {recordings} are remembered"
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX, time).iter().map(String::len).sum();
        assert!(bytes <= MAX_TEXT_BYTES, "limits: {bytes} bytes of ids are pending");
    }
    if stats.pending > MAX_TEXTS - MAX_TEXTS / 50 {
        scene.tally.reach("nearly 5,000 impressions are pending");
    }
}
