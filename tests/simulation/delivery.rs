//! Impressions go to the server in batches, over a network that loses requests and answers.

use seenguard::device::DeliveryBatch;

use super::chance::Chance;
use super::conditions::DAY;
use super::device::Device;
use super::elsewhere::DeviceTold;
use super::exceptions::listed;
use super::items::Item;
use super::ledger::Arrival;
use super::scene::Scene;
use super::stream::Told;
use super::tab::{Confirmed, Flight};

/// After this an impression that is still pending is delivered again, once.
const REDELIVERY_MS: u64 = DAY;
const BATCH_BYTES: usize = 40_000;

/// A report begins on a page: what is here, and what comes, is to be delivered.
pub fn start(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let page = &mut device.tabs[tab];
    page.guard.start_reporting();
    page.delivering = true;
    page.is_reporting = true;
    device.changed(tab, 0, scene);
}

/// The next thing happens to a page's deliveries.
pub fn advance(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    if !device.tabs[tab].delivering {
        return;
    }
    let flights = device.tabs[tab].flights.len();
    // A page that is hidden sends another batch while one is under way.
    let most = if scene.conditions.network_fails { 2 } else { 1 };
    if flights == 0 || (flights < most && scene.random.percent(15)) {
        begin(device, tab, scene);
    }
    if !scene.conditions.network_fails {
        while !device.tabs[tab].flights.is_empty() {
            arrive(device, tab, 0, scene);
            answer(device, tab, 0, true, scene);
        }
    } else if !device.tabs[tab].flights.is_empty() {
        let flight = scene.random.index(device.tabs[tab].flights.len());
        match scene.random.below(10) {
            0..5 => arrive(device, tab, flight, scene),
            5 => answer(device, tab, flight, false, scene),
            _ if device.tabs[tab].flights[flight].has_arrived => answer(device, tab, flight, true, scene),
            _ => {}
        }
    }
}

/// Delivers everything that is due, over a network that works.
pub fn deliver_all(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    while !device.tabs[tab].flights.is_empty() {
        answer(device, tab, 0, false, scene);
    }
    while begin(device, tab, scene) {
        arrive(device, tab, 0, scene);
        answer(device, tab, 0, true, scene);
    }
    let undelivered = device.tabs[tab].guard.undelivered();
    assert_eq!(
        undelivered, 0,
        "delivered: {undelivered} are not under way, and in no batch"
    );
}

/// Takes the next batch. Whether there was one.
fn begin(device: &mut Device, tab: usize, scene: &mut Scene<'_>) -> bool {
    // The number of the latest clear is read first.
    device.hear(tab, scene);
    device.run(tab, scene);
    let time = device.time(scene.now);
    let most = *scene.random.pick(&[1, 20, 200, 200]);
    let page = &mut device.tabs[tab];
    let DeliveryBatch {
        number: batch,
        impressions,
        unseen,
        ..
    } = page.guard.begin_batch(most, BATCH_BYTES, time);
    assert_eq!(
        batch == 0,
        impressions.is_empty() && unseen.is_empty(),
        "batches: one has a number or nothing in it"
    );
    if batch == 0 {
        return false;
    }
    let all = || impressions.iter().chain(&unseen);
    let bytes: usize = all().map(|impression| impression.id.len() + 30).sum();
    assert!(
        all().count() <= most && (bytes <= BATCH_BYTES || all().count() == 1),
        "batches: {} impressions of {bytes} bytes were not asked for",
        all().count()
    );
    let (impressions, unseen) = (listed(&impressions, scene.items), listed(&unseen, scene.items));
    for &(item, at) in &impressions {
        check_due(device, tab, item, at, scene);
    }
    for &(item, at) in &unseen {
        check_unseen_due(device, tab, item, at);
    }
    let told = DeviceTold::by(device, tab, time, scene.now, scene.items);
    let page = &mut device.tabs[tab];
    page.flights.push(Flight {
        told,
        batch,
        impressions,
        unseen,
        sent_ms: scene.now,
        sent_at: time.unix_ms(),
        number: page.guard.number(),
        has_arrived: false,
    });
    true
}

