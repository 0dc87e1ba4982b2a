//! Tests of a consumer of a Redis stream whose dependencies are slow, unavailable or panic.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redis::streams::{StreamPendingCountReply, StreamRangeReply};
use redis::{Commands, from_redis_value};
use seenguard::{Impression, Report};
use seenguard_server::testing::body;
use seenguard_server::{
    Backend, Consumer, ConsumerOptions, MemoryBackend, RedisBackend, RedisConnection, SeenStore, StoreOptions, Stream,
};
use tokio::time::sleep;

use super::failures::now;
use super::odd::Odd;
use crate::proxy::Proxy;
use crate::redis_server::RedisServer;
use crate::waiting::PATIENCE;

const STREAM: &str = "reports";

fn stream(url: String) -> Arc<Stream> {
    Arc::new(Stream::new(RedisConnection::open(url).unwrap(), STREAM))
}

fn options(name: &str, set: impl FnOnce(&mut ConsumerOptions)) -> ConsumerOptions {
    let mut options = ConsumerOptions::new(name);
    set(&mut options);
    options
}

fn store(backend: impl Backend) -> SeenStore {
    SeenStore::new(backend, StoreOptions::default()).unwrap()
}

/// Appends reports of Ada, each with one seen or unseen id.
async fn append(redis: &RedisServer, ids: &[(&str, bool)]) {
    let stream = stream(redis.url());
    for &(id, is_seen) in ids {
        let mut report = Report::new("home:ada", now());
        let list = if is_seen {
            &mut report.impressions
        } else {
            &mut report.unseen
        };
        list.push(Impression {
            id: id.to_owned(),
            at: now(),
        });
        let report = report.received(now());
        // Connecting takes a moment.
        while stream.append("ada", &report).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the stream is empty.
async fn until_all_is_applied(redis: &RedisServer) {
    until("all is applied", || {
        redis.client().xlen::<_, usize>(STREAM).unwrap() == 0
    })
    .await;
}

async fn knows(store: &SeenStore, id: &str) -> bool {
    store.read("ada").await.unwrap().contains(id, now()).unwrap()
}

pub async fn a_batch_that_times_out_is_halved() {
    const USERS: usize = 40;
    const BYTES_A_SECOND: u64 = 2_000_000;
    let redis = RedisServer::start(&[]);
    let store = store(MemoryBackend::default());
    let append = stream(redis.url());
    let ids: Vec<String> = (0..1_000)
        .map(|id| format!("article-{id}-{}", "x".repeat(80)))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut bytes = 0;
    for user in (0..USERS).map(|user| format!("user-{user}")) {
        let report = store.accept(&user, &body(&user, &ids, now(), None)).await.unwrap();
        bytes += ids.concat().len() as u64;
        while append.append(&user, &report).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(bytes > BYTES_A_SECOND, "{bytes} bytes would come in time");
    let proxy = Proxy::to(redis.port).await;
    proxy.slow_down(BYTES_A_SECOND);
    let options = options("one", |options| options.response_timeout = Duration::from_secs(1));
    let consumer = Consumer::new(store.clone(), stream(proxy.url()), options);
    consumer.run(until_all_is_applied(&redis)).await.unwrap();
    for user in (0..USERS).map(|user| format!("user-{user}")) {
        assert!(
            store.read(&user).await.unwrap().contains(ids[999], now()).unwrap(),
            "{user}"
        );
    }
}

pub async fn a_consumer_that_cannot_read_is_not_ready() {
    let mut redis = RedisServer::start(&[]);
    let options = options("one", |options| {
        options.wait = Duration::from_millis(50);
        options.ready_for = Duration::from_secs(2);
    });
    let consumer = Consumer::new(store(MemoryBackend::default()), stream(redis.url()), options);
    let health = consumer.health();
    assert!(health.is_ready());
    tokio::spawn(consumer.run(pending()));
    redis.kill();
    until("it is not ready", || !health.is_ready()).await;
    tokio::task::block_in_place(|| redis.restart());
    until("it is ready again", || health.is_ready()).await;
}

pub async fn an_entry_over_which_the_backend_panics_is_set_aside_alone() {
    let redis = RedisServer::start(&[]);
    append(&redis, &[("a", true), ("b", true), ("b", false), ("c", true)]).await;
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let store = store(Odd::new(move |replacement| {
        let fields = replacement.iter().flat_map(|replacement| &replacement.after.fields);
        if fields.into_iter().any(|(name, _)| name == "unseen:b") {
            counted.fetch_add(1, Ordering::SeqCst);
            panic!("the backend panics");
        }
        ready(())
    }));
    let options = options("one", |options| options.retry_for = Duration::from_secs(1));
    let consumer = Consumer::new(store.clone(), stream(redis.url()), options);
    consumer.run(until_all_is_applied(&redis)).await.unwrap();
    for id in ["a", "b", "c"] {
        assert!(knows(&store, id).await, "{id}");
    }
    let dead: StreamRangeReply = redis.client().xrange_all(format!("{{{STREAM}}}:dead")).unwrap();
    let dead: Vec<String> = dead
        .ids
        .into_iter()
        .map(|mut entry| from_redis_value(entry.map.remove("report").unwrap()).unwrap())
        .collect();
    assert_eq!(dead.len(), 1);
    assert!(dead[0].contains(r#""impressions":[],"unseen":[{"id":"b""#), "{dead:?}");
    // In a batch with the others, and then in one by itself.
    assert!(tries.load(Ordering::SeqCst) >= 6, "{tries:?}");
}

pub async fn no_consumer_claims_entries_that_a_slow_one_is_processing() {
    let redis = RedisServer::start(&[]);
    append(&redis, &[("a", true)]).await;
    let options = |name: &str| options(name, |options| options.claim_after = Duration::from_secs(2));
    let slow = store(Odd::new(|replacement| {
        sleep(Duration::from_secs(if replacement.is_some() { 6 } else { 0 }))
    }));
    let slow_one = Consumer::new(slow.clone(), stream(redis.url()), options("slow"));
    tokio::spawn(slow_one.run(pending()));
    until("it works on the entry", || {
        let with: Result<StreamPendingCountReply, _> = redis.client().xpending_count(STREAM, "seenguard", "-", "+", 1);
        with.is_ok_and(|with| with.ids.iter().any(|entry| entry.consumer == "slow"))
    })
    .await;
    let other = store(MemoryBackend::default());
    let other_one = Consumer::new(other.clone(), stream(redis.url()), options("other"));
    other_one.run(until_all_is_applied(&redis)).await.unwrap();
    assert!(knows(&slow, "a").await && !knows(&other, "a").await);
}

pub async fn a_consumer_ends_in_time_while_its_chains_hang_and_acknowledges_nothing() {
    const REPORTS: usize = 100;
    let (redis, chains) = (RedisServer::start(&[]), RedisServer::start(&[]));
    let appended = stream(redis.url());
    for user in (0..REPORTS).map(|user| format!("user-{user}")) {
        let mut report = Report::new("home", now());
        report.impressions.push(Impression {
            id: "a".to_owned(),
            at: now(),
        });
        let report = report.received(now());
        while appended.append(&user, &report).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    }
    let store = store(RedisBackend::new(RedisConnection::open(chains.url()).unwrap()));
    while store.read("ada").await.is_err() {
        sleep(Duration::from_millis(50)).await;
    }
    chains.pause();
    let given = || -> usize {
        let with: redis::RedisResult<StreamPendingCountReply> =
            redis.client().xpending_count(STREAM, "seenguard", "-", "+", 1_000);
        with.map_or(0, |with| with.ids.len())
    };
    let limit = Duration::from_secs(1);
    let ending = Consumer::new(
        store.clone(),
        stream(redis.url()),
        options("one", |options| options.shutdown_timeout = limit),
    );
    let mut start = Instant::now();
    let end = async {
        until("it has some", || given() > 0).await;
        start = Instant::now();
    };
    ending.run(end).await.unwrap();
    assert!(start.elapsed() < 2 * limit, "{:?}", start.elapsed());
    assert!(given() > 0);
    assert_eq!(redis.client().xlen::<_, usize>(STREAM).unwrap(), REPORTS);
    chains.resume();
    let next = Consumer::new(store, stream(redis.url()), options("one", |_| {}));
    next.run(until_all_is_applied(&redis)).await.unwrap();
}
