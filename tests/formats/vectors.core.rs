//! The reference vectors: every result, header field and byte agrees with an independent writer of the format.

use crate::common::shard_with;
use crate::common::sizes::{ESTIMATES, SIZES};
use crate::common::vectors::{Case, Vectors, edges, native};
use seenguard::hash::{Positions, hash_id};
use seenguard::{Parameters, Shard};

/// Calls `check` with every case and the ids that are queried.
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
fn i8_every_header_field_is_read() {
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
fn i8_every_result_agrees() {
    for_each_case(|case, ids| {
        let shard = Shard::from_base64(&case.base64).unwrap();
        for (index, id) in ids.iter().enumerate() {
            assert_eq!(shard.filter.contains(id), case.answer(index), "{id:?}");
        }
    });
}

#[test]
fn i8_encoding_again_yields_the_same_string() {
    for_each_case(|case, _| {
        let shard = Shard::from_base64(&case.base64).unwrap();
        assert_eq!(shard.to_base64().unwrap(), case.base64);
        assert_eq!(shard.to_bytes().unwrap()[4], case.encoding);
    });
}

#[test]
fn i8_a_shard_built_from_the_inserted_ids_is_the_reference_shard() {
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
fn i8_sizes_and_estimates_are_those_of_any_implementation() {
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
fn i8_the_first_id_has_the_reference_positions() {
    let Vectors { ids, cases } = edges();
    for case in cases {
        let positions: Vec<u32> = Positions::new(hash_id(ids[0].as_bytes(), case.seed()), case.bits)
            .take(case.hashes as usize)
            .collect();
        assert_eq!(Some(positions), case.positions_of_first);
    }
}

#[test]
fn i8_positions_need_64_bit_products() {
    let positions: Vec<u32> = Positions::new(hash_id(b"1r8bq8r7q4izgx", 0), 13_606_609)
        .take(5)
        .collect();
    assert_eq!(positions, [9_463_854, 12_854_560, 11_048_003, 12_453_532, 11_873_883]);
}
