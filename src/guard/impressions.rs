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
use super::recording::{Kind, MAX_SEQ, Open, Place, Recording};
use super::tally::Tally;
use super::unsaved::Unsaved;
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

    fn is_live(&self, recording: &Recording, now_ms: u64) -> bool {
        now_ms < recording.at.saturating_add(self.window_ms)
    }

    /// Records an impression. Returns how many ids lost their text for want of room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is recorded.
    pub(crate) fn record(&mut self, id: HashedId<'_>, at: u64, covered: bool) -> Result<usize, Error> {
        self.add(id, at, Kind::Seen, covered)
    }

    /// Takes an id back: it passes until it is recorded again.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; then nothing is recorded.
    pub(crate) fn unsee(&mut self, id: HashedId<'_>, at: u64) -> Result<usize, Error> {
        self.unseen_revision += 1;
        self.add(id, at, Kind::Unseen, false)
    }

    fn add(&mut self, id: HashedId<'_>, at: u64, kind: Kind, covered: bool) -> Result<usize, Error> {
        self.recordings.try_reserve(1)?;
        let has_room = id.bytes().len() <= MAX_TEXT_BYTES;
        let open = if has_room {
            Some(Open::new(id.bytes(), true)?)
        } else {
            None
        };
        self.take(id.unseeded());
        let recording = Recording {
            seq: self.next_seq(),
            at,
            kind,
            covered,
            delivered: false,
            open,
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
        if self.provisional.take().is_none() {
            return;
        }
        for early in self.in_order(|recording| recording.seq > PROVISIONAL_SEQ) {
            let seq = self.next_seq();
            self.change(early.hash, |recording| recording.seq = seq);
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
        let mut was_taken_back = false;
        if let Some(known) = self.take(hash) {
            was_taken_back = known.is_taken_back();
            // Whoever was to deliver an impression of the id delivers the newer one.
            let own = known.open.as_ref().is_some_and(|open| open.own);
            if let Some(open) = &mut recording.open {
                open.own |= own;
            }
            recording = known.merge(recording);
        }
        self.unseen_revision += u64::from(recording.is_taken_back() && !was_taken_back);
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
        self.retain(|recording| !forgotten.covers(recording));
    }

    /// Forgets what was recorded before `cleared_at`, or with a clock ahead of `now`. What stays is unsaved again.
    pub(crate) fn clear_before(&mut self, cleared_at: u64, now_ms: u64) {
        self.retain(|recording| recording.at >= cleared_at && recording.at <= now_ms);
        self.unsaved = Unsaved {
            recordings: self.recordings.keys().copied().collect(),
            covered: Vec::new(),
            header: self.reporting,
        };
        self.forgotten = None;
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
    pub(crate) fn change_open(&mut self, hash: u64, change: impl FnOnce(&mut Open)) {
        self.change(hash, |recording| {
            if let Some(open) = &mut recording.open {
                change(open);
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
        let counter = self.counter;
        self.change(hash, |recording| {
            recording.delivered = true;
            if let Some(open) = &mut recording.open {
                let delivery = &mut open.delivery;
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
        for oldest in self.in_order(|recording| recording.open.is_some()) {
            if self.tally.texts <= texts && self.tally.text_bytes <= bytes {
                break;
            }
            self.change(oldest.hash, |recording| recording.open = None);
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
        let order = self.in_order(counts);
        let excess = order.len().saturating_sub(most);
        for evicted in &order[..excess] {
            self.take(evicted.hash);
        }
    }

    /// The places of the recordings that `counts` names, lowest first.
    fn in_order(&self, counts: impl Fn(&Recording) -> bool) -> Vec<Place> {
        let counted = self.recordings.iter().filter(|(_, recording)| counts(recording));
        Place::sorted(counted.map(|(&hash, recording)| Place::of(hash, recording)))
    }

    /// The recordings of these hashes, as far as the table has them, lowest first.
    pub(crate) fn get_in_order(&self, hashes: Vec<u64>) -> impl Iterator<Item = (u64, &Recording)> {
        let places = hashes
            .into_iter()
            .filter_map(|hash| Some(Place::of(hash, self.get(hash)?)));
        let mut places = Place::sorted(places);
        places.dedup();
        places
            .into_iter()
            .filter_map(|place| Some((place.hash, self.get(place.hash)?)))
    }
}

fn with_slack(limit: usize) -> usize {
    limit + limit / 10
}

/// What can be told without looking at each recording.
impl Impressions {
    /// The recordings that have their text, oldest first, each with its hash. Looks at none where none has.
    pub(crate) fn open(&self) -> impl DoubleEndedIterator<Item = (u64, &Recording, &Open)> {
        let places = (self.tally.texts > 0).then(|| self.in_order(|recording| recording.open.is_some()));
        places.into_iter().flatten().filter_map(|place| {
            let recording = self.get(place.hash)?;
            Some((place.hash, recording, recording.open.as_deref()?))
        })
    }

    /// The pending ones of them.
    pub(crate) fn pending(&self) -> impl DoubleEndedIterator<Item = (u64, &Recording, &Open)> {
        self.open().filter(|(_, recording, _)| recording.is_pending())
    }

    pub(crate) fn pending_len(&self) -> usize {
        self.tally.pending
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
        table + self.tally.texts * size_of::<Open>() + self.tally.text_bytes
    }
}

/// What has to be written to storage.
impl Impressions {
    /// Whether anything has to be written, and has its number. `everything`: what only a snapshot has covered, too.
    pub(crate) fn is_unsaved(&self, everything: bool) -> bool {
        self.provisional.is_none() && self.unsaved.is_due(everything)
    }

    /// The hashes of what has changed since the last call.
    pub(crate) fn take_unsaved(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unsaved).into_hashes()
    }
}
