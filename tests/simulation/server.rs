//! The server's side of one user: the chain that the stream fills, and replicas that lag behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use seenguard::hash::hash_id;
use seenguard::{ChainOptions, ChainSnapshot, Impression, Pending, Report, Shard, ShardChain, Split, Time};

use super::chance::Chance;
use super::conditions::{Conditions, SECOND};
use super::elsewhere::Devices;
use super::exceptions::{Exceptions, seconds_of};
use super::items::{Item, Items};
use super::shipment::{Shipment, Shipped, State};
use super::statistics::{Question, Tally};
use super::stream::{Event, Stream, Told};
use crate::random::Random;

/// Snapshots that replicas may still serve.
const HISTORY: usize = 12;

/// When an item was last put into the chain.
#[derive(Debug, Clone, Copy)]
struct Inserted {
    serial: u64,
    at_seconds: u64,
}

/// A state that replicas may still serve, and that the store may be rolled back to.
#[derive(Debug)]
struct Past {
    state: Rc<State>,
    inserted: BTreeMap<Item, Inserted>,
}

fn ms(unix_ms: u64) -> Time {
    Time::from_unix_ms(unix_ms)
}

#[derive(Debug)]
pub struct Server {
    options: ChainOptions,
    chain: ShardChain,
    stream: Stream,
    /// How often each item was sent, by whatever device.
    pub times_sent: BTreeMap<Item, usize>,
    /// How often an item was recorded into the present chain, and which.
    records: u64,
    inserted: BTreeMap<Item, Inserted>,
    /// Items that some chain of this user has contained.
    pub ever: BTreeMap<Item, ()>,
    /// Items of which an impression was refused: it was from before a deletion or an unsee.
    pub refused: BTreeSet<Item>,
    /// What was recorded before is promised nothing: the store was flushed, or the chain rebuilt.
    promised_from: u64,
    last_version: u64,
    /// What must be made unseen, and since when the history counts.
    pub exceptions: Exceptions,
    /// What devices have pending, beside the chain.
    pub devices: Devices,
    changed: bool,
    current: Rc<State>,
    history: Vec<Past>,
    /// Whether nothing is lost, late or old any more.
    pub is_well: bool,
}

impl Server {
    pub fn new(options: ChainOptions) -> Self {
        Server {
            options,
            chain: ShardChain::new(options).expect("the options are those of a chain"),
            stream: Stream::default(),
            times_sent: BTreeMap::new(),
            records: 0,
            inserted: BTreeMap::new(),
            ever: BTreeMap::new(),
            refused: BTreeSet::new(),
            promised_from: 0,
            last_version: 0,
            exceptions: Exceptions::default(),
            devices: Devices::default(),
            changed: true,
            current: Rc::default(),
            history: Vec::new(),
            is_well: false,
        }
    }

    /// Takes what a device tells into the stream.
    pub fn send(&mut self, told: Told, now: u64, conditions: &Conditions, random: &mut Random) {
        if !told.is_unseen {
            *self.times_sent.entry(told.item).or_default() += 1;
        }
        let conditions = Some(conditions).filter(|_| !self.is_well);
        self.stream.send(told, now, conditions, random);
    }

    /// Nothing comes out of the stream for a while.
    pub fn stand_still(&mut self, now: u64, random: &mut Random) {
        self.stream.stand_still(now, random);
    }

    /// When the last event that is under way arrives.
    pub fn caught_up_at(&self) -> u64 {
        self.stream.caught_up_at()
    }

    /// Takes into the chain what has come out of the stream.
    pub fn run(&mut self, now: u64, items: &Items, tally: &mut Tally) {
        while let Some((out_ms, event)) = self.stream.next(now) {
            self.ingest(event, out_ms, items, tally);
            self.changed = true;
        }
    }

    fn ingest(&mut self, Event { told, arrived_ms }: Event, out_ms: u64, items: &Items, tally: &mut Tally) {
        let Told { item, at, .. } = told;
        let one = vec![Impression {
            id: items.text(item).to_owned(),
            at: ms(at),
        }];
        // The time in the stream is not the device's.
        let mut report = Report::new("", ms(told.sent_at + (out_ms - arrived_ms)));
        if told.is_unseen {
            report.unseen = one;
        } else {
            report.impressions = one;
        }
        self.chain
            .ingest(&report.received(ms(out_ms)))
            .expect("there is memory");
        let since_sent = i128::from(arrived_ms) - i128::from(told.sent_at);
        let at_ms = (i128::from(at) + since_sent).clamp(0, i128::from(out_ms)) as u64;
        if self.exceptions.take(item, at_ms, told.is_unseen) {
            if told.is_unseen {
                tally.reach("a device's unsee reaches the server");
            } else {
                self.insert(item, out_ms);
            }
        } else if !told.is_unseen {
            tally.reach("the server refuses a late impression");
            self.refused.insert(item);
        }
        self.check_exceptions(out_ms, items);
    }

