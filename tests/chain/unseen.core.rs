//! The data of a chain next to its shards, and references instead of the shards that a device holds.

use crate::common::model_chain::ModelChain;
use crate::common::random::Random;
use crate::common::{START, at, at_ms, guard, ids, list_of, options};
use seenguard::device::Guard;
use seenguard::wire::Reference;
use seenguard::{
    ChainOptions, ChainSnapshot, Error, Format, Impression, Report, ShardChain, Snapshot, Split, StoredChain,
};

const START_MS: u64 = START * 1000;

/// A chain that has recorded these ids.
fn recorded(options: ChainOptions, ids: &[impl AsRef<[u8]>], now: u64) -> ShardChain {
    let mut chain = ShardChain::new(options).unwrap();
    chain.record(ids, at(now)).unwrap();
    chain
}

fn shipped(chain: &ShardChain, now: u64) -> ChainSnapshot {
    chain.snapshot(at(now), None).unwrap()
}

/// The chain after a store has saved and loaded it.
fn stored_and_restored(chain: &ShardChain, options: ChainOptions, now: u64) -> ShardChain {
    let stored = chain.stored(at(now)).unwrap();
    let (mut chain, _) = ShardChain::from_shards(&stored.shards, options).unwrap();
    assert_eq!(chain.restore_fields(&fields(&stored)).unwrap(), 0);
    assert_eq!(chain.stored(at(now)).unwrap(), stored);
    chain
}

fn fields(stored: &StoredChain) -> Vec<String> {
    let fields = stored.fields.iter();
    fields.flat_map(|(name, value)| [name.clone(), value.clone()]).collect()
}

fn impressions(list: &[(&str, u64)]) -> Vec<Impression> {
    let impression = |&(id, at): &(&str, u64)| Impression {
        id: id.into(),
        at: at_ms(at),
    };
    list.iter().map(impression).collect()
}

/// Applies a report of a device whose clock is right.
fn ingest(chain: &mut ShardChain, shown: &[(&str, u64)], unseen: &[(&str, u64)], now_ms: u64) -> usize {
    chain
        .ingest(&report(now_ms, shown, unseen).received(at_ms(now_ms)))
        .unwrap()
}

/// A device's report, sent at a time of its clock.
fn report(sent_ms: u64, shown: &[(&str, u64)], unseen: &[(&str, u64)]) -> Report {
    let mut report = Report::new("home:ada", at_ms(sent_ms));
    report.impressions = impressions(shown);
    report.unseen = impressions(unseen);
    report
}

fn unseen_ids(chain: &ShardChain, now: u64) -> Vec<String> {
    shipped(chain, now).unseen.into_iter().map(|each| each.id).collect()
}

// Against a plain model.

fn compare_with_the_model(options: ChainOptions, seed: u64) {
    let mut random = Random::seeded(seed);
    let (mut chain, mut model) = (ShardChain::new(options).unwrap(), ModelChain::new(options));
    let pool = ids("item", 0..60.max(4 * options.capacity as usize));
    let mut now_ms = START_MS;
    for _ in 0..150 {
        now_ms += random.below(1 + u64::from(options.ttl_seconds) * 400);
        let batch: Vec<&String> = (0..random.below(8)).map(|_| random.pick(&pool)).collect();
        let mut some = || -> Vec<(&str, u64)> {
            let past = |random: &mut Random| now_ms - random.below(3_000);
            (0..random.below(6))
                .map(|_| (random.pick(&pool).as_str(), past(&mut random)))
                .collect()
        };
        let (shown, unseen) = (some(), some());
        match random.below(12) {
            0..5 => assert_eq!(
                chain.record(&batch, at(now_ms / 1000)).unwrap(),
                model.record(&batch, now_ms / 1000)
            ),
            5..8 => {
                chain.unsee(&batch, at_ms(now_ms)).unwrap();
                model.unsee(&batch, now_ms);
            }
            8..11 => assert_eq!(
                ingest(&mut chain, &shown, &unseen, now_ms),
                model.ingest(&shown, &unseen, now_ms)
            ),
            _ if random.once_in(4) => {
                chain.forget(at_ms(now_ms)).unwrap();
                model.forget(now_ms);
            }
            _ => {}
        }
        let now = now_ms / 1000;
        assert_eq!(shipped(&chain, now), model.snapshot(now));
        let split = chain.split(&pool, None, at(now)).unwrap();
        assert_eq!(split.seen, model.seen_oldest_first(&pool, now));
        assert_eq!(split.fresh, chain.filter(&pool, None, at(now)).unwrap());
        for (index, id) in (0..).zip(&pool) {
            assert_eq!(chain.contains(id, at(now)).unwrap(), model.contains(id, now));
            assert_eq!(split.fresh.contains(&index), !model.contains(id, now));
        }
        if random.once_in(6) {
            chain = stored_and_restored(&chain, options, now);
            model = model.stored_and_restored(now);
        }
    }
}

