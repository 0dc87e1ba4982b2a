//! The simulated people: the times and devices of their sessions, their refreshes and impressions.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal, Poisson};

pub const SECOND_MS: u64 = 1_000;
pub const MINUTE_MS: u64 = 60 * SECOND_MS;
pub const HOUR_MS: u64 = 60 * MINUTE_MS;
pub const DAY_MS: u64 = 24 * HOUR_MS;

/// Midnight of the first simulated day, Unix milliseconds.
pub const FIRST_DAY_MS: u64 = 20_000 * DAY_MS;

/// Hours in which sessions begin.
const WAKING_HOURS: std::ops::Range<u64> = 7..23;
/// The spread of sessions per day between people, and of session lengths and of pauses: σ of a lognormal distribution.
const SPREAD_OF_SESSIONS: f64 = 0.5;
const SPREAD_OF_MINUTES: f64 = 0.6;
const SPREAD_OF_PAUSES: f64 = 0.9;
/// The pause between the two parts of a session that changes the device.
const HAND_OVER_MS: u64 = 30 * SECOND_MS;

/// The average behavior of people. lab/README.md has the source of each figure.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    pub sessions_per_day: f64,
    pub session_minutes: f64,
    /// The median of the pauses between two refreshes, which are 10 s to 10 minutes.
    pub refresh_seconds: f64,
    pub page_size: (usize, usize),
    /// The share of a page's items that become impressions.
    pub viewed: f64,
    /// The share of the items within the scroll depth that become impressions.
    pub noticed: f64,
    /// The share of people with two devices.
    pub two_devices: f64,
    /// The share of their sessions that begin on the second device.
    pub on_second: f64,
    /// The share of their sessions that begin on one device and end on the other.
    pub handed_over: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Habits {
            sessions_per_day: 4.0,
            session_minutes: 8.0,
            refresh_seconds: 45.0,
            page_size: (10, 20),
            viewed: 0.57,
            noticed: 0.9,
            two_devices: 0.6,
            on_second: 0.3,
            handed_over: 0.1,
        }
    }
}

/// One refresh: a page of `size` items is requested and looked at until the next refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refresh {
    pub at: u64,
    pub device: usize,
    pub size: usize,
    /// The number of items that the person scrolls through.
    pub depth: usize,
    /// Bit i is set if the item at index i gets attention when it is within the depth.
    pub attention: u64,
    /// The time until the person refreshes again or leaves.
    pub pause_ms: u64,
}

impl Refresh {
    /// The indices of the items that become impressions, out of a list of `shown` items, with their times.
    pub fn impressions(&self, shown: usize) -> impl Iterator<Item = (usize, u64)> {
        let depth = self.depth.min(shown) as u64;
        let noticed = (0..depth).filter(|index| self.attention >> index & 1 == 1);
        noticed.map(move |index| (index as usize, self.at + self.pause_ms * (index + 1) / (depth + 2)))
    }
}

/// A person's refreshes over some days, in order of time.
#[derive(Debug, Clone)]
pub struct Person {
    pub devices: usize,
    pub refreshes: Vec<Refresh>,
}

impl Person {
    /// Draws a person. The same seed gives the same one.
    pub fn new(habits: &Habits, days: u64, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let devices = if rng.random_bool(habits.two_devices) { 2 } else { 1 };
        let sessions_per_day = log_normal(habits.sessions_per_day, SPREAD_OF_SESSIONS).sample(&mut rng);
        let mut refreshes = Vec::new();
        for day in 0..days {
            live_a_day(habits, devices, sessions_per_day, day, &mut rng, &mut refreshes);
        }
        Person { devices, refreshes }
    }
}

