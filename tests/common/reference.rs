//! The shard format as plainly as possible, from its description alone. Tests compare the crate's shards with it bit for
//! bit.
//!
//! Sets of positions instead of words, one bit after the other instead of bytes: slow, and easy to check against the
//! description.

use std::collections::BTreeSet;

use seenguard::hash::hash_id;

const TWO_TO_32: u64 = 1 << 32;

/// The k positions of an id.
pub fn positions(id: &[u8], bits: u32, hashes: u32, seed: u64) -> Vec<u32> {
    let hash = hash_id(id, seed);
    let (mut x, mut y, mut w) = (hash % TWO_TO_32, hash / TWO_TO_32, 0);
    (0..hashes)
        .map(|_| {
            let position = x * u64::from(bits) / TWO_TO_32;
            x = (x + y) % TWO_TO_32;
            w = (w + 0x9E37_79B9) % TWO_TO_32;
            y = (y + w) % TWO_TO_32;
            position as u32
        })
        .collect()
}

/// A shard as the set of its positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceShard {
    pub bits: u32,
    pub hashes: u32,
    pub seed: u64,
    pub count: u32,
    pub epoch: u32,
    pub expires: u32,
    pub set: BTreeSet<u32>,
}

impl ReferenceShard {
    pub fn new(bits: u32, hashes: u32, seed: u64, epoch: u32, expires: u32) -> Self {
        ReferenceShard {
            bits,
            hashes,
            seed,
            count: 0,
            epoch,
            expires,
            set: BTreeSet::new(),
        }
    }

    fn positions(&self, id: &[u8]) -> Vec<u32> {
        positions(id, self.bits, self.hashes, self.seed)
    }

    pub fn contains(&self, id: &[u8]) -> bool {
        self.positions(id).iter().all(|position| self.set.contains(position))
    }

    pub fn insert(&mut self, id: &[u8]) -> bool {
        let new = !self.contains(id);
        self.set.extend(self.positions(id));
        self.count += u32::from(new);
        new
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let raw = self.raw_payload();
        let rice = (0..32)
            .map(|r| self.rice_stream(r))
            .enumerate()
            .min_by_key(|(r, stream)| (stream.len(), *r));
        let (r, stream) = rice.expect("there are 32 of them");
        let rice = self.rice_payload(r as u8, &stream);
        if rice.len() < raw.len() {
            self.with_payload(1, &rice)
        } else {
            self.with_payload(0, &raw)
        }
    }

    /// The bytes with the bits coded raw.
    pub fn to_raw_bytes(&self) -> Vec<u8> {
        self.with_payload(0, &self.raw_payload())
    }

    /// The bytes with the bits coded by this r.
    pub fn to_rice_bytes(&self, r: u8) -> Vec<u8> {
        self.with_payload(1, &self.rice_payload(r, &self.rice_stream(u32::from(r))))
    }

    fn with_payload(&self, encoding: u8, payload: &[u8]) -> Vec<u8> {
        super::RawShard {
            encoding,
            hashes: self.hashes as u8,
            count: self.count,
            seed: self.seed,
            epoch: self.epoch,
            expires: self.expires,
            payload: payload.to_vec(),
            ..super::RawShard::raw(self.bits)
        }
        .bytes()
    }

    fn raw_payload(&self) -> Vec<u8> {
        let bits: Vec<bool> = (0..self.bits).map(|position| self.set.contains(&position)).collect();
        bytes_of_bits(&bits)
    }

    fn rice_payload(&self, r: u8, stream: &[bool]) -> Vec<u8> {
        let mut payload = vec![r];
        payload.extend_from_slice(&(self.set.len() as u32).to_le_bytes());
        payload.extend(bytes_of_bits(stream));
        payload
    }

    fn rice_stream(&self, r: u32) -> Vec<bool> {
        let (mut stream, mut previous) = (Vec::new(), -1);
        for &position in &self.set {
            let gap = i64::from(position) - previous - 1;
            previous = i64::from(position);
            stream.extend((0..gap >> r).map(|_| true));
            stream.push(false);
            stream.extend((0..r).map(|bit| gap >> bit & 1 == 1));
        }
        stream
    }

