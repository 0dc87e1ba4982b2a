//! Tests of the contract of backends. Run them over your own backend.
//!
//! ```
//! # #[tokio::main(flavor = "multi_thread")]
//! # async fn main() {
//! use seenguard_server::MemoryBackend;
//! use seenguard_server::testing::promises;
//!
//! for promise in promises(|_name| async { MemoryBackend::default() }) {
//!     promise.check().await;
//! }
//! # }
//! ```

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use seenguard::device::{DEFAULT_REMEMBER, Due, Guard, Mark};
use seenguard::{ChainOptions, Impression, PageRequest, Report, ShardChain, StoredChain, Time};

use crate::backend::{Backend, Replacement};
use crate::error::ErrorKind;
use crate::options::{StoreEvent, StoreOptions};
use crate::seen_store::SeenStore;

/// The time at the beginning of a test.
const START: Time = Time::from_unix_seconds(1_764_000_000);

/// One test of the contract.
pub struct Promise {
    name: &'static str,
    test: Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>,
}

impl Promise {
    /// The name of the test: a sentence with `_` between its words.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the test: panics if the backend breaks the promise. Needs a Tokio runtime.
    pub async fn check(self) {
        (self.test)().await;
    }
}

impl fmt::Debug for Promise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Promise").field(&self.name).finish()
    }
}

/// Returns all tests. `make_backend` gets a test's name and returns an empty backend.
pub fn promises<B: Backend, F: Future<Output = B> + Send + 'static>(
    make_backend: impl Fn(&'static str) -> F + Send + Sync + 'static,
) -> Vec<Promise> {
    let make: Make = Arc::new(move |name| {
        let backend = make_backend(name);
        Box::pin(async move { Arc::new(backend.await) as Arc<dyn Backend> })
    });
    macro_rules! promises {
        ($($test:ident),* $(,)?) => {
            vec![$({
                let setup = Setup { make: make.clone(), name: stringify!($test) };
                Promise { name: stringify!($test), test: Box::new(|| Box::pin($test(setup))) }
            }),*]
        };
    }
    promises![
        recorded_items_are_left_out_of_pages,
        pages_continue_at_the_cursor_of_the_previous_one,
        a_repeated_report_is_applied_once,
        an_invalid_report_is_refused,
        a_report_of_another_namespace_is_refused_before_anything_is_stored,
        pending_impressions_of_one_device_are_left_out_of_the_pages_of_another,
        impressions_of_a_report_without_a_usable_list_are_left_out_of_pages,
        an_impression_from_before_a_deletion_that_is_reported_late_changes_nothing,
        the_latest_pending_list_of_a_device_counts,
        the_pending_lists_of_the_eight_latest_devices_are_stored,
        pending_impressions_expire,
        unseen_ids_are_fresh,
        a_history_that_is_deleted_is_gone_from_chain_and_devices,
        many_writers_of_one_user_lose_nothing,
        a_store_has_the_same_chain_as_the_same_calls_without_it,
        damaged_shards_are_skipped_and_reported,
        shards_and_fields_of_other_programs_stay_and_are_reported,
        settings_may_change_while_a_user_has_a_history,
        a_user_without_a_name_is_refused,
    ]
}

