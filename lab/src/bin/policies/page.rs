//! The lab's tables and plots, and where docs/policies.md holds them.

use seenguard_lab::report::{
    Axis, Column, LinePlot, Report, Result, Series, Table, bytes, count, percent, significant,
};

use super::placements::{CANDIDATES, scales};
use super::{Lab, Placed, Scaled};
use crate::measure::{Figures, Memory, STEP};

const PAGE: &str = "docs/policies.md";
/// How far the plots of structures reach, in impressions.
const SHOWN_SINCE_EMPTY: usize = 12_000;
const SHOWN_AGE: usize = 6_000;

/// All tables with their headings.
pub fn tables(lab: &Lab) -> [(&'static str, Table); 7] {
    [
        ("What is remembered", reach(lab)),
        ("What is shown twice, and what is lost", errors(lab)),
        ("Bytes a user", sizes(lab)),
        ("A deletion of an item that was never inserted", deletions(lab)),
        ("A test, on this machine", speeds(lab)),
        ("Placements of 10,000 users, simulated and by formula", simulated(lab)),
        ("Placements of more users, by formula", scaled(lab)),
    ]
}

/// What goes to files.
///
/// # Errors
/// Of the drawing library.
pub fn report(lab: &Lab) -> Result<Report> {
    let mut report = Report::new(serde_json::to_value(lab)?);
    report.plot("policies-false-positives.svg", false_positives(lab).to_svg()?);
    report.plot("policies-remembered.svg", remembered(lab).to_svg()?);
    report.plot("policies-placements.svg", placements(lab).to_svg()?);
    report.region(PAGE, "reach", reach(lab).to_markdown());
    report.region(PAGE, "errors", errors(lab).to_markdown());
    report.region(PAGE, "sizes", sizes(lab).to_markdown());
    report.region(PAGE, "deletions", deletions(lab).to_markdown());
    report.times(PAGE, "speeds", speeds(lab).to_markdown());
    report.region(PAGE, "simulated", simulated(lab).to_markdown());
    report.region(PAGE, "scaled", scaled(lab).to_markdown());
    report.region(PAGE, "properties", properties(lab).to_markdown());
    Ok(report)
}

fn reach(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Structure"),
        Column::number("Remembers at least"),
        Column::number("at most"),
        Column::number("on average"),
        Column::number("Forgets at once"),
    ]);
    for Figures { name, memory, .. } in &lab.structures {
        table.push([
            name.to_string(),
            count(memory.least_reach as f64),
            count(memory.most_reach as f64),
            count(memory.mean_reach),
            count(memory.forgotten_at_once as f64),
        ]);
    }
    table
}

fn errors(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Structure"),
        Column::number("Fresh items lost"),
        Column::number("at worst"),
        Column::number("Repeats of 1,000 shown"),
        Column::number("after a rotation"),
    ]);
    for Figures { name, memory, .. } in &lab.structures {
        table.push([
            name.to_string(),
            percent(memory.mean_false_positives),
            percent(memory.worst_false_positives),
            significant(memory.repeats, 3),
            significant(memory.repeats_after_rotation, 3),
        ]);
    }
    table
}

fn sizes(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Structure"),
        Column::number("Stored"),
        Column::number("In memory"),
        Column::number("Bits an impression"),
    ]);
    for Figures { name, size, .. } in &lab.structures {
        table.push([
            name.to_string(),
            bytes(size.stored_bytes as f64),
            bytes(size.memory_bytes as f64),
            significant(size.bits_an_impression, 3),
        ]);
    }
    table
}

fn deletions(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Structure"),
        Column::text("Can delete"),
        Column::number("Forgets, of any id"),
        Column::number("of an id it claims falsely"),
    ]);
    for Figures { name, deletion, .. } in &lab.structures {
        let forgotten = |value: Option<f64>| value.map_or("–".into(), |value| significant(value, 3));
        table.push([
            name.to_string(),
            if deletion.is_some() { "yes" } else { "no" }.into(),
            forgotten(deletion.as_ref().map(|deletion| deletion.blind)),
            forgotten(deletion.as_ref().map(|deletion| deletion.claimed)),
        ]);
    }
    table
}

