//! The end of a user's life: what is broken works again, everything is delivered, the stream catches up; then nothing may be missing.

use std::collections::HashSet;

use super::conditions::{HOUR, SECOND};
use super::delivery;
use super::device::Device;
use super::feeds;
use super::items::Item;
use super::ledger::Impression;
use super::world::World;

/// Redeliveries wait twice as long each time; after so many rounds all have taken place.
const ROUNDS: usize = 7;

pub fn end(world: &mut World) {
    world.server.is_well = true;
    for device in 0..world.devices.len() {
        // Clocks too: by a wrong one a shard that does not tell the server's time may have expired.
        world.devices[device].clock_off_ms = 0;
        let tab = gather(world, device);
        check_promised(world, device, tab);
        if world.conditions.reports {
            delivery::start(&mut world.devices[device], tab, world.now);
        }
        for round in 0..ROUNDS {
            deliver(world, device, tab, round);
        }
        check_pending(world, device, tab);
        check_delivered(world, device);
        check_remembered(world, device, tab);
    }
}

/// All tabs finish what they were at; a new one takes over all that they have left.
fn gather(world: &mut World, device: usize) -> usize {
    world.devices[device].store.is_full = false;
    for tab in 0..world.devices[device].tabs.len() {
        world.now += SECOND;
        let (place, mut scene) = world.on(device);
        if place.tabs[tab].frozen {
            place.thaw(tab, scene.now);
        }
        place.tabs[tab].ask(super::writer::Job::Flush, scene.now);
        place.settle(tab, &mut scene);
    }
    // Those that were told of a clear by then have not told others of what they know.
    world.now += SECOND;
    world.devices[device].tabs.clear();
    let (place, mut scene) = world.on(device);
    place.open(scene.now, scene.conditions, scene.random);
    place.settle(0, &mut scene);
    0
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
    world.server.run(world.now, &world.items);
    let (place, mut scene) = world.on(device);
    place.settle(tab, &mut scene);
    let state = scene.server.ship(scene.now, scene.conditions, scene.random);
    feeds::apply(place, tab, &state, &mut scene);
    world.now += HOUR * (1 + round as u64);
}

/// Pending is only what the server's chain no longer holds, or what the stream has lost each time.
fn check_pending(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let pending: Vec<Item> = place.tabs[tab]
        .guard
        .pending(usize::MAX)
        .iter()
        .map(|text| world.items.of(text).expect("an item of this feed"))
        .collect();
    let mut kept = 0;
    for item in pending {
        assert!(
            !world.server.contains(item, world.now, &world.items) || place.tabs[tab].view.shards.is_empty(),
            "pending ends at 0: {item:?} is pending, and the server's chain holds it"
        );
        let was_there = world.server.ever.contains_key(&item);
        let was_lost = !world.conditions.reports || place.ledger.times_arrived(item) > 3;
        assert!(
            was_there || was_lost,
            "pending ends at 0: {item:?} is pending, never reached the chain, and was delivered {} times",
            place.ledger.times_arrived(item)
        );
        kept += 1;
    }
    if kept == 0 {
        world.tally.reach("pending ends at 0");
    }
}

/// What was to be delivered and has not arrived is delivered even if a snapshot covers it before the last page's report begins.
fn check_promised(world: &mut World, device: usize, tab: usize) {
    let place = &world.devices[device];
    let clocks = place.clocks(tab, world.now);
    let mut guard = feeds::memory_alone(&place.tabs[tab].guard, clocks);
    guard.set_delivering(true);
    let (_, batch) = guard.begin_batch(usize::MAX, usize::MAX, clocks);
    let batch: HashSet<String> = batch.into_iter().map(|(text, _)| text).collect();
    let mut promises = 0;
    for impression in to_be_delivered(place, world) {
        let is_there = batch.contains(world.items.text(impression.item));
        assert!(
            is_there || place.ledger.has_arrived(impression),
            "delivered: once it is covered, this never will be: {impression:?}"
        );
        promises += usize::from(is_there && !impression.to_deliver);
    }
    if promises > 0 {
        world.tally.reach("a promise outlives its page and a coverage");
    }
}

/// Each impression that was to be delivered has arrived.
fn check_delivered(world: &mut World, device: usize) {
    let place = &world.devices[device];
    let delivered = to_be_delivered(place, world);
    for impression in &delivered {
        assert!(
            place.ledger.has_arrived(impression),
            "delivered: this has never arrived: {impression:?}"
        );
    }
    let from_before = delivered.iter().any(|impression| !impression.to_deliver);
    if !delivered.is_empty() {
        world.tally.reach("an impression was delivered");
    }
    if from_before {
        world.tally.reach("an impression from before the report was delivered");
    }
}

/// What is in storage and was recorded while its page delivered, or promised by a page since; nothing if a journal may have been full.
fn to_be_delivered<'a>(place: &'a Device, world: &World) -> Vec<&'a Impression> {
    if !world.conditions.reports || !place.fits_journal(&world.items) {
        return Vec::new();
    }
    let generation = super::writer::stored_generation(&place.store);
    let must = |impression: &&Impression| {
        let is_meant = impression.to_deliver || impression.promised;
        is_meant && impression.stored_ms.is_some() && impression.generation == generation
    };
    place.ledger.impressions.iter().filter(must).collect()
}

/// All that was stored is stopped, by the memory too, until its window ends.
fn check_remembered(world: &mut World, device: usize, tab: usize) {
    let window_ms = world.conditions.window_ms();
    let place = &world.devices[device];
    let page = &place.tabs[tab];
    let memory = feeds::memory_alone(&page.guard, place.clocks(tab, world.now));
    for (index, impression) in place.ledger.impressions.iter().enumerate() {
        let mut clocks = place.clocks(tab, world.now);
        clocks.wall_ms = impression.at + window_ms - 1;
        assert!(
            !page.must_remember(&place.ledger, index) || memory.has(world.items.text(impression.item), clocks),
            "no repeat: in the end, after {} others, this passes: {impression:?}",
            place.ledger.others_since(index)
        );
    }
}
