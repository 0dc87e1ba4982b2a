//! The reference vectors: every answer, every header field and every byte agrees with an independent writer of the
//! format.

use std::collections::BTreeMap;

use crate::common::sizes::{ESTIMATES, SIZES};
use crate::common::vectors::{Case, Vectors, edges, native, with_replaced_surrogates};
use crate::common::{at, shard_with};
use seenguard::hash::{Positions, hash_id};
use seenguard::{Parameters, Shard, Time};

/// Calls `check` with every case and the ids it is asked for.
fn for_each_case(check: impl Fn(&Case, &[String])) {
    for (file, Vectors { ids, cases }, expected) in [("native", native(), 10), ("native-edges", edges(), 12)] {
        assert_eq!(cases.len(), expected, "{file}.json");
        for (index, case) in cases.iter().enumerate() {
            println!("{file}.json, case {index}");
            assert_eq!(case.answers.len(), ids.len());
            check(case, &ids);
        }
    }
}

fn parameters(case: &Case) -> Parameters {
    Parameters::new(case.bits, case.hashes).unwrap()
}

#[test]
fn every_header_field_is_read() {
    for_each_case(|case, _| {
        let shard = Shard::from_base64(&case.base64).unwrap();
        assert_eq!(shard.filter.parameters(), parameters(case));
        assert_eq!(shard.filter.seed(), case.seed());
        assert_eq!(
            (shard.count, shard.epoch, shard.expires),
            (case.count, case.epoch, case.expires)
        );
        assert_eq!(shard.filter.set_bits(), case.set_bits);
    });
}

#[test]
fn every_answer_agrees() {
    for_each_case(|case, ids| {
        let shard = Shard::from_base64(&case.base64).unwrap();
        for (index, id) in ids.iter().enumerate() {
            assert_eq!(shard.filter.contains(id), case.answer(index), "{id:?}");
        }
    });
}

#[test]
fn encoding_again_gives_the_same_text() {
    for_each_case(|case, _| {
        let shard = Shard::from_base64(&case.base64).unwrap();
        assert_eq!(shard.to_base64().unwrap(), case.base64);
        assert_eq!(shard.to_bytes().unwrap()[4], case.encoding);
    });
}

#[test]
fn a_shard_built_from_the_inserted_ids_is_the_reference_shard() {
    for_each_case(|case, ids| {
        let built = shard_with(
            parameters(case),
            case.seed(),
            &ids[..case.inserted],
            case.epoch,
            case.expires,
        );
        assert_eq!(built.count, case.count);
        assert_eq!(built, Shard::from_base64(&case.base64).unwrap());
        assert_eq!(built.to_base64().unwrap(), case.base64);
    });
}

#[test]
fn sizes_follow_from_capacity_and_rate() {
    let sized = native().cases;
    assert!(sized.iter().all(|case| case.capacity.is_some()));
    for case in sized {
        let computed = Parameters::for_capacity(case.capacity.unwrap(), case.false_positive_rate.unwrap()).unwrap();
        assert_eq!(computed, parameters(&case));
    }
}

#[test]
fn sizes_and_estimates_are_those_of_any_implementation() {
    for &(capacity, rate, bits, hashes) in SIZES {
        let parameters = Parameters::for_capacity(capacity, rate).unwrap();
        assert_eq!(
            (parameters.bits(), parameters.hashes()),
            (bits, hashes),
            "{capacity} {rate}"
        );
    }
    for &(bits, hashes, set_bits, items, rate) in ESTIMATES {
        let parameters = Parameters::new(bits, hashes).unwrap();
        assert!((parameters.estimate_items(set_bits) - items).abs() <= 1e-9 * items);
        assert!((parameters.false_positive_rate(set_bits) - rate).abs() <= 1e-9 * rate);
    }
}

#[test]
fn the_first_id_has_the_reference_positions() {
    let Vectors { ids, cases } = edges();
    for case in cases {
        let positions: Vec<u32> = Positions::new(hash_id(ids[0].as_bytes(), case.seed()), case.bits)
            .take(case.hashes as usize)
            .collect();
        assert_eq!(Some(positions), case.positions_of_first);
    }
}

#[test]
fn positions_need_64_bit_products() {
    let positions: Vec<u32> = Positions::new(hash_id(b"1r8bq8r7q4izgx", 0), 13_606_609)
        .take(5)
        .collect();
    assert_eq!(positions, [9_463_854, 12_854_560, 11_048_003, 12_453_532, 11_873_883]);
}

#[test]
fn the_edge_ids_hold_lone_surrogates_as_u_fffd() {
    let ids = edges().ids;
    assert_eq!(
        ids[..8],
        ["", "\u{FFFD}", "x\u{FFFD}y", "🦀", "\0", "\0\0", "a\0b", " "]
    );
    let json = r#"["\ud83e\udd80", "\udd80\ud83e", "\ud83e\ud83e\udd80", "\\ud800", "\u00e9"]"#;
    let read: Vec<String> = serde_json::from_str(&with_replaced_surrogates(json)).unwrap();
    assert_eq!(read, ["🦀", "\u{FFFD}\u{FFFD}", "\u{FFFD}🦀", "\\ud800", "é"]);
}

#[test]
fn the_plain_reference_of_these_tests_agrees_too() {
    use crate::common::reference::ReferenceShard;
    for_each_case(|case, ids| {
        // The largest are slow bit by bit.
        if case.bits > 1 << 20 {
            return;
        }
        let mut built = ReferenceShard::new(case.bits, case.hashes, case.seed(), case.epoch, case.expires);
        for id in &ids[..case.inserted] {
            built.insert(id.as_bytes());
        }
        assert_eq!(crate::common::base64_of(&built.to_bytes()), case.base64);
        assert_eq!(
            ReferenceShard::from_bytes(&crate::common::bytes_of(&case.base64)),
            Ok(built)
        );
    });
}

#[test]
fn a_guard_that_holds_one_reference_shard_answers_as_the_shard() {
    for_each_case(|case, ids| {
        let mut guard = crate::common::guard();
        let now = Time::from_unix_ms(0);
        crate::common::apply(&mut guard, None, &[&case.base64], now).unwrap();
        let expected: Vec<u32> = (0..ids.len())
            .filter(|&index| !case.answer(index))
            .map(|index| index as u32)
            .collect();
        assert_eq!(guard.filter(ids, now), expected);
    });
}

#[test]
fn a_guard_that_holds_all_reference_shards_knows_the_newest_that_contains_an_id() {
    for Vectors { ids, cases } in [native(), edges()] {
        // Each shape twice, so that some shards lie side by side and some do not.
        let cases: Vec<&Case> = cases
            .iter()
            .chain(cases.iter().rev())
            .filter(|case| case.bits < 1 << 20 && case.expires == 0)
            .collect();
        let shards: Vec<&str> = cases.iter().map(|case| case.base64.as_str()).collect();
        let mut guard = crate::common::guard();
        crate::common::apply(&mut guard, None, &shards, at(0)).unwrap();
        let answers: BTreeMap<&str, Option<usize>> = ids
            .iter()
            .enumerate()
            .map(|(index, id)| (&**id, cases.iter().position(|case| case.answer(index))))
            .collect();
        assert_eq!(
            guard.split(&ids, at(0)),
            crate::common::split_by(&ids, |id| answers[id])
        );
    }
}
