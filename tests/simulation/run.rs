//! Runs all users on all cores, and says which one failed, how, and how to see it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::random::Random;
use crate::simulation::statistics::Tally;
use crate::simulation::world::World;

const MASTER_SEED: u64 = 0x5EE9_0A2D;
const USERS: usize = 1_000;
const REFRESHES: usize = 100;
/// Failures that are told; more of them say nothing new.
const MOST_FAILURES: usize = 5;
/// With so many users a run must have reached everything that it is to prove.
const ENOUGH_USERS: usize = 300;

/// What a run must have met.
const TO_BE_REACHED: [&str; 56] = [
    "a batch fails",
    "a clear is done",
    "a damaged snapshot is refused",
    "a damaged stored snapshot is refused",
    "a deletion of the history is taken",
    "a device's unsee reaches the server",
    "a false positive covers an impression",
    "a key vanishes between listing and reading",
    "a list decides anew what was made unseen",
    "a page hides",
    "a page leaves out what another device has shown",
    "a promise outlives its page and a coverage",
    "a row is moved out of localStorage",
    "a row is written into localStorage",
    "a shard alone stops what this device has forgotten",
    "a shipped shard is past its expiry",
    "a snapshot is stored",
    "a snapshot refers to a shard that is not held",
    "a stored snapshot is refused",
    "a stored snapshot is taken over",
    "a tab dies in the midst of a clear",
    "a tab dies in the midst of a pass",
    "a tab drops its snapshot for a deletion that another tells of",
    "a tab learns of a clear",
    "a transaction fails",
    "a transaction is complete too late",
    "a transaction never answers",
    "a user is Apart",
    "a user is Heavy",
    "a user is LongIds",
    "a user is Plain",
    "a user is Rare",
    "a user is Rough",
    "an idle namespace is removed",
    "an impression from before the first delivery was delivered",
    "an impression is delivered again",
    "an impression is forgotten after as many others as are remembered",
    "an impression is forgotten after the window",
    "an impression is remembered after as many others as may be",
    "an impression is remembered to the window's last millisecond",
    "an impression loses its text for want of room",
    "an impression was delivered",
    "an item is recorded that no server learns of",
    "an item is unseen",
    "an item that the server made unseen passes a shard that contains it",
    "an item that was made unseen passes a shard that contains it",
    "an older snapshot is refused",
    "damaged text is set aside",
    "IndexedDB is not open",
    "nearly 5,000 impressions are pending",
    "pending ends at 0",
    "rows are compacted",
    "the oldest rows in localStorage are dropped",
    "the server refuses a late impression",
    "the server unsees an item",
    "there is no room",
];

/// What only a long run reaches for certain, of so many users.
const RARELY_REACHED: [&str; 2] = [
    "a clear finds a higher number",
    "what a tab recorded before it learned of a clear is kept",
];
const MANY_USERS: usize = 1_000;

pub struct Settings {
    seeds: Vec<u64>,
    refreshes: usize,
    traces: bool,
    is_whole: bool,
}

impl Settings {
    pub fn from_environment() -> Self {
        let one = number("SEENGUARD_SEED");
        let users = number("SEENGUARD_USERS").map_or(USERS, |users| users as usize);
        let mut master = Random::seeded(number("SEENGUARD_MASTER").unwrap_or(MASTER_SEED));
        let seeds = match one {
            Some(seed) => vec![seed],
            None => (0..users).map(|_| master.next()).collect(),
        };
        Settings {
            is_whole: one.is_none() && users >= ENOUGH_USERS,
            seeds,
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

struct Failure {
    user: usize,
    seed: u64,
    what: String,
}

#[derive(Default)]
struct Outcome {
    tally: Tally,
    failures: Vec<Failure>,
}

/// Simulates all users.
///
/// # Panics
/// If a property did not hold, with the seeds of the users.
pub fn simulate(settings: &Settings) {
    if settings.seeds.len() > 1 {
        // What went wrong is told in the end, with the seed.
        std::panic::set_hook(Box::new(|_| {}));
    }
    let outcome = Mutex::new(Outcome::default());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(settings.seeds.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let user = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = settings.seeds.get(user) else { return };
                    let (tally, failure) = live(user, seed, settings);
                    if let Some(Failure { user, seed, what }) = &failure {
                        println!("SEENGUARD_SEED={seed} (user {user}) fails: {what}\n");
                    }
                    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                    outcome.tally.add(&tally);
                    outcome.failures.extend(failure);
                    if outcome.failures.len() >= MOST_FAILURES {
                        return;
                    }
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    judge(outcome.into_inner().unwrap_or_else(PoisonError::into_inner), settings);
}

/// One user's life. A property that does not hold panics, as does whatever is wrong in the core.
fn live(user: usize, seed: u64, settings: &Settings) -> (Tally, Option<Failure>) {
    let mut world = World::new(seed, Random::seeded(seed), settings.traces);
    let kind = world.conditions.kind;
    world.tally.reach(match kind {
        crate::simulation::conditions::Kind::Plain => "a user is Plain",
        crate::simulation::conditions::Kind::Rough => "a user is Rough",
        crate::simulation::conditions::Kind::Rare => "a user is Rare",
        crate::simulation::conditions::Kind::Heavy => "a user is Heavy",
        crate::simulation::conditions::Kind::Apart => "a user is Apart",
        crate::simulation::conditions::Kind::LongIds => "a user is LongIds",
    });
    let lived = catch_unwind(AssertUnwindSafe(|| world.live(settings.refreshes)));
    let what = match lived {
        Err(panic) => format!(
            "{}\n{:?}\nthe last of it:\n  {}",
            message_of(&*panic),
            world.conditions,
            world.last_events()
        ),
        Ok(()) => {
            let unexplained = world.tally.unexplained(settings.seeds.len());
            if unexplained.is_empty() {
                return (world.tally, None);
            }
            format!(
                "statistics: chance does not explain {unexplained:?}\n{:?}",
                world.conditions
            )
        }
    };
    (world.tally, Some(Failure { user, seed, what }))
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic".to_owned())
}

fn judge(outcome: Outcome, settings: &Settings) {
    println!("{} users of {} refreshes", settings.seeds.len(), settings.refreshes);
    println!("{}", outcome.tally.report());
    if let Some(failure) = outcome.failures.iter().min_by_key(|failure| failure.user) {
        let what = failure.what.lines().next().unwrap_or_default();
        panic!(
            "{what}\nsee it again: SEENGUARD_SEED={} SEENGUARD_REFRESHES={} cargo test --test simulation",
            failure.seed, settings.refreshes
        );
    }
    let unexplained = outcome.tally.unexplained(settings.seeds.len());
    assert!(
        unexplained.is_empty(),
        "statistics: over all users chance does not explain {unexplained:?}"
    );
    let is_missing = |what: &&&str| !outcome.tally.reached.contains_key(**what);
    let rare = RARELY_REACHED.iter().filter(|_| settings.seeds.len() >= MANY_USERS);
    let missing: Vec<_> = TO_BE_REACHED.iter().chain(rare).filter(is_missing).collect();
    assert!(
        !settings.is_whole || missing.is_empty(),
        "the run proves too little: in it never {missing:?}"
    );
}
