//! The server's side of one user: the chain that the stream fills, and replicas that lag behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use seenguard::hash::hash_id;
use seenguard::{ChainOptions, ChainSnapshot, Impression, Pending, Report, Shard, ShardChain, Split, Time};

use super::chance::Chance;
use super::conditions::{Conditions, SECOND};
use super::elsewhere::Devices;
use super::exceptions::{Exceptions, listed, seconds_of};
use super::items::{Item, Items};
use super::statistics::Tally;
use super::stream::{Entry, Event, Stream};
use crate::random::Random;

/// Snapshots that replicas may still serve.
const HISTORY: usize = 12;

/// An encoded shard, decoded once for all comparisons.
#[derive(Debug)]
pub struct Shipped {
    pub text: String,
    /// Without its mark.
    pub reference: String,
    pub shard: Shard,
}

/// A state of the chain, as a replica sends it.
#[derive(Debug, Default)]
pub struct State {
    pub version: u64,
    /// Unix seconds of the latest deletion of the history, 0 if there was none.
    pub forget_before: u32,
    pub shards: Vec<Rc<Shipped>>,
    pub unseen: Vec<Impression>,
}

/// A state as it is sent to a device that holds some of the shards: encoded shards, or references.
pub struct Shipment {
    pub state: Rc<State>,
    pub shards: Vec<String>,
}

/// When an item was last put into the chain: after how many others, and at which second.
#[derive(Debug, Clone, Copy)]
struct Inserted {
    serial: u64,
    at_seconds: u64,
}

fn ms(unix_ms: u64) -> Time {
    Time::from_unix_ms(unix_ms)
}

#[derive(Debug)]
pub struct Server {
    options: ChainOptions,
    chain: ShardChain,
    pub stream: Stream,
    /// How often an item was recorded into the present chain, and which.
    records: u64,
    inserted: BTreeMap<Item, Inserted>,
    /// Items that some chain of this user has contained.
    pub ever: BTreeSet<Item>,
    /// Items of which an impression was refused: it was from before a deletion or an unsee.
    pub refused: BTreeSet<Item>,
    /// Earlier recordings may be lost: the store was flushed or rolled back.
    promised_from: u64,
    last_version: u64,
    /// The expected unseen ids and deletion.
    pub exceptions: Exceptions,
    /// The devices' pending lists.
    pub devices: Devices,
    current: Rc<State>,
    /// The states that replicas may still serve, and what was in the chain then.
    history: Vec<(Rc<State>, BTreeMap<Item, Inserted>)>,
    /// Whether nothing is lost, late or old any more.
    pub is_well: bool,
}

impl Server {
    pub fn new(options: ChainOptions) -> Self {
        Server {
            options,
            chain: ShardChain::new(options).expect("the options are those of a chain"),
            stream: Stream::default(),
            records: 0,
            inserted: BTreeMap::new(),
            ever: BTreeSet::new(),
            refused: BTreeSet::new(),
            promised_from: 0,
            last_version: 0,
            exceptions: Exceptions::default(),
            devices: Devices::default(),
            current: Rc::default(),
            history: Vec::new(),
            is_well: false,
        }
    }

    /// Puts a device's report into the stream.
    pub fn send(&mut self, entry: Entry, now: u64, conditions: &Conditions, random: &mut Random) {
        let conditions = Some(conditions).filter(|_| !self.is_well);
        self.stream.send(entry, now, conditions, random);
    }

    /// Ingests the events that have left the stream.
    pub fn run(&mut self, now: u64, items: &Items, tally: &mut Tally) {
        while let Some((out_ms, event)) = self.stream.next(now) {
            self.ingest(event, out_ms, items, tally);
        }
    }

