//! A recall server in one file: it keeps each user's chain of shards, fed by a stream of impressions; filters the
//! candidates of a page with it; and ships it beside the page, so that the device can close the gap that the stream's
//! lag leaves.
//!
//!     cargo run --example recall_server
//!
//! The store is a map here. In production it holds of each user what the map does: a list of base64 shards, newest
//! first, beside it the unseen ids and when the history was deleted, and what each device has pending.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use seenguard::device::{DEFAULT_REMEMBER, Guard, Place, Step, Storage};
use seenguard::{
    ChainOptions, ChainSnapshot, Error, Impression, PENDING_SECONDS, PageRequest, Pending, PendingToKeep,
    ReceivedReport, Report, ShardChain, Snapshot, Time,
};

const DAY: u64 = 24 * 60 * 60;
const WINDOW_DAYS: f64 = 30.0;
/// What servers let through in a header.
const MAX_HEADER_CHARACTERS: usize = 4_000;

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
    store: HashMap<String, Stored>,
}

#[derive(Default)]
struct Stored {
    chain: Option<ChainSnapshot>,
    /// What the user's devices have pending, a line each.
    pending: String,
}

/// What a device sends along when it asks for a page. All of it may be missing, and may be anything.
#[derive(Default)]
pub struct Request<'a> {
    /// `Seen-Pending`: what it has shown and the stream has not brought yet.
    pub pending: Option<&'a str>,
    /// `Seen-Held`: the shards that need not be sent again.
    pub held: Option<&'a str>,
}

/// One page as it goes to the device.
pub struct Page {
    /// What the person is to see.
    pub items: Vec<String>,
    /// The state that the items were filtered against. In a browser, `guard.apply(page.snapshot)` takes it.
    pub snapshot: ChainSnapshot,
}

/// What devices open their guards with: the feed, and whose it is.
fn namespace_of(user: &str) -> String {
    format!("home:{user}")
}

