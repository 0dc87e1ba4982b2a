//! The tables of docs/effect.md.

use seenguard_lab::{Column, Table, bytes, count, percent, significant};

use crate::experiments::{DROP, Experiment, LAST, PEOPLE, Rows, assumed};
use crate::measure::Estimate;
use crate::people::Habits;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, LAG_10_MIN, LAG_10_S, STANDS_STILL};

/// The repeats on the same device and on the other one: a row for each condition, columns for the remedies.
pub fn repeats(rows: &Rows) -> Table {
    let remedies = Kind::ALL.iter().map(|kind| Column::number(kind.name()));
    let mut table = Table::new([Column::text("lag or fault")].into_iter().chain(remedies));
    for (index, condition) in CONDITIONS.iter().enumerate() {
        let cells = Kind::ALL.map(|kind| {
            let figures = rows.under(index, kind);
            format!("{} / {}", rate(figures.same_device), rate(figures.other_device))
        });
        table.push([condition.name.to_string()].into_iter().chain(cells));
    }
    table
}

/// The costs of each remedy: fresh items, requests and bytes.
pub fn costs(rows: &Rows) -> Table {
    let mut table = Table::new([
        Column::text("remedy"),
        Column::number("fresh left out / lost"),
        Column::number("requests"),
        Column::number("pages full"),
        Column::number("bytes up / down, 10 s"),
        Column::number("10 min"),
    ]);
    for kind in Kind::ALL {
        let healthy = rows.under(LAG_10_S, kind);
        let cells = [
            kind.name().into(),
            format!("{} / {}", rate(healthy.held_back), rate(healthy.lost)),
            format!("{:.2}", healthy.requests.value),
            percent(healthy.filled.value),
        ];
        let traffic = [LAG_10_S, LAG_10_MIN].map(|condition| {
            let figures = rows.under(condition, kind);
            format!("{} / {}", bytes(figures.up.value), bytes(figures.down.value))
        });
        table.push(cells.into_iter().chain(traffic));
    }
    table
}

/// The effect of each remedy if nearly all items were seen.
pub fn small_pool(rows: &Rows) -> Table {
    let mut table = Table::new([
        Column::text("remedy"),
        Column::number("`drop`: pages empty"),
        Column::number("repeats"),
        Column::number("`last`: repeats"),
        Column::number("seen within the hour"),
    ]);
    for kind in Kind::ALL {
        let condition = CONDITIONS[LAG_10_MIN].name;
        let [drop, last] = [DROP, LAST].map(|seen| rows.get(Experiment::SmallPool, [condition, seen], kind));
        table.push([
            kind.name().into(),
            percent(drop.empty.value),
            rate(drop.repeats),
            rate(last.repeats),
            rate(last.recent),
        ]);
    }
    table
}

/// The repeats on both devices, a row for each assumption.
pub fn assumptions(rows: &Rows) -> Table {
    const COMPARED: [Kind; 4] = [Kind::ServerAlone, Kind::LastServed, Kind::IdsUp, Kind::Seenguard];
    let remedies = COMPARED.iter().map(|kind| Column::number(kind.name()));
    let columns = [Column::text("assumption"), Column::text("changed to")];
    let mut table = Table::new(columns.into_iter().chain(remedies));
    for cases in assumed().chunk_by(|[one, _], [other, _]| one == other) {
        let joined = |texts: Vec<String>| texts.join(" / ");
        let repeats = COMPARED.map(|kind| {
            let rates = cases
                .iter()
                .map(|&case| rate(rows.get(Experiment::Assumptions, case, kind).repeats));
            joined(rates.collect())
        });
        let values = joined(cases.iter().map(|[_, value]| (*value).to_string()).collect());
        table.push([cases[0][0].to_string(), values].into_iter().chain(repeats));
    }
    table
}

/// A paragraph on the simulated people, and the confidence intervals.
pub fn confidence(rows: &Rows) -> String {
    let server_alone = rows.under(LAG_10_MIN, Kind::ServerAlone);
    let ids_up = rows.under(LAG_10_MIN, Kind::IdsUp);
    let people = PEOPLE as f64;
    let a_month = server_alone.shown * Habits::default().viewed * 30.0 / people;
    wrap(&format!(
        "{PEOPLE} people request {} pages of {} items on the measured day, which makes about {} impressions a person \
         and month. The figures are means of these people. Other people would give others: with a confidence of 95%, \
         at a lag of 10 minutes, {} repeats per 1,000 on the same device for the server alone, and {} on the other \
         device for seen ids sent up. A 0 is none on all of these pages.",
        count(server_alone.pages),
        significant(server_alone.shown / server_alone.pages, 3),
        significant(a_month, 2),
        interval(server_alone.same_device),
        interval(ids_up.other_device),
    ))
}

/// The table in the README.
pub fn summary(rows: &Rows) -> String {
    let conditions = [LAG_10_MIN, STANDS_STILL];
    let [lags, still] = conditions.map(|condition| rows.under(condition, Kind::ServerAlone).repeats);
    let seenguard = conditions.map(|condition| rows.under(condition, Kind::Seenguard));
    let [in_lag, in_outage] = seenguard.map(|figures| rate(figures.repeats));
    let [cost_in_lag, cost_in_outage] = seenguard.map(|figures| bytes(figures.up.value + figures.down.value));
    wrap(&format!(
        "In a [simulation of {PEOPLE} people](docs/effect.md), a stream that lags 10 minutes makes {} of 1,000 items \
         repeats if the server alone filters, and one that stands still for a day {}. With Seenguard it is {in_lag} \
         and {in_outage}, on all of a person's devices together, for {cost_in_lag} and {cost_in_outage} a refresh.",
        rate(lags),
        rate(still),
    ))
}

/// Wraps at 120 columns.
fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(last) if line == 0 => last.push_str(word),
            Some(last) if line + 1 + word.chars().count() <= 120 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n")
}

fn interval(estimate: Estimate) -> String {
    format!("{} ± {}", rate(estimate), significant(estimate.margin, 2))
}

/// A rate per 1,000.
pub fn rate(Estimate { value, .. }: Estimate) -> String {
    match value {
        0.0 => "0".into(),
        _ if value < 0.05 => "< 0.1".into(),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => count(value),
    }
}
