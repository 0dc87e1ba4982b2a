//! Each response brings a snapshot to a page. Its effect is compared with the server's state, shard by shard, whether a
//! shard was sent encoded or as a reference.

use std::collections::BTreeSet;

use seenguard::device::{Applied, Guard, NotApplied};
use seenguard::{BloomFilter, Format, Parameters, Shard, Snapshot, Time};

use super::chance::Chance;
use super::conditions::DAY;
use super::device::Device;
use super::exceptions::listed;
use super::items::Item;
use super::ledger::{Ledger, Recording, What};
use super::server::{Shipment, State};
use super::tab::{Facts, Floor, Tab, Urgency};
use super::view::View;
use super::world::Scene;

/// Requests of a page that may still get a response.
const REQUESTS: usize = 4;

/// How many shards a page has in use, also where it names none to the server.
fn shards_in_use(guard: &Guard) -> usize {
    let texts = guard.encoded_shards();
    texts.expect("those of one user are short enough to be stored").count()
}

/// A request for a page, with its held shards, and the server's response.
pub fn request(device: &mut Device, tab: usize, scene: &mut Scene<'_>) -> Shipment {
    let held = held_by(device, tab, scene);
    scene
        .server
        .ship(scene.now, &held, scene.items, scene.conditions, scene.random)
}

/// The `Seen-Held` of a page's request; sometimes that of an earlier request, whose response was overtaken, or of another
/// tab, whose response is used here.
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

/// Applies a state; exactly the covered items are not pending any more.
pub fn apply(device: &mut Device, tab: usize, shipment: &Shipment, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let Shipment { state, shards } = shipment;
    let version = Some(state.version).filter(|_| scene.random.percent(scene.conditions.versioned_percent));
    let now_ms = scene.conditions.has_server_time.then_some(scene.now);
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
        .expect("snapshots: a whole one is applied");
    check_reason(page, shipment, version, &applied);
    if let Some(reason) = applied.reason {
        page.is_missing_shard |= reason == NotApplied::MissingShard;
        scene.tally.reach(match reason {
            NotApplied::OlderVersion => "an older snapshot is refused",
            NotApplied::MissingShard => "a snapshot refers to a shard that is not held",
        });
        let after = page.guard.pending(usize::MAX, time);
        assert_eq!(after, before, "snapshots: one that is not applied covers nothing");
        return;
    }
    let listed_before: BTreeSet<Item> = page.view.unseen.keys().copied().collect();
    page.view = View {
        version,
        forget_before: state.forget_before,
        shards: state.shards.clone(),
        server_ahead: now_ms.map(|now_ms| i128::from(now_ms) - i128::from(time.unix_ms())),
        unseen: page
            .view
            .next_unseen(&listed(&state.unseen, scene.items), now_ms, time.unix_ms()),
    };
    page.has_applied = true;
    page.is_missing_shard = false;
    let in_use = shards_in_use(&page.guard);
    assert_eq!(
        in_use,
        state.shards.len(),
        "snapshots: what came is in use, as text or as a reference"
    );
    if page.view.live(time).count() < state.shards.len() {
        scene.tally.reach("a shipped shard is past its expiry");
    }
    check_reach(device, tab, now_ms, scene);
    let is_deleting = state.forget_before > device.tabs[tab].facts.floor.before;
    delete(device, tab, state.forget_before, now_ms, scene);
    check_covered(device, tab, (&before, &listed_before), &applied, is_deleting, scene);
}

/// A snapshot is not applied if it is older, or if it refers to a shard that is not held; any other is.
fn check_reason(page: &Tab, Shipment { state, shards }: &Shipment, version: Option<u64>, applied: &Applied) {
    let view = &page.view;
    let order = version.zip(view.version);
    let is_older =
        order.is_some_and(|(version, current)| (state.forget_before, version) < (view.forget_before, current));
    let is_held = |text: &String| view.shards.iter().any(|held| held.text == *text);
    let mut elements = state.shards.iter().zip(shards);
    let is_missing = elements.any(|(shipped, element)| element.starts_with('~') && !is_held(&shipped.text));
    let reason = match (is_older, is_missing) {
        (true, _) => Some(NotApplied::OlderVersion),
        (false, true) => Some(NotApplied::MissingShard),
        (false, false) => None,
    };
    assert_eq!(
        applied.reason, reason,
        "snapshots: one is refused if it is older, or refers to what is not held"
    );
}

/// If clocks are right, an unsee applies to exactly the earlier recordings.
fn check_reach(device: &Device, tab: usize, server_ms: Option<u64>, scene: &mut Scene<'_>) {
    let off = device.clock_off_ms;
    for (&item, unseen) in &device.tabs[tab].view.unseen {
        scene.tally.reach("the server unsees an item");
        let seen = device
            .ledger
            .of(item)
            .filter(|(_, recording)| recording.what != What::Unseen);
        for (_, recording) in seen.filter(|_| !device.clock_jumped) {
            let is_since = recording.true_ms > unseen.stated;
            let is_reached = recording.at <= unseen.reach;
            let may_differ = match is_since {
                true => server_ms.is_none() && off < 0,
                false => off > 0 || (server_ms.is_none() && off != 0),
            };
            assert!(
                may_differ || is_reached != is_since,
                "unseen: {unseen:?} and {recording:?}"
            );
        }
    }
}

