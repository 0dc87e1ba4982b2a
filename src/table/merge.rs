//! Merging copies of the table: their recordings, the number of the latest clear, and the floor of a deletion on the
//! server.

use super::recording::EARLY_LOCAL;
use super::{Floor, Kind, Rank, Recording, Table};

impl Table {
    /// Notes that stored data has yet to be read.
    pub(crate) fn expect_look(&mut self) {
        self.has_looked = false;
    }

    pub(crate) fn has_looked(&self) -> bool {
        self.has_looked
    }

    /// Notes that all stored data has been merged. Local recordings made meanwhile are stored now, unless the id is
    /// known.
    pub(crate) fn finish_look(&mut self) {
        self.has_looked = true;
        for (hash, at) in std::mem::take(&mut self.early) {
            let is_stopped =
                |one: &Recording| one.seq != EARLY_LOCAL && one.kind == Kind::Seen && self.is_live(one, at);
            let is_forgotten = self.floor.is_some_and(|floor| at < floor.at);
            if !is_forgotten && !self.get(hash).is_some_and(is_stopped) {
                self.take(hash);
                let seq = self.next_seq(at);
                let local = Recording {
                    seq,
                    at,
                    kind: Kind::Seen,
                    covered: true,
                    deliveries: 1,
                    undelivered: None,
                };
                self.insert(hash, local, self.reporting);
                self.note_change(hash, false);
            }
        }
        // Now it is certain whether impressions are delivered.
        for recording in self.recordings.values_mut() {
            self.tally.remove(recording);
            recording.drop_unneeded_text(self.reporting);
            self.tally.add(recording);
        }
    }

    /// Merges a recording of an id that another tab, or an earlier visit, has stored.
    ///
    /// Two tabs, a clock that is set back by a minute in between, and one id:
    ///
    /// | tab | does | `seq` | `at` | `kind` |
    /// | --- | --- | --- | --- | --- |
    /// | A | records it | 12:01 | 12:01 | seen |
    /// | B | hears of A: its counter is 12:01 | | | |
    /// | B | unsees it | 12:01 and 1 | 12:00 | unseen |
    ///
    /// A table that merges both, in any order and any number of times, has B's recording: the counter shows that B knew
    /// A's, regardless of the clock. Merging two copies of one recording, stored by A when it was pending and by B when
    /// a snapshot had covered it, makes it covered.
    pub(crate) fn merge(&mut self, hash: u64, mut recording: Recording) {
        self.counter = self.counter.max(recording.seq);
        if self.floor.is_some_and(|floor| recording.at < floor.at) {
            return;
        }
        // Only a tab that delivers keeps the text of a covered recording.
        let is_to_deliver = recording.kind == Kind::Seen && recording.covered && recording.deliveries == 0;
        self.reporting |= is_to_deliver && recording.undelivered.is_some();
        let mut known_rank = None;
        if let Some(known) = self.take(hash) {
            known_rank = known.is_unseen().then(|| Rank::of(hash, &known));
            // A tab that has to deliver an impression of the id delivers the newer one.
            let is_for_us = known.undelivered.as_ref().is_some_and(|known| known.is_for_us);
            if let Some(undelivered) = &mut recording.undelivered {
                undelivered.is_for_us |= is_for_us;
            }
            recording = known.merge(recording);
        }
        // Also if the id was unseen before, since that recording may have expired.
        let is_news = recording.is_unseen() && known_rank != Some(Rank::of(hash, &recording));
        self.unseen_revision += u64::from(is_news);
        self.insert(hash, recording, self.reporting || !self.has_looked);
        self.drop_texts();
        self.evict();
    }

    pub(crate) fn floor(&self) -> Option<Floor> {
        self.floor
    }

    /// Deletes recordings from before a deletion of the history on the server. Of two deletions the later one counts;
    /// of two device times of one deletion, the earlier one.
    pub(crate) fn merge_floor(&mut self, floor: Floor) {
        let is_known = self.floor.is_some_and(|known| {
            known.deleted_at > floor.deleted_at || (known.deleted_at == floor.deleted_at && known.at <= floor.at)
        });
        if is_known {
            return;
        }
        self.floor = Some(floor);
        self.unseen_revision += 1;
        self.keep(|recording| recording.at >= floor.at);
    }

    /// The number of the latest clear that is known; 0: none.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Applies a clear: rows under lower numbers do not exist. `keeps`: the recordings in the table were made since,
    /// get this number, and must be stored again. Returns whether the clear was new.
    pub(crate) fn learn(&mut self, number: u64, keeps: bool) -> bool {
        if number <= self.number {
            return false;
        }
        self.number = number;
        self.unseen_revision += 1;
        self.floor = None;
        self.device_name = None;
        self.unsaved.clear();
        if !keeps {
            self.early.clear();
        }
        self.keep(|_| keeps);
        for stored in self.in_order(&|recording| recording.seq != EARLY_LOCAL) {
            self.note_change(stored.hash, false);
        }
        true
    }

    /// Drops recordings of these ids that others have stored, and keeps this tab's own changes.
    pub(crate) fn drop_stored<'a>(&mut self, hashes: impl Iterator<Item = &'a u64>) {
        for &hash in hashes {
            if !self.unsaved.iter().any(|change| change.hash == hash) {
                self.take(hash);
            }
        }
    }

    fn keep(&mut self, mut is_kept: impl FnMut(&Recording) -> bool) {
        let tally = &mut self.tally;
        self.recordings.retain(|_, recording| {
            let kept = is_kept(recording);
            if !kept {
                tally.remove(recording);
            }
            kept
        });
    }
}
