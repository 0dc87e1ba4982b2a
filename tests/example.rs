//! The example does what it says: it runs, and its server and device together show nothing twice.
#![cfg(not(target_arch = "wasm32"))]

mod common;

#[allow(dead_code)]
#[path = "../examples/recall_server.rs"]
mod recall_server;

use common::{START, ids, milliseconds, seconds};
use recall_server::{PageRequest, RecallServer, impressions, show};
use seenguard::{Error, Now, ReceivedReport, Time};

/// What a device showed a second ago reaches the server at once.
fn consume(server: &mut RecallServer, ids: &[&str]) -> Result<(), Error> {
    let report = ReceivedReport {
        namespace: "home:ada".into(),
        received_at: seconds(START),
        impressions: impressions(ids, seconds(START - 1)),
        unseen: Vec::new(),
        pending: None,
    };
    server.consume("ada", &report)
}

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
    consume(&mut server, &candidates[..100])?;
    let mut shown = Vec::new();
    for refresh in 0..30 {
        let now = START + refresh * 10;
        let pending = guard
            .pending_shard(usize::MAX, Now::at(Time::from_unix_seconds(now)))?
            .map(|shard| shard.to_base64())
            .transpose()?;
        let held = guard.held();
        let request = PageRequest {
            // Every other request goes without it.
            pending: pending.as_deref().filter(|_| refresh % 2 == 0),
            held: Some(&held),
        };
        let page = server.page("ada", &candidates, 10, &request, seconds(now))?;
        let is_reference = |text: &String| text.starts_with('~');
        assert_eq!(page.seen.shards.iter().all(is_reference), refresh > 0);
        assert_eq!(page.items.len(), 10);
        shown.extend(show(&mut guard, &page, Now::at(Time::from_unix_seconds(now)))?);
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
    consume(&mut server, &["a"])?;
    let request = PageRequest {
        pending: Some("no shard"),
        held: Some("no reference"),
    };
    let page = server.page("ada", &["a", "b"], 10, &request, seconds(START))?;
    assert_eq!(page.items, ["b"]);
    let stranger = server.page(
        "somebody else",
        &["a", "b"],
        10,
        &PageRequest::default(),
        seconds(START),
    )?;
    assert_eq!((stranger.items.len(), stranger.seen.version), (2, Some(0)));
    Ok(())
}

#[test]
fn what_is_unseen_or_was_deleted_is_shown_again() -> Result<(), Error> {
    let mut server = RecallServer::default();
    let mut guard = common::guard();
    let mut shown = |server: &RecallServer, now: u64| {
        let page = server.page("ada", &["a", "b", "c"], 10, &PageRequest::default(), seconds(now))?;
        show(&mut guard, &page, Now::at(Time::from_unix_seconds(now)))
    };
    consume(&mut server, &["a", "b", "c"])?;
    assert_eq!(shown(&server, START)?, [""; 0]);
    server.show_again("ada", &["a"], milliseconds(START * 1000 + 5_000))?;
    assert_eq!(shown(&server, START + 6)?, ["a"]);
    assert_eq!(shown(&server, START + 7)?, [""; 0]);
    server.delete_history("ada", milliseconds(START * 1000 + 10_000))?;
    assert_eq!(shown(&server, START + 11)?, ["a", "b", "c"]);
    Ok(())
}
