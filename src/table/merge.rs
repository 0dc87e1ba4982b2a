//! Merges copies of the table: their recordings, and the facts about the namespace.

use super::facts::{Deletion, Facts};
use super::recording::EARLY_LOCAL;
use super::{Kind, Origin, Recording, Table};

/// The source of a row.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The store, written on this visit, by this tab or another one.
    Row,
    /// The store, written on an earlier visit: the tabs that read it deliver its impressions.
    Found,
    /// A stash. The store may lack its recordings, so those that are new here become unsaved. Before
    /// [`Guard::loaded`](crate::device::Guard::loaded) its impressions count as [`Source::Found`].
    Stash,
}

impl Table {
    /// Ends the first load: all stored rows have been merged. Earlier local recordings stay, unless their ids are
    /// known.
    pub(crate) fn loaded(&mut self) {
        if self.has_loaded {
            return;
        }
        self.has_loaded = true;
        for (hash, at) in std::mem::take(&mut self.early) {
            let is_stopped =
                |one: &Recording| one.seq != EARLY_LOCAL && one.kind == Kind::Seen && self.is_live(one, at);
            let is_forgotten = self.deletion().is_some_and(|deletion| at < deletion.at);
            if !is_forgotten && !self.get(hash).is_some_and(is_stopped) {
                self.take(hash);
                let local = Recording {
                    seq: self.next_seq(at),
                    at,
                    kind: Kind::Seen,
                    covered: true,
                    deliveries: 1,
                    undelivered: None,
                    change: self.next_change(),
                    can_wait: false,
                };
                self.insert(hash, local);
            }
        }
        // Only now is it known whether impressions are delivered.
        for recording in self.recordings.values_mut() {
            self.tally.change(recording, self.facts.reported, |_| {});
        }
        self.drop_id_strings();
        self.evict();
    }

    /// Reserves memory for this many recordings.
    pub(crate) fn reserve(&mut self, recordings: usize) {
        self.recordings.reserve(recordings);
    }

    /// Merges a recording of an id from a row.
    ///
    /// Two tabs, a clock that is set back by a minute in between, and one id:
    ///
    /// | tab | does | `seq` | `at` | `kind` |
    /// | --- | --- | --- | --- | --- |
    /// | A | records it | 12:01 | 12:01 | seen |
    /// | B | merges A's row: its counter is 12:01 | | | |
    /// | B | unsees it | 12:01 and 1 | 12:00 | unseen |
    ///
    /// A table that merges both, in any order and any number of times, has B's recording: its higher counter shows that
    /// B had merged A's, regardless of the clock. Two copies of one recording, saved by A when it was pending and by B
    /// when a snapshot had covered it, merge to a covered one.
    pub(crate) fn merge(&mut self, hash: u64, mut recording: Recording, source: Source) {
        self.counter = self.counter.max(recording.seq);
        if self.deletion().is_some_and(|deletion| recording.at < deletion.at) {
            return;
        }
        let is_found = source == Source::Found || (source == Source::Stash && !self.has_loaded);
        if let Some(undelivered) = &mut recording.undelivered {
            undelivered.origin = if is_found { Origin::Found } else { Origin::Other };
        }
        let may_report = self.may_report();
        let known = self.recordings.get_mut(&hash);
        let known_unseen = known.as_deref().and_then(|known| known.unseen_rank(hash));
        let known_state = known.as_deref().map(Recording::state);
        match known {
            Some(known) => {
                // If this tab has to deliver an impression of the id, it delivers the newer one.
                if let (Some(known), Some(undelivered)) = (&known.undelivered, &mut recording.undelivered) {
                    undelivered.origin = undelivered.origin.max(known.origin);
                }
                (recording.change, recording.can_wait) = (known.change, known.can_wait);
                self.tally.change(known, may_report, |known| known.merge(recording));
            }
            None => self.insert(hash, recording),
        }
        let merged = self.get(hash);
        // Also if the id was unseen before, since that recording may have expired.
        let unseen = merged.and_then(|merged| merged.unseen_rank(hash));
        let is_changed = merged.map(Recording::state) != known_state;
        self.unseen_revision += u64::from(unseen.is_some() && unseen != known_unseen);
        if source == Source::Stash && is_changed {
            self.change_unsaved(hash, false, &|_| {});
        }
        // During the first load a later row may still replace recordings of an earlier one.
        if self.has_loaded {
            self.drop_id_strings();
            self.evict();
        }
    }

    /// Merges the facts of a row.
    pub(crate) fn merge_facts(&mut self, facts: &Facts, source: Source) {
        if let Some(deletion) = facts.deletion {
            self.merge_deletion(deletion);
        }
        self.facts.merge(facts);
        if source != Source::Stash {
            self.stored.merge(facts);
        }
    }

    /// Removes recordings from before a deletion of the history on the server.
    pub(crate) fn merge_deletion(&mut self, deletion: Deletion) {
        if self.facts.merge_deletion(deletion) {
            self.unseen_revision += 1;
            self.retain(deletion.at);
        }
    }

    /// Begins another generation: removes all but the counter, and resets the facts to those of a new table.
    /// `keep_own`: retains the recordings, as unsaved; only if all are of this tab.
    pub(crate) fn reset(&mut self, keep_own: bool) {
        self.unseen_revision += 1;
        self.facts = Facts::of_window(self.window_ms);
        self.facts.reported = self.reports;
        self.stored = Facts::default();
        self.written.clear();
        self.rename();
        if !keep_own {
            self.early.clear();
            self.retain(u64::MAX);
        }
        for (seq, _, hash) in self.in_order(&|_| true) {
            if seq != EARLY_LOCAL {
                self.change_unsaved(hash, false, &|_| {});
            }
        }
    }

    /// Removes recordings from before this time.
    fn retain(&mut self, earliest: u64) {
        let tally = &mut self.tally;
        self.recordings.retain(|_, recording| {
            let stays = recording.at >= earliest;
            if !stays {
                tally.remove(recording);
            }
            stays
        });
    }
}
