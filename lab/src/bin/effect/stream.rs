//! The stream of impressions and the store that it fills: the server's state for a person at the time of a request.

use std::collections::VecDeque;

use seenguard::{ChainOptions, PENDING_SECONDS, PendingUpdate, ShardChain, Time};
use seenguard_lab::Result;

use crate::people::{DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS};
use crate::recall::mix;

/// The person's feed.
pub const NAMESPACE: &str = "feed:reader";

/// The faults between an impression and the answer of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    pub name: &'static str,
    /// The time from the impression to the store.
    pub lag_ms: u64,
    /// The share of impressions that never arrive.
    pub loss: f64,
    /// Whether nothing arrives on the measured day.
    pub is_stopped: bool,
    /// Whether the store loses all data at the start of the measured day.
    pub is_flushed: bool,
    /// The lag of a replica that answers half of the requests, at random.
    pub replica_behind_ms: Option<u64>,
}

const fn lags(name: &'static str, lag_ms: u64) -> Condition {
    Condition {
        name,
        lag_ms,
        loss: 0.0,
        is_stopped: false,
        is_flushed: false,
        replica_behind_ms: None,
    }
}

/// The condition of a healthy stream.
const HEALTHY: Condition = lags("10 s", 10 * SECOND_MS);

/// Indices of some conditions.
pub const LAG_10_S: usize = 1;
pub const LAG_10_MIN: usize = 3;
pub const STANDS_STILL: usize = 5;

pub const CONDITIONS: [Condition; 9] = [
    lags("none", 0),
    HEALTHY,
    lags("1 min", MINUTE_MS),
    lags("10 min", 10 * MINUTE_MS),
    lags("1 h", HOUR_MS),
    Condition {
        name: "stands still for a day",
        is_stopped: true,
        ..HEALTHY
    },
    Condition {
        name: "loses 1%",
        loss: 0.01,
        ..HEALTHY
    },
    Condition {
        name: "store flushed",
        is_flushed: true,
        ..HEALTHY
    },
    Condition {
        name: "replica 5 min behind",
        replica_behind_ms: Some(5 * MINUTE_MS),
        ..HEALTHY
    },
];

impl Condition {
    /// The time when an impression reaches the store; `None` if it is lost.
    fn arrival(&self, sent: u64, measured_from: u64, number: u64) -> Option<u64> {
        let is_lost = (mix(number ^ mix(sent)) as f64) < self.loss * u64::MAX as f64;
        let arrival = sent + self.lag_ms;
        let outage = measured_from..measured_from + DAY_MS;
        if is_lost {
            None
        } else if self.is_stopped && outage.contains(&arrival) {
            Some(outage.end)
        } else {
            Some(arrival)
        }
    }
}

/// The id of each item.
#[derive(Debug, Clone, Copy)]
pub struct Ids<'a>(pub &'a [String]);

impl<'a> Ids<'a> {
    pub fn of(self, item: u32) -> &'a str {
        &self.0[item as usize]
    }

    pub fn all(self, items: &[u32]) -> Vec<&'a str> {
        items.iter().map(|&item| self.of(item)).collect()
    }
}

/// An impression in transit.
#[derive(Debug, Clone)]
struct Event {
    arrives: u64,
    id: String,
}

/// One person's chain, its stream, and a replica of it.
pub struct Store<'a> {
    condition: Condition,
    measured_from: u64,
    ids: Ids<'a>,
    chain: ShardChain,
    replica: ShardChain,
    /// The devices' pending impressions, next to the chain.
    stored: String,
    on_the_way: VecDeque<Event>,
    to_the_replica: VecDeque<Event>,
    is_flushed: bool,
    sent: u64,
    reads: u64,
}

impl<'a> Store<'a> {
    /// A store that starts with `chain`.
    pub fn new(condition: Condition, chain: &ShardChain, ids: Ids<'a>, measured_from: u64) -> Self {
        Store {
            condition,
            measured_from,
            ids,
            chain: chain.clone(),
            replica: chain.clone(),
            stored: String::new(),
            on_the_way: VecDeque::new(),
            to_the_replica: VecDeque::new(),
            is_flushed: false,
            sent: 0,
            reads: 0,
        }
    }

    pub fn ids(&self) -> Ids<'a> {
        self.ids
    }

    /// Sends an impression. Calls are in order of time.
    pub fn send(&mut self, id: &str, at: u64) {
        self.sent += 1;
        if let Some(arrives) = self.condition.arrival(at, self.measured_from, self.sent) {
            self.on_the_way.push_back(Event { arrives, id: id.into() });
        }
    }

    /// Ingests the impressions that have arrived. Returns whether the store's other data is lost now, too.
    pub fn advance(&mut self, now: u64) -> Result<bool> {
        let is_flushed_now = self.condition.is_flushed && !self.is_flushed && now >= self.measured_from;
        if is_flushed_now {
            ingest_due(&mut self.chain, &mut self.on_the_way, self.measured_from, 0)?;
            self.chain = ShardChain::new(*self.chain.options())?;
            self.stored.clear();
            self.is_flushed = true;
        }
        if self.condition.replica_behind_ms.is_some() {
            let arrived = self.on_the_way.iter().take_while(|event| event.arrives <= now);
            self.to_the_replica.extend(arrived.cloned());
        }
        ingest_due(&mut self.chain, &mut self.on_the_way, now, 0)?;
        let behind = self.condition.replica_behind_ms.unwrap_or(0);
        ingest_due(&mut self.replica, &mut self.to_the_replica, now, behind)?;
        Ok(is_flushed_now)
    }

    /// The chain for the next request, if the server only reads.
    pub fn read(&mut self) -> &ShardChain {
        self.reads += 1;
        if self.condition.replica_behind_ms.is_some() && mix(self.reads).is_multiple_of(2) {
            &self.replica
        } else {
            &self.chain
        }
    }

    /// Stores the requesting device's pending impressions, then reads all devices' and the chain: in one script, which
    /// /// writes, so that no replica answers.
    pub fn store_and_read(&mut self, pending: &str, at: u64) -> Result<(&ShardChain, &str)> {
        self.store_pending(pending, at)?;
        Ok((&self.chain, &self.stored))
    }

    /// Stores a device's pending impressions. Calls are in order of time.
    pub fn store_pending(&mut self, pending: &str, at: u64) -> Result<()> {
        if let Some(pending) = PendingUpdate::of(pending, Some(NAMESPACE), Time::from_unix_ms(at), PENDING_SECONDS)
            && let Some(stored) = pending.added_to(&self.stored)?
        {
            self.stored = stored;
        }
        Ok(())
    }
}

