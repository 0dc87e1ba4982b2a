//! Simhash: the fingerprints of an independent implementation, and properties of fingerprints of any features. Groups: the
//! index finds exactly what brute force finds, and groups are those of a plain model.

use crate::common::ids;
use proptest::prelude::*;
use seenguard::near_duplicates::{NearDuplicates, simhash};
use serde::Deserialize;

/// `tests/vectors/simhash.json`.
#[derive(Deserialize)]
struct SimhashVectors {
    cases: Vec<SimhashCase>,
    /// In hexadecimal, in the order in which they are added: the ids are `item-0`, `item-1`, …
    fingerprints: Vec<String>,
    grouped: Vec<Grouped>,
}

#[derive(Deserialize)]
struct SimhashCase {
    features: Vec<(String, f64)>,
    fingerprint: String,
}

/// The group of each of the fingerprints, at one distance.
#[derive(Deserialize)]
struct Grouped {
    distance: u32,
    groups: Vec<String>,
}

impl SimhashVectors {
    fn fingerprints(&self) -> Vec<u64> {
        let read = |text: &String| u64::from_str_radix(text, 16).unwrap();
        self.fingerprints.iter().map(read).collect()
    }
}

fn vectors() -> SimhashVectors {
    serde_json::from_str(include_str!("../vectors/simhash.json")).unwrap()
}

type Feature = (String, f64);

fn fingerprint(features: &[Feature]) -> u64 {
    simhash(features.iter().map(|(text, weight)| (text, *weight))).unwrap()
}

/// Next to some weights others are too small to be added, unless such weights have cancelled each other out before.
fn features() -> impl Strategy<Value = Vec<Feature>> {
    let weight = prop::sample::select(vec![0.0, 0.1, 0.5, 1.0, 2f64.powi(53)]);
    prop::collection::vec(("[a-d]|\\PC{0,40}", weight), 0..20)
}

fn whole_weights() -> impl Strategy<Value = Vec<(String, u16)>> {
    prop::collection::vec(("[a-d]{1,2}", any::<u16>()), 0..60)
}

#[test]
fn i8_every_fingerprint_agrees_with_the_reference() {
    let cases = vectors().cases;
    assert!(cases.len() > 100);
    for case in cases {
        assert_eq!(
            format!("{:016x}", fingerprint(&case.features)),
            case.fingerprint,
            "{:?}",
            case.features
        );
    }
}

#[test]
fn an_invalid_weight_is_refused() {
    let above = f64::from_bits(2f64.powi(53).to_bits() + 1);
    for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, above] {
        let refused = simhash([("a", 1.0), ("b", weight)]);
        assert_eq!(refused.map_err(|error| error.code()), Err("bad-option"), "{weight}");
    }
    for weight in [0.0, -0.0, f64::MIN_POSITIVE, 2f64.powi(53)] {
        assert!(simhash([("a", 1.0), ("b", weight)]).is_ok(), "{weight}");
    }
}

proptest! {
    #[test]
    fn the_order_of_features_changes_nothing(
        (features, shuffled) in features().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        prop_assert_eq!(fingerprint(&features), fingerprint(&shuffled));
    }

    #[test]
    fn weights_count_in_proportion(features in whole_weights(), factor in 1u32..1000) {
        let times = |factor: f64| -> Vec<Feature> {
            features.iter().map(|(text, weight)| (text.clone(), f64::from(*weight) * factor)).collect()
        };
        prop_assert_eq!(fingerprint(&times(1.0)), fingerprint(&times(f64::from(factor))));
        prop_assert_eq!(fingerprint(&times(1.0)), fingerprint(&times(2f64.powi(-20))));
    }

    #[test]
    fn a_repeated_feature_has_the_sum_of_its_weights(features in prop::collection::vec(("[a-d]{1,2}", 0u8..5), 0..30)) {
        let weighted: Vec<Feature> = features.iter().map(|(text, times)| (text.clone(), f64::from(*times))).collect();
        let repeated: Vec<Feature> =
            features.iter().flat_map(|(text, times)| (0..*times).map(|_| (text.clone(), 1.0))).collect();
        prop_assert_eq!(fingerprint(&weighted), fingerprint(&repeated));
    }

    #[test]
    fn one_feature_alone_is_its_hash(text in "\\PC{0,80}", weight in 0.001..1000.0) {
        prop_assert_eq!(fingerprint(&[(text.clone(), weight)]), seenguard::hash::hash_id(text.as_bytes(), 0));
    }
}

const MAX_DISTANCE: u32 = 3;

fn near_duplicates(distance: u32) -> NearDuplicates {
    NearDuplicates::new(distance).unwrap()
}

