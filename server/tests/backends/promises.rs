//! What every store promises.

use std::sync::{Arc, Mutex};

use seenguard::{ChainOptions, PageRequest, ShardChain, StoredChain, Time};
use seenguard_server::{Replacement, SeenStore, StoreEvent, StoreOptions};

use super::Backend;
use super::devices::{START, after, body, device, namespace_of, shows};

fn options() -> StoreOptions {
    StoreOptions::new().namespace_of(namespace_of)
}

async fn record(store: &impl SeenStore, user: &str, ids: &[&str], now: Time) {
    store.update(user, now, |chain| chain.record(ids, now)).await.unwrap();
}

/// The items of a page of at most ten.
async fn page<'a>(
    store: &impl SeenStore,
    user: &str,
    ranked: &[&'a str],
    pending: Option<&str>,
    now: Time,
) -> Vec<&'a str> {
    let request = PageRequest {
        size: 10,
        pending: pending.into(),
        ..PageRequest::default()
    };
    let page = store.page(user, ranked, &request, now).await.unwrap();
    page.items.iter().map(|&index| ranked[index as usize]).collect()
}

pub async fn what_is_recorded_is_left_out_of_pages(backend: &impl Backend) {
    let store = backend.store(options()).await;
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

    // A page ships the stored chain, and references of the shards that the device holds.
    let shipped = store
        .read("ada", after(1))
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
    let page = store.page("ada", &["a"], &request, after(1)).await.unwrap();
    assert_eq!(
        (page.snapshot.version, &page.snapshot.shards),
        (shipped.version, &vec![format!("~{held}")])
    );
}

pub async fn pages_go_on_where_the_one_before_ended(backend: &impl Backend) {
    let store = backend.store(options()).await;
    let ranked: Vec<String> = (0..25).map(|number| format!("article-{number}")).collect();
    let (mut given, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let request = PageRequest {
            size: 10,
            cursor: cursor.as_deref(),
            ..PageRequest::default()
        };
        let page = store.page("ada", &ranked, &request, START).await.unwrap();
        // As quickly as they are shown.
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

pub async fn a_report_is_taken_once_however_often_it_comes(backend: &impl Backend) {
    let store = backend.store(options()).await;
    // The half of a character is an id as any other.
    let body = br#"{ "namespace": "home:ada", "now": 1000, "impressions": [{ "id": "a", "at": 0.5 }, { "id": "\ud800", "at": 1000 }], "pending": 7 }"#;
    let report = store.accept("ada", body, START).await.unwrap();
    assert_eq!(
        (report.received_at, report.impressions[1].at, report.pending.as_deref()),
        (START, START, None)
    );
    assert_eq!(store.ingest("ada", &report, after(1)).await.unwrap(), 2);
    let stored = store.load("ada", None, after(1)).await.unwrap().stored;
    // Out of a stream, as JSON.
    let again = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(report, again);
    assert_eq!(store.ingest("ada", &again, after(60)).await.unwrap(), 0);
    assert_eq!(store.load("ada", None, after(60)).await.unwrap().stored, stored);
    assert_eq!(
        page(&store, "ada", &["a", "\u{fffd}", "b"], None, after(60)).await,
        ["b"]
    );
}

pub async fn what_is_no_report_is_refused(backend: &impl Backend) {
    let store = backend.store(options()).await;
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
        let refused = store.accept("ada", body.as_bytes(), START).await.unwrap_err();
        assert_eq!(refused.code(), "bad-report", "{body}");
    }
    let request = PageRequest {
        size: 0,
        ..PageRequest::default()
    };
    assert_eq!(
        store.page("ada", &["a"], &request, START).await.unwrap_err().code(),
        "bad-option"
    );
}

pub async fn a_report_of_another_namespace_is_refused_before_anything_is_kept(backend: &impl Backend) {
    let store = backend.store(options()).await;
    let (mut ada, mut bob) = (device("ada", 1), device("bob", 2));
    let of_bob = shows(&mut bob, &["a"], START);
    let refused = store
        .accept("ada", &body("bob", &["a"], START, Some(of_bob.clone())), START)
        .await;
    assert_eq!(refused.unwrap_err().code(), "wrong-namespace");
    // A report of the right one brings a pending list of the wrong one.
    let report = store
        .accept("ada", &body("ada", &[], START, Some(of_bob.clone())), START)
        .await
        .unwrap();
    assert_eq!(
        store.ingest("bob", &report, START).await.unwrap_err().code(),
        "wrong-namespace"
    );
    // The same in a request for a page, for which it does not count, either.
    assert_eq!(page(&store, "ada", &["a", "b"], Some(&of_bob), START).await, ["a", "b"]);
    let of_ada = shows(&mut ada, &["b"], START);
    assert_eq!(page(&store, "ada", &["a", "b"], Some(&of_ada), START).await, ["a"]);
    assert_eq!(page(&store, "ada", &["a", "b"], None, START).await, ["a"]);
}

pub async fn what_one_device_has_pending_is_left_out_of_the_pages_of_another(backend: &impl Backend) {
    let store = backend.store(options()).await;
    let (mut phone, mut laptop) = (device("ada", 1), device("ada", 2));
    let ranked = ["a", "b", "c", "d"];
    let of_phone = shows(&mut phone, &["a"], START);
    assert_eq!(
        page(&store, "ada", &ranked, Some(&of_phone), START).await,
        ["b", "c", "d"]
    );
    // The other one tells with a report.
    let of_laptop = shows(&mut laptop, &["c"], START);
    store
        .accept("ada", &body("ada", &["c"], START, Some(of_laptop.clone())), START)
        .await
        .unwrap();
    assert_eq!(page(&store, "ada", &ranked, Some(&of_laptop), START).await, ["b", "d"]);
    assert_eq!(page(&store, "ada", &ranked, Some(&of_phone), START).await, ["b", "d"]);
    assert_eq!(page(&store, "bob", &ranked, None, START).await, ranked);
    // It enters no chain, and nothing ships it.
    assert_eq!(store.read("ada", START).await.unwrap().shards().count(), 0);
}

pub async fn of_a_device_the_latest_counts(backend: &impl Backend) {
    let store = backend.store(options()).await;
    let mut phone = device("ada", 1);
    let first = shows(&mut phone, &["a"], START);
    let later = shows(&mut phone, &["b"], after(1));
    page(&store, "ada", &[], Some(&later), after(1)).await;
    // A request that was overtaken.
    page(&store, "ada", &[], Some(&first), after(2)).await;
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(2)).await, ["c"]);
    // Nothing is pending any more: a counter that is not lower, and an empty list. The overtaken one stays older.
    let nothing = &later[..=later.rfind('.').unwrap()];
    for told in [nothing, &first] {
        page(&store, "ada", &[], Some(told), after(3)).await;
        assert_eq!(
            page(&store, "ada", &["a", "b", "c"], None, after(3)).await,
            ["a", "b", "c"]
        );
    }
}

