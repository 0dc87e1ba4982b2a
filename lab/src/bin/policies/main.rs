//! The policy lab: ways to remember what a person has seen, compared on the same impressions, and places to keep it.
//!
//!     cargo run --profile lab -p seenguard-lab --bin policies
//!
//! docs/policies.md holds the tables and the plot, and says what to choose when.

mod measure;
mod page;
mod placements;
mod structures;
mod trace;

use std::thread;

use clap::Parser;
use seenguard_lab::report::{Measurement, Options, Result, progress_bar};

use measure::{Figures, PERSONS};
use structures::{STRUCTURES, Structure};

/// The structure that `--check` measures again.
const SAMPLE: Structure = STRUCTURES[4];

fn main() -> Result<()> {
    let options = Options::parse();
    let measurement = Measurement {
        name: "policies",
        all: |seed| measure_all(&STRUCTURES, seed),
        sample: |seed| measure_all(&[SAMPLE], seed),
    };
    let figures = measurement.results(&options)?;
    for table in page::tables(&figures) {
        println!("{}\n", table.to_text());
    }
    page::report(&figures)?.publish(&options)
}

fn measure_all(structures: &[Structure], seed: u64) -> Result<Vec<Figures>> {
    let bar = progress_bar(structures.len() as u64 * PERSONS, "structures");
    let figures = thread::scope(|scope| {
        let bar = &bar;
        let measured = structures.iter().map(|&structure| {
            let measure = move || measure::measure(structure, seed, || bar.inc(1));
            scope.spawn(measure)
        });
        let threads: Vec<_> = measured.collect();
        threads.into_iter().map(joined).collect()
    });
    bar.finish();
    figures
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
