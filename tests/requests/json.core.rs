//! Snapshots and reports as JSON, written in Rust or in JavaScript, and read again.

use crate::common::{START, at, at_ms, options};
use seenguard::device::Guard;
use seenguard::{ChainOptions, ChainSnapshot, Format, Impression, ReceivedReport, Report, ShardChain, Snapshot, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn is_read<T: DeserializeOwned>(json: &str) -> bool {
    serde_json::from_str::<T>(json).is_ok()
}

#[test]
fn a_snapshot_is_read_as_it_was_written() {
    let mut chain = ShardChain::new(options(10, 5, 600)).unwrap();
    assert_eq!(
        again(&chain.snapshot(at(START), None).unwrap()),
        chain.snapshot(at(START), None).unwrap()
    );
    chain.forget(at(START)).unwrap();
    chain.record(&["a", "b", "c"], at(START)).unwrap();
    chain.unsee(&["b"], at_ms(START * 1000 + 7)).unwrap();
    let snapshot = chain.snapshot(at(START), None).unwrap();
    let read = again(&snapshot);
    assert_eq!(read, snapshot);

    // A device accepts it.
    let mut guard = Guard::new(30.0, 100).unwrap();
    guard.apply(Snapshot::from(&read), crate::common::at(START)).unwrap();
    assert_eq!(guard.filter(&["a", "b", "c", "d"], crate::common::at(START)), [1, 3]);
    // And references to its shards.
    let shipped = chain.snapshot(at(START), Some(&guard.held())).unwrap();
    assert_eq!(again(&shipped), shipped);
}

#[test]
fn a_snapshot_is_read_in_each_format() {
    for format in [
        Format::Native,
        Format::Guava,
        Format::go_bloomfilter(100, 0.001).unwrap(),
    ] {
        let mut chain = ShardChain::new(ChainOptions {
            format,
            ..ChainOptions::default()
        })
        .unwrap();
        chain.record(&["a"], at(START)).unwrap();
        let snapshot = chain.snapshot(at(START), None).unwrap();
        assert_eq!(again(&snapshot), snapshot);
    }
    for (json, format) in [
        (r#""bits-and-blooms""#, Format::BitsAndBlooms),
        (r#""redisbloom""#, Format::RedisBloom),
        (
            r#"{ "kind": "go-bloomfilter", "hashes": 10 }"#,
            Format::GoBloomfilter { hashes: 10, bits: None },
        ),
    ] {
        assert_eq!(serde_json::from_str::<Format>(json).unwrap(), format);
    }
}

#[test]
fn invalid_snapshots_are_refused() {
    assert!(is_read::<ChainSnapshot>(r#"{ "version": 1, "shards": [], "now": 1 }"#));
    for json in [
        "[]",
        r#"{ "shards": [] }"#,
        r#"{ "shards": [7], "now": 1 }"#,
        r#"{ "shards": [], "now": "1" }"#,
        r#"{ "shards": [], "now": 1, "format": "another" }"#,
        r#"{ "shards": [], "now": 1, "format": { "kind": "guava", "hashes": 1 } }"#,
        r#"{ "shards": [], "now": 1, "unseen": [{ "id": "a" }] }"#,
        r#"{ "shards": [], "now": 1, "forgetBefore": -1 }"#,
    ] {
        assert!(!is_read::<ChainSnapshot>(json), "{json}");
    }
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let mut report = Report::new("home:ada", at_ms(5_000));
    report.impressions.push(Impression {
        id: "é".into(),
        at: at_ms(4_000),
    });
    report.unseen.push(Impression {
        id: "b".into(),
        at: at_ms(4_500),
    });
    report.pending = Some("0123456789ab.1.0.".into());
    assert_eq!(again(&report), report);
    let received = report.received(at(START));
    assert_eq!(again(&received), received);
}

#[test]
fn a_report_is_read_as_javascript_writes_it() {
    let report: Report = serde_json::from_str(
        r#"{ "namespace": "home:ada", "now": 5000.9, "impressions": [{ "id": "a", "at": 1e3, "more": 1 }], "more": {} }"#,
    )
    .unwrap();
    assert_eq!((report.now, report.impressions[0].at), (at_ms(5_000), at_ms(1_000)));
    assert_eq!((report.unseen.len(), report.pending), (0, None));

    // The impressions count whether the pending list is valid or not.
    for pending in ["7", "null", "{}", "[1]"] {
        let json = format!(r#"{{ "namespace": "a", "now": 1, "impressions": [], "pending": {pending} }}"#);
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap().pending, None);
    }
    let json = r#"{ "namespace": "a", "receivedAt": 7, "impressions": [], "unseen": [] }"#;
    assert_eq!(
        serde_json::from_str::<ReceivedReport>(json).unwrap().received_at,
        Time::from_unix_ms(7)
    );
}

#[test]
fn a_time_is_a_number_that_is_not_negative() {
    for json in ["-1", "-0.5", "1e999", "\"1\"", "null", "true"] {
        assert!(!is_read::<Time>(json), "{json}");
    }
    assert_eq!(
        serde_json::from_str::<Time>("1e300").unwrap(),
        Time::from_unix_ms(u64::MAX)
    );
    assert_eq!(
        serde_json::from_str::<Time>("18446744073709551615").unwrap(),
        Time::from_unix_ms(u64::MAX)
    );
}
