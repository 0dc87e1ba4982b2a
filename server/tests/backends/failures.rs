//! What a store in Redis does when Redis forgets, refuses, hangs or goes away. Each test starts a Redis.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redis::{Commands, cmd};
use seenguard::{ChainOptions, PageRequest, Time};
use seenguard_server::testing::{body, device, shows};
use seenguard_server::{Error, ErrorKind, Page, RedisConnection, RedisStore, SeenStore, StoreEvent, StoreOptions};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::odd::Odd;
use crate::proxy::Proxy;
use crate::redis_server::{RedisServer, Servers};
use crate::waiting::PATIENCE;

/// How often a store has told what.
type Told = Arc<Mutex<HashMap<&'static str, usize>>>;

/// A store that counts what it tells.
fn store_over(redis: &RedisServer) -> (SeenStore, Told) {
    store_at(redis.url())
}

fn store_at(url: String) -> (SeenStore, Told) {
    let told = Told::default();
    let counted = told.clone();
    let options = StoreOptions::new()
        .namespace_of(|user| format!("home:{user}"))
        .on_event(move |event| {
            let name = match event {
                StoreEvent::NotKept(_) => "not kept",
                StoreEvent::Retry(_) => "retry",
                StoreEvent::Degraded(_) => "degraded",
                _ => return,
            };
            *counted.lock().unwrap().entry(name).or_default() += 1;
        });
    let backend = RedisStore::new(RedisConnection::open(url).unwrap());
    (SeenStore::new(backend, options).unwrap(), told)
}

fn count(told: &Told, name: &str) -> usize {
    told.lock().unwrap().get(name).copied().unwrap_or_default()
}

async fn record(store: &SeenStore, id: &str) -> Result<usize, Error> {
    store.update("ada", |chain, now| chain.record(&[id], now)).await
}

async fn ask(store: &SeenStore, ranked: &[&str], pending: Option<&str>) -> Page {
    let request = PageRequest {
        size: 10,
        pending: pending.into(),
        ..PageRequest::default()
    };
    store.page("ada", ranked, &request).await.unwrap()
}

async fn page(store: &SeenStore, ranked: &[&str], pending: Option<&str>) -> Vec<u32> {
    let page = ask(store, ranked, pending).await;
    assert!(!page.degraded && page.snapshot.is_some(), "{page:?}");
    page.items
}

/// What devices tell is of now.
pub fn now() -> Time {
    Time::from(std::time::SystemTime::now())
}

pub async fn a_script_that_redis_has_forgotten_is_sent_again() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(&redis);
    for id in ["a", "b"] {
        record(&store, id).await.unwrap();
        cmd("SCRIPT").arg("FLUSH").exec(&mut redis.client()).unwrap();
    }
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [2]);
}

pub async fn a_redis_that_is_started_anew_is_waited_for() {
    let mut redis = RedisServer::start(&[]);
    let (store, told) = store_over(&redis);
    record(&store, "a").await.unwrap();
    redis.kill();
    let change = async { record(&store, "b").await.unwrap() };
    let starting = async {
        sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| redis.start_again());
    };
    tokio::join!(change, starting);
    assert!(count(&told, "retry") > 0);
    // This Redis keeps nothing on a disk.
    assert_eq!(page(&store, &["a", "b"], None).await, [0]);
}

pub async fn i5_pages_are_made_while_redis_is_full() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (store, told) = store_over(&redis);
    record(&store, "a").await.unwrap();
    let mut client = redis.client();
    cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut client).unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], now());
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(count(&told, "not kept"), 1);
    assert_eq!(record(&store, "c").await.unwrap_err().kind(), ErrorKind::OutOfMemory);
    let refused = store.accept("ada", &body("ada", &["d"], now(), Some(pending))).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::OutOfMemory);
    // Nothing was half done.
    cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut client).unwrap();
    record(&store, "c").await.unwrap();
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [1]);
}