type Make = Arc<dyn Fn(&'static str) -> Pin<Box<dyn Future<Output = Arc<dyn Backend>> + Send>> + Send + Sync>;

/// Makes the backends of a test.
struct Setup {
    make: Make,
    name: &'static str,
}

impl Setup {
    async fn store(&self, options: StoreOptions) -> Store {
        let backend = (self.make)(self.name).await;
        let clock = Arc::new(AtomicU64::new(START.unix_ms()));
        let shown = clock.clone();
        let options = StoreOptions {
            clock: Some(Arc::new(move || Time::from_unix_ms(shown.load(Ordering::SeqCst)))),
            ..options
        };
        Store {
            seen: SeenStore::new(backend.clone(), options).unwrap(),
            backend,
            clock,
        }
    }
}

/// A store over the backend, with a clock that the test sets.
struct Store {
    seen: SeenStore,
    backend: Arc<dyn Backend>,
    clock: Arc<AtomicU64>,
}

impl Store {
    fn at(&self, now: Time) -> &SeenStore {
        self.clock.store(now.unix_ms(), Ordering::SeqCst);
        &self.seen
    }
}

fn after(seconds: u64) -> Time {
    Time::from_unix_seconds(START.unix_seconds() + seconds)
}

fn namespace_of(user: &str) -> String {
    format!("home:{user}")
}

/// A device of a user, whose name is stored.
pub fn device(user: &str, number: u64) -> Guard {
    let mut guard = Guard::with_storage(&namespace_of(user), number, 30.0, DEFAULT_REMEMBER).unwrap();
    guard.loaded();
    let (_, mark) = guard.unsaved(Mark::default(), Due::Facts, START).unwrap();
    guard.saved(mark);
    guard
}

/// Records impressions on a device. Returns the value of its `Seen-Pending`.
pub fn shows(device: &mut Guard, ids: &[&str], now: Time) -> String {
    device.record(ids, now);
    device.pending_list(4_000, now)
}

/// The body of a report by a user's device.
pub fn body(user: &str, ids: &[&str], at: Time, pending: Option<String>) -> Vec<u8> {
    let mut report = Report::new(namespace_of(user), at);
    report.impressions = ids.iter().map(|&id| Impression { id: id.into(), at }).collect();
    report.pending = pending;
    serde_json::to_vec(&report).unwrap()
}

fn options() -> StoreOptions {
    StoreOptions {
        namespace_of: Some(Arc::new(namespace_of)),
        ..StoreOptions::default()
    }
}

fn listening(listener: impl Fn(&StoreEvent<'_>) + Send + Sync + 'static) -> StoreOptions {
    StoreOptions {
        on_event: Some(Arc::new(listener)),
        ..options()
    }
}

async fn record(store: &Store, user: &str, ids: &[&str], now: Time) {
    store
        .at(now)
        .update(user, |chain, _| chain.record(ids, now))
        .await
        .unwrap();
}

/// The items of a page of at most ten.
async fn page<'a>(store: &Store, user: &str, ranked: &[&'a str], pending: Option<&str>, now: Time) -> Vec<&'a str> {
    let request = PageRequest {
        size: 10,
        pending: pending.into(),
        ..PageRequest::default()
    };
    let page = store.at(now).page(user, ranked, &request).await.unwrap();
    page.items.iter().map(|&index| ranked[index as usize]).collect()
}

async fn recorded_items_are_left_out_of_pages(setup: Setup) {
    let store = setup.store(options()).await;
    record(&store, "ada", &["b", "d"], START).await;
    record(&store, "bob", &["a"], START).await;
    assert_eq!(
        page(&store, "ada", &["a", "b", "c", "d"], None, after(1)).await,
        ["a", "c"]
    );
    assert_eq!(
        page(&store, "bob", &["a", "b", "c", "d"], None, after(1)).await,
        ["b", "c", "d"]
    );
    assert_eq!(page(&store, "eve", &["a", "b"], None, after(1)).await, ["a", "b"]);

    // A page sends the stored chain, and references of the shards that the device has.
    let shipped = store
        .at(after(1))
        .read("ada")
        .await
        .unwrap()
        .snapshot(after(1), None)
        .unwrap();
    let held = seenguard::wire::Reference::of(shipped.format, shipped.shards[0].as_bytes());
    let held = held.to_element().trim_start_matches('~').to_owned();
    let request = PageRequest {
        size: 1,
        held: Some(&held),
        ..PageRequest::default()
    };
    let page = store.at(after(1)).page("ada", &["a"], &request).await.unwrap();
    assert_eq!(
        page.snapshot.map(|snapshot| (snapshot.version, snapshot.shards)),
        Some((shipped.version, vec![format!("~{held}")]))
    );
}

