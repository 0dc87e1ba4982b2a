//! Bytes and text of shards: a file for each format, with its reader and, where it has one, its writer.
//!
//! A format other than the native one is read as the servers have it, bit for bit, so that a server need not change the
//! filter on the server. What such a filter lacks is absent: it never expires, has no epoch, and without a stored count
//! the estimate is its count.
//!
//! Ids are hashed as UTF-8 in every format. Text that was not Unicode, a lone surrogate, comes as U+FFFD, as
//! TextEncoder writes it: Go writes the same, while Java's encoder writes `?` instead, so that Guava's answers for such
//! ids are of no use elsewhere.
//!
//! Reading takes two steps in every format: the first learns the sizes and allocates nothing for the bits, the second
//! is taken once the sizes are known to be within the limits.

mod format;
pub mod native;
mod reference;
mod rice;

// What the native format does not need of these, the others do.
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

/// Reads one shard of any format: the filters in it, which are several in a RedisBloom key that has grown, else one. In
/// a format without them, epoch and expiry are 0, and the count is the estimate where none is stored.
///
/// ```
/// use seenguard::wire::{self, Format};
/// let filters = wire::read(Format::Guava, "AQEAAAABAAAAAAAAAAA=")?;
/// assert_eq!((filters.len(), filters[0].filter.parameters().bits()), (1, 64));
/// # Ok::<(), seenguard::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the text, by the codes of [`native`]; [`Error::TooLarge`] for over 2^26 bits;
/// [`Error::OutOfMemory`].
pub fn read(format: Format, text: &str) -> Result<Vec<Shard>, Error> {
    let encoded = decode(format, text.as_bytes())?;
    encoded.check_size()?;
    encoded
        .filters()
        .iter()
        .map(|filter| encoded.read_shard(filter))
        .collect()
}

/// Checks all of a shard's text but the bits.
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

/// The expected length of the base64 text of a native shard with this many items, at least one.
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

    /// The text that travels: the canonical bytes as base64, standard alphabet with padding. A shard that was read from
    /// another format is written in that format.
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
    /// The first thing that is wrong, in the order of [`native`]; [`Error::OutOfMemory`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        native::Header::read(bytes)?.read_payload()
    }

    /// Reads a shard's base64 text.
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