#[test]
fn i8_a_chain_that_unsees_and_forgets_is_the_model_chain() {
    let mut seed = 0;
    for ttl in [0, 10, 1_000] {
        for (capacity, shards) in [(1, 1), (1, 5), (2, 2), (7, 3), (30, 5)] {
            for rate in [0.3, 0.001] {
                seed += 1;
                compare_with_the_model(
                    ChainOptions {
                        false_positive_rate: rate,
                        ..options(capacity, shards, ttl)
                    },
                    seed,
                );
            }
        }
    }
}

// Unseen ids.

#[test]
fn at_most_the_newest_1000_ids_are_unseen() {
    let all = ids("item", 0..1_300);
    let mut chain = recorded(ChainOptions::default(), &all, START);
    for (second, id) in (0..).zip(&all) {
        chain.unsee(&[id], at_ms(START_MS + 1_000 * second)).unwrap();
    }
    let mut newest: Vec<String> = all[300..].to_vec();
    newest.reverse();
    assert_eq!(unseen_ids(&chain, START + 1_300), newest);
    // Renewed, the oldest is among the newest.
    chain.unsee(&[&all[300]], at_ms(START_MS + 2_000_000)).unwrap();
    chain.unsee(&[&all[0]], at_ms(START_MS + 2_000_000)).unwrap();
    let unseen = unseen_ids(&chain, START + 2_000);
    assert!(
        unseen.len() == 1_000 && unseen.contains(&all[300]) && unseen.contains(&all[0]) && !unseen.contains(&all[301])
    );
}

#[test]
fn many_that_no_shard_contains_do_not_push_out_unseen_ids() {
    let mut chain = recorded(ChainOptions::default(), &["a"], START);
    chain.unsee(&["a"], at_ms(START_MS)).unwrap();
    chain.unsee(&ids("other", 0..20_000), at_ms(START_MS + 5)).unwrap();
    assert!(!chain.contains("a", at(START)).unwrap());
}

#[test]
fn i7_one_user_has_at_most_64_kb_of_unseen_ids_and_none_of_over_256_bytes() {
    let long = |number: usize| format!("{number:0>256}");
    let all: Vec<String> = (0..400).map(long).collect();
    let mut chain = recorded(ChainOptions::default(), &all, START);
    for (second, id) in (0..).zip(&all) {
        chain.unsee(&[id], at_ms(START_MS + 1_000 * second)).unwrap();
    }
    let stored = chain.stored(at(START + 400)).unwrap();
    let bytes: usize = fields(&stored).iter().map(String::len).sum();
    // The newest, as many as there is room for: 237 of 276 bytes each.
    assert_eq!((stored.fields.len(), bytes), (237, 65_412));
    assert_eq!(stored.fields[0].0, format!("unseen:{}", all[399]));

    // What was seen again goes first, the oldest of it before the others.
    let seen = &all[390..];
    chain.record(seen, at(START + 1_000)).unwrap();
    let others: Vec<String> = (400..405).map(long).collect();
    chain.record(&others, at(START + 1_001)).unwrap();
    chain.unsee(&others, at_ms(START_MS + 2_000_000)).unwrap();
    let stored = chain.stored(at(START + 2_000)).unwrap();
    let seen_again = stored
        .fields
        .iter()
        .filter(|(name, _)| name.starts_with("seen:"))
        .count();
    assert_eq!((stored.fields.len(), seen_again), (237, 5));
    assert!(unseen_ids(&chain, START + 2_000).contains(&all[163]));

    // Other writers may have stored more: no page is slower for it, and the next change removes the excess.
    let many = all
        .iter()
        .flat_map(|id| [format!("unseen:{id}"), START_MS.to_string()])
        .collect::<Vec<_>>();
    let too_long = [format!("unseen:{}", "x".repeat(257)), START_MS.to_string()];
    let (mut reader, _) = ShardChain::from_shards(&stored.shards, ChainOptions::default()).unwrap();
    assert_eq!(
        reader.restore_fields(&[&many[..], &too_long].concat()).unwrap(),
        400 - 237 + 1
    );
    let mut empty = ShardChain::new(ChainOptions::default()).unwrap();
    let needless = ids("gone", 0..1_005);
    let needless = needless.iter().flat_map(|id| [format!("unseen:{id}"), "1".to_owned()]);
    assert_eq!(empty.restore_fields(&needless.collect::<Vec<_>>()).unwrap(), 5);

    let before = chain.stored(at(START + 2_000)).unwrap();
    let refused = chain.unsee(&["a", &"é".repeat(129)], at_ms(START_MS + 3_000_000));
    assert_eq!(refused.map_err(|error| error.code()), Err("bad-report"));
    ingest(&mut chain, &[], &[(&"x".repeat(257), START_MS)], START_MS + 3_000_000);
    assert_eq!(chain.stored(at(START + 2_000)).unwrap(), before);
}

