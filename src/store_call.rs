//! The logic of one call of a store: loading, changing, replacing and retrying, without I/O, clock or random numbers.
//! The stores of Rust and of JavaScript perform its steps:
//!
//! ```text
//! begin ──▶ Load ──loaded──▶ Change ──changed──▶ Replace or Forget ──▶ Done
//!   ▲                        (a call that only reads is Done once it has loaded)
//!   └────── Wait ◀── a transient failure, or a conflict with another writer; at the call's limit: Failed
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Serialize, Serializer};

use crate::chain::{ChainOptions, MAX_ID_BYTES, Page, PageRequest, ReceivedReport, Rejected, ShardChain, StoredChain};
use crate::error::Error;
use crate::id_list::IdList;
use crate::time::Time;

/// The longest pause between attempts.
const MAX_PAUSE_MS: u64 = 100;

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreUse {
    /// Loads the chain.
    Read,
    /// Stores a device's pending list or a report, and loads nothing.
    Append,
    /// Changes the chain, and stores it unless it is unchanged.
    Change,
    /// Deletes the history, and with it the devices' pending lists.
    Forget,
}

/// The next step of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum StoreStep {
    /// Load the user's data, then call [`StoreCall::loaded`].
    Load,
    /// Change [`StoreCall::chain`], then call [`StoreCall::changed`].
    Change,
    /// Store this if the revision is still the loaded one; otherwise call [`StoreCall::failed`] with
    /// [`StoreFailure::Conflict`].
    Replace(StoreReplacement),
    /// The same, and remove the devices' pending lists.
    Forget(StoreReplacement),
    /// Wait this many milliseconds, then call [`StoreCall::begin`].
    Wait(u64),
    /// The call is over.
    Done,
    /// The call has failed, with the last failure.
    Failed,
}

/// A user's new chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreReplacement {
    /// The revision of the chain that it replaces.
    pub revision: u64,
    /// The chain that it replaces.
    #[serde(serialize_with = "shared")]
    pub before: Arc<StoredChain>,
    /// The new chain.
    pub after: StoredChain,
    /// How long to store it, in seconds; 0: without expiry.
    pub life_seconds: u64,
}

fn shared<S: Serializer>(chain: &Arc<StoredChain>, serializer: S) -> Result<S::Ok, S::Error> {
    chain.as_ref().serialize(serializer)
}

/// Why a step failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreFailure {
    /// There was no response in time. Whether the step was carried out is unknown.
    Timeout,
    /// The storage is temporarily unavailable: a migrating slot, a start, a failover, a lost connection.
    Unavailable,
    /// The storage accepts no writes, as a replica does.
    ReadOnly,
    /// The storage is full.
    OutOfMemory,
    /// The key has data of another type.
    WrongType,
    /// This client lacks the permission.
    Denied,
    /// Another writer has changed the data since it was loaded.
    Conflict,
}

impl StoreFailure {
    /// The failure for an error of Redis, by its first word, which is the code.
    pub fn of_redis(error: &str) -> Self {
        match error.trim_start_matches('-').split(' ').next() {
            Some("READONLY" | "NOREPLICAS" | "MISCONF") => StoreFailure::ReadOnly,
            // `LIMIT`: store_pending.lua has refused a further device of a user.
            Some("OOM" | "LIMIT") => StoreFailure::OutOfMemory,
            Some("WRONGTYPE") => StoreFailure::WrongType,
            Some("NOPERM" | "NOAUTH" | "WRONGPASS" | "DENIED") => StoreFailure::Denied,
            _ => StoreFailure::Unavailable,
        }
    }