/// Records the impressions that arrived at least `behind` ago, as of their arrival, so that a replica's shards equal
/// the /// primary's of that time.
fn ingest_due(chain: &mut ShardChain, events: &mut VecDeque<Event>, now: u64, behind: u64) -> Result<()> {
    while events.front().is_some_and(|event| event.arrives + behind <= now)
        && let Some(Event { arrives, id }) = events.pop_front()
    {
        chain.record(&[id], Time::from_unix_ms(arrives))?;
    }
    Ok(())
}

/// The options of all people's chains: 28 shards of 250 items remember 6,750 impressions or more, 225 a day for 30
/// days.
pub fn chain_options() -> ChainOptions {
    ChainOptions {
        capacity: 250,
        shards: 28,
        false_positive_rate: 0.005 / 28.0,
        ttl_seconds: 30 * 86_400,
        ..ChainOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDNIGHT: u64 = 20_000 * DAY_MS;

    fn condition(name: &str) -> Condition {
        let mut named = CONDITIONS.into_iter().filter(|condition| condition.name == name);
        named.next().expect("a condition")
    }

    /// Sends "a" to a store a minute before midnight. Returns whether its chain contains "a" this long after midnight.
    fn contains_a(condition: Condition, after_ms: u64) -> bool {
        let chain = ShardChain::new(chain_options()).expect("options");
        let ids = ["a".to_string()];
        let mut store = Store::new(condition, &chain, Ids(&ids), MIDNIGHT);
        store.send("a", MIDNIGHT - MINUTE_MS);
        let now = MIDNIGHT + after_ms;
        store.advance(now).expect("a time");
        store.chain.contains("a", Time::from_unix_ms(now)).expect("a time")
    }

    #[test]
    fn an_impression_arrives_after_the_lag() {
        assert!(contains_a(condition("none"), 0));
        assert!(!contains_a(condition("10 min"), 9 * MINUTE_MS - 1));
        assert!(contains_a(condition("10 min"), 9 * MINUTE_MS));
    }

    #[test]
    fn a_flushed_store_knows_nothing_of_before() {
        assert!(contains_a(condition("10 s"), 0));
        assert!(!contains_a(condition("store flushed"), 0));
    }

    #[test]
    fn a_stream_that_stands_still_delivers_at_the_end_of_the_day() {
        let still = condition("stands still for a day");
        let arrival = |at| still.arrival(at, MIDNIGHT, 1);
        assert_eq!(arrival(MIDNIGHT - MINUTE_MS), Some(MIDNIGHT - 50 * SECOND_MS));
        assert_eq!(arrival(MIDNIGHT - SECOND_MS), Some(MIDNIGHT + DAY_MS));
        assert_eq!(arrival(MIDNIGHT + HOUR_MS), Some(MIDNIGHT + DAY_MS));
    }

    #[test]
    fn one_impression_of_a_hundred_is_lost() {
        let loses = condition("loses 1%");
        let lost = (0..100_000).filter(|&number| loses.arrival(MIDNIGHT, MIDNIGHT, number).is_none());
        let lost = lost.count();
        assert!((900..1100).contains(&lost), "{lost}");
    }

    #[test]
    fn a_replica_is_the_primary_of_some_minutes_ago() {
        let chain = ShardChain::new(chain_options()).expect("options");
        let ids = ["a".to_string()];
        let mut store = Store::new(condition("replica 5 min behind"), &chain, Ids(&ids), MIDNIGHT);
        store.send("a", MIDNIGHT);
        let states = |store: &Store<'_>, now: u64| {
            let of = |chain: &ShardChain| chain.snapshot(Time::from_unix_ms(now), None).expect("a time").shards;
            (of(&store.chain), of(&store.replica))
        };
        store.advance(MIDNIGHT + MINUTE_MS).expect("a time");
        let (primary, replica) = states(&store, MIDNIGHT + MINUTE_MS);
        assert!(primary.len() == 1 && replica.is_empty());
        store.advance(MIDNIGHT + 6 * MINUTE_MS).expect("a time");
        let (later, replica) = states(&store, MIDNIGHT + 6 * MINUTE_MS);
        assert_eq!((&later, &replica), (&primary, &primary));
        let reads = (0..100).filter(|_| store.read().shards().count() == 1);
        assert_eq!(reads.count(), 100);
    }

    #[test]
    fn no_replica_answers_who_keeps() {
        let chain = ShardChain::new(chain_options()).expect("options");
        let ids = ["a".to_string()];
        let mut store = Store::new(condition("replica 5 min behind"), &chain, Ids(&ids), MIDNIGHT);
        store.send("a", MIDNIGHT);
        store.advance(MIDNIGHT + MINUTE_MS).expect("a time");
        for number in 0..100 {
            let (chain, _) = store.store_and_read("", MIDNIGHT + MINUTE_MS + number).expect("a text");
            assert_eq!(chain.shards().count(), 1);
        }
    }
}
