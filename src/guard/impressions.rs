//! The impression table: what this device showed, exactly, by the XXH64 of the id.
//!
//! A device with several tabs has a copy of the table in each, and storage holds what all of them wrote. Copies become
//! one by [`Impressions::merge`], which is commutative, associative and idempotent before anything is dropped: the
//! order, the number and the grouping of merges do not matter.
//!
//! The counter of recordings is a Lamport clock: 1 above the highest that this copy has heard of. The device's clock
//! decides nothing but the window, so a clock that jumps drops nothing: what has expired is skipped, and stays until
//! `remember` higher recordings push it out.

use super::forgotten::Forgotten;
use super::recording::{Kind, MAX_CLEAR, MAX_SEQ, Rank, Recording, Unsettled};
use super::tally::Tally;
use super::unsaved::Unsaved;
use crate::device_name::DeviceName;
use crate::error::Error;
use crate::hash::HashedId;
use crate::id_map::IdMap;

/// Recordings that are kept unless the options say otherwise.
pub const DEFAULT_REMEMBER: usize = 10_000;
/// Most recordings that can be kept.
pub const MAX_REMEMBER: usize = 50_000;
/// Most ids that are kept as text.
pub(crate) const MAX_TEXTS: usize = 5_000;
/// Most bytes of these ids together.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Most ids that are taken back.
pub(crate) const MAX_UNSEEN: usize = 1_000;

/// Before the storage has loaded, recordings are numbered from here, above all that it may hold.
const PROVISIONAL_SEQ: u64 = 1 << 62;
/// So much lower are those of what no server is to learn of.
const LOCAL: u64 = 1 << 61;

/// The impressions of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Impressions {
    window_ms: u64,
    remember: usize,
    recordings: IdMap<Recording>,
    tally: Tally,
    counter: u64,
    /// Counts on from [`PROVISIONAL_SEQ`] until the storage has loaded.
    provisional: Option<u64>,
    reporting: bool,
    forgotten: Option<Forgotten>,
    /// The latest deletion that was heard of before the storage had loaded, and the provisional number of the last
    /// recording before that.
    heard_early: (u32, u64),
    /// The number of the latest clear that is known; 0: none.
    clear: u64,
    /// Whether a clear of this copy has not reached the storage yet.
    is_clearing: bool,
    device_name: Option<DeviceName>,
    /// Whether a segment has the device name.
    is_named: bool,
    /// Grows whenever something is taken back or forgotten.
    unseen_revision: u64,
    unsaved: Unsaved,
}

impl Impressions {
    /// An empty table whose storage has not loaded yet. `remember`: recordings that are kept at least.
    pub(crate) fn new(window_ms: u64, remember: usize) -> Self {
        Impressions {
            window_ms,
            remember,
            recordings: IdMap::default(),
            tally: Tally::default(),
            counter: 0,
            provisional: Some(PROVISIONAL_SEQ),
            reporting: false,
            forgotten: None,
            heard_early: (0, 0),
            clear: 0,
            is_clearing: false,
            device_name: None,
            is_named: false,
            unseen_revision: 0,
            unsaved: Unsaved::default(),
        }
    }

    /// Grows whenever something is taken back or forgotten, in this copy or another one.
    pub(crate) fn unseen_revision(&self) -> u64 {
        self.unseen_revision
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.recordings.is_empty()
    }

    pub(crate) fn forgotten(&self) -> Option<Forgotten> {
        self.forgotten
    }

    /// The number of the latest clear that is known: 1 above the device's time of it; 0: none.
    pub(crate) fn clear_number(&self) -> u64 {
        self.clear
    }

    /// Nothing before the storage has loaded.
    pub(crate) fn device_name(&self) -> Option<DeviceName> {
        self.device_name.filter(|_| self.provisional.is_none())
    }

    /// The highest counter of a recording that is known.
    pub(crate) fn counter(&self) -> u64 {
        self.counter
    }

    /// Names the device, unless it has a name.
    pub(crate) fn name_device(&mut self, name: DeviceName) {
        self.device_name.get_or_insert(name);
    }

