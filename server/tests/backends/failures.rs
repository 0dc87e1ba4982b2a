//! Tests of a store in Redis when Redis loses data, refuses commands, hangs or ends. Each test starts a Redis.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redis::{Commands, cmd};
use seenguard::{ChainOptions, PageRequest, StoreFailure, Time};
use seenguard_server::testing::{body, device, shows};
use seenguard_server::{Error, ErrorKind, Page, RedisBackend, RedisConnection, SeenStore, StoreEvent, StoreOptions};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::odd::Odd;
use crate::proxy::Proxy;
use crate::redis_server::{RedisServer, Servers};
use crate::waiting::{PATIENCE, eventually, promised};

/// The number of each event.
type Events = Arc<Mutex<HashMap<String, usize>>>;

/// A store that counts its events.
fn store_over(redis: &RedisServer) -> (SeenStore, Events) {
    store_at(redis.url())
}

fn store_at(url: String) -> (SeenStore, Events) {
    let events = Events::default();
    let counted = events.clone();
    let count = move |event: &StoreEvent<'_>| {
        let name = match event {
            StoreEvent::PendingNotStored(_) => "pending not stored".to_owned(),
            StoreEvent::Retry(error) => format!("retry {:?}", error.kind()),
            StoreEvent::Degraded(_) => "degraded".to_owned(),
            _ => return,
        };
        *counted.lock().unwrap().entry(name).or_default() += 1;
    };
    let options = StoreOptions {
        namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
        on_event: Some(Arc::new(count)),
        ..StoreOptions::default()
    };
    let backend = RedisBackend::new(RedisConnection::open(url).unwrap());
    (SeenStore::new(backend, options).unwrap(), events)
}

/// The number of events whose name has this prefix.
fn count(events: &Events, name: &str) -> usize {
    let events = events.lock().unwrap();
    let all = events.iter().filter(|(event, _)| event.starts_with(name));
    all.map(|(_, count)| count).sum()
}

/// Checks that a change is refused by a read-only Redis, and retried until the deadline.
async fn assert_read_only(store: &SeenStore, events: &Events) {
    let error = record(store, "c").await.unwrap_err();
    // At the deadline one of its attempts may be in progress.
    let kinds = [StoreFailure::ReadOnly, StoreFailure::Timeout].map(ErrorKind::Storage);
    assert!(kinds.contains(&error.kind()), "{error}");
    assert!(count(events, "retry Storage(ReadOnly)") > 0, "{events:?}");
}

async fn record(store: &SeenStore, id: &str) -> Result<usize, Error> {
    store.update("ada", |chain, now| chain.record(&[id], now)).await
}

async fn page_of(store: &SeenStore, ranked: &[&str], pending: Option<&str>) -> Page {
    let request = PageRequest {
        size: 10,
        pending: pending.into(),
        ..PageRequest::default()
    };
    store.page("ada", ranked, &request).await.unwrap()
}

async fn page(store: &SeenStore, ranked: &[&str], pending: Option<&str>) -> Vec<u32> {
    let page = page_of(store, ranked, pending).await;
    assert!(!page.degraded && page.snapshot.is_some(), "{page:?}");
    page.items
}

/// Makes devices report impressions of the current time.
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

pub async fn a_redis_that_is_started_again_is_waited_for() {
    let mut redis = RedisServer::start(&[]);
    let (store, events) = store_over(&redis);
    record(&store, "a").await.unwrap();
    redis.kill();
    let change = async { record(&store, "b").await.unwrap() };
    let starting = async {
        sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| redis.restart());
    };
    tokio::join!(change, starting);
    assert!(count(&events, "retry") > 0);
    // This Redis has no persistence.
    assert_eq!(page(&store, &["a", "b"], None).await, [0]);
}

