//! Several writers over one storage, with the server and the stream between them: the simulation of `tests/simulation`,
//! judged by its exact record, with the fuzzer's bytes for its dice.
//!
//! The first bytes of an input are the seed of what no byte decides, and how many refreshes a user makes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seenguard_fuzz::choices;

mod random {
    pub use seenguard_fuzz::choices::Random;
}

#[allow(dead_code)]
#[path = "../../../tests/simulation"]
mod simulation {
    pub mod bounds;
    pub mod chance;
    pub mod clearing;
    pub mod conditions;
    pub mod coverage;
    pub mod database;
    pub mod delivery;
    pub mod device;
    pub mod elsewhere;
    pub mod ending;
    pub mod events;
    pub mod exceptions;
    pub mod feeds;
    pub mod items;
    pub mod job;
    pub mod knowing;
    pub mod ledger;
    pub mod lists;
    pub mod local_storage;
    pub mod performing;
    pub mod scene;
    pub mod server;
    pub mod shipment;
    pub mod snapshots;
    pub mod statistics;
    pub mod stored_snapshot;
    pub mod stream;
    pub mod tab;
    pub mod view;
    pub mod world;
}

/// Most refreshes of a user: what takes longer finds less in the same time.
const MOST_REFRESHES: u8 = 24;

fuzz_target!(|input: &[u8]| {
    let Some((seed, [refreshes, choices @ ..])) = input.split_first_chunk() else {
        return;
    };
    let seed = u64::from_le_bytes(*seed);
    let random = choices::Random::of(seed, choices);
    let mut world = simulation::world::World::new(seed, random, false);
    // How items that nobody has seen are stopped is a matter of chance, and bytes that were chosen are none: that part
    // of the simulation's judgement is left out.
    world.live(usize::from(refreshes % MOST_REFRESHES) + 1);
});
