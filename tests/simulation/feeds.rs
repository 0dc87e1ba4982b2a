//! A person looks at a feed: snapshots are applied, items filtered, impressions recorded, and each answer is compared
//! with what truly happened.

use std::collections::HashSet;

use seenguard::{
    Applied, BloomFilter, CoveredImpression, Explanation, Format, Guard, Now, Parameters, Shard, Snapshot,
};

use super::chance::Chance;
use super::conditions::{DAY, Versions};
use super::device::{Device, missed_of_item};
use super::items::Item;
use super::ledger::{Ledger, Recording};
use super::scene::Scene;
use super::server::State;
use super::statistics::Question;
use super::tab::{Sign, TEXT_LIMITS, Tab, View};
use super::writer::Job;

/// A list of candidates; those that nobody has ever seen or asked for come first.
struct Candidates {
    items: Vec<Item>,
    fresh: usize,
}

/// A refresh: a snapshot, a page of items, and some of them are looked at.
pub fn refresh(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let state = scene.server.ship(scene.now, scene.conditions, scene.random);
    match scene.random.below(60) {
        0 => apply_broken(device, tab, &state, scene),
        1 => {}
        _ => apply(device, tab, &state, scene),
    }
    let candidates = candidates(device, scene);
    let passed = filter(device, tab, &candidates, scene);
    check_pending(device, tab, scene);
    probe(device, tab, scene);
    if scene.random.percent(15) {
        probe_table(device, tab, scene);
    }
    let seen = watched(device, &candidates, &passed, scene);
    if !seen.is_empty() {
        record(device, tab, &seen, scene);
    }
    check_limits(device, tab, scene);
}

/// Applies a state; what is covered leaves the pending ones, and nothing else does.
pub fn apply(device: &mut Device, tab: usize, state: &State, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let has_version = match scene.conditions.versions {
        Versions::Always => true,
        Versions::Never => false,
        Versions::Sometimes => scene.random.percent(50),
    };
    let version = has_version.then_some(state.version);
    let now_ms = scene.conditions.tells_clock.then_some(scene.now);
    let page = &mut device.tabs[tab];
    let before = page.guard.pending(usize::MAX);
    let texts: Vec<&String> = state.shards.iter().map(|shipped| &shipped.text).collect();
    let snapshot = Snapshot {
        version,
        shards: &texts,
        format: Format::Native,
        now_ms,
        unseen: &[],
        forget_before: (state.forget_before > 0).then_some(state.forget_before),
    };
    let applied = page
        .guard
        .apply(snapshot, clocks)
        .expect("snapshots: a whole one is taken");
    let is_older = match (version, page.view.version) {
        (Some(version), Some(current)) => (state.forget_before, version) < (page.view.forget_before, current),
        _ => false,
    };
    assert_eq!(
        applied.reason.is_none(),
        !is_older,
        "snapshots: an older one is not taken, any other is"
    );
    if is_older {
        scene.tally.reach("an older snapshot is refused");
        assert_eq!(
            page.guard.pending(usize::MAX),
            before,
            "snapshots: an older one settles nothing"
        );
        return;
    }
    let reused = reused(&page.view, state);
    assert_eq!(
        applied.reused, reused,
        "snapshots: shards that are held are not read again"
    );
    page.view = View {
        version,
        forget_before: state.forget_before,
        shards: state.shards.clone(),
        server_ahead: now_ms.map(|now_ms| i128::from(now_ms) - i128::from(clocks.steady_ms)),
    };
    let live = page.view.live(clocks).count();
    assert_eq!(
        (applied.shards, applied.expired),
        (state.shards.len(), state.shards.len() - live),
        "snapshots: a shard past its expiry by the server's clock answers nothing"
    );
    if live < state.shards.len() {
        scene.tally.reach("a shipped shard is past its expiry");
    }
    let is_deleting = state.forget_before > page.knows_deletion;
    take_deletion(device, tab, state.forget_before, now_ms, scene);
    check_settled(device, tab, &before, &applied, is_deleting, scene);
}

