//! The guard: the server's shards and the impression table together decide which items are fresh.
//!
//! An id is stopped if it is in either, and not taken back since.

mod chunk;
mod delivery;
mod forgotten;
mod impressions;
mod lag;
mod recording;
mod segment;
mod server_view;
mod storage;
mod taken_back;
mod tally;
mod types;
mod unsaved;
mod verdict;

pub use delivery::DeliveryBatch;
pub use impressions::{DEFAULT_REMEMBER, MAX_REMEMBER};
pub use lag::Lag;
pub use segment::{Segment, SegmentState};
pub use types::{
    Applied, CoveredImpression, Explanation, Filtered, GuardStats, NotApplied, Now, Received, Recorded, Snapshot,
};

use crate::bloom::BloomFilter;
use crate::chain::ChainOptions;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList};
use crate::params::Parameters;
use crate::shard::Shard;
use crate::wire::Reference;
use delivery::Deliveries;
use forgotten::Forgotten;
use impressions::Impressions;
use lag::LagSamples;
use recording::{Kind, MAX_AT, Open, Recording};
use server_view::{Replacement, ServerView};
use taken_back::{TakenBack, TakenBackAt};

const MS_PER_DAY: f64 = 86_400_000.0;
/// Longest window: a hundred years.
const MAX_WINDOW_DAYS: f64 = 36_500.0;

/// Decides which items of a feed are fresh, for one namespace on one device. Knows no clock: every call takes the time.
///
/// ```
/// use seenguard::{ChainOptions, DEFAULT_REMEMBER, Guard, Now, ShardChain, Snapshot};
/// // The server's chain lags: it knows of "a" alone.
/// let mut chain = ShardChain::new(ChainOptions::default())?;
/// chain.record(&["a"], 1_764_000_000)?;
/// let shipped = chain.snapshot(1_764_000_000, None)?;
///
/// let now = Now::at(1_764_000_001_000);
/// let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
/// guard.finish_loading();
/// let snapshot = Snapshot {
///     version: shipped.version, shards: &shipped.shards, format: shipped.format, now_ms: None, unseen: &[],
///     forget_before: None,
/// };
/// guard.apply(snapshot, now)?;
/// guard.record(&["b"], now)?;
/// assert_eq!(guard.filter(&["a", "b", "c"], now)?, [2]);
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    /// The snapshot in use: its shards, and what it takes back.
    server: ServerView,
    taken_back: TakenBack,
    /// Its version, and what orders it before that.
    version: Option<u64>,
    forget_before: u32,
    /// The server's clock and the steady one at one time, milliseconds, if the snapshot in use told it.
    server_clock: Option<(u64, u64)>,
    /// Whether a snapshot was taken on this visit.
    has_applied: bool,
    /// Whether a snapshot had the reference of a shard that is not held, and none was taken since.
    is_missing_shard: bool,
    received: Received,
    /// How often a snapshot took something back that the one before it did not.
    server_takings: u32,
    impressions: Impressions,
    deliveries: Deliveries,
    filtered: Filtered,
    lag: LagSamples,
    /// Memory that each call of `filter` uses again.
    list: HashedList,
}

