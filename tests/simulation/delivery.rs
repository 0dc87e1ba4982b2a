//! Delivery of impressions in batches, over a network that loses requests and responses.

use seenguard::device::Scope;

use super::chance::Chance;
use super::conditions::DAY;
use super::device::Device;
use super::elsewhere::PendingList;
use super::exceptions::listed;
use super::items::Item;
use super::ledger::{Arrival, Recording, What};
use super::stream::Entry;
use super::tab::Urgency;
use super::world::Scene;

/// After this an impression that is still pending is delivered again, once.
const REDELIVERY_MS: u64 = DAY;
const BATCH_BYTES: usize = 40_000;

/// A batch in progress.
#[derive(Debug)]
pub struct Flight {
    batch: u32,
    impressions: Vec<(Item, u64)>,
    unseen: Vec<(Item, u64)>,
    sent_ms: u64,
    /// The same by the device's clock.
    sent_at: u64,
    pub generation: usize,
    has_arrived: bool,
    pending: PendingList,
}

/// Starts the delivery of present and future impressions.
pub fn start(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let page = &mut device.tabs[tab];
    page.guard.start_reporting();
    page.delivering = true;
    page.facts.reports = true;
    if page.is_loaded {
        for id in page.guard.pending(usize::MAX, time) {
            let item = scene.items.of(&id).expect("an item of this feed");
            let recordings = page.candidates(&device.ledger, item).map(|(index, _)| index);
            let recordings: Vec<usize> = recordings.collect();
            for index in recordings {
                device.ledger.recordings[index].to_deliver = true;
            }
        }
    }
}

/// The next event of a page's deliveries.
pub fn advance(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    if !device.tabs[tab].delivering {
        return;
    }
    let flights = device.tabs[tab].flights.len();
    // A page that hides sends another batch while one is in progress.
    let most = if scene.conditions.network_fails { 2 } else { 1 };
    if flights == 0 || (flights < most && scene.random.percent(15)) {
        let scope = *scene.random.pick(&[Scope::Own, Scope::All, Scope::Hiding]);
        begin(device, tab, scope, scene);
    }
    let flights = device.tabs[tab].flights.len();
    if flights > 0 {
        let flight = scene.random.index(flights);
        match scene.random.below(10) {
            _ if !scene.conditions.network_fails => answer(device, tab, flight, true, scene),
            0..4 => arrive(device, tab, flight, scene),
            4 => answer(device, tab, flight, false, scene),
            _ => answer(device, tab, flight, true, scene),
        }
    }
}

/// Delivers everything that is due, over a network that works.
pub fn deliver_all(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    while !device.tabs[tab].flights.is_empty() {
        answer(device, tab, 0, false, scene);
    }
    while begin(device, tab, Scope::All, scene) {
        answer(device, tab, 0, true, scene);
    }
    let undelivered = device.tabs[tab].guard.undelivered();
    assert_eq!(
        undelivered, 0,
        "delivered: {undelivered} are not in progress, and in no batch"
    );
}

/// Begins the next batch. Returns whether there was one.
fn begin(device: &mut Device, tab: usize, scope: Scope, scene: &mut Scene<'_>) -> bool {
    let time = device.time(scene.now);
    let most = *scene.random.pick(&[1, 20, 200, 200]);
    let page = &mut device.tabs[tab];
    let batch = page.guard.begin_batch(most, BATCH_BYTES, scope, time);
    let ids = || batch.impressions.iter().chain(&batch.unseen);
    assert_eq!(
        batch.number == 0,
        ids().next().is_none(),
        "batches: one has a number or nothing in it"
    );
    if batch.number == 0 {
        return false;
    }
    let (count, bytes) = (
        ids().count(),
        ids().map(|impression| impression.id.len() + 30).sum::<usize>(),
    );
    assert!(
        count <= most && (bytes <= BATCH_BYTES || count == 1),
        "batches: {count} impressions of {bytes} bytes"
    );
    let impressions = listed(&batch.impressions, scene.items);
    let unseen = listed(&batch.unseen, scene.items);
    for (entries, is_unseen) in [(&impressions, false), (&unseen, true)] {
        for &(item, at) in entries {
            check_due(device, tab, (item, at, is_unseen), scope, scene);
        }
    }
    let pending = PendingList::by(device, tab, time, scene.now, scene.items);
    let page = &mut device.tabs[tab];
    page.flights.push(Flight {
        pending,
        batch: batch.number,
        impressions,
        unseen,
        sent_ms: scene.now,
        sent_at: time.unix_ms(),
        generation: page.generation,
        has_arrived: false,
    });
    true
}

