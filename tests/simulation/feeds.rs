//! A person looks at a feed: snapshots are applied, items filtered, impressions recorded, and each answer is compared
//! with what truly happened.

use std::collections::BTreeSet;

use seenguard::Time;
use seenguard::device::{Explanation, Guard};

use super::bounds;
use super::chance::Chance;
use super::device::Device;
use super::elsewhere;
use super::items::Item;
use super::knowing::missed_of_item;
use super::ledger::Recording;
use super::lists::{self, Candidates};
use super::scene::Scene;
use super::snapshots;
use super::statistics::Question;
use super::stream::Told;

/// A refresh: a snapshot, a page of items, and some of them are looked at.
pub fn refresh(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    // As `headers()` does.
    device.hear(tab, scene);
    device.run(tab, scene);
    snapshots::check_dropped(&device.tabs[tab]);
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
    check_pending(device, tab, scene);
    probe(device, tab, scene);
    if scene.random.percent(15) {
        probe_table(device, tab, scene);
    }
    let seen = watched(device, &candidates, &passed, scene);
    if !seen.is_empty() {
        record(device, tab, &seen, scene);
    }
    // Before it has loaded, what storage has may take its place.
    if scene.random.percent(15) && device.tabs[tab].has_looked() {
        let item = match seen.first() {
            Some(&seen) if scene.random.percent(20) => seen,
            _ if scene.random.percent(50) => scene.items.publish(scene.random),
            _ => *scene.random.pick(&candidates.items),
        };
        record_local(device, tab, item, scene);
    }
    bounds::check_limits(device, tab, scene);
}

/// Filters, and judges each answer. Returns the fresh ones of the answer.
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
    for item in candidates.distinct() {
        if device.tabs[tab].guard.explain(scene.items.text(item), time).is_some() {
            check_stopped(device, tab, item, scene);
        } else {
            check_passed(device, tab, item, scene);
        }
    }
    ask_fresh(device, tab, candidates, scene);
    answer.iter().map(|&index| candidates.items[index as usize]).collect()
}

