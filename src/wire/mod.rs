//! The formats of shards, each in a file with its reader and, if it has one, its writer.
//!
//! Filters of other libraries are read bit for bit, so that a server need not change its filters. They never expire,
//! have no epoch, and if no count is stored, the estimate is the count.
//!
//! Ids are hashed as UTF-8 in every format. A lone surrogate becomes U+FFFD, as in TextEncoder and Go. Java's encoder
//! writes `?` instead, so Guava has other positions for such ids.
//!
//! Reading has two steps in every format: the first reads the sizes and allocates nothing for the bits; the second
//! decodes the bits, once the sizes are known to be within the limits.

mod format;
pub mod native;
mod reference;
mod rice;

// The native format does not use all of these.
#[cfg_attr(not(feature = "formats"), allow(dead_code))]
mod encoded;
#[cfg_attr(not(feature = "formats"), allow(dead_code))]
mod payload;
#[cfg_attr(not(feature = "formats"), allow(dead_code))]
mod reader;

#[cfg(feature = "formats")]
pub mod bits_and_blooms;
#[cfg(feature = "formats")]
mod foreign;
#[cfg(feature = "formats")]
pub mod go_bloomfilter;
#[cfg(feature = "formats")]
pub mod guava;
#[cfg(feature = "formats")]
pub mod redisbloom;

pub(crate) use encoded::EncodedShard;
pub use encoded::Encoding;
pub use format::Format;
pub use reference::Reference;

use crate::base64;
use crate::error::{Error, message};
#[cfg(feature = "formats")]
use crate::hash::ForeignScheme;
use crate::hash::HashScheme;
use crate::params::Parameters;
use crate::shard::Shard;

/// Reads the filters of one shard of any format: one, or several in a RedisBloom key that has grown. In formats without
/// epoch and expiry both are 0, and if no count is stored, the count is the estimate.
///
/// ```
/// use seenguard::wire::{self, Format};
/// let filters = wire::read(Format::Guava, "AQEAAAABAAAAAAAAAAA=")?;
/// assert_eq!((filters.len(), filters[0].filter.parameters().bits()), (1, 64));
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// The first error in the order of [`native`]; [`Error::TooLarge`] for over 2^26 bits; [`Error::OutOfMemory`].
pub fn read(format: Format, text: &str) -> Result<Vec<Shard>, Error> {
    let encoded = decode(format, text.as_bytes())?;
    encoded.check_size()?;
    encoded
        .filters()
        .iter()
        .map(|filter| encoded.read_shard(filter))
        .collect()
}

/// Decodes and checks a shard except its bits.
pub(crate) fn decode(format: Format, text: &[u8]) -> Result<EncodedShard, Error> {
    match format {
        Format::Native => native::decode(text),
        #[cfg(feature = "formats")]
        Format::GoBloomfilter { hashes, bits } => go_bloomfilter::decode(text, hashes, bits),
        #[cfg(feature = "formats")]
        Format::Guava => guava::decode(text),
        #[cfg(feature = "formats")]
        Format::BitsAndBlooms => bits_and_blooms::decode(text),
        #[cfg(feature = "formats")]
        Format::RedisBloom => redisbloom::decode(text),
    }
}

/// The expected length of a native shard as base64, with this many items, at least one.
pub(crate) fn expected_base64_len(parameters: Parameters, items: f64) -> f64 {
    base64::encoded_len(native::expected_encoded_len(parameters, items) as usize) as f64
}

impl Shard {
    /// The canonical bytes of the native format.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for a shard that was read from another format, which [`Shard::to_base64`] writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        if !self.filter.is_native() {
            return Err(Error::BadSnapshot(message(
                "a shard of another format has no native bytes",
            )));
        }
        Ok(native::encode(self))
    }

    /// The shard as it is stored and sent: the canonical bytes as base64, standard alphabet with padding. A shard that
    /// was read from another format is written in that format.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for a shard of a format that is only read.
    pub fn to_base64(&self) -> Result<String, Error> {
        match self.filter.spec().scheme {
            HashScheme::Native => Ok(base64::encode(&native::encode(self))),
            #[cfg(feature = "formats")]
            HashScheme::Foreign(ForeignScheme::GoBloomfilter) => Ok(go_bloomfilter::write(self)),
            #[cfg(feature = "formats")]
            HashScheme::Foreign(ForeignScheme::Guava32 | ForeignScheme::Guava64) => Ok(guava::write(self)),
            #[cfg(feature = "formats")]
            HashScheme::Foreign(ForeignScheme::BitsAndBlooms | ForeignScheme::RedisBloom) => Err(Error::BadSnapshot(
                message("bits-and-blooms and redisbloom are only read"),
            )),
        }
    }

    /// Reads a shard's bytes.
    ///
    /// # Errors
    /// The first error in the order of [`native`]; [`Error::OutOfMemory`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        native::Header::read(bytes)?.read_payload()
    }

    /// Reads a shard from base64.
    ///
    /// ```
    /// use seenguard::{BloomFilter, Parameters, Shard};
    /// let mut shard = Shard::new(BloomFilter::new(Parameters::for_capacity(100, 0.01)?, 0), 1, 0);
    /// shard.insert("article-17");
    /// let shipped = shard.to_base64()?;
    /// assert_eq!(Shard::from_base64(&shipped)?, shard);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadBase64`], or as [`Shard::from_bytes`].
    pub fn from_base64(text: &str) -> Result<Self, Error> {
        Shard::from_bytes(&base64::decode(text.as_bytes())?)
    }
}
