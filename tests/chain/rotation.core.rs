//! A user's chain on the server: rotation, expiry, versions, continuing a stored chain, union.

use crate::common::model_chain::ModelChain;
use crate::common::random::Random;
use crate::common::{DAY, START, at, ids, options, shard_of};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seenguard::hash::hash_id;
use seenguard::wire::Reference;
use seenguard::{BloomFilter, ChainOptions, Format, Parameters, Shard, ShardChain, StoredChain};

fn chain(options: ChainOptions) -> ShardChain {
    ShardChain::new(options).unwrap()
}

fn restored(chain: &ShardChain, options: ChainOptions, now: u64) -> ShardChain {
    let (chain, rejected) = ShardChain::from_shards(&chain.snapshot(at(now), None).unwrap().shards, options).unwrap();
    assert!(rejected.is_empty());
    chain
}

fn has_all(chain: &ShardChain, ids: &[String], now: u64) -> bool {
    ids.iter().all(|id| chain.contains(id, at(now)).unwrap())
}

fn epochs(chain: &ShardChain) -> Vec<u32> {
    chain.shards().map(|shard| shard.epoch).collect()
}

// Against a plain model.

/// Records the same in a chain and its model at the same times, and compares all their results.
fn compare_with_the_model(options: ChainOptions, seed: u64, steps: usize) {
    let mut random = Random::seeded(seed);
    let (mut chain, mut model) = (chain(options), ModelChain::new(options));
    let pool = ids("item", 0..60.max(4 * options.capacity as usize));
    let slice = u64::from(options.ttl_seconds) / (options.shards as u64 - 1).max(1);
    let mut now = START;
    for _ in 0..steps {
        now += match random.below(4) {
            0 => 0,
            1 => random.below(slice + 2),
            2 => random.below(slice / 4 + 2),
            _ if random.once_in(12) => 3 * u64::from(options.ttl_seconds) + 1,
            _ => 1,
        };
        let batch: Vec<&String> = (0..random.below(8)).map(|_| random.pick(&pool)).collect();
        let before = model.snapshot(now).version;
        assert_eq!(chain.record(&batch, at(now)).unwrap(), model.record(&batch, now));
        let (shipped, expected) = (chain.snapshot(at(now), None).unwrap(), model.snapshot(now));
        assert_eq!(shipped, expected);
        assert!(shipped.version >= before && chain.shards().count() == model.len());
        assert!(options.ttl_seconds == 0 && model.len() <= options.shards || model.len() <= 2 * options.shards);
        let fresh: Vec<u32> = (0..pool.len() as u32)
            .filter(|&index| !model.contains(&pool[index as usize], now))
            .collect();
        assert_eq!(chain.filter(&pool, None, at(now)).unwrap(), fresh);
        if random.once_in(6) {
            chain = restored(&chain, options, now);
            model = model.stored_and_restored(now);
        }
    }
}

#[test]
fn i8_a_chain_without_expiry_is_the_model_chain() {
    for (index, (capacity, shards)) in [(1, 1), (1, 5), (1, 64), (2, 2), (7, 1), (7, 3), (30, 5), (3, 64)]
        .into_iter()
        .enumerate()
    {
        for rate in [0.3, 0.01] {
            compare_with_the_model(
                ChainOptions {
                    false_positive_rate: rate,
                    ..options(capacity, shards, 0)
                },
                index as u64,
                120,
            );
        }
    }
}

#[test]
fn i8_a_chain_with_expiry_is_the_model_chain() {
    let mut seed = 100;
    for ttl in [1, 3, 10, 1_000, 30 * DAY as u32] {
        for (capacity, shards) in [(1, 1), (1, 5), (1, 32), (2, 2), (7, 1), (7, 3), (30, 5)] {
            seed += 1;
            compare_with_the_model(
                ChainOptions {
                    seed,
                    ..options(capacity, shards, ttl)
                },
                seed,
                90,
            );
        }
    }
}

// Versions.