async fn pages_continue_at_the_cursor_of_the_previous_one(setup: Setup) {
    let store = setup.store(options()).await;
    let ranked: Vec<String> = (0..25).map(|number| format!("article-{number}")).collect();
    let (mut given, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let request = PageRequest {
            size: 10,
            cursor: cursor.as_deref(),
            ..PageRequest::default()
        };
        let page = store.at(START).page("ada", &ranked, &request).await.unwrap();
        // Impressions arrive as soon as they are shown.
        let shown: Vec<&str> = page
            .items
            .iter()
            .map(|&index| ranked[index as usize].as_str())
            .collect();
        record(&store, "ada", &shown, START).await;
        given.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(given, (0..25).collect::<Vec<u32>>());
}

async fn a_repeated_report_is_applied_once(setup: Setup) {
    let store = setup.store(options()).await;
    // A lone surrogate is a valid id.
    let body = br#"{ "namespace": "home:ada", "now": 1000, "impressions": [{ "id": "a", "at": 0.5 }, { "id": "\ud800", "at": 1000 }], "pending": 7 }"#;
    let report = store.at(START).accept("ada", body).await.unwrap();
    assert_eq!(
        (report.received_at, report.impressions[1].at, report.pending.as_deref()),
        (START, START, None)
    );
    assert_eq!(store.at(after(1)).ingest("ada", &report).await.unwrap(), 2);
    let stored = store.backend.load("ada", None).await.unwrap().stored;
    // Once more, as JSON from a stream.
    let again = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(report, again);
    assert_eq!(store.at(after(60)).ingest("ada", &again).await.unwrap(), 0);
    assert_eq!(store.backend.load("ada", None).await.unwrap().stored, stored);
    assert_eq!(
        page(&store, "ada", &["a", "\u{fffd}", "b"], None, after(60)).await,
        ["b"]
    );
}

async fn an_invalid_report_is_refused(setup: Setup) {
    let store = setup.store(options()).await;
    for body in [
        "",
        "[]",
        "no JSON",
        "{}",
        r#"{ "namespace": "home:ada", "now": 1 }"#,
        r#"{ "namespace": "", "now": 1, "impressions": [] }"#,
        r#"{ "namespace": "home:ada", "now": -1, "impressions": [] }"#,
        r#"{ "namespace": "home:ada", "now": 1, "impressions": [{ "id": 7, "at": 1 }] }"#,
        r#"{ "namespace": "home:ada", "now": 1, "impressions": [{ "id": "a" }] }"#,
    ] {
        let refused = store.at(START).accept("ada", body.as_bytes()).await.unwrap_err();
        assert_eq!(refused.code(), "bad-report", "{body}");
    }
    let request = PageRequest {
        size: 0,
        ..PageRequest::default()
    };
    assert_eq!(
        store.at(START).page("ada", &["a"], &request).await.unwrap_err().code(),
        "bad-option"
    );
}

async fn a_report_of_another_namespace_is_refused_before_anything_is_stored(setup: Setup) {
    let store = setup.store(options()).await;
    let (mut ada, mut bob) = (device("ada", 1), device("bob", 2));
    let of_bob = shows(&mut bob, &["a"], START);
    let refused = store
        .at(START)
        .accept("ada", &body("bob", &["a"], START, Some(of_bob.clone())))
        .await;
    assert_eq!(refused.unwrap_err().code(), "wrong-namespace");
    // A report of the right namespace has a pending list of the wrong one.
    let report = store
        .at(START)
        .accept("ada", &body("ada", &[], START, Some(of_bob.clone())))
        .await
        .unwrap();
    assert_eq!(
        store.at(START).ingest("bob", &report).await.unwrap_err().code(),
        "wrong-namespace"
    );
    // A request for a page ignores such a list, too.
    assert_eq!(page(&store, "ada", &["a", "b"], Some(&of_bob), START).await, ["a", "b"]);
    let of_ada = shows(&mut ada, &["b"], START);
    assert_eq!(page(&store, "ada", &["a", "b"], Some(&of_ada), START).await, ["a"]);
    assert_eq!(page(&store, "ada", &["a", "b"], None, START).await, ["a"]);
}

async fn pending_impressions_of_one_device_are_left_out_of_the_pages_of_another(setup: Setup) {
    let store = setup.store(options()).await;
    let (mut phone, mut laptop) = (device("ada", 1), device("ada", 2));
    let ranked = ["a", "b", "c", "d"];
    let of_phone = shows(&mut phone, &["a"], START);
    assert_eq!(
        page(&store, "ada", &ranked, Some(&of_phone), START).await,
        ["b", "c", "d"]
    );
    // The other device sends its list with a report.
    let of_laptop = shows(&mut laptop, &["c"], START);
    store
        .at(START)
        .accept("ada", &body("ada", &["c"], START, Some(of_laptop.clone())))
        .await
        .unwrap();
    assert_eq!(page(&store, "ada", &ranked, Some(&of_laptop), START).await, ["b", "d"]);
    assert_eq!(page(&store, "ada", &ranked, Some(&of_phone), START).await, ["b", "d"]);
    assert_eq!(page(&store, "bob", &ranked, None, START).await, ranked);
    // Pending impressions are in no chain and no snapshot.
    assert_eq!(store.at(START).read("ada").await.unwrap().shards().count(), 0);
}

async fn impressions_of_a_report_without_a_usable_list_are_left_out_of_pages(setup: Setup) {
    let store = setup.store(options()).await;
    let of_bob = shows(&mut device("bob", 1), &["x"], START);
    let ranked = ["a", "b", "c", "d", "e"];
    let unusable = [None, Some("what is this"), Some(".1.0.AAAA"), Some(of_bob.as_str())];
    for (id, pending) in ranked.into_iter().zip(unusable) {
        let body = body("ada", &[id], START, pending.map(String::from));
        store.at(START).accept("ada", &body).await.unwrap();
    }
    assert_eq!(page(&store, "ada", &ranked, None, after(1)).await, ["e"]);
    assert_eq!(page(&store, "bob", &ranked, None, after(1)).await, ranked);
    assert_eq!(store.at(after(1)).read("ada").await.unwrap().shards().count(), 0);
    // Devices with their own lists do not displace the impressions.
    for number in 2..12 {
        let pending = shows(&mut device("ada", number), &["x"], after(number));
        page(&store, "ada", &[], Some(&pending), after(number)).await;
    }
    assert_eq!(page(&store, "ada", &ranked, None, after(12)).await, ["e"]);
    // The newest 1,000 are stored.
    for (begin, at) in [(0, after(13)), (600, after(14))] {
        let ids: Vec<String> = (begin..begin + 600).map(|number| format!("article-{number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        store.at(at).accept("ada", &body("ada", &ids, at, None)).await.unwrap();
    }
    let ranked_later = [
        "a",
        "article-0",
        "article-399",
        "article-400",
        "article-600",
        "article-1199",
    ];
    assert_eq!(
        page(&store, "ada", &ranked_later, None, after(15)).await,
        ["a", "article-400"]
    );
    // A deletion of the history deletes them, too.
    store.at(after(20)).forget("ada").await.unwrap();
    assert_eq!(page(&store, "ada", &ranked, None, after(20)).await, ranked);
}

async fn an_impression_from_before_a_deletion_that_is_reported_late_changes_nothing(setup: Setup) {
    let store = setup.store(options()).await;
    store.at(after(20)).forget("ada").await.unwrap();
    let ranked = ["a", "b", "c", "d", "e"];
    // Both reports have no usable pending list, and one impression from before the deletion.
    for (at, impressions) in [
        (after(30), [("a", after(10)), ("b", after(25))]),
        (after(40), [("c", after(5)), ("d", after(35))]),
    ] {
        let mut report = Report::new(namespace_of("ada"), at);
        let impression = |(id, at): (&str, Time)| Impression { id: id.into(), at };
        report.impressions = impressions.map(impression).to_vec();
        let report = serde_json::to_vec(&report).unwrap();
        store.at(at).accept("ada", &report).await.unwrap();
    }
    assert_eq!(page(&store, "ada", &ranked, None, after(40)).await, ["a", "c", "e"]);
}

async fn the_latest_pending_list_of_a_device_counts(setup: Setup) {
    let store = setup.store(options()).await;
    let mut phone = device("ada", 1);
    let first = shows(&mut phone, &["a"], START);
    let later = shows(&mut phone, &["b"], after(1));
    page(&store, "ada", &[], Some(&later), after(1)).await;
    // A request that arrives late.
    page(&store, "ada", &[], Some(&first), after(2)).await;
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(2)).await, ["c"]);
    // Nothing is pending any more: an empty list, whose counter is not lower. The late list stays older.
    let nothing = &later[..=later.rfind('.').unwrap()];
    for pending in [nothing, &first] {
        page(&store, "ada", &[], Some(pending), after(3)).await;
        assert_eq!(
            page(&store, "ada", &["a", "b", "c"], None, after(3)).await,
            ["a", "b", "c"]
        );
    }
}

async fn the_pending_lists_of_the_eight_latest_devices_are_stored(setup: Setup) {
    let store = setup.store(options()).await;
    let ids: Vec<String> = (0..60).map(|number| format!("article-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (number, shown) in (0..).zip(ids.chunks(6)) {
        let pending = shows(&mut device("ada", number), shown, after(number));
        page(&store, "ada", &[], Some(&pending), after(number)).await;
    }
    let (of_the_first_two, of_the_others) = ids.split_at(12);
    // A page has ten items.
    assert_eq!(
        page(&store, "ada", of_the_first_two, None, after(20)).await,
        of_the_first_two[..10]
    );
    assert!(page(&store, "ada", of_the_others, None, after(20)).await.is_empty());
}

async fn pending_impressions_expire(setup: Setup) {
    let store = setup
        .store(StoreOptions {
            pending_seconds: 600,
            ..options()
        })
        .await;
    let pending = shows(&mut device("ada", 1), &["a"], START);
    page(&store, "ada", &[], Some(&pending), START).await;
    assert_eq!(page(&store, "ada", &["a", "b"], None, after(600)).await, ["b"]);
    assert_eq!(page(&store, "ada", &["a", "b"], None, after(601)).await, ["a", "b"]);
}

async fn unseen_ids_are_fresh(setup: Setup) {
    let store = setup.store(options()).await;
    record(&store, "ada", &["a", "b", "c"], START).await;
    store.at(after(10)).unsee("ada", &["b", "never seen"]).await.unwrap();
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(10)).await, ["b"]);
    let shipped = store
        .at(after(10))
        .read("ada")
        .await
        .unwrap()
        .snapshot(after(10), None)
        .unwrap();
    assert_eq!(shipped.unseen.len(), 1);
    // An impression from before `unsee` arrives late; one from after it counts.
    for (at, left) in [(after(5), vec!["b"]), (after(20), vec![])] {
        let report = store
            .at(at)
            .accept("ada", &body("ada", &["b"], at, None))
            .await
            .unwrap();
        store.at(after(30)).ingest("ada", &report).await.unwrap();
        assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(30)).await, left);
    }
    // A repeated `unsee` arrives late.
    let mut report = Report::new(namespace_of("ada"), after(10));
    report.unseen = vec![Impression {
        id: "b".into(),
        at: after(10),
    }];
    let report = report.received(after(10));
    store.at(after(40)).ingest("ada", &report).await.unwrap();
    assert!(page(&store, "ada", &["a", "b", "c"], None, after(40)).await.is_empty());
    let seen_again = ("seen:b".to_owned(), after(20).unix_ms().to_string());
    assert_eq!(
        store.backend.load("ada", None).await.unwrap().stored.fields,
        [seen_again]
    );
    // Too long an id cannot become unseen.
    let too_long = "x".repeat(257);
    let refused = store.at(after(40)).unsee("ada", &[&too_long]).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::BadReport, "bad-report"));
}

