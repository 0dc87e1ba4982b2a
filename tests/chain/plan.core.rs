//! The figures of `plan`, compared with real chains.

use crate::common::random::Random;
use crate::common::{DAY, START, at, ids};
use seenguard::wire::{Format, Reference};
use seenguard::{ChainOptions, ChainSnapshot, Error, Plan, PlanOptions, ShardChain, plan};

/// Impressions a day, days and rates: from a few items to millions.
const USES: [(f64, f64, f64); 10] = [
    (5.0, 1.0, 0.1),
    (5.0, 1.0, 1e-6),
    (5.0, 365.0, 1e-6),
    (20.0, 90.0, 0.001),
    (150.0, 30.0, 0.005),
    (200.0, 7.0, 0.1),
    (1000.0, 14.0, 1e-4),
    (2000.0, 30.0, 0.005),
    (5000.0, 1.0, 1e-6),
    (5000.0, 365.0, 0.1),
];

fn uses() -> impl Iterator<Item = PlanOptions> {
    USES.into_iter()
        .map(|(per_day, window_days, rate)| PlanOptions::new(per_day, window_days, rate))
}

/// Uses whose chains a test can fill many times.
fn uses_of_a_person() -> impl Iterator<Item = PlanOptions> {
    uses().filter(|options| options.per_day * options.window_days < 1e5)
}

/// These options with more impressions between two refreshes: a shard is full after 25 refreshes at most.
fn with_few_refreshes(options: PlanOptions) -> PlanOptions {
    let capacity = f64::from(plan(&options).unwrap().chain.capacity);
    PlanOptions {
        per_refresh: options.per_refresh.max((capacity / 25.0).ceil()),
        ..options
    }
}

/// A chain whose every shard is full.
fn full_chain(options: ChainOptions) -> ShardChain {
    let mut chain = ShardChain::new(options).unwrap();
    let mut number = 0;
    while chain.shards().count() < options.shards || chain.shards().any(|shard| shard.count < options.capacity) {
        let missing = chain
            .shards()
            .next()
            .map_or(options.capacity, |newest| match options.capacity - newest.count {
                0 => options.capacity,
                missing => missing,
            });
        chain
            .record(&ids("seen", number..number + missing as usize), at(START))
            .unwrap();
        number += missing as usize;
    }
    chain
}

fn json_bytes(snapshot: &ChainSnapshot) -> f64 {
    serde_json::to_string(snapshot).unwrap().len() as f64
}

fn held(snapshot: &ChainSnapshot) -> String {
    Reference::join(
        snapshot
            .shards
            .iter()
            .map(|text| Reference::of(Format::Native, text.as_bytes())),
    )
}

/// The bytes of a refresh, and of the request's `Seen-Held`: the means while some shards become full.
fn refresh_bytes(options: ChainOptions, per_refresh: u64) -> (f64, f64) {
    const SHARDS: u64 = 8;
    let mut random = Random::seeded(15);
    let mut chain = full_chain(options);
    let refreshes = (SHARDS * u64::from(options.capacity)).div_ceil(per_refresh).max(100);
    let (mut down, mut up, mut shown) = (0.0, 0.0, 0);
    for _ in 0..refreshes {
        let held = held(&chain.snapshot(at(START), None).unwrap());
        let count = 1 + random.below(2 * per_refresh - 1) as usize;
        chain.record(&ids("shown", shown..shown + count), at(START)).unwrap();
        down += json_bytes(&chain.snapshot(at(START), Some(&held)).unwrap());
        up += held.len() as f64;
        shown += count;
    }
    (down / refreshes as f64, up / refreshes as f64)
}

/// The tolerance is larger for filters of a few items, whose fill varies more.
fn tolerance(plan: &Plan, usual: f64, of_few_items: f64) -> f64 {
    if plan.chain.capacity < 100 { of_few_items } else { usual }
}

fn assert_near(measured: f64, planned: f64, tolerance: f64, what: &str, options: &PlanOptions) {
    assert!(
        (measured / planned - 1.0).abs() <= tolerance,
        "{what}: measured {measured}, planned {planned}, {options:?}"
    );
}

#[test]
fn the_store_and_the_first_page_have_the_planned_bytes() {
    for options in uses() {
        let plan = plan(&options).unwrap();
        let snapshot = full_chain(plan.chain).snapshot(at(START), None).unwrap();
        let stored: usize = snapshot.shards.iter().map(String::len).sum();
        assert_near(stored as f64, plan.bytes_stored as f64, 0.02, "stored", &options);
        assert_near(
            json_bytes(&snapshot),
            plan.bytes_first_page as f64,
            0.02,
            "first page",
            &options,
        );
    }
}

#[test]
fn a_refresh_has_the_planned_bytes() {
    for options in uses_of_a_person().map(with_few_refreshes) {
        let plan = plan(&options).unwrap();
        let (down, _) = refresh_bytes(plan.chain, options.per_refresh as u64);
        let tolerance = tolerance(&plan, 0.03, 0.1);
        assert_near(down, plan.bytes_refresh as f64, tolerance, "refresh", &options);
    }
}

