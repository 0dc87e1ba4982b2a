//! What a chain keeps beside its shards: what was taken back, and when the history was deleted.

use super::link::Link;
use super::shard_chain::{ShardChain, contained, seconds};
use super::unseen::Unseen;
use crate::error::Error;
use crate::id_list::IdList;
use crate::impression::Impression;
use crate::params::MAX_SNAPSHOT_UNSEEN;

impl ShardChain {
    /// Takes over what was stored beside the shards: what was taken back, and when the history was deleted.
    ///
    /// # Errors
    /// [`Error::BadSnapshot`] for more than 1,000 taken back: then nothing changes.
    pub fn restore_exceptions(&mut self, unseen: &[Impression], forget_before: Option<u32>) -> Result<(), Error> {
        if unseen.len() > MAX_SNAPSHOT_UNSEEN {
            return Err(Error::BadSnapshot("unseen has more than 1,000 entries"));
        }
        for Impression { id, at } in unseen {
            self.unseen.insert(id.as_bytes(), *at);
        }
        self.drop_needless_unseen();
        self.forget_before = self.forget_before.max(forget_before);
        Ok(())
    }

    /// Takes ids back: they are fresh until they are recorded again. At most 1,000 are, the newest; what no live shard
    /// contains needs no taking back and is dropped. The time is in Unix milliseconds.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn unsee(&mut self, ids: &(impl IdList + ?Sized), now_ms: u64) -> Result<(), Error> {
        let now = seconds(now_ms / 1000)?;
        self.drop_expired(now);
        for index in 0..ids.len() {
            self.unseen.insert(ids.get(index), now_ms);
        }
        self.drop_needless_unseen();
        Ok(())
    }

    /// Deletes the history: no shards, nothing taken back, and snapshots say from when on impressions count. That is
    /// the time given in Unix milliseconds, rounded up to a second, and never earlier than before.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn forget(&mut self, now_ms: u64) -> Result<(), Error> {
        let before = seconds(now_ms.div_ceil(1000))?;
        self.links.clear();
        self.unseen = Unseen::default();
        self.forget_before = self.forget_before.max(Some(before));
        Ok(())
    }

    /// Drops of what was taken back what no shard contains, and all but the newest 1,000.
    pub(super) fn drop_needless_unseen(&mut self) {
        let links = &self.links;
        self.unseen.retain(|id, _| contained(links.iter().map(Link::shard), id));
        self.unseen.keep_newest();
    }
}
