//! The data of the Rust benchmarks: ids of 14 characters, shards with some of them, and pages of which a quarter was
//! //! seen.

// Every benchmark is a crate of its own and uses a part of this module.
#![allow(dead_code)]

use seenguard::device::{DEFAULT_REMEMBER, Guard};
use seenguard::{ChainOptions, ShardChain, Snapshot, Time};

/// The number of shards, and of ids in each.
pub const SHARDS: usize = 5;
pub const IDS_A_SHARD: usize = 1_000;
/// The rate of each full shard.
pub const FALSE_POSITIVE_RATE: f64 = 0.001;
/// The candidates of one page.
pub const CANDIDATES: usize = 2_000;
/// The time of all operations.
pub const TIME: Time = Time::from_unix_seconds(1_764_000_000);

/// A generator of the same ids on every machine (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// An id such as `1r8bq8r7q4izgx`, long enough that no two are equal.
    fn id(&mut self) -> String {
        const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        (0..14).map(|_| BASE36[self.below(36)] as char).collect()
    }

    /// Draws this number of ids.
    pub fn ids(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.id()).collect()
    }

    /// Draws a page in a random order, a quarter of it out of `seen`, the rest new.
    pub fn page(&mut self, seen: &[String]) -> Vec<String> {
        let mut page = self.ids(CANDIDATES - CANDIDATES / 4);
        let offset = self.below(seen.len());
        page.extend((0..CANDIDATES / 4).map(|nth| seen[(offset + nth * 7) % seen.len()].clone()));
        for last in (1..page.len()).rev() {
            let other = self.below(last + 1);
            page.swap(last, other);
        }
        page
    }
}

/// The ids of a user's shards, one list for each shard.
pub fn seen(random: &mut Random) -> Vec<Vec<String>> {
    (0..SHARDS).map(|_| random.ids(IDS_A_SHARD)).collect()
}

/// The server's snapshot of these ids.
pub fn shards_of(seen: &[Vec<String>]) -> Vec<String> {
    let options = ChainOptions {
        capacity: IDS_A_SHARD as u32,
        shards: SHARDS,
        false_positive_rate: FALSE_POSITIVE_RATE,
        ..ChainOptions::default()
    };
    let mut chain = ShardChain::new(options).expect("these options are in their ranges");
    for ids in seen {
        chain.record(ids, TIME).expect("there is memory for the shards");
    }
    chain.snapshot(TIME, None).expect("a chain can be written").shards
}

/// Applies the shards to the guard.
pub fn apply(guard: &mut Guard, shards: &[String]) {
    guard
        .apply(Snapshot::new(shards), TIME)
        .expect("the chain's own shards are valid");
}

/// A guard without impressions.
pub fn guard() -> Guard {
    Guard::new(30.0, DEFAULT_REMEMBER).expect("these options are in their ranges")
}

/// Returns the indices of the fresh ids of a page.
pub fn filter(guard: &mut Guard, page: &[String]) -> Vec<u32> {
    guard.filter(page, TIME)
}