pub async fn of_more_than_eight_devices_the_latest_stay(backend: &impl Backend) {
    let store = backend.store(options()).await;
    let ids: Vec<String> = (0..60).map(|number| format!("article-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (number, shown) in (0..).zip(ids.chunks(6)) {
        let told = shows(&mut device("ada", number), shown, after(number));
        page(&store, "ada", &[], Some(&told), after(number)).await;
    }
    let (of_the_first_two, of_the_others) = ids.split_at(12);
    // A page has ten items.
    assert_eq!(
        page(&store, "ada", of_the_first_two, None, after(20)).await,
        of_the_first_two[..10]
    );
    assert!(page(&store, "ada", of_the_others, None, after(20)).await.is_empty());
}

pub async fn what_is_pending_counts_for_a_while(backend: &impl Backend) {
    let store = backend.store(options().pending_seconds(600)).await;
    let told = shows(&mut device("ada", 1), &["a"], START);
    page(&store, "ada", &[], Some(&told), START).await;
    assert_eq!(page(&store, "ada", &["a", "b"], None, after(600)).await, ["b"]);
    assert_eq!(page(&store, "ada", &["a", "b"], None, after(601)).await, ["a", "b"]);
    for seconds in [0, 1 << 31] {
        let options = options().pending_seconds(seconds);
        assert_eq!(
            seenguard_server::MemoryStore::new(options).unwrap_err().code(),
            "bad-option"
        );
    }
}

pub async fn what_is_unseen_is_fresh(backend: &impl Backend) {
    let store = backend.store(options()).await;
    record(&store, "ada", &["a", "b", "c"], START).await;
    store.unsee("ada", &["b", "never seen"], after(10)).await.unwrap();
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(10)).await, ["b"]);
    let shipped = store
        .read("ada", after(10))
        .await
        .unwrap()
        .snapshot(after(10), None)
        .unwrap();
    assert_eq!(shipped.unseen.len(), 1);
    // What was seen before the unsee comes late, what was seen after it counts.
    for (at, left) in [(after(5), vec!["b"]), (after(20), vec![])] {
        let report = store.accept("ada", &body("ada", &["b"], at, None), at).await.unwrap();
        store.ingest("ada", &report, after(30)).await.unwrap();
        assert_eq!(page(&store, "ada", &["a", "b", "c"], None, after(30)).await, left);
    }
    assert!(
        store
            .load("ada", None, after(30))
            .await
            .unwrap()
            .stored
            .fields
            .is_empty()
    );
}

