//! What a store in Redis does when Redis forgets, refuses or goes away. Each test starts a Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Commands, cmd};
use seenguard::{PageRequest, Time};
use seenguard_server::{RedisConnection, RedisStore, SeenStore, StoreEvent, StoreOptions};

use super::devices::{START, device, namespace_of, shows};
use crate::redis_server::RedisServer;

/// A store that counts what it tells: what is not kept, and what is sent again.
async fn store_over(url: String) -> (RedisStore, Arc<[AtomicUsize; 2]>) {
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let counted = counts.clone();
    let options = StoreOptions::new().namespace_of(namespace_of).on_event(move |event| {
        let count = match event {
            StoreEvent::NotKept(_) => &counted[0],
            StoreEvent::Retry => &counted[1],
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    });
    let connection = RedisConnection::open(&[url]).await.unwrap();
    (RedisStore::new(connection, options).unwrap(), counts)
}

async fn record(store: &RedisStore, id: &str) -> Result<usize, seenguard_server::Error> {
    store.update("ada", START, |chain| chain.record(&[id], START)).await
}

async fn page(store: &RedisStore, ranked: &[&str], pending: Option<&str>) -> Vec<u32> {
    let request = PageRequest {
        size: 10,
        pending: pending.into(),
        ..PageRequest::default()
    };
    store.page("ada", ranked, &request, START).await.unwrap().items
}

pub async fn a_script_that_redis_has_forgotten_is_sent_again() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(redis.url()).await;
    for id in ["a", "b"] {
        record(&store, id).await.unwrap();
        cmd("SCRIPT").arg("FLUSH").exec(&mut redis.client()).unwrap();
    }
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [2]);
}

pub async fn a_redis_that_is_started_anew_is_waited_for() {
    let mut redis = RedisServer::start(&[]);
    let (store, counts) = store_over(redis.url()).await;
    record(&store, "a").await.unwrap();
    redis.kill();
    let change = async { record(&store, "b").await.unwrap() };
    let starting = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| redis.start_again());
    };
    tokio::join!(change, starting);
    assert!(counts[1].load(Ordering::Relaxed) > 0);
    // This Redis keeps nothing on a disk.
    assert_eq!(page(&store, &["a", "b"], None).await, [0]);
}

pub async fn pages_go_on_in_a_full_redis() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (store, counts) = store_over(redis.url()).await;
    record(&store, "a").await.unwrap();
    let mut client = redis.client();
    cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut client).unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], START);
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(counts[0].load(Ordering::Relaxed), 1);
    assert_eq!(record(&store, "c").await.unwrap_err().code(), "storage");
    // Nothing was half done.
    cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut client).unwrap();
    record(&store, "c").await.unwrap();
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [1]);
}

pub async fn pages_go_on_over_a_replica_that_only_reads() {
    let master = RedisServer::start(&[]);
    let (store, _) = store_over(master.url()).await;
    record(&store, "a").await.unwrap();
    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
    let mut client = replica.client();
    while client.llen::<_, u64>("seen:ada").unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (store, counts) = store_over(replica.url()).await;
    let pending = shows(&mut device("ada", 1), &["b"], START);
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(counts[0].load(Ordering::Relaxed), 1);
    // A write waits for a master, and then says so.
    assert_eq!(record(&store, "c").await.unwrap_err().code(), "storage");
    assert!(counts[1].load(Ordering::Relaxed) > 0);
}

pub async fn what_is_stored_expires_with_the_chain() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(redis.url()).await;
    record(&store, "a").await.unwrap();
    store.unsee("ada", &["a"], START).await.unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], START);
    page(&store, &[], Some(&pending)).await;
    let mut client = redis.client();
    let life = store.read("ada", START).await.unwrap().life_seconds() as i64;
    for (key, seconds) in [
        ("seen:ada", life),
        ("seen:ada:meta", life),
        ("seen:ada:pending", 2 * 86_400),
    ] {
        let left: i64 = client.ttl(key).unwrap();
        assert!((seconds - 60..=seconds).contains(&left), "{key}: {left} of {seconds}");
    }
    store
        .forget("ada", Time::from_unix_seconds(START.unix_seconds() + 1))
        .await
        .unwrap();
    let keys: Vec<String> = client.keys("*").unwrap();
    assert_eq!(keys, ["seen:ada:meta"]);
}

pub async fn an_address_without_a_server_is_told() {
    let mut redis = RedisServer::start(&[]);
    redis.kill();
    for urls in [vec![redis.url()], vec!["no URL".to_owned()], vec![]] {
        assert_eq!(RedisConnection::open(&urls).await.unwrap_err().code(), "storage");
    }
}
