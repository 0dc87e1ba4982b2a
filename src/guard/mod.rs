//! The guard: decides which items are fresh, by the server's shards and the impression table.
//!
//! An id is stopped if it is in either, unless it became unseen since.

mod apply;
mod delivery;
mod server_view;
mod storage;
mod types;
mod unseen;
mod verdict;

pub use delivery::{DeliveryBatch, Scope};
pub use types::{Applied, CoveredImpression, Explanation, GuardStats, NotApplied, Recorded};

use crate::devices::PendingList;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList};
use crate::id_map::MultiplyShift;
use crate::table::{Kind, MAX_AT, MAX_REMEMBER, MAX_WINDOW_DAYS, Recording, Table, Undelivered};
use crate::time::Time;
use server_view::ServerView;
use types::recorded_at;
use unseen::Unseen;

const MS_PER_DAY: f64 = 86_400_000.0;

/// Decides which items of a feed are fresh, for one namespace on one device. It has no clock: every call takes the time
/// of the device's clock, which may be wrong and may jump.
///
/// ```
/// use seenguard::device::{DEFAULT_REMEMBER, Guard};
/// use seenguard::{ChainOptions, ShardChain, Snapshot, Time};
/// // The server's chain lags: it contains only "a".
/// let time = Time::from_unix_seconds(1_764_000_000);
/// let mut chain = ShardChain::new(ChainOptions::default())?;
/// chain.record(&["a"], time)?;
/// let shipped = chain.snapshot(time, None)?;
///
/// let now = time;
/// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
/// guard.apply(Snapshot::from(&shipped), now)?;
/// guard.record(&["b"], now);
/// assert_eq!(guard.filter(&["a", "b", "c"], now), [2]);
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    /// The snapshot in use: its shards and its unseen ids.
    server: ServerView,
    unseen: Unseen,
    /// The version of the snapshot in use, and its `forget_before`, which takes precedence in their order.
    version: Option<u64>,
    forget_before: u32,
    /// How far the server's clock is ahead of the device's, in ms; `None` if the snapshot in use has no time.
    server_ahead_ms: Option<i64>,
    /// Whether a snapshot was applied on this visit.
    has_applied: bool,
    /// A counter of changes of the snapshot in use, including its removal.
    snapshots: u64,
    /// Whether the latest snapshot was not applied because it referred to a shard that the device lacks.
    is_missing_shard: bool,
    /// Grows when a snapshot lists an unseen id that the previous one did not list.
    server_unseen_revision: u64,
    pub(crate) table: Table,
    /// The number of the latest batch.
    batches: u32,
    /// The batches whose impressions count as delivered without a response.
    left_batches: Vec<u32>,
    /// Memory that calls of `filter` reuse.
    list: HashedList,
}

