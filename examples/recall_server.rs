//! A recall server in one file: it keeps each user's chain of shards, fed by a stream of impressions; filters the
//! candidates of a page with it; and ships it beside the page, so that the device can close the gap that the stream's
//! lag leaves.
//!
//!     cargo run --example recall_server
//!
//! The store is a map here. In production it is what the map's type says: one list a user, one base64 shard an element,
//! newest first.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use seenguard::{ChainOptions, ChainSnapshot, DEFAULT_REMEMBER, Error, Guard, Now, Shard, ShardChain, Snapshot};

const DAY: u32 = 24 * 60 * 60;

/// One for all users. Whoever reads a shard finds its parameters in the shard itself, so they may change from one
/// release to the next.
///
/// A user's last 4,000 items at least are remembered for 30 days, and none for longer than a quarter of that more; each
/// shard claims one in 1,000 fresh items falsely when it is full, so a page loses at most 0.5% of its candidates.
fn options() -> ChainOptions {
    ChainOptions {
        capacity: 1_000,
        shards: 5,
        false_positive_rate: 0.001,
        ttl_seconds: 30 * DAY,
        ..ChainOptions::default()
    }
}

/// What the store holds of one user: base64 shards, newest first.
type StoredShards = Vec<String>;

/// The server: what it knows of its users, and how it answers.
#[derive(Default)]
pub struct RecallServer {
    store: HashMap<String, StoredShards>,
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
        let stored = self.store.get(user).map_or(&[] as &[String], Vec::as_slice);
        let (chain, rejected) = ShardChain::from_shards(stored, options())?;
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

    /// What the stream's consumer does with a batch of one user's impressions. A batch that comes twice changes nothing
    /// the second time.
    ///
    /// Two consumers must not write one user's list at once. With Redis: replace the head in a script that compares it
    /// with the one that was read, read again if it is another by now, and acknowledge the batch only then.
    pub fn consume(&mut self, user: &str, ids: &[&str], now_seconds: u64) -> Result<(), Error> {
        let mut chain = self.chain_of(user)?;
        chain.record(ids, now_seconds)?;
        self.store
            .insert(user.into(), chain.snapshot(now_seconds, None)?.shards);
        Ok(())
    }

    /// Fills a page from candidates, best first, and ships the state that they were filtered against.
    ///
    /// `pending` is the shard that the device sent along (`guard.pendingShard()`): what it has shown and the stream has
    /// not brought yet. It is tested for this request alone and never united with the chain, to which the stream will
    /// bring the same items.
    pub fn page(
        &self,
        user: &str,
        candidates: &[&str],
        size: usize,
        pending: Option<&str>,
        now_seconds: u64,
    ) -> Result<Page, Error> {
        let chain = self.chain_of(user)?;
        // It comes from outside. One that cannot be read is as good as none: the device filters once more.
        let pending = pending.and_then(|text| Shard::from_base64(text).ok());
        let is_pending = |id: &str| pending.as_ref().is_some_and(|shard| shard.filter.contains(id));

        let fresh = chain.filter(candidates, now_seconds)?;
        let fresh = fresh.iter().map(|&index| candidates[index as usize]);
        let items = fresh
            .filter(|id| !is_pending(id))
            .take(size)
            .map(String::from)
            .collect();
        // The state as it was before this page: a server that records what it serves, and ships the state after,
        // filters its own page away.
        let seen = chain.snapshot(now_seconds, None)?;
        Ok(Page { items, seen })
    }
}

/// What the device does with a page, which in a browser the npm package does: takes the state, filters, and records
/// what was looked at.
pub fn show(guard: &mut Guard, page: &Page, now: Now) -> Result<Vec<String>, Error> {
    guard.apply(
        Snapshot {
            version: page.seen.version,
            shards: &page.seen.shards,
            format: page.seen.format,
            now_ms: Some(page.seen.now * 1000),
            forget_before: None,
            unseen: &[],
        },
        now,
    )?;
    let fresh = guard.filter(&page.items, now)?;
    let shown: Vec<String> = fresh.iter().map(|&index| page.items[index as usize].clone()).collect();
    guard.record(&shown, now)?;
    Ok(shown)
}

pub fn main() -> Result<(), Error> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let candidates: Vec<String> = (1..=40).map(|number| format!("article-{number}")).collect();
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let mut server = RecallServer::default();
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    // Nothing is kept across visits here, so there is nothing to wait for.
    guard.finish_loading();

    // Last week's impressions have long come through the stream.
    server.consume("ada", &candidates[..8], now - 7 * u64::from(DAY))?;
    let first = server.page("ada", &candidates, 10, None, now)?;
    let shown = show(&mut guard, &first, Now::at(now * 1000))?;
    println!("8 of 40 candidates were seen; the page: {shown:?}");

    // Ten seconds later the stream has brought nothing of it. The server offers the same page again, and the device
    // stops it.
    let now = now + 10;
    let second = server.page("ada", &candidates, 10, None, now)?;
    let repeats = second.items.len();
    let shown_of_it = show(&mut guard, &second, Now::at(now * 1000))?.len();
    println!("refreshed while the stream lags: {repeats} offered again, {shown_of_it} shown of them");

    // With the device's pending shard in the request, the next page is full at once.
    let pending = guard.pending_shard()?.to_base64()?;
    let third = server.page("ada", &candidates, 10, Some(&pending), now)?;
    show(&mut guard, &third, Now::at(now * 1000))?;
    println!(
        "with the pending shard ({} bytes) in the request: {:?}",
        pending.len(),
        third.items
    );

    // When the stream has caught up with the first page, the state that is shipped covers it, and it is pending no
    // longer.
    let now = now + 60;
    server.consume("ada", &shown.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
    let fourth = server.page("ada", &candidates, 10, None, now)?;
    show(&mut guard, &fourth, Now::at(now * 1000))?;
    let stats = guard.stats(Now::at(now * 1000));
    let bytes: usize = fourth.seen.shards.iter().map(String::len).sum();
    println!(
        "the stream has caught up with the first page; its lag was {} ms at most",
        stats.lag.last_ms.unwrap_or(0)
    );
    println!(
        "{} impressions are pending; the state shipped has {bytes} bytes",
        stats.pending
    );
    Ok(())
}
