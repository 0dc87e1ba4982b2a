//! The guard: the server's view, the journal and the memory together decide which items are fresh.

mod server_view;

use serde::Serialize;

use self::server_view::{LiveShards, ServerView};
use crate::bit_sliced::Query;
use crate::hash::HashedId;
use crate::id_list::{HashedList, IdList};
use crate::journal::{BatchLimits, Entry, Journal, MAX_ID_BYTES};
use crate::lag::{Lag, LagSamples};
use crate::memory::Memory;
use crate::order::ascending;
use crate::segment::{self, Count, DELIVERIES, HASHES, PROMISES, Segment, SegmentState, SegmentWriter, Told};
use crate::{BloomFilter, ChainOptions, Error, Format, Parameters, Shard};

/// Bytes of `{"id":"","at":1764000000000},`.
const JSON_OVERHEAD: usize = 30;
const SECONDS_A_DAY: f64 = 86_400.0;
/// Longest window: a hundred years. Beyond it the times of the format, 32 bits of seconds, end.
const MAX_WINDOW_DAYS: f64 = 36_500.0;

/// What time it is, in two ways: all of a guard's calls take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// This device's wall clock, Unix milliseconds. It may be wrong and may jump.
    pub wall_ms: u64,
    /// Milliseconds of a clock that never jumps, from any beginning. It carries the server's clock on from a snapshot's `now`.
    pub steady_ms: u64,
}

impl Now {
    /// Both clocks at one time, for callers whose wall clock is right.
    pub fn at(unix_ms: u64) -> Self {
        Now {
            wall_ms: unix_ms,
            steady_ms: unix_ms,
        }
    }

    fn wall_seconds(self) -> u64 {
        self.wall_ms / 1000
    }
}

/// What the server ships beside a page.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a, S> {
    /// Grows with every change; absent: every snapshot is taken as it comes.
    pub version: Option<u64>,
    /// The shards' texts, newest first, at most 64.
    pub shards: &'a [S],
    /// What they are written in.
    pub format: Format,
    /// The server's clock, Unix milliseconds.
    pub now_ms: Option<u64>,
}

/// What became of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// False if its version lies below the one in use.
    pub applied: bool,
    /// Shards in use.
    pub shards: usize,
    /// Shards that were already held and not decoded again.
    pub reused: usize,
    /// Shards past their expiry.
    pub expired: usize,
    /// Pending impressions that this snapshot covers.
    pub covered: usize,
    /// For each of them its id and the milliseconds since it was recorded, if they were asked for.
    pub lags: Vec<(String, u64)>,
}

/// Why an id is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Explanation {
    /// It was recorded here and no snapshot covers it yet.
    Pending {
        /// Unix milliseconds.
        at: u64,
    },
    /// This device showed it.
    Memory,
    /// A live shard of the snapshot in use contains it.
    Server {
        /// The shard's place in the snapshot, the newest being 0.
        shard: usize,
        /// The shard's number in its chain, in the native format.
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<u32>,
    },
}

/// Why ids were passed or stopped, since the guard was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Filtered {
    pub passed: u64,
    pub pending: u64,
    pub memory: u64,
    pub server: u64,
    pub duplicate: u64,
}

/// What a guard holds and has done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardStats {
    /// Shards in use.
    pub shards: usize,
    /// Expected rate at which the server's live shards stop a fresh item: 1 − ∏(1 − fill^k).
    pub server_false_positive_rate: f64,
    /// The same of the memory.
    pub memory_false_positive_rate: f64,
    /// Impressions that no snapshot covers.
    pub pending: usize,
    /// Impressions of the memory, at most 10,000.
    pub remembered: u64,
    /// Verdicts so far.
    pub filtered: Filtered,
    /// Of the last 1,000 covered impressions.
    pub lag: Lag,
    /// Bytes held for shards, journal and memory.
    pub bytes: usize,
}

/// What came of recording impressions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many ids were not known on this device.
    pub unknown: usize,
    /// How many older impressions are no longer pending, because the journal is full.
    pub displaced: usize,
}

