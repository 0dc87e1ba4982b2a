//! A server's work with a user's five full shards: a page of 2,000 candidates from the stored strings, and an update
//! //! with ten impressions.

mod feed;
mod turns;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use feed::{Random, TIME};
use seenguard::{ChainOptions, ChainSnapshot, ShardChain};

const PAGES: usize = 64;
const TURNS: usize = 8;
/// The impressions of one update.
const RECORDED: usize = 10;

fn restored(texts: &[String]) -> ShardChain {
    let options = ChainOptions {
        capacity: feed::IDS_A_SHARD as u32,
        shards: feed::SHARDS,
        false_positive_rate: feed::FALSE_POSITIVE_RATE,
        ..ChainOptions::default()
    };
    let (chain, rejected) = ShardChain::from_shards(texts, options).expect("these options are in their ranges");
    assert!(rejected.is_empty(), "{rejected:?}");
    chain
}

fn snapshot(chain: &ShardChain) -> ChainSnapshot {
    chain.snapshot(TIME, None).expect("a chain can be written")
}

/// Makes a page. Returns the fresh candidates and the snapshot.
fn request(texts: &[String], page: &[String]) -> (Vec<u32>, ChainSnapshot) {
    let chain = restored(texts);
    let fresh = chain.filter(page, None, TIME).expect("there is memory for a page");
    (fresh, snapshot(&chain))
}

/// Records impressions. Returns the shards to store.
fn update(texts: &[String], ids: &[String]) -> ChainSnapshot {
    let mut chain = restored(texts);
    chain.record(ids, TIME).expect("there is memory for the shards");
    snapshot(&chain)
}

fn serving(criterion: &mut Criterion) {
    let mut random = Random(1);
    let seen = feed::seen(&mut random);
    let texts = feed::shards_of(&seen);
    let all_seen = seen.concat();
    let pages: Vec<Vec<String>> = (0..PAGES).map(|_| random.page(&all_seen)).collect();
    let ids = random.ids(RECORDED);
    let (fresh, shipped) = request(&texts, &pages[0]);
    assert!((1_450..=1_500).contains(&fresh.len()) && shipped.shards == texts);
    assert!(update(&texts, &ids).version > shipped.version);

    let mut group = criterion.benchmark_group("server");
    for turn in 0..TURNS {
        let mut cycle = pages.iter().cycle();
        let mut next = || cycle.next().expect("a cycle does not end");
        group.bench_function(format!("request-{turn}"), |bencher| {
            bencher.iter(|| request(black_box(&texts), next()));
        });
        group.bench_function(format!("update-{turn}"), |bencher| {
            bencher.iter(|| update(black_box(&texts), black_box(&ids)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = turns::short_turns();
    targets = serving
}
criterion_main!(benches);
