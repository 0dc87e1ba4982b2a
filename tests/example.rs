//! The example does what it says: it runs, and its server and device together show nothing twice.
#![cfg(not(target_arch = "wasm32"))]

mod common;

#[allow(dead_code)]
#[path = "../examples/recall_server.rs"]
mod recall_server;

use common::{START, ids};
use recall_server::{RecallServer, show};
use seenguard::{Error, Now};

#[test]
fn it_runs() -> Result<(), Error> {
    recall_server::main()
}

#[test]
fn a_person_behind_a_stream_that_stands_still_sees_nothing_twice() -> Result<(), Error> {
    let mut server = RecallServer::default();
    let mut guard = common::guard();
    let candidates = ids("article", 0..500);
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    server.consume("ada", &candidates[..100], START)?;
    let mut shown = Vec::new();
    for refresh in 0..30 {
        let now = START + refresh * 10;
        let pending = guard.pending_shard()?.to_base64()?;
        // Every other request goes without it.
        let pending = (refresh % 2 == 0).then_some(&*pending);
        let page = server.page("ada", &candidates, 10, pending, now)?;
        assert_eq!(page.items.len(), 10);
        shown.extend(show(&mut guard, &page, Now::at(now * 1000))?);
    }
    assert_eq!(shown.len(), 150);
    let distinct: std::collections::HashSet<&String> = shown.iter().collect();
    assert_eq!(distinct.len(), shown.len());
    assert!(!shown.iter().any(|id| candidates[..100].contains(&id.as_str())));
    Ok(())
}

#[test]
fn a_pending_shard_that_cannot_be_read_stops_no_page() -> Result<(), Error> {
    let mut server = RecallServer::default();
    server.consume("ada", &["a"], START)?;
    let page = server.page("ada", &["a", "b"], 10, Some("no shard"), START)?;
    assert_eq!(page.items, ["b"]);
    let stranger = server.page("somebody else", &["a", "b"], 10, None, START)?;
    assert_eq!((stranger.items.len(), stranger.seen.version), (2, Some(0)));
    Ok(())
}