/// Ids of which each sets as many further bits as could be found among 2,000.
fn ids_that_fill(parameters: Parameters, count: usize) -> Vec<String> {
    let mut random = Random::seeded(1);
    let mut filter = BloomFilter::new(parameters, 0);
    let bits_with = |filter: &BloomFilter, id: &String| {
        let mut with = filter.clone();
        with.insert(id);
        with.set_bits()
    };
    (0..count)
        .map(|_| {
            let candidates = (0..2000).map(|_| random.next().to_string());
            let best = candidates.max_by_key(|id| bits_with(&filter, id)).unwrap();
            filter.insert(&best);
            best
        })
        .collect()
}

#[test]
fn i3_ids_that_are_chosen_to_fill_a_shard_raise_its_false_positive_rate_27_times_at_most() {
    let parameters = Parameters::for_capacity(100, 0.001).unwrap();
    let mut chain = chain(options(100, 5, 0));
    chain.record(&ids_that_fill(parameters, 101), at(START)).unwrap();
    // The 101st is in a shard of its own.
    let shipped = chain.snapshot(at(START), None).unwrap().shards;
    assert_eq!(shipped.len(), 2);
    let full = Shard::from_base64(&shipped[1]).unwrap().filter;
    let most = f64::from(parameters.hashes()) * 100.0 / f64::from(parameters.bits());
    assert!(full.fill() > 0.6 && full.fill() <= most, "{}", full.fill());
    assert!(
        (0.006..=0.027).contains(&full.false_positive_rate()),
        "{}",
        full.false_positive_rate()
    );
}

#[test]
fn the_version_is_made_of_epoch_and_count_of_the_newest_shard() {
    let mut chain = chain(options(3, 3, 0));
    assert_eq!(chain.snapshot(at(START), None).unwrap().version, Some(0));
    chain.record(&["a", "b"], at(START)).unwrap();
    assert_eq!(
        chain.snapshot(at(START + 9), None).unwrap().version,
        Some((START << 21) + 2)
    );
    chain.record(&["c", "d"], at(START)).unwrap();
    assert_eq!(
        chain.snapshot(at(START), None).unwrap().version,
        Some(((START + 1) << 21) + 1)
    );
    let edge = shard_of(&["a"], u32::MAX, 0);
    let (edge, _) = ShardChain::from_shards(
        &[Shard {
            count: u32::MAX,
            ..edge
        }
        .to_base64()
        .unwrap()],
        options(3, 3, 0),
    )
    .unwrap();
    assert_eq!(edge.snapshot(at(START), None).unwrap().version, Some((1 << 53) - 1));
}

#[test]
fn the_version_never_shrinks_when_the_clock_goes_back_and_forth() {
    let mut random = Random::seeded(9);
    for (capacity, ttl) in [(3, 100), (50, 100), (3, 0)] {
        let mut chain = chain(options(capacity, 4, ttl));
        let mut version = Some(0);
        for number in 0..2_000 {
            let now = START + random.below(300);
            let before = chain.snapshot(at(now), None).unwrap();
            chain.record(&[format!("item-{number}")], at(now)).unwrap();
            let after = chain.snapshot(at(now), None).unwrap();
            assert!(after.version > version, "step {number}");
            assert!(before.shards.is_empty() || before.version >= version, "step {number}");
            version = after.version;
        }
    }
}

#[test]
fn the_version_does_not_shrink_as_long_as_nothing_is_recorded() {
    let mut chain = chain(options(1, 3, 100));
    chain.record(&["a"], at(START)).unwrap();
    // The clock goes back, so this shard expires before the one that it follows.
    chain.record(&["b"], at(START - 60)).unwrap();
    let now = START + 100;
    let version = chain.snapshot(at(now), None).unwrap().version;
    chain.record(&[] as &[&str], at(now)).unwrap();
    chain.unsee(&["a"], at(now)).unwrap();
    let shipped = chain.snapshot(at(now), None).unwrap();
    assert_eq!((shipped.version, shipped.shards.len()), (version, 1));
    // An expired shard contains nothing, and is removed once another shard has followed it.
    assert_eq!(chain.record(&["b"], at(now)).unwrap(), 1);
    assert!(chain.snapshot(at(now), None).unwrap().version > version);
    assert_eq!(chain.shards().count(), 2);
}

