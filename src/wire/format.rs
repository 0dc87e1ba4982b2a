//! The formats of shards, and their properties for chains.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "formats")]
use super::{go_bloomfilter, guava};
use crate::bloom::FilterSpec;
use crate::error::Error;
use crate::params::Parameters;

/// The format of a snapshot's or a chain's shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// Seenguard's own format; see `wire::native`.
    #[default]
    Native,
    /// The records of a Redis list, `count::base64`; see `wire::go_bloomfilter`.
    #[cfg(feature = "formats")]
    GoBloomfilter {
        /// k, which is not in a record.
        hashes: u32,
        /// m, if it is known: a record of another size is then damaged.
        bits: Option<u32>,
    },
    /// Base64 of Guava's `BloomFilter.writeTo`; see `wire::guava`.
    #[cfg(feature = "formats")]
    Guava,
    /// Base64 of `MarshalBinary`, or the JSON of `MarshalJSON`; see `wire::bits_and_blooms`.
    #[cfg(feature = "formats")]
    BitsAndBlooms,
    /// The chunks of `BF.SCANDUMP` as base64, joined by commas; see `wire::redisbloom`.
    #[cfg(feature = "formats")]
    RedisBloom,
}

impl Format {
    /// The records of a Go service whose filters are made for this capacity and false positive rate.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::BadParameters`] or [`Error::TooLarge`], as [`Parameters::for_capacity`].
    #[cfg(feature = "formats")]
    pub fn go_bloomfilter(capacity: u32, false_positive_rate: f64) -> Result<Self, Error> {
        let parameters = go_bloomfilter::parameters(capacity, false_positive_rate)?;
        Ok(Format::GoBloomfilter {
            hashes: parameters.hashes(),
            bits: Some(parameters.bits()),
        })
    }

    /// A format by its number in `js/format.ts`: 0 native, 1 Guava, 2 bits-and-blooms, 3 RedisBloom, 4 go-bloomfilter
    /// with `number` hashes, 5 go-bloomfilter for `number` items at the false positive rate `rate`.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for a format that this module cannot read; as [`Format::go_bloomfilter`] for a size out
    /// of range.
    #[cfg(any(all(target_arch = "wasm32", any(feature = "client", feature = "server")), test))]
    pub(crate) fn from_arguments(kind: u8, number: u32, rate: f64) -> Result<Self, Error> {
        // Unused without the other formats.
        let _ = (number, rate);
        match kind {
            0 => Ok(Format::Native),
            #[cfg(feature = "formats")]
            1 => Ok(Format::Guava),
            #[cfg(feature = "formats")]
            2 => Ok(Format::BitsAndBlooms),
            #[cfg(feature = "formats")]
            3 => Ok(Format::RedisBloom),
            #[cfg(feature = "formats")]
            4 => Ok(Format::GoBloomfilter {
                hashes: number,
                bits: None,
            }),
            #[cfg(feature = "formats")]
            5 => Format::go_bloomfilter(number, rate),
            _ => Err(Error::BadSnapshot(crate::error::message(
                "this copy of seenguard reads its native format alone: import \"seenguard/formats\" instead of \
                 \"seenguard\" everywhere, or give \"seenguard/slim\" formats.wasm",
            ))),
        }
    }

    /// Whether this is the native format, whose shards alone have a seed, an epoch and an expiry.
    pub(crate) fn is_native(&self) -> bool {
        *self == Format::Native
    }

    /// The spec of new shards in this format.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::BadParameters`] or [`Error::TooLarge`] for sizes out of range;
    /// [`Error::BadOption`] for a format that is only read.
    pub(crate) fn filter_spec(self, capacity: u32, rate: f64, seed: u64) -> Result<FilterSpec, Error> {
        match self {
            Format::Native => Ok(FilterSpec::native(Parameters::for_capacity(capacity, rate)?, seed)),
            #[cfg(feature = "formats")]
            Format::GoBloomfilter { hashes, bits } => go_bloomfilter::spec(hashes, bits, capacity, rate),
            #[cfg(feature = "formats")]
            Format::Guava => guava::spec(capacity, rate),
            #[cfg(feature = "formats")]
            Format::BitsAndBlooms | Format::RedisBloom => Err(Error::BadOption(crate::error::message(
                "bits-and-blooms and redisbloom are only read: store a chain in \"seenguard\", \"go-bloomfilter\" or \"guava\"",
            ))),
        }
    }

    /// The separator of a shard's chunks, if the format has several.
    pub(crate) fn chunk_separator(self) -> Option<u8> {
        match self {
            #[cfg(feature = "formats")]
            Format::RedisBloom => Some(b','),
            _ => None,
        }
    }

    /// This format for shards of any size: restored shards may differ in size from those that the chain begins.
    pub(crate) fn of_any_size(self) -> Self {
        match self {
            #[cfg(feature = "formats")]
            Format::GoBloomfilter { hashes, .. } => Format::GoBloomfilter { hashes, bits: None },
            format => format,
        }
    }
}

/// Serialized as the TypeScript declarations describe.
impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Format::Native => serializer.serialize_str("seenguard"),
            #[cfg(feature = "formats")]
            Format::Guava => serializer.serialize_str("guava"),
            #[cfg(feature = "formats")]
            Format::BitsAndBlooms => serializer.serialize_str("bits-and-blooms"),
            #[cfg(feature = "formats")]
            Format::RedisBloom => serializer.serialize_str("redisbloom"),
            #[cfg(feature = "formats")]
            Format::GoBloomfilter { hashes, .. } => {
                #[derive(Serialize)]
                struct WithHashes {
                    kind: &'static str,
                    hashes: u32,
                }
                let kind = "go-bloomfilter";
                WithHashes { kind, hashes }.serialize(serializer)
            }
        }
    }
}

/// Deserialized from the form that `Serialize` writes.
impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Named {
            Kind(String),
            WithHashes { kind: String, hashes: u32 },
        }
        let (kind, hashes) = match Named::deserialize(deserializer)? {
            Named::Kind(kind) => (kind, None),
            Named::WithHashes { kind, hashes } => (kind, Some(hashes)),
        };
        match (kind.as_str(), hashes) {
            ("seenguard", None) => Ok(Format::Native),
            #[cfg(feature = "formats")]
            ("guava", None) => Ok(Format::Guava),
            #[cfg(feature = "formats")]
            ("bits-and-blooms", None) => Ok(Format::BitsAndBlooms),
            #[cfg(feature = "formats")]
            ("redisbloom", None) => Ok(Format::RedisBloom),
            #[cfg(feature = "formats")]
            ("go-bloomfilter", Some(hashes)) => Ok(Format::GoBloomfilter { hashes, bits: None }),
            _ => Err(D::Error::custom("this build of the crate does not support the format")),
        }
    }
}

#[cfg(all(test, feature = "formats"))]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_number() {
        let go = Format::GoBloomfilter { hashes: 7, bits: None };
        let known = [
            Format::Native,
            Format::Guava,
            Format::BitsAndBlooms,
            Format::RedisBloom,
            go,
        ];
        for (kind, format) in (0..).zip(known) {
            assert_eq!(Format::from_arguments(kind, 7, 0.0), Ok(format));
        }
        assert_eq!(Format::from_arguments(5, 100, 0.01), Format::go_bloomfilter(100, 0.01));
        assert_eq!(
            Format::from_arguments(6, 0, 0.0).map_err(|error| error.code()),
            Err("bad-snapshot")
        );
    }
}