    /// Whether the call repeats the step, until its limit.
    pub fn is_retried(self) -> bool {
        matches!(
            self,
            StoreFailure::Unavailable | StoreFailure::ReadOnly | StoreFailure::Conflict
        )
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(self) -> bool {
        self.is_retried() || matches!(self, StoreFailure::Timeout | StoreFailure::OutOfMemory)
    }
}

/// A call in progress.
#[derive(Debug, Clone)]
pub struct StoreCall {
    options: ChainOptions,
    kind: StoreUse,
    limit_ms: u64,
    attempts: u32,
    /// The state of a linear congruential generator.
    random: u64,
    /// Whether a write is in progress, so that its outcome is unknown if the call ends now.
    is_writing: bool,
    /// The last failure after which the call has continued.
    retried: Option<StoreFailure>,
    loaded: Option<Loaded>,
}

/// The loaded data.
#[derive(Debug, Clone)]
struct Loaded {
    stored: Arc<StoredChain>,
    revision: u64,
    now: Time,
    chain: ShardChain,
    /// The fields as this version writes them now: to compare with, so that an expired entry is not a change.
    fields: Vec<(String, String)>,
    damage: Vec<Error>,
}

const DAMAGED_FIELDS: Error = Error::BadSnapshot("fields stored with a user's shards cannot be read, and are ignored");

impl StoreCall {
    /// A call that may take `limit_ms`, including retries. `random` is the jitter of the pauses between attempts, by
    /// which each of several concurrent writers succeeds.
    pub fn new(options: ChainOptions, kind: StoreUse, limit_ms: u64, random: u64) -> Self {
        StoreCall {
            options,
            kind,
            limit_ms,
            attempts: 0,
            random,
            is_writing: false,
            retried: None,
            loaded: None,
        }
    }

    /// Begins the call, or an attempt after a wait.
    pub fn begin(&mut self) -> StoreStep {
        self.is_writing = self.kind == StoreUse::Append;
        StoreStep::Load
    }

    /// Continues with the loaded data, as of `now`. Data that cannot be read is ignored, and in [`StoreCall::damage`].
    ///
    /// # Errors
    /// As [`ShardChain::from_shards`] and [`ShardChain::stored`].
    pub fn loaded(&mut self, stored: Arc<StoredChain>, revision: u64, now: Time) -> Result<StoreStep, Error> {
        let (mut chain, rejected) = ShardChain::from_shards(&stored.shards, self.options)?;
        let in_shard = |shard: Rejected| shard.error.in_shard(shard.index);
        let mut damage: Vec<Error> = rejected.into_iter().map(in_shard).collect();
        let fields = stored.fields.iter();
        let fields: Vec<&str> = fields.flat_map(|(name, value)| [name.as_str(), value]).collect();
        if chain.restore_fields(&fields)? > 0 {
            damage.push(DAMAGED_FIELDS);
        }
        let is_read = self.kind == StoreUse::Read;
        let fields = if is_read { Vec::new() } else { chain.stored_fields(now)? };
        self.loaded = Some(Loaded {
            stored,
            revision,
            now,
            chain,
            fields,
            damage,
        });
        Ok(if is_read { StoreStep::Done } else { StoreStep::Change })
    }

    /// The loaded chain, and the time of the change.
    pub fn chain(&mut self) -> Option<(&mut ShardChain, Time)> {
        let loaded = self.loaded.as_mut()?;
        Some((&mut loaded.chain, loaded.now))
    }

    /// The loaded chain. Ends the call.
    pub fn into_chain(self) -> Option<ShardChain> {
        self.loaded.map(|loaded| loaded.chain)
    }

    /// The errors of loaded shards and fields that cannot be read, and are ignored.
    pub fn damage(&self) -> &[Error] {
        self.loaded.as_ref().map_or(&[], |loaded| &loaded.damage)
    }

    /// Continues after the change: stores the chain, unless it is unchanged.
    ///
    /// # Errors
    /// As [`ShardChain::stored`].
    pub fn changed(&mut self) -> Result<StoreStep, Error> {
        let Some(loaded) = self.loaded.take() else {
            return Ok(StoreStep::Failed);
        };
        let after = loaded.chain.stored(loaded.now)?;
        let life_seconds = loaded.chain.life_seconds(loaded.now)?;
        let has_damaged_fields = loaded.damage.contains(&DAMAGED_FIELDS);
        let is_same = !has_damaged_fields && loaded.fields == after.fields && loaded.stored.shards == after.shards;
        let replacement = StoreReplacement {
            revision: loaded.revision,
            before: loaded.stored,
            after,
            life_seconds,
        };
        self.is_writing = self.kind == StoreUse::Forget || !is_same;
        Ok(match self.kind {
            StoreUse::Forget => StoreStep::Forget(replacement),
            _ if is_same => StoreStep::Done,
            _ => StoreStep::Replace(replacement),
        })
    }