#[test]
fn the_version_grows_although_the_newest_stored_shard_cannot_be_read() {
    for (capacity, ttl) in [(10, 0), (100, 0), (10, 1_000), (100, 1_000)] {
        let options = options(capacity, 5, ttl);
        let mut chain = chain(options);
        for number in 0..35 {
            chain
                .record(&[format!("item-{number}")], at(START + number * 20))
                .unwrap();
        }
        let now = START + 700;
        let mut stored = chain.snapshot(at(now), None).unwrap();
        for damaged in 0..stored.shards.len().min(2) {
            stored.shards[damaged].insert(9, '!');
            let (mut continued, rejected) = ShardChain::from_shards(&stored.shards, options).unwrap();
            assert_eq!(rejected.len(), damaged + 1);
            continued.record(&["next"], at(now)).unwrap();
            assert!(
                continued.snapshot(at(now), None).unwrap().version > stored.version,
                "{capacity} {ttl} {damaged}"
            );
        }
    }
}

// Continuing a stored chain.

#[test]
fn a_newest_shard_with_other_parameters_continues_until_it_is_full() {
    let first = options(100, 3, 0);
    let mut chain = chain(first);
    chain.record(&ids("old", 0..20), at(START)).unwrap();
    let others = [
        ChainOptions { capacity: 200, ..first },
        ChainOptions { capacity: 10, ..first },
        ChainOptions {
            false_positive_rate: 0.01,
            ..first
        },
        ChainOptions { seed: 1, ..first },
    ];
    for other in others {
        let mut continued = restored(&chain, other, START);
        // As many as its m and k are made for, but for those that it contains by mistake.
        continued.record(&ids("new", 0..80), at(START)).unwrap();
        assert_eq!(epochs(&continued), [START as u32]);
        continued.record(&ids("newer", 0..2), at(START)).unwrap();
        assert_eq!(epochs(&continued), [START as u32 + 1, START as u32]);
        assert!(has_all(&continued, &ids("old", 0..20), START) && has_all(&continued, &ids("new", 0..80), START));
        let newest = continued.shards().next().unwrap();
        let expected = Parameters::for_capacity(other.capacity, other.false_positive_rate).unwrap();
        assert_eq!(
            (newest.filter.parameters(), newest.filter.seed()),
            (expected, other.seed)
        );
    }
}

#[test]
fn a_newest_shard_continues_if_it_lives_as_long_as_the_ttl_demands() {
    for (first, second, continues) in [
        (1_000, 100, true),
        (40_000_000, 100, true),
        (100, 1_000, false),
        (0, 100, false),
        (100, 0, false),
    ] {
        let mut chain = chain(options(10, 5, first));
        chain.record(&["old"], at(START)).unwrap();
        let now = START + 10;
        let mut changed = restored(&chain, options(10, 5, second), now);
        changed.record(&["new"], at(now)).unwrap();
        assert_eq!(changed.shards().count() == 1, continues, "{first}, {second}");
        assert!(changed.contains("old", at(now)).unwrap());
        let kept_for = if second == 0 { 1_000_000 } else { u64::from(second) };
        assert!(changed.contains("new", at(now + kept_for)).unwrap());
    }
}

