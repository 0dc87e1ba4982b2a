//! Several writers over one storage, with the server and the stream between them: the simulation of `tests/simulation`,
//! checked against its exact record, with the fuzzer's bytes for its dice.
//!
//! The first bytes of an input are the seed of what no byte decides, and how many refreshes a user makes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seenguard_fuzz::choices;

mod random {
    pub use seenguard_fuzz::choices::Random;
}

#[allow(dead_code)]
#[path = "../../../tests/simulation/mod.rs"]
mod simulation;

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
