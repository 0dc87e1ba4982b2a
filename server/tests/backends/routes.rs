//! Tests of the routes in an axum app, without a connection.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use redis::Commands;
use seenguard::{ChainOptions, Time};
use seenguard_server::testing::body;
use seenguard_server::{
    MemoryBackend, RedisBackend, RedisConnection, RouterOptions, SeenStore, StoreEvent, StoreOptions, router,
};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::ServiceExt;

use super::odd::Odd;
use crate::redis_server::RedisServer;
use crate::waiting::promised;

const PAGE: &str = r#"{"ranked": ["a"], "size": 1}"#;

/// Posts to a route of a user. Returns the status, and the body as text.
async fn post(app: &Router, user: &str, route: &str, body: impl Into<Body>) -> (u16, String) {
    let request = Request::post(format!("/v1/users/{user}/{route}"))
        .body(body.into())
        .unwrap();
    let answer = app.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

fn report(user: &str) -> Vec<u8> {
    body(user, &["a"], Time::from_unix_seconds(1_764_000_000), None)
}

pub async fn a_panic_is_answered_and_the_next_request_too() {
    let backend = Odd::new(|replacement| {
        assert!(replacement.is_none(), "the backend panics");
        ready(())
    });
    let store = SeenStore::new(backend, StoreOptions::default()).unwrap();
    let app = router(store, RouterOptions::new());
    let (status, problem) = post(&app, "ada", "impressions", report("ada")).await;
    assert!(
        status == 500 && problem.contains(r#""code":"internal""#),
        "{status} {problem}"
    );
    let (status, page) = post(&app, "ada", "page", PAGE).await;
    assert!(status == 200 && page.contains(r#""items":["a"]"#), "{status} {page}");
}

pub async fn a_panic_is_a_mistake_of_the_program_however_large_the_chain() {
    let redis = RedisServer::start(&[]);
    for capacity in [100, 50_000] {
        let user = format!("user-{capacity}");
        let chain = ChainOptions {
            capacity,
            shards: 4,
            ..ChainOptions::default()
        };
        let backend = RedisBackend::new(RedisConnection::open(redis.url()).unwrap());
        let options = StoreOptions {
            chain,
            on_event: Some(Arc::new(|event| {
                assert!(!matches!(event, StoreEvent::Damaged(_)), "the listener panics");
            })),
            ..StoreOptions::default()
        };
        let store = SeenStore::new(backend, options).unwrap();
        let ids: Vec<String> = (0..capacity * 4).map(|id| format!("article-{id}")).collect();
        for ids in ids.chunks(capacity as usize) {
            store.update(&user, |chain, now| chain.record(ids, now)).await.unwrap();
        }
        let app = router(store, RouterOptions::new());
        assert_eq!(post(&app, &user, "page", PAGE).await.0, 200, "{capacity}");
        // The listener is called while the chain is read.
        redis
            .client()
            .lpush::<_, _, ()>(format!("seen:{user}"), "no shard")
            .unwrap();
        let (status, problem) = post(&app, &user, "page", PAGE).await;
        assert!(
            status == 500 && problem.contains(r#""code":"internal""#),
            "{capacity}: {status} {problem}"
        );
    }
}

pub async fn i5_reports_that_wait_in_an_outage_do_not_use_up_the_limit_of_pages() {
    const REPORTS: usize = 5_000;
    const AT_ONCE: usize = 2_048;
    let redis = RedisServer::start(&[]);
    let backend = RedisBackend::new(RedisConnection::open(redis.url()).unwrap());
    let store = SeenStore::new(backend, StoreOptions::default()).unwrap();
    store
        .update("ada", |chain, now| chain.record(&["b"], now))
        .await
        .unwrap();
    let app = router(store, RouterOptions::new());
    redis.pause();
    let mut reports = JoinSet::new();
    for user in 0..REPORTS {
        let app = app.clone();
        reports.spawn(async move {
            let user = format!("user-{user}");
            post(&app, &user, "impressions", report(&user)).await
        });
    }
    sleep(Duration::from_millis(500)).await;
    for _ in 0..5 {
        let start = Instant::now();
        let (status, page) = post(&app, "ada", "page", PAGE).await;
        assert!(status == 200 && page.contains(r#""degraded":true"#), "{status} {page}");
        let took = start.elapsed();
        assert!(took < promised("a page waits for Redis"), "{took:?}");
    }
    let answers = reports.join_all().await;
    assert!(answers.iter().all(|(status, _)| *status == 503));
    let busy = answers
        .iter()
        .filter(|(_, problem)| problem.contains(r#""code":"busy""#));
    assert_eq!(busy.count(), REPORTS - AT_ONCE);
    redis.resume();
}

pub async fn pages_over_their_limit_are_refused_and_reports_have_a_limit_of_their_own() {
    const MOST: usize = 4_096;
    let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default()).unwrap();
    let app = router(store, RouterOptions::new());
    let mut pages = JoinSet::new();
    for _ in 0..=MOST {
        let app = app.clone();
        pages.spawn(async move {
            let start = Instant::now();
            let never = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
            (post(&app, "ada", "page", never).await.1, start.elapsed())
        });
    }
    // One of them is refused, and then each other one.
    let (first, took) = pages.join_next().await.unwrap().unwrap();
    assert!(first.contains(r#""code":"busy""#), "{took:?} {first}");
    assert!(post(&app, "ada", "page", PAGE).await.1.contains(r#""code":"busy""#));
    assert_eq!(post(&app, "ada", "impressions", report("ada")).await.0, 204);
    let rest = pages.join_all().await;
    assert_eq!(rest.len(), MOST);
    for (problem, took) in rest {
        assert!(problem.contains(r#""code":"timeout""#), "{problem}");
        assert!(took < promised("a body takes to arrive"), "{took:?}");
    }
    assert_eq!(post(&app, "ada", "page", PAGE).await.0, 200);
}
