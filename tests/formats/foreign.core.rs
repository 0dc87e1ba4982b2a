//! The filters of other libraries: every result is that of the library that wrote the filter, writers write the same bytes
//! as the library, damage of every kind is recognised, and the guard works over all formats.

use crate::common::foreign::{Filter, bits_and_blooms, go_bloomfilter, guava, redisbloom, vectors};
use crate::common::{START, at, base64_of, bytes_of, ids, shards_in_use};
use seenguard::device::{Applied, Explanation, Guard};
use seenguard::wire;
use seenguard::{BloomFilter, ChainOptions, Error, Format, ShardChain};
use seenguard::{IdList, MAX_SNAPSHOT_BITS, Snapshot};

fn apply(guard: &mut Guard, filter: &Filter) -> Applied {
    apply_shards(guard, &filter.shards, filter.format).unwrap()
}

fn apply_shards<L: IdList + ?Sized>(guard: &mut Guard, shards: &L, format: Format) -> Result<Applied, Error> {
    let snapshot = Snapshot {
        format,
        ..Snapshot::new(shards)
    };
    guard.apply(snapshot, at(START))
}

fn options(format: Format, capacity: u32, false_positive_rate: f64) -> ChainOptions {
    ChainOptions {
        format,
        capacity,
        false_positive_rate,
        ..ChainOptions::default()
    }
}

/// The code of a shard's error; the guard and a reader agree on it.
fn refusal(format: Format, text: &str) -> &'static str {
    let code = wire::read(format, text).expect_err(text).code();
    let mut guard = crate::common::guard();
    assert_eq!(apply_shards(&mut guard, &[text], format).unwrap_err().code(), code);
    code
}

// Reading.

#[test]
fn all_go_records_are_read_with_the_sizes_given_or_k_alone() {
    for filter in go_bloomfilter() {
        let Format::GoBloomfilter {
            hashes,
            bits: Some(bits),
        } = filter.format
        else {
            panic!("{:?}", filter.format)
        };
        let with_hashes = Format::GoBloomfilter { hashes, bits: None };
        for text in &filter.shards {
            let read = wire::read(with_hashes, text).unwrap();
            assert_eq!(read, wire::read(filter.format, text).unwrap());
            assert_eq!(read[0].filter.parameters().bits(), bits);
            assert_eq!(text.split_once("::").unwrap().0, read[0].count.to_string());
        }
    }
}

#[test]
fn m_k_and_count_are_those_of_the_vectors() {
    for filter in vectors() {
        let shards = wire::read(filter.format, &filter.shards[0]).unwrap();
        for shard in &shards {
            assert_eq!((shard.epoch, shard.expires), (0, 0));
            if let Some((bits, hashes)) = filter.sizes {
                let parameters = shard.filter.parameters();
                assert_eq!(
                    (parameters.bits(), parameters.hashes()),
                    (bits, hashes),
                    "{}",
                    filter.name
                );
            }
        }
        if filter.shards.len() == 1 {
            let count: u32 = shards.iter().map(|shard| shard.count).sum();
            // The number of inserted ids, less those that an ever fuller filter already contained, or within the
            // error of the estimate.
            let tolerated = 2 + filter.inserted / 12;
            assert!(count.abs_diff(filter.inserted) <= tolerated, "{}: {count}", filter.name);
        }
    }
}

