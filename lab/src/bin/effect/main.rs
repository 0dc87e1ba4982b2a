//! Simulates the effect of five remedies against repeats, for users of a feed whose streams lag.
//!
//!     cargo run --profile lab -p seenguard-lab --bin effect
//!
//! The remedies run the real chains, snapshots and guards. lab/README.md has the assumptions, docs/effect.md the tables
//! that this program writes.

mod experiments;
mod fill;
mod life;
mod measure;
mod page;
mod people;
mod recall;
mod remedies;
mod stream;
mod tables;
mod world;

use clap::Parser;
use seenguard_lab::{Measurement, Options, Report, Result};

use experiments::Rows;

const PAGE: &str = "docs/effect.md";

fn main() -> Result<()> {
    let options = Options::parse();
    let measurement = Measurement {
        name: "effect",
        all: experiments::all,
        sample: experiments::sample_again,
    };
    let rows = Rows(measurement.results(&options)?);

    let mut report = Report::default();
    report.region(PAGE, "confidence", tables::confidence(&rows));
    report.region("README.md", "effect", tables::summary(&rows));
    let tables = [
        ("repeats", tables::repeats(&rows)),
        ("costs", tables::costs(&rows)),
        ("small-pool", tables::small_pool(&rows)),
    ];
    for (name, table) in tables {
        println!("{name}\n\n{}", table.to_text());
        report.region(PAGE, name, table.to_markdown());
    }
    println!("assumptions\n\n{}", tables::assumptions(&rows).to_text());
    report.publish(&options)
}