/// Notes that a tab has heard of a deletion of the history, and when it was by the device's clock.
fn take_deletion(device: &mut Device, tab: usize, before: u32, server_ms: Option<u64>, scene: &mut Scene<'_>) {
    let wall_ms = device.wall(scene.now) as i64;
    let offset = server_ms.map_or(0, |server_ms| wall_ms - server_ms as i64);
    let is_off = offset < 0 || offset > DAY as i64;
    let at = i64::from(before) * 1000 + if is_off { offset } else { 0 };
    let at = at.clamp(0, wall_ms) as u64;
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    if before <= page.knows_deletion {
        ledger.date_deletion_back(before, at);
        return;
    }
    page.knows_deletion = before;
    page.may_know_deletion = page.may_know_deletion.max(before);
    page.ask(Job::Flush, scene.now);
    ledger.delete(before, at);
    scene.tally.reach("a deletion of the history is taken");
    let since = |recording: &&Recording| recording.true_ms >= (u64::from(before) + 1) * 1000;
    let is_certain = !device.clock_jumped && server_ms.is_some();
    for recording in ledger.recordings.iter().filter(since) {
        assert!(
            !is_certain || recording.at >= at,
            "deletions: what was recorded since is not forgotten: {recording:?}"
        );
    }
}

fn reused(view: &View, state: &State) -> usize {
    let mut held: Vec<&String> = view.shards.iter().map(|shipped| &shipped.text).collect();
    let mut reused = 0;
    for shipped in &state.shards {
        if let Some(place) = held.iter().position(|text| **text == shipped.text) {
            held.swap_remove(place);
            reused += 1;
        }
    }
    reused
}

