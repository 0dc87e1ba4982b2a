//! The plots of docs/effect.md.

use seenguard_lab::report::{Axis, BarPlot, Result, Series, count};

use crate::experiments::Rows;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, LAGS};

/// Repeats by lag.
pub fn lags(rows: &Rows) -> Result<String> {
    bars("Repeats per 1,000 items shown, by the stream's lag", LAGS, rows)
}

/// Repeats by fault.
pub fn faults(rows: &Rows) -> Result<String> {
    let faults = LAGS.end..CONDITIONS.len();
    bars("Repeats per 1,000 items shown, by what goes wrong", faults, rows)
}

fn bars(title: &'static str, conditions: std::ops::Range<usize>, rows: &Rows) -> Result<String> {
    let series = Kind::ALL.into_iter().map(|kind| Series {
        name: kind.name().into(),
        values: conditions
            .clone()
            .map(|index| rows.under(index, kind).repeats.value)
            .collect(),
    });
    BarPlot {
        title,
        groups: CONDITIONS[conditions.clone()]
            .iter()
            .map(|one| one.name.into())
            .collect(),
        y: Axis::linear("repeats per 1,000 items").format(count),
        series: series.collect(),
    }
    .to_svg()
}
