//! The end of a user's simulation: everything works again, all is delivered, the stream catches up; then nothing may be
//! missing.

use super::conditions::{HOUR, SECOND};
use super::delivery;
use super::feeds;
use super::items::Item;
use super::ledger::{Recording, What};
use super::recording;
use super::snapshots;
use super::world::World;

/// After this number of rounds, over a day apart, lost deliveries have been repeated.
const ROUNDS: u64 = 4;
const ROUND_MS: u64 = 31 * HOUR;

pub fn end(world: &mut World) {
    world.server.is_well = true;
    for device in 0..world.devices.len() {
        gather(world, device);
        // Clocks too: by a wrong one a shard without the server's time may have expired.
        world.devices[device].clock_off_ms = 0;
        world.devices[device].clock_jumped = true;
        if world.conditions.reports {
            let (machine, mut scene) = world.on(device);
            delivery::start(machine, 0, &mut scene);
        }
        for _ in 0..ROUNDS {
            deliver(world, device);
        }
        check_pending(world, device);
        check_delivered(world, device);
        check_remembered(world, device);
    }
}

/// All tabs save and end; a new one loads everything, and has nothing unsaved then.
fn gather(world: &mut World, device: usize) {
    world.now += SECOND;
    let (machine, mut scene) = world.on(device);
    while !machine.tabs.is_empty() {
        machine.close(0, true, &mut scene);
    }
    machine.open(&mut scene);
    machine.load(0, true, &mut scene);
    machine.flush(0, &mut scene);
    machine.load(0, true, &mut scene);
    let stashes = &machine.bags[machine.generation()].stashes;
    assert!(stashes.is_empty(), "stash: {} stay, and all is saved", stashes.len());
    machine.compact(0, &mut scene);
}

/// Delivers, lets the stream catch up, and applies the server's snapshot.
fn deliver(world: &mut World, device: usize) {
    world.now += SECOND;
    // One more item is recorded each time: once it is covered, earlier deliveries that are not covered were lost.
    let marker = world.items.publish(&mut world.random);
    let (machine, mut scene) = world.on(device);
    recording::record(machine, 0, &[marker], &mut scene);
    if scene.conditions.reports {
        delivery::deliver_all(machine, 0, &mut scene);
    }
    world.now = world.server.stream.caught_up_at().max(world.now);
    world.server.run(world.now, &world.items, &mut world.tally);
    let (machine, mut scene) = world.on(device);
    let shipment = snapshots::request(machine, 0, &mut scene);
    snapshots::apply(machine, 0, &shipment, &mut scene);
    world.now += ROUND_MS;
}

/// Only ids are pending that the server's chain does not contain any more, or that the stream has lost each time.
fn check_pending(world: &mut World, device: usize) {
    let machine = &world.devices[device];
    let (ledger, page) = (&machine.ledger, &machine.tabs[0]);
    let mut left = 0;
    for id in page.guard.pending(usize::MAX, machine.time(world.now)) {
        let item = world.items.of(&id).expect("an item of this feed");
        if page.view.shards.is_empty() {
            // The store was that of before a deletion: what it ships is older, and applied on the next visit.
            continue;
        }
        assert!(
            !world.server.contains(item, world.now, &world.items),
            "pending ends at 0: {item:?} is pending, and the server's chain contains it"
        );
        if !ledger.of(item).any(|one| must_be_there(world, device, one)) {
            continue;
        }
        let was_there = world.server.ever.contains(&item) || world.server.refused.contains(&item);
        let was_lost = !world.conditions.reports || ledger.times_arrived(item) > 1;
        assert!(
            was_there || was_lost,
            "pending ends at 0: {item:?} never reached the chain, and was delivered {} times: {:?}",
            ledger.times_arrived(item),
            ledger.of(item).collect::<Vec<_>>()
        );
        left += 1;
    }
    if left == 0 {
        world.tally.reach("pending ends at 0");
    }
}

/// Whether the last tab must have a recording with its text.
fn must_be_there(world: &World, device: usize, (index, recording): (usize, &Recording)) -> bool {
    let machine = &world.devices[device];
    machine.tabs[0].must_have_text(&machine.ledger, index) && !machine.ledger.may_be_deleted(recording)
}

/// Each impression and unsee that was to be delivered has arrived.
fn check_delivered(world: &mut World, device: usize) {
    let ledger = &world.devices[device].ledger;
    let recordings = ledger.recordings.iter().enumerate();
    let mut delivered = 0;
    for (index, recording) in recordings.filter(|one| world.conditions.reports && must_be_there(world, device, *one)) {
        let item: Item = recording.item;
        let may_have_left = ledger.item_may_be_deleted(item) || ledger.text_dropped.contains(&item);
        let must_arrive = match recording.what {
            What::Unseen => ledger
                .of(item)
                .all(|(other, _)| other == index || ledger.replaces(index, other)),
            _ => recording.to_deliver && !ledger.is_unseen(item) && !may_have_left,
        };
        let has_arrived = match recording.what {
            What::Unseen => ledger.unseen_arrived.contains(&(item, recording.at)),
            _ => ledger.has_arrived(recording),
        };
        assert!(
            !must_arrive || has_arrived,
            "delivered: this has never arrived: {recording:?}"
        );
        delivered += usize::from(must_arrive && recording.what == What::Seen);
    }
    if delivered > 0 {
        world.tally.reach("an impression was delivered");
    }
}

/// All stored items are stopped, also by the table alone, until their window ends.
fn check_remembered(world: &mut World, device: usize) {
    let (machine, mut scene) = world.on(device);
    let table = snapshots::table_alone(&machine.tabs[0].guard, machine.time(scene.now));
    for index in 0..machine.ledger.recordings.len() {
        feeds::check_remembered(machine, 0, index, Some(&table), &mut scene);
    }
}
