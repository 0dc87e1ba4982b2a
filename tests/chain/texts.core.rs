//! A chain caches its encoded shards, and queries many ids at once: its snapshots and results are as if every shard were
//! decoded, queried by itself and encoded again.

use std::cmp::Reverse;

use crate::common::{START, at, ids, options, shard_of};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use seenguard::wire::{self, Reference};
use seenguard::{ChainOptions, Format, Rejected, Shard, ShardChain, Split};

/// Enough ids that their filters are interleaved, and too few for that.
const MANY: usize = 700;
const FEW: usize = 40;

#[derive(Debug, Clone)]
enum Step {
    Record { first: usize, count: usize },
    Unsee(usize),
    Wait(u64),
    StoreAndRestore,
    UniteWithACopyThatWentOn { first: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..MANY, 0..30usize).prop_map(|(first, count)| Step::Record { first, count }),
        1 => (0..MANY).prop_map(Step::Unsee),
        2 => (0..700u64).prop_map(Step::Wait),
        2 => Just(Step::StoreAndRestore),
        1 => (0..MANY).prop_map(|first| Step::UniteWithACopyThatWentOn { first }),
    ]
}

/// Small chains in each format of a chain, with and without an expiry.
fn any_options() -> impl Strategy<Value = ChainOptions> {
    let formats = vec![
        (Format::Native, 0),
        (Format::Native, 1_000),
        (Format::go_bloomfilter(20, 0.01).unwrap(), 0),
        (Format::Guava, 0),
    ];
    (select(formats), 1..8usize).prop_map(|((format, ttl_seconds), shards)| ChainOptions {
        format,
        false_positive_rate: 0.01,
        ..options(20, shards, ttl_seconds)
    })
}

fn restored(texts: &[String], options: ChainOptions) -> (ShardChain, Vec<Rejected>) {
    ShardChain::from_shards(texts, options).unwrap()
}

fn range(pool: &[String], first: usize, count: usize) -> &[String] {
    &pool[first..(first + count).min(pool.len())]
}

fn take(chain: &mut ShardChain, step: &Step, pool: &[String], now: &mut u64) {
    match *step {
        Step::Record { first, count } => {
            chain.record(range(pool, first, count), at(*now)).unwrap();
        }
        Step::Unsee(id) => chain.unsee(&[&pool[id]], at(*now)).unwrap(),
        Step::Wait(seconds) => *now += seconds,
        Step::StoreAndRestore => {
            let stored = chain.snapshot(at(*now), None).unwrap();
            let (mut next, rejected) = restored(&stored.shards, *chain.options());
            assert!(rejected.is_empty());
            next.restore(&stored.unseen, stored.forget_before).unwrap();
            *chain = next;
        }
        Step::UniteWithACopyThatWentOn { first } => {
            let mut copy = chain.clone();
            copy.record(range(pool, first, 3), at(*now)).unwrap();
            chain.unite(&copy);
        }
    }
}

// The plain results.

fn split_one_by_one(live: &[Shard], unseen: &[String], ids: &[String]) -> Split {
    let newest_with = |id: &String| {
        let index_of_shard = live.iter().position(|shard| shard.filter.contains(id));
        index_of_shard.filter(|_| !unseen.contains(id))
    };
    let (mut fresh, mut seen) = (Vec::new(), Vec::new());
    for (index, id) in (0..).zip(ids) {
        match newest_with(id) {
            None => fresh.push(index),
            Some(shard) => seen.push((shard, index)),
        }
    }
    seen.sort_by_key(|&(shard, _)| Reverse(shard));
    let seen = seen.into_iter().map(|(_, index)| index).collect();
    Split { fresh, seen }
}