    /// Takes over a name that a segment has: of two that segments have the lesser stays, and one that none has yields.
    pub(crate) fn merge_device_name(&mut self, stored: DeviceName) {
        let own = self.device_name.filter(|_| self.is_named);
        self.device_name = Some(own.map_or(stored, |own| own.min(stored)));
        self.is_named = true;
    }

    /// Whether impressions of this namespace were ever delivered.
    pub(crate) fn is_reporting(&self) -> bool {
        self.reporting
    }

    /// The recording of an id, whatever its age.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<&Recording> {
        self.recordings.get(&hash)
    }

    /// The recording of an id, if it is within the window.
    #[inline]
    pub(crate) fn get_live(&self, hash: u64, now_ms: u64) -> Option<&Recording> {
        self.get(hash).filter(|recording| self.is_live(recording, now_ms))
    }

    /// Whether a recording is within the window.
    pub(crate) fn is_live(&self, recording: &Recording, now_ms: u64) -> bool {
        now_ms < recording.at.saturating_add(self.window_ms)
    }

    /// Records an impression. Returns how many ids lost their text for want of room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is recorded.
    pub(crate) fn record(&mut self, id: HashedId<'_>, at: u64, covered: bool) -> Result<usize, Error> {
        self.add(id, at, Kind::Seen, covered, false)
    }

    /// Records what no server is to learn of: covered and delivered from the start.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is recorded.
    pub(crate) fn record_local(&mut self, id: HashedId<'_>, at: u64) -> Result<usize, Error> {
        self.add(id, at, Kind::Seen, true, true)
    }

    /// Takes an id back: it passes until it is recorded again.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is recorded.
    pub(crate) fn unsee(&mut self, id: HashedId<'_>, at: u64) -> Result<usize, Error> {
        self.unseen_revision += 1;
        self.add(id, at, Kind::Unseen, false, false)
    }

    fn add(&mut self, id: HashedId<'_>, at: u64, kind: Kind, covered: bool, delivered: bool) -> Result<usize, Error> {
        self.recordings.try_reserve(1)?;
        let has_room = id.bytes().len() <= MAX_TEXT_BYTES;
        let unsettled = if has_room {
            Some(Unsettled::new(id.bytes(), true)?)
        } else {
            None
        };
        self.take(id.unseeded());
        let is_early_local = covered && delivered && self.provisional.is_some();
        let recording = Recording {
            seq: self.next_seq() - if is_early_local { LOCAL } else { 0 },
            at,
            kind,
            covered,
            delivered,
            unsettled,
        };
        self.insert(id.unseeded(), recording);
        self.unsaved.recordings.push(id.unseeded());
        let lost = self.drop_texts() + usize::from(!has_room && !covered);
        self.evict();
        Ok(lost)
    }

    fn next_seq(&mut self) -> u64 {
        let counter = self.provisional.as_mut().unwrap_or(&mut self.counter);
        *counter += u64::from(*counter != MAX_SEQ);
        *counter
    }

    /// The storage has loaded, or never will: numbers what was recorded meanwhile.
    pub(crate) fn finish_loading(&mut self) {
        // Without memory for it, what was recorded keeps its provisional numbers for now.
        let Ok(early) = self.in_order(is_provisional) else {
            return;
        };
        if self.provisional.take().is_none() {
            return;
        }
        for early in early {
            let seq = self.next_seq();
            self.change(early.hash, |recording| recording.seq = seq);
        }
        // What was delivered meanwhile: no sign that the stream has passed it counts before the next recording.
        for recording in self.recordings.values_mut() {
            if let Some(unsettled) = &mut recording.unsettled
                && unsettled.delivery.is_provisional()
            {
                unsettled.delivery.first = self.counter;
            }
        }
        self.evict();
    }

    /// Merges a recording of an id that another writer has stored.
    ///
    /// Two tabs, a clock that is set back by a minute in between, and one id:
    ///
    /// | tab | does | `seq` | `at` | `kind` |
    /// | --- | --- | --- | --- | --- |
    /// | A | records it | 1 | 12:01 | seen |
    /// | B | hears of A: its counter is 1 | | | |
    /// | B | takes it back | 2 | 12:00 | unseen |
    ///
    /// Whoever merges both, in either order and however often, has B's: the counter says that B knew of A's, whatever
    /// the clock says. Had B not heard of A, both would have `seq` 1 and A's would stay, by its later time. A recording
    /// that is merged with itself, stored by A when it was pending and by B when a snapshot had covered it, is covered.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is merged.
    pub(crate) fn merge(&mut self, hash: u64, mut recording: Recording) -> Result<(), Error> {
        self.counter = self.counter.max(recording.seq);
        if self.forgotten.is_some_and(|forgotten| forgotten.covers(&recording)) {
            return Ok(());
        }
        self.recordings.try_reserve(1)?;
        let mut known_rank = None;
        if let Some(known) = self.take(hash) {
            known_rank = known.is_taken_back().then(|| Rank::of(hash, &known));
            // Whoever was to deliver an impression of the id delivers the newer one.
            let own = known.unsettled.as_ref().is_some_and(|unsettled| unsettled.own);
            if let Some(unsettled) = &mut recording.unsettled {
                unsettled.own |= own;
            }
            // What no server is to learn of changes nothing about what is stopped, though that was not known yet.
            let is_early_local = (LOCAL..PROVISIONAL_SEQ).contains(&known.seq);
            let yields = is_early_local && recording.kind == Kind::Seen && self.is_live(&recording, known.at);
            recording = if yields { recording } else { known.merge(recording) };
        }
        // Also if it was taken back before, for that may have expired.
        let is_news = recording.is_taken_back() && known_rank != Some(Rank::of(hash, &recording));
        self.unseen_revision += u64::from(is_news);
        self.insert(hash, recording);
        self.drop_texts();
        self.evict();
        Ok(())
    }

    /// Forgets what was recorded before a deletion of the history on the server. Of two deletions the later one counts,
    /// of one the earlier time.
    pub(crate) fn forget_before(&mut self, forgotten: Forgotten) {
        let is_known = self.forgotten.is_some_and(|known| {
            (known.before, std::cmp::Reverse(known.at)) >= (forgotten.before, std::cmp::Reverse(forgotten.at))
        });
        if is_known {
            return;
        }
        self.forgotten = Some(forgotten);
        self.unseen_revision += 1;
        self.counter = self.counter.max(forgotten.max_seq());
        self.unsaved.header = true;
        // What has no number yet was recorded without knowing of this deletion, unless it was heard of by then. What was
        // taken back then stays so: clocks are set, and what was shown since the deletion must not hide it.
        let (heard, last) = self.heard_early;
        let is_older = |recording: &Recording| {
            let knows = forgotten.before <= heard && recording.seq > last;
            is_provisional(recording) && recording.kind == Kind::Seen && recording.at < forgotten.at && !knows
        };
        self.retain(|recording| !forgotten.covers(recording) && !is_older(recording));
        if let Some(last) = self.provisional
            && forgotten.before > heard
        {
            self.heard_early = (forgotten.before, last);
        }
    }

    /// Clears the table. What segments of a lower number than this clear's have counts only if it was recorded since.
    pub(crate) fn clear(&mut self, now_ms: u64) {
        self.retain(|_| false);
        self.begin_clear(now_ms.max(self.clear) + 1);
        self.is_clearing = true;
    }

    /// The clear has reached the storage.
    pub(crate) fn finish_clear(&mut self) {
        self.is_clearing = false;
    }

    /// Takes over the number of a clear: what was recorded before it leaves, or later than now. Returns whether it was
    /// not known.
    pub(crate) fn merge_clear(&mut self, number: u64, now_ms: u64) -> bool {
        if number <= self.clear {
            return false;
        }
        let is_ahead = number > now_ms;
        if is_ahead && self.is_clearing {
            // It was made by a clock that was ahead: the clear of this copy is the later one.
            self.begin_clear(number + 1);
            return true;
        }
        // Of what was recorded before the storage had loaded, such a number tells nothing.
        self.retain(|recording| {
            let is_since = recording.at >= number && recording.at <= now_ms;
            is_since || (is_ahead && is_provisional(recording))
        });
        self.begin_clear(number);
        true
    }

    /// What is in the table stays, and is unsaved again.
    fn begin_clear(&mut self, number: u64) {
        self.clear = number.min(MAX_CLEAR);
        self.unseen_revision += 1;
        self.unsaved = Unsaved {
            recordings: self.recordings.keys().copied().collect(),
            covered: Vec::new(),
            header: self.reporting,
        };
        self.forgotten = None;
        self.device_name = None;
        self.is_named = false;
    }

    /// Whether a recording counts that a segment of this number has.
    pub(crate) fn counts(&self, recording: &Recording, number: u64, now_ms: u64) -> bool {
        number >= self.clear || (recording.at >= self.clear && recording.at <= now_ms)
    }

    /// From now on impressions are delivered: ids keep their text until they are, covered or not.
    pub(crate) fn set_reporting(&mut self) {
        self.unsaved.header |= !self.reporting;
        self.reporting = true;
    }

    /// Takes notice that another writer delivers impressions.
    pub(crate) fn merge_reporting(&mut self) {
        self.reporting = true;
    }

    /// Changes a recording by `change`; it must leave the id as it is.
    fn change(&mut self, hash: u64, change: impl FnOnce(&mut Recording)) {
        let Some(recording) = self.recordings.get_mut(&hash) else {
            return;
        };
        self.tally.remove(recording);
        change(recording);
        recording.drop_unneeded_text(self.reporting);
        self.tally.add(recording);
    }

    /// Changes the text or the delivery of a recording that has one.
    pub(crate) fn change_unsettled(&mut self, hash: u64, change: impl FnOnce(&mut Unsettled)) {
        self.change(hash, |recording| {
            if let Some(unsettled) = &mut recording.unsettled {
                change(unsettled);
            }
        });
    }

    /// Notes that a snapshot in use stops an id.
    pub(crate) fn set_covered(&mut self, hash: u64) {
        self.change(hash, |recording| recording.covered = true);
        self.unsaved.covered.push(hash);
    }

    /// Notes that an impression has arrived at the server.
    pub(crate) fn set_delivered(&mut self, hash: u64, now_ms: u64) {
        let counter = self.provisional.unwrap_or(self.counter);
        self.change(hash, |recording| {
            recording.delivered = true;
            if let Some(unsettled) = &mut recording.unsettled {
                let delivery = &mut unsettled.delivery;
                if delivery.times == 0 {
                    delivery.first = counter;
                }
                delivery.times = delivery.times.saturating_add(1);
                delivery.last = now_ms;
            }
        });
        self.unsaved.recordings.push(hash);
    }

    fn take(&mut self, hash: u64) -> Option<Recording> {
        let taken = self.recordings.remove(&hash)?;
        self.tally.remove(&taken);
        Some(taken)
    }

    /// Inserts the recording of an id that has none, for which room was reserved.
    fn insert(&mut self, hash: u64, mut recording: Recording) {
        recording.drop_unneeded_text(self.reporting);
        self.tally.add(&recording);
        self.recordings.insert(hash, recording);
    }

    fn retain(&mut self, mut keep: impl FnMut(&Recording) -> bool) {
        let tally = &mut self.tally;
        self.recordings.retain(|_, recording| {
            let kept = keep(recording);
            if !kept {
                tally.remove(recording);
            }
            kept
        });
    }

    /// Takes their text from the oldest, once there are too many or too long ones, until a tenth of the room is free.
    /// Returns how many lost it.
    fn drop_texts(&mut self) -> usize {
        if self.tally.texts <= MAX_TEXTS && self.tally.text_bytes <= MAX_TEXT_BYTES {
            return 0;
        }
        let (texts, bytes) = (MAX_TEXTS - MAX_TEXTS / 10, MAX_TEXT_BYTES - MAX_TEXT_BYTES / 10);
        let mut dropped = 0;
        // Without memory to order them the texts stay until the next time.
        let oldest_first = self
            .in_order(|recording| recording.unsettled.is_some())
            .unwrap_or_default();
        for oldest in oldest_first {
            if self.tally.texts <= texts && self.tally.text_bytes <= bytes {
                break;
            }
            self.change(oldest.hash, |recording| recording.unsettled = None);
            dropped += 1;
        }
        dropped
    }

    /// Drops the lowest recordings once there are a tenth more than are to be remembered, and of those taken back
    /// likewise.
    fn evict(&mut self) {
        if self.provisional.is_none() && self.recordings.len() > with_slack(self.remember) {
            self.keep_highest(self.remember, |_| true);
        }
        if self.tally.unseen > with_slack(MAX_UNSEEN) {
            self.keep_highest(MAX_UNSEEN, |recording| recording.kind == Kind::Unseen);
        }
    }

    /// Keeps of the recordings that `counts` names the `most` highest.
    fn keep_highest(&mut self, most: usize, counts: impl Fn(&Recording) -> bool) {
        // Without memory to order them all stay until the next time.
        let order = self.in_order(counts).unwrap_or_default();
        let excess = order.len().saturating_sub(most);
        for evicted in &order[..excess] {
            self.take(evicted.hash);
        }
    }

    /// The ranks of the recordings that `counts` names, lowest first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn in_order(&self, counts: impl Fn(&Recording) -> bool) -> Result<Vec<Rank>, Error> {
        let counted = self.recordings.iter().filter(|(_, recording)| counts(recording));
        Rank::sorted(counted.map(|(&hash, recording)| Rank::of(hash, recording)))
    }

    /// The recordings of these hashes, as far as the table has them, lowest first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn get_in_order(&self, hashes: &[u64]) -> Result<impl Iterator<Item = (u64, &Recording)>, Error> {
        let found = hashes.iter().filter_map(|&hash| Some(Rank::of(hash, self.get(hash)?)));
        let mut ranks = Rank::sorted(found)?;
        ranks.dedup();
        Ok(ranks
            .into_iter()
            .filter_map(|rank| Some((rank.hash, self.get(rank.hash)?))))
    }
}