#[test]
fn an_unsee_that_comes_late_or_twice_does_not_beat_a_later_impression() {
    let mut chain = recorded(ChainOptions::default(), &["a", "b"], START);
    let [made_unseen, seen_again] = [START_MS + 5_000, START_MS + 9_000];
    let is_fresh = |chain: &ShardChain| chain.filter(&["a"], None, at(START + 60)).unwrap() == [0];
    ingest(&mut chain, &[], &[("a", made_unseen)], START_MS + 6_000);
    assert!(is_fresh(&chain));
    ingest(&mut chain, &[("a", seen_again)], &[], START_MS + 10_000);
    // Twice; late, from another device; and at the same time.
    for late in [made_unseen, START_MS + 8_000, seen_again] {
        ingest(&mut chain, &[], &[("a", late)], START_MS + 20_000);
        chain = stored_and_restored(&chain, ChainOptions::default(), START + 20);
        assert!(!is_fresh(&chain), "{late}");
    }
    let fields = chain.stored(at(START + 20)).unwrap().fields;
    assert_eq!(fields, [("seen:a".to_owned(), seen_again.to_string())]);
    assert_eq!(unseen_ids(&chain, START + 20), [""; 0]);
    // A copy elsewhere gets it by a union.
    let mut copy = recorded(ChainOptions::default(), &["a", "b"], START);
    copy.unsee(&["a"], at_ms(made_unseen)).unwrap();
    copy.unite(&chain);
    assert!(!is_fresh(&copy));
    // A later one counts.
    ingest(&mut chain, &[], &[("a", seen_again + 1)], START_MS + 20_000);
    assert!(is_fresh(&chain));
}

#[test]
fn an_id_seen_again_is_dropped_with_the_last_shard_that_contains_it() {
    let mut chain = recorded(options(10, 2, 0), &["a"], START);
    chain.unsee(&["a"], at_ms(START_MS)).unwrap();
    chain.record(&["a"], at(START + 1)).unwrap();
    assert_eq!(chain.stored(at(START + 1)).unwrap().fields.len(), 1);
    chain.record(&ids("other", 0..30), at(START + 1)).unwrap();
    assert_eq!(chain.stored(at(START + 1)).unwrap().fields, []);
}

// The pending list of a device's request.

fn pending(ids: &[&str]) -> String {
    format!(".1.0.{}", list_of(ids))
}

#[test]
fn pending_ids_are_stopped_for_this_request_only_and_rank_as_seen_last() {
    let mut chain = recorded(options(2, 5, 0), &["a", "b", "c", "d"], START);
    chain.unsee(&["b"], at_ms(START_MS)).unwrap();
    let before = chain.clone();
    let pending = pending(&["a", "b", "new"]);
    let pool = ["new", "a", "b", "d", "c", "fresh"];
    let split = |pending| chain.split(&pool, pending, at(START)).unwrap();
    let (fresh, seen) = (vec![5], vec![3, 4, 0, 1, 2]);
    assert_eq!(split(Some(&*pending)), Split { fresh, seen });
    assert_eq!(chain.filter(&pool, Some(&*pending), at(START)).unwrap(), [5]);
    let (fresh, seen) = (vec![0, 2, 5], vec![1, 3, 4]);
    assert_eq!(split(None), Split { fresh, seen });
    assert_eq!(chain.snapshot(at(START), None), before.snapshot(at(START), None));
}