/// Checks a chain's snapshots and results against its shards.
fn check(chain: &ShardChain, pool: &[String], held: u64, now: u64) -> Result<(), TestCaseError> {
    let live: Vec<Shard> = chain
        .shards()
        .filter(|shard| !shard.is_expired(at(now)))
        .cloned()
        .collect();
    let texts: Vec<String> = live.iter().map(|shard| shard.to_base64().unwrap()).collect();
    let shipped = chain.snapshot(at(now), None).unwrap();
    prop_assert_eq!(&shipped.shards, &texts);

    let reference = |text: &String| Reference::of(chain.options().format, text.as_bytes());
    let held: Vec<Reference> = (0..64)
        .zip(&texts)
        .filter(|(index, _)| held >> index & 1 == 1)
        .map(|(_, text)| reference(text))
        .collect();
    let or_reference = |text: &String| match reference(text) {
        of_held if held.contains(&of_held) => of_held.to_element(),
        _ => text.clone(),
    };
    let expected: Vec<String> = texts.iter().map(or_reference).collect();
    let names = Reference::join(held.iter().copied());
    prop_assert_eq!(chain.snapshot(at(now), Some(&names)).unwrap().shards, expected);

    let unseen: Vec<String> = shipped.unseen.into_iter().map(|entry| entry.id).collect();
    for ids in [pool, &pool[..FEW]] {
        let expected = split_one_by_one(&live, &unseen, ids);
        prop_assert_eq!(chain.filter(ids, None, at(now)).unwrap(), expected.fresh.clone());
        prop_assert_eq!(chain.split(ids, None, at(now)).unwrap(), expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn after_any_steps_snapshots_and_results_agree_with_the_shards(
        options in any_options(),
        steps in prop::collection::vec(step(), 1..40),
        held in any::<u64>(),
    ) {
        let pool = ids("item", 0..MANY);
        let (mut chain, mut now) = (ShardChain::new(options).unwrap(), START);
        for step in &steps {
            take(&mut chain, step, &pool, &mut now);
            check(&chain, &pool, held, now)?;
        }
    }

    #[test]
    fn unreadable_shards_are_rejected_and_the_others_are_sent_as_stored(
        options in any_options(),
        changes in prop::collection::vec((any::<Index>(), any::<Index>(), any::<char>()), 1..4),
    ) {
        let pool = ids("item", 0..MANY);
        let mut chain = ShardChain::new(options).unwrap();
        for batch in pool.chunks(8).take(20) {
            chain.record(batch, at(START)).unwrap();
        }
        let mut stored = chain.snapshot(at(START), None).unwrap().shards;
        for (shard, position, character) in changes {
            let mut damaged: Vec<char> = shard.get(&stored).chars().collect();
            let position = position.index(damaged.len());
            damaged[position] = character;
            *shard.get_mut(&mut stored) = damaged.into_iter().collect();
        }
        let read: Vec<_> = stored.iter().map(|text| wire::read(options.format, text)).collect();
        let (continued, rejected) = restored(&stored, options);
        let expected: Vec<Rejected> = (0..)
            .zip(&read)
            .filter_map(|(index, shards)| Some(Rejected { index, error: shards.as_ref().err()?.clone() }))
            .collect();
        prop_assert_eq!(rejected, expected);
        let (live, texts): (Vec<Shard>, Vec<String>) = read
            .into_iter()
            .zip(&stored)
            .filter_map(|(shards, text)| Some((shards.ok()?.pop()?, text.clone())))
            .unzip();
        prop_assert_eq!(&continued.snapshot(at(START), None).unwrap().shards, &texts);
        prop_assert_eq!(continued.split(&pool, None, at(START)).unwrap(), split_one_by_one(&live, &[], &pool));
    }
}

#[test]
fn a_shard_that_seenguard_would_encode_otherwise_is_sent_as_stored_until_it_changes() {
    let canonical = shard_of(&["a", "b"], START as u32, 0).to_base64().unwrap();
    let unpadded = canonical.trim_end_matches('=').replace('+', "-").replace('/', "_");
    assert_ne!(unpadded, canonical);
    let (mut chain, rejected) = restored(std::slice::from_ref(&unpadded), ChainOptions::default());
    assert!(rejected.is_empty());
    chain.record(&["a"], at(START)).unwrap();
    assert_eq!(
        chain.snapshot(at(START), None).unwrap().shards,
        std::slice::from_ref(&unpadded)
    );
    let held = Reference::of(Format::Native, unpadded.as_bytes());
    let shipped = chain.snapshot(at(START), Some(&held.to_string())).unwrap();
    assert_eq!(shipped.shards, [held.to_element()]);
    chain.record(&["c"], at(START)).unwrap();
    let changed = shard_of(&["a", "b", "c"], START as u32, 0).to_base64().unwrap();
    assert_eq!(chain.snapshot(at(START), None).unwrap().shards, [changed]);
}

#[test]
fn a_union_that_raises_the_count_of_a_copy_changes_its_encoding() {
    let counting = |ids: &[&str], count| Shard {
        count,
        ..shard_of(ids, START as u32, 0)
    };
    let more = counting(&["a"], 9).to_base64().unwrap();
    let (mut chain, _) = restored(
        &[counting(&["a", "b"], 2).to_base64().unwrap()],
        ChainOptions::default(),
    );
    chain.unite(&restored(&[more], ChainOptions::default()).0);
    let expected = counting(&["a", "b"], 9).to_base64().unwrap();
    assert_eq!(chain.snapshot(at(START), None).unwrap().shards, [expected]);
}
