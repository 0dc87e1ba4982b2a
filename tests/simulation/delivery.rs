//! Impressions go to the server in batches, over a network that loses requests and answers.

use super::chance::Chance;
use super::conditions::{Kind, MINUTE};
use super::device::Device;
use super::feeds::Scene;
use super::items::Item;
use super::ledger::Arrival;
use super::tab::{Confirmed, Flight};
use super::writer::Job;

/// How often an impression may be delivered again, and the first wait before that.
const REDELIVERIES: u32 = 3;
const FIRST_WAIT_MS: u64 = 5 * MINUTE;
/// What the guard counts for the JSON around an id.
const BATCH_BYTES: usize = 40_000;

/// A report begins on a page: what is here, and what comes, is to be delivered.
pub fn start(device: &mut Device, tab: usize, now: u64) {
    let (page, ledger) = (&mut device.tabs[tab], &device.ledger);
    page.guard.set_delivering(true);
    page.delivering = true;
    let held = page.own.iter().chain(&page.taken);
    let promised = held.filter(|&&index| page.due.contains_key(&ledger.impressions[index].item));
    page.promised.extend(promised);
    page.ask(Job::Flush, now);
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
    let clocks = device.clocks(tab, scene.now);
    let most = *scene.random.pick(&[1, 20, 200, 200]);
    let page = &mut device.tabs[tab];
    let (batch, impressions) = page.guard.begin_batch(most, BATCH_BYTES, clocks);
    assert_eq!(
        batch == 0,
        impressions.is_empty(),
        "batches: one has a number or nothing in it"
    );
    if batch == 0 {
        return false;
    }
    let bytes: usize = impressions.iter().map(|(text, _)| text.len() + 30).sum();
    assert!(
        impressions.len() <= most && (bytes <= BATCH_BYTES || impressions.len() == 1),
        "batches: {} impressions of {bytes} bytes were not asked for",
        impressions.len()
    );
    let impressions: Vec<(Item, u64)> = impressions
        .iter()
        .map(|(text, at)| (scene.items.of(text).expect("an item of this feed"), *at))
        .collect();
    for &(item, at) in &impressions {
        check_due(device, tab, item, at, scene);
    }
    let page = &mut device.tabs[tab];
    page.flights.push(Flight {
        batch,
        impressions,
        sent_ms: scene.now,
        generation: page.writer.generation,
        has_arrived: false,
    });
    true
}

/// An impression goes out if it was recorded here, is not under way, and is not known to have arrived; or again by the rule for that.
fn check_due(device: &Device, tab: usize, item: Item, at: u64, scene: &mut Scene<'_>) {
    let page = &device.tabs[tab];
    let is_real = |(_, impression): (usize, &super::ledger::Impression)| {
        impression.at == at && impression.generation == page.writer.generation
    };
    assert!(
        device.ledger.of(item).any(is_real),
        "batches: {item:?} at {at} was never recorded"
    );
    let is_under_way = page
        .flights
        .iter()
        .any(|flight| flight.generation == page.writer.generation && flight.impressions.contains(&(item, at)));
    // By a clock that went back, an earlier impression of an item is the later one, and comes back from another tab.
    assert!(
        !is_under_way || device.clock_jumped,
        "batches: {item:?} is under way already"
    );
    let Some(confirmed) = page.confirmed.get(&(item, at)) else {
        return;
    };
    scene.tally.reach("an impression is delivered again");
    if device.clock_jumped {
        // A tab that hears late of another one's delivery asks the wall clock whether it was before its own.
        return;
    }
    assert!(
        page.covered_delivery > confirmed.serial,
        "redelivery: {item:?} goes again, and nothing that was delivered later has been covered"
    );
    assert!(
        scene.conditions.kind != Kind::Plain || page.was_misled,
        "redelivery: {item:?} goes again, and the stream was merely late"
    );
    let wait = FIRST_WAIT_MS << (confirmed.times - 1).min(REDELIVERIES);
    let waited = device.wall(scene.now).abs_diff(confirmed.wall_ms);
    assert!(
        confirmed.times <= REDELIVERIES && waited >= wait,
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
    for &(item, at) in &flight.impressions {
        let sent_ms = flight.sent_ms;
        device.ledger.arrived(item, Arrival { at, sent_ms });
        scene.server.send(item, scene.now, scene.conditions, scene.random);
    }
}

/// The page is told what became of a batch; an answer that was lost counts as none.
fn answer(device: &mut Device, tab: usize, flight: usize, arrived: bool, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let flight = page.flights.remove(flight);
    page.guard.end_batch(flight.batch, arrived, clocks);
    if !arrived {
        scene.tally.reach("a batch fails");
        return;
    }
    page.ask(Job::Flush, scene.now);
    if flight.generation != page.writer.generation {
        return;
    }
    device.ledger.confirmations += 1;
    let serial = device.ledger.confirmations;
    for key in flight.impressions {
        let times = page.confirmed.get(&key).map_or(0, |confirmed| confirmed.times);
        page.confirmed.insert(
            key,
            Confirmed {
                times: times + 1,
                serial,
                wall_ms: clocks.wall_ms,
            },
        );
        device.ledger.confirmed.insert(key.0, serial);
    }
}
