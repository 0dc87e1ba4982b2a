//! A recall server in one file: it keeps each user's chain of shards, fed by a stream of impressions; filters the
//! candidates of a page with it; and ships it beside the page, so that the device can close the gap that the stream's
//! lag leaves.
//!
//!     cargo run --example recall_server
//!
//! The store is a map here. In production it holds of each user what the map does: a list of base64 shards, newest
//! first, and beside it the unseen ids and when the history was deleted.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use seenguard::{
    ChainOptions, ChainSnapshot, DEFAULT_REMEMBER, Error, Guard, Impression, Now, ReceivedReport, ShardChain, Snapshot,
    Time,
};

const DAY: u64 = 24 * 60 * 60;

/// One for all users. Whoever reads a shard finds its parameters in the shard itself, so they may change from one
/// release to the next.
///
/// They are what `seenguard::plan` says for 150 impressions a day, 30 days and a false positive rate of 0.005: a user's
/// last 5,339 items at least are remembered for 30 days, and none for longer than a nineteenth of that more; each shard
/// claims one in 4,000 fresh items falsely when it is full, so a page loses at most 0.5% of its candidates.
const OPTIONS: ChainOptions = ChainOptions::RECOMMENDED;

/// The server: what it knows of its users, and how it answers.
#[derive(Default)]
pub struct RecallServer {
    store: HashMap<String, ChainSnapshot>,
}

/// What a device sends along when it asks for a page. All of it may be missing, and may be anything.
#[derive(Default)]
pub struct PageRequest<'a> {
    /// `guard.pendingShard()`: what it has shown and the stream has not brought yet.
    pub pending: Option<&'a str>,
    /// `guard.held()`: the shards that need not be sent again.
    pub held: Option<&'a str>,
}

/// One page as it goes to the device.
pub struct Page {
    /// What the person is to see.
    pub items: Vec<String>,
    /// The state that the items were filtered against. In a browser, `guard.apply(page.seen)` takes it.
    pub seen: ChainSnapshot,
}

impl RecallServer {
    /// Goes on from what is stored.
    fn chain_of(&self, user: &str) -> Result<ShardChain, Error> {
        let Some(stored) = self.store.get(user) else {
            return ShardChain::new(OPTIONS);
        };
        let (mut chain, rejected) = ShardChain::from_shards(&stored.shards, OPTIONS)?;
        chain.restore(&stored.unseen, stored.forget_before)?;
        // What cannot be read is left out, and the user's feed goes on; somebody should hear of it, though.
        for shard in rejected {
            eprintln!(
                "user {user}, stored shard {}: {} ({})",
                shard.index,
                shard.error,
                shard.error.code()
            );
        }
        Ok(chain)
    }

    /// What the stream's consumer does with what a device of a user reported. A report that comes twice changes nothing
    /// the second time; one that comes late changes nothing that became unseen or was deleted meanwhile. Its times are
    /// the server's since it was received, before the stream: `Report::received` has read the device's clock.
    pub fn consume(&mut self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        self.update(user, report.received_at, |chain| chain.take(report).map(drop))
    }

    /// "Show again": these items are fresh until they have been on the screen again.
    pub fn show_again(&mut self, user: &str, ids: &[&str], now: Time) -> Result<(), Error> {
        self.update(user, now, |chain| chain.unsee(ids, now))
    }

    /// "Delete my history": all devices forget with their next page.
    pub fn delete_history(&mut self, user: &str, now: Time) -> Result<(), Error> {
        self.update(user, now, |chain| chain.forget(now))
    }

    /// Changes what is stored of a user.
    ///
    /// Two processes must not write one user's list at once. With Redis: replace the head in a script that compares it
    /// with the one that was read, read again if it is another by now, and acknowledge the report only then.
    fn update(
        &mut self,
        user: &str,
        now: Time,
        change: impl FnOnce(&mut ShardChain) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut chain = self.chain_of(user)?;
        change(&mut chain)?;
        self.store.insert(user.into(), chain.snapshot(now, None)?);
        Ok(())
    }

    /// Fills a page from candidates, best first, and ships the state that they were filtered against.
    ///
    /// The device's pending shard is tested for this request alone and never united with the chain, to which the stream
    /// will bring the same items.
    pub fn page(
        &self,
        user: &str,
        candidates: &[&str],
        size: usize,
        request: &PageRequest<'_>,
        now: Time,
    ) -> Result<Page, Error> {
        let chain = self.chain_of(user)?;
        let fresh = chain.filter(candidates, request.pending, now)?;
        let fresh = fresh.iter().map(|&index| candidates[index as usize]);
        let items = fresh.take(size).map(String::from).collect();
        // The state as it was before this page: a server that records what it serves, and ships the state after,
        // filters its own page away.
        let seen = chain.snapshot(now, request.held)?;
        Ok(Page { items, seen })
    }
}

