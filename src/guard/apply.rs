//! Snapshots: taking one, and what that means for the impressions of this device.

use super::Guard;
use super::forgotten::Forgotten;
use super::recording::{Kind, MAX_AT, Recording};
use super::server_view::Replacement;
use super::taken_back::{TakenBack, TakenBackAt};
use super::types::{Applied, CoveredImpression, NotApplied, Now};
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::IdList;
use crate::snapshot::Snapshot;
use crate::wire::Reference;

/// Shards with a higher false positive rate are damaged, hostile or many times over their capacity: those of a chain
/// stay far below it.
const SATURATED_RATE: f64 = 0.5;

impl Guard {
    /// Takes a whole snapshot, or leaves everything as it was.
    ///
    /// ```
    /// use seenguard::{ChainOptions, DEFAULT_REMEMBER, Guard, NotApplied, Now, ShardChain, Snapshot, Time};
    /// let time = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// let lagging = chain.snapshot(time, None)?;
    /// chain.record(&["a"], time)?;
    /// let shipped = chain.snapshot(time, None)?;
    ///
    /// let now = Now::at(time);
    /// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
    /// guard.finish_loading();
    /// guard.record(&["a"], now)?;
    /// assert_eq!(guard.pending(10, now), ["a"]);
    ///
    /// let applied = guard.apply(Snapshot::from(&shipped), now)?;
    /// assert_eq!((applied.reason, applied.shards, applied.covered), (None, 1, 1));
    /// assert!(guard.pending(10, now).is_empty());
    ///
    /// // A replica that lags answers later: what is known stays.
    /// let older = guard.apply(Snapshot::from(&lagging), now)?;
    /// assert_eq!((older.reason, older.shards), (Some(NotApplied::OlderVersion), 1));
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`], [`Error::BadSnapshot`], or [`Error::InShard`] for the first shard
    /// that is wrong. A snapshot that is older than the one in use, or refers to a shard that is not held, is no error:
    /// [`Applied::reason`] says so.
    pub fn apply<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Now) -> Result<Applied, Error> {
        let texts = snapshot.shards;
        let characters: u64 = (0..texts.len()).map(|shard| texts.get(shard).len() as u64).sum();
        let forget_before = snapshot.forget_before.unwrap_or(0);
        let is_older = match (snapshot.version, self.version) {
            (Some(version), Some(current)) => (forget_before, version) < (self.forget_before, current),
            _ => false,
        };
        if is_older {
            self.received.characters += characters;
            return Ok(self.applied(Some(NotApplied::OlderVersion), 0, now));
        }
        let taken_back = TakenBack::read(snapshot.unseen, snapshot.now_ms, now, &self.taken_back)?;
        let Replacement::Replaced { reused, spared } = self.server.replace(texts, snapshot.format)? else {
            self.received.characters += characters;
            self.is_missing_shard = true;
            return Ok(self.applied(Some(NotApplied::MissingShard), 0, now));
        };
        self.is_missing_shard = false;
        self.has_applied = true;
        self.snapshots += 1;
        self.received.characters += characters;
        self.received.spared += spared as u64;
        self.version = snapshot.version;
        self.forget_before = forget_before;
        self.server_clock = snapshot.now_ms.map(|server_ms| (server_ms, now.steady_ms));
        self.take_back(taken_back);
        if forget_before > 0 {
            let at = device_time_of(forget_before, snapshot.now_ms, now.recorded_at());
            self.impressions.forget_before(Forgotten {
                before: forget_before,
                at,
            });
        }
        let mut applied = self.applied(None, reused, now);
        self.cover(&mut applied, now);
        Ok(applied)
    }

    fn applied(&self, reason: Option<NotApplied>, reused: usize, now: Now) -> Applied {
        Applied {
            reason,
            shards: self.server.len(),
            reused,
            expired: self.server.expired(self.server_seconds(now)),
            covered: 0,
            saturated: self.server.false_positive_rate(self.server_seconds(now)) > SATURATED_RATE,
            lags: Vec::new(),
        }
    }

    /// Takes over what a snapshot takes back. This device's own taking back of an id ends when a snapshot no longer
    /// lists it after one that did: from then on the server decides.
    pub(super) fn take_back(&mut self, mut next: TakenBack) {
        self.server_unseen_revision += u64::from(next.lists_more_than(&self.taken_back));
        for (&hash, entry) in &mut next.by_hash {
            let is_listed_anew = self
                .taken_back
                .get(hash)
                .is_none_or(|known| known.stated != entry.stated);
            if let Some(recording) = self.impressions.get(hash)
                && is_listed_anew
                && recording.kind == Kind::Unseen
            {
                entry.own = Some(recording.at);
            }
        }
        let before = std::mem::replace(&mut self.taken_back, next);
        for (&hash, &TakenBackAt { own, .. }) in &before.by_hash {
            let is_own = |recording: &Recording| recording.kind == Kind::Unseen && Some(recording.at) == own;
            if self.taken_back.get(hash).is_none() && self.impressions.get(hash).is_some_and(is_own) {
                self.impressions.set_covered(hash);
            }
        }
    }

    /// Notes which pending impressions the snapshot in use covers.
    fn cover(&mut self, applied: &mut Applied, now: Now) {
        let live = self.server.live(self.server_seconds(now));
        let mut covered = Vec::new();
        for (hash, recording, unsettled) in self.impressions.pending(now.wall_ms) {
            let id = HashedId::with_hash(&unsettled.id, hash);
            if self.taken_back.get(hash).is_some() || !self.server.contains(id, &live) {
                continue;
            }
            covered.push(hash);
            self.deliveries.note_covered(unsettled, now.steady_ms);
            let lag_ms = now.wall_ms.saturating_sub(recording.at);
            self.lag.add(lag_ms);
            if unsettled.own {
                applied.lags.push(CoveredImpression {
                    id: unsettled.text(),
                    lag_ms,
                });
            }
        }
        applied.covered = covered.len();
        for hash in covered {
            self.impressions.set_covered(hash);
        }
    }

    /// What the server need not send again, for the next request: the references of the shards in use, newest first,
    /// joined by `.`. Empty if nothing is held, and after a snapshot that referred to a shard that is not, until one
    /// was taken.
    pub fn held(&self) -> String {
        if self.is_missing_shard {
            return String::new();
        }
        Reference::join(self.server.references())
    }
}

/// A day, in milliseconds: a device's clock that is behind by less is taken for right.
const DAY_MS: u64 = 86_400_000;

/// The device's time of a moment of the server's clock, at most now. Translated only if the device's clock is behind,
/// or ahead by over a day.
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
