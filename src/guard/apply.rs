//! Applying snapshots, and how they cover this device's impressions.

use super::Guard;
use super::types::{Applied, CoveredImpression, NotApplied, recorded_at};
use super::unseen::Unseen;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::IdList;
use crate::snapshot::Snapshot;
use crate::table::{Deletion, MAX_AT, Origin};
use crate::time::Time;
use crate::wire::Reference;

/// Shards with a higher false positive rate are damaged, hostile or filled far beyond their capacity. A chain's shards
/// stay far below it.
const SATURATED_RATE: f64 = 0.5;

impl Guard {
    /// Applies a whole snapshot, or changes nothing.
    ///
    /// ```
    /// use seenguard::device::{DEFAULT_REMEMBER, Guard, NotApplied};
    /// use seenguard::{ChainOptions, ShardChain, Snapshot, Time};
    /// let time = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// let lagging = chain.snapshot(time, None)?;
    /// chain.record(&["a"], time)?;
    /// let shipped = chain.snapshot(time, None)?;
    ///
    /// let now = time;
    /// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    /// guard.record(&["a"], now);
    /// assert_eq!(guard.pending(10, now), ["a"]);
    ///
    /// let applied = guard.apply(Snapshot::from(&shipped), now)?;
    /// assert_eq!((applied.reason, applied.covered), (None, 1));
    /// assert!(guard.pending(10, now).is_empty());
    ///
    /// // The older state of a lagging replica arrives later: it changes nothing.
    /// let older = guard.apply(Snapshot::from(&lagging), now)?;
    /// assert_eq!(older.reason, Some(NotApplied::OlderVersion));
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`], [`Error::BadSnapshot`], or [`Error::InShard`] for the first shard
    /// that is wrong. A snapshot that is older than the one in use, or refers to a shard that the device lacks, is not
    /// an error: [`Applied::reason`] has the reason.
    pub fn apply<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Time) -> Result<Applied, Error> {
        self.apply_with(snapshot, true, now)
    }

    /// [`Guard::apply`]. Without `with_lags` it returns none, which is faster.
    pub(crate) fn apply_with<L: IdList + ?Sized>(
        &mut self,
        snapshot: Snapshot<'_, L>,
        with_lags: bool,
        now: Time,
    ) -> Result<Applied, Error> {
        let forget_before = snapshot.forget_before.unwrap_or(0);
        let is_older = match (snapshot.version, self.version) {
            (Some(version), Some(current)) => (forget_before, version) < (self.forget_before, current),
            _ => false,
        };
        if is_older {
            return Ok(self.applied(Some(NotApplied::OlderVersion), now));
        }
        self.is_missing_shard = !self.replace(&snapshot, now)?;
        if self.is_missing_shard {
            return Ok(self.applied(Some(NotApplied::MissingShard), now));
        }
        self.has_applied = true;
        self.snapshots += 1;
        self.version = snapshot.version;
        if forget_before > 0 {
            let at = device_time_of(forget_before, snapshot.now_ms, recorded_at(now));
            self.table.merge_deletion(Deletion {
                deleted_at: forget_before,
                at,
            });
        }
        let mut applied = self.applied(None, now);
        self.cover(&mut applied, with_lags, now);
        Ok(applied)
    }

    /// Applies the stored snapshot of an earlier visit, unless one was applied on this visit, or it is older than a
    /// known deletion of the history. Marks impressions as covered, since the page may have ended before it stored
    /// that; returns no lags, which were returned when it was first applied.
    ///
    /// # Errors
    /// As [`Guard::apply`].
    pub fn restore<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Time) -> Result<Applied, Error> {
        let mut applied = self.applied(None, now);
        if !self.has_applied && snapshot.forget_before.unwrap_or(0) >= self.latest_deletion() {
            self.replace(&snapshot, now)?;
            self.cover(&mut applied, false, now);
        }
        Ok(applied)
    }

    /// Replaces the snapshot in use. Returns false, and changes nothing, if a shard is missing.
    fn replace<L: IdList + ?Sized>(&mut self, snapshot: &Snapshot<'_, L>, now: Time) -> Result<bool, Error> {
        let unseen = Unseen::read(snapshot.unseen, snapshot.now_ms, now, &self.unseen)?;
        let is_replaced = self.server.replace(snapshot.shards, snapshot.format)?;
        if is_replaced {
            self.forget_before = snapshot.forget_before.unwrap_or(0);
            self.server_ahead_ms = snapshot
                .now_ms
                .map(|server_ms| server_ms.min(MAX_AT) as i64 - recorded_at(now) as i64);
            self.server_unseen_revision += u64::from(unseen.lists_more_than(&self.unseen));
            self.unseen = unseen;
        }
        Ok(is_replaced)
    }

    /// Whether a snapshot was applied on this visit.
    pub fn has_applied(&self) -> bool {
        self.has_applied
    }

    /// A counter of changes of the snapshot in use, including its removal: shows whether the stored one is outdated.
    pub fn snapshots(&self) -> u64 {
        self.snapshots
    }

    /// The shards in use as strings, newest first, for the storage; `None` if they exceed 512 KB together.
    pub fn encoded_shards(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.server.encoded_shards()
    }

    fn applied(&self, reason: Option<NotApplied>, now: Time) -> Applied {
        Applied {
            reason,
            covered: 0,
            saturated: self.server.false_positive_rate(self.server_seconds(now)) > SATURATED_RATE,
            lags: Vec::new(),
        }
    }

    /// Marks the pending impressions that the snapshot in use covers.
    fn cover(&mut self, applied: &mut Applied, with_lags: bool, now: Time) {
        if self.server.is_empty() {
            return;
        }
        let live = self.server.live(self.server_seconds(now));
        let mut covered = Vec::new();
        for (hash, recording, undelivered) in self.table.pending(now.unix_ms()) {
            let id = HashedId::with_hash(undelivered.id.as_bytes(), hash);
            if self.unseen.get(hash).is_some() || !self.server.contains(id, &live) {
                continue;
            }
            covered.push(hash);
            if with_lags && undelivered.origin != Origin::Other {
                applied.lags.push(CoveredImpression {
                    id: String::from(&*undelivered.id),
                    lag_ms: now.unix_ms().saturating_sub(recording.at),
                });
            }
        }
        applied.covered = covered.len();
        for hash in covered {
            self.table.set_covered(hash);
        }
    }

    /// The value of `Seen-Held`, by which the server knows which shards it need not send again: the references of the
    /// shards in use, newest first, joined by `.`. Empty if there are none, and after a snapshot that referred to a
    /// shard that the device lacks, until another one is applied.
    pub fn held(&self) -> String {
        if self.is_missing_shard {
            return String::new();
        }
        Reference::join(self.server.references())
    }
}

/// A day in milliseconds. A device's clock that is ahead by less is treated as correct.
const DAY_MS: u64 = 86_400_000;

/// Translates a time of the server's clock to the device's, at most now, if the device's clock is slow, or fast by over
/// a day; returns it unchanged otherwise.
fn device_time_of(server_seconds: u32, server_now_ms: Option<u64>, now_ms: u64) -> u64 {
    let at = u64::from(server_seconds) * 1000;
    let offset = server_now_ms.map_or(0, |server_now| now_ms as i64 - server_now.min(MAX_AT) as i64);
    let translate = offset < 0 || offset as u64 > DAY_MS;
    let translated = if translate {
        at.saturating_add_signed(offset)
    } else {
        at
    };
    translated.min(now_ms)
}
