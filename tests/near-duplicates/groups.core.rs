//! Near-duplicates: whatever was added, the index finds exactly what brute force finds, and groups are those of a plain
//! model.

use crate::common::ids;
use crate::common::simhash::vectors;
use proptest::prelude::*;
use seenguard::near_duplicates::NearDuplicates;

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
            // Whether it joined a group or began one, it is there.
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
fn ids_of_any_text_name_groups() {
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
