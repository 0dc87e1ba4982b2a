//! Snapshots come to a page with each response. What each of them means for the page is compared with what the server
//! meant, shard by shard, whether it came as text or as a reference.

use std::collections::BTreeSet;

use seenguard::device::{Applied, Guard, NotApplied};
use seenguard::{BloomFilter, Format, Parameters, Shard, Snapshot, Time};

use super::chance::Chance;
use super::conditions::{DAY, Versions};
use super::coverage;
use super::device::Device;
use super::exceptions::listed;
use super::items::Item;
use super::ledger::{Ledger, Recording};
use super::scene::Scene;
use super::shipment::{Shipment, State};
use super::tab::Tab;
use super::view::View;

/// Requests of a page that may still be answered.
const REQUESTS: usize = 4;

/// How many shards a page has in use, also where it names none to the server.
pub fn shards_in_use(guard: &Guard) -> usize {
    let texts = guard.shard_texts();
    texts.expect("those of one user are short enough to be stored").count()
}

/// A request for a page, which says what is held, and what the server ships for it.
pub fn request(device: &mut Device, tab: usize, scene: &mut Scene<'_>) -> Shipment {
    let held = held_by(device, tab, scene);
    let server = &mut scene.server;
    server.ship(scene.now, &held, scene.items, scene.conditions, scene.random)
}

/// What a page's request says that it holds; now and then that of an earlier request, whose answer was overtaken, or of
/// another tab, whose response is used here.
fn held_by(device: &mut Device, tab: usize, scene: &mut Scene<'_>) -> String {
    let other = scene.random.index(device.tabs.len());
    let other = device.tabs[other].guard.held();
    let page = &mut device.tabs[tab];
    let held = page.guard.held();
    let expected = if page.is_missing_shard {
        String::new()
    } else {
        page.view.held()
    };
    assert_eq!(held, expected, "references: a request names exactly what is held");
    page.requests.push(held.clone());
    if page.requests.len() > REQUESTS {
        page.requests.remove(0);
    }
    match scene.random.below(30) {
        0 => scene.random.pick(&page.requests).clone(),
        1 => other,
        2 => format!("..zz.{held}.0123456789AB.0123456789ab"),
        3 => String::new(),
        _ => held,
    }
}

/// Applies a state; what is covered leaves the pending ones, and nothing else does.
pub fn apply(device: &mut Device, tab: usize, shipment: &Shipment, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let has_version = match scene.conditions.versions {
        Versions::Always => true,
        Versions::Never => false,
        Versions::Sometimes => scene.random.percent(50),
    };
    let Shipment { state, shards } = shipment;
    let version = has_version.then_some(state.version);
    let now_ms = scene.conditions.tells_clock.then_some(scene.now);
    let page = &mut device.tabs[tab];
    let before = page.guard.pending(usize::MAX, time);
    let snapshot = Snapshot {
        version,
        shards,
        format: Format::Native,
        now_ms,
        unseen: &state.unseen,
        forget_before: (state.forget_before > 0).then_some(state.forget_before),
    };
    let applied = page
        .guard
        .apply(snapshot, time)
        .expect("snapshots: a whole one is taken");
    check_reason(page, shipment, version, &applied);
    if let Some(reason) = applied.reason {
        page.is_missing_shard |= reason == NotApplied::MissingShard;
        scene.tally.reach(match reason {
            NotApplied::OlderVersion => "an older snapshot is refused",
            NotApplied::MissingShard => "a snapshot refers to a shard that is not held",
        });
        assert_eq!(
            page.guard.pending(usize::MAX, time),
            before,
            "snapshots: one that is not taken settles nothing"
        );
        return;
    }
    let listed_before: BTreeSet<Item> = page.view.unseen.keys().copied().collect();
    let next = View {
        version,
        forget_before: state.forget_before,
        may_forget_before: state.forget_before,
        shards: state.shards.clone(),
        server_ahead: now_ms.map(|now_ms| i128::from(now_ms) - i128::from(time.unix_ms())),
        unseen: page
            .view
            .next_unseen(&listed(&state.unseen, scene.items), now_ms, time.unix_ms()),
    };
    let page = &mut device.tabs[tab];
    page.view = next;
    page.has_applied = true;
    page.is_missing_shard = false;
    let live = page.view.live(time).count();
    assert_eq!(
        shards_in_use(&page.guard),
        state.shards.len(),
        "snapshots: what came is in use, as text or as a reference"
    );
    if live < state.shards.len() {
        scene.tally.reach("a shipped shard is past its expiry");
    }
    check_reach(device, tab, now_ms, scene);
    let is_deleting = state.forget_before > device.tabs[tab].knows_deletion;
    take_deletion(device, tab, state.forget_before, now_ms, scene);
    device.tabs[tab].knew_deletion = device.tabs[tab].knows_deletion;
    coverage::check_settled(device, tab, (&before, &listed_before), &applied, is_deleting, scene);
    device.changed(tab, applied.covered, scene);
}

fn is_reference(element: &str) -> bool {
    element.starts_with('~')
}

/// A snapshot is not taken if it is older, or else if it refers to what is not held; any other is.
fn check_reason(page: &Tab, Shipment { state, shards }: &Shipment, version: Option<u64>, applied: &Applied) {
    let view = &page.view;
    let order = version.zip(view.version);
    let must_be_older =
        order.is_some_and(|(version, current)| (state.forget_before, version) < (view.forget_before, current));
    let may_be_older = must_be_older || (order.is_some() && state.forget_before < view.may_forget_before);
    let is_held = |text: &String| view.shards.iter().any(|held| held.text == *text);
    let mut elements = state.shards.iter().zip(shards);
    let is_missing = elements.any(|(shipped, element)| is_reference(element) && !is_held(&shipped.text));
    if applied.reason == Some(NotApplied::OlderVersion) {
        assert!(may_be_older, "snapshots: one that is not older is taken");
        return;
    }
    assert!(!must_be_older, "snapshots: an older one is not taken");
    assert_eq!(
        applied.reason == Some(NotApplied::MissingShard),
        is_missing,
        "references: exactly a snapshot that refers to what is not held is not taken"
    );
}