impl Guard {
    /// An empty guard without storage. `window_days`: how long impressions are remembered; over 0, at most 36,500.
    /// `remember`: the least number of impressions that are remembered, 1 to 50,000.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(window_days: f64, remember: usize) -> Result<Self, Error> {
        check_options(window_days, remember)?;
        Ok(Guard::clamped(window_days, remember, MultiplyShift::default()))
    }

    /// An empty guard whose caller stores its changes: [`Guard::unsaved`] returns them, [`Guard::merge_row`] merges
    /// rows of earlier visits and other tabs, and [`Guard::loaded`] ends the first load. `seed`: random; the device
    /// name is derived from it.
    ///
    /// # Errors
    /// As [`Guard::new`].
    pub fn with_storage(namespace: &str, seed: u64, window_days: f64, remember: usize) -> Result<Self, Error> {
        check_options(window_days, remember)?;
        let mut guard = Guard::clamped(window_days, remember, MultiplyShift::seeded(seed));
        guard.table.expect_rows(namespace, seed);
        Ok(guard)
    }

    /// An empty guard, with options that are out of range clamped.
    pub(crate) fn clamped(window_days: f64, remember: usize, hasher: MultiplyShift) -> Self {
        let window_ms = (window_days * MS_PER_DAY).ceil() as u64;
        let window_ms = window_ms.min(MAX_WINDOW_DAYS * MS_PER_DAY as u64);
        Guard {
            server: ServerView::default(),
            unseen: Unseen::default(),
            version: None,
            forget_before: 0,
            server_ahead_ms: None,
            has_applied: false,
            snapshots: 0,
            is_missing_shard: false,
            server_unseen_revision: 0,
            table: Table::new(window_ms, remember.clamp(1, MAX_REMEMBER), hasher),
            batches: 0,
            left_batches: Vec::new(),
            list: HashedList::new(hasher),
        }
    }

    /// The version of the snapshot in use.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// Records impressions, also of known ids.
    pub fn record<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Recorded {
        self.record_all(ids, false, now)
    }

    /// Records items that the user has seen elsewhere in the app. They are stopped on this device and never delivered
    /// to the server. Has no effect on an id that is already stopped.
    ///
    /// # Examples
    /// ```
    /// use seenguard::Time;
    /// use seenguard::device::Guard;
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut guard = Guard::new(30.0, 10_000)?;
    /// guard.record_local(&["a"], now);
    /// assert_eq!(guard.filter(&["a", "b"], now), [1]);
    /// assert!(guard.pending(10, now).is_empty());
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    pub fn record_local<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> Recorded {
        self.record_all(ids, true, now)
    }

    fn record_all<L: IdList + ?Sized>(&mut self, ids: &L, is_local: bool, now: Time) -> Recorded {
        let live = self.server.live(self.server_seconds(now));
        let mut recorded = Recorded::default();
        for index in 0..ids.len() {
            let id = HashedId::new(ids.get(index));
            let hash = id.unseeded();
            let is_seen = |recording: &Recording| recording.kind == Kind::Seen;
            let is_known = self.table.get_live(hash, now.unix_ms()).is_some_and(is_seen);
            recorded.unknown += usize::from(!is_known);
            if is_local && self.explain(ids.get(index), now).is_some() {
                continue;
            }
            let unseen = self.unseen.get(hash);
            let covered = unseen.is_none() && self.server.contains(id, &live);
            // Later than the id became unseen, even if the clock was set back.
            let earliest = unseen.map_or(0, |unseen| unseen.at + 1);
            let at = self.time_of_recording(earliest, now);
            recorded.lost_text += match is_local {
                true => self.table.record_local(id, at),
                false => self.table.record(id, at, covered),
            };
        }
        recorded
    }

    /// Makes ids unseen: they are fresh, regardless of the server's shards, until they are recorded again. Returns how
    /// many were stopped before.
    pub fn unsee<L: IdList + ?Sized>(&mut self, ids: &L, now: Time) -> usize {
        let mut stopped = 0;
        for index in 0..ids.len() {
            let id = ids.get(index);
            stopped += usize::from(self.explain(id, now).is_some());
            let at = self.time_of_recording(0, now);
            self.table.unsee(HashedId::new(id), at);
        }
        stopped
    }

    /// The time of a new recording: not before `earliest`, but at most 1 ms above the clock, and not before a deletion
    /// of the history.
    fn time_of_recording(&self, earliest: u64, now: Time) -> u64 {
        let now_ms = recorded_at(now);
        let latest = (now_ms + 1).min(MAX_AT);
        let deletion = self.table.deletion().map_or(0, |deletion| deletion.at);
        now_ms.max(earliest).min(latest).max(deletion)
    }

    /// The pending ids, oldest first, at most `limit`.
    pub fn pending(&self, limit: usize, now: Time) -> Vec<String> {
        let mut texts = Vec::new();
        for (_, _, undelivered) in self.stopped_as_pending(now).into_iter().take(limit) {
            texts.push(String::from(&*undelivered.id));
        }
        texts
    }

    /// The pending recordings that are not unseen on the server, oldest first, each with its hash.
    fn stopped_as_pending(&self, now: Time) -> Vec<(u64, &Recording, &Undelivered)> {
        let mut pending = self.table.pending(now.unix_ms());
        pending.retain(|(hash, recording, _)| !self.unseen.passes(*hash, Some(recording)));
        pending
    }

    /// The value of `Seen-Pending`, sent with each request for a page and each report, so that a server can leave these
    /// ids out of pages for all of the user's devices: `<device name>.<counter>.<forgotten>.<list>`, of at most
    /// `max_characters`, but no shorter than with an empty list. The list has 4 characters for each of the newest 1,000
    /// pending ids or fewer, and is empty if none is pending.
    ///
    /// # Examples
    /// ```
    /// use seenguard::Time;
    /// use seenguard::device::Guard;
    /// let now = Time::from_unix_ms(1_764_000_000_000);
    /// let mut guard = Guard::new(30.0, 10_000)?;
    /// guard.record(&["a", "1r8bq8r7q4izgx"], now);
    /// // Without storage it has no device name.
    /// assert_eq!(guard.pending_list(4_000, now), ".midc1z41.0.Dn4SjG5b");
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    pub fn pending_list(&self, max_characters: usize, now: Time) -> String {
        let (device, counter) = (self.table.device_name(), self.table.counter());
        let pending = self.stopped_as_pending(now);
        let newest_first = pending.iter().rev().map(|(hash, _, _)| *hash);
        PendingList::new(device, counter, self.latest_deletion()).with_list(newest_first, max_characters)
    }

    /// A counter that grows when an id becomes unseen or is deleted, on this device or by the server. Then verdicts
    /// must be checked again by [`Guard::unseen`].
    pub fn unseen_revision(&self) -> u64 {
        self.server_unseen_revision + self.table.unseen_revision()
    }

    /// Counts of the current data.
    pub fn stats(&self, now: Time) -> GuardStats {
        GuardStats {
            server_false_positive_rate: self.server.false_positive_rate(self.server_seconds(now)),
            pending: self.stopped_as_pending(now).len(),
            remembered: self.table.remembered(now.unix_ms()),
        }
    }

    fn server_seconds(&self, now: Time) -> u64 {
        let ahead_ms = self.server_ahead_ms.unwrap_or(0);
        now.unix_ms().saturating_add_signed(ahead_ms) / 1000
    }
}

fn check_options(window_days: f64, remember: usize) -> Result<(), Error> {
    if !(window_days > 0.0 && window_days <= MAX_WINDOW_DAYS as f64) {
        return Err(Error::BadOption("windowDays must be over 0 and at most 36500"));
    }
    if !(1..=MAX_REMEMBER).contains(&remember) {
        return Err(Error::BadOption("remember must be 1 to 50000"));
    }
    Ok(())
}
