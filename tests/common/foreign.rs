//! The filters of other libraries in `tests/vectors`.

use seenguard::Format;
use serde::Deserialize;

/// One case of a file: a snapshot's shards, and the library's results.
pub struct Filter {
    /// For the message of an assertion.
    pub name: String,
    pub format: Format,
    pub shards: Vec<String>,
    pub ids: Vec<String>,
    pub answers: Vec<bool>,
    pub inserted: u32,
    pub capacity: u32,
    pub rate: f64,
    pub most_shards: usize,
    /// m and k, where the file contains them.
    pub sizes: Option<(u32, u32)>,
}

impl Filter {
    /// The id that was inserted last.
    pub fn newest_inserted(&self) -> String {
        self.ids[self.inserted as usize - 1].clone()
    }
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    answers: String,
    inserted: u32,
    capacity: u32,
    false_positive_rate: f64,
    bits: Option<u32>,
    hashes: Option<u32>,
    max_shards: Option<usize>,
    records: Option<Vec<String>>,
    base64: Option<String>,
    json: Option<String>,
    scandump: Option<Vec<(u64, String)>>,
}

/// Every case of every file.
pub fn vectors() -> Vec<Filter> {
    let all: Vec<Filter> = [go_bloomfilter(), guava(), bits_and_blooms(), redisbloom()]
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(all.len(), 5 + 5 + 2 * 5 + 6);
    all
}

pub fn go_bloomfilter() -> Vec<Filter> {
    let shards = |case: &mut Case| {
        let format = Format::go_bloomfilter(case.capacity, case.false_positive_rate).unwrap();
        vec![(format, case.records.take().unwrap())]
    };
    read("go-bloomfilter", include_str!("../vectors/go-bloomfilter.json"), shards)
}

pub fn guava() -> Vec<Filter> {
    let shards = |case: &mut Case| vec![(Format::Guava, vec![case.base64.take().unwrap()])];
    read("guava", include_str!("../vectors/guava.json"), shards)
}

/// Each case twice: as binary and as JSON.
pub fn bits_and_blooms() -> Vec<Filter> {
    let shards = |case: &mut Case| {
        let both = [case.base64.take().unwrap(), case.json.take().unwrap()];
        both.map(|text| (Format::BitsAndBlooms, vec![text])).into()
    };
    read(
        "bits-and-blooms",
        include_str!("../vectors/bits-and-blooms.json"),
        shards,
    )
}

pub fn redisbloom() -> Vec<Filter> {
    let shards = |case: &mut Case| {
        let dump = case.scandump.take().unwrap();
        let chunks: Vec<String> = dump.into_iter().map(|(_, chunk)| chunk).collect();
        vec![(Format::RedisBloom, vec![chunks.join(",")])]
    };
    let mut filters = read("redisbloom", include_str!("../vectors/redisbloom.json"), shards);
    for filter in &mut filters {
        filter.ids = filter.ids.iter().map(|id| as_the_dumps_have_it(id)).collect();
    }
    filters
}

/// The program that wrote redisbloom.json skipped the tab with which 18 of the ids begin, and so read the end of the
/// line as their last byte. It inserted and queried that string: for the ids themselves, 23 of the 36,000
/// answers would be others.
fn as_the_dumps_have_it(id: &str) -> String {
    id.strip_prefix('\t').map_or(id.into(), |rest| format!("{rest}\n"))
}

fn read(name: &str, json: &str, shards: impl Fn(&mut Case) -> Vec<(Format, Vec<String>)>) -> Vec<Filter> {
    let ids: Vec<String> = serde_json::from_str(include_str!("../vectors/ids.json")).unwrap();
    let file: File = serde_json::from_str(json).unwrap();
    let mut filters = Vec::new();
    for (index, mut case) in file.cases.into_iter().enumerate() {
        assert_eq!(case.answers.len(), ids.len());
        for (format, shards) in shards(&mut case) {
            filters.push(Filter {
                name: format!("{name}.json, case {index}"),
                format,
                shards,
                ids: ids.clone(),
                answers: case.answers.bytes().map(|answer| answer == b'1').collect(),
                inserted: case.inserted,
                capacity: case.capacity,
                rate: case.false_positive_rate,
                most_shards: case.max_shards.unwrap_or(1),
                sizes: case.bits.zip(case.hashes),
            });
        }
    }
    filters
}

/// MurmurHash3 of 128 bits, seed 0, as plainly as possible.
pub fn murmur3_128(bytes: &[u8]) -> [u64; 2] {
    const C: [u64; 2] = [0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f];
    let word = |bytes: &[u8]| {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(whole)
    };
    let first = |k: u64| k.wrapping_mul(C[0]).rotate_left(31).wrapping_mul(C[1]);
    let second = |k: u64| k.wrapping_mul(C[1]).rotate_left(33).wrapping_mul(C[0]);
    let (mut h1, mut h2) = (0u64, 0u64);
    let whole = bytes.len() / 16 * 16;
    for block in bytes[..whole].chunks(16) {
        h1 = (h1 ^ first(word(&block[..8]))).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ second(word(&block[8..]))).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let tail = &bytes[whole..];
    h2 ^= second(word(&tail[tail.len().min(8)..]));
    h1 ^= first(word(&tail[..tail.len().min(8)]));
    let mix = |mut k: u64| {
        k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ (k >> 33)
    };
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (mix(h1), mix(h2));
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}