#[test]
fn i5_an_invalid_pending_list_is_ignored() {
    let chain = recorded(ChainOptions::default(), &["a"], START);
    let valid = pending(&["b"]);
    assert_eq!(chain.filter(&["a", "b"], Some(&*valid), at(START)).unwrap(), [0; 0]);
    let [name, counter, forgotten, list] = valid.split('.').collect::<Vec<_>>().try_into().unwrap();
    let broken = [
        "",
        "...",
        list,
        &valid[1..],
        &valid[..valid.len() - 1],
        &format!("{name}.{counter}.{list}"),
        &format!("name.{counter}.{forgotten}.{list}"),
        &format!("{name}.-1.{forgotten}.{list}"),
        &format!("{name}.{counter}.+.{list}"),
        &format!("{valid}AA=="),
        &format!("{valid}+///"),
        &format!("{valid}{}", "AAAA".repeat(1_000)),
    ];
    for pending in broken {
        assert_eq!(
            chain.filter(&["a", "b"], Some(pending), at(START)).unwrap(),
            [1],
            "{pending}"
        );
    }
}

#[test]
fn i3_a_list_of_1000_stops_a_fresh_id_six_times_in_100_000() {
    let chain = recorded(ChainOptions::default(), &[] as &[&str], START);
    let shown = ids("shown", 0..1_000);
    let pending = pending(&shown.iter().map(String::as_str).collect::<Vec<_>>());
    let fresh = ids("fresh", 0..400_000);
    let passed = chain.filter(&fresh, Some(&*pending), at(START)).unwrap().len();
    // Of these 1,000 / 2^24 are to be expected: 23.8, give or take 4.9.
    assert!((5..=50).contains(&(fresh.len() - passed)), "{}", fresh.len() - passed);
    assert_eq!(chain.filter(&shown, Some(&*pending), at(START)).unwrap(), [0; 0]);
}

#[test]
fn a_pending_list_from_before_a_deletion_stops_nothing() {
    let mut guard = guard();
    guard.record(&["a"], at_ms(START_MS));
    let mut chain = recorded(ChainOptions::default(), &["a"], START);
    chain.forget(at_ms(START_MS + 10_000)).unwrap();
    let now = at_ms(START_MS + 20_000);
    let fresh = |guard: &Guard| {
        let pending = guard.pending_list(4_000, now);
        chain.filter(&["a", "b"], Some(&*pending), at(START + 20)).unwrap()
    };
    assert_eq!(fresh(&guard), [0, 1]);

    let shipped = shipped(&chain, START + 20);
    guard.apply(Snapshot::from(&shipped), now).unwrap();
    guard.record(&["b"], now);
    assert_eq!(fresh(&guard), [0]);
}

// Reports.

#[test]
fn a_reported_deletion_deletes_earlier_impressions_and_a_second_time_nothing_more() {
    let mut chain = recorded(ChainOptions::default(), &["a", "b"], START);
    let mut deletion = report(START_MS + 500, &[], &[]).received(at_ms(START_MS + 500));
    deletion.forgotten = true;
    // As it is in a stream.
    let deletion = serde_json::from_str(&serde_json::to_string(&deletion).unwrap()).unwrap();
    assert_eq!(chain.ingest(&deletion), Ok(0));
    let mut forgotten = recorded(ChainOptions::default(), &["a", "b"], START);
    forgotten.forget(at_ms(START_MS + 500)).unwrap();
    assert_eq!(
        chain.stored(at(START + 1)).unwrap(),
        forgotten.stored(at(START + 1)).unwrap()
    );

    ingest(&mut chain, &[("c", START_MS + 1_000)], &[], START_MS + 2_000);
    let before = chain.stored(at(START + 2)).unwrap();
    assert_eq!(chain.ingest(&deletion), Ok(0));
    assert_eq!(chain.stored(at(START + 2)).unwrap(), before);
}