/// What passes is in no live shard, and was not seen here as far as must be known; or it was made unseen.
fn check_passed(device: &Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger, text) = (&device.tabs[tab], &device.ledger, scene.items.text(item));
    let wall_ms = time.unix_ms();
    if page.view.contains(text, time) {
        assert!(
            page.may_be_made_unseen(ledger, item, wall_ms),
            "no repeat: {item:?} passes, and a live shard contains it"
        );
        scene.tally.reach(if page.view.lists(item) {
            "an item that the server made unseen passes a shard that contains it"
        } else {
            "an item that was made unseen passes a shard that contains it"
        });
    }
    assert!(
        !page.must_stop(ledger, item, wall_ms),
        "no repeat: {item:?} passes at {wall_ms} by the device's clock, and was seen: {:?}",
        page.candidates(ledger, item).collect::<Vec<_>>()
    );
    for (index, recording) in page.candidates(ledger, item) {
        if recording.unseen || !page.known.contains(&index) || ledger.may_be_deleted(recording) {
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

/// What is stopped is stopped for a reason that exists.
fn check_stopped(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger, text) = (&device.tabs[tab], &device.ledger, scene.items.text(item));
    let wall_ms = time.unix_ms();
    match page.guard.explain(text, time) {
        None => panic!("pure filter: {item:?} is stopped, and nothing explains it"),
        Some(Explanation::Server) => {
            assert!(
                page.view.contains(text, time),
                "all or nothing: {item:?} is stopped by a shard of the snapshot in use"
            );
            assert!(
                !page.must_pass(ledger, item, wall_ms),
                "unseen: {item:?} is stopped by a shard all the same, listed {}: {:?}",
                page.view.lists(item),
                page.candidates(ledger, item).collect::<Vec<_>>()
            );
        }
        Some(Explanation::Pending { at } | Explanation::Device { at }) => assert!(
            page.may_stop(ledger, item, at, wall_ms),
            "known reasons: {item:?} is stopped since {at}, and was not seen then, or forgotten or made unseen since: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        ),
    }
    if page.candidates(ledger, item).next().is_none() && ledger.has(item) {
        scene.tally.reach("a shard alone stops what this device has forgotten");
    }
}

/// How many of the fresh ones were stopped all the same: by the server's shards alone.
fn ask_fresh(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let guard = &device.tabs[tab].guard;
    let stats = guard.stats(time);
    for &item in &candidates.items[..candidates.fresh] {
        let why = guard.explain(scene.items.text(item), time);
        assert!(
            !matches!(why, Some(Explanation::Pending { .. } | Explanation::Device { .. })),
            "known reasons: a fresh item is in the table"
        );
        let (rate, tally) = (stats.server_false_positive_rate, &mut *scene.tally);
        tally.ask(Question::Stopped, rate, why.is_some());
    }
}

/// What must be pending is, and what is pending was seen here and not covered.
fn check_pending(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &device.ledger);
    let pending = page.guard.pending(usize::MAX, time);
    let there: BTreeSet<Item> = pending
        .iter()
        .map(|text| scene.items.of(text).expect("an item of this feed"))
        .collect();
    assert_eq!(there.len(), pending.len(), "pending: an id is there once");
    for &item in &there {
        let mut candidates = page.candidates(ledger, item);
        // What was dropped may come back from a row that was not compacted yet; what a deletion reached, too, if a
        // later one reaches less far by a clock that has jumped back; and what was replaced by a recording that a
        // deletion reached.
        let may_come_back = ledger.of(item).any(|(_, recording)| ledger.may_be_deleted(recording));
        let is_settled = |index| page.settled.contains(&index) && page.must_remember(ledger, index) && !may_come_back;
        assert!(
            candidates.any(|(index, recording)| !recording.unseen
                && !recording.is_local
                && !is_settled(index)
                && !page.view.unsees(item, recording.at)),
            "pending: {item:?} was not seen here, or made unseen, or is known to be covered: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        );
    }
    let due = std::mem::take(&mut page.due);
    for index in due {
        let recording = &ledger.recordings[index];
        let item = recording.item;
        // What has expired is pending again by a clock that is set back.
        let is_past = |(_, recording): (usize, &Recording)| time.unix_ms() >= recording.at + ledger.window_ms;
        let has_expired = page.candidates(ledger, item).any(is_past);
        if there.contains(&item) || has_expired {
            page.due.insert(index);
            continue;
        }
        // One that was made later replaces it, or one that its tab had not heard of, whatever the time by a clock that is
        // off.
        let is_replacing = |&(other, _): &(usize, _)| other >= index || recording.missed_of_item.contains(&other);
        let mut replacing = ledger.of(item).filter(is_replacing);
        if replacing.any(|(_, other)| page.view.unsees(item, other.at)) {
            // Until the server does so no longer.
            page.due.insert(index);
            continue;
        }
        let has_lost_text = page.may_have_lost_text(ledger, index);
        let may_have_left = ledger.is_unseen(item) || ledger.item_may_be_deleted(item);
        assert!(
            has_lost_text || may_have_left || ledger.covered.contains(&item) || !page.must_remember(ledger, index),
            "pending until covered: {item:?} is not pending, and no snapshot covered it"
        );
        if has_lost_text {
            scene.tally.reach("an impression loses its text for want of room");
        }
    }
}

/// Asks for a few items at other times of the device's clock: to the last millisecond of the window, and whatever the
/// clock says before.
fn probe(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let recordings = device.ledger.recordings.len();
    for _ in 0..6 {
        if recordings > 0 {
            let last = (recordings - 1).saturating_sub(scene.conditions.remember - 1);
            let index = if scene.random.percent(20) {
                last
            } else {
                scene.random.index(recordings)
            };
            check_remembered(device, tab, index, None, scene);
        }
    }
}

/// The same, as if the server had covered and then lost everything: of the table alone.
fn probe_table(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let guard = snapshots::table_alone(&device.tabs[tab].guard, device.time(scene.now));
    let recordings = device.ledger.recordings.len();
    for _ in 0..20 {
        if recordings > 0 {
            let index = recordings - 1 - scene.random.index(recordings.min(scene.conditions.remember));
            check_remembered(device, tab, index, Some(&guard), scene);
        }
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
    let (item, time) = (recording.item, Time::from_unix_ms(wall_ms));
    let must_stop = match table {
        Some(_) => page.table_must_stop(ledger, item, wall_ms),
        None => page.must_stop(ledger, item, wall_ms),
    };
    if !must_stop {
        return;
    }
    assert!(
        table
            .unwrap_or(&page.guard)
            .explain(scene.items.text(recording.item), time)
            .is_some(),
        "no repeat: at {} by the device's clock, with at most {} higher, this passes: {recording:?}",
        time.unix_ms(),
        ledger.higher(index)
    );
    if ledger.higher(index) == ledger.remember - 1 {
        scene
            .tally
            .reach("an impression is remembered after as many others as may be");
    }
    if time.unix_ms() == end {
        scene
            .tally
            .reach("an impression is remembered to the window's last millisecond");
    }
}

/// What a person looks at: some of what passed, and now and then something seen before, as another list still shows it.
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
            let impressions = &device.ledger.recordings;
            watched.push(impressions[scene.random.index(impressions.len())].item);
        }
    }
    watched
}

