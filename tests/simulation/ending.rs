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
use super::world::World;

/// Redeliveries wait twice as long each time; after so many rounds all have taken place.
const ROUNDS: usize = 7;
/// Keys of a namespace whose writers all lived to compact them.
const MOST_KEYS: usize = 32;

pub fn end(world: &mut World) {
    world.server.is_well = true;
    for device in 0..world.devices.len() {
        let tab = gather(world, device);
        // Clocks too: by a wrong one a shard that does not tell the server's time may have expired.
        world.devices[device].clock_off_ms = 0;
        world.devices[device].clock_was_set = true;
        check_promised(world, device, tab);
        if world.conditions.reports {
            delivery::start(&mut world.devices[device], tab, world.now);
        }
        for round in 0..ROUNDS {
            deliver(world, device, tab, round);
        }
        check_pending(world, device, tab);
        check_delivered(world, device, tab);
        check_unseen_delivered(world, device, tab);
        check_remembered(world, device, tab);
    }
}

/// All tabs finish what they were at; a new one takes over all that they have left.
fn gather(world: &mut World, device: usize) -> usize {
    world.devices[device].store.is_full = false;
    for tab in 0..world.devices[device].tabs.len() {
        let (place, scene) = world.on(device);
        if place.tabs[tab].frozen {
            place.thaw(tab, scene.now);
        }
        place.flush(tab, scene.now);
    }
    world.rest(device);
    check_rest(world, device);
    world.now += SECOND;
    world.devices[device].tabs.clear();
    let (place, scene) = world.on(device);
    place.store.forget_undamaged();
    place.open(scene.now, scene.conditions, scene.random);
    world.rest(device);
    check_rest(world, device);
    let place = &world.devices[device];
    let keys = place.store.keys().count();
    assert!(
        keys <= MOST_KEYS + place.opened,
        "limits: {keys} keys in the end, after {} tabs, each of which may have died before it compacted",
        place.opened
    );
    0
}

/// A storage that works has everything, and nothing from before a clear that its tabs know of.
fn check_rest(world: &World, device: usize) {
    let place = &world.devices[device];
    for page in &place.tabs {
        let storage = &page.storage;
        assert!(
            storage.is_loaded() && storage.is_current() && storage.is_settled() && !storage.is_clearing(),
            "storage: a tab has nothing to do, and is not done"
        );
        assert!(
            !page.guard.is_unsaved(false),
            "storage: a tab has nothing to do, and has not written everything"
        );
    }
    let clears = || place.tabs.iter().map(|page| page.guard.clear_number());
    if clears().min() == clears().max() {
        let listed = place.tabs.iter().map(|page| page.listed).min();
        place.check_cleared(listed.unwrap_or(0), clears().max().unwrap_or(0));
    }
}

/// Delivers, lets the stream catch up, and applies what the server has then.
fn deliver(world: &mut World, device: usize, tab: usize, round: usize) {
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
    place.settle(tab, &mut scene);
    let shipment = snapshots::request(place, tab, &mut scene);
    snapshots::apply(place, tab, &shipment, &mut scene);
    world.now += HOUR * (1 + round as u64);
}

/// Pending is only what the server's chain no longer holds, or what the stream has lost each time.
fn check_pending(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let pending: Vec<Item> = place.tabs[tab]
        .guard
        .pending(usize::MAX, place.clocks(tab, world.now))
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
            // What was dropped or deleted may come back from a segment that was not compacted yet, and is nobody's to
            // deliver until the next visit.
            continue;
        }
        let was_there = world.server.ever.contains_key(&item) || world.server.refused.contains(&item);
        let was_lost = !world.conditions.reports || place.ledger.times_arrived(item) > 3;
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
    let clocks = place.clocks(tab, world.now);
    let mut guard = snapshots::table_alone(&place.tabs[tab].guard, clocks);
    guard.start_reporting();
    let batch = guard.begin_batch(usize::MAX, usize::MAX, clocks).impressions;
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

/// What was taken back on the device, and stays so, is known to the server.
fn check_unseen_delivered(world: &World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let (ledger, page) = (&place.ledger, &place.tabs[tab]);
    let recordings = ledger.recordings.iter().enumerate();
    for (index, recording) in recordings.filter(|(_, recording)| recording.unseen) {
        let has_left = ledger.may_have_ended.contains(&index)
            || ledger.item_may_be_deleted(recording.item)
            || !page.must_keep_text(ledger, index);
        let mut all = ledger.of(recording.item);
        let is_the_last = all.all(|(other, _)| other == index || ledger.replaces(index, other));
        assert!(
            !world.conditions.reports
                || has_left
                || !is_the_last
                || ledger.unseen_arrived.contains(&(recording.item, recording.at)),
            "delivered: that this was taken back has never arrived: {recording:?}"
        );
    }
}

/// What is in storage and is to be delivered: it was recorded where that was known, or promised since. Not what was
/// taken back or deleted, and what lost its text.
fn to_be_delivered<'a>(place: &'a Device, tab: usize, world: &World) -> Vec<&'a Recording> {
    if !world.conditions.reports {
        return Vec::new();
    }
    let (ledger, page) = (&place.ledger, &place.tabs[tab]);
    let must = |(index, recording): &(usize, &Recording)| {
        let has_left = ledger.is_taken_back(recording.item)
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
    let table = snapshots::table_alone(&place.tabs[tab].guard, place.clocks(tab, scene.now));
    for index in 0..place.ledger.recordings.len() {
        feeds::check_remembered(place, tab, index, Some(&table), &mut scene);
    }
}