#[test]
fn times_of_a_report_are_translated_from_the_clock_of_its_device() {
    // It is an hour ahead, or behind.
    for device_ms in [START_MS + 3_600_000, START_MS - 3_600_000] {
        let mut chain = recorded(ChainOptions::default(), &["a", "b"], START - 60);
        chain.unsee(&["a", "b"], at_ms(START_MS - 10_000)).unwrap();
        let report = report(device_ms, &[("a", device_ms - 10_000), ("b", device_ms - 9_999)], &[]);
        chain.ingest(&report.received(at_ms(START_MS))).unwrap();
        assert_eq!(chain.filter(&["a", "b"], None, at(START)).unwrap(), [0], "{device_ms}");
    }
}

#[test]
fn a_report_that_waited_in_a_stream_gives_the_same_chain_as_one_that_did_not() {
    let report = report(7_000, &[("a", 0), ("b", 6_000)], &[("c", 5_000)]).received(at_ms(START_MS));
    let chain = recorded(options(5, 3, 3_600), &["b", "c"], START - 60);
    let (mut at_once, mut late) = (chain.clone(), chain);
    at_once.ingest(&report).unwrap();
    // The report does not contain how late it is.
    assert_eq!(late.ingest(&report.clone()).unwrap(), 1);
    assert_eq!(shipped(&late, START + 1_800), shipped(&at_once, START + 1_800));
    assert_eq!(late.filter(&["a", "b", "c"], None, at(START)).unwrap(), [2]);
}

#[test]
fn a_time_in_the_future_counts_as_now() {
    let mut chain = recorded(ChainOptions::default(), &["a"], START);
    ingest(&mut chain, &[("b", u64::MAX)], &[("a", u64::MAX)], START_MS + 1_000);
    assert_eq!(
        shipped(&chain, START + 1).unseen,
        impressions(&[("a", START_MS + 1_000)])
    );
    assert!(chain.contains("b", at(START + 1)).unwrap());
    // Also in a report that somebody else has put into the server's time.
    let mut received = report(START_MS + 1_500, &[], &[("b", START_MS)]).received(at_ms(START_MS + 1_500));
    received.unseen = impressions(&[("b", u64::MAX)]);
    chain.ingest(&received).unwrap();
    assert_eq!(shipped(&chain, START + 2).unseen[0].at, at_ms(START_MS + 1_500));
    // And one before all time as before everything.
    let report = report(u64::MAX, &[("a", 0)], &[]);
    chain.ingest(&report.received(at_ms(START_MS + 2_000))).unwrap();
    assert!(!chain.contains("a", at(START + 2)).unwrap());
}

// Deleting the history.

#[test]
fn stored_unseen_ids_that_no_shard_contains_are_dropped() {
    let mut chain = recorded(ChainOptions::default(), &["a"], START);
    chain
        .restore(&impressions(&[("a", 5), ("a", 7), ("b", 6)]), None)
        .unwrap();
    assert_eq!(shipped(&chain, START).unseen, impressions(&[("a", 7)]));
}

#[test]
fn more_unseen_ids_than_a_snapshot_may_have_are_refused_and_change_nothing() {
    let all = ids("item", 0..1_001);
    let mut chain = recorded(ChainOptions::default(), &all, START);
    let before = shipped(&chain, START);
    let unseen: Vec<(&str, u64)> = all.iter().map(|id| (id.as_str(), 1)).collect();
    let unseen = impressions(&unseen);
    let refused = chain.restore(&unseen, Some(at(5))).map_err(|error| error.code());
    assert_eq!(refused, Err("bad-snapshot"));
    assert_eq!(shipped(&chain, START), before);
    chain.restore(&unseen[1..], Some(at(5))).unwrap();
    assert_eq!(shipped(&chain, START).unseen.len(), 1_000);
}

#[test]
fn times_beyond_32_bits_of_seconds_are_refused_and_change_nothing() {
    let mut chain = recorded(ChainOptions::default(), &["a"], START);
    let before = shipped(&chain, START);
    let now = at_ms(1_000 << 32);
    let report = report(now.unix_ms(), &[("b", 0)], &[("a", 0)]).received(now);
    for refused in [
        chain.unsee(&["a"], now),
        chain.forget(now),
        chain.forget(at_ms((1_000 << 32) - 999)),
        chain.ingest(&report).map(drop),
        chain.record(&["new"], now).map(drop),
        chain.contains("new", now).map(drop),
        chain.filter(&["new"], None, now).map(drop),
        chain.snapshot(now, None).map(drop),
        chain.restore(&impressions(&[("a", 0)]), Some(now)),
    ] {
        assert!(matches!(refused, Err(Error::BadOption(_))));
    }
    assert_eq!(shipped(&chain, START), before);
}