async fn a_history_that_is_deleted_is_gone_from_chain_and_devices(setup: Setup) {
    let store = setup.store(options()).await;
    record(&store, "ada", &["a", "b"], START).await;
    store.at(START).unsee("ada", &["b"]).await.unwrap();
    let pending = shows(&mut device("ada", 1), &["c"], START);
    page(&store, "ada", &[], Some(&pending), START).await;
    store.at(after(10)).forget("ada").await.unwrap();
    let chain = store.at(after(10)).read("ada").await.unwrap();
    let shipped = chain.snapshot(after(10), None).unwrap();
    assert_eq!(
        (shipped.shards.len(), shipped.unseen.len(), shipped.forget_before),
        (0, 0, Some(after(10)))
    );
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], None, after(10)).await,
        ["a", "b", "c"]
    );
    // A device that has not received the deletion yet, and an earlier report from a stream.
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], Some(&pending), after(11)).await,
        ["a", "b", "c"]
    );
    let report = store
        .at(START)
        .accept("ada", &body("ada", &["a"], START, None))
        .await
        .unwrap();
    assert_eq!(store.at(after(12)).ingest("ada", &report).await.unwrap(), 0);
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], None, after(12)).await,
        ["a", "b", "c"]
    );
}

async fn many_writers_of_one_user_lose_nothing(setup: Setup) {
    const WRITERS: usize = 8;
    const IMPRESSIONS: usize = 25;
    let conflicts = Arc::new(Mutex::new(0));
    let counted = conflicts.clone();
    let options = listening(move |event| {
        if matches!(event, StoreEvent::Conflict) {
            *counted.lock().unwrap() += 1;
        }
    });
    let store = Arc::new(setup.store(options).await);
    let ids = |writer: usize| (0..IMPRESSIONS).map(move |number| format!("article-{writer}-{number}"));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for id in ids(writer) {
                    // One is slower than the others.
                    let change = |chain: &mut ShardChain, _| {
                        std::thread::sleep(std::time::Duration::from_micros(50 * writer as u64));
                        chain.record(&[&id], START)
                    };
                    assert_eq!(store.at(START).update("ada", change).await.unwrap(), 1);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let chain = store.at(START).read("ada").await.unwrap();
    for id in (0..WRITERS).flat_map(ids) {
        assert!(chain.contains(&id, START).unwrap(), "{id}");
    }
    assert!(*conflicts.lock().unwrap() > 0, "the writers never met");
}

async fn a_store_has_the_same_chain_as_the_same_calls_without_it(setup: Setup) {
    let mut numbers = fastrand::Rng::with_seed(17);
    for ttl_seconds in [0, 3_000] {
        let chain = ChainOptions {
            capacity: 6,
            shards: 4,
            ttl_seconds,
            ..ChainOptions::default()
        };
        let store = setup
            .store(StoreOptions {
                chain,
                ..StoreOptions::default()
            })
            .await;
        let user = format!("of {ttl_seconds} seconds");
        let mut alone = ShardChain::new(chain).unwrap();
        let mut now = START;
        for step in 0..200 {
            now = Time::from_unix_ms(now.unix_ms() + numbers.u64(0..200_000));
            let ids: Vec<String> = (0..numbers.usize(0..9))
                .map(|_| format!("{}", numbers.u32(0..60)))
                .collect();
            match numbers.u32(0..20) {
                0 => {
                    store.at(now).forget(&user).await.unwrap();
                    alone.forget(now).unwrap();
                }
                1..=4 => {
                    store.at(now).unsee(&user, &ids).await.unwrap();
                    alone.unsee(&ids, now).unwrap();
                }
                _ => {
                    let unknown = store
                        .at(now)
                        .update(&user, |chain, _| chain.record(&ids, now))
                        .await
                        .unwrap();
                    assert_eq!(unknown, alone.record(&ids, now).unwrap(), "step {step}");
                }
            }
            let stored = store.at(now).read(&user).await.unwrap().snapshot(now, None).unwrap();
            assert_eq!(stored, alone.snapshot(now, None).unwrap(), "step {step}");
        }
    }
}

async fn damaged_shards_are_skipped_and_reported(setup: Setup) {
    let damage = Arc::new(Mutex::new(Vec::new()));
    let listener = damage.clone();
    let store = setup
        .store(listening(move |event| {
            if let StoreEvent::Damaged(error) = event {
                listener.lock().unwrap().push(error.code());
            }
        }))
        .await;
    record(&store, "ada", &["a"], START).await;
    put(&store, |stored| {
        let shard = &stored.shards[0];
        stored.shards.insert(0, shard[..shard.len() - 4].to_owned());
        stored.fields.push(("forgetBefore".to_owned(), "soon".to_owned()));
    })
    .await;
    assert_eq!(page(&store, "ada", &["a", "b"], None, START).await, ["b"]);
    assert_eq!(
        std::mem::take(&mut *damage.lock().unwrap()),
        ["bad-checksum", "bad-snapshot"]
    );
    // The next change stores valid data.
    record(&store, "ada", &["c"], START).await;
    damage.lock().unwrap().clear();
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, START).await, ["b"]);
    assert!(damage.lock().unwrap().is_empty());
}

