//! Runs all users on all cores, and reports which one failed, how, and how to reproduce it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::random::Random;
use crate::simulation::conditions::Kind;
use crate::simulation::statistics::Tally;
use crate::simulation::world::World;

const MASTER_SEED: u64 = 0x5EE9_0A2D;
const USERS: usize = 1_000;
const REFRESHES: usize = 100;
/// With this number of users a run must have met every situation.
const ENOUGH_USERS: usize = 300;

/// The situations that a run must have met.
const SITUATIONS: [&str; 41] = [
    "a batch fails",
    "a damaged row is refused",
    "a damaged snapshot is refused",
    "a deletion of the history is applied",
    "a device's unsee reaches the server",
    "a false positive covers an impression",
    "a list decides again what was made unseen",
    "a namespace is cleared",
    "a page leaves out what another device has shown",
    "a recording changes while it is saved",
    "a save fails",
    "a save takes several rows",
    "a shard alone stops what this device has forgotten",
    "a shipped shard is past its expiry",
    "a snapshot refers to a shard that is not held",
    "a stash is read",
    "a stash is removed",
    "a tab dies while it saves",
    "a tab learns of a clear",
    "a user is Heavy",
    "a user is LongIds",
    "a user is Rare",
    "a user is Rough",
    "an impression is delivered again",
    "an impression is forgotten after as many others as are remembered",
    "an impression is forgotten after the window",
    "an impression is remembered after as many others as may be",
    "an impression is remembered to the window's last millisecond",
    "an impression loses its text for lack of room",
    "an impression was delivered",
    "an item is recorded that no server learns of",
    "an item is unseen",
    "an item that the server made unseen passes a shard that contains it",
    "an item that was made unseen passes a shard that contains it",
    "an older snapshot is refused",
    "nearly 5,000 impressions are pending",
    "pending ends at 0",
    "rows are compacted",
    "the server refuses a late impression",
    "the server unsees an item",
    "what a tab recorded before its first load outlives a clear",
];

pub struct Settings {
    seeds: Vec<u64>,
    refreshes: usize,
    traces: bool,
}

impl Settings {
    pub fn from_environment() -> Self {
        let one = number("SEENGUARD_SEED");
        let users = number("SEENGUARD_USERS").map_or(USERS, |users| users as usize);
        let mut master = Random::seeded(number("SEENGUARD_MASTER").unwrap_or(MASTER_SEED));
        Settings {
            seeds: one.map_or_else(|| (0..users).map(|_| master.next()).collect(), |seed| vec![seed]),
            refreshes: number("SEENGUARD_REFRESHES").map_or(REFRESHES, |refreshes| refreshes as usize),
            traces: one.is_some() && number("SEENGUARD_TRACE").is_some(),
        }
    }
}

/// A setting that is a whole number.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")),
    )
}

#[derive(Default)]
struct Outcome {
    tally: Tally,
    /// The seeds of those that failed, with what failed.
    failures: Vec<(u64, String)>,
}

/// Simulates all users, until one fails.
///
/// # Panics
/// If a property did not hold, with the seed of the user.
pub fn simulate(settings: &Settings) {
    let users = settings.seeds.len();
    if users > 1 {
        // A failure is printed in the end, with the seed.
        std::panic::set_hook(Box::new(|_| {}));
    }
    let outcome = Mutex::new(Outcome::default());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(users);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&seed) = settings.seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (tally, failure) = live(seed, settings);
                    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                    outcome.tally.add(&tally);
                    outcome.failures.extend(failure.map(|what| (seed, what)));
                    if !outcome.failures.is_empty() {
                        return;
                    }
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let Outcome { tally, failures } = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{users} users of {} refreshes\n{}", settings.refreshes, tally.report());
    if let Some((seed, what)) = failures.first() {
        panic!(
            "{what}\nsee it again: SEENGUARD_SEED={seed} SEENGUARD_REFRESHES={} cargo test --test simulation",
            settings.refreshes
        );
    }
    let unexplained = tally.unexplained(users);
    assert!(
        unexplained.is_empty(),
        "statistics: over all users chance does not explain {unexplained:?}"
    );
    let missing: Vec<_> = SITUATIONS
        .iter()
        .filter(|what| !tally.reached.contains_key(**what))
        .collect();
    assert!(
        users < ENOUGH_USERS || missing.is_empty(),
        "the run proves too little: in it never {missing:?}"
    );
}

/// One user's life, and what failed. A property that does not hold panics, as does whatever is wrong in the core.
fn live(seed: u64, settings: &Settings) -> (Tally, Option<String>) {
    let mut world = World::new(seed, Random::seeded(seed), settings.traces);
    world.tally.reach(match world.conditions.kind {
        Kind::Rough => "a user is Rough",
        Kind::Rare => "a user is Rare",
        Kind::Heavy => "a user is Heavy",
        Kind::LongIds => "a user is LongIds",
    });
    let lived = catch_unwind(AssertUnwindSafe(|| world.live(settings.refreshes)));
    let unexplained = world.tally.unexplained(settings.seeds.len());
    let failure = match lived {
        Err(panic) => Some(format!(
            "{}\nthe latest events:\n  {}",
            message_of(&*panic),
            world.latest_events()
        )),
        Ok(()) if !unexplained.is_empty() => Some(format!("statistics: chance does not explain {unexplained:?}")),
        Ok(()) => None,
    };
    let conditions = &world.conditions;
    (world.tally, failure.map(|what| format!("{what}\n{conditions:?}")))
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic".to_owned())
}