/// Whether it was recorded before the storage had loaded, and so has no number yet.
fn is_provisional(recording: &Recording) -> bool {
    recording.seq > MAX_SEQ
}

fn with_slack(limit: usize) -> usize {
    limit + limit / 10
}

/// What can be told without looking at each recording.
impl Impressions {
    /// The recordings that have their text, oldest first, each with its hash; none without memory to order them. Looks
    /// at none where none has.
    pub(crate) fn unsettled(&self) -> impl DoubleEndedIterator<Item = (u64, &Recording, &Unsettled)> {
        let has_any = self.tally.texts > 0;
        let ranks = has_any.then(|| {
            self.in_order(|recording| recording.unsettled.is_some())
                .unwrap_or_default()
        });
        ranks.into_iter().flatten().filter_map(|rank| {
            let recording = self.get(rank.hash)?;
            Some((rank.hash, recording, recording.unsettled.as_deref()?))
        })
    }

    /// The pending ones of them.
    pub(crate) fn pending(&self, now_ms: u64) -> impl DoubleEndedIterator<Item = (u64, &Recording, &Unsettled)> {
        self.unsettled()
            .filter(move |(_, recording, _)| recording.is_pending() && self.is_live(recording, now_ms))
    }

    pub(crate) fn undelivered_len(&self) -> usize {
        self.tally.undelivered
    }