/// A tab applies a deletion of the history, with its time by the device's clock.
fn delete(device: &mut Device, tab: usize, before: u32, server_ms: Option<u64>, scene: &mut Scene<'_>) {
    if before == 0 {
        return;
    }
    let wall_ms = device.wall(scene.now) as i64;
    let offset = server_ms.map_or(0, |server_ms| wall_ms - server_ms as i64);
    let is_off = offset < 0 || offset > DAY as i64;
    let at = i64::from(before) * 1000 + if is_off { offset } else { 0 };
    let at = at.clamp(0, wall_ms) as u64;
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    page.verdicts.owes_deletion |= before > page.facts.floor.before;
    page.facts.merge(Facts {
        floor: Floor { before, at },
        reports: false,
    });
    ledger.deleted_until = ledger.deleted_until.max(at);
    scene.tally.reach("a deletion of the history is applied");
    let is_certain = !device.clock_jumped && server_ms.is_some();
    for recording in ledger
        .recordings
        .iter()
        .filter(|recording| recording.true_ms >= u64::from(before) * 1000)
    {
        let is_deleted = is_certain && recording.at < at;
        assert!(
            !is_deleted,
            "deletions: what was recorded since is not deleted: {recording:?}"
        );
    }
}

/// Exactly those that a live shard contains are covered, except those that the server unsees, and those that leave
/// because the history was deleted. What it no longer unsees is pending again.
fn check_covered(
    device: &mut Device,
    tab: usize,
    (before, listed_before): (&[String], &BTreeSet<Item>),
    applied: &Applied,
    is_deleting: bool,
    scene: &mut Scene<'_>,
) {
    let time = device.time(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let item_of = |text: &String| scene.items.of(text).expect("an item of this feed");
    let is_covered = |item| !page.view.lists(item) && page.view.contains(scene.items.text(item), time);
    let (covered, left): (Vec<Item>, Vec<Item>) = before.iter().map(item_of).partition(|&item| is_covered(item));
    // Unseen ids of the former snapshot may have been pending.
    let hidden: Vec<Item> = listed_before
        .iter()
        .copied()
        .filter(|item| is_covered(*item) && !covered.contains(item))
        .collect();
    let after: Vec<Item> = page.guard.pending(usize::MAX, time).iter().map(item_of).collect();
    // Items that an unsee may hide or show are not compared here.
    let is_plain = |item: &&Item| !page.view.lists(**item) && !listed_before.contains(item);
    let stays: Vec<&Item> = left.iter().filter(is_plain).collect();
    let there: Vec<&Item> = after.iter().filter(is_plain).collect();
    let is_right = if is_deleting {
        there.iter().all(|item| stays.contains(item))
    } else {
        there == stays
    };
    assert!(
        is_right,
        "covered: of {} pending {} are covered, and {} left",
        before.len(),
        covered.len(),
        after.len()
    );
    let counts = covered.len()..=covered.len() + hidden.len();
    let count = applied.covered;
    assert!(
        counts.contains(&count) || is_deleting,
        "covered: {count} are counted, {counts:?} were covered"
    );
    for lag in &applied.lags {
        let item = item_of(&lag.id);
        let is_right = |(_, recording): (usize, &Recording)| time.unix_ms().saturating_sub(recording.at) == lag.lag_ms;
        assert!(
            (covered.contains(&item) || hidden.contains(&item)) && ledger.of(item).any(is_right),
            "lag: {lag:?} is the age of no impression"
        );
    }
    for (item, urgency) in covered
        .iter()
        .map(|item| (*item, Urgency::Later))
        .chain(hidden.iter().map(|item| (*item, Urgency::Maybe)))
    {
        cover(page, ledger, item, urgency);
        if !scene.server.ever.contains(&item) {
            scene.tally.reach("a false positive covers an impression");
        }
    }
}

/// Notes that a snapshot covered an item here that was pending, or that may have been.
fn cover(page: &mut Tab, ledger: &mut Ledger, item: Item, urgency: Urgency) {
    ledger.covered.insert(item);
    if !page.facts.reports {
        ledger.text_dropped.insert(item);
    }
    let candidates: Vec<usize> = page.candidates(ledger, item).map(|(index, _)| index).collect();
    if let [index] = candidates[..]
        && (urgency == Urgency::Later || page.must_have_text(ledger, index))
    {
        page.known.entry(index).or_default().is_covered = true;
    }
    page.changed(ledger, item, urgency);
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

/// A guard of which nothing is pending, and that has no snapshot: a snapshot has covered everything, and is not used
/// any more.
pub fn table_alone(guard: &Guard, time: Time) -> Guard {
    let mut guard = guard.clone();
    let mut everything = BloomFilter::new(Parameters::new(1, 1).expect("one bit is a filter"), 0);
    everything.insert("anything");
    let everything = Shard::new(everything, 0, 0).to_base64().expect("there is memory");
    for shards in [&[everything][..], &[]] {
        guard
            .apply(Snapshot::new(shards), time)
            .expect("snapshots: any that can be read is applied");
    }
    assert_eq!(guard.pending(1, time), [""; 0], "covered: something is pending still");
    guard
}