pub async fn i5_pages_are_made_over_a_replica_that_only_reads() {
    let master = RedisServer::start(&[]);
    let (store, _) = store_over(&master);
    record(&store, "a").await.unwrap();
    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
    let mut client = replica.client();
    while client.llen::<_, u64>("seen:ada").unwrap() == 0 {
        sleep(Duration::from_millis(20)).await;
    }
    let (store, told) = store_over(&replica);
    let pending = shows(&mut device("ada", 1), &["b"], now());
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(count(&told, "not kept"), 1);
    // A write waits for a master, and then says so.
    assert_eq!(record(&store, "c").await.unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(count(&told, "retry") > 0);
}

pub async fn i5_pages_are_made_while_redis_hangs_is_gone_or_was_never_there() {
    let mut redis = RedisServer::start(&[]);
    let (store, told) = store_over(&redis);
    record(&store, "a").await.unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], now());
    let without = async |store: &SeenStore| {
        let begun = Instant::now();
        let page = ask(store, &["a", "b", "c"], Some(&pending)).await;
        assert!(begun.elapsed() < PATIENCE);
        assert_eq!((page.items, page.snapshot, page.degraded), (vec![0, 2], None, true));
    };
    let again = async |store: &SeenStore, expected: &[u32]| {
        let begun = Instant::now();
        while ask(store, &["a", "b", "c"], None).await.degraded {
            assert!(begun.elapsed() < PATIENCE, "it does not come back");
        }
        assert_eq!(page(store, &["a", "b", "c"], None).await, expected);
    };

    redis.pause();
    without(&store).await;
    assert_eq!(count(&told, "degraded"), 1);
    // All else says so in the end.
    let (snapshot, unsee) = tokio::join!(store.snapshot("ada", None), store.unsee("ada", &["a"]));
    assert_eq!(snapshot.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(unsee.unwrap_err().is_transient());
    redis.go_on();
    // What was sent meanwhile was done all the same: the device's list is kept.
    again(&store, &[2]).await;

    redis.kill();
    without(&store).await;
    assert!(record(&store, "c").await.unwrap_err().is_transient());
    let (late, _) = store_over(&redis);
    without(&late).await;
    tokio::task::block_in_place(|| redis.start_again());
    for store in [&store, &late] {
        again(store, &[0, 1, 2]).await;
    }
}

pub async fn a_connection_whose_other_end_is_gone_is_replaced() {
    let redis = RedisServer::start(&[]);
    let proxy = Proxy::to(redis.port).await;
    let (store, _) = store_at(proxy.url());
    record(&store, "a").await.unwrap();
    assert_eq!(proxy.opened(), 1);
    proxy.silence();
    // What it was sent is lost; what comes later goes by another one, long before TCP would tell.
    assert!(ask(&store, &["a", "b"], None).await.degraded);
    let begun = Instant::now();
    while ask(&store, &["a", "b"], None).await.degraded {
        assert!(begun.elapsed() < PATIENCE, "there is no second connection");
    }
    assert_eq!(page(&store, &["a", "b"], None).await, [1]);
    record(&store, "b").await.unwrap();
    assert_eq!(proxy.opened(), 2);
}