/// Fingerprints with their groups; each search compares all of them.
struct BruteForce {
    distance: u32,
    added: Vec<(u64, String)>,
}

impl BruteForce {
    fn new(distance: u32) -> Self {
        let added = Vec::new();
        BruteForce { distance, added }
    }

    /// Distance, fingerprint and group of what is found, in the order in which it was added.
    fn find(&self, fingerprint: u64) -> Vec<(u32, u64, &str)> {
        let found = self.added.iter().map(|(added, group)| {
            let distance = (added ^ fingerprint).count_ones();
            (distance, *added, group.as_str())
        });
        found.filter(|(distance, ..)| *distance <= self.distance).collect()
    }

    fn group_of(&mut self, fingerprint: u64, id: &str) -> String {
        let found = self.find(fingerprint);
        // Of several at the same distance, this is the first.
        let nearest = found.iter().min_by_key(|(distance, ..)| *distance);
        let group = nearest.map_or(id, |(_, _, group)| group).to_owned();
        if nearest.is_none_or(|(distance, ..)| *distance > 0) {
            self.added.push((fingerprint, group.clone()));
        }
        group
    }
}

fn found(groups: &NearDuplicates, fingerprint: u64) -> Vec<(u32, u64, &str)> {
    let found = groups.find(fingerprint);
    found
        .map(|near| (near.distance, near.fingerprint, near.group))
        .collect()
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// Up to `most` bits.
fn few_bits(most: usize) -> impl Strategy<Value = u64> {
    prop::collection::vec(0..64u32, 0..=most).prop_map(|bits| bits.into_iter().fold(0, |all, bit| all ^ 1 << bit))
}

/// Fingerprints around a few centres, most of them within 6 bits; others spread evenly, or in few buckets.
fn fingerprints() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 1..5).prop_flat_map(|centres| {
        let near = (prop::sample::select(centres), few_bits(6)).prop_map(|(centre, bits)| centre ^ bits);
        let sparse = (any::<u64>(), any::<u64>()).prop_map(|(one, other)| one & other & 0x0101_0101_0101_0101);
        prop::collection::vec(prop_oneof![6 => near, 1 => any::<u64>(), 1 => sparse], 0..150)
    })
}

proptest! {
    #[test]
    fn the_index_finds_what_brute_force_finds(
        distance in 0..=MAX_DISTANCE,
        added in fingerprints(),
        others in prop::collection::vec(any::<u64>(), 0..10),
        bits in few_bits(4),
    ) {
        let mut groups = near_duplicates(distance);
        let mut model = BruteForce::new(distance);
        for (fingerprint, id) in added.iter().zip(ids("item", 0..added.len())) {
            let group = model.group_of(*fingerprint, &id);
            prop_assert_eq!(groups.group_of(*fingerprint, &id).unwrap(), group);
            // Whether it joined a group or began one, it is in the index.
            prop_assert!(found(&groups, *fingerprint).iter().any(|(distance, ..)| *distance == 0));
        }
        prop_assert_eq!(groups.len(), model.added.len());
        for query in added.iter().flat_map(|added| [*added, added ^ bits]).chain(others) {
            prop_assert_eq!(sorted(found(&groups, query)), sorted(model.find(query)));
        }
    }
}

#[test]
fn i8_groups_are_those_of_the_reference() {
    let vectors = vectors();
    let fingerprints = vectors.fingerprints();
    assert_eq!(vectors.grouped.len() as u32, MAX_DISTANCE + 1);
    for expected in vectors.grouped {
        let mut groups = near_duplicates(expected.distance);
        let ids = ids("item", 0..fingerprints.len());
        for ((fingerprint, id), group) in fingerprints.iter().zip(&ids).zip(&expected.groups) {
            assert_eq!(groups.group_of(*fingerprint, id).unwrap(), group);
        }
    }
}

#[test]
fn any_string_is_a_groups_id() {
    let mut groups = near_duplicates(3);
    let ids = ["", "天气", "🐈", "a\0b", &"long".repeat(10_000)];
    for (number, id) in ids.iter().enumerate() {
        let fingerprint = 0xfff << (12 * number);
        assert_eq!(groups.group_of(fingerprint, id).unwrap(), *id);
        assert_eq!(groups.group_of(fingerprint ^ 1, "copy").unwrap(), *id);
    }
}

#[test]
fn a_distance_over_3_bits_is_refused() {
    for distance in [4, 64, u32::MAX] {
        assert_eq!(NearDuplicates::new(distance).unwrap_err().code(), "bad-option");
    }
}