/// Records impressions: each is known, pending unless covered, and delivered by whoever delivers.
pub fn record(device: &mut Device, tab: usize, seen: &[Item], scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let texts = scene.items.texts(seen);
    let recorded = device.tabs[tab].guard.record(&texts, time);
    let (mut most_unknown, mut never_seen) = (0, 0);
    for &item in seen {
        scene.tally.reach("an impression is recorded");
        let (page, ledger) = (&device.tabs[tab], &device.ledger);
        let is_known = page.table_must_stop(ledger, item, time.unix_ms());
        most_unknown += usize::from(!is_known);
        never_seen += usize::from(!ledger.has(item));
        let is_listed = page.view.lists(item);
        // After it was made unseen, whatever the clock says.
        let reach = page.view.unseen.get(&item).map(|unseen| unseen.reach + 1);
        let index = note(device, tab, item, reach.unwrap_or(0), What::Seen, scene);
        let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
        page.is_not_due(ledger, item);
        if !is_listed && page.view.contains(scene.items.text(item), time) {
            ledger.covered.insert(item);
            if !page.is_reporting {
                ledger.text_dropped.insert(item);
            }
        } else {
            page.due.insert(index);
        }
        if !scene.conditions.reports {
            tell(item, false, scene);
        }
    }
    assert!(
        (never_seen..=most_unknown).contains(&recorded.unknown),
        "record: {} were counted as unknown, of which {never_seen} to {most_unknown} are",
        recorded.unknown
    );
    device.changed(tab, seen.len(), scene);
}

/// Records what the person has met elsewhere in the app: it is stopped from then on, and nothing else changes if it was.
fn record_local(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let text = scene.items.text(item);
    let page = &mut device.tabs[tab];
    let before = page.guard.explain(text, time);
    let pending = page.guard.stats(time).pending;
    page.guard.record_local(&[text], time);
    let after = page.guard.explain(text, time);
    assert!(
        page.guard.stats(time).pending <= pending,
        "local: nothing is pending for it"
    );
    if before.is_some() {
        assert_eq!(before, after, "local: what is stopped stays as it is");
        return;
    }
    assert!(
        matches!(after, Some(Explanation::Device { .. })),
        "local: {item:?} is remembered, not {after:?}"
    );
    let reach = page.view.unseen.get(&item).map(|unseen| unseen.reach + 1);
    note(device, tab, item, reach.unwrap_or(0), What::Local, scene);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    page.is_not_due(ledger, item);
    ledger.covered.insert(item);
    ledger.text_dropped.insert(item);
    device.changed(tab, 1, scene);
    scene.tally.reach("an item is recorded that no server learns of");
}

