//! Taking back: ids become unseen, and a history is deleted.

use super::link::Link;
use super::seconds::{rounded_up, shard_seconds};
use super::shard_chain::{ShardChain, contained};
use super::unseen::Unseen;
use crate::error::Error;
use crate::id_list::IdList;
use crate::time::Time;

impl ShardChain {
    /// Makes ids unseen: they are fresh until they are recorded again. The newest 1,000 are kept; an id that no live
    /// shard contains is fresh anyway, and is not.
    ///
    /// ```
    /// use seenguard::{ChainOptions, ShardChain, Time};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// chain.record(&["a", "b"], now)?;
    /// chain.unsee(&["a"], now)?;
    /// assert_eq!(chain.filter(&["a", "b"], None, now)?, [0]);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn unsee(&mut self, ids: &(impl IdList + ?Sized), now: Time) -> Result<(), Error> {
        self.drop_expired(shard_seconds(now)?);
        for index in 0..ids.len() {
            self.unseen.insert(ids.get(index), now);
        }
        self.drop_needless_unseen();
        Ok(())
    }

    /// Drops the ids that no shard contains, and all but the newest 1,000 of the others.
    pub(super) fn drop_needless_unseen(&mut self) {
        let links = &self.links;
        self.unseen.retain(|id, _| contained(links.iter().map(Link::shard), id));
        self.unseen.keep_newest();
    }

    /// Deletes the history: no shards, no unseen ids, and snapshots say from when on impressions count. That is this
    /// time, rounded up to a second, and never earlier than before.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a time beyond 2^32 seconds.
    pub fn forget(&mut self, now: Time) -> Result<(), Error> {
        let before = rounded_up(now)?;
        self.links.clear();
        self.unseen = Unseen::default();
        self.forget_before = self.forget_before.max(Some(before));
        Ok(())
    }

    /// The time from which on impressions count.
    pub(super) fn counts_from(&self) -> Time {
        Time::from_unix_seconds(self.forget_before.unwrap_or(0).into())
    }
}