    fn ingest(&mut self, Event { entry, arrived_ms }: Event, out_ms: u64, items: &Items, tally: &mut Tally) {
        let Entry {
            item,
            at,
            is_unseen,
            sent_at,
        } = entry;
        let one = vec![Impression {
            id: items.text(item).to_owned(),
            at: ms(at),
        }];
        // The time in the stream is not the device's.
        let mut report = Report::new("", ms(sent_at + (out_ms - arrived_ms)));
        *(if is_unseen {
            &mut report.unseen
        } else {
            &mut report.impressions
        }) = one;
        self.chain
            .ingest(&report.received(ms(out_ms)))
            .expect("there is memory");
        let since_sent = i128::from(arrived_ms) - i128::from(sent_at);
        let at_ms = (i128::from(at) + since_sent).clamp(0, i128::from(out_ms)) as u64;
        match (self.exceptions.ingest(item, at_ms, is_unseen), is_unseen) {
            (true, true) => tally.reach("a device's unsee reaches the server"),
            (true, false) => {
                let inserted = Inserted {
                    serial: self.records,
                    at_seconds: out_ms / SECOND,
                };
                self.records += 1;
                self.inserted.insert(item, inserted);
                self.ever.insert(item);
            }
            (false, false) => {
                tally.reach("the server refuses a late impression");
                self.refused.insert(item);
            }
            (false, true) => {}
        }
        self.check_exceptions(out_ms, items);
    }

