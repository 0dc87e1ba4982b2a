//! Simhash: the fingerprints of an independent implementation, and what must hold of those of any features.

use crate::common::simhash::vectors;
use proptest::prelude::*;
use seenguard::near_duplicates::simhash;

type Feature = (String, f64);

fn fingerprint(features: &[Feature]) -> u64 {
    simhash(features.iter().map(|(text, weight)| (text, *weight))).unwrap()
}

/// Beside some weights others are too small to be added, unless such weights have cancelled each other out before.
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
fn a_weight_that_is_none_is_refused() {
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