    fn insert(&mut self, item: Item, now: u64) {
        let serial = self.records;
        self.records += 1;
        let at_seconds = now / SECOND;
        self.inserted.insert(item, Inserted { serial, at_seconds });
        self.ever.insert(item, ());
    }

    /// The server unsees some of what it knows.
    pub fn unsee(&mut self, now: u64, items: &Items, random: &mut Random) {
        let known: Vec<Item> = self.inserted.keys().copied().collect();
        if known.is_empty() {
            return;
        }
        let from = known.len().saturating_sub(60);
        let item = known[from + random.index(known.len() - from)];
        self.chain
            .unsee(&[items.text(item)], ms(now))
            .expect("a chain knows such times");
        self.exceptions.unsee(item, now);
        self.changed = true;
        self.check_exceptions(now, items);
    }

    /// What the chain unsees is what was made unseen and not recorded since, as far as a shard contains it.
    fn check_exceptions(&mut self, now: u64, items: &Items) {
        let chain = &self.chain;
        let is_in_shard = |item| chain.shards().any(|shard| shard.filter.contains(items.text(item)));
        self.exceptions.retain(is_in_shard);
        for item in self.exceptions.items() {
            assert!(
                !self.contains(item, now, items),
                "unseen: {item:?} is stopped on the server all the same"
            );
        }
    }

    fn snapshot(&self, now: u64, held: Option<&str>) -> ChainSnapshot {
        self.chain.snapshot(ms(now), held).expect("there is memory")
    }

    /// The state to ship now.
    fn state(&mut self, now: u64, items: &Items) -> Rc<State> {
        let shipped = self.snapshot(now, None);
        self.exceptions
            .check(&shipped, |item| self.chain_contains_live(item, now, items), items);
        let texts_now = self.current.shards.iter().map(|shard| &shard.text);
        if !self.changed && texts_now.eq(&shipped.shards) && self.current.unseen == shipped.unseen {
            return Rc::clone(&self.current);
        }
        let known = |text: &String| self.current.shards.iter().find(|shard| shard.text == *text).cloned();
        let read = |text: String| {
            let shard = Shard::from_base64(&text).expect("the server ships what can be read");
            let reference = format!("{:016x}", hash_id(text.as_bytes(), 0))[..12].to_owned();
            known(&text).unwrap_or_else(|| Rc::new(Shipped { text, reference, shard }))
        };
        let state = Rc::new(State {
            version: shipped.version.expect("a chain in the native format has a version"),
            forget_before: seconds_of(shipped.forget_before),
            shards: shipped.shards.into_iter().map(read).collect(),
            unseen: shipped.unseen,
        });
        self.check_limits(&state);
        self.history.push(Past {
            state: Rc::clone(&state),
            inserted: self.inserted.clone(),
        });
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        self.changed = false;
        self.current = Rc::clone(&state);
        state
    }

    /// What passes of these items for a device, by what devices have pending.
    pub fn filter(&self, ids: &[Item], pending: Pending<'_>, now: u64, items: &Items) -> BTreeSet<Item> {
        let fresh = self
            .chain
            .filter(&items.texts(ids), pending, ms(now))
            .expect("there is memory");
        fresh.into_iter().map(|index| ids[index as usize]).collect()
    }

    /// A list in two, as the chain answers it.
    pub fn split(&self, list: &[Item], now: u64, items: &Items) -> Split {
        let split = self.chain.split(&items.texts(list), None, ms(now));
        split.expect("there is memory")
    }

    /// The place of the newest live shard that contains an item that is not unseen.
    pub fn newest_shard(&self, item: Item, now: u64, items: &Items) -> Option<usize> {
        let mut live = self.live_shards(now);
        let place = live.position(|shard| shard.filter.contains(items.text(item)));
        place.filter(|_| !self.exceptions.contains(item))
    }

    fn live_shards(&self, now: u64) -> impl Iterator<Item = &Shard> {
        let is_live = move |shard: &&Shard| !shard.is_expired(ms(now));
        self.chain.shards().filter(is_live)
    }

