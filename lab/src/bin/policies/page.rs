//! The lab's tables and its plot, and where docs/policies.md holds them.

use seenguard_lab::report::{
    Axis, Column, LinePlot, Report, Result, Series, Table, bytes, count, percent, significant,
};

use crate::measure::{Figures, STEP};
use crate::placements::{PLACEMENTS, Scenario, estimate, scales};

const PAGE: &str = "docs/policies.md";
/// How far the plot reaches, in impressions.
const SHOWN_AGE: usize = 6_000;

pub fn tables(figures: &[Figures]) -> [Table; 2] {
    [structures(figures), placements()]
}

/// Makes the output files.
///
/// # Errors
/// Of the drawing library.
pub fn report(figures: &[Figures]) -> Result<Report> {
    let mut report = Report::default();
    report.plot("policies-remembered.svg", remembered(figures).to_svg()?);
    report.region(PAGE, "structures", structures(figures).to_markdown());
    report.region(PAGE, "placements", placements().to_markdown());
    Ok(report)
}

fn structures(figures: &[Figures]) -> Table {
    let mut table = Table::new([
        Column::text("structure"),
        Column::number("remembers at least"),
        Column::number("on average"),
        Column::number("fresh lost"),
        Column::number("repeats"),
        Column::number("after a rotation"),
        Column::number("stored"),
        Column::number("in memory"),
        Column::number("bits an impression"),
        Column::number("a deletion forgets"),
    ]);
    for figures in figures {
        let Figures {
            name,
            memory,
            size,
            deletion,
        } = figures;
        table.push([
            name.clone(),
            count(memory.least_reach as f64),
            count(memory.mean_reach),
            percent(memory.false_positives),
            significant(memory.repeats, 3),
            significant(memory.repeats_after_rotation, 3),
            bytes(size.stored_bytes as f64),
            bytes(size.memory_bytes as f64),
            significant(size.bits_an_impression, 3),
            deletion
                .as_ref()
                .map_or("–".into(), |deletion| significant(deletion.claimed, 2)),
        ]);
    }
    table
}

fn placements() -> Table {
    let scales = scales();
    let users = scales
        .iter()
        .map(|scenario| Column::number(&format!("10{} users", exponent(*scenario))));
    let properties = [
        Column::text("placement"),
        Column::number("keys read"),
        Column::text("an impression leaves"),
        Column::text("shipped to the device"),
        Column::number("fresh lost"),
    ];
    let mut table = Table::new(properties.into_iter().chain(users));
    for placement in PLACEMENTS {
        let properties = [
            placement.name().to_string(),
            count(placement.keys_read() as f64),
            placement.ages_out().to_string(),
            placement.shipped().to_string(),
            percent(estimate(placement, scales[0]).false_positives),
        ];
        let sizes = scales
            .iter()
            .map(|&scenario| bytes(estimate(placement, scenario).bytes));
        table.push(properties.into_iter().chain(sizes));
    }
    table
}

fn exponent(scenario: Scenario) -> char {
    ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][scenario.users.ilog10() as usize]
}

fn remembered(figures: &[Figures]) -> LinePlot {
    let series = figures.iter().map(|Figures { name, memory, .. }| Series {
        name: name.clone(),
        values: memory.remembered[..=SHOWN_AGE / STEP]
            .iter()
            .map(|&(age, share)| (age as f64, share))
            .collect(),
    });
    LinePlot {
        title: "What is remembered, by how long ago it was seen",
        x: Axis::linear("age in impressions").format(count),
        y: Axis::linear("share remembered").range(0.0, 1.0),
        series: series.collect(),
    }
}