pub async fn a_history_that_is_deleted_is_gone_from_chain_and_devices(backend: &impl Backend) {
    let store = backend.store(options()).await;
    record(&store, "ada", &["a", "b"], START).await;
    store.unsee("ada", &["b"], START).await.unwrap();
    let told = shows(&mut device("ada", 1), &["c"], START);
    page(&store, "ada", &[], Some(&told), START).await;
    store.forget("ada", after(10)).await.unwrap();
    let chain = store.read("ada", after(10)).await.unwrap();
    let shipped = chain.snapshot(after(10), None).unwrap();
    assert_eq!(
        (shipped.shards.len(), shipped.unseen.len(), shipped.forget_before),
        (0, 0, Some(after(10)))
    );
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], None, after(10)).await,
        ["a", "b", "c"]
    );
    // What a device tells that does not know of it yet, and what a stream brings from before.
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], Some(&told), after(11)).await,
        ["a", "b", "c"]
    );
    let report = store
        .accept("ada", &body("ada", &["a"], START, None), START)
        .await
        .unwrap();
    assert_eq!(store.ingest("ada", &report, after(12)).await.unwrap(), 0);
    assert_eq!(
        page(&store, "ada", &["a", "b", "c"], None, after(12)).await,
        ["a", "b", "c"]
    );
}

pub async fn many_writers_of_one_user_lose_nothing(backend: &impl Backend) {
    const WRITERS: usize = 8;
    const IMPRESSIONS: usize = 25;
    let conflicts = Arc::new(Mutex::new(0));
    let counted = conflicts.clone();
    let options = options().on_event(move |event| {
        if matches!(event, StoreEvent::Conflict) {
            *counted.lock().unwrap() += 1;
        }
    });
    let store = Arc::new(backend.store(options).await);
    let ids = |writer: usize| (0..IMPRESSIONS).map(move |number| format!("article-{writer}-{number}"));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for id in ids(writer) {
                    // One is slower than the others.
                    let change = |chain: &mut ShardChain| {
                        std::thread::sleep(std::time::Duration::from_micros(50 * writer as u64));
                        chain.record(&[&id], START)
                    };
                    assert_eq!(store.update("ada", START, change).await.unwrap(), 1);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let chain = store.read("ada", START).await.unwrap();
    for id in (0..WRITERS).flat_map(ids) {
        assert!(chain.contains(&id, START).unwrap(), "{id}");
    }
    assert!(*conflicts.lock().unwrap() > 0, "the writers never met");
}

pub async fn a_store_holds_the_chain_that_the_same_calls_make_by_themselves(backend: &impl Backend) {
    let mut numbers = fastrand::Rng::with_seed(17);
    for ttl_seconds in [0, 3_000] {
        let chain = ChainOptions {
            capacity: 6,
            shards: 4,
            ttl_seconds,
            ..ChainOptions::default()
        };
        let store = backend.store(StoreOptions::new().chain(chain)).await;
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
                    store.forget(&user, now).await.unwrap();
                    alone.forget(now).unwrap();
                }
                1..=4 => {
                    store.unsee(&user, &ids, now).await.unwrap();
                    alone.unsee(&ids, now).unwrap();
                }
                _ => {
                    let unknown = store.update(&user, now, |chain| chain.record(&ids, now)).await.unwrap();
                    assert_eq!(unknown, alone.record(&ids, now).unwrap(), "step {step}");
                }
            }
            let stored = store.read(&user, now).await.unwrap().snapshot(now, None).unwrap();
            assert_eq!(stored, alone.snapshot(now, None).unwrap(), "step {step}");
        }
    }
}

pub async fn what_is_damaged_is_left_out_and_told(backend: &impl Backend) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let store = backend
        .store(options().on_event(move |event| {
            if let StoreEvent::Damaged(error) = event {
                listener.lock().unwrap().push(error.code());
            }
        }))
        .await;
    record(&store, "ada", &["a"], START).await;
    let before = store.load("ada", None, START).await.unwrap();
    let mut damaged = StoredChain::clone(&before.stored);
    damaged.shards.insert(0, "not a shard".to_owned());
    damaged.fields.push(("forgetBefore".to_owned(), "soon".to_owned()));
    let replacement = Replacement {
        before: &before,
        after: damaged,
        changes_fields: true,
        life_seconds: 0,
        forgets: false,
    };
    assert!(store.replace("ada", replacement).await.unwrap());
    assert_eq!(page(&store, "ada", &["a", "b"], None, START).await, ["b"]);
    assert_eq!(
        std::mem::take(&mut *told.lock().unwrap()),
        ["bad-snapshot", "bad-base64"]
    );
    // The next change stores what is right.
    record(&store, "ada", &["c"], START).await;
    told.lock().unwrap().clear();
    assert_eq!(page(&store, "ada", &["a", "b", "c"], None, START).await, ["b"]);
    assert!(told.lock().unwrap().is_empty());
}

pub async fn a_user_without_a_name_is_refused(backend: &impl Backend) {
    let store = backend.store(options()).await;
    for user in ["", "ada:meta", "ada:pending"] {
        let request = PageRequest {
            size: 1,
            ..PageRequest::default()
        };
        let refusals = [
            store.read(user, START).await.map(drop),
            store.page(user, &["a"], &request, START).await.map(drop),
            store.accept(user, &body(user, &[], START, None), START).await.map(drop),
            store.forget(user, START).await,
        ];
        for refused in refusals {
            assert_eq!(refused.unwrap_err().code(), "bad-option");
        }
    }
}
