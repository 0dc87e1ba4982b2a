//! Bad input: each error has its documented code, in the documented order, and accepted input has one meaning. `snapshot/`
//! tests through the package that a bad snapshot changes nothing.

use crate::common::random::Random;
use crate::common::reference::{ReferenceShard, decode_base64};
use crate::common::{RawShard, START, apply, at, base64_of, ids, sealed, shard_of, shards_in_use};
use seenguard::{Error, MAX_BITS, Shard};

fn code_of<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("this is bad").code()
}

fn code_of_encoded(text: &str) -> &'static str {
    code_of(Shard::from_base64(text))
}

fn code_of_bytes(bytes: &[u8]) -> &'static str {
    code_of(Shard::from_bytes(bytes))
}

/// A shard whose encoding needs padding and has digits that differ between the two alphabets.
fn padded_shard() -> String {
    let shards = (0..).map(|epoch| shard_of(&ids("item", 0..40), epoch, 0).to_base64().unwrap());
    shards
        .into_iter()
        .find(|text| text.ends_with('=') && text.contains('+') && text.contains('/'))
        .unwrap()
}

/// A sparse shard, coded by Rice, and a dense one, coded raw.
fn two_shards() -> [Shard; 2] {
    let parameters = seenguard::Parameters::for_capacity(20, 0.01).unwrap();
    let shard = |count: usize| crate::common::shard_with(parameters, 7, &ids("item", 0..count), 3, 9);
    let both = [shard(2), shard(20)];
    assert_eq!(both.each_ref().map(|shard| shard.to_bytes().unwrap()[4]), [1, 0]);
    both
}

// Base64.

#[test]
fn i8_a_string_is_base64_exactly_when_a_plain_reader_accepts_it() {
    let mut random = Random::seeded(1);
    let telling = padded_shard();
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..100_000 {
        // Damage at the end tests most.
        let mut text = telling.as_bytes()[telling.len() - 4 * (1 + random.index(4))..].to_vec();
        for _ in 0..random.below(3) {
            let at = random.index(text.len());
            match random.below(3) {
                0 => text[at] = *random.pick(b"AQgwxyz019+/-_= \n\0."),
                1 => text.insert(at, *random.pick(b"Aw+/-_==")),
                _ => drop(text.remove(at)),
            }
            if text.is_empty() {
                text.push(b'=');
            }
        }
        let text = String::from_utf8(text).unwrap();
        // Whether it is base64 shows in the code: so few bytes are truncated at best.
        let expected = if decode_base64(&text).is_some() {
            "truncated"
        } else {
            "bad-base64"
        };
        assert_eq!(code_of_encoded(&text), expected, "{text:?}");
        *(if expected == "truncated" {
            &mut accepted
        } else {
            &mut refused
        }) += 1;
    }
    assert!(accepted > 10_000 && refused > 10_000, "{accepted} {refused}");
}

// Damage.

#[test]
fn truncation_at_every_byte_is_reported() {
    for shard in two_shards() {
        let bytes = shard.to_bytes().unwrap();
        for length in 0..bytes.len() {
            let expected = if length < 36 { "truncated" } else { "bad-checksum" };
            assert_eq!(code_of_bytes(&bytes[..length]), expected);
            assert_eq!(code_of_encoded(&base64_of(&bytes[..length])), expected);
        }
    }
}

#[test]
fn every_flipped_bit_is_reported() {
    for shard in two_shards() {
        let bytes = shard.to_bytes().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let expected = if bit / 8 < 4 { "bad-magic" } else { "bad-checksum" };
            assert_eq!(code_of_bytes(&flipped), expected, "bit {bit}");
        }
    }
}

// Headers, with a checksum that matches.

#[test]
fn bits_and_hashes_out_of_range_are_refused() {
    for hashes in [0, 33, 64, 255] {
        let shard = RawShard::raw(64).with(|shard| shard.hashes = hashes);
        assert_eq!(code_of_bytes(&shard.bytes()), "bad-parameters");
    }
    for bits in [0, MAX_BITS + 1, 1 << 31, u32::MAX] {
        let shard = RawShard::raw(0).with(|shard| shard.bits = bits);
        assert_eq!(code_of_bytes(&shard.bytes()), "bad-parameters");
    }
}

