//! A shard: one Bloom filter of a chain, with what a client needs to use it.

use crate::wire::{self, base64, native};
use crate::{BloomFilter, Error};

/// One Bloom filter of a chain. See [`crate::wire::native`] for its bytes. [`crate::wire::read`] makes shards of other formats, whose epoch and
/// expiry are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// The bits.
    pub filter: BloomFilter,
    /// How many ids were added that the shard did not contain before.
    pub count: u32,
    /// The shard's number in its chain: the first shard's is the chain's creation in Unix seconds, each new one's is 1 more.
    pub epoch: u32,
    /// Unix seconds from which on the shard is not used; 0: never.
    pub expires: u32,
}

impl Shard {
    /// An empty shard.
    pub fn new(filter: BloomFilter, epoch: u32, expires: u32) -> Self {
        Shard {
            filter,
            count: 0,
            epoch,
            expires,
        }
    }

    /// Inserts an id unless the shard contains it. Returns whether it was inserted.
    pub fn insert(&mut self, id: impl AsRef<[u8]>) -> bool {
        let new = self.filter.insert(id);
        self.count = self.count.saturating_add(u32::from(new));
        new
    }

    /// Whether the shard is past its expiry and answers nothing.
    pub fn is_expired(&self, now_seconds: u64) -> bool {
        has_expired(self.expires, now_seconds)
    }

    /// The canonical bytes of the native format; empty for a shard that was read from another one, which [`Shard::to_base64`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.filter.is_native() {
            native::encode(self)
        } else {
            Vec::new()
        }
    }

    /// What travels: the canonical bytes as base64 text, standard alphabet with padding. A shard that was read from another format is written in
    /// that format; if that has no writer here, the text is empty.
    pub fn to_base64(&self) -> String {
        wire::write(self)
    }

    /// Reads a shard's bytes.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order of [`crate::wire::native`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        native::Header::read(bytes)?.read_payload()
    }

    /// Reads a shard's base64 text.
    ///
    /// ```
    /// use seenguard::{BloomFilter, Parameters, Shard};
    /// let mut shard = Shard::new(BloomFilter::new(Parameters::for_capacity(100, 0.01)?, 0), 1, 0);
    /// shard.insert("article-17");
    /// let shipped = shard.to_base64();
    /// assert_eq!(Shard::from_base64(&shipped)?, shard);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadBase64`], or as [`Shard::from_bytes`].
    pub fn from_base64(text: &str) -> Result<Self, Error> {
        Shard::from_bytes(&base64::decode(text)?)
    }
}

/// Whether an expiry in Unix seconds, 0 for never, has come.
pub(crate) fn has_expired(expires: u32, now_seconds: u64) -> bool {
    expires != 0 && now_seconds >= u64::from(expires)
}