// Union.

#[test]
fn the_later_time_counts_for_an_id_that_two_chains_list_as_unseen() {
    let first = recorded(ChainOptions::default(), &["a", "b", "c"], START);
    let (mut here, mut there) = (first.clone(), first);
    here.unsee(&["a", "b"], at_ms(START_MS + 1)).unwrap();
    there.unsee(&["b", "c"], at_ms(START_MS + 2)).unwrap();
    let expected = impressions(&[("b", START_MS + 2), ("c", START_MS + 2), ("a", START_MS + 1)]);
    let mut united = here.clone();
    united.unite(&there);
    assert_eq!(shipped(&united, START).unseen, expected);
    there.unite(&here);
    assert_eq!(shipped(&there, START), shipped(&united, START));
}

#[test]
fn a_chain_that_does_not_know_of_a_deletion_brings_nothing_back() {
    let replica = recorded(options(10, 5, 0), &ids("item", 0..25), START);
    let mut there = replica.clone();
    there.unsee(&["item-1"], at_ms(START_MS + 500)).unwrap();
    let mut here = replica;
    here.forget(at_ms(START_MS + 60_000)).unwrap();
    // An earlier deletion changes nothing.
    here.forget(at_ms(START_MS)).unwrap();
    here.record(&["item-1", "after"], at(START + 61)).unwrap();
    let expected = shipped(&here, START + 62);
    assert_eq!(expected.forget_before, Some(at(START + 60)));
    let mut united = here.clone();
    united.unite(&there);
    assert_eq!(shipped(&united, START + 62), expected);
    there.unite(&here);
    assert_eq!(shipped(&there, START + 62), expected);
}

// References.

fn held(snapshot: &ChainSnapshot, wanted: impl Fn(usize) -> bool) -> String {
    let texts = snapshot.shards.iter().enumerate();
    Reference::join(
        texts
            .filter(|(index, _)| wanted(*index))
            .map(|(_, text)| Reference::of(snapshot.format, text.as_bytes())),
    )
}

#[test]
fn i5_invalid_names_in_held_are_ignored() {
    let chain = recorded(options(10, 4, 0), &ids("item", 0..35), START);
    let whole = shipped(&chain, START);
    let names = held(&whole, |_| true);
    for nothing in [
        String::new(),
        names.to_uppercase(),
        format!("~{names}"),
        names.replace('.', ","),
        ".".repeat(1_000_000),
        format!("{names}{}", ".".repeat(800)),
        "é".repeat(400),
    ] {
        let sent = chain.snapshot(at(START), Some(&nothing)).unwrap();
        let understood = sent.shards.iter().filter(|text| text.starts_with('~')).count();
        // Of a text with a mark before it all names but the first can be read.
        let expected = if nothing.starts_with('~') {
            whole.shards.len() - 1
        } else {
            0
        };
        assert_eq!(understood, expected, "{nothing:.80}");
    }
    let among_others = format!("0123456789ab..x.{names}.");
    let sent = chain.snapshot(at(START), Some(&among_others)).unwrap();
    assert!(sent.shards.iter().all(|text| text.starts_with('~')));
}

#[test]
fn a_reference_in_a_store_is_rejected_in_every_format_of_a_chain() {
    let go = Format::go_bloomfilter(10, 0.001).unwrap();
    for format in [Format::Native, Format::Guava, go] {
        let options = ChainOptions {
            format,
            ..options(10, 4, 0)
        };
        let chain = recorded(options, &ids("item", 0..15), START);
        let mut stored = shipped(&chain, START).shards;
        stored[0] = Reference::of(format, stored[0].as_bytes()).to_element();
        let (chain, rejected) = ShardChain::from_shards(&stored, options).unwrap();
        let errors: Vec<(usize, &str)> = rejected.iter().map(|each| (each.index, each.error.code())).collect();
        assert_eq!(errors, [(0, "bad-base64")], "{format:?}");
        assert_eq!(chain.shards().count(), 1);
    }
}
