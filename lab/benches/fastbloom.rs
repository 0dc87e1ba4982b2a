//! Compares a guard over five shards with five filters of the crate `fastbloom`, hashing included: which of 2,000 ids
//! //! were not seen?
//!
//! Each has many short turns, alternating, so that a disturbance of the machine affects both: the ratio is computed
//! turn //! by turn. There are many pages, since the branch predictor learns the answers of a repeated one.

mod feed;
mod turns;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fastbloom::BloomFilter;
use feed::{FALSE_POSITIVE_RATE, IDS_A_SHARD, Random};
use seenguard::device::Guard;

const PAGES: usize = 64;
const TURNS: usize = 8;

fn guard_of(seen: &[Vec<String>]) -> Guard {
    let mut guard = feed::guard();
    feed::apply(&mut guard, &feed::shards_of(seen));
    guard
}

fn filters_of(seen: &[Vec<String>]) -> Vec<BloomFilter> {
    let filter_of = |ids: &Vec<String>| {
        let mut filter = BloomFilter::with_false_pos(FALSE_POSITIVE_RATE)
            .seed(&7)
            .expected_items(IDS_A_SHARD);
        filter.insert_all(ids);
        filter
    };
    seen.iter().map(filter_of).collect()
}

/// Filters a page as a server would: queries each filter for the id until one contains it.
fn fresh(filters: &[BloomFilter], page: &[String]) -> Vec<u32> {
    let is_fresh = |id: &String| !filters.iter().any(|filter| filter.contains(id));
    (0..)
        .zip(page)
        .filter(|(_, id)| is_fresh(id))
        .map(|(index, _)| index)
        .collect()
}

/// The same with one hash per id, an optimization for filters of the same seed.
fn fresh_hashed_once(filters: &[BloomFilter], page: &[String]) -> Vec<u32> {
    let is_fresh = |id: &String| {
        let hash = filters[0].source_hash(id);
        !filters.iter().any(|filter| filter.contains_hash(hash))
    };
    (0..)
        .zip(page)
        .filter(|(_, id)| is_fresh(id))
        .map(|(index, _)| index)
        .collect()
}

/// Checks the answers before the measurement: no seen id, and nearly all others.
fn check(name: &str, fresh: &[u32], page: &[String], seen: &[Vec<String>]) {
    let was_seen = |index: &u32| seen.iter().flatten().any(|id| *id == page[*index as usize]);
    assert!(!fresh.iter().any(was_seen), "{name} lets seen ids through");
    assert!(
        fresh.len() > 1_450 && fresh.len() <= 1_500,
        "{name} stops what was not seen"
    );
}

fn filtering(criterion: &mut Criterion) {
    let mut random = Random(1);
    let seen = feed::seen(&mut random);
    let all_seen = seen.concat();
    let pages: Vec<Vec<String>> = (0..PAGES).map(|_| random.page(&all_seen)).collect();
    let mut guard = guard_of(&seen);
    let filters = filters_of(&seen);
    check("Guard", &feed::filter(&mut guard, &pages[0]), &pages[0], &seen);
    check("fastbloom", &fresh(&filters, &pages[0]), &pages[0], &seen);
    check(
        "fastbloom, hashed once",
        &fresh_hashed_once(&filters, &pages[0]),
        &pages[0],
        &seen,
    );

    let mut group = criterion.benchmark_group("filter-2000");
    for turn in 0..TURNS {
        let mut cycle = pages.iter().cycle();
        let mut next = || cycle.next().expect("a cycle does not end");
        group.bench_function(format!("guard-{turn}"), |bencher| {
            bencher.iter(|| feed::filter(&mut guard, black_box(next())));
        });
        group.bench_function(format!("fastbloom-{turn}"), |bencher| {
            bencher.iter(|| fresh(&filters, black_box(next())));
        });
        group.bench_function(format!("fastbloom-hashed-once-{turn}"), |bencher| {
            bencher.iter(|| fresh_hashed_once(&filters, black_box(next())));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = turns::short_turns();
    targets = filtering
}
criterion_main!(benches);