pub async fn a_master_that_has_become_a_replica_is_left() {
    let redis = RedisServer::start(&[]);
    let other = RedisServer::start(&["--replicaof", "127.0.0.1", &redis.port.to_string()]);
    let proxy = Proxy::to(redis.port).await;
    let (store, _) = store_at(proxy.url());
    record(&store, "a").await.unwrap();
    let mut client = other.client();
    while client.llen::<_, u64>("seen:ada").unwrap() == 0 {
        sleep(Duration::from_millis(20)).await;
    }
    // A failover by an address that moves: the connection still leads to what is a replica now.
    cmd("REPLICAOF").arg(&["NO", "ONE"]).exec(&mut client).unwrap();
    let master = other.port.to_string();
    let to_other = ["127.0.0.1", &master];
    cmd("REPLICAOF").arg(&to_other).exec(&mut redis.client()).unwrap();
    proxy.lead_to(other.port);
    record(&store, "b").await.unwrap();
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [2]);
    assert_eq!(client.llen::<_, u64>("seen:ada").unwrap(), 1);
    assert_eq!(proxy.opened(), 2);
    // Where pages alone are asked for, what they tell shows it.
    cmd("REPLICAOF")
        .arg(&["127.0.0.1", &redis.port.to_string()])
        .exec(&mut client)
        .unwrap();
    cmd("REPLICAOF").arg(&["NO", "ONE"]).exec(&mut redis.client()).unwrap();
    proxy.lead_to(redis.port);
    let pending = shows(&mut device("ada", 1), &["c"], now());
    let begun = Instant::now();
    while redis.client().hlen::<_, u64>("seen:ada:pending").unwrap() == 0 {
        ask(&store, &["a"], Some(&pending)).await;
        assert!(begun.elapsed() < PATIENCE, "the replica is not left");
    }
}

pub async fn a_slow_answer_is_waited_for_on_its_connection() {
    const SHARDS: usize = 18;
    const BYTES_A_SECOND: u64 = 2_000_000;
    let redis = RedisServer::start(&[]);
    let proxy = Proxy::to(redis.port).await;
    let chain = ChainOptions {
        capacity: 50_000,
        shards: SHARDS,
        ..ChainOptions::default()
    };
    let backend = RedisStore::new(RedisConnection::open(proxy.url()).unwrap());
    let store = SeenStore::new(backend, StoreOptions::new().chain(chain)).unwrap();
    for shard in 0..SHARDS {
        let ids: Vec<String> = (0..50_000).map(|id| format!("article-{shard}-{id}")).collect();
        store.update("ada", |chain, now| chain.record(&ids, now)).await.unwrap();
    }
    let bytes: usize = redis
        .client()
        .lrange::<_, Vec<String>>("seen:ada", 0, -1)
        .unwrap()
        .iter()
        .map(String::len)
        .sum();
    assert!(
        bytes as u64 > BYTES_A_SECOND,
        "{bytes} bytes would come within a second"
    );
    proxy.slow_down(BYTES_A_SECOND);
    // Longer than the silence after which a connection is replaced, and than a page waits.
    assert!(ask(&store, &["article-0-0"], None).await.degraded);
    store
        .update("ada", |chain, now| chain.record(&["new"], now))
        .await
        .unwrap();
    assert_eq!(proxy.opened(), 1);
}

pub async fn i5_an_outage_costs_no_memory_and_no_time() {
    const PAGES: usize = 1_500;
    let redis = RedisServer::start(&[]);
    let (store, told) = store_over(&redis);
    record(&store, "a").await.unwrap();
    redis.pause();
    let mut pages = JoinSet::new();
    for _ in 0..PAGES {
        let store = store.clone();
        pages.spawn(async move { ask(&store, &["a"], None).await.degraded });
    }
    assert!(pages.join_all().await.into_iter().all(|is_degraded| is_degraded));
    assert_eq!(count(&told, "degraded"), PAGES);
    // Only so many reads wait for Redis: it answers these, and no more.
    redis.go_on();
    let begun = Instant::now();
    while ask(&store, &["a"], None).await.degraded {
        assert!(begun.elapsed() < PATIENCE, "it does not come back");
    }
    let said: String = cmd("INFO").arg("commandstats").query(&mut redis.client()).unwrap();
    let (_, calls) = said.split_once("cmdstat_evalsha:calls=").unwrap();
    let calls: usize = calls.split(',').next().unwrap().parse().unwrap();
    assert!((1_024..PAGES).contains(&calls), "{calls}");
}