    /// Continues after a failure, this many milliseconds after the call began.
    pub fn failed(&mut self, failure: StoreFailure, elapsed_ms: u64) -> StoreStep {
        self.loaded = None;
        self.is_writing = false;
        self.retried = Some(failure);
        let most_ms = (1 << self.attempts.min(7)).min(MAX_PAUSE_MS);
        self.attempts += 1;
        self.random = self.random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let pause_ms = 1 + (self.random >> 33) % most_ms;
        match failure.is_retried() && elapsed_ms + pause_ms < self.limit_ms {
            true => StoreStep::Wait(pause_ms),
            false => StoreStep::Failed,
        }
    }

    /// The failure of a call that has reached its limit: the last one that was retried, or [`StoreFailure::Timeout`] if
    /// there is none or if a write is in progress.
    pub fn expired(&self) -> StoreFailure {
        let retried = self.retried.filter(|_| !self.is_writing);
        retried.unwrap_or(StoreFailure::Timeout)
    }

    /// Makes a page of the loaded chain, as of the time of the data; if nothing was loaded, a degraded one, as of
    /// `now`.
    ///
    /// # Errors
    /// As [`ShardChain::page`].
    pub fn page(
        &self,
        ranked: &(impl IdList + ?Sized),
        request: &PageRequest<'_>,
        now: Time,
    ) -> Result<StorePage, Error> {
        let page = match &self.loaded {
            Some(loaded) => loaded.chain.page(ranked, request, loaded.now)?,
            None => ShardChain::new(self.options)?.page(ranked, request, now)?,
        };
        let too_long = (0..ranked.len()).filter(|&index| ranked.get(index).len() > MAX_ID_BYTES);
        Ok(StorePage {
            page,
            is_degraded: self.loaded.is_none(),
            unfiltered: too_long.count(),
        })
    }
}

/// A page of a store.
#[derive(Debug)]
pub struct StorePage {
    /// The page. If it is degraded, its snapshot must not be used.
    pub page: Page,
    /// Whether it was made without the user's data.
    pub is_degraded: bool,
    /// How many ids are too long to be filtered.
    pub unfiltered: usize,
}

impl ShardChain {
    /// Applies reports, as [`ShardChain::ingest`]. A report that was received after `now`, by a server with a fast
    /// clock, counts as received now. Returns how many ids no live shard contained.
    ///
    /// # Errors
    /// As [`ShardChain::ingest`].
    pub fn ingest_all(&mut self, reports: &[ReceivedReport], now: Time) -> Result<usize, Error> {
        reports.iter().try_fold(0, |sum, report| {
            Ok(sum + self.ingest_at(report, report.received_at.min(now))?)
        })
    }
}

/// Refuses a report of another namespace than the wanted one, as of a session that is over. `None` accepts any.
///
/// # Errors
/// [`Error::WrongNamespace`].
pub fn check_namespace(wanted: Option<&str>, reported: &str) -> Result<(), Error> {
    match wanted {
        Some(wanted) if wanted != reported => Err(Error::WrongNamespace),
        _ => Ok(()),
    }
}

/// Tracks the store's clock, which all servers share.
#[derive(Debug, Default)]
pub struct StoreClock {
    /// By how many milliseconds it was ahead of this process's clock.
    ahead_ms: AtomicI64,
}

impl StoreClock {
    /// The store's time: `answered`, if it has just returned it, else derived from `own`, this process's time.
    pub fn now(&self, own: Time, answered: Option<Time>) -> Time {
        let own = own.unix_ms();
        if let Some(time) = answered {
            self.ahead_ms
                .store(time.unix_ms() as i64 - own as i64, Ordering::Relaxed);
            return time;
        }
        Time::from_unix_ms(own.saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed)))
    }
}