/// Exactly those that a live shard contains are settled, but for those that leave because the history was deleted.
fn check_settled(
    device: &mut Device,
    tab: usize,
    before: &[String],
    applied: &Applied,
    is_deleting: bool,
    scene: &mut Scene<'_>,
) {
    let clocks = device.clocks(tab, scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let (covered, left): (Vec<&String>, Vec<&String>) =
        before.iter().partition(|text| page.view.contains(text, clocks));
    let after = page.guard.pending(usize::MAX);
    assert!(
        after.iter().eq(left.iter().copied()) || (is_deleting && after.iter().all(|text| left.contains(&text))),
        "settled by coverage: {} pending, {} of them covered, {} left",
        before.len(),
        covered.len(),
        after.len()
    );
    assert!(
        applied.covered == covered.len() || is_deleting,
        "settled by coverage: {} are counted, {} were covered",
        applied.covered,
        covered.len()
    );
    for text in covered {
        let item = scene.items.of(text).expect("an item of this feed");
        settle(page, ledger, item, clocks, scene);
    }
    let mut of_before = before.iter();
    for CoveredImpression { id, lag_ms } in &applied.lags {
        assert!(
            of_before.any(|text| text == id),
            "lag: of what was not pending, or twice"
        );
        let item = scene.items.of(id).expect("an item of this feed");
        let is_right = |recording: &Recording| clocks.wall_ms.saturating_sub(recording.at) == *lag_ms;
        assert!(
            ledger.of(item).any(|(_, recording)| is_right(recording)),
            "lag: {lag_ms} ms is the age of no impression"
        );
    }
}

/// Notes that a snapshot covered a pending item here.
fn settle(page: &mut Tab, ledger: &mut Ledger, item: Item, clocks: Now, scene: &mut Scene<'_>) {
    ledger.covered.insert(item);
    if !page.is_reporting {
        ledger.text_dropped.insert(item);
    }
    let candidates: Vec<(usize, u64)> = page
        .candidates(ledger, item, scene.remember())
        .map(|(index, recording)| (index, recording.at))
        .collect();
    page.is_not_due(ledger, item);
    if let [(index, _)] = candidates[..] {
        page.unsaved.covered.push(index);
    }
    for (_, at) in candidates {
        if ledger.first_confirmed.contains_key(&(item, at)) {
            let confirmed = page.confirmed.get(&(item, at)).filter(|confirmed| confirmed.is_own);
            page.signs.push(Sign {
                serial: confirmed.map(|confirmed| confirmed.serial),
                steady_ms: clocks.steady_ms,
            });
            page.misleading_signs += usize::from(!is_covered_by_known_delivery(item, ledger, scene));
        }
    }
    if !scene.server.ever.contains_key(&item) {
        scene.tally.reach("a false positive covers an impression");
    }
}

/// Whether what covers an item is one of the deliveries that this device can know of: not another impression of the
/// item, another device's, or a delivery whose tab died before it could tell.
fn is_covered_by_known_delivery(item: Item, ledger: &Ledger, scene: &Scene<'_>) -> bool {
    let arrived = ledger.times_arrived(item);
    let only_here = scene.server.times_sent.get(&item) == Some(&arrived);
    let is_told = arrived == 1 || !scene.conditions.crashes;
    scene.server.ever.contains_key(&item) && only_here && is_told && ledger.of(item).count() == 1
}

/// A snapshot of which a part is damaged changes nothing.
fn apply_broken(device: &mut Device, tab: usize, state: &State, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let mut texts: Vec<String> = state.shards.iter().map(|shipped| shipped.text.clone()).collect();
    let Some(last) = texts.last_mut() else { return };
    last.replace_range(40..44, if &last[40..44] == "AAAA" { "BBBB" } else { "AAAA" });
    let before = (
        page.guard.pending(usize::MAX),
        page.guard.version(),
        page.guard.shards(),
    );
    let outcome = page.guard.apply(
        Snapshot {
            version: None,
            shards: &texts,
            format: Format::Native,
            now_ms: None,
            forget_before: None,
            unseen: &[],
        },
        clocks,
    );
    assert!(outcome.is_err(), "all or nothing: a damaged snapshot is refused");
    let after = (
        page.guard.pending(usize::MAX),
        page.guard.version(),
        page.guard.shards(),
    );
    assert_eq!(before, after, "all or nothing: a damaged snapshot changes nothing");
    scene.tally.reach("a damaged snapshot is refused");
}

fn candidates(device: &Device, scene: &mut Scene<'_>) -> Candidates {
    let fresh = scene.random.between(2, 20) as usize;
    let mut items: Vec<Item> = (0..fresh).map(|_| scene.items.publish(scene.random)).collect();
    let seen = &device.ledger.recordings;
    for _ in 0..12 {
        if seen.is_empty() {
            break;
        }
        // Half of them are of the latest.
        let from = if scene.random.percent(50) {
            seen.len().saturating_sub(50)
        } else {
            0
        };
        items.push(seen[from + scene.random.index(seen.len() - from)].item);
    }
    items.extend(scene.items.any(scene.random));
    Candidates { items, fresh }
}

/// Filters, and judges each answer. Returns the fresh ones of the answer.
fn filter(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) -> Vec<Item> {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let texts = scene.items.texts(&candidates.items);
    let answer = page.guard.filter(&texts, clocks).expect("there is memory");
    assert_eq!(
        Ok(&answer),
        page.guard.filter(&texts, clocks).as_ref(),
        "pure filter: the same call, the same answer"
    );
    let mut passes = vec![false; texts.len()];
    for &index in &answer {
        passes[index as usize] = true;
    }
    for (index, &item) in candidates.items.iter().enumerate() {
        if candidates.items[..index].contains(&item) {
            assert!(!passes[index], "pure filter: a duplicate id passes once");
            continue;
        }
        if passes[index] {
            check_passed(device, tab, item, scene);
        } else {
            check_stopped(device, tab, item, scene);
        }
    }
    ask_fresh(device, tab, candidates, scene);
    answer.iter().map(|&index| candidates.items[index as usize]).collect()
}

/// What passes is in no live shard, and was not seen here as far as must be known; or it was taken back.
fn check_passed(device: &Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, ledger, text) = (&device.tabs[tab], &device.ledger, scene.items.text(item));
    let (wall_ms, window_ms, remember) = (clocks.wall_ms, scene.window_ms(), scene.remember());
    assert!(!page.guard.has(text, clocks), "pure filter: what passes is not seen");
    if page.view.contains(text, clocks) {
        assert!(
            page.may_be_taken_back(ledger, item, wall_ms, window_ms, remember),
            "no repeat: {item:?} passes, and a live shard contains it"
        );
        scene
            .tally
            .reach("an item that was taken back passes a shard that contains it");
    }
    assert!(
        !page.must_stop(ledger, item, wall_ms, window_ms, remember),
        "no repeat: {item:?} passes at {wall_ms} by the device's clock, and was seen: {:?}",
        page.candidates(ledger, item, remember).collect::<Vec<_>>()
    );
    for (index, recording) in page.candidates(ledger, item, remember) {
        if recording.unseen || !page.knows(index) || ledger.may_be_deleted(recording) {
            continue;
        }
        if wall_ms >= recording.at + window_ms {
            scene.tally.reach("an impression is forgotten after the window");
        } else if !page.must_remember(ledger, index, remember) {
            scene
                .tally
                .reach("an impression is forgotten after as many others as are remembered");
        }
    }
}

