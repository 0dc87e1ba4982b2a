//! What a remedy against repeats is worth: people who use a feed, streams that lag, and five remedies, simulated.
//!
//!     cargo run --profile lab -p seenguard-lab --bin effect
//!
//! Remedies run the real chains, snapshots and guards. docs/effect.md says what is assumed, and holds the
//! tables and plots that this program writes.

mod experiments;
mod fill;
mod life;
mod measure;
mod page;
mod people;
mod plots;
mod recall;
mod remedies;
mod stream;
mod tables;
mod world;

use clap::Parser;
use seenguard_lab::report::{Options, Report, Result, Table, bytes, percent};

use experiments::{ByCondition, compare, sensitivity, small_pool, to_json};
use tables::rate;

const PAGE: &str = "docs/effect.md";

fn main() -> Result<()> {
    let options = Options::parse();
    let seed = options.seed;
    let compared = compare(seed)?;
    let pools = small_pool(seed)?;
    let variants = sensitivity(seed)?;

    let mut report = Report::new(to_json(seed, &compared, &pools, &variants));
    report.region(PAGE, "confidence", tables::confidence(&compared));
    report.region("README.md", "effect", tables::summary(&compared));
    for (name, title, table) in tables_of(&compared) {
        add_table(&mut report, name, title, &table);
    }
    add_table(&mut report, "small-pool", "A small pool", &tables::small_pool(&pools));
    let title = "Repeats per 1,000 items shown at a lag of 10 minutes, by assumption";
    add_table(&mut report, "sensitivity", title, &tables::sensitivity(&variants));
    report.plot("effect-lag.svg", plots::lags(&compared)?);
    report.plot("effect-faults.svg", plots::faults(&compared)?);
    report.plot("effect-fresh.svg", plots::fresh(&compared)?);
    report.plot("effect-bytes.svg", plots::traffic(&compared)?);
    report.publish(&options)
}

fn tables_of(compared: &[ByCondition]) -> Vec<(&'static str, &'static str, Table)> {
    vec![
        (
            "same-device",
            "Repeats per 1,000 items shown, on the device that had shown them",
            tables::by_condition(compared, |figures| rate(figures.same_device)),
        ),
        (
            "other-device",
            "Repeats per 1,000 items shown, on the other device",
            tables::by_condition(compared, |figures| rate(figures.other_device)),
        ),
        (
            "fresh",
            "Fresh items per 1,000 shown: left out of a page / not shown later that day either",
            tables::by_condition(compared, |figures| {
                format!("{} / {}", rate(figures.held_back), rate(figures.lost))
            }),
        ),
        (
            "bytes",
            "Bytes a refresh",
            tables::by_remedy(
                compared,
                &[
                    ("up", |figures| bytes(figures.up.value)),
                    ("down", |figures| bytes(figures.down.value)),
                ],
            ),
        ),
        (
            "requests",
            "Requests a page / pages that are full",
            tables::by_condition(compared, |figures| {
                format!("{:.2} / {}", figures.requests.value, percent(figures.filled.value))
            }),
        ),
    ]
}

/// To the page, and to the terminal.
fn add_table(report: &mut Report, name: &'static str, title: &str, table: &Table) {
    println!("{title}\n\n{}", table.to_text());
    report.region(PAGE, name, table.to_markdown());
}