pub async fn i5_pages_are_made_while_redis_is_full() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (store, events) = store_over(&redis);
    record(&store, "a").await.unwrap();
    let mut client = redis.client();
    cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut client).unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], now());
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(count(&events, "pending not stored"), 1);
    assert_eq!(
        record(&store, "c").await.unwrap_err().kind(),
        StoreFailure::OutOfMemory.into()
    );
    let refused = store.accept("ada", &body("ada", &["d"], now(), Some(pending))).await;
    assert_eq!(refused.unwrap_err().kind(), StoreFailure::OutOfMemory.into());
    // No change was applied partially.
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
    let (store, events) = store_over(&replica);
    let pending = shows(&mut device("ada", 1), &["b"], now());
    assert_eq!(page(&store, &["a", "b", "c"], Some(&pending)).await, [2]);
    assert_eq!(count(&events, "pending not stored"), 1);
    // A write waits for a master until its deadline, then fails.
    assert_read_only(&store, &events).await;
}

pub async fn i5_pages_are_made_while_redis_hangs_is_gone_or_was_never_there() {
    let mut redis = RedisServer::start(&[]);
    let (store, events) = store_over(&redis);
    record(&store, "a").await.unwrap();
    let pending = shows(&mut device("ada", 1), &["b"], now());
    let without = async |store: &SeenStore, what: &str| {
        let start = Instant::now();
        let page = page_of(store, &["a", "b", "c"], Some(&pending)).await;
        let took = start.elapsed();
        assert!(took < promised(what), "{took:?}: {what}");
        assert_eq!((page.items, page.snapshot, page.degraded), (vec![0, 2], None, true));
    };
    let again = async |store: &SeenStore, expected: &[u32]| {
        let start = Instant::now();
        while page_of(store, &["a", "b", "c"], None).await.degraded {
            assert!(
                start.elapsed() < promised("pages are degraded after Redis is back"),
                "it does not come back"
            );
        }
        assert_eq!(page(store, &["a", "b", "c"], None).await, expected);
    };

    redis.pause();
    without(&store, "a page waits for Redis").await;
    assert_eq!(count(&events, "degraded"), 1);
    // All other calls fail at their deadline.
    let (snapshot, unsee) = tokio::join!(store.snapshot("ada", None), store.unsee("ada", &["a"]));
    assert_eq!(snapshot.unwrap_err().kind(), StoreFailure::Timeout.into());
    assert!(unsee.unwrap_err().is_transient());
    redis.resume();
    // Commands sent meanwhile were executed all the same: the device's list is stored.
    again(&store, &[2]).await;

    redis.kill();
    without(&store, "a page waits for Redis").await;
    assert!(record(&store, "c").await.unwrap_err().is_transient());
    let (late, _) = store_over(&redis);
    without(&late, "a page waits for the first connection to Redis").await;
    tokio::task::block_in_place(|| redis.restart());
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
    // Commands of the silenced connection are lost; later ones use a new connection, long before TCP would notice.
    assert!(page_of(&store, &["a", "b"], None).await.degraded);
    let start = Instant::now();
    while page_of(&store, &["a", "b"], None).await.degraded {
        assert!(start.elapsed() < PATIENCE, "there is no second connection");
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
    // A failover that moves the address: the existing connection still leads to the former master, now a replica.
    cmd("REPLICAOF").arg(&["NO", "ONE"]).exec(&mut client).unwrap();
    let master = other.port.to_string();
    let to_other = ["127.0.0.1", &master];
    cmd("REPLICAOF").arg(&to_other).exec(&mut redis.client()).unwrap();
    proxy.lead_to(other.port);
    record(&store, "b").await.unwrap();
    assert_eq!(page(&store, &["a", "b", "c"], None).await, [2]);
    assert_eq!(client.llen::<_, u64>("seen:ada").unwrap(), 1);
    assert_eq!(proxy.opened(), 2);
    // If only pages are requested, storing their pending lists detects it.
    cmd("REPLICAOF")
        .arg(&["127.0.0.1", &redis.port.to_string()])
        .exec(&mut client)
        .unwrap();
    cmd("REPLICAOF").arg(&["NO", "ONE"]).exec(&mut redis.client()).unwrap();
    proxy.lead_to(redis.port);
    let pending = shows(&mut device("ada", 1), &["c"], now());
    let start = Instant::now();
    while redis.client().hlen::<_, u64>("seen:ada:pending").unwrap() == 0 {
        page_of(&store, &["a"], Some(&pending)).await;
        assert!(start.elapsed() < PATIENCE, "the replica is not left");
    }
}

pub async fn a_slow_response_is_awaited() {
    const SHARDS: usize = 18;
    const BYTES_A_SECOND: u64 = 2_000_000;
    let redis = RedisServer::start(&[]);
    let proxy = Proxy::to(redis.port).await;
    let chain = ChainOptions {
        capacity: 50_000,
        shards: SHARDS,
        ..ChainOptions::default()
    };
    let backend = RedisBackend::new(RedisConnection::open(proxy.url()).unwrap());
    let store = SeenStore::new(
        backend,
        StoreOptions {
            chain,
            ..StoreOptions::default()
        },
    )
    .unwrap();
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
    // Longer than the silence after which another connection is opened, and than a page waits.
    assert!(page_of(&store, &["article-0-0"], None).await.degraded);
    store
        .update("ada", |chain, now| chain.record(&["new"], now))
        .await
        .unwrap();
    assert!(proxy.opened() <= 3, "{}", proxy.opened());
}

pub async fn a_redis_that_refuses_writes_is_not_left() {
    let redis = RedisServer::start(&[]);
    let proxy = Proxy::to(redis.port).await;
    let (store, events) = store_at(proxy.url());
    record(&store, "a").await.unwrap();
    // NOREPLICAS: another connection would not help.
    let mut client = redis.client();
    cmd("CONFIG")
        .arg(&["SET", "min-replicas-to-write", "1"])
        .exec(&mut client)
        .unwrap();
    let mut device = device("ada", 1);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        let pending = shows(&mut device, &["b"], now());
        assert!(!page_of(&store, &["a", "b"], Some(&pending)).await.degraded);
        sleep(Duration::from_millis(100)).await;
    }
    assert!(count(&events, "pending not stored") > 0);
    assert_read_only(&store, &events).await;
    assert_eq!(proxy.opened(), 1);
}