async fn shards_and_fields_of_other_programs_stay_and_are_reported(setup: Setup) {
    let damage = Arc::new(AtomicU64::new(0));
    let counted = damage.clone();
    let options = listening(move |event| {
        if matches!(event, StoreEvent::Damaged(_)) {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let store = setup.store(options).await;
    record(&store, "ada", &["a"], START).await;
    let theirs = "17::AAAAAAAAAAA=".to_owned();
    let field = ("theirs".to_owned(), "{ \"of\": \"another\" }".to_owned());
    put(&store, |stored| {
        stored.shards.insert(0, theirs.clone());
        stored.fields.push(field.clone());
    })
    .await;
    assert_eq!(page(&store, "ada", &["a", "b"], None, START).await, ["b"]);
    assert_eq!(damage.load(Ordering::SeqCst), 1);
    record(&store, "ada", &["b"], after(1)).await;
    let stored = store.backend.load("ada", None).await.unwrap().stored;
    assert_eq!(
        (stored.shards.len(), &stored.shards[1], &stored.fields),
        (3, &theirs, &vec![field])
    );
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(1)).await, ["c"]);
}

async fn settings_may_change_while_a_user_has_a_history(setup: Setup) {
    let chain = |capacity, shards, ttl_seconds| ChainOptions {
        capacity,
        shards,
        ttl_seconds,
        ..ChainOptions::default()
    };
    let backend = (setup.make)(setup.name).await;
    let stores: Vec<SeenStore> = [chain(5, 9, 3_000), chain(50, 3, 0), chain(20, 4, 60)]
        .into_iter()
        .map(|chain| {
            let options = StoreOptions {
                chain,
                clock: Some(Arc::new(|| START)),
                ..StoreOptions::default()
            };
            SeenStore::new(backend.clone(), options).unwrap()
        })
        .collect();
    // Each chain has at least this many ids for at least a minute.
    let ids: Vec<String> = (0..40).map(|number| format!("article-{number}")).collect();
    for (id, store) in ids.iter().zip(stores.iter().cycle()) {
        store
            .update("ada", |chain, now| chain.record(&[id], now))
            .await
            .unwrap();
    }
    for store in stores {
        let chain = store.read("ada").await.unwrap();
        assert!(chain.filter(&ids, None, START).unwrap().is_empty());
        // One of the shards never expires.
        assert_eq!(chain.life_seconds(START).unwrap(), 0);
    }
}

/// Changes Ada's stored chain, as another program may.
async fn put(store: &Store, change: impl FnOnce(&mut StoredChain)) {
    let before = store.backend.load("ada", None).await.unwrap();
    let mut stored = StoredChain::clone(&before.stored);
    change(&mut stored);
    let replacement = Replacement {
        revision: before.revision,
        before: before.stored,
        after: Arc::new(stored),
        life_seconds: 0,
        even_if_full: false,
    };
    assert!(store.backend.replace("ada", &replacement).await.unwrap());
}

async fn a_user_without_a_name_is_refused(setup: Setup) {
    let store = setup.store(options()).await;
    for user in ["", "ada:meta", "ada:pending", &"a".repeat(513)] {
        let request = PageRequest {
            size: 1,
            ..PageRequest::default()
        };
        let refusals = [
            store.at(START).read(user).await.map(drop),
            store.at(START).page(user, &["a"], &request).await.map(drop),
            store
                .at(START)
                .accept(user, &body(user, &[], START, None))
                .await
                .map(drop),
            store.at(START).forget(user).await,
        ];
        for refused in refusals {
            assert_eq!(refused.unwrap_err().code(), "bad-option");
        }
    }
}
