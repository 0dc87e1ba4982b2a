//! The guard: the server's shards and the impression table together decide which items are fresh.
//!
//! An id is stopped if it is in either, and not taken back since.

mod delivery;
mod forgotten;
mod impressions;
mod lag;
mod recording;
mod segment;
mod server_view;
mod storage;
mod tally;
mod types;
mod unsaved;

pub use delivery::DeliveryBatch;
pub use impressions::{DEFAULT_REMEMBER, MAX_REMEMBER};
pub use lag::Lag;
pub use segment::{Segment, SegmentState};
pub use types::{Applied, CoveredImpression, Explanation, Filtered, GuardStats, Now, Recorded, Snapshot};

use crate::bit_sliced::Query;
use crate::bloom::BloomFilter;
use crate::chain::ChainOptions;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList};
use crate::params::Parameters;
use crate::shard::Shard;
use delivery::Deliveries;
use forgotten::Forgotten;
use impressions::Impressions;
use lag::LagSamples;
use recording::{Kind, MAX_AT, Recording};
use server_view::ServerView;

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
///     version: shipped.version, shards: &shipped.shards, format: shipped.format, now_ms: None, forget_before: None,
/// };
/// guard.apply(snapshot, now)?;
/// guard.record(&["b"], now)?;
/// assert_eq!(guard.filter(&["a", "b", "c"], now)?, [2]);
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    server: ServerView,
    /// Of the snapshot in use: its version, and what orders it before that.
    version: Option<u64>,
    forget_before: u32,
    /// The server's clock and the steady one at one time, milliseconds, if the snapshot in use told it.
    server_clock: Option<(u64, u64)>,
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
            version: None,
            forget_before: 0,
            server_clock: None,
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
    /// [`Error::TooLarge`], [`Error::OutOfMemory`], or [`Error::InShard`] for the first shard that is wrong. A snapshot
    /// that is older than the one in use is no error: [`Applied::applied`] is false then.
    pub fn apply<L: IdList + ?Sized>(&mut self, snapshot: Snapshot<'_, L>, now: Now) -> Result<Applied, Error> {
        let forget_before = snapshot.forget_before.unwrap_or(0);
        let is_older = match (snapshot.version, self.version) {
            (Some(version), Some(current)) => (forget_before, version) < (self.forget_before, current),
            _ => false,
        };
        if is_older {
            return Ok(self.applied(false, 0, now));
        }
        let reused = self.server.replace(snapshot.shards, snapshot.format)?;
        self.version = snapshot.version;
        self.forget_before = forget_before;
        self.server_clock = snapshot.now_ms.map(|server_ms| (server_ms, now.steady_ms));
        if forget_before > 0 {
            let at = device_time_of(forget_before, snapshot.now_ms, now.recorded_at());
            self.impressions.forget_before(Forgotten {
                before: forget_before,
                at,
            });
        }
        let mut applied = self.applied(true, reused, now);
        self.cover(&mut applied, now);
        Ok(applied)
    }

    fn applied(&self, applied: bool, reused: usize, now: Now) -> Applied {
        Applied {
            applied,
            shards: self.server.len(),
            reused,
            expired: self.server.expired(self.server_seconds(now)),
            covered: 0,
            lags: Vec::new(),
        }
    }

    /// Notes which pending impressions the snapshot in use covers.
    fn cover(&mut self, applied: &mut Applied, now: Now) {
        let live = self.server.live(self.server_seconds(now));
        let mut covered = Vec::new();
        for (hash, recording, open) in self.impressions.pending() {
            if !self.server.contains(HashedId::with_hash(&open.id, hash), &live) {
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

    /// The version of the snapshot in use.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The number of shards in use.
    pub fn shards(&self) -> usize {
        self.server.len()
    }

    /// The indices of the fresh ids, in order; of equal ids the first. Changes nothing but counters.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn filter<L: IdList + ?Sized>(&mut self, ids: &L, now: Now) -> Result<Vec<u32>, Error> {
        let live = self.server.live(self.server_seconds(now));
        let queries: Vec<Query<'_>> = self.server.queries(&live).collect();
        let impressions = (!self.impressions.is_empty()).then_some(&self.impressions);
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(ids.len()).map_err(|_| Error::OutOfMemory)?;
        self.list.read(ids)?;
        let mut filtered = self.filtered;
        for index in 0..ids.len() {
            let hash = self.list.hash(index);
            let recording = impressions.and_then(|impressions| impressions.get_live(hash, now.wall_ms));
            let stopped_by_server = || queries.iter().any(|query| query.finds(hash, || ids.get(index)));
            let counter = match recording {
                Some(recording) if recording.is_pending() => &mut filtered.pending,
                Some(recording) if recording.kind == Kind::Seen => &mut filtered.memory,
                None if stopped_by_server() => &mut filtered.server,
                _ if !self.list.keep(ids, index) => &mut filtered.duplicate,
                _ => {
                    fresh.push(index as u32);
                    &mut filtered.passed
                }
            };
            *counter += 1;
        }
        self.list.shrink();
        self.filtered = filtered;
        Ok(fresh)
    }

    /// Whether an id is stopped.
    pub fn has(&self, id: impl AsRef<[u8]>, now: Now) -> bool {
        self.explain(id, now).is_some()
    }

    /// Why an id is stopped; nothing if it is fresh.
    pub fn explain(&self, id: impl AsRef<[u8]>, now: Now) -> Option<Explanation> {
        let id = HashedId::new(id.as_ref());
        match self.impressions.get_live(id.unseeded(), now.wall_ms) {
            Some(recording) => explain_recording(recording),
            None => {
                let found = self.server.find(id, self.server_seconds(now))?;
                Some(Explanation::Server {
                    shard: found.shard,
                    epoch: found.epoch,
                })
            }
        }
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
            let is_known = self.is_seen_here(id, now);
            let covered = self.server.contains(id, &live);
            recorded.lost_text += self.impressions.record(id, now.recorded_at(), covered)?;
            recorded.unknown += usize::from(!is_known);
        }
        Ok(recorded)
    }

    fn is_seen_here(&self, id: HashedId<'_>, now: Now) -> bool {
        let recording = self.impressions.get_live(id.unseeded(), now.wall_ms);
        recording.is_some_and(|recording| recording.kind == Kind::Seen)
    }

    /// Takes impressions back: these ids pass, whatever the server's shards say, until they are recorded again. Returns
    /// how many were stopped before.
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
        let pending = self.impressions.pending().take(limit);
        pending.map(|(_, _, open)| open.text()).collect()
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
        for (_, _, open) in self.impressions.pending().rev() {
            if shard.count >= capacity {
                break;
            }
            shard.insert(&open.id);
        }
        Ok(shard)
    }

    /// What is held, what was done, as of now.
    pub fn stats(&self, now: Now) -> GuardStats {
        GuardStats {
            shards: self.server.len(),
            server_false_positive_rate: self.server.false_positive_rate(self.server_seconds(now)),
            pending: self.impressions.pending_len(),
            remembered: self.impressions.remembered(now.wall_ms),
            unseen: self.impressions.unseen_len(),
            filtered: self.filtered,
            lag: self.lag.summary(),
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

fn explain_recording(recording: &Recording) -> Option<Explanation> {
    let at = recording.at;
    match recording.kind {
        Kind::Unseen => None,
        Kind::Seen if recording.is_pending() => Some(Explanation::Pending { at }),
        Kind::Seen => Some(Explanation::Memory { at }),
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