pub async fn i5_pages_wait_no_longer_for_a_redis_that_was_there() {
    let mut redis = RedisServer::start(&[]);
    let (store, _) = store_over(&redis);
    record(&store, "a").await.unwrap();
    redis.kill();
    for _ in 0..10 {
        let start = Instant::now();
        assert!(page_of(&store, &["a"], None).await.degraded);
        let took = start.elapsed();
        assert!(took < promised("a page waits for Redis"), "{took:?}");
    }
    for stops in [false, true] {
        if stops {
            redis.pause();
            assert!(page_of(&store, &["a"], None).await.degraded);
            sleep(Duration::from_secs(5)).await;
            redis.resume();
        } else {
            tokio::task::block_in_place(|| redis.restart());
        }
        let back = Instant::now();
        while page_of(&store, &["a"], None).await.degraded {
            let since = back.elapsed();
            assert!(since < promised("pages are degraded after Redis is back"), "{since:?}");
        }
    }
}

pub async fn i5_pages_of_an_outage_wait_no_longer_than_one() {
    const PAGES: usize = 1_500;
    let redis = RedisServer::start(&[]);
    let (store, events) = store_over(&redis);
    record(&store, "a").await.unwrap();
    redis.pause();
    let mut pages = JoinSet::new();
    for _ in 0..PAGES {
        let store = store.clone();
        pages.spawn(async move {
            let start = Instant::now();
            assert!(page_of(&store, &["a"], None).await.degraded);
            start.elapsed()
        });
    }
    let longest = pages.join_all().await.into_iter().max().unwrap();
    assert!(longest < promised("a page waits for Redis"), "{longest:?}");
    assert_eq!(count(&events, "degraded"), PAGES);
    // Only 1,024 reads wait for Redis, so it gets no more.
    redis.resume();
    let start = Instant::now();
    while page_of(&store, &["a"], None).await.degraded {
        assert!(start.elapsed() < PATIENCE, "it does not come back");
    }
    let output: String = cmd("INFO").arg("commandstats").query(&mut redis.client()).unwrap();
    let (_, calls) = output.split_once("cmdstat_evalsha:calls=").unwrap();
    let calls: usize = calls.split(',').next().unwrap().parse().unwrap();
    assert!((1_024..PAGES).contains(&calls), "{calls}");
}

