//! Several writers over one storage, with a server and a stream: the simulation of `tests/simulation`, checked against
//! //! its exact record, with the fuzzer's bytes as its random choices.
//!
//! The first bytes of an input are the seed of the remaining choices, and the number of a user's refreshes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seenguard_fuzz::choices;

mod random {
    pub use seenguard_fuzz::choices::Random;
}

#[allow(dead_code)]
#[path = "../../../tests/simulation/mod.rs"]
mod simulation;

/// The most refreshes of a user: longer inputs find less in the same time.
const MOST_REFRESHES: u8 = 24;

fuzz_target!(|input: &[u8]| {
    let Some((seed, [refreshes, choices @ ..])) = input.split_first_chunk() else {
        return;
    };
    let seed = u64::from_le_bytes(*seed);
    let random = choices::Random::of(seed, choices);
    let mut world = simulation::world::World::new(seed, random, false);
    // The rate of stopped fresh items is not checked, since the chosen bytes are not random.
    world.live(usize::from(refreshes % MOST_REFRESHES) + 1);
});
