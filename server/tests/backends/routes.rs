//! The routes in an app of axum, over a backend of its own.

use std::future::{IntoFuture, ready};

use seenguard::Time;
use seenguard_server::testing::body;
use seenguard_server::{RouterOptions, SeenStore, StoreOptions, router};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use super::odd::Odd;

pub async fn a_panic_is_answered_and_the_next_request_too() {
    let backend = Odd::new(|replacement| {
        assert!(replacement.is_none(), "the backend panics");
        ready(())
    });
    let store = SeenStore::new(backend, StoreOptions::new()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let users = format!("http://{}/v1/users/ada", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router(store, RouterOptions::new())).into_future());
    let posted = |path: &str, body: Vec<u8>| {
        let url = format!("{users}/{path}");
        spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let mut answer = agent.post(url).send(&body).unwrap();
            (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
        })
    };
    let (status, problem) = posted(
        "impressions",
        body("ada", &["a"], Time::from_unix_seconds(1_764_000_000), None),
    )
    .await
    .unwrap();
    assert!(
        status == 500 && problem.contains(r#""code":"internal""#),
        "{status} {problem}"
    );
    let (status, page) = posted("page", r#"{"ranked": ["a"], "size": 1}"#.into()).await.unwrap();
    assert!(status == 200 && page.contains(r#""items":["a"]"#), "{status} {page}");
}