    /// Whether a live shard contains an item, made unseen or not.
    fn chain_contains_live(&self, item: Item, now: u64, items: &Items) -> bool {
        let mut live = self.live_shards(now);
        live.any(|shard| shard.filter.contains(items.text(item)))
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

    /// A state as of now, or one that a lagging replica still has, for a device that says that it holds `held`.
    pub fn ship(
        &mut self,
        now: u64,
        held: &str,
        items: &Items,
        conditions: &Conditions,
        random: &mut Random,
    ) -> Shipment {
        let state = self.state(now, items);
        let names: Vec<&str> = held.split('.').collect();
        let refer = |state: &State| -> Vec<String> {
            let element = |shipped: &Rc<Shipped>| match names.contains(&shipped.reference.as_str()) {
                true => format!("~{}", shipped.reference),
                false => shipped.text.clone(),
            };
            state.shards.iter().map(element).collect()
        };
        let lags = !self.is_well && random.per_mille(conditions.lagging_per_mille);
        let state = if lags {
            Rc::clone(&random.pick(&self.history).state)
        } else {
            state
        };
        let shards = refer(&state);
        if !lags {
            let shipped = self.snapshot(now, Some(held));
            assert_eq!(
                shipped.shards, shards,
                "references: exactly what is held is referred to"
            );
        }
        Shipment { state, shards }
    }

    /// The store loses everything, that the history was deleted perhaps not.
    pub fn flush_store(&mut self, now: u64, random: &mut Random) {
        if self.last_version >> 21 >= now / SECOND {
            // Numbers that ran ahead of the clock may come again.
            self.last_version = 0;
        }
        self.chain = ShardChain::new(self.options).expect("the options are those of a chain");
        self.exceptions.clear();
        if random.percent(50) {
            self.exceptions.forget_before = 0;
        }
        self.restore_exceptions(&[]);
        self.forget_promises();
        self.inserted.clear();
    }

    /// The store is rolled back to an earlier state.
    pub fn roll_back(&mut self, items: &Items, random: &mut Random) {
        if self.history.is_empty() {
            return;
        }
        let Past { state, inserted } = random.pick(&self.history);
        let state = Rc::clone(state);
        // What a deletion reached since is there again.
        self.inserted = inserted.clone();
        let texts: Vec<&String> = state.shards.iter().map(|shipped| &shipped.text).collect();
        let (chain, _) = ShardChain::from_shards(&texts, self.options).expect("the options are those of a chain");
        self.chain = chain;
        self.last_version = 0;
        self.exceptions.roll_back(&state, items);
        self.restore_exceptions(&state.unseen);
        self.forget_promises();
    }

    fn restore_exceptions(&mut self, unseen: &[Impression]) {
        let before = Some(u64::from(self.exceptions.forget_before)).filter(|&before| before > 0);
        let restored = self.chain.restore(unseen, before.map(Time::from_unix_seconds));
        restored.expect("a snapshot has no more than may be stored");
    }

    /// The person deletes the history.
    pub fn delete_history(&mut self, now: u64) {
        self.chain.forget(ms(now)).expect("a chain knows such times");
        self.exceptions.forget(now);
        self.devices.clear();
        self.forget_promises();
        self.inserted.clear();
    }

    /// The chain is read from its store again, with other parameters if they are `other`.
    pub fn reload(&mut self, now: u64, other: Option<ChainOptions>) {
        let stored = self.chain.stored(ms(now)).expect("there is memory");
        let texts = stored.shards;
        if texts.is_empty() {
            return;
        }
        self.options = other.unwrap_or(self.options);
        let (chain, rejected) =
            ShardChain::from_shards(&texts, self.options).expect("the options are those of a chain");
        assert!(rejected.is_empty(), "the chain is read again: {rejected:?}");
        self.chain = chain;
        let fields: Vec<String> = stored.fields.into_iter().flat_map(<[String; 2]>::from).collect();
        assert_eq!(self.chain.restore_fields(&fields), Ok(0));
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
            .contains(items.text(item), ms(now))
            .expect("a chain knows such times")
    }

    /// Asks the chain for a few items that it was given: what is promised is there, and what is long past is not.
    pub fn check_promise(&mut self, now: u64, items: &Items, random: &mut Random, tally: &mut Tally) {
        let seconds = now / SECOND;
        let ttl = u64::from(self.options.ttl_seconds);
        let longest = ttl + ttl / (self.options.shards as u64 - 1).max(1);
        for _ in 0..2 {
            let Some(item) = items.any(random) else { return };
            let contained = self.chain_contains_live(item, now, items);
            if self.refused.contains(&item) && !self.inserted.contains_key(&item) {
                tally.ask(Question::Forgotten, self.false_positive_rate(now), contained);
            }
            let Some(&inserted) = self.inserted.get(&item) else {
                continue;
            };
            let others = self.records - inserted.serial - 1;
            let is_promised = inserted.serial >= self.promised_from
                && others <= (self.options.shards as u64 - 1) * u64::from(self.options.capacity)
                && (ttl == 0 || seconds < inserted.at_seconds + ttl);
            assert!(
                contained || !is_promised,
                "the server's chain forgets nothing early: item {item:?} after {others} others"
            );
            let is_overdue = ttl > 0 && self.promised_from == 0 && seconds > inserted.at_seconds + longest;
            if is_overdue {
                self.inserted.remove(&item);
                tally.ask(Question::KeptTooLong, self.false_positive_rate(now), contained);
            }
        }
    }

    fn false_positive_rate(&self, now: u64) -> f64 {
        let live = self.live_shards(now);
        1.0 - live
            .map(|shard| 1.0 - shard.filter.false_positive_rate())
            .product::<f64>()
    }
}