    /// Reads a shard's bytes. Returns the code of the first error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let check = |holds: bool, code: &'static str| if holds { Ok(()) } else { Err(code) };
        let number = |at: usize, length: usize| {
            bytes[at..at + length]
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        check(bytes.len() >= 36, "truncated")?;
        let body = &bytes[..bytes.len() - 4];
        check(&body[..4] == b"SGS1", "bad-magic")?;
        check(number(body.len(), 4) == hash_id(body, 0) % TWO_TO_32, "bad-checksum")?;
        check(body[4] <= 1 && body[6] == 0 && body[7] == 0, "bad-encoding")?;
        let (hashes, bits) = (u32::from(body[5]), number(8, 4));
        check(
            (1..=32).contains(&hashes) && (1..=1 << 24).contains(&bits),
            "bad-parameters",
        )?;
        let mut shard = ReferenceShard::new(
            bits as u32,
            hashes,
            number(16, 8),
            number(24, 4) as u32,
            number(28, 4) as u32,
        );
        shard.count = number(12, 4) as u32;
        let payload = &body[32..];
        let set = if body[4] == 0 {
            read_raw(payload, bits)
        } else {
            read_rice(payload, bits)
        };
        shard.set = set.ok_or("bad-payload")?;
        Ok(shard)
    }
}

fn bytes_of_bits(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8)
        .map(|byte| byte.iter().enumerate().map(|(at, &bit)| u8::from(bit) << at).sum())
        .collect()
}

fn bits_of_bytes(bytes: &[u8]) -> Vec<bool> {
    bytes
        .iter()
        .flat_map(|byte| (0..8).map(move |at| byte >> at & 1 == 1))
        .collect()
}

fn read_raw(payload: &[u8], bits: u64) -> Option<BTreeSet<u32>> {
    let all = bits_of_bytes(payload);
    let set: BTreeSet<u32> = (0..)
        .zip(&all)
        .filter(|(_, bit)| **bit)
        .map(|(position, _)| position)
        .collect();
    let fits = payload.len() as u64 == bits.div_ceil(8) && set.last().is_none_or(|&last| u64::from(last) < bits);
    fits.then_some(set)
}

fn read_rice(payload: &[u8], bits: u64) -> Option<BTreeSet<u32>> {
    let (prefix, stream) = payload.split_at_checked(5)?;
    let (r, count) = (
        prefix[0],
        u32::from_le_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]),
    );
    if r > 31 || u64::from(count) > bits {
        return None;
    }
    let mut stream = bits_of_bytes(stream).into_iter();
    let (mut set, mut next) = (BTreeSet::new(), 0u64);
    for _ in 0..count {
        let mut quotient = 0u64;
        while stream.next()? {
            quotient += 1;
        }
        let mut low = 0u64;
        for bit in 0..r {
            low += u64::from(stream.next()?) << bit;
        }
        let position = next + quotient * (1 << r) + low;
        if position >= bits {
            return None;
        }
        set.insert(position as u32);
        next = position + 1;
    }
    // What is left fills up the last byte with 0.
    (stream.len() < 8 && stream.all(|bit| !bit)).then_some(set)
}

/// Reads base64 by the rule for readers: one of the two alphabets, canonical or no padding, nothing else.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 0 && (padding > 2 || !text.len().is_multiple_of(4)) {
        return None;
    }
    if digits.contains(['+', '/']) && digits.contains(['-', '_']) {
        return None;
    }
    let mut bits = Vec::new();
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits.extend((0..6).rev().map(|bit| value >> bit & 1 == 1));
    }
    let rest = bits.split_off(bits.len() / 8 * 8);
    if rest.len() >= 6 || rest.contains(&true) {
        return None;
    }
    Some(
        bits.chunks(8)
            .map(|byte| byte.iter().fold(0, |value, &bit| value << 1 | u8::from(bit)))
            .collect(),
    )
}
