//! A simulation of many users over the whole core, judged by an exact record of what truly happened.
//!
//! Each user lives under conditions of its own, drawn from a seed: devices with several tabs, which die between any two
//! requests of a transaction, hide, freeze, and hear late of each other; clocks that differ and jump; storage that fills
//! up, fails, is damaged, answers late or never; a server whose chain rotates, expires, is flushed and rebuilt; replicas
//! that lag; a stream with a heavy-tailed delay that stands still, loses, doubles and reorders. After every step the
//! guards' answers are compared with the truth, and in the end everything must have been delivered and settled. How many
//! fresh items are stopped is a matter of chance, and tested as such.
//!
//! ```text
//! cargo test --test simulation                                            1,000 users of 100 refreshes
//! SEENGUARD_USERS=50000 cargo test --release --test simulation            a long run
//! SEENGUARD_SEED=81985529216486895 cargo test --test simulation           one user alone: what a failure prints
//! ```
//!
//! Further: `SEENGUARD_REFRESHES` for each user (100); `SEENGUARD_MASTER`, from which the users' seeds are drawn;
//! `SEENGUARD_TRACE=1` prints every step of the one user of `SEENGUARD_SEED` (with `-- --nocapture`).
#![cfg(not(target_arch = "wasm32"))]

#[allow(dead_code)]
#[path = "../common/random.rs"]
mod random;

mod run;
#[path = "mod.rs"]
mod simulation;

use run::Settings;
use simulation::bounds::store;

/// Rows, the stored snapshot, and what is said of the whole. While tabs write, a dozen of rows wait to be compacted.
const MOST_KEYS: usize = 16 + 2 * 10 + 2 + 12;

#[test]
fn i1_no_user_meets_a_repeat_or_loses_an_impression() {
    run::simulate(&Settings::from_environment());
}

#[test]
fn i7_ten_thousand_impressions_of_one_tab_take_350_kb_in_36_keys_and_each_is_written_in_500_characters() {
    let stored = store(1, 10_000);
    println!("{stored:?}");
    assert!(stored.bytes <= 350_000 && stored.most_keys <= MOST_KEYS, "{stored:?}");
    assert!(stored.characters <= 500 * 10_000 && stored.most_bytes <= 1_500_000);
}

#[test]
fn i7_eight_tabs_that_hear_of_each_other_store_and_write_hardly_more() {
    let stored = store(8, 10_000);
    println!("{stored:?}");
    assert!(
        stored.most_keys <= MOST_KEYS && stored.most_bytes <= 1_500_000,
        "{stored:?}"
    );
    assert!(stored.characters <= 700 * 10_000, "{stored:?}");
}