    /// How many recordings within the window `counts` names.
    pub(crate) fn count_live(&self, now_ms: u64, counts: impl Fn(&Recording) -> bool) -> usize {
        let live = self.recordings.values().filter(|one| self.is_live(one, now_ms));
        live.filter(|one| counts(one)).count()
    }

    pub(crate) fn bytes(&self) -> usize {
        let table = self.recordings.capacity() * (size_of::<(u64, Recording)>() + 1);
        table + self.tally.texts * size_of::<Unsettled>() + self.tally.text_bytes
    }
}

/// What has to be written to storage.
impl Impressions {
    /// Whether anything has to be written, and has its number. `everything`: what only a snapshot has covered, too.
    pub(crate) fn is_unsaved(&self, everything: bool) -> bool {
        self.provisional.is_none() && self.unsaved.is_due(everything)
    }

    /// The hashes of what has changed since the last call. What is written of them has the device name.
    pub(crate) fn take_unsaved(&mut self) -> Vec<u64> {
        self.is_named = self.device_name.is_some();
        std::mem::take(&mut self.unsaved).into_hashes()
    }

    /// These recordings are to be written, though they were read.
    pub(crate) fn set_unsaved(&mut self, hashes: &[u64]) {
        self.unsaved.recordings.extend_from_slice(hashes);
    }
}