/// The app tells the server itself, whose clock it takes.
fn tell(item: Item, is_unseen: bool, scene: &mut Scene<'_>) {
    let told = Told {
        item,
        is_unseen,
        at: scene.now,
        sent_at: scene.now,
    };
    scene.server.send(told, scene.now, scene.conditions, scene.random);
}

/// Unsees something that was seen lately, or that a shard contains: it passes.
pub fn unsee(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let recordings = &device.ledger.recordings;
    if recordings.is_empty() {
        return;
    }
    let from = recordings.len().saturating_sub(30);
    let item = recordings[from + scene.random.index(recordings.len() - from)].item;
    let time = device.time(scene.now);
    let page = &mut device.tabs[tab];
    let text = scene.items.text(item);
    let was_stopped = page.guard.explain(text, time).is_some();
    let unseen = page.guard.unsee(&[text], time);
    assert_eq!(unseen, usize::from(was_stopped), "unseen: it tells what was stopped");
    assert!(page.guard.explain(text, time).is_none(), "unseen: {item:?} passes");
    page.is_not_due(&device.ledger, item);
    note(device, tab, item, 0, What::Unseen, scene);
    if !scene.conditions.reports {
        tell(item, true, scene);
    }
    device.changed(tab, 1, scene);
    scene.tally.reach("an item is unseen");
}

/// What a recording is.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Seen,
    /// Seen, and no server is to learn of it.
    Local,
    Unseen,
}

/// Enters a recording into the ledger: its time is not before this one, but hardly later than now, nor before a deletion
/// that its tab may know of.
fn note(device: &mut Device, tab: usize, item: Item, earliest: u64, what: What, scene: &Scene<'_>) -> usize {
    let time = device.time(scene.now);
    let wall_ms = time.unix_ms();
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let mut at = wall_ms.max(earliest).min(wall_ms + 1);
    if page.may_know_deletion > 0 {
        let latest = ledger.deletions.iter().map(|deletion| deletion.latest_ms).max();
        let stated = stated_time(&page.guard, scene.items.text(item), time);
        let floor = latest.unwrap_or(0).max(at);
        let stated = stated.unwrap_or(at);
        assert!(
            (at..=floor).contains(&stated),
            "record: {stated} is the time of nothing"
        );
        at = stated;
    }
    let index = ledger.recordings.len();
    let to_deliver = page.is_reporting && what != What::Local;
    let recording = Recording {
        item,
        unseen: what == What::Unseen,
        is_local: what == What::Local,
        at,
        true_ms: scene.now,
        number: page.number,
        saved: None,
        author: page.serial,
        missed: index - page.known.len(),
        missed_of_item: missed_of_item(page, ledger, item, index),
        bytes_before: ledger.bytes,
        certain: page.known.len(),
        may_have_known_deletion: page.may_know_deletion,
        to_deliver,
        was_to_deliver: to_deliver,
    };
    ledger.bytes += scene.items.text(item).len();
    ledger.push(recording);
    page.own.push(index);
    page.unsaved.recordings.insert(index);
    page.known.insert(index);
    for page in &mut device.tabs {
        page.confirmed.remove(&(item, at));
    }
    index
}

/// The time that a guard has noted for an item.
fn stated_time(guard: &Guard, text: &str, time: Time) -> Option<u64> {
    if let Some(Explanation::Pending { at } | Explanation::Device { at }) = guard.explain(text, time) {
        return Some(at);
    }
    let mut guard = guard.clone();
    let batch = guard.begin_batch(usize::MAX, usize::MAX, time);
    let mut told = batch.unseen.iter().chain(&batch.impressions);
    told.find(|impression| impression.id == text)
        .map(|impression| impression.at.unix_ms())
}