/// Decides which items of a feed are fresh, for one namespace on one device. Knows no clock: every call takes the time.
///
/// ```
/// use seenguard::{ChainOptions, Guard, Now, ShardChain, Snapshot};
/// // The server's chain lags: it knows of "a" alone.
/// let mut chain = ShardChain::new(ChainOptions::default())?;
/// chain.record(["a"], 1_764_000_000);
/// let shipped = chain.snapshot(1_764_000_000);
///
/// let now = Now::at(1_764_000_001_000);
/// let mut guard = Guard::new(30.0)?;
/// guard.apply(Snapshot { version: shipped.version, shards: &shipped.shards, format: shipped.format, now_ms: None }, now)?;
/// guard.record(&["b"], now);
/// assert_eq!(guard.filter(&["a", "b", "c"], now), [2]);
/// # Ok::<(), seenguard::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    window_ms: u64,
    server: ServerView,
    version: Option<u64>,
    /// The server's clock and the steady one at one time, milliseconds, if the snapshot in use told it.
    server_clock: Option<(u64, u64)>,
    journal: Journal,
    memory: Memory,
    unsaved: SegmentWriter,
    filtered: Filtered,
    lag: LagSamples,
    delivering: bool,
    /// Of use within one call of `filter`.
    list: HashedList,
}

