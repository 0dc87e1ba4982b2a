//! The policy lab: ways to remember what a person has seen, compared on the same impressions, and places to keep it.
//!
//!     cargo run --profile lab -p seenguard-lab --bin policies
//!
//! `--help` lists the options. docs/policies.md holds the tables and plots, and says what to choose when.

mod measure;
mod page;
mod placements;
mod structures;
mod trace;

use std::thread;

use clap::Parser;
use indicatif::ProgressBar;
use seenguard_lab::report::{Options, Result, progress_bar};
use serde::Serialize;

use measure::{Figures, PERSONS, Speed};
use placements::{Estimate, PLACEMENTS, Placement, SIMULATED, Scenario, World};
use structures::STRUCTURES;

/// All that the lab finds out.
#[derive(Debug, Serialize)]
pub struct Lab {
    seed: u64,
    structures: Vec<Figures>,
    speeds: Vec<Speed>,
    placements: Vec<Placed>,
}

/// One placement: as simulated, by formula for the same scenario, and by formula for each of the scales.
#[derive(Debug, Serialize)]
pub struct Placed {
    placement: Placement,
    simulated: Estimate,
    formula: Estimate,
    scales: Vec<Scaled>,
}

/// By formula.
#[derive(Debug, Serialize)]
pub struct Scaled {
    scenario: Scenario,
    estimate: Estimate,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let lab = run(options.seed)?;
    for (heading, table) in page::tables(&lab) {
        println!("{heading}\n\n{}", table.to_text());
    }
    page::report(&lab)?.publish(&options)
}

fn run(seed: u64) -> Result<Lab> {
    let steps = STRUCTURES.len() as u64 * PERSONS + PLACEMENTS.len() as u64;
    let bar = progress_bar(steps, "structures and placements");
    let (structures, placements) = thread::scope(|scope| {
        let bar = &bar;
        let placements = scope.spawn(move || place(seed, bar));
        let structures =
            STRUCTURES.map(|structure| scope.spawn(move || measure::measure(structure, seed, || bar.inc(1))));
        let structures: Result<Vec<Figures>> = structures.into_iter().map(joined).collect();
        (structures, joined(placements))
    });
    bar.finish();
    Ok(Lab {
        seed,
        structures: structures?,
        // Alone on the machine.
        speeds: measure::speeds(seed)?,
        placements: placements?,
    })
}

fn place(seed: u64, bar: &ProgressBar) -> Result<Vec<Placed>> {
    let world = World::new(SIMULATED, seed);
    let mut placed = Vec::new();
    for placement in PLACEMENTS {
        let scales = placements::scales().into_iter();
        placed.push(Placed {
            placement,
            simulated: placements::simulate(placement, &world)?,
            formula: placements::estimate(placement, SIMULATED),
            scales: scales.map(|scenario| scaled(placement, scenario)).collect(),
        });
        bar.inc(1);
    }
    Ok(placed)
}

fn scaled(placement: Placement, scenario: Scenario) -> Scaled {
    Scaled {
        scenario,
        estimate: placements::estimate(placement, scenario),
    }
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