pub async fn a_read_from_a_backend_that_never_responds_ends_at_its_deadline() {
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
    let options = StoreOptions {
        reads_at_once: 1,
        deadline: Duration::from_secs(2),
        ..StoreOptions::default()
    };
    let store = SeenStore::new(backend, options).unwrap();
    // The first read has the only permit until the deadline.
    for _ in 0..2 {
        assert!(page_of(&store, &["a"], None).await.degraded);
    }
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    let start = Instant::now();
    while page_of(&store, &["a"], None).await.degraded {
        assert!(start.elapsed() < PATIENCE, "its permit is not released");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The number of connections that this Redis has accepted so far.
fn accepted(redis: &RedisServer) -> usize {
    let output: String = cmd("INFO").arg("stats").query(&mut redis.client()).unwrap();
    let (_, number) = output.split_once("total_connections_received:").unwrap();
    number.lines().next().unwrap().trim().parse().unwrap()
}

fn users() -> Vec<String> {
    (0..30).map(|user| format!("user-{user}")).collect()
}

/// A store over the nodes of a cluster.
fn store_on(servers: &Servers) -> SeenStore {
    let urls = servers.cluster.iter().map(RedisServer::url);
    let backend = RedisBackend::new(RedisConnection::open_cluster(urls).unwrap());
    SeenStore::new(backend, StoreOptions::default()).unwrap()
}

/// Requests this page for all users at once. Returns for each user whether the page was degraded.
async fn degraded(store: &SeenStore) -> HashMap<String, bool> {
    let mut pages = JoinSet::new();
    for user in users() {
        let store = store.clone();
        pages.spawn(async move {
            let request = PageRequest {
                size: 10,
                ..PageRequest::default()
            };
            let page = store.page(&user, &["a", "b"], &request).await.unwrap();
            assert_eq!(page.items.len(), if page.degraded { 2 } else { 1 }, "{user}");
            (user, page.degraded)
        });
    }
    pages.join_all().await.into_iter().collect()
}

/// Suspends a master, without a failover by the others. Returns its keys.
fn hang(servers: &Servers) -> Vec<String> {
    for node in &servers.cluster {
        let longer = ["SET", "cluster-node-timeout", "60000"];
        cmd("CONFIG").arg(&longer).exec(&mut node.client()).unwrap();
    }
    let keys = servers.cluster[0].client().keys("seen:*}").unwrap();
    servers.cluster[0].pause();
    keys
}

async fn record_all(store: &SeenStore) {
    for user in users() {
        store
            .update(&user, |chain, now| chain.record(&["a"], now))
            .await
            .unwrap();
    }
}

pub async fn a_master_that_hangs_delays_only_its_own_users() {
    let servers = tokio::task::block_in_place(Servers::start);
    let store = store_on(&servers);
    record_all(&store).await;
    let keys = hang(&servers);
    assert!(!keys.is_empty() && keys.len() < users().len(), "{keys:?}");
    let before = accepted(&servers.cluster[1]);
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < Duration::from_secs(4) {
        for (user, is_degraded) in degraded(&store).await {
            assert_eq!(is_degraded, keys.contains(&format!("seen:{{{user}}}")), "{user}");
        }
        rounds += 1;
    }
    // Some commands wait all the time while others get responses: one connection is opened, and takes over.
    let opened = accepted(&servers.cluster[1]) - before - 1;
    assert!(rounds > 3 && opened <= 2, "{rounds} {opened}");
    servers.cluster[0].resume();
}

pub async fn a_silent_connection_to_a_master_is_replaced_while_the_others_respond() {
    let servers = tokio::task::block_in_place(Servers::start);
    let node = &servers.cluster[0];
    let proxy = Proxy::to(node.port).await;
    let port = proxy.port.to_string();
    cmd("CONFIG")
        .arg(&["SET", "cluster-announce-port", &port])
        .exec(&mut node.client())
        .unwrap();
    tokio::task::block_in_place(|| {
        eventually("the nodes know the address", || {
            let knows = |node: &RedisServer| {
                let nodes: String = cmd("CLUSTER").arg("NODES").query(&mut node.client()).unwrap();
                nodes.contains(&format!("127.0.0.1:{port}@"))
            };
            servers.cluster.iter().all(knows).then_some(())
        });
    });
    let store = store_on(&servers);
    record_all(&store).await;
    let opened = proxy.opened();
    assert!(opened > 0);
    proxy.silence();
    assert!(degraded(&store).await.into_values().any(|is_degraded| is_degraded));
    let start = Instant::now();
    while degraded(&store).await.into_values().any(|is_degraded| is_degraded) {
        assert!(start.elapsed() < PATIENCE, "its users stay degraded");
    }
    assert!(proxy.opened() > opened);
}

pub async fn a_master_that_hangs_at_the_start_does_not_block_the_others() {
    let servers = tokio::task::block_in_place(Servers::start);
    record_all(&store_on(&servers)).await;
    let keys = hang(&servers);
    let store = store_on(&servers);
    let start = Instant::now();
    let other = users()
        .into_iter()
        .find(|user| !keys.contains(&format!("seen:{{{user}}}")))
        .unwrap();
    let request = PageRequest {
        size: 10,
        ..PageRequest::default()
    };
    while store.page(&other, &["a", "b"], &request).await.unwrap().degraded {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "it waits for the master that hangs"
        );
    }
    servers.cluster[0].resume();
    while degraded(&store).await.into_values().any(|is_degraded| is_degraded) {
        assert!(start.elapsed() < PATIENCE, "its users stay degraded");
        sleep(Duration::from_millis(50)).await;
    }
}

pub async fn a_node_that_hangs_does_not_block_the_other_nodes() {
    let servers = tokio::task::block_in_place(Servers::start);
    let hung = RedisServer::start(&[]);
    hung.pause();
    let urls = servers.cluster.iter().chain([&hung]).map(RedisServer::url);
    let connection = RedisConnection::open_cluster(urls).unwrap();
    let start = Instant::now();
    while !connection.was_connected() {
        assert!(start.elapsed() < PATIENCE, "it waits for the node that hangs");
        sleep(Duration::from_millis(50)).await;
    }
    hung.resume();
}

pub async fn the_stored_pending_lists_of_many_devices_are_bounded() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(&redis);
    let mut client = redis.client();
    for number in 1..=40 {
        // With reports alone: no page of this user is loaded.
        let pending = shows(&mut device("ada", number), &["a"], now());
        let report = body("ada", &["a"], now(), Some(pending.clone()));
        store.accept("ada", &report).await.unwrap();
        let stored: Vec<String> = client.hvals("seen:ada:pending").unwrap();
        assert!(stored.len() <= 8, "{}", stored.len());
        assert!(stored.iter().any(|line| line.ends_with(&pending)), "{number}");
    }
    // If other programs have stored more, a new list is refused.
    for number in 0..32 {
        client
            .hset::<_, _, _, ()>("seen:eve:pending", number, "1 foreign")
            .unwrap();
    }
    let pending = shows(&mut device("eve", 1), &["a"], now());
    let refused = store.accept("eve", &body("eve", &["a"], now(), Some(pending))).await;
    assert!(refused.unwrap_err().is_transient());
}