impl Guard {
    /// A guard that knows of nothing. `window_days`: how long impressions are remembered; over 0, at most 36,500.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(window_days: f64) -> Result<Self, Error> {
        if !(window_days > 0.0 && window_days <= MAX_WINDOW_DAYS) {
            return Err(Error::BadOption("windowDays must be over 0 and at most 36500"));
        }
        Ok(Guard::of_window(window_days))
    }

    /// The same for a window that is known to be in range.
    pub(crate) fn of_window(window_days: f64) -> Self {
        // Up to the next second, so that nothing leaves early.
        let window_seconds = (window_days * SECONDS_A_DAY).ceil() as u32;
        Guard {
            window_ms: u64::from(window_seconds) * 1000,
            server: ServerView::default(),
            version: None,
            server_clock: None,
            journal: Journal::default(),
            memory: Memory::new(window_seconds),
            unsaved: SegmentWriter::default(),
            filtered: Filtered::default(),
            lag: LagSamples::default(),
            delivering: false,
            list: HashedList::default(),
        }
    }

    /// Takes a whole snapshot, or leaves everything as it was.
    ///
    /// # Errors
    /// [`Error::TooLarge`], or [`Error::InShard`] for the first shard that is wrong. A version below the one in use is no error:
    /// [`Applied::applied`] is false then.
    pub fn apply<S: AsRef<str>>(&mut self, snapshot: Snapshot<'_, S>, now: Now) -> Result<Applied, Error> {
        let Snapshot {
            version,
            shards,
            format,
            now_ms,
        } = snapshot;
        let mut lags = Vec::new();
        let tell = |entry: &Entry, lag| lags.push((entry.text(), lag));
        let reused = self.apply_list(&Texts(shards), format, version, now_ms, now, tell)?;
        let (shards, expired) = self.held(now);
        Ok(Applied {
            applied: reused.is_some(),
            shards,
            reused: reused.unwrap_or(0),
            expired,
            covered: lags.len(),
            lags,
        })
    }

    /// The same with shards from any kind of list. Calls `covered` with each impression that is covered and its lag. Returns how many shards were
    /// held already; nothing if the version lies below the one in use.
    pub(crate) fn apply_list<L: IdList + ?Sized>(
        &mut self,
        shards: &L,
        format: Format,
        version: Option<u64>,
        server_ms: Option<u64>,
        now: Now,
        mut covered: impl FnMut(&Entry, u64),
    ) -> Result<Option<usize>, Error> {
        if version.is_some() && version < self.version {
            return Ok(None);
        }
        let reused = self.server.replace(shards, format)?;
        self.version = version;
        self.server_clock = server_ms.map(|server_ms| (server_ms, now.steady_ms));
        let live = self.server.live(self.server_seconds(now));
        let (server, lags) = (&self.server, &mut self.lag);
        self.journal.cover(|entry| {
            let is_covered = server.contains(entry.hashed(), &live);
            if is_covered {
                let lag = now.wall_ms.saturating_sub(entry.at);
                lags.add(lag);
                covered(entry, lag);
            }
            is_covered
        });
        Ok(Some(reused))
    }

    /// The version of the snapshot in use.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The indices of the fresh ids, in order; of equal ids the first. Changes nothing but counters.
    pub fn filter<S: AsRef<[u8]>>(&mut self, ids: &[S], now: Now) -> Vec<u32> {
        let mut fresh = Vec::with_capacity(ids.len());
        self.filter_into(ids, now, &mut fresh);
        fresh
    }

    /// The same into a list that is used again, from any kind of list.
    pub(crate) fn filter_into<L: IdList + ?Sized>(&mut self, ids: &L, now: Now, fresh: &mut Vec<u32>) {
        fresh.clear();
        let mut list = std::mem::take(&mut self.list);
        let live = self.server.live(self.server_seconds(now));
        let mut queries: Vec<Query<'_>> = self.memory.query(now.wall_seconds()).into_iter().collect();
        let of_memory = queries.len();
        queries.extend(self.server.queries(&live));
        list.read(ids);
        let has_pending = self.journal.pending_len() > 0;
        let mut filtered = self.filtered;
        for index in 0..ids.len() {
            let hash = list.hash(index);
            let counter = if !list.is_first(ids, index) {
                &mut filtered.duplicate
            } else if has_pending && self.pending_entry(list.id(ids, index), now).is_some() {
                &mut filtered.pending
            } else if let Some(query) = queries.iter().position(|query| query.finds(hash, || ids.get(index))) {
                if query < of_memory {
                    &mut filtered.memory
                } else {
                    &mut filtered.server
                }
            } else {
                fresh.push(index as u32);
                &mut filtered.passed
            };
            *counter += 1;
        }
        list.shrink();
        self.list = list;
        self.filtered = filtered;
    }

    /// Whether an id is stopped.
    pub fn has(&self, id: impl AsRef<[u8]>, now: Now) -> bool {
        self.explain(id, now).is_some()
    }

    /// Why an id is stopped; nothing if it is fresh.
    pub fn explain(&self, id: impl AsRef<[u8]>, now: Now) -> Option<Explanation> {
        self.explain_hashed(HashedId::new(id.as_ref()), now)
    }

    fn explain_hashed(&self, id: HashedId<'_>, now: Now) -> Option<Explanation> {
        if let Some(entry) = self.pending_entry(id, now) {
            return Some(Explanation::Pending { at: entry.at });
        }
        if self.memory.contains(id, now.wall_seconds()) {
            return Some(Explanation::Memory);
        }
        self.server
            .find(id, self.server_seconds(now))
            .map(|(shard, epoch)| Explanation::Server { shard, epoch })
    }

    /// The pending impression of an id, unless it is past the window: then it is pending still, and stops nothing.
    #[inline]
    fn pending_entry(&self, id: HashedId<'_>, now: Now) -> Option<&Entry> {
        self.journal
            .get(id)
            .filter(|entry| !entry.covered && now.wall_ms < entry.at.saturating_add(self.window_ms))
    }

    /// Records impressions, known or not.
    pub fn record<S: AsRef<[u8]>>(&mut self, ids: &[S], now: Now) -> Recorded {
        self.record_list(ids, now)
    }

    pub(crate) fn record_list<L: IdList + ?Sized>(&mut self, ids: &L, now: Now) -> Recorded {
        let live = self.server.live(self.server_seconds(now));
        let mut recorded = Recorded::default();
        for index in 0..ids.len() {
            let id = HashedId::new(ids.get(index));
            let known = self.journal.get(id).is_some() || self.memory.contains(id, now.wall_seconds());
            recorded.unknown += usize::from(!known);
            self.memory.record(id, now.wall_seconds());
            let mut entry = Entry::new(id, now.wall_ms, true);
            entry.covered = self.server.contains(id, &live);
            // Who promised to deliver an impression of it keeps that, whoever records it again.
            entry.to_deliver = self.delivering || self.journal.get(id).is_some_and(Entry::is_promised);
            if !entry.is_needed() || entry.id.len() > MAX_ID_BYTES {
                recorded.displaced += usize::from(!entry.covered);
                self.journal.remove(id);
                self.unsaved.hash(id, now.wall_ms);
            } else {
                self.unsaved.impression(&entry, false);
                recorded.displaced += self.journal.push(entry);
            }
        }
        recorded
    }

    /// The pending ids, oldest first, at most `limit`.
    pub fn pending(&self, limit: usize) -> Vec<String> {
        self.pending_entries().take(limit).map(Entry::text).collect()
    }

    pub(crate) fn pending_entries(&self) -> impl Iterator<Item = &Entry> {
        self.journal.pending()
    }

    /// The pending ids as one shard, the newest first if they do not all fit, with the parameters and seed of the newest server shard, else, as where
    /// the server's format is not the native one, the defaults of [`ChainOptions`]. For the next request: a server tests it for that request and never unites it with its own.
    pub fn pending_shard(&self) -> Shard {
        let filter = match self.server.newest_native_spec() {
            Some(spec) => BloomFilter::with_spec(spec),
            None => BloomFilter::new(Parameters::DEFAULT, ChainOptions::default().seed),
        };
        let capacity = filter.parameters().capacity();
        let mut shard = Shard::new(filter, 0, 0);
        for entry in self.journal.pending().rev() {
            if shard.count >= capacity {
                break;
            }
            shard.insert(&entry.id);
        }
        shard
    }

    /// What is held, what was done, as of now.
    pub fn stats(&self, now: Now) -> GuardStats {
        GuardStats {
            shards: self.server.len(),
            server_false_positive_rate: self.server.false_positive_rate(self.server_seconds(now)),
            memory_false_positive_rate: self.memory.false_positive_rate(now.wall_seconds()),
            pending: self.journal.pending_len(),
            remembered: self.memory.remembered(now.wall_seconds()),
            filtered: self.filtered,
            lag: self.lag.summary(),
            bytes: self.server.bytes() + self.journal.bytes() + self.memory.bytes(),
        }
    }

    /// How many shards are in use, and how many of them are past their expiry.
    pub fn held(&self, now: Now) -> (usize, usize) {
        (self.server.len(), self.server.expired(self.server_seconds(now)))
    }

    fn server_seconds(&self, now: Now) -> u64 {
        match self.server_clock {
            Some((server_ms, steady_ms)) => server_ms.saturating_add(now.steady_ms.saturating_sub(steady_ms)) / 1000,
            None => now.wall_seconds(),
        }
    }

    /// Forgets everything: the snapshot in use, the journal and the memory.
    pub fn forget(&mut self) {
        self.memory = Memory::new((self.window_ms / 1000) as u32);
        self.server = ServerView::default();
        self.version = None;
        self.server_clock = None;
        self.journal = self.journal.begun_anew();
        self.unsaved = SegmentWriter::default();
    }
}

