//! Shards of a hostile server: made of arbitrary parameters and ids, or of arbitrary bytes, then damaged, with a
//! recomputed checksum; or any string.

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use seenguard::Format;
use seenguard::wire::Reference;

use crate::common::reference::{ReferenceShard, positions};
use crate::common::{base64_of, sealed};
use crate::pieces::{Bytes, Few, Id, Number, Time};

/// Filters up to this size are written bit by bit.
const MOST_PLAIN_BITS: u32 = 1 << 16;
/// The most bytes of bits that are generated. A header may claim more.
const MOST_PAYLOAD_BYTES: usize = 1 << 15;

/// The format of a snapshot or a chain.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum FormatInput {
    Native,
    Guava,
    BitsAndBlooms,
    RedisBloom,
    GoBloomfilter { hashes: u8, bits: Option<u16> },
    GoBloomfilterFor { capacity: u16, rate: u8 },
}

impl FormatInput {
    pub fn get(self) -> Format {
        match self {
            FormatInput::Native => Format::Native,
            FormatInput::Guava => Format::Guava,
            FormatInput::BitsAndBlooms => Format::BitsAndBlooms,
            FormatInput::RedisBloom => Format::RedisBloom,
            FormatInput::GoBloomfilter { hashes, bits } => Format::GoBloomfilter {
                hashes: hashes.into(),
                bits: bits.map(u32::from),
            },
            FormatInput::GoBloomfilterFor { capacity, rate } => {
                Format::go_bloomfilter(capacity.into(), rate_of(rate)).unwrap_or_default()
            }
        }
    }
}

/// A false positive rate; the lowest and the highest byte give one out of range.
pub fn rate_of(byte: u8) -> f64 {
    f64::from(byte) / 255.0
}

/// An element of a snapshot.
#[derive(Debug, Clone, Arbitrary)]
pub enum ShardInput<'a> {
    Made {
        shard: Made<'a>,
        changes: Few<Change, 3>,
    },
    /// The bytes of a shard without their checksum.
    Bytes(Bytes<'a>),
    Text(Bytes<'a>),
    /// An earlier element's string, or its reference.
    Again {
        which: u8,
        as_reference: bool,
    },
    UnknownReference(u32),
}

/// A consistent shard.
#[derive(Debug, Clone, Arbitrary)]
pub struct Made<'a> {
    size: Size,
    hashes: u8,
    seed: Number,
    epoch: Number,
    expires: Option<Time>,
    count: Number,
    fill: Fill<'a>,
    layout: u8,
}

/// A number of bits: `(1 + mantissa) << shift`.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Size {
    mantissa: u8,
    shift: u8,
}

impl Size {
    fn bits(self) -> u32 {
        let bits = (1 + u64::from(self.mantissa)) << (self.shift % 27);
        u32::try_from(bits).unwrap_or(u32::MAX)
    }
}

/// The set bits.
#[derive(Debug, Clone, Arbitrary)]
enum Fill<'a> {
    /// The bits of these ids.
    Ids {
        first: Id,
        count: u8,
    },
    /// This byte repeated.
    Pattern(u8),
    Bytes(Bytes<'a>),
}

/// Damage to a shard before its checksum is computed.
#[derive(Debug, Clone, Arbitrary)]
pub enum Change {
    Flip { at: u16, mask: u8 },
    Cut(u16),
    Append(u8),
}

/// A string, and the ids that it must contain if it can be read.
#[derive(Debug, Clone, Default)]
pub struct Text {
    pub text: Vec<u8>,
    pub ids: Vec<Id>,
}

impl ShardInput<'_> {
    /// The element's string. `before`: the earlier elements.
    pub fn text(&self, format: Format, before: &[Text]) -> Text {
        match self {
            ShardInput::Made { shard, changes } => shard.text(format, &changes.0),
            ShardInput::Bytes(bytes) => text_of(format, bytes.0.to_vec(), 0).into(),
            ShardInput::Text(text) => text.0.to_vec().into(),
            ShardInput::Again { which, as_reference } => {
                let Some(again) = before.iter().rev().nth(usize::from(*which)) else {
                    return Text::default();
                };
                match as_reference {
                    true => Reference::of(format, &again.text).to_element().into_bytes().into(),
                    false => again.clone(),
                }
            }
            ShardInput::UnknownReference(number) => format!("~{number:012x}").into_bytes().into(),
        }
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Self {
        Text { text, ids: Vec::new() }
    }
}

/// Encodes a shard's bytes, which have no checksum in the native format.
fn text_of(format: Format, bytes: Vec<u8>, layout: u8) -> Vec<u8> {
    match format {
        Format::Native => base64_of(&sealed(bytes)).into_bytes(),
        Format::GoBloomfilter { .. } => format!("{layout}::{}", base64_of(&bytes)).into_bytes(),
        Format::RedisBloom => {
            let header = bytes.len().min(usize::from(layout % 4) * 53 + 73);
            let (header, rest) = bytes.split_at(header);
            let chunks: Vec<String> = rest.chunks(1 + usize::from(layout) * 16).map(base64_of).collect();
            [vec![base64_of(header)], chunks].concat().join(",").into_bytes()
        }
        _ => base64_of(&bytes).into_bytes(),
    }
}

