//! Nanoseconds a test. They are those of the machine that runs this, unlike all else that is measured here.

use std::hint::black_box;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use seenguard_lab::report::Result;
use serde::Serialize;

use crate::structures::{CAPACITY, STRUCTURES, Structure};
use crate::trace::item_id;

/// Items recorded before: structures are nearly at their largest.
const RECORDED: u64 = 2 * CAPACITY as u64 - 10;
/// Candidates of a request.
const CANDIDATES: u64 = 2_000;
/// Of them seen.
const SEEN: u64 = CANDIDATES / 4;
const ROUNDS: usize = 101;

#[derive(Debug, Clone, Serialize)]
pub struct Speed {
    pub name: &'static str,
    /// The median of the rounds.
    pub nanoseconds: f64,
    /// As a share of what the first structure takes.
    pub ratio: f64,
}

/// The time that a test takes in each structure.
///
/// # Errors
/// Of the structures.
pub fn speeds(seed: u64) -> Result<Vec<Speed>> {
    // The seen ones from all over what every structure remembers.
    let seen = (1..=SEEN).map(|index| item_id(RECORDED - 7 * index));
    let mut ids: Vec<String> = seen
        .chain((SEEN..CANDIDATES).map(|index| item_id(RECORDED + index)))
        .collect();
    ids.shuffle(&mut StdRng::seed_from_u64(seed));
    let mut speeds: Vec<Speed> = Vec::new();
    for structure in STRUCTURES {
        let nanoseconds = median_time(structure, &ids)?;
        let first = speeds.first().map_or(nanoseconds, |first| first.nanoseconds);
        speeds.push(Speed {
            name: structure.name,
            nanoseconds,
            ratio: nanoseconds / first,
        });
    }
    Ok(speeds)
}

fn median_time(structure: Structure, ids: &[String]) -> Result<f64> {
    let mut history = (structure.new)()?;
    for number in 0..RECORDED {
        history.record(&item_id(number))?;
    }
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            let seen = ids.iter().filter(|id| history.contains(id)).count();
            black_box(seen);
            started.elapsed().as_nanos() as f64 / ids.len() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