/// Delivery to the server: each impression that this writer recorded or took over at least once, covered or not, and again only if the stream
/// runs and has lost it.
impl Guard {
    /// Whether impressions are delivered: what is here then, and what is recorded or taken over while it is so, stays in the journal until it was
    /// delivered, covered or not; in that of whoever takes it over, too, once what is unsaved has been written.
    pub fn set_delivering(&mut self, delivering: bool) {
        self.delivering = delivering;
        if delivering {
            let unsaved = &mut self.unsaved;
            self.journal.deliver_all(|entry| unsaved.promise(entry));
        }
    }

    /// The next batch to deliver: its number, 0 if there is nothing to deliver, and ids with their times (Unix ms), oldest first. At most
    /// `impressions`, and about `bytes` as JSON.
    pub fn begin_batch(&mut self, impressions: usize, bytes: usize, now: Now) -> (u32, Vec<(String, u64)>) {
        let mut ids = Vec::new();
        let batch = self.begin_batch_with(impressions, bytes, now, |entry| ids.push((entry.text(), entry.at)));
        (batch, ids)
    }

    /// The same, calling `take` with each impression of the batch.
    pub(crate) fn begin_batch_with(
        &mut self,
        impressions: usize,
        bytes: usize,
        now: Now,
        take: impl FnMut(&Entry),
    ) -> u32 {
        let limits = BatchLimits {
            impressions,
            bytes,
            overhead: JSON_OVERHEAD,
        };
        self.journal.begin_batch(limits, now.wall_ms, take)
    }

    /// What became of a batch: what has arrived is delivered; what has not is in the next batch again.
    pub fn end_batch(&mut self, batch: u32, arrived: bool, now: Now) {
        let unsaved = &mut self.unsaved;
        self.journal
            .end_batch(batch, arrived, now.wall_ms, |entry| unsaved.delivery(entry));
    }

    /// How many impressions were never delivered and are not under way.
    pub fn undelivered(&self) -> usize {
        self.journal.undelivered_len()
    }
}

/// What is stored, and how it comes back. A writer writes what is new as a new segment; now and then all that is its own as one; and takes over
/// what others left behind.
impl Guard {
    /// What was recorded since the last call, as a segment; nothing if nothing was.
    pub fn take_unsaved(&mut self) -> Option<String> {
        if self.unsaved.is_empty() {
            return None;
        }
        Some(std::mem::take(&mut self.unsaved).finish(self.count()))
    }

    /// All that this writer recorded or took over and that is still of use, as one segment: it stands for all of this writer's segments so far.
    pub fn checkpoint(&self) -> String {
        let mut segment = SegmentWriter::default();
        for stored in self.memory.own_shards() {
            segment.shard(stored);
        }
        for entry in self.journal.iter().filter(|entry| entry.own) {
            segment.impression(entry, true);
            if entry.is_delivered() {
                segment.delivery(entry);
            }
        }
        segment.finish(self.count())
    }

    fn count(&self) -> Count {
        Count {
            counter: self.memory.counter(),
            recorded: self.memory.recorded(),
        }
    }