/// What is stopped is stopped for a reason that exists.
fn check_stopped(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, ledger, text) = (&device.tabs[tab], &device.ledger, scene.items.text(item));
    let (wall_ms, window_ms, remember) = (clocks.wall_ms, scene.window_ms(), scene.remember());
    match page.guard.explain(text, clocks) {
        None => panic!("pure filter: {item:?} is stopped, and nothing explains it"),
        Some(Explanation::Server { shard, epoch }) => {
            assert_eq!(
                page.view.find(text, clocks),
                epoch.map(|epoch| (shard, epoch)),
                "all or nothing: {item:?} is stopped by a shard of the snapshot in use"
            );
            assert!(
                !page.must_pass(ledger, item, wall_ms, window_ms, remember),
                "taken back: {item:?} is stopped by a shard all the same"
            );
        }
        Some(Explanation::Pending { at } | Explanation::Memory { at }) => assert!(
            page.may_stop(ledger, item, Some(at), (wall_ms, window_ms), remember),
            "known reasons: {item:?} is stopped since {at}, and was not seen then, or forgotten or taken back since: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        ),
    }
    if page.candidates(ledger, item, remember).next().is_none() && ledger.has(item) {
        scene.tally.reach("a shard alone stops what this device has forgotten");
    }
}

/// How many of the fresh ones were stopped all the same: by the server's shards alone.
fn ask_fresh(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let guard = &device.tabs[tab].guard;
    let stats = guard.stats(clocks);
    for &item in &candidates.items[..candidates.fresh] {
        let why = guard.explain(scene.items.text(item), clocks);
        assert!(
            !matches!(why, Some(Explanation::Pending { .. } | Explanation::Memory { .. })),
            "known reasons: a fresh item is in the table"
        );
        let (rate, tally) = (stats.server_false_positive_rate, &mut *scene.tally);
        tally.ask(Question::StoppedByServer, rate, why.is_some());
    }
}

