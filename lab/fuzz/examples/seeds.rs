//! Writes what the corpus began with: the filters of `tests/vectors`, rows that a tab wrote, and random choices.
//!
//! ```text
//! cargo +nightly run --release --example seeds -- DIRECTORY
//! ```

use std::path::Path;

use seenguard::Format;
use seenguard::device::Place;
use seenguard_fuzz::common::device::{Device, Tab};
use seenguard_fuzz::common::{bytes_of, foreign, ids, random::Random, vectors};
use seenguard_fuzz::pieces::BEGINNING_MS;

/// Longer filters make a corpus large, and tell no more.
const MOST_BYTES: usize = 2_500;

/// Larger ones take long.
const MOST_BITS: u32 = 1 << 20;

/// An input, written as `arbitrary` reads it.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    /// The choice of a variant of an enum with so many.
    fn variant(&mut self, variant: u64, of: u64) -> &mut Self {
        let number = (variant << 32).div_ceil(of) as u32;
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// A `FormatInput`.
    fn format(&mut self, format: Format) -> &mut Self {
        match format {
            Format::Native => self.variant(0, 6),
            Format::Guava => self.variant(1, 6),
            Format::BitsAndBlooms => self.variant(2, 6),
            Format::RedisBloom => self.variant(3, 6),
            Format::GoBloomfilter { hashes, .. } => self.variant(4, 6).byte(hashes as u8).byte(0),
            other => panic!("{other:?} has no variant"),
        }
    }
}

fn main() {
    let directory = std::env::args().nth(1).expect("usage: seeds DIRECTORY");
    for (target, seeds) in [("snapshots", snapshots()), ("rows", rows()), ("writers", writers())] {
        let directory = Path::new(&directory).join(target);
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(directory.join(format!("seed-{number}")), seed).expect("the seed can be written");
        }
        println!("{} seeds in {}", seeds.len(), directory.display());
    }
}

/// Each filter, shown to a guard and stored in a chain.
fn snapshots() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in vectors::native().cases.iter().chain(&vectors::edges().cases) {
        let mut bytes = bytes_of(&case.base64);
        bytes.truncate(bytes.len() - 4);
        if bytes.len() <= MOST_BYTES && case.bits <= MOST_BITS {
            seeds.push(snapshot(Format::Native, 1, &bytes));
        }
    }
    for filter in foreign::vectors() {
        let text = filter.shards[0].as_bytes();
        if text.len() > MOST_BYTES {
            continue;
        }
        seeds.push(snapshot(filter.format, 2, text));
        if let Format::Guava = filter.format {
            seeds.push(snapshot(filter.format, 1, &bytes_of(&filter.shards[0])));
        }
    }
    seeds
}

/// Two programs with this shard: `variant` of `ShardInput`.
fn snapshot(format: Format, variant: u64, shard: &[u8]) -> Vec<u8> {
    let mut input = Writer::default();
    input.byte(2);
    // A device: one step, which applies a snapshot without a version, of this shard alone.
    input.variant(0, 2).format(format).byte(1).variant(0, 7).byte(0).byte(0);
    input.byte(1).variant(variant, 5).bytes(shard);
    input.byte(0).byte(0).byte(0).byte(0);
    // A chain of 100 items a shard, 3 shards, a rate of 10 in 255; without a ttl. It records one id.
    input
        .variant(1, 2)
        .format(format)
        .variant(0, 3)
        .byte(100)
        .byte(3)
        .byte(10)
        .variant(0, 3)
        .byte(0)
        .byte(0);
    input.byte(1).variant(variant, 5).bytes(shard);
    input.byte(0).byte(1).variant(0, 9).byte(1).byte(7);
    input.0
}

/// Rows of a tab that records, unsees and delivers: all so far each time.
fn rows() -> Vec<Vec<u8>> {
    let mut device = Device::with_signal();
    let mut tab = Tab::open(&mut device, Place::IndexedDb);
    let mut seeds = Vec::new();
    for round in 0..8u8 {
        tab.now_ms = BEGINNING_MS + 1_000 * u64::from(round);
        let (first, last) = (usize::from(round), 2 * usize::from(round) + 1);
        tab.record(&ids("item", first..last));
        tab.unsee(&ids("item", 0..first / 3));
        if round == 4 {
            tab.guard.start_reporting();
            let batch = tab.guard.begin_batch(3, 1_000, tab.now());
            tab.guard.end_batch(batch.number, true, tab.now());
        }
        tab.work(&mut device);
        let mut input = Writer::default();
        // Room for 1,000 recordings, 5 s after the beginning.
        input.0.extend_from_slice(&1_000u16.to_le_bytes());
        input.variant(0, 3).byte(5).byte(0).byte(device.rows() as u8);
        for (_, text) in device.main.iter().filter(|(key, _)| key.contains("/r/")) {
            let bytes = bytes_of(text);
            // Of no clear, in one piece, undamaged.
            input
                .byte(0)
                .byte(1)
                .variant(2, 3)
                .bytes(&bytes[..bytes.len() - 4])
                .byte(0);
        }
        // Impressions are delivered, and no history was deleted.
        input.byte(1).byte(u8::from(round > 4)).byte(0);
        // One is recorded, none is unseen, it is delivered, and then perhaps all is cleared.
        input.byte(1).byte(7).byte(0).byte(1).byte(round % 2);
        seeds.push(input.0);
    }
    seeds
}

/// A seed, a number of refreshes, choices.
fn writers() -> Vec<Vec<u8>> {
    let mut random = Random::seeded(1);
    (0..40).map(|number| random.bytes(9 + 30 * number)).collect()
}
