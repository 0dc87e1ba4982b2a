//! The example does what it says: it runs, and its server and device together show nothing twice.

#[allow(dead_code)]
#[path = "../../examples/recall_server.rs"]
mod recall_server;

use crate::common::{START, at, at_ms, ids};
use recall_server::{RecallServer, Request, ask, impressions, new_device, show};
use seenguard::device::Guard;
use seenguard::{Error, Report};

/// A device sends what it showed a second ago, and what it has pending.
fn report(guard: Option<&Guard>, ids: &[&str]) -> Result<Report, Error> {
    let pending = guard.map(|guard| guard.pending_list(4_000, at(START)));
    let mut report = Report::new("home:ada", at(START));
    report.impressions = impressions(ids, at(START - 1));
    report.pending = pending;
    Ok(report)
}

/// What a device showed reaches the chain at once.
fn consume(server: &mut RecallServer, ids: &[&str]) -> Result<(), Error> {
    let received = server.accept("ada", report(None, ids)?, at(START))?;
    server.consume("ada", &received.expect("it is of the user's namespace"))
}

fn device() -> Result<Guard, Error> {
    new_device("home:ada", 1, at(START))
}

#[test]
fn it_runs() -> Result<(), Error> {
    recall_server::main()
}

#[test]
fn a_person_behind_a_stream_that_stands_still_sees_nothing_twice_on_either_device() -> Result<(), Error> {
    let mut server = RecallServer::default();
    let mut guards = [1, 2].map(|seed| new_device("home:ada", seed, at(START)).expect("the options are a guard's"));
    let candidates = ids("article", 0..500);
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    consume(&mut server, &candidates[..100])?;
    let mut shown = Vec::new();
    for refresh in 0..30 {
        let now = START + 1 + refresh * 10;
        let guard = &mut guards[refresh as usize % 2];
        let page = ask(&mut server, guard, &candidates, at(now))?;
        let is_reference = |text: &String| text.starts_with('~');
        assert_eq!(page.snapshot.shards.iter().all(is_reference), refresh > 1);
        assert_eq!(page.items.len(), 10);
        shown.extend(show(guard, &page, at(now))?);
        // What it showed last it tells with its report.
        server.accept("ada", report(Some(guard), &[])?, at(now))?;
    }
    assert_eq!(shown.len(), 300);
    let distinct: std::collections::HashSet<&String> = shown.iter().collect();
    assert_eq!(distinct.len(), shown.len());
    assert!(!shown.iter().any(|id| candidates[..100].contains(&id.as_str())));
    Ok(())
}

#[test]
fn what_a_request_says_that_cannot_be_read_stops_no_page() -> Result<(), Error> {
    let mut server = RecallServer::default();
    consume(&mut server, &["a"])?;
    let request = Request {
        pending: Some("no list"),
        held: Some("no reference"),
    };
    let page = server.page("ada", &["a", "b"], 10, &request, at(START))?;
    assert_eq!(page.items, ["b"]);
    let stranger = server.page("somebody else", &["a", "b"], 10, &Request::default(), at(START))?;
    assert_eq!((stranger.items.len(), stranger.snapshot.version), (2, Some(0)));
    Ok(())
}

#[test]
fn a_report_of_another_session_changes_nothing() -> Result<(), Error> {
    let mut server = RecallServer::default();
    let mut guard = device()?;
    guard.record(&["a"], at(START));
    assert_eq!(server.accept("bob", report(Some(&guard), &["a"])?, at(START))?, None);
    let page = server.page("bob", &["a", "b"], 10, &Request::default(), at(START))?;
    assert_eq!(page.items, ["a", "b"]);
    Ok(())
}

#[test]
fn what_is_unseen_or_was_deleted_is_shown_again() -> Result<(), Error> {
    let mut server = RecallServer::default();
    let mut guard = device()?;
    let mut shown = |server: &mut RecallServer, now: u64| {
        let page = ask(server, &guard, &["a", "b", "c"], at(now))?;
        show(&mut guard, &page, at(now))
    };
    consume(&mut server, &["a", "b", "c"])?;
    assert_eq!(shown(&mut server, START)?, [""; 0]);
    server.show_again("ada", &["a"], at_ms(START * 1000 + 5_000))?;
    assert_eq!(shown(&mut server, START + 6)?, ["a"]);
    assert_eq!(shown(&mut server, START + 7)?, [""; 0]);
    server.delete_history("ada", at_ms(START * 1000 + 10_000))?;
    // The request still says that "a" is pending, by a list from before the deletion.
    assert_eq!(shown(&mut server, START + 11)?, ["a", "b", "c"]);
    Ok(())
}