    /// Takes over what others have left behind: segments, each with its writer. What was pending there is pending here. The answer tells how
    /// each of them could be read; the checkpoint then stands for them all, those of a newer version excepted.
    pub fn take_over<S: AsRef<str>>(&mut self, segments: &[(S, S)], now: Now) -> Vec<SegmentState> {
        let texts: Vec<&str> = segments
            .iter()
            .flat_map(|(writer, text)| [writer.as_ref(), text.as_ref()])
            .collect();
        self.take_in(&texts[..], true, now)
    }

    /// Takes notice of what another writer that is alive has recorded: it is stopped here from now on, and stored and delivered there.
    pub fn merge(&mut self, segment: &str, now: Now) -> SegmentState {
        self.take_in(&["", segment][..], false, now)[0]
    }

    /// Takes in segments, each preceded by its writer: those of others as this writer's `own`, or those of a writer that is alive.
    pub(crate) fn take_in<L: IdList + ?Sized>(&mut self, texts: &L, own: bool, now: Now) -> Vec<SegmentState> {
        let mut segments: Vec<Segment> = (0..texts.len() / 2)
            .map(|index| segment::read(texts.get(2 * index + 1)))
            .collect();
        for count in segments.iter().filter_map(|segment| segment.count) {
            self.memory.notice_counter(count.counter);
        }
        let counter = self.memory.counter();
        let mut lasts = Vec::with_capacity(segments.len());
        for index in 0..segments.len() {
            // Only what its own writer counted since is known to have come after it: nothing leaves early because two counted at the same time.
            let recorded = |segment: &Segment| segment.count.map_or(0, |count| count.recorded);
            let mut since = 0;
            for (other, segment) in segments.iter().enumerate() {
                if segments[index].count.is_some() && texts.get(2 * other) == texts.get(2 * index) {
                    since = recorded(segment).saturating_sub(recorded(&segments[index])).max(since);
                }
            }
            lasts.push(counter.saturating_sub(since));
        }

        let states = segments.iter().map(|segment| segment.state).collect();
        let mut all = Vec::new();
        for (segment, last) in segments.iter_mut().zip(lasts) {
            let shards_taken = self.absorb_shards(segment, last, own, now) && segment.state == SegmentState::Whole;
            for told in &mut segment.told {
                told.last = last;
                told.in_shard &= shards_taken;
            }
            all.append(&mut segment.told);
        }
        let live = self.server.live(self.server_seconds(now));
        for index in ascending(&all.iter().map(Told::order).collect::<Vec<u64>>()) {
            let Told { kind, entry, last, .. } = &all[index];
            // Whoever promised to deliver an impression and is alive does.
            if *kind == DELIVERIES {
                self.journal.note_delivery(entry);
            } else if *kind != PROMISES || own {
                if !all[index].in_shard {
                    self.memory.remember(entry.hashed(), entry.at / 1000, *last, own);
                }
                if *kind != HASHES {
                    self.adopt(entry.clone(), own, &live);
                }
            }
        }
        self.memory.rotate();
        states
    }

    /// Takes a segment's shards into the memory. Whether all of them could be taken: then its impressions need not be remembered once more.
    fn absorb_shards(&mut self, segment: &mut Segment, last: u64, own: bool, now: Now) -> bool {
        let mut all = true;
        for stored in &mut segment.shards {
            let counted_since = match segment.count {
                Some(count) if own => count.counter.saturating_sub(stored.age.last),
                _ => 0,
            };
            stored.age.last = last.saturating_sub(counted_since);
            stored.age.own = own;
            all &= self.memory.absorb(stored, now.wall_seconds());
        }
        all
    }

    /// Puts a stored impression into the journal, unless it is of no use there or a later one of the same id is there.
    fn adopt(&mut self, mut entry: Box<Entry>, own: bool, live: &LiveShards) {
        entry.own = own;
        entry.to_deliver |= self.delivering;
        let here = self.journal.get(entry.hashed());
        if here.is_some_and(|here| here.at >= entry.at) {
            if entry.is_promised() {
                self.journal.promise(entry.hashed());
            }
            return;
        }
        entry.own |= here.is_some_and(|here| here.own);
        entry.to_deliver |= here.is_some_and(Entry::is_promised);
        entry.covered |= self.server.contains(entry.hashed(), live);
        if entry.is_needed() {
            self.journal.push(entry);
        }
    }
}

/// A snapshot's texts as a list.
struct Texts<'a, S>(&'a [S]);

impl<S: AsRef<str>> IdList for Texts<'_, S> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        self.0[index].as_ref().as_bytes()
    }
}
