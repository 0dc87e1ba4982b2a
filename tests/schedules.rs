//! Random schedules of everything that happens to a namespace: tabs that record, write, hear of each other, take over
//! and die; clocks that jump; a server that lags, rolls back, loses its store. Whatever happens, nothing comes back,
//! and what is stopped wrongly is no more than reported.
#![cfg(not(target_arch = "wasm32"))]

mod common;

use common::device::Device;
use common::random::Random;
use common::{START, apply, cover_all, ids, shard_of_everything};
use seenguard::{ChainOptions, ChainSnapshot, Guard, Now, Shard, ShardChain, Snapshot};

/// The server side: a stream that lags before a chain, and all that was ever shipped.
struct Server {
    chain: ShardChain,
    /// How many of the device's impressions the stream has delivered.
    arrived: usize,
    shipped: Vec<ChainSnapshot>,
}

impl Server {
    fn new(options: ChainOptions) -> Self {
        Server {
            chain: ShardChain::new(options).unwrap(),
            arrived: 0,
            shipped: Vec::new(),
        }
    }

    fn receive(&mut self, device: &Device, count: usize, now: u64) {
        let end = (self.arrived + count).min(device.impressions.len());
        let ids: Vec<&String> = device.impressions[self.arrived..end]
            .iter()
            .map(|impression| &impression.id)
            .collect();
        self.chain.record(&ids, now).unwrap();
        self.arrived = end;
        self.shipped.push(self.chain.snapshot(now).unwrap());
    }
}

/// How wrongly stopped items compare with the reported rates.
#[derive(Default)]
struct FalseStops {
    asked: usize,
    expected: f64,
    stopped: usize,
}

impl FalseStops {
    fn ask(&mut self, guard: &mut Guard, now: Now) {
        let stats = guard.stats(now);
        let rate = 1.0 - (1.0 - stats.server_false_positive_rate) * (1.0 - stats.memory_false_positive_rate);
        let never_shown = ids("never shown", self.asked..self.asked + 100);
        self.stopped += 100 - guard.filter(&never_shown, now).len();
        self.expected += rate * 100.0;
        self.asked += 100;
    }

    /// Six standard deviations of the binomial distribution and a few for its small mean: an honest run fails once in
    /// 10^8.
    fn check(&self) {
        let most = self.expected + 6.0 * self.expected.sqrt() + 6.0;
        assert!(
            (self.stopped as f64) <= most,
            "{} of {} stopped, {} expected",
            self.stopped,
            self.asked,
            self.expected
        );
    }
}

struct Schedule {
    device: Device,
    server: Server,
    random: Random,
    false_stops: FalseStops,
    clock_jumps: bool,
    next_id: usize,
    /// Most ids recorded at once.
    burst: u64,
}

impl Schedule {
    fn new(seed: u64, clock_jumps: bool, burst: u64) -> Self {
        let mut random = Random::seeded(seed);
        let options = ChainOptions {
            capacity: 1 + random.below(300) as u32,
            shards: 1 + random.index(8),
            seed: random.below(2),
            ttl_seconds: if random.once_in(2) { 40 * 86_400 } else { 0 },
            ..ChainOptions::default()
        };
        Schedule {
            device: Device::new([30.0, 1.0, 0.5][random.index(3)]),
            server: Server::new(options),
            random,
            false_stops: FalseStops::default(),
            clock_jumps,
            next_id: 0,
            burst,
        }
    }

    fn run(mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
        self.false_stops.check();
    }

    fn step(&mut self) {
        if self.device.tabs.is_empty() {
            self.device.open(2);
        }
        let tab = self.random.index(self.device.tabs.len());
        match self.random.below(20) {
            0 | 1 if self.device.tabs.len() < 4 => drop(self.device.open(self.random.index(3))),
            2 => self.device.close(tab),
            3..=6 => self.record(tab),
            7..=9 => self.device.flush(tab),
            10 | 11 => self.device.hear(tab),
            12 => self.device.compact(tab),
            13 | 14 => self.receive(),
            15..=17 => self.apply(tab),
            18 if self.clock_jumps => self.device.set_clock(&mut self.random),
            _ => self.device.pass_seconds(self.random.below(20_000)),
        }
        if !self.device.tabs.is_empty() {
            let tab = self.random.index(self.device.tabs.len());
            self.check(tab);
        }
    }

    fn record(&mut self, tab: usize) {
        let count = 1 + self.random.below(self.burst) as usize;
        let mut batch = ids("item", self.next_id..self.next_id + count);
        self.next_id += count;
        for id in &mut batch {
            if self.random.once_in(10) && self.next_id > count {
                *id = format!("item-{}", self.random.index(self.next_id));
            }
        }
        self.device.record(tab, &batch);
    }