/// What must be pending is, and what is pending was seen here and not covered.
fn check_pending(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let (page, ledger) = (&mut device.tabs[tab], &device.ledger);
    let remember = scene.remember();
    let pending = page.guard.pending(usize::MAX);
    let there: HashSet<Item> = pending
        .iter()
        .map(|text| scene.items.of(text).expect("an item of this feed"))
        .collect();
    assert_eq!(there.len(), pending.len(), "pending: an id is there once");
    for &item in &there {
        let mut candidates = page.candidates(ledger, item, remember);
        // What was dropped may come back from a segment that was not compacted yet.
        let is_settled = |index| page.settled.contains(&index) && page.must_remember(ledger, index, remember);
        assert!(
            candidates.any(|(index, recording)| !recording.unseen && !is_settled(index)),
            "pending: {item:?} was not seen here, or taken back, or is known to be covered: {:?}",
            ledger.of(item).collect::<Vec<_>>()
        );
    }
    let due = std::mem::take(&mut page.due);
    for index in due {
        let recording = &ledger.recordings[index];
        let item = recording.item;
        if there.contains(&item) {
            page.due.insert(index);
            continue;
        }
        let has_lost_text = page.may_have_lost_text(ledger, index);
        let may_have_left = ledger.is_taken_back(item) || ledger.item_may_be_deleted(item);
        assert!(
            has_lost_text
                || may_have_left
                || ledger.covered.contains(&item)
                || !page.must_remember(ledger, index, remember),
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
            let last = (recordings - 1).saturating_sub(scene.remember() - 1);
            let index = if scene.random.percent(20) {
                last
            } else {
                scene.random.index(recordings)
            };
            check_remembered(device, tab, index, &device.tabs[tab].guard, scene);
        }
    }
}

/// The same, as if the server had covered and then lost everything: of the table alone.
fn probe_table(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let guard = table_alone(&device.tabs[tab].guard, device.clocks(tab, scene.now));
    let recordings = device.ledger.recordings.len();
    for _ in 0..20 {
        if recordings > 0 {
            let index = recordings - 1 - scene.random.index(recordings.min(scene.remember()));
            check_remembered(device, tab, index, &guard, scene);
        }
    }
}

/// A snapshot covers everything that a guard holds, and is not used any more.
pub fn cover_everything(guard: &mut Guard, clocks: Now) {
    let mut everything = BloomFilter::new(Parameters::new(1, 1).expect("one bit is a filter"), 0);
    everything.insert("anything");
    let everything = Shard::new(everything, 0, 0).to_base64().expect("there is memory");
    for shards in [&[everything][..], &[]] {
        let snapshot = Snapshot {
            version: None,
            shards,
            format: Format::Native,
            now_ms: None,
            forget_before: None,
            unseen: &[],
        };
        guard
            .apply(snapshot, clocks)
            .expect("snapshots: any that can be read is taken");
    }
}

/// A guard of which nothing is pending, and that has no snapshot.
pub fn table_alone(guard: &Guard, clocks: Now) -> Guard {
    let mut guard = guard.clone();
    cover_everything(&mut guard, clocks);
    assert_eq!(
        guard.pending(1),
        [""; 0],
        "settled by coverage: something is pending still"
    );
    guard
}