#[test]
fn a_redis_key_that_has_grown_has_filters_of_their_own_sizes() {
    let grown = redisbloom().into_iter().find(|filter| filter.inserted == 1500).unwrap();
    let filters = wire::read(Format::RedisBloom, &grown.shards[0]).unwrap();
    let sizes: Vec<(u32, u32, u32)> = filters
        .iter()
        .map(|shard| {
            (
                shard.filter.parameters().bits(),
                shard.filter.parameters().hashes(),
                shard.count,
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [(1152, 8, 100), (2496, 9, 200), (5568, 10, 400), (12288, 11, 790)]
    );
    let mut guard = crate::common::guard();
    apply(&mut guard, &grown);
    assert_eq!(shards_in_use(&guard), 1);
}

#[test]
fn chunks_of_redis_may_be_cut_anywhere_and_end_with_an_empty_one() {
    for filter in redisbloom() {
        let expected = wire::read(Format::RedisBloom, &filter.shards[0]).unwrap();
        let (header, data) = filter.shards[0].split_once(',').unwrap();
        let data: Vec<u8> = data.split(',').flat_map(bytes_of).collect();
        for size in [1, 7, 100, data.len()] {
            let chunks: Vec<String> = data.chunks(size).map(base64_of).collect();
            let text = format!("{header},{},", chunks.join(","));
            assert_eq!(wire::read(Format::RedisBloom, &text).unwrap(), expected);
        }
    }
}

#[test]
fn json_is_read_in_any_order_and_with_white_space() {
    for filter in bits_and_blooms()
        .iter()
        .filter(|filter| filter.shards[0].starts_with('{'))
    {
        let expected = wire::read(filter.format, &filter.shards[0]).unwrap();
        let read = |text: &str| wire::read(filter.format, text).unwrap();
        let json: serde_json::Value = serde_json::from_str(&filter.shards[0]).unwrap();
        let (m, k, b) = (&json["m"], &json["k"], json["b"].as_str().unwrap());
        let standard = b.replace('-', "+").replace('_', "/");
        assert_eq!(read(&format!("{{\"b\":\"{standard}\",\"k\":{k},\"m\":{m}}}")), expected);
        let spaced = format!(" {{\n\t\"m\" : {m} ,\r\n \"b\": \"{b}\", \"k\" :{k}\n}}\n");
        assert_eq!(read(&spaced), expected);
    }
}

#[test]
fn both_strategies_of_guava_are_read() {
    // Guava 31 does not write the older one any more. Its arithmetic, written out here, must yield the same
    // positions.
    let shard = |strategy: u8| base64_of(&[&[strategy, 5, 0, 0, 0, 16][..], &[0; 128]].concat());
    let empty = wire::read(Format::Guava, &shard(0)).unwrap().remove(0);
    for id in ids("item", 0..500) {
        let mut one = empty.clone();
        one.insert(&id);
        let half = crate::common::foreign::murmur3_128(id.as_bytes())[0];
        let (a, b) = (half as i32, (half >> 32) as i32);
        for i in 1..=5i32 {
            let sum = a.wrapping_add(i.wrapping_mul(b));
            let position = (if sum < 0 { !sum } else { sum }) % 1024;
            let mut bits = [0; 128];
            bits[(position as usize / 64) * 8 + 7 - position as usize % 64 / 8] = 1 << (position % 8);
            let single = base64_of(&[&[0, 1, 0, 0, 0, 16][..], &bits].concat());
            let single = wire::read(Format::Guava, &single).unwrap().remove(0);
            assert_eq!(single.filter.set_bits(), 1);
            let written = bytes_of(&one.to_base64().unwrap());
            assert_ne!(
                written[6 + (position as usize / 64) * 8 + 7 - position as usize % 64 / 8] & 1 << (position % 8),
                0
            );
        }
        assert!(one.filter.set_bits() <= 5);
    }
    assert_eq!(refusal(Format::Guava, &shard(2)), "bad-encoding");
    assert_ne!(wire::read(Format::Guava, &shard(1)).unwrap()[0].filter, empty.filter);
}

// The guard over every format.

#[test]
fn i8_a_guard_has_the_librarys_results_whichever_format_came_before() {
    let (filters, mut guard) = (vectors(), crate::common::guard());
    for filter in filters.iter().chain(filters.iter().rev()) {
        apply(&mut guard, filter);
        assert_eq!(shards_in_use(&guard), filter.shards.len());
        let fresh = |&index: &u32| !filter.answers[index as usize];
        let expected: Vec<u32> = (0..filter.ids.len() as u32).filter(fresh).collect();
        assert_eq!(guard.filter(&filter.ids, at(START)), expected, "{}", filter.name);

        // A reference stands for each shard.
        let names = guard.held();
        let references: Vec<String> = names.split('.').map(|name| format!("~{name}")).collect();
        assert_eq!(references.len(), filter.shards.len());
        assert_eq!(
            apply_shards(&mut guard, &references, filter.format).unwrap().reason,
            None
        );
        assert_eq!(guard.filter(&filter.ids, at(START)), expected, "{}", filter.name);
    }
}

#[test]
fn ids_in_a_shard_of_any_format_are_covered_and_explained() {
    for filter in vectors().into_iter().filter(|filter| filter.inserted > 0) {
        let mut guard = crate::common::guard();
        let known = filter.newest_inserted();
        guard.record(&[known.as_str(), "of this device"], at(START));
        let applied = apply(&mut guard, &filter);
        assert_eq!((applied.reason, applied.covered), (None, 1), "{}", filter.name);
        assert_eq!(guard.pending(10, at(START)), ["of this device"]);
        let mut other = crate::common::guard();
        apply(&mut other, &filter);
        let why = other.explain(&known, at(START));
        assert_eq!(why, Some(Explanation::Server), "{}", filter.name);
    }
}

// Writing.

#[test]
fn i8_a_chain_writes_the_records_of_the_go_library_byte_for_byte() {
    for filter in go_bloomfilter() {
        let hashes = filter.sizes.unwrap().1;
        for format in [filter.format, Format::GoBloomfilter { hashes, bits: None }] {
            let options = ChainOptions {
                shards: filter.most_shards,
                ..options(format, filter.capacity, filter.rate)
            };
            let mut chain = ShardChain::new(options).unwrap();
            chain
                .record(&filter.ids[..filter.inserted as usize], at(START))
                .unwrap();
            let shipped = chain.snapshot(at(START), None).unwrap();
            assert_eq!(shipped.shards, filter.shards);
            assert_eq!(shipped.version, None);

            // Also if it is stored and continued after any number of ids.
            let mut stored: Vec<String> = Vec::new();
            for ids in filter.ids[..filter.inserted as usize].chunks(97) {
                let (mut chain, rejected) = ShardChain::from_shards(&stored, options).unwrap();
                assert_eq!(rejected, []);
                chain.record(ids, at(START)).unwrap();
                stored = chain.snapshot(at(START), None).unwrap().shards;
            }
            assert_eq!(stored, filter.shards);
        }
    }
}

#[test]
fn i8_a_chain_writes_the_filters_of_guava_byte_for_byte() {
    for filter in guava() {
        let mut chain = ShardChain::new(options(Format::Guava, filter.capacity, filter.rate)).unwrap();
        // One filter took more than its capacity: a chain seals it there, so it is written by the shard itself.
        let within = filter.inserted.min(filter.capacity) as usize;
        chain.record(&filter.ids[..within], at(START)).unwrap();
        let Some(mut shard) = chain.shards().next().cloned() else {
            assert_eq!(filter.inserted, 0);
            continue;
        };
        for id in &filter.ids[within..filter.inserted as usize] {
            shard.insert(id);
        }
        assert_eq!(shard.to_base64().unwrap(), filter.shards[0], "{}", filter.name);
    }
}

#[test]
fn chains_of_one_format_unite() {
    for format in [Format::Guava, Format::go_bloomfilter(1000, 0.001).unwrap()] {
        let options = options(format, 1000, 0.001);
        let mut here = ShardChain::new(options).unwrap();
        let mut there = ShardChain::new(options).unwrap();
        here.record(&ids("here", 0..100), at(START)).unwrap();
        there.record(&ids("there", 0..100), at(START)).unwrap();
        here.unite(&there);
        assert_eq!(here.shards().count(), 1);
        let both = [ids("here", 0..100), ids("there", 0..100)].concat();
        assert!(here.filter(&both, None, at(START)).unwrap().is_empty());
        let mut native = ShardChain::new(ChainOptions::default()).unwrap();
        native.record(&["a"], at(START)).unwrap();
        native.unite(&here);
        assert_eq!(native.shards().count(), 2);
    }
}

#[test]
fn options_that_a_format_cannot_store_are_refused() {
    let code = |format, change: fn(&mut ChainOptions)| {
        let mut options = options(format, 1000, 0.001);
        change(&mut options);
        ShardChain::new(options).err().map(|error| error.code())
    };
    for format in [Format::BitsAndBlooms, Format::RedisBloom] {
        assert_eq!(code(format, |_| ()), Some("bad-option"));
    }
    for format in [Format::go_bloomfilter(1000, 0.001).unwrap(), Format::Guava] {
        assert_eq!(code(format, |_| ()), None);
        assert_eq!(code(format, |options| options.seed = 1), Some("bad-option"));
        assert_eq!(code(format, |options| options.ttl_seconds = 1), Some("bad-option"));
        assert_eq!(code(format, |options| options.capacity = 0), Some("bad-option"));
        assert_eq!(code(format, |options| options.capacity = 60_000_000), Some("too-large"));
    }
    for hashes in [0, 256] {
        assert_eq!(
            code(Format::GoBloomfilter { hashes, bits: None }, |_| ()),
            Some("bad-parameters")
        );
    }
    assert_eq!(Format::go_bloomfilter(0, 0.1).unwrap_err().code(), "bad-option");
    assert_eq!(Format::go_bloomfilter(10, 1.0).unwrap_err().code(), "bad-option");
}

#[test]
fn a_shard_that_cannot_be_encoded_is_an_error() {
    for filter in [&bits_and_blooms()[0], &redisbloom()[0]] {
        let shard = wire::read(filter.format, &filter.shards[0]).unwrap().remove(0);
        assert_eq!(shard.to_base64().unwrap_err().code(), "bad-snapshot");
    }
    for filter in vectors() {
        let shard = wire::read(filter.format, &filter.shards[0]).unwrap().remove(0);
        assert_eq!(shard.to_bytes().unwrap_err().code(), "bad-snapshot");
    }
}

#[test]
fn a_chain_of_guava_seals_by_its_number_of_inserted_ids() {
    let options = options(Format::Guava, 100, 0.001);
    for prefix in ["a", "b", "c", "d", "e", "f"] {
        let mut chain = ShardChain::new(options).unwrap();
        let counts = |chain: &ShardChain| chain.shards().map(|shard| shard.count).collect::<Vec<u32>>();
        chain.record(&ids(prefix, 0..100), at(START)).unwrap();
        assert_eq!(counts(&chain), [100], "whatever the estimate says");
        chain.record(&ids(prefix, 100..150), at(START)).unwrap();
        assert_eq!(counts(&chain), [50, 100]);

        // The stored form has no count: the estimate replaces it, and later inserts are counted.
        let stored = chain.snapshot(at(START), None).unwrap().shards;
        let (mut restored, _) = ShardChain::from_shards(&stored, options).unwrap();
        let estimates: Vec<u32> = chain
            .shards()
            .map(|shard| shard.filter.estimate_items().round_ties_even() as u32)
            .collect();
        assert_eq!(counts(&restored), estimates);
        restored.record(&ids(prefix, 150..160), at(START)).unwrap();
        assert_eq!(counts(&restored)[0], estimates[0] + 10);

        // An exact count stays exact in a union with a copy whose count is an estimate.
        chain.unite(&ShardChain::from_shards(&stored, options).unwrap().0);
        assert!(counts(&chain)[0].abs_diff(50) <= estimates[0].abs_diff(50));
        assert_eq!(chain.snapshot(at(START), None).unwrap().shards, stored);
    }
}

#[test]
fn filters_of_different_formats_do_not_unite() {
    let all: Vec<BloomFilter> = [
        &go_bloomfilter()[0],
        &guava()[0],
        &bits_and_blooms()[0],
        &redisbloom()[0],
    ]
    .iter()
    .map(|filter| wire::read(filter.format, &filter.shards[0]).unwrap().remove(0).filter)
    .collect();
    // The first two have the same m and k.
    assert_eq!(all[0].parameters(), all[1].parameters());
    let mut united = all[0].clone();
    assert_eq!(united.union(&all[1]).unwrap_err().code(), "bad-parameters");
}

// Damage.

#[test]
fn errors_of_damaged_go_records_have_their_codes() {
    let read = |text: &str| refusal(Format::GoBloomfilter { hashes: 3, bits: None }, text);
    assert_eq!(read("AAAAAA=="), "bad-magic");
    assert_eq!(read(""), "bad-magic");
    for count in [
        "",
        "x",
        "-1",
        "+1",
        "1.5",
        "1e3",
        " 1",
        "4294967296",
        "99999999999999999999999",
    ] {
        assert_eq!(read(&format!("{count}::AAAAAA==")), "bad-parameters", "{count}");
    }
    assert_eq!(read("1::"), "truncated");
    assert_eq!(read("1::AAAAA"), "bad-base64");
    assert_eq!(read("1::AAAA"), "bad-payload");
    assert_eq!(read("1::AAAAAA==::"), "bad-base64");
    let sized = Format::GoBloomfilter {
        hashes: 3,
        bits: Some(64),
    };
    assert_eq!(refusal(sized, "1::AAAAAA=="), "bad-payload");
    for hashes in [0, 256] {
        let format = Format::GoBloomfilter { hashes, bits: None };
        assert_eq!(refusal(format, "1::AAAAAA=="), "bad-parameters");
    }
    assert!(
        wire::read(
            Format::GoBloomfilter {
                hashes: 255,
                bits: None
            },
            "7::AAAAAA=="
        )
        .is_ok()
    );
}

#[test]
fn errors_of_damaged_guava_filters_have_their_codes() {
    let read = |bytes: &[u8]| refusal(Format::Guava, &base64_of(bytes));
    assert_eq!(read(&[1, 3, 0, 0, 0]), "truncated");
    assert_eq!(read(&[9, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), "bad-encoding");
    assert_eq!(read(&[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), "bad-parameters");
    assert_eq!(read(&[1, 3, 0, 0, 0, 0]), "bad-parameters");
    assert_eq!(read(&[1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), "bad-payload");
    assert_eq!(read(&[1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "bad-payload");
    for words in [0xFFFF_FFFFu32, 0x7FFF_FFFF, (MAX_SNAPSHOT_BITS / 64) as u32 + 1] {
        assert_eq!(read(&[&[1, 3][..], &words.to_be_bytes()].concat()), "too-large");
    }
    assert_eq!(refusal(Format::Guava, "AQ*="), "bad-base64");
}

#[test]
fn errors_of_damaged_filters_of_bits_and_blooms_have_their_codes() {
    let binary = |m: u64, k: u64, length: u64, words: &[u64]| {
        let fields = [&[m, k, length][..], words].concat();
        let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes()).collect();
        refusal(Format::BitsAndBlooms, &base64_of(&bytes))
    };
    assert_eq!(refusal(Format::BitsAndBlooms, &base64_of(&[0; 23])), "truncated");
    assert_eq!(binary(100, 3, 100, &[0]), "bad-payload");
    assert_eq!(binary(100, 3, 100, &[0, 0, 0]), "bad-payload");
    assert_eq!(binary(100, 3, 101, &[0, 0]), "bad-payload");
    assert_eq!(binary(100, 3, 100, &[0, 1 << 36]), "bad-payload");
    assert_eq!(binary(0, 3, 0, &[]), "bad-parameters");
    assert_eq!(binary(100, 0, 100, &[0, 0]), "bad-parameters");
    assert_eq!(binary(100, 256, 100, &[0, 0]), "bad-parameters");
    assert_eq!(binary(100, u64::MAX, 100, &[0, 0]), "bad-parameters");
    for m in [u64::MAX, 1 << 32, MAX_SNAPSHOT_BITS + 1] {
        assert_eq!(binary(m, 3, m, &[0]), "too-large");
    }
    let json = |text: &str| refusal(Format::BitsAndBlooms, text);
    let b = base64_of(&[0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(wire::read(Format::BitsAndBlooms, &format!("{{\"m\":64,\"k\":3,\"b\":\"{b}\"}}")).is_ok());
    // serde_json refuses invalid JSON; these are the format's own requirements.
    for text in [
        "{",
        "{\"m\":64,\"k\":3}",
        &format!("{{\"m\":64,\"k\":3,\"b\":\"{b}\"}}x"),
        &format!("{{\"m\":64,\"k\":3,\"b\":null,\"c\":\"{b}\"}}"),
        &format!("{{\"m\":-64,\"k\":3,\"b\":\"{b}\"}}"),
        &format!("{{\"m\":6.4,\"k\":3,\"b\":\"{b}\"}}"),
        &format!("{{\"m\":\"64\",\"k\":3,\"b\":\"{b}\"}}"),
        &format!("{{\"m\":99999999999999999999,\"k\":3,\"b\":\"{b}\"}}"),
    ] {
        assert_eq!(json(text), "bad-payload", "{text}");
    }
    // As usual in JSON, characters may be escaped, and unknown fields are ignored.
    let escaped = b.replacen('A', "\\u0041", 1);
    let more = format!("{{\"n\":[1.5,{{}}],\"m\":64,\"k\":3,\"b\":\"{escaped}\"}}");
    let plain = format!("{{\"m\":64,\"k\":3,\"b\":\"{b}\"}}");
    assert_eq!(
        wire::read(Format::BitsAndBlooms, &more),
        wire::read(Format::BitsAndBlooms, &plain)
    );
    assert_eq!(json(&format!("{{\"m\":65,\"k\":3,\"b\":\"{b}\"}}")), "bad-payload");
    assert_eq!(json("{\"m\":64,\"k\":3,\"b\":\"AAA*\"}"), "bad-base64");
    assert_eq!(json("{\"m\":64,\"k\":3,\"b\":\"AAAA\"}"), "truncated");
}

/// Makes a field of a dump wrong.
type Change = fn(&mut Dump);

/// A dump of one filter, each field of which may be wrong.
struct Dump {
    filters: u32,
    options: u32,
    bytes: u64,
    bits: u64,
    hashes: u32,
    n: u8,
    data: Vec<u8>,
}

impl Dump {
    fn valid() -> Self {
        Dump {
            filters: 1,
            options: 5,
            bytes: 8,
            bits: 64,
            hashes: 3,
            n: 0,
            data: vec![0; 8],
        }
    }

    fn header(&self) -> Vec<u8> {
        let mut header = vec![0; 8];
        header.extend_from_slice(&self.filters.to_le_bytes());
        header.extend_from_slice(&self.options.to_le_bytes());
        header.extend_from_slice(&2u32.to_le_bytes());
        for field in [self.bytes, self.bits, 0, 0, 0] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        header.extend_from_slice(&self.hashes.to_le_bytes());
        header.extend_from_slice(&10u64.to_le_bytes());
        header.push(self.n);
        header
    }

    fn text(&self) -> String {
        format!("{},{}", base64_of(&self.header()), base64_of(&self.data))
    }
}

#[test]
fn errors_of_damaged_dumps_of_redis_have_their_codes() {
    let valid = Dump::valid;
    assert!(wire::read(Format::RedisBloom, &valid().text()).is_ok());
    let header = base64_of(&valid().header());
    for (text, code) in [
        ("", "truncated"),
        (&base64_of(&[0; 72]), "truncated"),
        (&header, "bad-payload"),
        ("AAAA,A", "bad-base64"),
        ("A,AAAA", "bad-base64"),
    ] {
        assert_eq!(refusal(Format::RedisBloom, text), code, "{text}");
    }
    let changes: [(&str, Change); 16] = [
        ("truncated", |dump| dump.filters = 2),
        ("bad-payload", |dump| dump.filters = 0),
        ("truncated", |dump| dump.filters = u32::MAX),
        ("bad-encoding", |dump| dump.options = 1),
        ("bad-parameters", |dump| dump.hashes = 0),
        ("bad-parameters", |dump| dump.hashes = 256),
        ("bad-parameters", |dump| dump.bits = 0),
        ("bad-parameters", |dump| dump.bits = 63),
        ("bad-parameters", |dump| dump.bytes = 16),
        ("bad-parameters", |dump| dump.bytes = u64::MAX),
        ("bad-parameters", |dump| dump.n = 7),
        ("too-large", |dump| dump.n = 64),
        ("too-large", |dump| (dump.bits, dump.bytes) = (u64::MAX, u64::MAX / 8)),
        ("too-large", |dump| {
            dump.bits = MAX_SNAPSHOT_BITS + 64;
            dump.bytes = dump.bits / 8;
        }),
        ("bad-payload", |dump| dump.data = vec![0; 7]),
        ("bad-payload", |dump| dump.data = vec![0; 9]),
    ];
    for (index, (code, change)) in changes.into_iter().enumerate() {
        let mut dump = valid();
        change(&mut dump);
        assert_eq!(refusal(Format::RedisBloom, &dump.text()), code, "{index}");
    }
    let many = [valid().header(), valid().header()[20..].repeat(64)].concat();
    let many = [&many[..8], &65u32.to_le_bytes(), &many[12..]].concat();
    let text = format!("{},{}", base64_of(&many), base64_of(&[0; 65 * 8]));
    let mut guard = crate::common::guard();
    assert_eq!(
        apply_shards(&mut guard, &[text], Format::RedisBloom)
            .unwrap_err()
            .code(),
        "too-large"
    );
}

#[test]
fn a_redis_key_with_a_power_of_two_of_bits_is_read() {
    // As older versions make it: 2^5 bits in 8 bytes.
    let small = Dump { n: 5, ..Dump::valid() };
    let read = wire::read(Format::RedisBloom, &small.text()).unwrap();
    assert_eq!(read[0].filter.parameters().bits(), 32);
    let beyond = Dump {
        data: vec![0, 0, 0, 0, 1, 0, 0, 0],
        ..small
    };
    assert_eq!(refusal(Format::RedisBloom, &beyond.text()), "bad-payload");
}

#[test]
fn i7_the_bits_of_all_filters_count_against_the_limit_of_a_snapshot() {
    let words = (MAX_SNAPSHOT_BITS / 64) as u32;
    let header = [&[1, 3][..], &words.to_be_bytes()].concat();
    let largest = base64_of(&[&header[..], &vec![0; words as usize * 8]].concat());
    let one_more = base64_of(&[1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut guard = crate::common::guard();
    apply_shards(&mut guard, &[&largest], Format::Guava).unwrap();
    let both = apply_shards(&mut guard, &[&largest, &one_more], Format::Guava);
    assert_eq!(both.unwrap_err().code(), "too-large");
    assert_eq!(shards_in_use(&guard), 1);
}

/// Every prefix of it, every flipped bit of its first bytes and every changed character: an answer or an error, never a
/// panic.
#[test]
fn i5_no_damage_makes_a_reader_panic() {
    for filter in vectors() {
        let text = filter.shards.last().unwrap();
        let small = text.len() <= 1000;
        let step = if small { 1 } else { 41 };
        for end in (0..text.len()).step_by(step) {
            let short = wire::read(filter.format, &text[..end]);
            // Less is never the whole: only padding and the last, empty chunk may be missing.
            let missing = text[end..].trim_start_matches(['=', ',']);
            assert!(short.is_err() || missing.is_empty(), "{} {end}", filter.name);
        }
        for at in (0..text.len().min(200)).chain((0..text.len()).step_by(97)) {
            for replacement in ["", "A", "/", "9", "=", ",", ":", "{", "\"", " ", "é"] {
                let mut changed = text.clone();
                changed.replace_range(at..at + 1, replacement);
                read_and_ask(filter.format, &changed);
            }
        }
        let (before, base64) = text.split_at(text.find("::").map_or(0, |at| at + 2));
        let Some((header, rest)) = (!base64.starts_with('{')).then(|| base64.split_once(',').unwrap_or((base64, "")))
        else {
            continue;
        };
        let header = bytes_of(header);
        for bit in 0..header.len().min(80) * 8 {
            let mut flipped = header.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let comma = if rest.is_empty() { "" } else { "," };
            read_and_ask(filter.format, &format!("{before}{}{comma}{rest}", base64_of(&flipped)));
        }
    }
}

/// A shard that can be read can also be queried.
fn read_and_ask(format: Format, text: &str) {
    for shard in wire::read(format, text).unwrap_or_default() {
        shard.filter.contains("an id");
        assert!(shard.filter.estimate_items().is_finite());
        let _ = shard.to_base64();
    }
}

#[test]
fn i7_a_header_alone_allocates_no_memory_for_the_bits_it_claims() {
    let claims = [
        (
            Format::Guava,
            base64_of(&[&[1, 3][..], &((MAX_SNAPSHOT_BITS / 64) as u32).to_be_bytes()].concat()),
        ),
        (
            Format::BitsAndBlooms,
            base64_of(&[MAX_SNAPSHOT_BITS, 3, MAX_SNAPSHOT_BITS].map(u64::to_be_bytes).concat()),
        ),
        (
            Format::RedisBloom,
            Dump {
                bits: MAX_SNAPSHOT_BITS,
                bytes: MAX_SNAPSHOT_BITS / 8,
                ..Dump::valid()
            }
            .text(),
        ),
        (
            Format::GoBloomfilter {
                hashes: 3,
                bits: Some(MAX_SNAPSHOT_BITS as u32),
            },
            "1::AAAAAA==".into(),
        ),
    ];
    for (format, text) in claims {
        let info = allocation_counter::measure(|| {
            assert_eq!(wire::read(format, &text).unwrap_err().code(), "bad-payload");
        });
        assert!(info.bytes_max < 10_000, "{format:?}: {}", info.bytes_max);
    }
}