/// What the device does with a page, which in a browser the npm package does: takes the state, filters, and records
/// what was looked at.
pub fn show(guard: &mut Guard, page: &Page, now: Now) -> Result<Vec<String>, Error> {
    guard.apply(Snapshot::from(&page.seen), now)?;
    let fresh = guard.filter(&page.items, now)?;
    let shown: Vec<String> = fresh.iter().map(|&index| page.items[index as usize].clone()).collect();
    guard.record(&shown, now)?;
    Ok(shown)
}

/// Impressions as a device reports them.
pub fn impressions(ids: &[impl AsRef<str>], at: Time) -> Vec<Impression> {
    let impression = |id: &str| Impression { id: id.into(), at };
    ids.iter().map(|id| impression(id.as_ref())).collect()
}

pub fn main() -> Result<(), Error> {
    let now = Time::from(SystemTime::now());
    let candidates: Vec<String> = (1..=40).map(|number| format!("article-{number}")).collect();
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let mut server = RecallServer::default();
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    // Nothing is kept across visits here, so there is nothing to wait for.
    guard.finish_loading();
    let report = |server: &mut RecallServer, ids: &[&str], at: Time| {
        let report = ReceivedReport {
            namespace: "home:ada".into(),
            received_at: at,
            impressions: impressions(ids, at),
            unseen: Vec::new(),
            pending: None,
        };
        server.consume("ada", &report)
    };

    // Last week's impressions have long come through the stream.
    let last_week = Time::from(SystemTime::now() - Duration::from_secs(7 * DAY));
    report(&mut server, &candidates[..8], last_week)?;
    let first = server.page("ada", &candidates, 10, &PageRequest::default(), now)?;
    let shown = show(&mut guard, &first, Now::at(now))?;
    println!("8 of 40 candidates were seen; the page: {shown:?}");

    // Ten seconds later the stream has brought nothing of it. The server offers the same page again, and the device
    // stops it. It holds the server's shard already, so that a reference goes in its place.
    let now = now + Duration::from_secs(10);
    let held = guard.held();
    let request = PageRequest {
        held: Some(&held),
        ..PageRequest::default()
    };
    let second = server.page("ada", &candidates, 10, &request, now)?;
    let repeats = second.items.len();
    let shown_of_it = show(&mut guard, &second, Now::at(now))?.len();
    println!("refreshed while the stream lags: {repeats} offered again, {shown_of_it} shown of them");
    println!("sent of the server's shards: {:?}", second.seen.shards);

    // With the device's pending shard in the request, the next page is full at once.
    let pending = guard
        .pending_shard(usize::MAX, Now::at(now))?
        .map(|shard| shard.to_base64())
        .transpose()?;
    let request = PageRequest {
        pending: pending.as_deref(),
        ..request
    };
    let third = server.page("ada", &candidates, 10, &request, now)?;
    show(&mut guard, &third, Now::at(now))?;
    println!(
        "with the pending shard ({} bytes) in the request: {:?}",
        pending.as_ref().map_or(0, String::len),
        third.items
    );

    // When the stream has caught up with the first page, the state that is shipped covers it, and it is pending no
    // longer.
    let now = now + Duration::from_secs(60);
    report(&mut server, &shown.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
    let fourth = server.page("ada", &candidates, 10, &PageRequest::default(), now)?;
    show(&mut guard, &fourth, Now::at(now))?;
    let stats = guard.stats(Now::at(now));
    let bytes: usize = fourth.seen.shards.iter().map(String::len).sum();
    println!(
        "the stream has caught up with the first page; its lag was {} ms at most",
        stats.lag.last_ms.unwrap_or(0)
    );
    println!(
        "{} impressions are pending; the state shipped has {bytes} bytes",
        stats.pending
    );

    // The person wants to see an item again, and then deletes the history.
    let now = now + Duration::from_secs(60);
    server.show_again("ada", &["article-1"], now)?;
    let fifth = server.page("ada", &candidates, 1, &PageRequest::default(), now)?;
    println!("unseen, and offered again: {:?}", fifth.items);
    server.delete_history("ada", now)?;
    let now = now + Duration::from_secs(1);
    let sixth = server.page("ada", &candidates, 10, &PageRequest::default(), now)?;
    let shown = show(&mut guard, &sixth, Now::at(now))?;
    println!("after the history was deleted: {shown:?}");
    Ok(())
}