pub async fn an_unchanged_list_is_stored_again_before_it_expires() {
    let redis = RedisServer::start(&[]);
    let (store, _) = store_over(&redis);
    let pending = shows(&mut device("ada", 1), &["a"], now());
    let report = body("ada", &[], now(), Some(pending.clone()));
    store.accept("ada", &report).await.unwrap();
    let mut client = redis.client();
    let name: String = client.hkeys::<_, Vec<String>>("seen:ada:pending").unwrap().remove(0);
    let line = |seconds_ago| format!("{} {pending}", now().unix_seconds() - seconds_ago);
    let mut stored_again = async |seconds_ago| {
        let before = line(seconds_ago);
        client.hset::<_, _, _, ()>("seen:ada:pending", &name, &before).unwrap();
        store.accept("ada", &report).await.unwrap();
        let after: String = client.hget("seen:ada:pending", &name).unwrap();
        after != before
    };
    assert!(!stored_again(60).await, "each request costs a write");
    assert!(stored_again(3_700).await);
    // Also long after it has expired.
    assert!(stored_again(3 * 86_400).await);
    assert_eq!(page(&store, &["a", "b"], None).await, [1]);
}

pub async fn metadata_and_pending_lists_expire_with_the_chain() {
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

pub async fn an_invalid_address_is_refused() {
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