/// What was made unseen goes out if it was made unseen here, is not under way and did not arrive before.
fn check_unseen_due(device: &Device, tab: usize, item: Item, at: u64) {
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let unseen: Vec<usize> = page
        .candidates(ledger, item)
        .filter(|(_, recording)| recording.at == at && recording.unseen)
        .map(|(index, _)| index)
        .collect();
    assert!(
        !unseen.is_empty(),
        "batches: {item:?} was not made unseen at {at}, or was recorded since"
    );
    let is_under_way = page
        .flights
        .iter()
        .any(|flight| flight.number == page.guard.number() && flight.unseen.contains(&(item, at)));
    assert!(!is_under_way, "batches: that {item:?} is unseen is under way already");
    let is_kept = |&index: &usize| page.must_remember(ledger, index);
    assert!(
        !page.delivered_unseen.contains(&(item, at)) || !unseen.iter().all(is_kept),
        "batches: that {item:?} is unseen goes again"
    );
}

/// An impression goes out if it was recorded here, is not under way, and is not known to have arrived; or again by the
/// rule for that.
fn check_due(device: &Device, tab: usize, item: Item, at: u64, scene: &mut Scene<'_>) {
    let page = &device.tabs[tab];
    let mut candidates = page.candidates(&device.ledger, item);
    assert!(
        candidates.any(|(_, recording)| recording.at == at && !recording.unseen && !recording.is_local),
        "batches: {item:?} at {at} was not recorded for the server, or was made unseen since"
    );
    let dropped = |index| !page.must_keep_text(&device.ledger, index);
    let mut recordings = device.ledger.of(item).filter(|(_, recording)| recording.at == at);
    if recordings.any(|(index, _)| dropped(index)) {
        // What was dropped may come back from a row that was not compacted yet.
        return;
    }
    let is_under_way = page
        .flights
        .iter()
        .any(|flight| flight.number == page.guard.number() && flight.impressions.contains(&(item, at)));
    assert!(!is_under_way, "batches: {item:?} is under way already");
    let Some(confirmed) = page.confirmed.get(&(item, at)) else {
        return;
    };
    scene.tally.reach("an impression is delivered again");
    if device.clock_jumped {
        return;
    }
    let exceptions = &scene.server.exceptions;
    if exceptions.was_made_unseen(item) || scene.server.refused.contains(&item) {
        // The server has it and unsees it, or had refused it: no snapshot covers it.
        return;
    }
    let waited = device.wall(scene.now).abs_diff(confirmed.wall_ms);
    assert!(
        confirmed.times < 2 && waited >= REDELIVERY_MS && page.has_applied,
        "redelivery: {item:?} goes for the {}. time after {waited} ms",
        confirmed.times + 1
    );
}

/// A batch reaches the server, which puts it into the stream.
fn arrive(device: &mut Device, tab: usize, flight: usize, scene: &mut Scene<'_>) {
    let flight = &mut device.tabs[tab].flights[flight];
    if std::mem::replace(&mut flight.has_arrived, true) {
        return;
    }
    scene.server.devices.accept(&flight.told, scene.now);
    let Flight { sent_ms, sent_at, .. } = *flight;
    let impressions = flight.impressions.iter().map(|&told| (told, false));
    for ((item, at), is_unseen) in impressions.chain(flight.unseen.iter().map(|&told| (told, true))) {
        if is_unseen {
            device.ledger.unseen_arrived.insert((item, at));
        } else {
            device.ledger.arrived(item, Arrival { at, sent_ms });
        }
        let told = Told {
            item,
            is_unseen,
            at,
            sent_at,
        };
        scene.server.send(told, scene.now, scene.conditions, scene.random);
    }
}

/// The page is told what became of a batch; an answer that was lost counts as none.
fn answer(device: &mut Device, tab: usize, flight: usize, arrived: bool, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let page = &mut device.tabs[tab];
    let flight = page.flights.remove(flight);
    page.guard.end_batch(flight.batch, arrived, time);
    if !arrived {
        scene.tally.reach("a batch fails");
        return;
    }
    let changes = flight.impressions.len() + flight.unseen.len();
    if flight.number == page.guard.number() {
        page.delivered_unseen.extend(flight.unseen);
        for key in flight.impressions {
            let wall_ms = time.unix_ms();
            let confirmed = page.confirmed.entry(key).or_insert(Confirmed { times: 0, wall_ms });
            *confirmed = Confirmed {
                times: confirmed.times + 1,
                wall_ms,
            };
            page.unsaved.delivered.insert(key, *confirmed);
        }
    }
    device.changed(tab, changes, scene);
}
