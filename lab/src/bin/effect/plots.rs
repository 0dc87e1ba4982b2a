//! The plots of docs/effect.md.

use seenguard_lab::report::{Axis, BarPlot, Result, Series, bytes, count};

use crate::experiments::ByCondition;
use crate::measure::Figures;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, LAG_10_MIN, LAG_10_S, LAGS, STANDS_STILL};

/// Repeats by lag.
pub fn lags(compared: &[ByCondition]) -> Result<String> {
    bars(
        "Repeats per 1,000 items shown, by the stream's lag",
        &LAGS.collect::<Vec<_>>(),
        compared,
    )
}

/// Repeats by fault.
pub fn faults(compared: &[ByCondition]) -> Result<String> {
    let faults: Vec<usize> = (LAGS.end..CONDITIONS.len()).collect();
    bars("Repeats per 1,000 items shown, by what goes wrong", &faults, compared)
}

fn bars(title: &'static str, conditions: &[usize], compared: &[ByCondition]) -> Result<String> {
    let groups = conditions.iter().map(|&index| CONDITIONS[index].name.into()).collect();
    let axis = Axis::linear("repeats per 1,000 items").format(count);
    plot(title, groups, axis, compared, |figures| {
        conditions.iter().map(|&index| figures[index].repeats.value).collect()
    })
}

/// Fresh items held back, and lost, at a lag of 10 seconds.
pub fn fresh(compared: &[ByCondition]) -> Result<String> {
    let axis = Axis::linear("fresh items per 1,000 shown").format(count);
    let groups = vec!["left out of a page".into(), "and not shown later that day".into()];
    plot("Fresh items left out, lag 10 s", groups, axis, compared, |figures| {
        let Figures { held_back, lost, .. } = figures[LAG_10_S];
        vec![held_back.value, lost.value]
    })
}

/// Bytes up and down together.
pub fn traffic(compared: &[ByCondition]) -> Result<String> {
    let conditions = [LAG_10_S, LAG_10_MIN, STANDS_STILL];
    let groups = conditions.map(|index| CONDITIONS[index].name.to_string()).to_vec();
    let axis = Axis::log("bytes up and down a refresh")
        .format(bytes)
        .range(100.0, 1_000_000.0);
    plot("What a remedy adds to a refresh", groups, axis, compared, |figures| {
        let of = |index: usize| figures[index].up.value + figures[index].down.value;
        conditions.iter().map(|&index| of(index)).collect()
    })
}

fn plot(
    title: &'static str,
    groups: Vec<String>,
    y: Axis,
    compared: &[ByCondition],
    values: impl Fn(&ByCondition) -> Vec<f64>,
) -> Result<String> {
    let series = Kind::ALL.iter().zip(compared).map(|(kind, figures)| Series {
        name: kind.name().into(),
        values: values(figures),
    });
    BarPlot {
        title,
        groups,
        y,
        series: series.collect(),
    }
    .to_svg()
}
