//! A shard: one Bloom filter of a chain, with its count, epoch and expiry.

use crate::bloom::BloomFilter;
use crate::hash::HashedId;
use crate::time::Time;

/// One Bloom filter of a chain. [`crate::wire::native`] describes its bytes. [`crate::wire::read`] reads shards of
/// other formats, whose epoch and expiry are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// The bits.
    pub filter: BloomFilter,
    /// The number of ids added that the shard did not contain before.
    pub count: u32,
    /// The shard's number in its chain: for the first shard the chain's creation in Unix seconds, for each new one 1
    /// more.
    pub epoch: u32,
    /// The time from which the shard is not used, Unix seconds; 0: never.
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
        self.insert_hashed(HashedId::new(id.as_ref()))
    }

    pub(crate) fn insert_hashed(&mut self, id: HashedId<'_>) -> bool {
        let is_new = self.filter.insert_hashed(id);
        self.count = self.count.saturating_add(u32::from(is_new));
        is_new
    }

    /// Whether the shard is past its expiry.
    pub fn is_expired(&self, now: Time) -> bool {
        has_expired(self.expires, now.unix_seconds())
    }
}

/// Whether an expiry in Unix seconds, 0 for never, has passed.
pub(crate) fn has_expired(expires: u32, now_seconds: u64) -> bool {
    expires != 0 && now_seconds >= u64::from(expires)
}
