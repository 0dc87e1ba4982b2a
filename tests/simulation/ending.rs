//! The end of a user's life: what is broken works again, everything is delivered, the stream catches up; then nothing
//! may be missing.

use std::collections::BTreeSet;

use super::conditions::{HOUR, SECOND};
use super::delivery;
use super::device::Device;
use super::feeds;
use super::items::Item;
use super::ledger::Recording;
use super::snapshots;
use super::tab::{PREFIX, number_of};
use super::world::World;

/// After so many rounds, a day and more apart, what was lost is delivered again.
const ROUNDS: u64 = 4;
const ROUND_MS: u64 = 31 * HOUR;
/// Keys of a namespace at rest, and more for each 1,000 recordings that are kept; two of what is said of the whole, and
/// a later version's.
const MOST_KEYS: usize = 16 + 2 + 3;

pub fn end(world: &mut World) {
    world.server.is_well = true;
    for device in 0..world.devices.len() {
        let tab = gather(world, device);
        // Clocks too: by a wrong one a shard that does not tell the server's time may have expired.
        world.devices[device].clock_off_ms = 0;
        world.devices[device].clock_was_set = true;
        if !world.devices[device].tabs[tab].is_reporting {
            // Whoever recorded for a delivery died before it was stored that there is any.
            let recordings = &mut world.devices[device].ledger.recordings;
            recordings.iter_mut().for_each(|recording| recording.to_deliver = false);
        }
        check_promised(world, device, tab);
        if world.conditions.reports {
            let (place, mut scene) = world.on(device);
            delivery::start(place, tab, &mut scene);
        }
        for _ in 0..ROUNDS {
            deliver(world, device, tab);
        }
        check_pending(world, device, tab);
        check_delivered(world, device, tab);
        check_unseen_delivered(world, device, tab);
        check_remembered(world, device, tab);
    }
}

/// All tabs finish what they were at; a new one takes over all that they have left.
fn gather(world: &mut World, device: usize) -> usize {
    let place = &mut world.devices[device];
    place.database.is_full = false;
    place.is_broken = false;
    place.locals.iter_mut().for_each(|local| local.is_full = false);
    // Who loses what stands there makes room for the others'.
    for tab in 0..world.devices[device].tabs.len() {
        let (place, mut scene) = world.on(device);
        place.thaw(tab, &mut scene);
        place.flush(tab, &mut scene);
    }
    world.rest(device);
    check_rest(world, device);
    world.now += SECOND;
    for _ in 0..world.devices[device].tabs.len() {
        let (place, mut scene) = world.on(device);
        place.flush(0, &mut scene);
        place.work(&mut scene);
        place.end_clear(0);
        let page = place.tabs.remove(0);
        page.job.into_iter().chain(page.late).for_each(|job| place.undo(job));
    }
    let (place, mut scene) = world.on(device);
    place.open(&mut scene);
    world.rest(device);
    check_rest(world, device);
    let (place, mut scene) = world.on(device);
    place.flush(0, &mut scene);
    world.rest(device);
    let place = &world.devices[device];
    let keys = place.database.keys(PREFIX).count();
    let most = MOST_KEYS + 2 * place.ledger.remember.div_ceil(1_000);
    assert!(
        keys <= most,
        "limits: {keys} keys in the end, after {} tabs: {:?}",
        place.opened,
        place.database.keys(PREFIX).collect::<Vec<_>>()
    );
    0
}

/// A storage that works has everything, and nothing from before a clear that its tabs know of.
fn check_rest(world: &World, device: usize) {
    let place = &world.devices[device];
    for (tab, page) in place.tabs.iter().enumerate() {
        assert!(
            page.has_looked() && page.storage.is_settled() && page.clearing.is_none(),
            "storage: tab {tab} has nothing to do, and is not done"
        );
        assert!(
            page.job.is_none()
                && page
                    .unsaved
                    .recordings
                    .iter()
                    .all(|&index| place.may_have_left(page, index)),
            "storage: a tab has nothing to do, and has not written {:?}: {:?}",
            page.unsaved,
            page.job
        );
        let older = place
            .database
            .keys(PREFIX)
            .find(|key| number_of(key) < page.guard.number());
        assert!(
            older.is_none(),
            "cleared: {older:?} is from before {}",
            page.guard.number()
        );
    }
}

/// Delivers, lets the stream catch up, and applies what the server has then.
fn deliver(world: &mut World, device: usize, tab: usize) {
    world.now += SECOND;
    // One more is seen each time: once it is covered, what was delivered before it and is not has been lost.
    let marker = world.items.publish(&mut world.random);
    let (place, mut scene) = world.on(device);
    feeds::record(place, tab, &[marker], &mut scene);
    if scene.conditions.reports {
        delivery::deliver_all(place, tab, &mut scene);
    }
    world.now = world.server.caught_up_at().max(world.now);
    world.server.run(world.now, &world.items, &mut world.tally);
    let (place, mut scene) = world.on(device);
    place.work(&mut scene);
    let shipment = snapshots::request(place, tab, &mut scene);
    snapshots::apply(place, tab, &shipment, &mut scene);
    world.now += ROUND_MS;
}

