//! Under which conditions one simulated user lives: drawn once from the user's seed.

use seenguard::ChainOptions;
use seenguard::device::{DEFAULT_REMEMBER, Place};

use super::chance::Chance;
use crate::random::Random;

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

/// What a user is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A stream that is late, and stands still for hours, but loses and reorders nothing: nothing may be delivered
    /// twice.
    Plain,
    /// Everything goes wrong now and then.
    Rough,
    /// Few impressions over months: what is old must leave, and not be renewed by each visit.
    Rare,
    /// Over 10,000 impressions in several tabs: the bounds of the table and of its texts.
    Heavy,
    /// Two pages that hear nothing of each other while one of them sees over 10,000 items.
    Apart,
    /// Ids so long that the texts' bytes run out before their number does.
    LongIds,
}

/// Whether snapshots have a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    Always,
    Never,
    Sometimes,
}

/// How long passes between two things that happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Seconds, seldom hours.
    Lively,
    /// Hours, seldom days.
    Slow,
}

#[derive(Debug, Clone)]
pub struct Conditions {
    pub kind: Kind,
    pub devices: usize,
    pub most_tabs: usize,
    pub window_days: f64,
    /// Recordings that are kept.
    pub remember: usize,
    pub pace: Pace,
    /// Most impressions of one refresh.
    pub most_recorded: u64,

    pub chain: ChainOptions,
    pub versions: Versions,
    /// Whether snapshots tell the server's clock.
    pub tells_clock: bool,
    /// Of a thousand snapshots so many come from a replica that lags.
    pub lagging_per_mille: u64,
    /// Whether the server's store is flushed, and its chain rebuilt with other parameters, now and then.
    pub store_fails: bool,

    /// Whether the guard delivers impressions; else the app does, by ways of its own.
    pub reports: bool,
    /// How many of a hundred pages deliver from the first; the others begin later or never.
    pub reporting_percent: u64,
    pub lost_percent: u64,
    pub duplicated_percent: u64,
    /// Whether events overtake each other.
    pub reorders: bool,
    pub least_lag_ms: u64,
    pub lag_has_mean: bool,
    /// Whether the stream stands still at times.
    pub outages: bool,
    /// Whether requests fail, and answers to them.
    pub network_fails: bool,

    /// How far the devices' time may be off at the beginning.
    pub clock_off_ms: u64,
    pub clock_jumps: bool,
    /// Whether tabs and whole browsers die.
    pub crashes: bool,
    /// Where the namespace is kept.
    pub place: Place,
    /// Of a thousand requests of the storage so many fail, and so many do not answer.
    pub fails_per_mille: u64,
    pub hangs_per_mille: u64,
    /// Whether other processes see changes of localStorage seconds later, and some tabs have another one or none.
    pub late_signals: bool,
    pub odd_tabs: bool,
    /// Whether a later version of the package leaves keys.
    pub later_version: bool,
    /// Whether the storage is full at times.
    pub fills_up: bool,
    /// Whether stored text is damaged at times.
    pub damages: bool,
    /// Whether the namespace is cleared at times.
    pub clears: bool,
    /// Whether items are unseen at times.
    pub unsees: bool,
    /// Whether the person deletes the history on the server at times.
    pub deletes: bool,
}

impl Conditions {
    pub fn draw(random: &mut Random) -> Self {
        let kind = match random.below(100) {
            0..20 => Kind::Plain,
            20..84 => Kind::Rough,
            84..95 => Kind::Rare,
            95 => Kind::Apart,
            96..99 => Kind::Heavy,
            _ => Kind::LongIds,
        };
        let mut conditions = Conditions::rough(kind, random);
        match kind {
            Kind::Plain => conditions.keep_stream_plain(),
            Kind::Rough => {}
            Kind::Rare => {
                conditions.pace = Pace::Slow;
                conditions.most_recorded = 4;
                conditions.clock_jumps = false;
                conditions.window_days = *random.pick(&[3.0, 7.0]);
            }
            Kind::Heavy | Kind::Apart | Kind::LongIds => {
                conditions.most_recorded = if kind == Kind::LongIds { 60 } else { 500 };
                conditions.devices = 1;
                conditions.most_tabs = 3;
                conditions.clears = false;
                // A server takes nothing back of over 256 bytes.
                conditions.unsees &= kind != Kind::LongIds;
                if kind == Kind::Apart {
                    conditions.pace = Pace::Lively;
                }
                conditions.window_days = *random.pick(&[3.0, 30.0]);
                conditions.remember = DEFAULT_REMEMBER;
                conditions.chain.capacity = 1000;
            }
        }
        conditions
    }

