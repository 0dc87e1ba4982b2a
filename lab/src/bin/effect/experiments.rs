//! The experiments: all remedies under all conditions, a small pool, and the sensitivity to each assumption.

use seenguard_lab::Result;
use serde::{Deserialize, Serialize};

use crate::measure::Figures;
use crate::page::Seen;
use crate::people::Habits;
use crate::recall::Supply;
use crate::remedies::Kind;
use crate::stream::{CONDITIONS, Condition, LAG_10_MIN};
use crate::world::{Cell, World};

/// The number of people of each experiment, and with each assumption.
pub const PEOPLE: usize = 300;
const PEOPLE_OF_A_SMALL_POOL: usize = 100;
const PEOPLE_OF_AN_ASSUMPTION: usize = 40;
const PEOPLE_OF_THE_SAMPLE: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Cases are conditions.
    Conditions,
    /// The same with few people, for `--check`.
    Sample,
    /// Cases are the treatments of a seen item, with a lag of 10 minutes.
    SmallPool,
    /// Cases are an assumption and its value, with a lag of 10 minutes.
    Assumptions,
}

impl Experiment {
    fn name(self) -> &'static str {
        match self {
            Experiment::Conditions => "conditions",
            Experiment::Sample => "sample",
            Experiment::SmallPool => "small pool",
            Experiment::Assumptions => "assumption",
        }
    }
}

/// The result of one remedy in one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    experiment: Experiment,
    case: [String; 2],
    remedy: Kind,
    figures: Figures,
}

/// All results.
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// # Panics
    /// If there is no such row, since the recorded results are of an older program.
    pub fn get(&self, experiment: Experiment, case: [&str; 2], remedy: Kind) -> &Figures {
        let row = self
            .0
            .iter()
            .find(|row| row.experiment == experiment && row.case == case && row.remedy == remedy);
        let Some(row) = row else {
            panic!("no results of {experiment:?}, {case:?}, {remedy:?}: run with --record");
        };
        &row.figures
    }

    pub fn under(&self, condition: usize, remedy: Kind) -> &Figures {
        self.get(Experiment::Conditions, [CONDITIONS[condition].name, ""], remedy)
    }
}

/// People in a world, simulated in several cases with each remedy.
struct Trial {
    experiment: Experiment,
    people: usize,
    world: World,
    cases: Vec<([&'static str; 2], Condition, Seen)>,
}

impl Trial {
    fn run(&self, seed: u64) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut cells = Vec::new();
        for &(case, condition, seen) in &self.cases {
            for kind in Kind::ALL {
                rows.push((case, kind));
                cells.push(Cell { condition, kind, seen });
            }
        }
        eprintln!("{}: {} people", self.experiment.name(), self.people);
        let figures = self.world.measure(&cells, self.people, seed)?;
        let row = |((case, remedy), figures): (([&str; 2], Kind), Figures)| Row {
            experiment: self.experiment,
            case: case.map(String::from),
            remedy,
            figures: figures.rounded(),
        };
        Ok(rows.into_iter().zip(figures).map(row).collect())
    }
}

/// Runs all experiments.
pub fn all(seed: u64) -> Result<Vec<Row>> {
    let trials = [conditions(), sample(), small_pool()].into_iter();
    run(trials.chain(assumptions()), seed)
}

/// Runs a sample of 2%: a few people under all conditions, and the unchanged assumptions.
pub fn sample_again(seed: u64) -> Result<Vec<Row>> {
    run([sample()].into_iter().chain(assumptions().into_iter().take(1)), seed)
}

fn run(trials: impl IntoIterator<Item = Trial>, seed: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for trial in trials {
        rows.extend(trial.run(seed)?);
    }
    Ok(rows)
}

fn conditions() -> Trial {
    Trial {
        experiment: Experiment::Conditions,
        people: PEOPLE,
        world: World::default(),
        cases: CONDITIONS
            .map(|condition| ([condition.name, ""], condition, Seen::Drop))
            .to_vec(),
    }
}

fn sample() -> Trial {
    Trial {
        experiment: Experiment::Sample,
        people: PEOPLE_OF_THE_SAMPLE,
        ..conditions()
    }
}

pub const DROP: &str = "drop";
pub const LAST: &str = "last";

/// A pool that gets half as many new items as people see.
fn small_pool() -> Trial {
    let supply = Supply {
        new_per_day: 100.0,
        candidates: 300,
        ..Supply::DEFAULT
    };
    let condition = CONDITIONS[LAG_10_MIN];
    let cases = [(DROP, Seen::Drop), (LAST, Seen::Last)];
    Trial {
        experiment: Experiment::SmallPool,
        people: PEOPLE_OF_A_SMALL_POOL,
        world: World {
            supply,
            ..World::default()
        },
        cases: cases
            .map(|(name, seen)| ([condition.name, name], condition, seen))
            .to_vec(),
    }
}

fn assumptions() -> Vec<Trial> {
    let trial = |(case, world)| Trial {
        experiment: Experiment::Assumptions,
        people: PEOPLE_OF_AN_ASSUMPTION,
        world,
        cases: vec![(case, CONDITIONS[LAG_10_MIN], Seen::Drop)],
    };
    worlds().into_iter().map(trial).collect()
}

/// The assumptions with the values to try, the default first.
pub fn assumed() -> Vec<[&'static str; 2]> {
    worlds().into_iter().map(|(case, _)| case).collect()
}

fn worlds() -> Vec<([&'static str; 2], World)> {
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
        (["all", "as assumed"], World::default()),
        (["order shuffled by", "0 σ"], supply(|one| one.noise = 0.0)),
        (["order shuffled by", "0.5 σ"], supply(|one| one.noise = 0.5)),
        (["order shuffled by", "1 σ"], supply(|one| one.noise = 1.0)),
        (
            ["pause between refreshes", "20 s"],
            habits(|one| one.refresh_seconds = 20.0),
        ),
        (
            ["pause between refreshes", "2 min"],
            habits(|one| one.refresh_seconds = 120.0),
        ),
        (["sessions a day", "2"], habits(|one| one.sessions_per_day = 2.0)),
        (["sessions a day", "8"], habits(|one| one.sessions_per_day = 8.0)),
        (
            ["length of a session", "4 min"],
            habits(|one| one.session_minutes = 4.0),
        ),
        (
            ["length of a session", "15 min"],
            habits(|one| one.session_minutes = 15.0),
        ),
        (["viewed of a page", "30%"], habits(|one| one.viewed = 0.3)),
        (["viewed of a page", "85%"], habits(|one| one.viewed = 0.85)),
        (["new items a day", "500"], supply(|one| one.new_per_day = 500.0)),
        (["new items a day", "5,000"], supply(|one| one.new_per_day = 5_000.0)),
        (["1 σ worse after", "6 h"], supply(|one| one.decay_days = 0.25)),
        (["1 σ worse after", "3 days"], supply(|one| one.decay_days = 3.0)),
        (["people with two devices", "none"], habits(|one| one.two_devices = 0.0)),
        (["people with two devices", "all"], habits(|one| one.two_devices = 1.0)),
        (
            ["sessions that change device", "none"],
            habits(|one| one.handed_over = 0.0),
        ),
        (
            ["sessions that change device", "40%"],
            habits(|one| one.handed_over = 0.4),
        ),
    ]
}
