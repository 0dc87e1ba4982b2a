//! `inspect` on shards of every format.

use crate::common::at;
use seenguard::wire::Encoding;
use seenguard::{BloomFilter, Format, Parameters, Shard, inspect};

const NOW: u64 = 1_764_000_000;

fn native(count: u32, expires: u32) -> Shard {
    let parameters = Parameters::for_capacity(1000, 0.001).unwrap();
    let mut shard = Shard::new(BloomFilter::new(parameters, 7), 42, expires);
    for number in 0..count {
        shard.insert(format!("article-{number}"));
    }
    shard
}

#[test]
fn the_filter_of_a_native_shard_is_the_one_that_was_shipped() {
    for (count, encoding) in [(3, Encoding::Rice), (1000, Encoding::Raw)] {
        let shard = native(count, 0);
        let inspection = inspect(Format::Native, &shard.to_base64().unwrap()).unwrap();
        assert_eq!(inspection.bytes, shard.to_bytes().unwrap().len());
        assert_eq!(inspection.filters.len(), 1);
        assert_eq!(inspection.filters[0].shard, shard);
        assert_eq!(inspection.filters[0].count, Some(shard.count));
        assert_eq!(inspection.filters[0].encoding, encoding);
    }
}

#[test]
fn the_information_limit_is_n_times_log2_of_the_inverse_rate() {
    let inspection = inspect(Format::Native, &native(1000, 0).to_base64().unwrap()).unwrap();
    let rate = inspection.false_positive_rate();
    assert!((0.0005..0.002).contains(&rate));
    let limit = inspection.estimated_items() * (1.0 / rate).log2();
    assert!((inspection.information_limit_bits() - limit).abs() < 1e-6);
    // Half full, a Bloom filter takes 1 / ln 2 times the limit.
    let times = 14_378.0 / inspection.information_limit_bits();
    assert!((times - std::f64::consts::LN_2.recip()).abs() < 0.01, "{times}");
}

#[test]
fn an_empty_and_a_full_filter_have_no_information_limit() {
    let empty = inspect(Format::Native, &native(0, 0).to_base64().unwrap()).unwrap();
    assert_eq!(
        (empty.information_limit_bits(), empty.false_positive_rate()),
        (0.0, 0.0)
    );
    let mut full = Shard::new(BloomFilter::new(Parameters::new(8, 1).unwrap(), 0), 1, 0);
    for number in 0..200 {
        full.insert(number.to_string());
    }
    let full = inspect(Format::Native, &full.to_base64().unwrap()).unwrap();
    assert_eq!((full.information_limit_bits(), full.false_positive_rate()), (0.0, 1.0));
    assert!(full.estimated_items().is_finite());
}

#[test]
fn an_expired_shard_contains_nothing() {
    let inspection = inspect(Format::Native, &native(3, NOW as u32).to_base64().unwrap()).unwrap();
    assert!(inspection.contains("article-1", at(NOW - 1)));
    assert!(!inspection.contains("article-1", at(NOW)));
}