/// Pending is only what the server's chain no longer holds, or what the stream has lost each time.
fn check_pending(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let pending: Vec<Item> = place.tabs[tab]
        .guard
        .pending(usize::MAX, place.time(world.now))
        .iter()
        .map(|text| world.items.of(text).expect("an item of this feed"))
        .collect();
    let mut kept = 0;
    for item in pending {
        let (ledger, page) = (&place.ledger, &place.tabs[tab]);
        if page.view.shards.is_empty() {
            // The store was that of before a deletion: what it ships is older, and taken on the next visit.
            continue;
        }
        assert!(
            !world.server.contains(item, world.now, &world.items),
            "pending ends at 0: {item:?} is pending, and the server's chain holds it"
        );
        let is_kept = |(index, recording): (usize, &Recording)| {
            page.must_keep_text(ledger, index) && !ledger.may_be_deleted(recording)
        };
        if !ledger.of(item).any(is_kept) {
            // What was dropped or deleted may come back from a row that was not compacted yet, and is nobody's to
            // deliver until the next visit.
            continue;
        }
        let was_there = world.server.ever.contains_key(&item) || world.server.refused.contains(&item);
        let was_lost = !world.conditions.reports || place.ledger.times_arrived(item) > 1;
        assert!(
            was_there || was_lost,
            "pending ends at 0: {item:?} is pending, never reached the chain, and was delivered {} times: {:?}",
            place.ledger.times_arrived(item),
            ledger.of(item).collect::<Vec<_>>()
        );
        kept += 1;
    }
    if kept == 0 {
        world.tally.reach("pending ends at 0");
    }
}

/// What was to be delivered and has not arrived is delivered even if a snapshot covers it before the last page begins
/// to deliver.
fn check_promised(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let time = place.time(world.now);
    let mut guard = snapshots::table_alone(&place.tabs[tab].guard, time);
    guard.start_reporting();
    let batch = guard.begin_batch(usize::MAX, usize::MAX, time).impressions;
    let batch: BTreeSet<String> = batch.into_iter().map(|impression| impression.id).collect();
    let mut promises = 0;
    for recording in to_be_delivered(place, tab, world) {
        let is_there = batch.contains(world.items.text(recording.item));
        assert!(
            is_there || place.ledger.has_arrived(recording),
            "delivered: once it is covered, this never will be: {recording:?}"
        );
        promises += usize::from(is_there && !recording.was_to_deliver);
    }
    if promises > 0 {
        world.tally.reach("a promise outlives its page and a coverage");
    }
}

/// Each impression that was to be delivered has arrived.
fn check_delivered(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let delivered = to_be_delivered(place, tab, world);
    for recording in &delivered {
        assert!(
            place.ledger.has_arrived(recording),
            "delivered: this has never arrived: {recording:?}"
        );
    }
    let from_before = delivered.iter().any(|recording| !recording.was_to_deliver);
    if !delivered.is_empty() {
        world.tally.reach("an impression was delivered");
    }
    if from_before {
        world
            .tally
            .reach("an impression from before the first delivery was delivered");
    }
}

/// What was made unseen on the device, and stays so, is known to the server.
fn check_unseen_delivered(world: &World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let (ledger, page) = (&place.ledger, &place.tabs[tab]);
    let recordings = ledger.recordings.iter().enumerate();
    for (index, recording) in recordings.filter(|(_, recording)| recording.unseen) {
        let has_left = ledger.item_may_be_deleted(recording.item) || !page.must_keep_text(ledger, index);
        let mut all = ledger.of(recording.item);
        let is_the_last = all.all(|(other, _)| other == index || ledger.replaces(index, other));
        assert!(
            !world.conditions.reports
                || has_left
                || !is_the_last
                || ledger.unseen_arrived.contains(&(recording.item, recording.at)),
            "delivered: that this was made unseen has never arrived: {recording:?}"
        );
    }
}

/// What is in storage and is to be delivered: it was recorded where that was known, or promised since. Not what was
/// made unseen or deleted, and what lost its text.
fn to_be_delivered<'a>(place: &'a Device, tab: usize, world: &World) -> Vec<&'a Recording> {
    if !world.conditions.reports {
        return Vec::new();
    }
    let (ledger, page) = (&place.ledger, &place.tabs[tab]);
    let must = |(index, recording): &(usize, &Recording)| {
        let has_left = ledger.is_unseen(recording.item)
            || ledger.item_may_be_deleted(recording.item)
            || ledger.text_dropped.contains(&recording.item)
            || !page.must_keep_text(ledger, *index);
        recording.to_deliver && !has_left
    };
    let to_be_delivered = ledger.recordings.iter().enumerate().filter(must);
    to_be_delivered.map(|(_, recording)| recording).collect()
}

/// All that was stored is stopped, by the table alone too, until its window ends.
fn check_remembered(world: &mut World, device: usize, tab: usize) {
    let (place, mut scene) = world.on(device);
    let table = snapshots::table_alone(&place.tabs[tab].guard, place.time(scene.now));
    for index in 0..place.ledger.recordings.len() {
        feeds::check_remembered(place, tab, index, Some(&table), &mut scene);
    }
}
