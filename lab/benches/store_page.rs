//! A page of 2,000 candidates by the store in memory, beside what the core does for it: five full shards from their
//! texts, filtering, and the snapshot to ship.

mod feed;
mod turns;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use feed::{Random, TIME};
use seenguard::{ChainOptions, ChainSnapshot, PageRequest, ShardChain};
use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
use tokio::runtime::Builder;

const PAGES: usize = 64;
const TURNS: usize = 8;
const SIZE: usize = 20;

fn options() -> ChainOptions {
    ChainOptions {
        capacity: feed::IDS_A_SHARD as u32,
        shards: feed::SHARDS,
        false_positive_rate: feed::FALSE_POSITIVE_RATE,
        ..ChainOptions::default()
    }
}

fn by_core(texts: &[String], page: &[String]) -> (Vec<u32>, ChainSnapshot) {
    let (chain, rejected) = ShardChain::from_shards(texts, options()).expect("these options are in their ranges");
    assert!(rejected.is_empty(), "{rejected:?}");
    let fresh = chain.filter(page, None, TIME).expect("there is memory for a page");
    (fresh, chain.snapshot(TIME, None).expect("a chain can be written"))
}

fn paging(criterion: &mut Criterion) {
    let mut random = Random(1);
    let seen = feed::seen(&mut random);
    let pages: Vec<Vec<String>> = (0..PAGES).map(|_| random.page(&seen.concat())).collect();
    let runtime = Builder::new_current_thread().build().expect("a thread can wait");
    let options = StoreOptions::new().chain(options()).clock(|| TIME);
    let store = SeenStore::new(MemoryStore::default(), options).expect("these options are in their ranges");
    let texts = runtime.block_on(async {
        for shard in &seen {
            let recorded = store.update("ada", |chain, now| chain.record(shard, now)).await;
            recorded.expect("there is memory for the shards");
        }
        let chain = store.read("ada").await.expect("what was stored can be read");
        chain.snapshot(TIME, None).expect("a chain can be written").shards
    });
    let request = PageRequest {
        size: SIZE,
        ..PageRequest::default()
    };
    let by_store = |page: &[String]| {
        let made = runtime.block_on(store.page("ada", page, &request));
        made.expect("there is memory for a page")
    };
    let (fresh, shipped) = by_core(&texts, &pages[0]);
    let page = by_store(&pages[0]);
    assert_eq!((page.items, page.snapshot), (fresh[..SIZE].to_vec(), Some(shipped)));

    let mut group = criterion.benchmark_group("page");
    for turn in 0..TURNS {
        let mut cycle = pages.iter().cycle();
        let mut next = || cycle.next().expect("a cycle does not end");
        group.bench_function(format!("store-{turn}"), |bencher| {
            bencher.iter(|| by_store(black_box(next())));
        });
        group.bench_function(format!("core-{turn}"), |bencher| {
            bencher.iter(|| by_core(black_box(&texts), next()));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = turns::short_turns();
    targets = paging
}
criterion_main!(benches);
