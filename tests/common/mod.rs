//! Builders of test data that several test files share, a seeded generator, and the plain reference that shards are
//! compared with.

// Each of the test programs uses a part of this.
#![allow(dead_code)]

pub mod device;
pub mod foreign;
pub mod model_chain;
pub mod random;
pub mod reference;
pub mod sizes;
pub mod vectors;

use std::cmp::Reverse;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seenguard::device::{Applied, DEFAULT_REMEMBER, Guard};
use seenguard::hash::hash_id;
use seenguard::wire::Reference;
use seenguard::{BloomFilter, ChainOptions, Error, Parameters, Shard, Snapshot, Split, Time};

/// Unix seconds at which most tests begin.
pub const START: u64 = 1_764_000_000;
/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// A time in Unix seconds.
pub fn at(unix_seconds: u64) -> Time {
    Time::from_unix_seconds(unix_seconds)
}

/// A time in Unix milliseconds.
pub fn at_ms(unix_ms: u64) -> Time {
    Time::from_unix_ms(unix_ms)
}

/// `prefix-0`, `prefix-1`, …
pub fn ids(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("{prefix}-{number}")).collect()
}

/// Options of a chain with these sizes.
pub fn options(capacity: u32, shards: usize, ttl_seconds: u32) -> ChainOptions {
    ChainOptions {
        capacity,
        shards,
        ttl_seconds,
        ..ChainOptions::default()
    }
}

/// A shard of these ids with the parameters of a default chain.
pub fn shard_of<S: AsRef<[u8]>>(ids: &[S], epoch: u32, expires: u32) -> Shard {
    shard_with(Parameters::for_capacity(1000, 0.001).unwrap(), 0, ids, epoch, expires)
}

/// A shard of these ids.
pub fn shard_with<S: AsRef<[u8]>>(parameters: Parameters, seed: u64, ids: &[S], epoch: u32, expires: u32) -> Shard {
    let mut shard = Shard::new(BloomFilter::new(parameters, seed), epoch, expires);
    for id in ids {
        shard.insert(id);
    }
    shard
}

/// Applies base64 shards to a guard, with the version if there is one and without the server's clock.
pub fn apply<S: AsRef<[u8]>>(
    guard: &mut Guard,
    version: Option<u64>,
    shards: &[S],
    now: Time,
) -> Result<Applied, Error> {
    let snapshot = Snapshot {
        version,
        ..Snapshot::new(shards)
    };
    guard.apply(snapshot, now)
}

/// A guard that remembers 10,000 recordings for 30 days, and has no storage to wait for.
pub fn guard() -> Guard {
    guard_of(30.0, DEFAULT_REMEMBER)
}

/// The same with other options.
pub fn guard_of(window_days: f64, remember: usize) -> Guard {
    Guard::new(window_days, remember).unwrap()
}

/// The expected split of a guard or a chain that has shards alone. `newest`: the index of the newest shard that contains
/// an id.
pub fn split_by(ids: &[impl AsRef<str>], newest: impl Fn(&str) -> Option<usize>) -> Split {
    let newest: Vec<Option<usize>> = ids.iter().map(|id| newest(id.as_ref())).collect();
    let (mut seen, fresh): (Vec<u32>, Vec<u32>) = (0..ids.len() as u32).partition(|&id| newest[id as usize].is_some());
    seen.sort_by_key(|&id| Reverse(newest[id as usize]));
    Split { fresh, seen }
}

/// How many shards are in use.
pub fn shards_in_use(guard: &Guard) -> usize {
    Reference::split(&guard.held()).len()
}

/// Whether all of these are stopped.
pub fn has_all(guard: &Guard, ids: &[String], now: Time) -> bool {
    ids.iter().all(|id| guard.explain(id, now).is_some())
}

/// A shard that contains every id: with it in use, recorded ids are covered at once.
pub fn shard_of_everything() -> String {
    let all = RawShard {
        payload: vec![1],
        ..RawShard::raw(1)
    };
    all.base64()
}

/// Covers all pending ids by a snapshot, and then empties the server's store: from then on only the table stops them.
pub fn cover_all(guard: &mut Guard, now: Time) {
    apply(guard, None, &[shard_of_everything()], now).unwrap();
    assert_eq!(guard.stats(now).pending, 0);
    apply(guard, None, &[] as &[&str], now).unwrap();
}

pub fn base64_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn bytes_of(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap()
}

/// The list of a device with these pending ids.
pub fn list_of(ids: &[impl AsRef<[u8]>]) -> String {
    let low_bits = |id: &[u8]| hash_id(id, 0).to_be_bytes()[5..].to_vec();
    let bytes: Vec<u8> = ids.iter().flat_map(|id| low_bits(id.as_ref())).collect();
    base64_of(&bytes).replace('+', "-").replace('/', "_")
}

/// Whether a device's pending list contains an id.
pub fn lists(text: &str, id: &str) -> bool {
    let list = text.rsplit('.').next().unwrap();
    list.as_bytes()
        .chunks(4)
        .any(|listed| listed == list_of(&[id]).as_bytes())
}

/// Appends the checksum that shards and rows have.
pub fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = hash_id(&body, 0) as u32;
    body.extend_from_slice(&checksum.to_le_bytes());
    body
}

/// The fields of a shard's bytes, each of which may be wrong; the checksum is right.
#[derive(Debug, Clone)]
pub struct RawShard {
    pub magic: [u8; 4],
    pub encoding: u8,
    pub hashes: u8,
    pub reserved: [u8; 2],
    pub bits: u32,
    pub count: u32,
    pub seed: u64,
    pub epoch: u32,
    pub expires: u32,
    pub payload: Vec<u8>,
}

impl RawShard {
    /// An empty shard with the payload all zeros that fits.
    pub fn raw(bits: u32) -> Self {
        RawShard {
            magic: *b"SGS1",
            encoding: 0,
            hashes: 3,
            reserved: [0, 0],
            bits,
            count: 0,
            seed: 0,
            epoch: 1,
            expires: 0,
            payload: vec![0; bits.div_ceil(8) as usize],
        }
    }

    /// A shard with a Rice payload.
    pub fn rice(bits: u32, r: u8, set_bits: u32, stream: &[u8]) -> Self {
        let mut payload = vec![r];
        payload.extend_from_slice(&set_bits.to_le_bytes());
        payload.extend_from_slice(stream);
        RawShard {
            encoding: 1,
            payload,
            ..RawShard::raw(bits)
        }
    }

    /// With fields that are changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut body = self.magic.to_vec();
        body.extend_from_slice(&[self.encoding, self.hashes]);
        body.extend_from_slice(&self.reserved);
        body.extend_from_slice(&self.bits.to_le_bytes());
        body.extend_from_slice(&self.count.to_le_bytes());
        body.extend_from_slice(&self.seed.to_le_bytes());
        body.extend_from_slice(&self.epoch.to_le_bytes());
        body.extend_from_slice(&self.expires.to_le_bytes());
        body.extend_from_slice(&self.payload);
        sealed(body)
    }

    pub fn base64(&self) -> String {
        base64_of(&self.bytes())
    }
}