/// Where time are what they seem, an unsee reaches exactly what was recorded before it.
pub fn check_reach(device: &Device, tab: usize, server_ms: Option<u64>, scene: &mut Scene<'_>) {
    if device.clock_was_set {
        return;
    }
    let off = device.clock_off_ms;
    for (&item, unseen) in &device.tabs[tab].view.unseen {
        scene.tally.reach("the server unsees an item");
        for (_, recording) in device.ledger.of(item).filter(|(_, recording)| !recording.unseen) {
            let is_since = recording.true_ms > unseen.stated;
            let is_unseen = recording.at <= unseen.reach;
            assert!(
                !is_since || !is_unseen || (server_ms.is_none() && off < 0),
                "no repeat: {item:?} was recorded after it was made unseen: {recording:?}, {unseen:?}"
            );
            assert!(
                is_since || is_unseen || off > 0 || (server_ms.is_none() && off != 0),
                "unseen: {item:?} was recorded before it was made unseen: {recording:?}, {unseen:?}"
            );
        }
    }
}

/// After rows were merged: a snapshot from before a deletion that they tell of is not in use any more.
pub fn note_dropped(page: &mut Tab, ledger: &Ledger, scene: &mut Scene<'_>) {
    let is_in_use = page.has_applied || !page.view.shards.is_empty();
    if !is_in_use || page.may_know_deletion <= page.view.forget_before {
        return;
    }
    let is_other = !page.view.shards.is_empty() || page.guard.version() != page.view.version;
    if shards_in_use(&page.guard) == 0 && is_other {
        let deletions = ledger.deletions.iter().map(|deletion| deletion.before);
        let later = deletions.filter(|&before| before > page.view.forget_before);
        page.view = View {
            version: page.view.version.map(|_| 0),
            forget_before: later.min().unwrap_or(page.may_know_deletion),
            may_forget_before: page.may_know_deletion,
            ..View::default()
        };
        page.is_missing_shard = false;
        scene
            .tally
            .reach("a tab drops its snapshot for a deletion that another tells of");
    } else if page.view.shards.is_empty() {
        // Whether it was dropped does not show.
        page.view.may_forget_before = page.may_know_deletion;
    }
}

/// A snapshot from before a deletion that the page has heard of since is not in use.
pub fn check_dropped(page: &Tab) {
    let known = page.view.forget_before.max(page.knew_deletion);
    assert!(
        page.view.shards.is_empty() || page.knows_deletion <= known,
        "deletions: tab {} has heard of that at {}, and a snapshot of {} to {} is still in use",
        page.serial,
        page.knows_deletion,
        page.view.forget_before,
        page.knew_deletion
    );
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
    page.verdicts.owes_deletion |= before > page.may_know_deletion;
    page.knows_deletion = before;
    page.may_know_deletion = page.may_know_deletion.max(before);
    ledger.delete(before, at);
    scene.tally.reach("a deletion of the history is taken");
    let since = |recording: &&Recording| recording.true_ms >= u64::from(before) * 1000;
    let is_certain = !device.clock_was_set && server_ms.is_some();
    for recording in ledger.recordings.iter().filter(since) {
        assert!(
            !is_certain || recording.at >= at,
            "deletions: what was recorded since is not forgotten: {recording:?}"
        );
    }
}

/// A snapshot of which a part is damaged changes nothing.
pub fn apply_broken(device: &mut Device, tab: usize, state: &State, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let page = &mut device.tabs[tab];
    let mut texts: Vec<String> = state.shards.iter().map(|shipped| shipped.text.clone()).collect();
    let Some(last) = texts.last_mut() else { return };
    last.replace_range(40..44, if &last[40..44] == "AAAA" { "BBBB" } else { "AAAA" });
    let state = |guard: &Guard| (guard.pending(usize::MAX, time), guard.version(), shards_in_use(guard));
    let before = state(&page.guard);
    let outcome = page.guard.apply(Snapshot::new(&texts), time);
    assert!(outcome.is_err(), "all or nothing: a damaged snapshot is refused");
    assert_eq!(
        before,
        state(&page.guard),
        "all or nothing: a damaged snapshot changes nothing"
    );
    scene.tally.reach("a damaged snapshot is refused");
}

/// A snapshot covers everything that a guard holds, and is not used any more.
pub fn cover_everything(guard: &mut Guard, time: Time) {
    let mut everything = BloomFilter::new(Parameters::new(1, 1).expect("one bit is a filter"), 0);
    everything.insert("anything");
    let everything = Shard::new(everything, 0, 0).to_base64().expect("there is memory");
    for shards in [&[everything][..], &[]] {
        guard
            .apply(Snapshot::new(shards), time)
            .expect("snapshots: any that can be read is taken");
    }
}

/// A guard of which nothing is pending, and that has no snapshot.
pub fn table_alone(guard: &Guard, time: Time) -> Guard {
    let mut guard = guard.clone();
    cover_everything(&mut guard, time);
    assert_eq!(
        guard.pending(1, time),
        [""; 0],
        "settled by coverage: something is pending still"
    );
    guard
}
