//! The server's side of one user: the stream that carries impressions, the chain that it fills, and replicas that lag
//! behind it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use seenguard::{ChainOptions, Shard, ShardChain};

use super::chance::Chance;
use super::conditions::{Conditions, HOUR, MINUTE, SECOND};
use super::items::{Item, Items};
use super::statistics::{Question, Tally};
use crate::random::Random;

/// Snapshots that replicas may still serve.
const HISTORY: usize = 12;

/// A shard as it travels, and read once for all that compare with it.
#[derive(Debug)]
pub struct Shipped {
    pub text: String,
    pub shard: Shard,
}

/// A state of the chain, as some replica ships it.
#[derive(Debug, Default)]
pub struct State {
    pub version: u64,
    /// Unix seconds of the latest deletion of the history, 0 if there was none.
    pub forget_before: u32,
    pub shards: Vec<Rc<Shipped>>,
}

/// When an item was last put into the chain.
#[derive(Debug, Clone, Copy)]
struct Inserted {
    serial: u64,
    at_seconds: u64,
}

#[derive(Debug)]
pub struct Server {
    options: ChainOptions,
    chain: ShardChain,
    /// What has been under way so far, by the time of its arrival: `(ms, serial, item)`.
    stream: BinaryHeap<Reverse<(u64, u64, Item)>>,
    sent: u64,
    /// How often each item was sent, by whatever device.
    pub times_sent: BTreeMap<Item, usize>,
    last_arrival: u64,
    /// The stream stands still until then.
    still_until: u64,
    /// How often an item was recorded into the present chain, and which.
    records: u64,
    inserted: BTreeMap<Item, Inserted>,
    /// Items that some chain of this user has contained.
    pub ever: BTreeMap<Item, ()>,
    /// What was recorded before is promised nothing: the store was flushed, or the chain rebuilt.
    promised_from: u64,
    last_version: u64,
    forget_before: u32,
    changed: bool,
    current: Rc<State>,
    history: Vec<Rc<State>>,
    /// Whether nothing is lost, late or old any more.
    pub is_well: bool,
}

impl Server {
    pub fn new(options: ChainOptions) -> Self {
        Server {
            options,
            chain: ShardChain::new(options).expect("the options are those of a chain"),
            stream: BinaryHeap::new(),
            sent: 0,
            times_sent: BTreeMap::new(),
            last_arrival: 0,
            still_until: 0,
            records: 0,
            inserted: BTreeMap::new(),
            ever: BTreeMap::new(),
            promised_from: 0,
            last_version: 0,
            forget_before: 0,
            changed: true,
            current: Rc::default(),
            history: Vec::new(),
            is_well: false,
        }
    }

    /// Takes an impression into the stream, which may lose it, send it twice, delay it and let others overtake it.
    pub fn send(&mut self, item: Item, now: u64, conditions: &Conditions, random: &mut Random) {
        *self.times_sent.entry(item).or_default() += 1;
        if !self.is_well && random.percent(conditions.lost_percent) {
            return;
        }
        let copies = 1 + u64::from(!self.is_well && random.percent(conditions.duplicated_percent));
        for _ in 0..copies {
            let lag = if self.is_well {
                SECOND
            } else {
                random.heavy_tailed(conditions.least_lag_ms, conditions.lag_has_mean)
            };
            let mut arrival = (now + lag).max(self.still_until);
            if !conditions.reorders {
                arrival = arrival.max(self.last_arrival);
            }
            self.last_arrival = self.last_arrival.max(arrival);
            self.sent += 1;
            self.stream.push(Reverse((arrival, self.sent, item)));
        }
    }

    /// Nothing comes out of the stream for a while.
    pub fn stand_still(&mut self, now: u64, random: &mut Random) {
        let end = now + random.between(MINUTE, 8 * HOUR);
        self.still_until = self.still_until.max(end);
        let held: Vec<_> = std::mem::take(&mut self.stream).into_vec();
        for Reverse((arrival, serial, item)) in held {
            self.stream.push(Reverse((arrival.max(end), serial, item)));
        }
        self.last_arrival = self.last_arrival.max(end);
    }

    /// When the last event that is under way arrives.
    pub fn caught_up_at(&self) -> u64 {
        self.stream
            .iter()
            .map(|Reverse((arrival, _, _))| *arrival)
            .max()
            .unwrap_or(0)
    }

    /// Puts into the chain what has arrived.
    pub fn run(&mut self, now: u64, items: &Items) {
        while let Some(&Reverse((arrival, _, item))) = self.stream.peek() {
            if arrival > now {
                return;
            }
            self.stream.pop();
            let at_seconds = arrival / SECOND;
            self.chain
                .record(&[items.text(item)], at_seconds)
                .expect("there is memory");
            let serial = self.records;
            self.records += 1;
            self.inserted.insert(item, Inserted { serial, at_seconds });
            self.ever.insert(item, ());
            self.changed = true;
        }
    }