pub async fn a_backend_that_never_answers_holds_no_read_for_ever() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = loads.clone();
    let backend = Odd::new(move |replacement| {
        let is_first = replacement.is_none() && counted.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if is_first {
                pending().await
            }
        }
    });
    let options = StoreOptions::new().reads_at_once(1).deadline(Duration::from_secs(2));
    let store = SeenStore::new(backend, options).unwrap();
    // The first read has the only place until the deadline.
    for _ in 0..2 {
        assert!(ask(&store, &["a"], None).await.degraded);
    }
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    let begun = Instant::now();
    while ask(&store, &["a"], None).await.degraded {
        assert!(begun.elapsed() < PATIENCE, "its place is not given back");
        sleep(Duration::from_millis(20)).await;
    }
}

pub async fn a_master_that_hangs_holds_up_its_own_users_alone() {
    let servers = tokio::task::block_in_place(Servers::start);
    let urls = servers.cluster.iter().map(RedisServer::url);
    let backend = RedisStore::new(RedisConnection::open_cluster(urls).unwrap());
    let store = SeenStore::new(backend, StoreOptions::new()).unwrap();
    let users: Vec<String> = (0..30).map(|user| format!("user-{user}")).collect();
    for user in &users {
        store
            .update(user, |chain, now| chain.record(&["a"], now))
            .await
            .unwrap();
    }
    let request = PageRequest {
        size: 10,
        ..PageRequest::default()
    };
    let hung = &servers.cluster[0];
    let keys: Vec<String> = hung.client().keys("seen:*}").unwrap();
    hung.pause();
    let mut others = 0;
    for user in &users {
        let page = store.page(user, &["a", "b"], &request).await.unwrap();
        let is_its_own = keys.contains(&format!("seen:{{{user}}}"));
        assert_eq!(page.degraded, is_its_own, "{user}");
        assert_eq!(page.items.len(), if is_its_own { 2 } else { 1 }, "{user}");
        others += usize::from(!is_its_own);
    }
    assert!(others > 0 && others < users.len(), "{others}");
    hung.go_on();
}

pub async fn a_node_that_hangs_does_not_block_the_other_nodes() {
    let servers = tokio::task::block_in_place(Servers::start);
    let hung = RedisServer::start(&[]);
    hung.pause();
    let urls = servers.cluster.iter().chain([&hung]).map(RedisServer::url);
    let connection = RedisConnection::open_cluster(urls).unwrap();
    let begun = Instant::now();
    while !connection.was_connected() {
        assert!(begun.elapsed() < PATIENCE, "it waits for the node that hangs");
        sleep(Duration::from_millis(50)).await;
    }
    hung.go_on();
}

pub async fn what_is_stored_expires_with_the_chain() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(&redis);
    record(&store, "a").await.unwrap();
    store.unsee("ada", &["a"]).await.unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], now());
    page(&store, &[], Some(&pending)).await;
    let mut client = redis.client();
    let life = store.read("ada").await.unwrap().life_seconds(now()).unwrap() as i64;
    for (key, seconds) in [
        ("seen:ada", life),
        ("seen:ada:meta", life),
        ("seen:ada:pending", 2 * 86_400),
    ] {
        let left: i64 = client.ttl(key).unwrap();
        assert!((seconds - 60..=seconds).contains(&left), "{key}: {left} of {seconds}");
    }
    store.forget("ada").await.unwrap();
    let keys: Vec<String> = client.keys("*").unwrap();
    assert_eq!(keys, ["seen:ada:meta"]);
}

pub async fn what_is_no_address_is_told() {
    for url in ["no URL", "http://127.0.0.1", ""] {
        assert_eq!(
            RedisConnection::open(url).unwrap_err().kind(),
            ErrorKind::BadOption,
            "{url}"
        );
    }
    let none: [&str; 0] = [];
    assert_eq!(
        RedisConnection::open_cluster(none).unwrap_err().kind(),
        ErrorKind::BadOption
    );
}