/// Two servers with different settings take turns, at random, to continue the stored chain. Each id is remembered for the
/// ttl of the server that recorded it last, unless as many others came since as either stores.
fn check_that_two_settings_forget_nothing(settings: [ChainOptions; 2], seed: u64) {
    let mut random = Random::seeded(seed);
    let kept_by = |options: &ChainOptions| (options.shards - 1) * options.capacity as usize;
    let kept_by_both = settings.iter().map(kept_by).min().unwrap();
    let mut stored = StoredChain::default();
    // Of each recording the id, when, and by which server.
    let mut recorded: Vec<(String, u64, usize)> = Vec::new();
    let (mut now, mut keys_expire) = (START, None);
    for _ in 0..400 {
        now += random.below(20);
        if keys_expire.is_some_and(|expire| now >= expire) {
            stored = StoredChain::default();
        }
        let server = random.below(2) as usize;
        let (mut chain, rejected) = ShardChain::from_shards(&stored.shards, settings[server]).unwrap();
        assert!(rejected.is_empty());
        let newest = chain.shards().next().map(|shard| shard.epoch);
        let (before, count) = (chain.snapshot(at(now), None).unwrap(), chain.shards().count());
        for id in (0..1 + random.below(9)).map(|_| format!("item-{}", random.below(400))) {
            chain.record(&[&id], at(now)).unwrap();
            recorded.push((id, now, server));
        }
        let after = chain.snapshot(at(now), None).unwrap();
        assert!(after.version >= before.version);
        let begun = newest.map_or(1, |newest| epochs(&chain)[0].saturating_sub(newest)) as usize;
        let expired = count - before.shards.len();
        assert!(
            count <= chain.shards().count() + begun + expired,
            "one is dropped for each that is begun"
        );
        stored = chain.stored(at(now)).unwrap();
        keys_expire = match chain.life_seconds(at(now)).unwrap() {
            0 => None,
            seconds => Some(now + seconds),
        };
        for reader in settings {
            let (chain, _) = ShardChain::from_shards(&stored.shards, reader).unwrap();
            for (id, at_second, by) in recorded.iter().rev().take(kept_by_both) {
                let ttl = u64::from(settings[*by].ttl_seconds);
                if ttl == 0 || now < at_second + ttl {
                    assert!(
                        chain.contains(id, at(now)).unwrap(),
                        "{id} of {at_second} at {now}, {settings:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn i3_two_settings_at_once_forget_nothing() {
    let settings = [
        options(10, 20, 1_000),
        options(100, 3, 1_000),
        options(10, 3, 1_000),
        options(10, 20, 100),
        options(30, 5, 0),
        options(10, 20, 0),
        ChainOptions {
            false_positive_rate: 0.01,
            seed: 7,
            ..options(20, 6, 5_000)
        },
    ];
    let mut seed = 0;
    for one in settings {
        for other in settings {
            seed += 1;
            check_that_two_settings_forget_nothing([one, other], seed);
        }
    }
}

#[test]
fn the_keys_of_a_chain_expire_with_the_last_of_its_shards() {
    let mut chain = chain(options(10, 5, 1_000));
    assert_eq!(chain.life_seconds(at(START)).unwrap(), 1_250);
    chain.record(&["a"], at(START)).unwrap();
    for (ttl, now, life) in [(1_000, START, 1_250), (10, START + 50, 1_200), (0, START + 1_249, 1)] {
        let reader = restored(&chain, options(10, 5, ttl), now);
        assert_eq!(reader.life_seconds(at(now)).unwrap(), life, "{ttl}");
    }
    // One that never expires keeps all of them.
    let mut continued = restored(&chain, options(10, 5, 0), START);
    continued.record(&["b"], at(START)).unwrap();
    let reader = restored(&continued, options(10, 5, 1_000), START);
    assert_eq!(reader.life_seconds(at(START)).unwrap(), 0);
}

#[test]
fn a_new_shard_replaces_one_where_more_are_stored_than_wanted() {
    let mut chain = chain(options(10, 8, 0));
    chain.record(&ids("item", 0..80), at(START)).unwrap();
    let mut continued = restored(&chain, options(10, 3, 0), START);
    continued.record(&["one more"], at(START)).unwrap();
    assert_eq!(continued.shards().count(), 8);
    assert!(has_all(&continued, &ids("item", 10..80), START));
}

// Shards of unknown formats.

/// Shards that are not of this version: a later one, another library's, and one with a hash scheme to come.
fn not_understood(shard: &str) -> Vec<String> {
    let of_bytes = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = STANDARD.decode(shard).unwrap();
        change(&mut bytes);
        let end = bytes.len() - 4;
        let checksum = hash_id(&bytes[..end], 0) as u32;
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
        STANDARD.encode(bytes)
    };
    vec![
        of_bytes(&|bytes| bytes[3] = b'2'),
        of_bytes(&|bytes| bytes[4] = 9),
        "17::AAAAAAAAAAA=".to_owned(),
        "AQEAAAABAAAAAAAAAAA=".to_owned(),
    ]
}

#[test]
fn shards_of_unknown_formats_stay_in_order_and_are_dropped_as_the_oldest() {
    let options = options(10, 4, 1_000);
    let mut before = chain(options);
    before.record(&ids("item", 0..15), at(START)).unwrap();
    let shards = before.stored(at(START)).unwrap().shards;
    for unread in not_understood(&shards[0]) {
        for place in 0..=2 {
            let mut stored = shards.clone();
            stored.insert(place, unread.clone());
            let (mut chain, rejected) = ShardChain::from_shards(&stored, options).unwrap();
            assert_eq!(rejected.iter().map(|each| each.index).collect::<Vec<_>>(), [place]);
            assert_eq!((chain.shards().count(), chain.life_seconds(at(START)).unwrap()), (2, 0));
            assert_eq!(chain.stored(at(START)).unwrap().shards, stored);
            // It is shipped to a device that holds it, and to no other.
            assert_eq!(chain.snapshot(at(START), None).unwrap().shards, shards);
            let reference = Reference::of(Format::Native, unread.as_bytes());
            let shipped = chain.snapshot(at(START), Some(&reference.to_string())).unwrap().shards;
            assert_eq!((shipped.len(), &shipped[place]), (3, &reference.to_element()));

            // Above it a shard begins, whose epoch is the time; else the newest continues.
            chain.record(&["new"], at(START + 100)).unwrap();
            let continued = chain.stored(at(START + 100)).unwrap().shards;
            let begun = usize::from(place == 0);
            assert_eq!((continued.len(), &continued[place + begun]), (3 + begun, &unread));
            assert!(
                has_all(&chain, &ids("item", 0..15), START + 100) && chain.contains("new", at(START + 100)).unwrap()
            );
            assert!(place > 0 || epochs(&chain)[0] == START as u32 + 100);

            // Only the oldest is dropped.
            let mut left = Vec::new();
            for number in 0..60 {
                let known = chain.stored(at(START + 100)).unwrap().shards;
                chain.record(&[format!("later-{number}")], at(START + 100)).unwrap();
                let now = chain.stored(at(START + 100)).unwrap().shards;
                left.extend(known[1..].iter().filter(|text| !now.contains(text)).cloned());
                assert!(now.len() <= 5, "{}", now.len());
            }
            assert!(left.contains(&unread));
        }
    }
}

#[test]
fn only_damaged_shards_are_dropped() {
    let chain = recorded(options(10, 4, 0), &ids("item", 0..15), START);
    let shards = chain.stored(at(START)).unwrap().shards;
    let cut = shards[0][..shards[0].len() - 8].to_owned();
    let text_cut = shards[0][..shards[0].len() - 3].to_owned();
    for damaged in [
        shards[0].replacen('A', "B", 1),
        cut,
        text_cut,
        "\u{fffd}\u{fffd}".into(),
        "".into(),
    ] {
        let stored = [damaged.clone(), shards[1].clone()];
        let (chain, rejected) = ShardChain::from_shards(&stored, options(10, 4, 0)).unwrap();
        assert_eq!(rejected.len(), 1, "{damaged}");
        assert_eq!(chain.stored(at(START)).unwrap().shards, shards[1..]);
    }
}

#[test]
fn the_last_times_of_the_format_do_not_break_a_chain() {
    for now in [u64::from(u32::MAX) - 1, u64::from(u32::MAX)] {
        for ttl in [0, 100] {
            let mut chain = chain(options(10, 3, ttl));
            chain.record(&["a", "b"], at(now)).unwrap();
            chain.record(&["c"], at(now)).unwrap();
            assert!(ttl > 0 || has_all(&chain, &["a", "b", "c"].map(String::from), now));
            assert!(chain.snapshot(at(now), None).unwrap().shards.len() <= 3);
            chain.record(&["a"], at(0)).unwrap();
            assert!(chain.contains("a", at(0)).unwrap());
        }
    }
}

// Union.

fn recorded(options: ChainOptions, ids: &[String], now: u64) -> ShardChain {
    let mut chain = chain(options);
    chain.record(ids, at(now)).unwrap();
    chain
}

#[test]
fn two_light_chains_unite_in_one_shard() {
    let options = options(100, 5, 1_000);
    let mut here = recorded(options, &ids("here", 0..30), START);
    let there = recorded(options, &ids("there", 0..40), START + 200);
    here.unite(&there);
    let [united] = here.shards().collect::<Vec<_>>()[..] else {
        panic!("one shard")
    };
    assert_eq!(
        (united.epoch, united.expires),
        (START as u32 + 200, START as u32 + 200 + 1_250)
    );
    assert_eq!(f64::from(united.count), united.filter.estimate_items().round());
    assert!((65..=75).contains(&united.count), "{}", united.count);
    assert!(has_all(&here, &ids("here", 0..30), START) && has_all(&here, &ids("there", 0..40), START));
}

#[test]
fn expiries_more_than_a_slice_apart_stay_apart() {
    let options = options(100, 5, 1_000);
    for (later, shards) in [(250, 1), (251, 2)] {
        let mut here = recorded(options, &ids("here", 0..3), START);
        here.unite(&recorded(options, &ids("there", 0..3), START + later));
        assert_eq!(here.shards().count(), shards);
    }
    let mut here = recorded(options, &ids("here", 0..3), START);
    here.unite(&recorded(
        ChainOptions {
            ttl_seconds: 0,
            ..options
        },
        &ids("there", 0..3),
        START,
    ));
    assert_eq!(here.shards().count(), 2);
}

#[test]
fn daily_chains_that_unite_do_not_keep_an_id_alive() {
    let options = options(1_000, 5, 30 * DAY as u32);
    let mut united = chain(options);
    let mut kept_for = 0;
    for day in 0..200u64 {
        let now = START + day * DAY;
        united.unite(&recorded(options, &ids(&format!("day {day}"), 0..5), now));
        united.record(&[] as &[&str], at(now)).unwrap();
        if united.contains("day 0-0", at(now)).unwrap() {
            kept_for = day;
        }
        assert!(united.shards().count() <= 10);
        let within = day.saturating_sub(29);
        assert!((within..=day).all(|day| has_all(&united, &ids(&format!("day {day}"), 0..5), now)));
    }
    assert!((29..=45).contains(&kept_for), "{kept_for}");
}

#[test]
fn a_chain_that_is_united_with_a_copy_that_continued_becomes_that_copy() {
    let mut random = Random::seeded(12);
    for round in 0..300 {
        let options = options(20, 5, if round % 2 == 0 { 0 } else { 1_000 });
        let mut here = chain(options);
        let mut now = START;
        let pool = ids("item", 0..150);
        let advance = |chain: &mut ShardChain, random: &mut Random, now: &mut u64| {
            for _ in 0..random.below(8) {
                *now += random.below(300);
                let batch: Vec<&String> = (0..random.below(20)).map(|_| random.pick(&pool)).collect();
                chain.record(&batch, at(*now)).unwrap();
            }
        };
        advance(&mut here, &mut random, &mut now);
        let mut there = restored(&here, options, now);
        advance(&mut there, &mut random, &mut now);
        let expected = there.snapshot(at(now), None).unwrap();
        let before = here.clone();
        here.unite(&there);
        assert_eq!(here.snapshot(at(now), None).unwrap(), expected, "{round}");
        there.unite(&before);
        assert_eq!(there.snapshot(at(now), None).unwrap(), expected, "{round}");
    }
}

#[test]
fn a_united_shard_is_sealed_no_later_for_a_union_with_its_stored_copy() {
    let options = options(100, 5, 1_000);
    let mut here = recorded(options, &ids("here", 0..3), START);
    here.unite(&recorded(options, &ids("there", 0..3), START + 240));
    // The expiry of the united shard tells a later beginning.
    let mut stored = restored(&here, options, START + 245);
    stored.record(&["more"], at(START + 245)).unwrap();
    here.unite(&stored);
    here.record(&["within"], at(START + 250)).unwrap();
    assert_eq!(here.shards().count(), 1);
    here.record(&["after"], at(START + 251)).unwrap();
    assert_eq!(here.shards().count(), 2);
}

#[test]
fn full_shards_unite_with_nothing_although_the_estimate_has_room() {
    let options = options(100, 5, 0);
    for prefix in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let mut full = recorded(options, &ids(prefix, 0..100), START);
        full.unite(&recorded(options, &ids("other", 0..1), START + 1));
        assert_eq!(full.shards().map(|shard| shard.count).collect::<Vec<_>>(), [1, 100]);
    }
}

#[test]
fn two_copies_that_continued_apart_unite_without_loss() {
    let options = options(100, 8, 0);
    let common = recorded(options, &ids("common", 0..230), START);
    let (mut here, mut there) = (common.clone(), common);
    here.record(&ids("here", 0..20), at(START)).unwrap();
    there.record(&ids("there", 0..25), at(START)).unwrap();
    here.unite(&there);
    assert_eq!(here.shards().count(), 3);
    for all in [ids("common", 0..230), ids("here", 0..20), ids("there", 0..25)] {
        assert!(has_all(&here, &all, START));
    }
}

// Options.

/// Options of a chain with this rate, too.
fn with_rate(rate: f64, capacity: u32, shards: usize, ttl_seconds: u32) -> ChainOptions {
    ChainOptions {
        false_positive_rate: rate,
        ..options(capacity, shards, ttl_seconds)
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let rates = [0.0, -0.1, 1.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut bad: Vec<(&str, ChainOptions)> = Vec::new();
    bad.extend(rates.map(|rate| ("bad-option", with_rate(rate, 1000, 5, 0))));
    bad.extend([0, 65, usize::MAX].map(|shards| ("bad-option", options(1000, shards, 0))));
    bad.extend([(0, 5, 0), (1000, 33, 1), (1000, 5, u32::MAX)].map(|(m, n, ttl)| ("bad-option", options(m, n, ttl))));
    bad.extend([1e-11, f64::from_bits(1)].map(|rate| ("bad-parameters", with_rate(rate, 1000, 5, 0))));
    bad.extend([u32::MAX, 1_200_000].map(|capacity| ("bad-parameters", options(capacity, 5, 0))));
    bad.extend([(1_100_000, 5, 0), (300_000, 8, 1)].map(|(m, n, ttl)| ("too-large", options(m, n, ttl))));
    for (code, options) in bad {
        let refused = [
            ShardChain::new(options).map(drop),
            ShardChain::from_shards(&["no shard"], options).map(drop),
        ];
        for result in refused {
            assert_eq!(result.map_err(|error| error.code()), Err(code), "{options:?}");
        }
    }
}

#[test]
fn the_ends_of_the_options_ranges_are_accepted() {
    let mut good = vec![with_rate(0.999_999, 1000, 5, 0), with_rate(2e-10, 1000, 5, 0)];
    good.extend([(1, 5, 0), (1000, 1, 0), (1000, 64, 0), (1000, 32, 1)].map(|(m, n, ttl)| options(m, n, ttl)));
    good.extend([(1_100_000, 4, 0), (1000, 5, 366 * DAY as u32)].map(|(m, n, ttl)| options(m, n, ttl)));
    good.push(ChainOptions {
        seed: u64::MAX,
        ..ChainOptions::default()
    });
    for options in good {
        let mut chain = chain(options);
        chain.record(&["a"], at(START)).unwrap();
        assert!(chain.contains("a", at(START)).unwrap(), "{options:?}");
        assert_eq!(chain.options(), &options);
    }
}