impl RecallServer {
    /// Goes on from what is stored.
    fn chain_of(&self, user: &str) -> Result<ShardChain, Error> {
        let Some(stored) = self.store.get(user).and_then(|stored| stored.chain.as_ref()) else {
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
    /// the second time; one that comes late changes nothing that became unseen or was deleted meanwhile.
    pub fn consume(&mut self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        self.update(user, report.received_at, |chain| chain.ingest(report).map(drop))
    }

    /// A report arrives: what the device has pending is kept at once, and what is returned may wait in a stream. Its
    /// times are the server's. Nothing for a report of another namespace: of a tab of somebody who has signed out.
    pub fn accept(&mut self, user: &str, report: Report, now: Time) -> Result<Option<ReceivedReport>, Error> {
        if report.namespace != namespace_of(user) {
            return Ok(None);
        }
        self.keep_pending(user, report.pending.as_deref(), now)?;
        Ok(Some(report.received(now)))
    }

    /// Keeps the latest of each device, for its user's other devices.
    fn keep_pending(&mut self, user: &str, pending: Option<&str>, now: Time) -> Result<(), Error> {
        let Some(told) =
            pending.and_then(|text| PendingToKeep::of(text, Some(&namespace_of(user)), now, PENDING_SECONDS))
        else {
            return Ok(());
        };
        let kept = self.store.get(user).map_or("", |stored| &stored.pending);
        if let Some(lines) = told.added_to(kept)? {
            self.store.entry(user.into()).or_default().pending = lines;
        }
        Ok(())
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
        self.store.entry(user.into()).or_default().chain = Some(chain.snapshot(now, None)?);
        Ok(())
    }

    /// Fills a page from candidates, best first, and ships the state that they were filtered against.
    ///
    /// What devices have pending is left out, and never united with the chain, to which the stream will bring the same
    /// items.
    pub fn page(
        &mut self,
        user: &str,
        candidates: &[&str],
        size: usize,
        request: &Request<'_>,
        now: Time,
    ) -> Result<Page, Error> {
        self.keep_pending(user, request.pending, now)?;
        let request = PageRequest {
            size,
            held: request.held,
            pending: Pending {
                asking: request.pending,
                kept: self.store.get(user).map_or("", |stored| &stored.pending),
                namespace: Some(&namespace_of(user)),
                ..Pending::default()
            },
            ..PageRequest::default()
        };
        // The state as it was before this page: a server that records what it serves, and ships the state after,
        // filters the page that it serves away.
        let page = self.chain_of(user)?.page(candidates, &request, now)?;
        let items = page.items.iter().map(|&index| candidates[index as usize].into());
        Ok(Page {
            items: items.collect(),
            snapshot: page.snapshot,
        })
    }
}

/// A guard over an empty storage, by which it has its device name: without one, what it has pending is kept nowhere.
pub fn new_device(namespace: &str, random_seed: u64, now: Time) -> Result<Guard, Error> {
    let mut guard = Guard::new(WINDOW_DAYS, DEFAULT_REMEMBER)?;
    let prefix = ["seenguard/", namespace, "/"].concat();
    let mut storage = Storage::new(&prefix, namespace, Some(Place::Custom), random_seed, &mut guard);
    storage.flush(&guard);
    // Nothing is there, and what is written is forgotten.
    loop {
        match storage.next(&guard, now) {
            Step::Wait => return Ok(guard),
            Step::Look | Step::Pass => {
                storage.begin(&guard, Place::Custom);
                storage.list(&mut guard, [].into_iter(), [].into_iter());
                while storage.next_write(&guard, now).is_some() {}
                storage.completed(&mut guard, storage.transaction(), now);
            }
            _ => {}
        }
    }
}

/// What the device does with a page, which in a browser the npm package does: takes the state, filters, and records
/// what was looked at.
pub fn show(guard: &mut Guard, page: &Page, now: Time) -> Result<Vec<String>, Error> {
    guard.apply(Snapshot::from(&page.snapshot), now)?;
    let fresh = guard.filter(&page.items, now);
    let shown: Vec<String> = fresh.iter().map(|&index| page.items[index as usize].clone()).collect();
    guard.record(&shown, now);
    Ok(shown)
}

/// A device asks for a page of ten, and says what it has pending and what it holds, as `guard.headers()` does in a
/// browser.
pub fn ask(server: &mut RecallServer, guard: &Guard, candidates: &[&str], now: Time) -> Result<Page, Error> {
    let held = guard.held();
    let pending = guard.pending_list(MAX_HEADER_CHARACTERS.saturating_sub(held.len()), now);
    let request = Request {
        pending: Some(&pending),
        held: Some(&held),
    };
    server.page("ada", candidates, 10, &request, now)
}

/// Impressions as a device reports them.
pub fn impressions(ids: &[impl AsRef<str>], at: Time) -> Vec<Impression> {
    let impression = |id: &str| Impression { id: id.into(), at };
    ids.iter().map(|id| impression(id.as_ref())).collect()
}

pub fn main() -> Result<(), Error> {
    let now = Time::from(SystemTime::now());
    let candidates: Vec<String> = (1..=60).map(|number| format!("article-{number}")).collect();
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let mut server = RecallServer::default();
    let mut desk = new_device("home:ada", 1, now)?;
    let mut phone = new_device("home:ada", 2, now)?;
    let consume = |server: &mut RecallServer, ids: &[&str], at: Time| {
        let mut report = Report::new("home:ada", at);
        report.impressions = impressions(ids, at);
        match server.accept("ada", report, at)? {
            Some(report) => server.consume("ada", &report),
            None => Ok(()),
        }
    };

    // Last week's impressions have long come through the stream.
    let last_week = Time::from(SystemTime::now() - Duration::from_secs(7 * DAY));
    consume(&mut server, &candidates[..8], last_week)?;
    let first = ask(&mut server, &desk, &candidates, now)?;
    let shown = show(&mut desk, &first, now)?;
    println!("8 of 60 candidates were seen; the page: {shown:?}");

    // Ten seconds later the stream has brought nothing of it. A request that says nothing of the device is answered by
    // the same page again, and the device stops it.
    let now = now + Duration::from_secs(10);
    let silent = server.page("ada", &candidates, 10, &Request::default(), now)?;
    let repeats = silent.items.len();
    let shown_of_it = show(&mut desk, &silent, now)?.len();
    println!("refreshed while the stream lags: {repeats} offered again, {shown_of_it} shown of them");

    // One that says what the device has pending and what it holds is answered by ten others, and by references in place
    // of shards.
    let third = ask(&mut server, &desk, &candidates, now)?;
    show(&mut desk, &third, now)?;
    println!("with what is pending in the request: {:?}", third.items);
    println!("sent of the server's shards: {:?}", third.snapshot.shards);

    // The server has kept that. What the desk showed first does not come on the phone either, though the stream has
    // brought none of it.
    let on_phone = ask(&mut server, &phone, &candidates, now)?;
    let again = show(&mut phone, &on_phone, now)?;
    let again = again.iter().filter(|id| shown.contains(id)).count();
    println!(
        "on the phone: {:?}, of which the desk had told: {again}",
        on_phone.items
    );

    // When the stream has caught up with the first page, the state that is shipped covers it, and it is pending no
    // longer.
    let now = now + Duration::from_secs(60);
    consume(&mut server, &shown.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
    let fourth = ask(&mut server, &desk, &candidates, now)?;
    show(&mut desk, &fourth, now)?;
    let pending = desk.stats(now).pending;
    println!("the stream has caught up with the first page; {pending} impressions are pending");

    // The person wants to see an item again, and then deletes the history.
    let now = now + Duration::from_secs(60);
    server.show_again("ada", &["article-1"], now)?;
    let fifth = ask(&mut server, &desk, &candidates, now)?;
    println!("unseen, and offered again: {:?}", fifth.items.first());
    server.delete_history("ada", now)?;
    let now = now + Duration::from_secs(1);
    let sixth = server.page("ada", &candidates, 10, &Request::default(), now)?;
    let shown = show(&mut desk, &sixth, now)?;
    println!("after the history was deleted: {shown:?}");
    Ok(())
}
