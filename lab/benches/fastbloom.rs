//! A guard over five shards next to five filters of the crate `fastbloom`, hashing included: which of these 2,000 ids
//! were not seen?
//!
//! Each has many short turns, one after the other, so that what disturbs the machine for a while disturbs both: the
//! ratio is taken turn by turn. The pages are many, since a processor learns the answers of one that comes again and
//! again.

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

/// As a server asks: each filter for the id, until one has it.
fn fresh(filters: &[BloomFilter], page: &[String]) -> Vec<u32> {
    let is_fresh = |id: &String| !filters.iter().any(|filter| filter.contains(id));
    (0..)
        .zip(page)
        .filter(|(_, id)| is_fresh(id))
        .map(|(index, _)| index)
        .collect()
}

/// The same, with the hash of an id made once: what somebody who knows the crate well writes for filters of one seed.
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

/// Each answers rightly before it is measured: nothing that was seen, and nearly all that was not.
fn check(name: &str, fresh: &[u32], page: &[String], seen: &[Vec<String>]) {
    let was_seen = |index: &u32| seen.iter().flatten().any(|id| *id == page[*index as usize]);
    assert!(!fresh.iter().any(was_seen), "{name} lets through what was seen");
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