#[test]
fn the_ends_of_the_ranges_are_accepted() {
    for hashes in [1, 32] {
        for bits in [1, 7, 8, 9, 63, 64, 65, MAX_BITS] {
            let shard = RawShard::raw(bits).with(|shard| shard.hashes = hashes);
            assert!(Shard::from_bytes(&shard.bytes()).is_ok());
        }
    }
    let ends = RawShard::raw(9).with(|shard| {
        (shard.count, shard.seed, shard.epoch, shard.expires) = (u32::MAX, u64::MAX, u32::MAX, u32::MAX);
    });
    let shard = Shard::from_bytes(&ends.bytes()).unwrap();
    assert_eq!(
        (shard.count, shard.filter.seed(), shard.epoch, shard.expires),
        (u32::MAX, u64::MAX, u32::MAX, u32::MAX)
    );
}

// Payloads.

#[test]
fn i8_a_tie_is_written_raw_and_of_equal_rs_the_smallest() {
    let mut random = Random::seeded(2);
    let (mut ties, mut equals) = (0, 0);
    for _ in 0..3_000 {
        let bits = 1 + random.below(300) as u32;
        let mut reference = ReferenceShard::new(bits, 3, 0, 1, 0);
        reference.set = (0..random.below(u64::from(bits) / 4 + 1))
            .map(|_| random.below(u64::from(bits)) as u32)
            .collect();
        let read = Shard::from_bytes(&reference.to_raw_bytes()).unwrap();
        assert_eq!(read.to_bytes().unwrap(), reference.to_bytes());
        let lengths: Vec<usize> = (0..32).map(|r| reference.to_rice_bytes(r).len()).collect();
        let shortest = *lengths.iter().min().unwrap();
        ties += usize::from(shortest == reference.to_raw_bytes().len());
        equals += usize::from(lengths.iter().filter(|&&length| length == shortest).count() > 1);
    }
    assert!(ties > 30 && equals > 300, "{ties} {equals}");
}

// The order of errors.

#[test]
fn i8_of_two_errors_the_first_in_the_order_is_returned() {
    let unsealed = |shard: &RawShard| {
        let mut bytes = shard.bytes();
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    };
    let no_magic = RawShard::raw(64).with(|shard| {
        (shard.magic, shard.encoding, shard.hashes, shard.payload) = (*b"XXXX", 9, 0, vec![1]);
    });
    let magic = no_magic.clone().with(|shard| shard.magic = *b"SGS1");
    let encoding = magic.clone().with(|shard| shard.encoding = 0);
    let hashes = encoding.clone().with(|shard| shard.hashes = 1);
    assert_eq!(code_of_encoded(&format!("{} ", base64_of(b"short"))), "bad-base64");
    assert_eq!(code_of_bytes(&no_magic.bytes()[..35]), "truncated");
    assert_eq!(code_of_bytes(&unsealed(&no_magic)), "bad-magic");
    assert_eq!(code_of_bytes(&unsealed(&magic)), "bad-checksum");
    assert_eq!(code_of_bytes(&magic.bytes()), "bad-encoding");
    assert_eq!(code_of_bytes(&encoding.bytes()), "bad-parameters");
    assert_eq!(code_of_bytes(&hashes.bytes()), "bad-payload");
}

#[test]
fn i2_shards_are_checked_one_after_the_other_and_each_by_its_size_before_its_payload() {
    let large = RawShard::rice(MAX_BITS, 0, 0, &[]).base64();
    let bad_payload = RawShard::rice(MAX_BITS, 99, 0, &[]).base64();
    let bad_parameters = RawShard::raw(64).with(|shard| shard.hashes = 0).base64();
    let mut guard = crate::common::guard();
    let mut code = |shards: &[&String]| code_of(apply(&mut guard, None, shards, at(START)));
    assert_eq!(code(&[&bad_payload, &large, &large, &large, &large]), "bad-payload");
    let mut code_of_fifth = |fifth: &[&String]| code(&[&[&large; 4], fifth].concat());
    assert_eq!(code_of_fifth(&[&bad_payload]), "too-large");
    assert_eq!(code_of_fifth(&[&bad_parameters]), "bad-parameters");
    assert_eq!(code_of_fifth(&[&large, &bad_parameters]), "too-large");
}