impl Made<'_> {
    fn text(&self, format: Format, changes: &[Change]) -> Text {
        let (mut bytes, mut ids) = match format {
            Format::Native => self.native(),
            Format::Guava => (self.guava(), Vec::new()),
            Format::BitsAndBlooms if self.layout & 1 == 1 => return self.json().into(),
            Format::BitsAndBlooms => (self.bits_and_blooms(), Vec::new()),
            Format::RedisBloom => (self.redisbloom(), Vec::new()),
            Format::GoBloomfilter { bits, .. } => (self.payload(bits.unwrap_or(self.size.bits()), 4), Vec::new()),
            format => unreachable!("shards in {format:?} are not made yet"),
        };
        for change in changes {
            change.apply(&mut bytes);
            ids.clear();
        }
        let text = text_of(format, bytes, self.layout);
        Text { text, ids }
    }

    /// The bytes without the checksum, and the ids that were inserted.
    fn native(&self) -> (Vec<u8>, Vec<Id>) {
        let bits = self.size.bits();
        let hashes = u32::from(self.hashes);
        let mut shard = ReferenceShard::new(bits, hashes, self.seed.get(), self.epoch.get_u32(), self.expires());
        shard.count = self.count.get_u32();
        let mut inserted = Vec::new();
        match &self.fill {
            Fill::Ids { first, count } => {
                inserted = (0..*count).map(|number| Id(first.0.wrapping_add(number))).collect();
                let all = inserted
                    .iter()
                    .flat_map(|id| positions(id.text().as_bytes(), bits, hashes, shard.seed));
                shard.set = all.collect();
            }
            _ if bits <= MOST_PLAIN_BITS => shard.set = self.set_positions(bits),
            _ => {}
        }
        let is_raw = self.layout & 1 == 0 && bits <= MOST_PLAIN_BITS;
        // A small Rice parameter makes long streams of a sparse filter.
        let least_r = bits.max(1).ilog2().saturating_sub(12) as u8;
        let mut bytes = match is_raw {
            true => shard.to_raw_bytes(),
            false => shard.to_rice_bytes((self.layout >> 1).clamp(least_r, 31)),
        };
        bytes.truncate(bytes.len() - 4);
        (bytes, inserted)
    }

    fn set_positions(&self, bits: u32) -> BTreeSet<u32> {
        let payload = self.payload(bits, 1);
        let is_set = |position: &u32| payload[(position / 8) as usize] >> (position % 8) & 1 == 1;
        (0..bits).filter(is_set).collect()
    }

    fn expires(&self) -> u32 {
        self.expires.map_or(0, Time::seconds)
    }

    /// The bits in words of this many bytes, limited to [`MOST_PAYLOAD_BYTES`].
    fn payload(&self, bits: u32, word: usize) -> Vec<u8> {
        let length = (bits.div_ceil(8) as usize)
            .next_multiple_of(word)
            .min(MOST_PAYLOAD_BYTES);
        match &self.fill {
            Fill::Ids { first, count } => {
                let mut state = u64::from(first.0) << 8 | u64::from(*count);
                let mut next = || {
                    state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    (state >> 56) as u8
                };
                (0..length).map(|_| next()).collect()
            }
            Fill::Pattern(byte) => vec![*byte; length],
            Fill::Bytes(bytes) => {
                let mut payload = bytes.0.to_vec();
                payload.resize(length, 0);
                payload
            }
        }
    }

    fn guava(&self) -> Vec<u8> {
        let words = self.size.bits().div_ceil(64);
        let mut bytes = vec![self.layout & 1, self.hashes];
        bytes.extend_from_slice(&words.to_be_bytes());
        bytes.extend(self.payload(self.size.bits(), 8));
        bytes
    }

    /// The number of bits and the bits, as in both encodings.
    fn bit_set(&self) -> Vec<u8> {
        let bits = self.size.bits();
        let mut payload = self.payload(bits, 8);
        // Words are big-endian, so the upper bits of the last one come first.
        let beyond = bits % 64;
        if let Some(last) = payload.last_chunk_mut::<8>().filter(|_| beyond != 0) {
            *last = (u64::from_be_bytes(*last) & ((1 << beyond) - 1)).to_be_bytes();
        }
        [&u64::from(bits).to_be_bytes()[..], &payload].concat()
    }

    fn bits_and_blooms(&self) -> Vec<u8> {
        let (bits, hashes) = (u64::from(self.size.bits()), u64::from(self.hashes));
        [&bits.to_be_bytes()[..], &hashes.to_be_bytes(), &self.bit_set()].concat()
    }

    fn json(&self) -> Vec<u8> {
        let (bits, hashes, set) = (self.size.bits(), self.hashes, base64_of(&self.bit_set()));
        format!("{{\"m\":{bits},\"k\":{hashes},\"b\":\"{set}\"}}").into_bytes()
    }

    /// The header and all filters' bits: the layout gives the number of filters, each twice as large as the previous
    /// one.
    fn redisbloom(&self) -> Vec<u8> {
        let filters = 1 + u32::from(self.layout % 4);
        let (mut header, mut bits) = (Vec::new(), Vec::new());
        header.extend_from_slice(&self.count.get().to_le_bytes());
        for field in [filters, 4, 2] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        for filter in 0..filters {
            let size = (u64::from(self.size.bits()) << filter)
                .min(1 << 31)
                .next_multiple_of(64) as u32;
            header.extend_from_slice(&u64::from(size / 8).to_le_bytes());
            header.extend_from_slice(&u64::from(size).to_le_bytes());
            header.extend_from_slice(&self.count.get().to_le_bytes());
            header.extend_from_slice(&[0; 16]);
            header.extend_from_slice(&u32::from(self.hashes).to_le_bytes());
            header.extend_from_slice(&[0; 8]);
            let is_power = size.is_power_of_two() && self.layout & 64 != 0;
            header.push(if is_power { size.ilog2() as u8 } else { 0 });
            bits.extend(self.payload(size, 8));
        }
        [header, bits].concat()
    }
}

impl Change {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        match *self {
            Change::Flip { at, mask } => {
                let length = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(usize::from(at) % length) {
                    *byte ^= mask;
                }
            }
            Change::Cut(length) => bytes.truncate(length.into()),
            Change::Append(byte) => bytes.push(byte),
        }
    }
}