fn speeds(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Structure"),
        Column::number("ns a test"),
        Column::number("of the exact list's"),
    ]);
    for speed in &lab.speeds {
        table.push([
            speed.name.to_string(),
            count(speed.nanoseconds),
            significant(speed.ratio, 2),
        ]);
    }
    table
}

fn simulated(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Placement"),
        Column::number("Simulated"),
        Column::number("Formula"),
        Column::number("False positives, simulated"),
        Column::number("Formula"),
    ]);
    for placed in &lab.placements {
        let Placed { simulated, formula, .. } = placed;
        table.push([
            placed.placement.name().to_string(),
            bytes(simulated.bytes),
            bytes(formula.bytes),
            percent(simulated.false_positives),
            percent(formula.false_positives),
        ]);
    }
    table
}

fn scaled(lab: &Lab) -> Table {
    let users = scales().into_iter();
    let users = users.map(|scenario| Column::number(&format!("10{} users", exponent(scenario.users))));
    let mut table = Table::new([Column::text("Placement")].into_iter().chain(users));
    for placed in &lab.placements {
        let sizes = placed.scales.iter().map(|scaled| bytes(scaled.estimate.bytes));
        table.push([placed.placement.name().to_string()].into_iter().chain(sizes));
    }
    table
}

fn exponent(power_of_ten: u64) -> char {
    ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][power_of_ten.ilog10() as usize]
}

fn properties(lab: &Lab) -> Table {
    let mut table = Table::new([
        Column::text("Placement"),
        Column::number("Keys read a request"),
        Column::text("An impression leaves"),
        Column::text("Shipped to the device"),
    ]);
    for Placed { placement, .. } in &lab.placements {
        table.push([
            placement.name().to_string(),
            count(placement.keys_read(CANDIDATES as u64) as f64),
            placement.ages_out().to_string(),
            placement.shipped().to_string(),
        ]);
    }
    table
}

fn false_positives(lab: &Lab) -> LinePlot {
    LinePlot {
        title: "Fresh items that are lost, from an empty structure on",
        x: Axis::linear("impressions since the structure was empty").format(count),
        // What is rarer is not measured.
        y: Axis::log("false positive rate").range(1e-4, 1.0),
        series: series(lab, |memory| &memory.false_positives[..=SHOWN_SINCE_EMPTY / STEP]),
    }
}

fn remembered(lab: &Lab) -> LinePlot {
    LinePlot {
        title: "What is remembered, by how long ago it was seen",
        x: Axis::linear("age in impressions").format(count),
        y: Axis::linear("share remembered").range(0.0, 1.0),
        series: series(lab, |memory| &memory.remembered[..=SHOWN_AGE / STEP]),
    }
}

fn series(lab: &Lab, values: impl Fn(&Memory) -> &[(usize, f64)]) -> Vec<Series<(f64, f64)>> {
    let series = lab.structures.iter().map(|figures| Series {
        name: figures.name.to_string(),
        values: values(&figures.memory).iter().map(|&(x, y)| (x as f64, y)).collect(),
    });
    series.collect()
}

fn bits_by_users(scaled: &Scaled) -> (f64, f64) {
    let bits = scaled.estimate.bits_an_impression(scaled.scenario);
    (scaled.scenario.users as f64, bits)
}

fn placements(lab: &Lab) -> LinePlot {
    let series = lab.placements.iter().map(|placed| Series {
        name: placed.placement.name().to_string(),
        values: placed.scales.iter().map(bits_by_users).collect(),
    });
    LinePlot {
        title: "Bits an impression, by formula",
        x: Axis::log("users"),
        y: Axis::log("bits an impression").format(count),
        series: series.collect(),
    }
}
