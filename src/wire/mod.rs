//! Bytes and text of shards: each format in a file of its own, with its hash, its reader and, where it has one, its writer.
//!
//! A format other than the native one is read as the servers have it, bit for bit, so that nobody has to change the filter on the server. What
//! such a filter lacks is absent: it never expires, has no epoch, and counts as what its fill tells where it does not count itself.
//!
//! Ids are hashed as UTF-8 in every format. Text that was not Unicode, a lone surrogate, comes as U+FFFD, as TextEncoder writes it: Go writes
//! the same, while Java's encoder writes `?` instead, so that Guava's answers for such ids are of no use to anybody else.
//!
//! Reading is in two steps, in every format: the first learns the sizes and takes no memory for the bits, the second runs once the sizes are
//! known to be bearable.

pub(crate) mod base64;
pub mod bits_and_blooms;
pub mod go_bloomfilter;
pub mod guava;
mod murmur3;
pub mod native;
mod payload;
pub mod redisbloom;
mod rice;

use serde::{Serialize, Serializer};

use crate::bloom::FilterSpec;
use crate::hash::{HashScheme, HashedId};
use crate::params::MAX_SNAPSHOT_BITS;
use crate::{BloomFilter, Error, Parameters, Shard};

/// The format of a snapshot's or a chain's shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Seenguard's own: [`native`].
    #[default]
    Native,
    /// The records of a Redis list, `count::base64`: [`go_bloomfilter`].
    GoBloomfilter {
        /// k, which such a record does not tell.
        hashes: u32,
        /// m, if it is known: then a record of another size is damaged.
        bits: Option<u32>,
    },
    /// Base64 of Guava's `BloomFilter.writeTo`: [`guava`].
    Guava,
    /// Base64 of `MarshalBinary`, or the text of `MarshalJSON`: [`bits_and_blooms`].
    BitsAndBlooms,
    /// The chunks of `BF.SCANDUMP` as base64, joined by commas: [`redisbloom`].
    RedisBloom,
}

impl Format {
    /// The records of a Go service whose filters are made for so many items at this false positive rate.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::BadParameters`] or [`Error::TooLarge`], as [`Parameters::for_capacity`].
    pub fn go_bloomfilter(capacity: u32, false_positive_rate: f64) -> Result<Self, Error> {
        let parameters = go_bloomfilter::parameters(capacity, false_positive_rate)?;
        Ok(Format::GoBloomfilter {
            hashes: parameters.hashes(),
            bits: Some(parameters.bits()),
        })
    }

    /// Of a format that is known.
    pub(crate) fn is_native(&self) -> bool {
        !cfg!(feature = "formats") || *self == Format::Native
    }

    /// Whether both are the same, of formats that are known.
    pub(crate) fn is(self, other: Format) -> bool {
        !cfg!(feature = "formats") || self == other
    }

    /// Whether this build has it: without the feature `formats` there is the native one alone.
    pub(crate) fn is_known(&self) -> bool {
        cfg!(feature = "formats") || *self == Format::Native
    }
}

/// As the TypeScript declarations have it.
impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Go {
            kind: &'static str,
            hashes: u32,
        }
        let name = match *self {
            Format::Native => "seenguard",
            Format::Guava => "guava",
            Format::BitsAndBlooms => "bits-and-blooms",
            Format::RedisBloom => "redisbloom",
            Format::GoBloomfilter { hashes, .. } => {
                let kind = "go-bloomfilter";
                return Go { kind, hashes }.serialize(serializer);
            }
        };
        serializer.serialize_str(name)
    }
}

/// Reads one shard of any format: the filters in it, which are several in a RedisBloom chain that has grown, else one. In a format without them,
/// epoch and expiry are 0, and the count is the estimate where none is stored.
///
/// ```
/// use seenguard::wire::{self, Format};
/// let filters = wire::read(Format::Guava, "AQEAAAABAAAAAAAAAAA=")?;
/// assert_eq!((filters.len(), filters[0].filter.parameters().bits()), (1, 64));
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the text, by the codes of [`native`]; [`Error::TooLarge`] for over 2^26 bits; [`Error::BadSnapshot`] for a format that this
/// build does not have.
pub fn read(format: Format, text: &str) -> Result<Vec<Shard>, Error> {
    let decoded = decode(format, text)?;
    if decoded.bits() > MAX_SNAPSHOT_BITS {
        return Err(TOO_LARGE);
    }
    decoded.filters.iter().map(|filter| decoded.shard(filter)).collect()
}

pub(crate) const TOO_LARGE: Error = Error::TooLarge("a shard has over 2^26 bits");

/// What to do about a format that is not known.
pub(crate) const NOT_KNOWN: &str = if cfg!(target_arch = "wasm32") {
    "this copy of seenguard knows its native format alone: import \"seenguard/formats\" instead wherever seenguard is imported, or give \"seenguard/slim\" formats.wasm"
} else {
    "this build of seenguard knows its native format alone: enable the feature \"formats\" of the crate"
};

/// A shard's text as bytes, and the filters that lie in them.
#[derive(Default)]
pub(crate) struct Decoded {
    bytes: Vec<u8>,
    pub(crate) filters: Vec<EncodedFilter>,
    pub(crate) epoch: u32,
    pub(crate) expires: u32,
    encoding: native::Encoding,
}

/// A filter whose sizes are right and whose bits have not been looked at.
pub(crate) struct EncodedFilter {
    spec: FilterSpec,
    /// Where its bits lie.
    start: usize,
    end: usize,
    /// How many items it says that it holds.
    count: Option<u32>,
}