// The limits of a snapshot.

#[test]
fn i2_sizes_count_whether_a_shard_is_in_use_already_or_not() {
    let large = |epoch| {
        RawShard::rice(MAX_BITS, 0, 0, &[])
            .with(|shard| shard.epoch = epoch)
            .base64()
    };
    let large: Vec<String> = (1..5).map(large).collect();
    let small = shard_of(&ids("item", 0..1), 9, 0).to_base64().unwrap();
    let mut guard = crate::common::guard();
    apply(&mut guard, None, &large, at(START)).unwrap();
    assert_eq!(shards_in_use(&guard), 4);
    let over: Vec<&String> = large.iter().chain([&small]).collect();
    assert_eq!(code_of(apply(&mut guard, None, &over, at(START))), "too-large");
    assert_eq!(shards_in_use(&guard), 4);
}

// Random bytes.

#[test]
fn i5_random_bytes_never_panic() {
    let mut random = Random::seeded(3);
    for _ in 0..100_000 {
        let length = random.index(80);
        let bytes = random.bytes(length);
        assert!(Shard::from_bytes(&bytes).is_err());
        assert!(Shard::from_bytes(&sealed([b"SGS1".as_slice(), &bytes].concat())).is_err() || bytes.len() >= 32);
    }
}

#[test]
fn i8_any_payload_under_a_valid_header_is_read_exactly_when_the_plain_reference_reads_it() {
    let mut random = Random::seeded(4);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..120_000 {
        let bytes = random_shard(&mut random).bytes();
        match (Shard::from_bytes(&bytes), ReferenceShard::from_bytes(&bytes)) {
            (Ok(shard), Ok(reference)) => {
                accepted += 1;
                assert_eq!(shard.filter.set_bits() as usize, reference.set.len());
                let canonical = shard.to_bytes().unwrap();
                assert_eq!(Shard::from_bytes(&canonical).as_ref(), Ok(&shard));
                // The reference's writer is slow.
                if accepted % 16 == 0 && reference.bits <= 1000 {
                    assert_eq!(canonical, reference.to_bytes());
                }
            }
            (Err(error), Err(code)) => {
                refused += 1;
                assert_eq!(error.code(), code);
            }
            (shard, reference) => panic!("{shard:?} but {reference:?}"),
        }
    }
    assert!(accepted > 10_000 && refused > 10_000, "{accepted} {refused}");
}

/// A small shard with a checksum that matches: good ones, and such as break one rule or another.
fn random_shard(random: &mut Random) -> RawShard {
    let bits = 1 + random.below(200) as u32;
    let mut reference = ReferenceShard::new(
        bits,
        1 + random.below(32) as u32,
        random.next(),
        random.next() as u32,
        random.next() as u32,
    );
    reference.set = (0..random.below(20))
        .map(|_| random.below(u64::from(bits)) as u32)
        .collect();
    let r = random.below(9) as u8;
    let bytes = if random.once_in(3) {
        reference.to_raw_bytes()
    } else {
        reference.to_rice_bytes(r)
    };
    let mut shard = RawShard {
        encoding: bytes[4],
        hashes: reference.hashes as u8,
        count: random.next() as u32,
        seed: reference.seed,
        epoch: reference.epoch,
        expires: reference.expires,
        payload: bytes[32..bytes.len() - 4].to_vec(),
        ..RawShard::raw(bits)
    };
    match random.below(8) {
        0 => shard.bits = random.below(300) as u32,
        1 => shard.payload = random.bytes(shard.payload.len()),
        2 => shard.payload.push(random.next() as u8 & 1),
        3 => drop(shard.payload.pop()),
        4 | 5 if !shard.payload.is_empty() => {
            let bit = random.index(shard.payload.len() * 8);
            shard.payload[bit / 8] ^= 1 << (bit % 8);
        }
        6 => shard.hashes = random.below(40) as u8,
        _ => {}
    }
    if random.once_in(500) {
        shard.bits = MAX_BITS - random.below(3) as u32;
    }
    shard
}