fn live_a_day(
    habits: &Habits,
    devices: usize,
    sessions: f64,
    day: u64,
    rng: &mut StdRng,
    refreshes: &mut Vec<Refresh>,
) {
    let count = Poisson::new(sessions).map_or(0.0, |poisson| poisson.sample(rng)) as usize;
    let hours = WAKING_HOURS.start * HOUR_MS..WAKING_HOURS.end * HOUR_MS;
    let mut starts: Vec<u64> = (0..count).map(|_| rng.random_range(hours.clone())).collect();
    starts.sort_unstable();
    for start in starts {
        let mut at = (FIRST_DAY_MS + day * DAY_MS + start).max(refreshes.last().map_or(0, next_after));
        let minutes = log_normal(habits.session_minutes, SPREAD_OF_MINUTES).sample(rng);
        let length = (minutes * MINUTE_MS as f64) as u64;
        let mut device = usize::from(devices == 2 && rng.random_bool(habits.on_second));
        if devices == 2 && rng.random_bool(habits.handed_over) {
            refresh_until(at + length / 2, at, device, habits, rng, refreshes);
            at = refreshes.last().map_or(at, next_after).max(at + length / 2) + HAND_OVER_MS;
            device = 1 - device;
            refresh_until(at + length / 2, at, device, habits, rng, refreshes);
        } else {
            refresh_until(at + length, at, device, habits, rng, refreshes);
        }
    }
}

/// Adds refreshes until a time, at least one.
fn refresh_until(
    end: u64,
    mut at: u64,
    device: usize,
    habits: &Habits,
    rng: &mut StdRng,
    refreshes: &mut Vec<Refresh>,
) {
    let pauses = LogNormal::new(habits.refresh_seconds.ln(), SPREAD_OF_PAUSES).ok();
    loop {
        let pause = pauses.map_or(habits.refresh_seconds, |pauses| pauses.sample(rng));
        let size = rng.random_range(habits.page_size.0..=habits.page_size.1);
        let refresh = Refresh {
            at,
            device,
            size,
            depth: depth(habits, size, rng),
            attention: (0..u64::BITS).fold(0, |bits, bit| bits | u64::from(rng.random_bool(habits.noticed)) << bit),
            pause_ms: (pause.clamp(10.0, 600.0) * SECOND_MS as f64) as u64,
        };
        refreshes.push(refresh);
        at = next_after(&refresh);
        if at >= end {
            return;
        }
    }
}

/// Draws a scroll depth: a power of a uniform share of the list, with the mean `viewed / noticed`.
fn depth(habits: &Habits, size: usize, rng: &mut StdRng) -> usize {
    let mean = (habits.viewed / habits.noticed).min(1.0);
    let share = rng.random::<f64>().powf(1.0 / mean - 1.0);
    (share * size as f64).round() as usize
}

fn next_after(refresh: &Refresh) -> u64 {
    refresh.at + refresh.pause_ms
}

/// The lognormal distribution with this mean.
fn log_normal(mean: f64, spread: f64) -> LogNormal<f64> {
    let log_of_median = mean.ln() - spread * spread / 2.0;
    LogNormal::new(log_of_median, spread).expect("the spread is a constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEOPLE: u64 = 1_000;
    const DAYS: u64 = 5;

    fn people() -> Vec<Person> {
        (0..PEOPLE)
            .map(|seed| Person::new(&Habits::default(), DAYS, seed))
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_person() {
        let person = || Person::new(&Habits::default(), DAYS, 7).refreshes;
        assert_eq!(person(), person());
    }

    #[test]
    fn people_look_at_as_much_of_a_page_as_is_assumed() {
        let (mut viewed, mut requested) = (0, 0);
        for refresh in people().iter().flat_map(|person| &person.refreshes) {
            viewed += refresh.impressions(refresh.size).count();
            requested += refresh.size;
        }
        let share = viewed as f64 / requested as f64;
        assert!((share - Habits::default().viewed).abs() < 0.02, "{share}");
    }

    #[test]
    fn people_open_the_feed_as_often_as_is_assumed() {
        // A few sessions follow each other without a pause, and count as one.
        let sessions = |person: &Person| {
            let pairs = person.refreshes.windows(2);
            1 + pairs
                .filter(|pair| pair[1].at > next_after(&pair[0]) + HAND_OVER_MS)
                .count()
        };
        let all: usize = people()
            .iter()
            .filter(|person| !person.refreshes.is_empty())
            .map(sessions)
            .sum();
        let a_day = all as f64 / (PEOPLE * DAYS) as f64;
        assert!((a_day - Habits::default().sessions_per_day).abs() < 0.4, "{a_day}");
    }

    #[test]
    fn an_impression_lies_between_its_page_and_the_next() {
        for person in people() {
            for pair in person.refreshes.windows(2) {
                assert!(next_after(&pair[0]) <= pair[1].at);
                assert!(
                    pair[0]
                        .impressions(64)
                        .all(|(_, at)| pair[0].at < at && at < pair[1].at)
                );
            }
        }
    }
}