impl Guard {
    /// A guard that knows of nothing, and whose storage has not loaded yet. `window_days`: how long impressions are
    /// remembered; over 0, at most 36,500. `remember`: how many at least, 1 to 50,000.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(window_days: f64, remember: usize) -> Result<Self, Error> {
        if !(window_days > 0.0 && window_days <= MAX_WINDOW_DAYS) {
            return Err(Error::BadOption("windowDays must be over 0 and at most 36500"));
        }
        if !(1..=MAX_REMEMBER).contains(&remember) {
            return Err(Error::BadOption("remember must be 1 to 50000"));
        }
        let window_ms = (window_days * MS_PER_DAY).ceil() as u64;
        Ok(Guard {
            server: ServerView::default(),
            taken_back: TakenBack::default(),
            version: None,
            forget_before: 0,
            server_clock: None,
            has_applied: false,
            is_missing_shard: false,
            received: Received::default(),
            server_takings: 0,
            impressions: Impressions::new(window_ms, remember),
            deliveries: Deliveries::default(),
            filtered: Filtered::default(),
            lag: LagSamples::default(),
            list: HashedList::default(),
        })
    }

    /// Takes a whole snapshot, or leaves everything as it was.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`], [`Error::BadSnapshot`], or [`Error::InShard`] for the first shard
    /// that is wrong. A snapshot that is older than the one in use, or refers to a shard that is not held, is no error:
    /// [`Applied::reason`] says so.
    pub fn apply<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Now) -> Result<Applied, Error> {
        let texts = snapshot.shards;
        self.received.characters += (0..texts.len()).map(|shard| texts.get(shard).len() as u64).sum::<u64>();
        let forget_before = snapshot.forget_before.unwrap_or(0);
        let is_older = match (snapshot.version, self.version) {
            (Some(version), Some(current)) => (forget_before, version) < (self.forget_before, current),
            _ => false,
        };
        if is_older {
            return Ok(self.applied(Some(NotApplied::OlderVersion), 0, now));
        }
        let taken_back = TakenBack::read(snapshot.unseen, snapshot.now_ms, now, &self.taken_back)?;
        let Replacement::Replaced { reused, spared } = self.server.replace(texts, snapshot.format)? else {
            self.is_missing_shard = true;
            return Ok(self.applied(Some(NotApplied::MissingShard), 0, now));
        };
        self.is_missing_shard = false;
        self.has_applied = true;
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

    /// Takes over the snapshot that was in use on an earlier visit, as it was stored, for what is shown before the first
    /// response. Its version counts no more, so a server whose own counter starts again is believed; shards that the
    /// storage has lost may be left out. Not taken after a snapshot of this visit, or if it is from before a deletion of
    /// the history that is known.
    ///
    /// # Errors
    /// As [`Guard::apply`].
    pub fn restore<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Now) -> Result<Applied, Error> {
        let forget_before = snapshot.forget_before.unwrap_or(0);
        if self.has_applied || forget_before < self.latest_deletion() {
            return Ok(self.applied(Some(NotApplied::OlderVersion), 0, now));
        }
        let taken_back = TakenBack::read(snapshot.unseen, snapshot.now_ms, now, &self.taken_back)?;
        if self.server.replace(snapshot.shards, snapshot.format)? == Replacement::MissingShard {
            return Ok(self.applied(Some(NotApplied::MissingShard), 0, now));
        }
        self.forget_before = forget_before;
        self.server_clock = snapshot.now_ms.map(|server_ms| (server_ms, now.steady_ms));
        self.take_back(taken_back);
        Ok(self.applied(None, 0, now))
    }

    fn applied(&self, reason: Option<NotApplied>, reused: usize, now: Now) -> Applied {
        Applied {
            reason,
            shards: self.server.len(),
            reused,
            expired: self.server.expired(self.server_seconds(now)),
            covered: 0,
            lags: Vec::new(),
        }
    }

    /// Takes over what a snapshot takes back. This device's own taking back of an id ends when a snapshot no longer
    /// lists it after one that did: from then on the server decides.
    fn take_back(&mut self, mut next: TakenBack) {
        self.server_takings += u32::from(next.lists_more_than(&self.taken_back));
        for (&hash, entry) in &mut next.by_hash {
            let is_listed_anew = self
                .taken_back
                .get(hash)
                .is_none_or(|known| known.stated != entry.stated);
            if let Some(recording) = self.impressions.get(hash)
                && is_listed_anew
                && recording.kind == Kind::Unseen
            {
                entry.own = recording.seq;
            }
        }
        let before = std::mem::replace(&mut self.taken_back, next);
        for (&hash, &TakenBackAt { own, .. }) in &before.by_hash {
            let is_own = |recording: &Recording| recording.kind == Kind::Unseen && recording.seq == own;
            if self.taken_back.get(hash).is_none() && self.impressions.get(hash).is_some_and(is_own) {
                self.impressions.set_covered(hash);
            }
        }
    }

    /// Notes which pending impressions the snapshot in use covers.
    fn cover(&mut self, applied: &mut Applied, now: Now) {
        let live = self.server.live(self.server_seconds(now));
        let mut covered = Vec::new();
        for (hash, recording, open) in self.impressions.pending() {
            let id = HashedId::with_hash(&open.id, hash);
            if self.taken_back.get(hash).is_some() || !self.server.contains(id, &live) {
                continue;
            }
            covered.push(hash);
            self.deliveries.note_covered(open, now.steady_ms);
            let lag_ms = now.wall_ms.saturating_sub(recording.at);
            self.lag.add(lag_ms);
            if open.own {
                applied.lags.push(CoveredImpression {
                    id: open.text(),
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
    /// joined by `.`. Empty if nothing is held, and after a snapshot that referred to a shard that is not, until one was
    /// taken.
    pub fn held(&self) -> String {
        if self.is_missing_shard {
            return String::new();
        }
        Reference::join(self.server.references())
    }

    /// The version of the snapshot in use.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The number of shards in use.
    pub fn shards(&self) -> usize {
        self.server.len()
    }

    /// Records impressions, known or not.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; what came before it is recorded.
    pub fn record<L: IdList + ?Sized>(&mut self, ids: &L, now: Now) -> Result<Recorded, Error> {
        let live = self.server.live(self.server_seconds(now));
        let mut recorded = Recorded::default();
        for index in 0..ids.len() {
            let id = HashedId::new(ids.get(index));
            let hash = id.unseeded();
            let is_seen = |recording: &Recording| recording.kind == Kind::Seen;
            let is_known = self.live_recording(hash, now).is_some_and(is_seen);
            let taken_back = self.taken_back.get(hash);
            let covered = taken_back.is_none() && self.server.contains(id, &live);
            // After it was taken back, whatever the clock says.
            let earliest = taken_back.map_or(0, |taken_back| taken_back.at + 1);
            let at = now.recorded_at().max(earliest);
            recorded.lost_text += self.impressions.record(id, at, covered)?;
            recorded.unknown += usize::from(!is_known);
        }
        Ok(recorded)
    }

    /// Takes impressions back: these ids pass, whatever the server's shards say, until they are recorded again, or until
    /// a snapshot that listed them as taken back is followed by one that does not. Returns how many were stopped before.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; what came before it is taken back.
    pub fn unsee<L: IdList + ?Sized>(&mut self, ids: &L, now: Now) -> Result<usize, Error> {
        let mut stopped = 0;
        for index in 0..ids.len() {
            let id = ids.get(index);
            stopped += usize::from(self.has(id, now));
            self.impressions.unsee(HashedId::new(id), now.recorded_at())?;
        }
        Ok(stopped)
    }

    /// The pending ids, oldest first, at most `limit`.
    pub fn pending(&self, limit: usize) -> Vec<String> {
        self.open_pending().take(limit).map(Open::text).collect()
    }

    /// What is pending and not taken back by the server, oldest first.
    fn open_pending(&self) -> impl DoubleEndedIterator<Item = &Open> {
        let pending = self.impressions.pending();
        let stopped = pending.filter(|(hash, recording, _)| !self.taken_back.passes(*hash, Some(recording)));
        stopped.map(|(_, _, open)| open)
    }

    /// The pending ids as one shard, the newest first if they do not all fit, with the parameters and seed of the
    /// newest server shard, else, as where the server's format is not the native one, the defaults of [`ChainOptions`].
    /// For the next request: a server tests it for that request and never unites it with its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn pending_shard(&self) -> Result<Shard, Error> {
        let filter = match self.server.newest_native_spec() {
            Some(spec) => BloomFilter::with_spec(spec)?,
            None => BloomFilter::new(Parameters::DEFAULT, ChainOptions::default().seed),
        };
        let capacity = filter.parameters().capacity();
        let mut shard = Shard::new(filter, 0, 0);
        for open in self.open_pending().rev() {
            if shard.count >= capacity {
                break;
            }
            shard.insert(&open.id);
        }
        Ok(shard)
    }

    /// How often something was taken back or forgotten, on this device or by the server: then what has stopped an id is
    /// to be asked for again, by [`Guard::taken_back`].
    pub fn takings(&self) -> u32 {
        self.server_takings.wrapping_add(self.impressions.takings())
    }

    /// What is held, what was done, as of now.
    pub fn stats(&self, now: Now) -> GuardStats {
        let listed = self.taken_back.by_hash.keys();
        let passed: Vec<(u64, Option<&Recording>)> = listed
            .map(|&hash| (hash, self.live_recording(hash, now)))
            .filter(|&(hash, recording)| self.taken_back.passes(hash, recording))
            .collect();
        let pending = |recording: &Recording| recording.is_pending();
        let own = |recording: &Recording| recording.is_taken_back();
        let count = |counts: fn(&Recording) -> bool| passed.iter().filter(|(_, one)| one.is_some_and(counts)).count();
        GuardStats {
            shards: self.server.len(),
            server_false_positive_rate: self.server.false_positive_rate(self.server_seconds(now)),
            pending: self.impressions.pending_len() - count(pending),
            remembered: self.impressions.remembered(now.wall_ms),
            unseen: self.impressions.taken_back_len(now.wall_ms) + passed.len() - count(own),
            filtered: self.filtered,
            lag: self.lag.summary(),
            received: self.received,
            bytes: self.server.bytes() + self.impressions.bytes(),
        }
    }

    fn server_seconds(&self, now: Now) -> u64 {
        match self.server_clock {
            Some((server_ms, steady_ms)) => server_ms.saturating_add(now.steady_ms.saturating_sub(steady_ms)) / 1000,
            None => now.wall_seconds(),
        }
    }
}

/// Delivery to the server.
impl Guard {
    /// From now on impressions of this namespace are delivered, on this visit and later ones.
    pub fn start_reporting(&mut self) {
        self.impressions.set_reporting();
    }

    /// The next impressions to deliver: at most so many, of about so many bytes as JSON, but one at least.
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, now: Now) -> DeliveryBatch {
        self.deliveries
            .begin_batch(&mut self.impressions, max_impressions, max_bytes, now)
    }

    /// What became of a batch: what has arrived is delivered; what has not is in the next batch again.
    pub fn end_batch(&mut self, batch: u32, arrived: bool, now: Now) {
        self.deliveries
            .end_batch(&mut self.impressions, batch, arrived, now.recorded_at());
    }

    /// How many impressions were never delivered and are not under way.
    pub fn undelivered(&self) -> usize {
        self.impressions.undelivered_len()
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