    fn receive(&mut self) {
        let count = self.random.index(2 * self.burst as usize);
        let now = START + self.device.steady_ms / 1000;
        self.server.receive(&self.device, count, now);
        if self.random.once_in(20) {
            // The store is flushed.
            self.server.chain = ShardChain::new(*self.server.chain.options()).unwrap();
        }
    }

    /// Ships the newest snapshot, or an old one from a replica, or nothing, or something damaged.
    fn apply(&mut self, tab: usize) {
        let Some(newest) = self.server.shipped.last() else {
            return;
        };
        let mut snapshot = newest.clone();
        if self.random.once_in(3) {
            snapshot = self.random.pick(&self.server.shipped).clone();
        }
        if self.random.once_in(10) {
            snapshot.shards.clear();
        }
        if self.random.once_in(10) {
            snapshot.shards.push("damaged".into());
        }
        let version = snapshot.version.filter(|_| !self.random.once_in(4));
        let now_ms = self.random.once_in(2).then_some(snapshot.now * 1000);
        let now = self.device.now();
        let guard = &mut self.device.tabs[tab].guard;
        let before = guard.version();
        let applied = guard.apply(
            Snapshot {
                version,
                shards: &snapshot.shards,
                format: snapshot.format,
                now_ms,
            },
            now,
        );
        let Ok(applied) = applied else { return };
        assert_eq!(applied.applied, version.is_none() || version >= before);
        if !applied.applied || now_ms.is_none() {
            return;
        }
        // All that live shards contain is stopped.
        let live = snapshot.shards.iter().map(|text| Shard::from_base64(text).unwrap());
        let live: Vec<Shard> = live.filter(|shard| !shard.is_expired(snapshot.now)).collect();
        assert_eq!(applied.expired, snapshot.shards.len() - live.len());
        let asked = (0..50).map(|_| format!("item-{}", self.random.index(self.next_id + 1)));
        for id in asked {
            assert!(guard.has(&id, now) || !live.iter().any(|shard| shard.filter.contains(&id)));
        }
    }

    fn check(&mut self, tab: usize) {
        self.device.check_no_repeat(tab);
        let now = self.device.now();
        let guard = &mut self.device.tabs[tab].guard;
        let stats = guard.stats(now);
        assert!(stats.pending <= 5_000 && stats.remembered <= 10_000);
        assert!(stats.bytes < 2 << 20, "{} bytes", stats.bytes);
        self.false_stops.ask(guard, now);
    }
}

#[test]
fn nothing_comes_back_while_tabs_come_and_go() {
    for seed in 0..25 {
        println!("seed {seed}");
        Schedule::new(seed, false, 12).run(200);
    }
}

#[test]
fn nothing_comes_back_while_clocks_jump() {
    for seed in 1_000..1_020 {
        println!("seed {seed}");
        Schedule::new(seed, true, 12).run(200);
    }
}

#[test]
fn nothing_comes_back_where_more_is_shown_than_is_remembered() {
    for seed in 2_000..2_004 {
        println!("seed {seed}");
        Schedule::new(seed, false, 1_500).run(200);
    }
}

#[test]
fn nothing_comes_back_where_much_is_shown_while_clocks_jump() {
    for seed in 3_000..3_004 {
        println!("seed {seed}");
        Schedule::new(seed, true, 1_500).run(200);
    }
}

#[test]
fn a_clock_that_jumps_among_many_slices_makes_nothing_come_back() {
    let mut random = Random::seeded(7);
    let mut device = Device::new(1.0);
    let tab = device.open(2);
    let (beginning, slice_ms) = (device.wall_ms, 6 * 3_600_000);
    let now = device.now();
    apply(&mut device.tabs[tab].guard, None, &[shard_of_everything()], now).unwrap();
    for part in 0..14_000 {
        device.wall_ms = beginning + random.below(80) * slice_ms;
        let next = device.impressions.len();
        device.record(tab, &ids("item", next..next + 10));
        if part % 1_000 == 999 {
            // All of them lie ahead of this, and only the memory stops them.
            device.wall_ms = beginning;
            let now = device.now();
            cover_all(&mut device.tabs[tab].guard, now);
            device.check_no_repeat(tab);
            let now = device.now();
            apply(&mut device.tabs[tab].guard, None, &[shard_of_everything()], now).unwrap();
        }
    }
    let checkpoint = device.tabs[tab].guard.checkpoint();
    assert!(checkpoint.len() < 512 * 1024, "{}", checkpoint.len());
}
