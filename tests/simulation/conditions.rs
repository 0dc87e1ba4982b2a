//! The conditions under which one simulated user lives, drawn once from the user's seed.

use seenguard::ChainOptions;
use seenguard::device::DEFAULT_REMEMBER;

use super::chance::Chance;
use crate::random::Random;

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

/// The purpose of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All kinds of failures occur.
    Rough,
    /// Few impressions over months: old ones must expire, and a visit must not renew them.
    Rare,
    /// Over 10,000 impressions in several tabs: the limits of the table and of its texts.
    Heavy,
    /// Ids so long that the bytes of the texts run out before their number does.
    LongIds,
}

#[derive(Debug, Clone)]
pub struct Conditions {
    pub kind: Kind,
    pub devices: usize,
    pub most_tabs: usize,
    pub window_days: f64,
    pub remember: usize,
    /// Whether hours pass between two events, not seconds.
    pub is_slow: bool,
    /// Most impressions of one refresh.
    pub most_recorded: u64,

    pub chain: ChainOptions,
    /// How many of a hundred snapshots have a version.
    pub versioned_percent: u64,
    /// Whether snapshots have the server's time.
    pub has_server_time: bool,
    /// How many of a thousand snapshots come from a replica that lags.
    pub lagging_per_mille: u64,
    /// Whether the server's store is flushed, rolled back or read again at times.
    pub store_fails: bool,

    /// Whether the guard delivers impressions; otherwise the app reports them itself.
    pub reports: bool,
    /// How many of a hundred pages deliver from the start.
    pub reporting_percent: u64,
    pub lost_percent: u64,
    pub duplicated_percent: u64,
    /// Whether events overtake each other.
    pub reorders: bool,
    pub least_lag_ms: u64,
    pub lag_has_mean: bool,
    /// Whether the stream stops at times.
    pub outages: bool,
    /// Whether requests fail, and responses to them.
    pub network_fails: bool,

    /// How far the devices' clocks may be off at first.
    pub clock_off_ms: u64,
    pub clock_jumps: bool,
    /// Whether tabs and whole browsers die.
    pub crashes: bool,
    /// How many of a hundred saves fail, or seem to.
    pub failing_percent: u64,
    pub clears: bool,
    pub unsees: bool,
    /// Whether the person deletes the history on the server at times.
    pub deletes: bool,
}

impl Conditions {
    pub fn draw(random: &mut Random) -> Self {
        let kind = match random.below(100) {
            0..84 => Kind::Rough,
            84..95 => Kind::Rare,
            95..99 => Kind::Heavy,
            _ => Kind::LongIds,
        };
        let mut conditions = Conditions::rough(kind, random);
        match kind {
            Kind::Rough => {}
            Kind::Rare => {
                conditions.is_slow = true;
                conditions.most_recorded = 4;
                conditions.clock_jumps = false;
                conditions.window_days = *random.pick(&[3.0, 7.0]);
            }
            Kind::Heavy | Kind::LongIds => {
                conditions.most_recorded = if kind == Kind::LongIds { 60 } else { 500 };
                conditions.devices = 1;
                conditions.most_tabs = 3;
                conditions.clears = false;
                // A server accepts no unseen id of over 256 bytes.
                conditions.unsees &= kind != Kind::LongIds;
                conditions.window_days = *random.pick(&[3.0, 30.0]);
                conditions.remember = DEFAULT_REMEMBER;
                conditions.chain.capacity = 1000;
            }
        }
        conditions
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
            remember: *random.pick(&[100, 300, 1_000, DEFAULT_REMEMBER]),
            is_slow: random.percent(25),
            most_recorded: random.between(2, 12),
            chain: chain(random),
            versioned_percent: *random.pick(&[100, 100, 0, 50]),
            has_server_time: random.percent(70),
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
            failing_percent: *random.pick(&[0, 10, 50]),
            clears: random.percent(30),
            unsees: random.percent(30),
            deletes: random.percent(15),
        }
    }
}

/// Small and large chains, some of which expire; with rates that a few thousand queries distinguish.
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
