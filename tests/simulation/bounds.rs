//! What a page holds and stores at most; how much is stored and written of thousands of impressions, by one tab and by
//! several that hear of each other.

use super::conditions::{Conditions, SECOND};
use super::device::Device;
use super::scene::Scene;
use super::snapshots::cover_everything;
use super::tab::{MOST_TEXT_BYTES, MOST_TEXTS, PREFIX};
use super::world::World;
use crate::random::Random;

/// So often a snapshot covers all that was recorded.
const IMPRESSIONS_A_SNAPSHOT: usize = 100;

/// What is stored of impressions, and how much was written of them.
#[derive(Debug, Default)]
pub struct Stored {
    pub bytes: usize,
    pub most_bytes: usize,
    pub most_keys: usize,
    pub characters: usize,
}

/// Has so many pages record by turns, each impression a second after the one before; closes them, and opens one.
pub fn store(pages: usize, impressions: usize) -> Stored {
    let mut world = World::new(0, Random::seeded(0), false);
    world.conditions = Conditions::quiet(&mut Random::seeded(0));
    world.devices = vec![Device::new(0, &world.conditions)];
    let mut stored = Stored::default();
    (0..pages).for_each(|_| open(&mut world));
    for number in 0..impressions {
        let (device, mut scene) = world.on(0);
        let tab = number % pages;
        let time = device.time(scene.now);
        let id = format!("{number:014}");
        device.tabs[tab].guard.record(&[&id], time);
        device.changed(tab, 1, &mut scene);
        device.work(&mut scene);
        if number % IMPRESSIONS_A_SNAPSHOT == IMPRESSIONS_A_SNAPSHOT - 1 {
            for tab in 0..pages {
                cover_everything(&mut device.tabs[tab].guard, time);
            }
        }
        stored.most_keys = stored.most_keys.max(device.database.keys(PREFIX).count());
        stored.most_bytes = stored.most_bytes.max(device.database.bytes());
        world.now += SECOND;
    }
    world.rest(0);
    world.devices[0].tabs.clear();
    open(&mut world);
    world.rest(0);
    let device = &world.devices[0];
    let now = device.time(world.now);
    assert_eq!(device.tabs[0].guard.stats(now).remembered, impressions);
    Stored {
        bytes: device.database.bytes(),
        characters: device.database.written,
        ..stored
    }
}

fn open(world: &mut World) {
    let (device, mut scene) = world.on(0);
    device.open(&mut scene);
    device.work(&mut scene);
}

/// Nothing is past its limits.
pub fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let (page, remember) = (&device.tabs[tab], device.ledger.remember);
    let guard = &page.guard;
    let stats = guard.stats(time);
    assert!(stats.pending <= MOST_TEXTS, "limits: {} are pending", stats.pending);
    assert!(
        stats.remembered <= remember + remember / 10 || !page.has_looked(),
        "limits: {} are remembered",
        stats.remembered
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX, time).iter().map(String::len).sum();
        assert!(bytes <= MOST_TEXT_BYTES, "limits: {bytes} bytes of ids are pending");
    }
    if stats.pending > MOST_TEXTS - MOST_TEXTS / 50 {
        scene.tally.reach("nearly 5,000 impressions are pending");
    }
}
