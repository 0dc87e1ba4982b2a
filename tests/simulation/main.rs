//! A simulation of many users over the whole core, checked against an exact record of events.
//!
//! Each user lives under conditions of its own, drawn from a seed: devices with several tabs, which store through an
//! [adversarial bag of rows](simulation::bag) and die in the midst of it; clocks that differ and jump; a server whose chain rotates,
//! expires, is flushed and rolled back; replicas that lag; a stream with a heavy-tailed delay that stands still, loses,
//! doubles and reorders. After every step the guards' answers are compared with the truth, and in the end everything
//! must have been delivered and covered. How many fresh items are stopped is a matter of chance, and tested as such.
//!
//! ```text
//! cargo test --test simulation                                            1,000 users of 100 refreshes
//! SEENGUARD_USERS=50000 cargo test --release --test simulation            a long run
//! SEENGUARD_SEED=81985529216486895 cargo test --test simulation           one user alone: what a failure prints
//! ```
//!
//! Further: `SEENGUARD_REFRESHES` for each user (100); `SEENGUARD_MASTER`, from which the users' seeds are drawn;
//! `SEENGUARD_TRACE=1` prints every event of the one user of `SEENGUARD_SEED` (with `-- --nocapture`).
#![cfg(not(target_arch = "wasm32"))]

#[allow(dead_code)]
#[path = "../common/random.rs"]
mod random;

mod run;
#[path = "mod.rs"]
mod simulation;

#[test]
fn i1_no_user_meets_a_repeat_or_loses_an_impression() {
    run::simulate(&run::Settings::from_environment());
}
