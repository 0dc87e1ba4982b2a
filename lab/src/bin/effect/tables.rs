//! The tables of docs/effect.md.

use seenguard_lab::report::{Column, Table, bytes, count, percent, significant};

use crate::experiments::{ByCondition, PEOPLE, SmallPool, Variant};
use crate::measure::{Estimate, Figures};
use crate::people::Habits;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, LAG_10_MIN, LAG_10_S, STANDS_STILL};

type Cell = fn(&Figures) -> String;

/// Conditions below each other, remedies side by side.
pub fn by_condition(compared: &[ByCondition], cell: Cell) -> Table {
    let remedies = Kind::ALL.iter().map(|kind| Column::number(kind.name()));
    let mut table = Table::new([Column::text("lag or fault")].into_iter().chain(remedies));
    for (index, condition) in CONDITIONS.iter().enumerate() {
        let cells = compared.iter().map(|figures| cell(&figures[index]));
        table.push([condition.name.to_string()].into_iter().chain(cells));
    }
    table
}

/// Remedies below each other, three conditions side by side.
pub fn by_remedy(compared: &[ByCondition], cells: &[(&str, Cell)]) -> Table {
    let conditions = [LAG_10_S, LAG_10_MIN, STANDS_STILL];
    let headings = conditions.iter().flat_map(|&condition| {
        let name = CONDITIONS[condition].name;
        cells
            .iter()
            .map(move |(what, _)| Column::number(&format!("{what}, {name}")))
    });
    let mut table = Table::new([Column::text("remedy")].into_iter().chain(headings));
    for (kind, figures) in Kind::ALL.iter().zip(compared) {
        let row = conditions
            .iter()
            .flat_map(|&condition| cells.iter().map(move |(_, cell)| cell(&figures[condition])));
        table.push([kind.name().to_string()].into_iter().chain(row));
    }
    table
}

/// What each remedy does where nearly all was seen.
pub fn small_pool(pools: &[SmallPool]) -> Table {
    let mut table = Table::new([
        Column::text("remedy"),
        Column::text("lag"),
        Column::number("`drop`: pages empty"),
        Column::number("not full"),
        Column::number("repeats"),
        Column::number("`last`: pages empty"),
        Column::number("repeats"),
        Column::number("of what was seen within the hour"),
    ]);
    for SmallPool {
        condition,
        kind,
        drop,
        last,
    } in pools
    {
        table.push([
            kind.name().into(),
            (*condition).into(),
            percent(drop.empty.value),
            percent(1.0 - drop.filled.value),
            rate(drop.repeats),
            percent(last.empty.value),
            rate(last.repeats),
            rate(last.recent),
        ]);
    }
    table
}

/// Repeats of both devices in each variant.
pub fn sensitivity(variants: &[Variant]) -> Table {
    let remedies = Kind::ALL.iter().map(|kind| Column::number(kind.name()));
    let columns = [Column::text("assumption"), Column::text("value")]
        .into_iter()
        .chain(remedies);
    let lost = Column::number("lost by the last 100 served");
    let mut table = Table::new(columns.chain([lost]));
    for Variant {
        assumption,
        value,
        figures,
    } in variants
    {
        let repeats = figures.iter().map(|figures| rate(figures.repeats));
        let last_served = Kind::ALL
            .iter()
            .zip(figures)
            .filter(|(kind, _)| **kind == Kind::LastServed);
        let lost = last_served.map(|(_, figures)| rate(figures.lost));
        let texts = [(*assumption).to_string(), (*value).to_string()];
        table.push(texts.into_iter().chain(repeats).chain(lost));
    }
    table
}

/// Who was simulated, and how sure the figures are.
pub fn confidence(compared: &[ByCondition]) -> String {
    let server_alone = &of(compared, Kind::ServerAlone)[LAG_10_MIN];
    let ids_up = &of(compared, Kind::IdsUp)[LAG_10_MIN];
    let people = PEOPLE as f64;
    let a_month = server_alone.shown * Habits::default().viewed * 30.0 / people;
    wrap(&format!(
        "{PEOPLE} people ask for {} pages of {} items on the measured day, which makes about {} impressions a person \
         and month. The figures are means of these people. Other people would give others: with a confidence of 95%, \
         at a lag of 10 minutes, {} repeats per 1,000 on the same device for the server alone, and {} on the other \
         device for seen ids sent up. A 0 is none on all of these pages. The JSON has this margin for each figure.",
        count(server_alone.pages),
        significant(server_alone.shown / server_alone.pages, 3),
        significant(a_month, 2),
        interval(server_alone.same_device),
        interval(ids_up.other_device),
    ))
}

/// For the README.
pub fn summary(compared: &[ByCondition]) -> String {
    let conditions = [LAG_10_MIN, STANDS_STILL];
    let [lags, still] = conditions.map(|condition| of(compared, Kind::ServerAlone)[condition].repeats);
    let seenguard = conditions.map(|condition| of(compared, Kind::Seenguard)[condition]);
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

fn of(compared: &[ByCondition], wanted: Kind) -> &ByCondition {
    let place = Kind::ALL.iter().position(|&kind| kind == wanted);
    &compared[place.unwrap_or_default()]
}

/// Lines of at most 120 columns.
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

/// Per 1,000.
pub fn rate(Estimate { value, .. }: Estimate) -> String {
    match value {
        0.0 => "0".into(),
        _ if value < 0.05 => "< 0.1".into(),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => count(value),
    }
}