    /// Nothing goes wrong, over IndexedDB.
    pub fn quiet(random: &mut Random) -> Self {
        Conditions {
            place: Place::IndexedDb,
            window_days: 30.0,
            remember: DEFAULT_REMEMBER,
            fails_per_mille: 0,
            hangs_per_mille: 0,
            late_signals: false,
            odd_tabs: false,
            fills_up: false,
            ..Conditions::rough(Kind::Plain, random)
        }
    }

    /// Whether a few ids may be longer than a row in localStorage.
    pub fn has_long_ids(&self) -> bool {
        self.kind == Kind::LongIds
    }

    /// Whether the storage fails at times.
    pub fn fails(&self) -> bool {
        self.fails_per_mille + self.hangs_per_mille > 0 || self.fills_up || self.odd_tabs
    }

    /// How long an impression must be remembered.
    pub fn window_ms(&self) -> u64 {
        (self.window_days * 86_400.0).ceil() as u64 * SECOND
    }

    fn rough(kind: Kind, random: &mut Random) -> Self {
        Conditions {
            kind,
            devices: random.between(1, 3) as usize,
            most_tabs: random.between(1, 4) as usize,
            window_days: *random.pick(&[0.1, 0.5, 1.0, 3.0, 7.0, 30.0]),
            remember: *random.pick(&[100, 300, 1_000, DEFAULT_REMEMBER, DEFAULT_REMEMBER]),
            pace: if random.percent(75) { Pace::Lively } else { Pace::Slow },
            most_recorded: random.between(2, 12),
            chain: chain(random),
            versions: *random.pick(&[Versions::Always, Versions::Always, Versions::Never, Versions::Sometimes]),
            tells_clock: random.percent(70),
            lagging_per_mille: *random.pick(&[0, 50, 300]),
            store_fails: random.percent(30),
            reports: random.percent(65),
            reporting_percent: *random.pick(&[80, 80, 20]),
            lost_percent: *random.pick(&[0, 2, 20]),
            duplicated_percent: *random.pick(&[0, 5]),
            reorders: random.percent(60),
            least_lag_ms: *random.pick(&[100, 2 * SECOND, MINUTE]),
            lag_has_mean: random.percent(50),
            outages: random.percent(40),
            network_fails: random.percent(60),
            clock_off_ms: *random.pick(&[0, MINUTE, 3 * DAY, 400 * DAY]),
            clock_jumps: random.percent(25),
            crashes: random.percent(60),
            place: *random.pick(&[
                Place::IndexedDb,
                Place::IndexedDb,
                Place::IndexedDb,
                Place::IndexedDb,
                Place::Local,
                Place::Custom,
            ]),
            fails_per_mille: *random.pick(&[0, 0, 0, 10, 100]),
            hangs_per_mille: *random.pick(&[0, 0, 0, 5, 30]),
            late_signals: random.percent(40),
            odd_tabs: random.percent(15),
            later_version: random.percent(10),
            fills_up: random.percent(10),
            damages: random.percent(5),
            clears: random.percent(30),
            unsees: random.percent(30),
            deletes: random.percent(15),
        }
    }

    /// The stream is late and stands still, and that is all: each event arrives once and in order, and the chain
    /// forgets nothing.
    fn keep_stream_plain(&mut self) {
        self.chain = ChainOptions {
            capacity: 5_000,
            shards: 4,
            false_positive_rate: 1e-7,
            seed: self.chain.seed,
            ttl_seconds: 0,
            ..ChainOptions::default()
        };
        self.store_fails = false;
        self.deletes = false;
        self.reports = true;
        self.lost_percent = 0;
        self.duplicated_percent = 0;
        self.reorders = false;
        self.outages = true;
        self.network_fails = false;
    }
}

/// Small and large chains, some of which expire; with rates that a few thousand questions tell apart.
fn chain(random: &mut Random) -> ChainOptions {
    ChainOptions {
        capacity: *random.pick(&[100, 100, 200, 1000]),
        shards: *random.pick(&[1, 2, 3, 5, 8]),
        false_positive_rate: *random.pick(&[0.05, 0.01, 0.001, 0.0001]),
        seed: *random.pick(&[0, 0, 42]),
        ttl_seconds: *random.pick(&[0, 0, 3_600, 86_400, 10 * 86_400]),
        ..ChainOptions::default()
    }
}