/// Checks all of a shard's text but the bits.
pub(crate) fn decode(format: Format, text: impl AsRef<[u8]>) -> Result<Decoded, Error> {
    // Bytes: what slices text brings its own panics with it.
    let text = text.as_ref();
    if !format.is_known() {
        return Err(Error::BadSnapshot(NOT_KNOWN));
    }
    match format {
        Format::Native => native::decode(text),
        Format::GoBloomfilter { hashes, bits } => go_bloomfilter::decode(text, hashes, bits),
        Format::Guava => guava::decode(text),
        Format::BitsAndBlooms => bits_and_blooms::decode(text),
        Format::RedisBloom => redisbloom::decode(text),
    }
}

impl Decoded {
    /// A single filter of another format, whose bits are all bytes from `start` on.
    #[inline(never)]
    fn single(bytes: Vec<u8>, start: usize, spec: FilterSpec, count: Option<u32>) -> Self {
        let end = bytes.len();
        Decoded {
            bytes,
            filters: vec![EncodedFilter {
                spec,
                start,
                end,
                count,
            }],
            ..Decoded::default()
        }
    }

    pub(crate) fn bits(&self) -> u64 {
        self.filters.iter().map(|filter| u64::from(filter.spec.bits())).sum()
    }

    pub(crate) fn byte_length(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn encoding(&self) -> native::Encoding {
        self.encoding
    }

    /// Reads the bits of one of its filters.
    pub(crate) fn filter(&self, unread: &EncodedFilter) -> Result<BloomFilter, Error> {
        let bits = self.bytes.get(unread.start..unread.end).unwrap_or_default();
        native::read_bits(self.encoding(), bits, unread.spec)
    }

    /// The same, with what is known of it.
    pub(crate) fn shard(&self, unread: &EncodedFilter) -> Result<Shard, Error> {
        let filter = self.filter(unread)?;
        Ok(Shard {
            count: unread
                .count
                .unwrap_or_else(|| filter.estimate_items().round_ties_even() as u32),
            filter,
            epoch: self.epoch,
            expires: self.expires,
        })
    }
}

impl EncodedFilter {
    pub(crate) fn count(&self) -> Option<u32> {
        self.count
    }
}

/// A shard's text in the format of its filter; empty in a format that is only read.
pub(crate) fn write(shard: &Shard) -> String {
    let spec = shard.filter.spec();
    let bytes = match spec.scheme {
        _ if spec.is_native() => native::encode(shard),
        HashScheme::GoBloomfilter => return go_bloomfilter::write(shard),
        HashScheme::Guava32 | HashScheme::Guava64 => guava::encode(shard),
        _ => Vec::new(),
    };
    base64::encode(&bytes)
}

/// The k positions of an id in a filter of any format but the native one.
pub(crate) struct ForeignPositions {
    spec: FilterSpec,
    hash: [u64; 4],
    index: u32,
}

impl ForeignPositions {
    #[inline(never)]
    pub(crate) fn new(spec: FilterSpec, id: HashedId<'_>) -> Self {
        let id = id.bytes();
        let hash = match spec.scheme {
            HashScheme::GoBloomfilter => go_bloomfilter::hash(id),
            HashScheme::RedisBloom => redisbloom::hash(id),
            HashScheme::BitsAndBlooms => bits_and_blooms::hash(id),
            _ => guava::hash(id),
        };
        ForeignPositions { spec, hash, index: 0 }
    }
}

impl Iterator for ForeignPositions {
    type Item = u32;

    #[inline(never)]
    fn next(&mut self) -> Option<u32> {
        if self.index == self.spec.parameters.hashes() {
            return None;
        }
        let (hash, bits) = (&mut self.hash, u64::from(self.spec.bits()));
        let place = match self.spec.scheme {
            HashScheme::GoBloomfilter => go_bloomfilter::place(hash, bits),
            HashScheme::RedisBloom => redisbloom::place(hash),
            HashScheme::BitsAndBlooms => bits_and_blooms::place(hash, u64::from(self.index)),
            HashScheme::Guava32 => guava::place_32(hash),
            _ => guava::place_64(hash),
        };
        self.index += 1;
        Some((place % bits) as u32)
    }
}

/// m and k of a filter that others have made: any k of a byte, and as many bits as a snapshot may have.
#[inline(never)]
pub(crate) fn parameters(bits: u64, hashes: u64) -> Result<Parameters, Error> {
    if bits == 0 || hashes.wrapping_sub(1) >= 255 {
        return Err(Error::BadParameters("a filter has at least 1 bit, and 1 to 255 hashes"));
    }
    if bits > MAX_SNAPSHOT_BITS {
        return Err(TOO_LARGE);
    }
    Ok(Parameters::of_others(bits as u32, hashes as u32))
}

/// The unsigned integer of `length` bytes at a place, big-endian.
#[inline(never)]
fn integer(bytes: &[u8], at: usize, length: usize) -> Result<u64, Error> {
    match bytes.get(at..at + length) {
        Some(bytes) => Ok(bytes.iter().fold(0, |integer, &byte| integer << 8 | u64::from(byte))),
        None => Err(Error::Truncated { length: bytes.len() }),
    }
}

/// Decimal digits and nothing else.
#[inline(never)]
fn number(text: &[u8]) -> Option<u64> {
    let digit = |number: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    (!text.is_empty()).then(|| text.iter().try_fold(0, digit)).flatten()
}