/// Whether the item of a recording is stopped at some time of the device's clock at which it must be.
pub fn check_remembered(device: &Device, tab: usize, index: usize, guard: &Guard, scene: &mut Scene<'_>) {
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let recording = &ledger.recordings[index];
    let (window_ms, remember) = (scene.window_ms(), scene.remember());
    let end = recording.at + window_ms - 1;
    let mut clocks = device.clocks(tab, scene.now);
    clocks.wall_ms = match scene.random.below(3) {
        0 => end,
        1 => recording.at,
        _ => scene.random.between(0, end),
    };
    if !page.must_stop(ledger, recording.item, clocks.wall_ms, window_ms, remember) {
        return;
    }
    assert!(
        guard.has(scene.items.text(recording.item), clocks),
        "no repeat: at {} by the device's clock, with at most {} higher, this passes: {recording:?}",
        clocks.wall_ms,
        ledger.higher(index)
    );
    if ledger.higher(index) == remember - 1 {
        scene
            .tally
            .reach("an impression is remembered after as many others as may be");
    }
    if clocks.wall_ms == end {
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
            watched.push(candidates.items[scene.random.index(candidates.items.len())]);
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
    let clocks = device.clocks(tab, scene.now);
    let texts = scene.items.texts(seen);
    let recorded = device.tabs[tab].guard.record(&texts, clocks).expect("there is memory");
    let (mut most_unknown, mut never_seen) = (0, 0);
    for &item in seen {
        let (page, ledger) = (&device.tabs[tab], &device.ledger);
        let is_known = page.must_stop(ledger, item, clocks.wall_ms, scene.window_ms(), scene.remember());
        most_unknown += usize::from(!is_known);
        never_seen += usize::from(!ledger.has(item));
        let index = note(device, tab, item, false, scene);
        let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
        page.is_not_due(ledger, item);
        if page.view.contains(scene.items.text(item), clocks) {
            ledger.covered.insert(item);
            if !page.is_reporting {
                ledger.text_dropped.insert(item);
            }
        } else {
            page.due.insert(index);
        }
        if !scene.conditions.reports {
            scene.server.send(item, scene.now, scene.conditions, scene.random);
        }
    }
    assert!(
        (never_seen..=most_unknown).contains(&recorded.unknown),
        "record: {} were counted as unknown, of which {never_seen} to {most_unknown} are",
        recorded.unknown
    );
    device.tabs[tab].ask(Job::Flush, scene.now);
}

/// Takes back something that was seen lately, or that a shard contains: it passes.
pub fn take_back(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let recordings = &device.ledger.recordings;
    if recordings.is_empty() {
        return;
    }
    let from = recordings.len().saturating_sub(30);
    let item = recordings[from + scene.random.index(recordings.len() - from)].item;
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let text = scene.items.text(item);
    let was_stopped = page.guard.has(text, clocks);
    let taken_back = page.guard.unsee(&[text], clocks);
    assert_eq!(
        taken_back,
        Ok(usize::from(was_stopped)),
        "taken back: it tells what was stopped"
    );
    assert!(!page.guard.has(text, clocks), "taken back: {item:?} passes");
    page.is_not_due(&device.ledger, item);
    note(device, tab, item, true, scene);
    device.tabs[tab].ask(Job::Flush, scene.now);
    scene.tally.reach("an item is taken back");
}

/// Enters a recording into the ledger.
fn note(device: &mut Device, tab: usize, item: Item, unseen: bool, scene: &Scene<'_>) -> usize {
    let at = device.wall(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let index = ledger.recordings.len();
    let recording = Recording {
        item,
        unseen,
        at,
        true_ms: scene.now,
        generation: page.writer.generation,
        stored_ms: None,
        signalled_ms: None,
        author: page.serial,
        missed: index - page.known_count,
        missed_of_item: missed_of_item(page, ledger, item, index),
        bytes_before: ledger.bytes,
        certain: page.known_count,
        knew_deletion: page.knows_deletion,
        may_have_known_deletion: page.may_know_deletion,
        to_deliver: page.is_reporting,
        was_to_deliver: page.is_reporting,
    };
    ledger.bytes += scene.items.text(item).len();
    ledger.push(recording);
    page.own.push(index);
    page.unsaved.recordings.push(index);
    page.learn(index);
    index
}

/// Nothing is past its limits.
fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, remember) = (&device.tabs[tab], scene.remember());
    let guard = &page.guard;
    let stats = guard.stats(clocks);
    assert!(
        stats.pending <= TEXT_LIMITS.texts,
        "limits: {} are pending",
        stats.pending
    );
    assert!(
        stats.remembered <= remember + remember / 10 || !page.writer.is_loaded,
        "limits: {} are remembered",
        stats.remembered
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX).iter().map(String::len).sum();
        assert!(bytes <= TEXT_LIMITS.bytes, "limits: {bytes} bytes of ids are pending");
    }
    if stats.pending > TEXT_LIMITS.texts - TEXT_LIMITS.texts / 50 {
        scene.tally.reach("nearly 5,000 impressions are pending");
    }
    let server: usize = page
        .view
        .shards
        .iter()
        .map(|shipped| shipped.shard.filter.parameters().bits() as usize)
        .sum();
    // The table, up to twice as large as its content; the texts, each with its delivery; slots of the server's filters
    // that are free.
    let most = 128 * remember + 128 * TEXT_LIMITS.texts + TEXT_LIMITS.bytes + server + 64 * 1024;
    assert!(stats.bytes <= most, "limits: {} bytes are held", stats.bytes);
}
