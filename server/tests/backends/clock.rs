//! Tests of a store whose clock is an hour behind this process's.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use seenguard::{Impression, Report, Time};
use seenguard_server::{SeenStore, StoreOptions};

use super::odd::Odd;

const HOUR: Duration = Duration::from_secs(3_600);

fn right_time() -> Time {
    Time::from(SystemTime::now() - HOUR)
}

fn report(ids: &[&str], unseen: &[&str]) -> Vec<u8> {
    let entries = |ids: &[&str]| {
        let entry = |&id: &&str| Impression {
            id: id.into(),
            at: right_time(),
        };
        ids.iter().map(entry).collect()
    };
    let mut report = Report::new("home:ada", right_time());
    report.impressions = entries(ids);
    report.unseen = entries(unseen);
    serde_json::to_vec(&report).unwrap()
}

pub async fn a_server_whose_clock_is_ahead_loses_nothing() {
    let backend = Arc::new(Odd::new(|_| ready(())).clock(right_time));
    let ahead = SeenStore::new(backend.clone(), StoreOptions::default()).unwrap();
    let options = StoreOptions {
        clock: Some(Arc::new(right_time)),
        ..StoreOptions::default()
    };
    let right = SeenStore::new(backend, options).unwrap();
    let is_seen = async |id: &str| right.read("ada").await.unwrap().contains(id, right_time()).unwrap();

    // The store's clock is not known yet. Reports count as of this process's time.
    let early = ahead.accept("ada", &report(&["a"], &[])).await.unwrap();
    assert_eq!(ahead.ingest("ada", &early).await.unwrap(), 1);
    tokio::time::sleep(Duration::from_millis(5)).await;
    right.unsee("ada", &["a"]).await.unwrap();
    assert!(!is_seen("a").await);
    let late = ahead.accept("ada", &report(&[], &["b"])).await.unwrap();
    assert!(late.received_at < right_time() + Duration::from_secs(1));

    // Impressions after the deletion of the history, or after `unsee`, count: from the second after the deletion on.
    ahead.forget("ada").await.unwrap();
    let deleted = right.snapshot("ada", None).await.unwrap().forget_before.unwrap();
    assert!(deleted <= right_time() + Duration::from_secs(1));
    while right_time() < deleted {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for store in [&right, &ahead] {
        let recorded = store.accept("ada", &report(&["c"], &[])).await.unwrap();
        store.ingest("ada", &recorded).await.unwrap();
        assert!(is_seen("c").await);
        tokio::time::sleep(Duration::from_millis(5)).await;
        ahead.unsee("ada", &["c"]).await.unwrap();
        assert!(!is_seen("c").await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let again = right.accept("ada", &report(&["c"], &[])).await.unwrap();
    right.ingest("ada", &again).await.unwrap();
    assert!(is_seen("c").await);
}