    /// The server unsees some items that it knows.
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
        self.check_exceptions(now, items);
    }

    /// The chain's unseen ids are those made unseen and not recorded since, if a shard contains them.
    fn check_exceptions(&mut self, now: u64, items: &Items) {
        let chain = &self.chain;
        let is_in_shard = |item| chain.shards().any(|shard| shard.filter.contains(items.text(item)));
        self.exceptions.retain(is_in_shard);
        for item in self.exceptions.items() {
            let contains = self.contains(item, now, items);
            assert!(!contains, "unseen: {item:?} is stopped on the server all the same");
        }
    }

    fn snapshot(&self, now: u64, held: Option<&str>) -> ChainSnapshot {
        self.chain.snapshot(ms(now), held).expect("there is memory")
    }

    /// The state to ship now.
    fn state(&mut self, now: u64, items: &Items) -> Rc<State> {
        let shipped = self.snapshot(now, None);
        self.exceptions
            .check(&shipped, |item| self.live_contains(item, now, items), items);
        let texts = self.current.shards.iter().map(|shard| &shard.text);
        let is_same = self.current.version == shipped.version.unwrap_or(0) && self.current.unseen == shipped.unseen;
        if is_same && texts.eq(&shipped.shards) && self.current.forget_before == self.exceptions.forget_before {
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
        self.history.push((Rc::clone(&state), self.inserted.clone()));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        self.current = Rc::clone(&state);
        state
    }

    fn check_limits(&mut self, state: &State) {
        let shards = state.shards.iter();
        let bits: u64 = shards
            .map(|shipped| u64::from(shipped.shard.filter.parameters().bits()))
            .sum();
        let count = state.shards.len();
        assert!(
            count <= 64 && bits <= 1 << 26,
            "limits: {count} shards of {bits} bits are shipped"
        );
        let (version, last) = (state.version, self.last_version);
        assert!(version == 0 || version >= last, "versions grow: {version} after {last}");
        self.last_version = version.max(last);
    }

    /// The items of these that pass for a device, with the devices' pending lists.
    pub fn filter(&self, ids: &[Item], pending: Pending<'_>, now: u64, items: &Items) -> BTreeSet<Item> {
        let fresh = self.chain.filter(&items.texts(ids), pending, ms(now));
        fresh
            .expect("there is memory")
            .into_iter()
            .map(|index| ids[index as usize])
            .collect()
    }

    /// The chain's split of a list.
    pub fn split(&self, list: &[Item], now: u64, items: &Items) -> Split {
        self.chain
            .split(&items.texts(list), None, ms(now))
            .expect("there is memory")
    }

    fn live_shards(&self, now: u64) -> impl Iterator<Item = &Shard> {
        self.chain.shards().filter(move |shard| !shard.is_expired(ms(now)))
    }

    /// The index of the newest live shard that contains an item that is not unseen.
    pub fn newest_shard(&self, item: Item, now: u64, items: &Items) -> Option<usize> {
        let index = self
            .live_shards(now)
            .position(|shard| shard.filter.contains(items.text(item)));
        index.filter(|_| !self.exceptions.contains(item))
    }

    /// Whether a live shard contains an item, made unseen or not.
    fn live_contains(&self, item: Item, now: u64, items: &Items) -> bool {
        self.live_shards(now)
            .any(|shard| shard.filter.contains(items.text(item)))
    }

    pub fn contains(&self, item: Item, now: u64, items: &Items) -> bool {
        self.chain
            .contains(items.text(item), ms(now))
            .expect("a chain knows such times")
    }

    /// A state as of now, or one that a lagging replica still has, for a device with this `Seen-Held`.
    pub fn ship(
        &mut self,
        now: u64,
        held: &str,
        items: &Items,
        conditions: &Conditions,
        random: &mut Random,
    ) -> Shipment {
        let current = self.state(now, items);
        let lags = !self.is_well && !self.history.is_empty() && random.per_mille(conditions.lagging_per_mille);
        let state = if lags {
            Rc::clone(&random.pick(&self.history).0)
        } else {
            current
        };
        let names: Vec<&str> = held.split('.').collect();
        let element = |shipped: &Rc<Shipped>| match names.contains(&shipped.reference.as_str()) {
            true => format!("~{}", shipped.reference),
            false => shipped.text.clone(),
        };
        let shards: Vec<String> = state.shards.iter().map(element).collect();
        if !lags {
            let shipped = self.snapshot(now, Some(held)).shards;
            assert_eq!(shipped, shards, "references: exactly what is held is referred to");
        }
        Shipment { state, shards }
    }

    /// The store loses everything, except perhaps the deletion of the history.
    pub fn flush_store(&mut self, now: u64, random: &mut Random) {
        if self.last_version >> 21 >= now / SECOND {
            // Versions that ran ahead of the clock may be repeated.
            self.last_version = 0;
        }
        let forget_before = if random.percent(50) {
            0
        } else {
            self.exceptions.forget_before
        };
        self.replace(
            &State {
                forget_before,
                ..State::default()
            },
            &[],
            BTreeMap::new(),
        );
    }

    /// The store is rolled back to an earlier state.
    pub fn roll_back(&mut self, items: &Items, random: &mut Random) {
        if !self.history.is_empty() {
            let (state, inserted) = random.pick(&self.history).clone();
            self.last_version = 0;
            // What a deletion reached since is there again.
            self.replace(&state, &listed(&state.unseen, items), inserted);
        }
    }

    fn replace(&mut self, state: &State, unseen: &[(Item, u64)], inserted: BTreeMap<Item, Inserted>) {
        let texts: Vec<&String> = state.shards.iter().map(|shipped| &shipped.text).collect();
        let (chain, _) = ShardChain::from_shards(&texts, self.options).expect("the options are those of a chain");
        self.chain = chain;
        self.exceptions.restore(unseen, state.forget_before);
        let before = Some(u64::from(state.forget_before)).filter(|&before| before > 0);
        let restored = self.chain.restore(&state.unseen, before.map(Time::from_unix_seconds));
        restored.expect("a snapshot has no more than may be stored");
        self.inserted = inserted;
        self.promised_from = self.records;
    }

    /// The person deletes the history.
    pub fn delete_history(&mut self, now: u64) {
        self.chain.forget(ms(now)).expect("a chain knows such times");
        self.exceptions.forget(now);
        self.devices = Devices::default();
        self.promised_from = self.records;
        self.inserted.clear();
    }

    /// The chain is read from its store again.
    pub fn reload(&mut self, now: u64) {
        let stored = self.chain.stored(ms(now)).expect("there is memory");
        if stored.shards.is_empty() {
            return;
        }
        let (chain, rejected) =
            ShardChain::from_shards(&stored.shards, self.options).expect("the options are those of a chain");
        assert!(rejected.is_empty(), "the chain is read again: {rejected:?}");
        self.chain = chain;
        let fields: Vec<String> = stored.fields.into_iter().flat_map(<[String; 2]>::from).collect();
        assert_eq!(self.chain.restore_fields(&fields), Ok(0));
    }

    /// The chain contains the ids that it promises to contain.
    pub fn check_promise(&self, now: u64, items: &Items, random: &mut Random) {
        let ttl = u64::from(self.options.ttl_seconds);
        let Some(item) = items.any(random) else { return };
        let Some(inserted) = self.inserted.get(&item) else {
            return;
        };
        let others = self.records - inserted.serial - 1;
        let is_promised = inserted.serial >= self.promised_from
            && others <= (self.options.shards as u64 - 1) * u64::from(self.options.capacity)
            && (ttl == 0 || now / SECOND < inserted.at_seconds + ttl);
        assert!(
            !is_promised || self.live_contains(item, now, items),
            "the server's chain forgets nothing early: {item:?} after {others} others"
        );
    }
}