#[test]
fn other_numbers_of_shards_move_more_bytes_a_refresh() {
    let options = PlanOptions::new(150.0, 30.0, 0.005);
    let planned = plan(&options).unwrap().chain;
    let moved = |shards: usize| {
        let window = f64::from(planned.capacity) * (planned.shards - 1) as f64;
        let (down, up) = refresh_bytes(
            ChainOptions {
                capacity: (window / (shards - 1) as f64).ceil() as u32,
                shards,
                false_positive_rate: options.false_positive_rate / shards as f64,
                ..planned
            },
            options.per_refresh as u64,
        );
        down + up
    };
    let least = moved(planned.shards);
    for shards in [5, 10, planned.shards - 6, planned.shards + 6, 32] {
        assert!(moved(shards) > least, "{shards} shards");
    }
}

/// The number of `count` items that are new to a chain and that it stops.
fn stopped(chain: &ShardChain, count: usize) -> f64 {
    (count - chain.filter(&ids("fresh", 0..count), None, at(START)).unwrap().len()) as f64
}

#[test]
fn i3_full_shards_stop_the_planned_share_of_fresh_items() {
    const QUERIES: usize = 400_000;
    for options in uses().filter(|options| options.false_positive_rate >= 0.001) {
        let plan = plan(&options).unwrap();
        let rate = stopped(&full_chain(plan.chain), QUERIES) / QUERIES as f64;
        let tolerance = tolerance(&plan, 0.12, 0.3);
        assert_near(rate, plan.rate_when_full, tolerance, "rate", &options);
        assert_near(plan.rate_when_full, options.false_positive_rate, 0.02, "rate", &options);
    }
}

#[test]
fn after_the_first_day_the_share_is_the_planned_one() {
    const QUERIES: usize = 400_000;
    for options in [PlanOptions::new(1000.0, 2.0, 0.05), PlanOptions::new(2000.0, 3.0, 0.1)] {
        let plan = plan(&options).unwrap();
        let mut chain = ShardChain::new(plan.chain).unwrap();
        chain
            .record(&ids("seen", 0..options.per_day as usize), at(START))
            .unwrap();
        assert_near(
            stopped(&chain, QUERIES) / QUERIES as f64,
            plan.rate_when_young,
            0.12,
            "rate",
            &options,
        );
    }
}

/// Records `per_day` items on each day of two windows, and calls `check` with the last window's at the end of each day.
fn live(plan: &Plan, options: &PlanOptions, per_day: usize, check: impl Fn(&ShardChain, &[String], u64)) {
    const VISITS: u64 = 8;
    let mut chain = ShardChain::new(plan.chain).unwrap();
    let window = options.window_days as usize;
    let mut shown: Vec<String> = Vec::new();
    for day in 0..2 * window {
        let begin = START + day as u64 * DAY;
        let items = ids("item", day * per_day..(day + 1) * per_day);
        for (visit, items) in (0..).zip(items.chunks(per_day.div_ceil(VISITS as usize))) {
            chain.record(items, at(begin + visit * DAY / VISITS)).unwrap();
        }
        shown.extend(items);
        let first = shown.len().saturating_sub(window * per_day);
        check(&chain, &shown[first..], begin + DAY - 1);
    }
}

#[test]
fn nothing_of_the_window_is_forgotten_by_count_even_if_its_days_are_busier() {
    for options in uses_of_a_person() {
        let plan = plan(&options).unwrap();
        let busier = options.per_day * (1.0 + 1.0 / options.window_days.sqrt());
        live(&plan, &options, busier as usize, |chain, window, now| {
            assert!(chain.filter(window, None, at(now)).unwrap().is_empty(), "{options:?}");
        });
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let usual = PlanOptions::new(150.0, 30.0, 0.005);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for options in [
            PlanOptions {
                per_day: wrong,
                ..usual
            },
            PlanOptions {
                window_days: wrong,
                ..usual
            },
            PlanOptions {
                false_positive_rate: wrong,
                ..usual
            },
            PlanOptions {
                per_refresh: wrong,
                ..usual
            },
        ] {
            assert!(matches!(plan(&options), Err(Error::BadOption(_))), "{options:?}");
        }
    }
    for (window_days, rate) in [(30.0 / 86_400.0, 0.005), (11_575.0, 0.005), (30.0, 1.0)] {
        assert!(matches!(
            plan(&PlanOptions::new(150.0, window_days, rate)),
            Err(Error::BadOption(_))
        ));
    }
    plan(&PlanOptions::new(150.0, 1.0 / 1440.0, 0.005)).unwrap();
    plan(&PlanOptions::new(0.1, 11_574.0, 0.005)).unwrap();
}

#[test]
fn options_that_fit_no_chain_are_refused_with_a_remedy() {
    for (per_day, window_days, rate) in [(5000.0, 365.0, 1e-6), (1e12, 1.0, 0.5), (f64::MAX, 365.0, 0.1)] {
        let refused = plan(&PlanOptions::new(per_day, window_days, rate)).unwrap_err();
        assert_eq!(refused.code(), "too-large");
        assert!(refused.to_string().contains("fewer days"));
    }
    for rate in [1e-12, f64::MIN_POSITIVE] {
        let refused = plan(&PlanOptions::new(150.0, 30.0, rate)).unwrap_err();
        assert_eq!(refused.code(), "bad-parameters");
        assert!(refused.to_string().contains("raise it"));
    }
}