    /// The state to ship now.
    fn state(&mut self, now: u64) -> Rc<State> {
        let shipped = self.chain.snapshot(now / SECOND, None).expect("there is memory");
        let texts_now = self.current.shards.iter().map(|shard| &shard.text);
        if !self.changed && texts_now.eq(&shipped.shards) {
            return Rc::clone(&self.current);
        }
        let known = |text: &String| self.current.shards.iter().find(|shard| shard.text == *text).cloned();
        let read = |text: String| {
            let shard = Shard::from_base64(&text).expect("the server ships what can be read");
            known(&text).unwrap_or_else(|| Rc::new(Shipped { text, shard }))
        };
        let state = Rc::new(State {
            version: shipped.version.expect("a chain in the native format has a version"),
            forget_before: self.forget_before,
            shards: shipped.shards.into_iter().map(read).collect(),
        });
        self.check_limits(&state);
        self.history.push(Rc::clone(&state));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        self.changed = false;
        self.current = Rc::clone(&state);
        state
    }

    fn check_limits(&mut self, state: &State) {
        let bits: u64 = state
            .shards
            .iter()
            .map(|shipped| u64::from(shipped.shard.filter.parameters().bits()))
            .sum();
        assert!(
            state.shards.len() <= 64 && bits <= 1 << 26,
            "limits: {} shards of {bits} bits are shipped",
            state.shards.len()
        );
        if state.version != 0 {
            assert!(
                state.version >= self.last_version,
                "versions grow: {} after {}",
                state.version,
                self.last_version
            );
            self.last_version = state.version;
        }
    }

    /// A state as of now, or one that a lagging replica still has.
    pub fn ship(&mut self, now: u64, conditions: &Conditions, random: &mut Random) -> Rc<State> {
        let state = self.state(now);
        if self.is_well || !random.per_mille(conditions.lagging_per_mille) {
            return state;
        }
        Rc::clone(random.pick(&self.history))
    }

    /// The store loses everything.
    pub fn flush_store(&mut self, now: u64) {
        if self.last_version >> 21 >= now / SECOND {
            // Numbers that ran ahead of the clock may come again.
            self.last_version = 0;
        }
        self.chain = ShardChain::new(self.options).expect("the options are those of a chain");
        self.forget_promises();
        self.inserted.clear();
    }

    /// The person deletes the history.
    pub fn delete_history(&mut self, now: u64) {
        self.forget_before = (now / SECOND) as u32;
        self.flush_store(now);
    }

    /// The chain is read from its store again, with other parameters if they are `other`.
    pub fn reload(&mut self, now: u64, other: Option<ChainOptions>) {
        let texts = self.chain.snapshot(now / SECOND, None).expect("there is memory").shards;
        if texts.is_empty() {
            return;
        }
        self.options = other.unwrap_or(self.options);
        let (chain, rejected) =
            ShardChain::from_shards(&texts, self.options).expect("the options are those of a chain");
        assert!(rejected.is_empty(), "the chain is read again: {rejected:?}");
        self.chain = chain;
        if other.is_some() {
            self.forget_promises();
        }
    }

    fn forget_promises(&mut self) {
        self.promised_from = self.records;
        self.changed = true;
    }

    pub fn options(&self) -> ChainOptions {
        self.options
    }

    pub fn contains(&self, item: Item, now: u64, items: &Items) -> bool {
        self.chain
            .contains(items.text(item), now / SECOND)
            .expect("these are seconds")
    }

    /// Asks the chain for a few items that it was given: what is promised is there, and what is long past is not.
    pub fn check_promise(&mut self, now: u64, items: &Items, random: &mut Random, tally: &mut Tally) {
        let seconds = now / SECOND;
        let ttl = u64::from(self.options.ttl_seconds);
        let longest = ttl + ttl / (self.options.shards as u64 - 1).max(1);
        for _ in 0..2 {
            let Some(item) = items.any(random) else { return };
            let Some(&inserted) = self.inserted.get(&item) else {
                continue;
            };
            let others = self.records - inserted.serial - 1;
            let is_promised = inserted.serial >= self.promised_from
                && others <= (self.options.shards as u64 - 1) * u64::from(self.options.capacity)
                && (ttl == 0 || seconds < inserted.at_seconds + ttl);
            let contained = self.contains(item, now, items);
            assert!(
                contained || !is_promised,
                "the server's chain forgets nothing early: item {item:?} after {others} others"
            );
            let is_overdue = ttl > 0 && self.promised_from == 0 && seconds > inserted.at_seconds + longest;
            if is_overdue {
                self.inserted.remove(&item);
                let rate = 1.0
                    - self
                        .chain
                        .shards()
                        .filter(|shard| !shard.is_expired(seconds))
                        .map(|shard| 1.0 - shard.filter.false_positive_rate())
                        .product::<f64>();
                tally.ask(Question::KeptTooLongByServer, rate, contained);
            }
        }
    }
}
