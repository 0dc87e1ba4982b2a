//! The three experiments: all remedies under all conditions; a small pool; and what depends on each assumption.

use seenguard_lab::report::{Result, progress_bar};
use serde_json::{Value, json};

use crate::measure::Figures;
use crate::page::Seen;
use crate::people::Habits;
use crate::recall::Supply;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, Condition, LAG_10_MIN, LAG_10_S};
use crate::world::{Cell, World};

/// People of each experiment; of the last, in each variant.
pub const PEOPLE: usize = 300;
const PEOPLE_OF_A_SMALL_POOL: usize = 100;
const PEOPLE_OF_A_VARIANT: usize = 40;

/// A remedy's figures under each condition, in the order of [`CONDITIONS`].
pub type ByCondition = Vec<Figures>;

/// All remedies under all conditions, in the order of [`Kind::ALL`].
pub fn compare(seed: u64) -> Result<Vec<ByCondition>> {
    let cells = cells(&Kind::ALL, &CONDITIONS, &[Seen::Drop]);
    let progress = progress_bar(PEOPLE as u64, "remedies and conditions");
    let figures = World::default().measure(&cells, PEOPLE, seed, &progress)?;
    Ok(figures.chunks(CONDITIONS.len()).map(<[Figures]>::to_vec).collect())
}

/// What a remedy does where nearly all was seen.
pub struct SmallPool {
    pub condition: &'static str,
    pub kind: Kind,
    pub drop: Figures,
    pub last: Figures,
}

/// People see twice as many items as the pool gets new ones.
pub const SMALL_POOL: Supply = Supply {
    new_per_day: 100.0,
    candidates: 300,
    ..Supply::DEFAULT
};

pub fn small_pool(seed: u64) -> Result<Vec<SmallPool>> {
    let conditions = [CONDITIONS[LAG_10_S], CONDITIONS[LAG_10_MIN]];
    let cells = cells(&Kind::ALL, &conditions, &[Seen::Drop, Seen::Last]);
    let world = World {
        supply: SMALL_POOL,
        ..World::default()
    };
    let progress = progress_bar(PEOPLE_OF_A_SMALL_POOL as u64, "a small pool");
    let figures = world.measure(&cells, PEOPLE_OF_A_SMALL_POOL, seed, &progress)?;
    let pairs = cells.chunks(2).zip(figures.chunks(2));
    Ok(pairs
        .map(|(cells, figures)| SmallPool {
            condition: cells[0].condition.name,
            kind: cells[0].kind,
            drop: figures[0],
            last: figures[1],
        })
        .collect())
}

/// Each remedy, under each condition, with each way to treat what was seen.
fn cells(kinds: &[Kind], conditions: &[Condition], ways: &[Seen]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &kind in kinds {
        for &condition in conditions {
            cells.extend(ways.iter().map(|&seen| Cell { condition, kind, seen }));
        }
    }
    cells
}

/// An assumption changed, and what each remedy does then, the lag being 10 minutes.
pub struct Variant {
    pub assumption: &'static str,
    pub value: &'static str,
    pub figures: Vec<Figures>,
}

pub fn sensitivity(seed: u64) -> Result<Vec<Variant>> {
    let cells = cells(&Kind::ALL, &[CONDITIONS[LAG_10_MIN]], &[Seen::Drop]);
    let worlds = variants();
    let progress = progress_bar((worlds.len() * PEOPLE_OF_A_VARIANT) as u64, "assumptions");
    let measure = |(assumption, value, world): (_, _, World)| {
        Ok(Variant {
            assumption,
            value,
            figures: world.measure(&cells, PEOPLE_OF_A_VARIANT, seed, &progress)?,
        })
    };
    worlds.into_iter().map(measure).collect()
}

fn variants() -> Vec<(&'static str, &'static str, World)> {
    let habits = |change: fn(&mut Habits)| {
        let mut world = World::default();
        change(&mut world.habits);
        world
    };
    let supply = |change: fn(&mut Supply)| {
        let mut world = World::default();
        change(&mut world.supply);
        world
    };
    vec![
        ("none", "as above", World::default()),
        ("order between two requests", "the same", supply(|one| one.noise = 0.0)),
        (
            "order between two requests",
            "shuffled by 0.5 σ",
            supply(|one| one.noise = 0.5),
        ),
        (
            "order between two requests",
            "shuffled by 1 σ",
            supply(|one| one.noise = 1.0),
        ),
        (
            "pause between refreshes",
            "20 s",
            habits(|one| one.refresh_seconds = 20.0),
        ),
        (
            "pause between refreshes",
            "2 min",
            habits(|one| one.refresh_seconds = 120.0),
        ),
        ("sessions a day", "2", habits(|one| one.sessions_per_day = 2.0)),
        ("sessions a day", "8", habits(|one| one.sessions_per_day = 8.0)),
        ("session", "4 min", habits(|one| one.session_minutes = 4.0)),
        ("session", "15 min", habits(|one| one.session_minutes = 15.0)),
        ("items viewed of a page", "30%", habits(|one| one.viewed = 0.3)),
        ("items viewed of a page", "85%", habits(|one| one.viewed = 0.85)),
        ("new items a day", "500", supply(|one| one.new_per_day = 500.0)),
        ("new items a day", "5,000", supply(|one| one.new_per_day = 5_000.0)),
        (
            "an item falls behind by 1 σ in",
            "6 hours",
            supply(|one| one.decay_days = 0.25),
        ),
        (
            "an item falls behind by 1 σ in",
            "3 days",
            supply(|one| one.decay_days = 3.0),
        ),
        ("people with two devices", "none", habits(|one| one.two_devices = 0.0)),
        ("people with two devices", "all", habits(|one| one.two_devices = 1.0)),
        (
            "sessions that change the device",
            "none",
            habits(|one| one.handed_over = 0.0),
        ),
        (
            "sessions that change the device",
            "40%",
            habits(|one| one.handed_over = 0.4),
        ),
    ]
}

/// All figures, for `--json`.
pub fn to_json(seed: u64, compared: &[ByCondition], pools: &[SmallPool], variants: &[Variant]) -> Value {
    let mut cells = Vec::new();
    for (kind, figures) in Kind::ALL.iter().zip(compared) {
        for (condition, figures) in CONDITIONS.iter().zip(figures) {
            cells.push(json!({ "remedy": kind.name(), "condition": condition.name, "figures": figures.to_json() }));
        }
    }
    let pools = pools.iter().map(|pool| {
        json!({
            "remedy": pool.kind.name(), "condition": pool.condition,
            "drop": pool.drop.to_json(), "last": pool.last.to_json(),
        })
    });
    let variants = variants.iter().map(|variant| {
        let figures = Kind::ALL.iter().zip(&variant.figures);
        let figures = figures.map(|(kind, figures)| json!({ "remedy": kind.name(), "figures": figures.to_json() }));
        json!({
            "assumption": variant.assumption, "value": variant.value,
            "remedies": figures.collect::<Vec<_>>(),
        })
    });
    json!({
        "seed": seed, "people": PEOPLE,
        "peopleOfASmallPool": PEOPLE_OF_A_SMALL_POOL, "peopleOfAVariant": PEOPLE_OF_A_VARIANT,
        "conditions": cells,
        "smallPool": pools.collect::<Vec<_>>(),
        "sensitivity": variants.collect::<Vec<_>>(),
    })
}