/// An impression is delivered if it was recorded here, is not in progress, and is not known to have arrived; or again by
/// the rule for that. An unsee is delivered once.
fn check_due(
    device: &Device,
    tab: usize,
    (item, at, is_unseen): (Item, u64, bool),
    scope: Scope,
    scene: &mut Scene<'_>,
) {
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let what = if is_unseen { What::Unseen } else { What::Seen };
    let is_it = |recording: &Recording| recording.at == at && recording.what == what;
    let recordings: Vec<_> = page.candidates(ledger, item).filter(|(_, one)| is_it(one)).collect();
    assert!(
        !recordings.is_empty(),
        "batches: {item:?} at {at} was not recorded for the server, or another since"
    );
    // Of an item that this page has recorded it delivers the latest.
    let is_own = page
        .known_of(ledger, item)
        .any(|(_, recording)| recording.author == page.serial);
    assert!(
        scope == Scope::All || is_own,
        "batches: {item:?} was recorded elsewhere, in {scope:?}"
    );
    if !recordings.iter().all(|(index, _)| page.must_have_text(ledger, *index)) {
        // A dropped recording may be merged again from a row that was not compacted yet.
        return;
    }
    let is_in = |flight: &Flight| {
        if is_unseen {
            flight.unseen.contains(&(item, at))
        } else {
            flight.impressions.contains(&(item, at))
        }
    };
    let is_in_progress = page
        .flights
        .iter()
        .any(|flight| flight.generation == page.generation && is_in(flight));
    assert!(!is_in_progress, "batches: {item:?} is in progress already");
    assert!(
        !is_unseen || !page.delivered_unseen.contains(&(item, at)),
        "batches: that {item:?} is unseen goes again"
    );
    let state = recordings
        .first()
        .map(|(index, _)| page.known[index])
        .unwrap_or_default();
    if is_unseen || state.deliveries == 0 {
        return;
    }
    scene.tally.reach("an impression is delivered again");
    // An impression that the server refused or made unseen is not covered by a snapshot.
    let is_covered_never = scene.server.exceptions.ever.contains(&item) || scene.server.refused.contains(&item);
    let waited = device.wall(scene.now).abs_diff(state.delivered_at);
    assert!(
        device.clock_jumped
            || is_covered_never
            || (state.deliveries < 2 && waited >= REDELIVERY_MS && page.has_applied),
        "redelivery: {item:?} after {waited} ms: {state:?}"
    );
}

/// A batch reaches the server, which puts it into the stream.
fn arrive(device: &mut Device, tab: usize, flight: usize, scene: &mut Scene<'_>) {
    let flight = &mut device.tabs[tab].flights[flight];
    if std::mem::replace(&mut flight.has_arrived, true) {
        return;
    }
    scene.server.devices.accept(&flight.pending, scene.now);
    let Flight { sent_ms, sent_at, .. } = *flight;
    let impressions = flight.impressions.iter().map(|&entry| (entry, false));
    for ((item, at), is_unseen) in impressions.chain(flight.unseen.iter().map(|&entry| (entry, true))) {
        if is_unseen {
            device.ledger.unseen_arrived.insert((item, at));
        } else {
            device.ledger.arrived(item, Arrival { at, sent_ms });
        }
        let entry = Entry {
            item,
            is_unseen,
            at,
            sent_at,
        };
        scene.server.send(entry, scene.now, scene.conditions, scene.random);
    }
}

/// The page reads the response to a batch; one that was lost counts as a failure.
fn answer(device: &mut Device, tab: usize, flight: usize, arrived: bool, scene: &mut Scene<'_>) {
    if arrived {
        arrive(device, tab, flight, scene);
    }
    let time = device.time(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &device.ledger);
    let flight = page.flights.remove(flight);
    page.guard.end_batch(flight.batch, arrived, time);
    if !arrived {
        scene.tally.reach("a batch fails");
        return;
    }
    if flight.generation != page.generation {
        return;
    }
    for &(item, at) in flight.impressions.iter().chain(&flight.unseen) {
        let candidates: Vec<usize> = page.candidates(ledger, item).map(|(index, _)| index).collect();
        match candidates[..] {
            [index] if ledger.recordings[index].at == at => {
                let state = page.known.entry(index).or_default();
                state.deliveries += 1;
                state.delivered_at = time.unix_ms();
                let is_sure = page.must_have_text(ledger, index);
                page.changed(ledger, item, if is_sure { Urgency::Now } else { Urgency::Maybe });
            }
            _ => page.changed(ledger, item, Urgency::Maybe),
        }
    }
    page.delivered_unseen.extend(flight.unseen);
}
