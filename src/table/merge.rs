//! Merging copies of the table: their recordings, and the facts about the namespace.

use super::facts::{Deletion, Facts};
use super::recording::EARLY_LOCAL;
use super::{Kind, Origin, Recording, Table};

/// Where a row comes from.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The store; written by this tab or another one.
    Row,
    /// The store; written on an earlier visit: its impressions are delivered by the tabs that read it.
    Found,
    /// A stash: the store may lack what it has, so what is new here becomes unsaved. Before
    /// [`Guard::loaded`](crate::device::Guard::loaded) its impressions are found ones.
    Stash,
}

impl Table {
    /// Notes that all stored rows have been merged. Local recordings made before are decided now: they stay unless
    /// their ids are known.
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
        // Now it is certain whether impressions are delivered.
        for recording in self.recordings.values_mut() {
            self.tally.remove(recording);
            recording.drop_unneeded_text(self.facts.reported);
            self.tally.add(recording);
        }
        self.drop_texts();
        self.evict();
    }

    /// Makes room for this many recordings, once for a row.
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
    /// A table that merges both, in any order and any number of times, has B's recording: the counter shows that B knew
    /// A's, regardless of the clock. Merging two copies of one recording, saved by A when it was pending and by B when
    /// a snapshot had covered it, makes it covered.
    pub(crate) fn merge(&mut self, hash: u64, mut recording: Recording, source: Source) {
        self.counter = self.counter.max(recording.seq);
        if self.deletion().is_some_and(|deletion| recording.at < deletion.at) {
            return;
        }
        let is_found = source == Source::Found || (source == Source::Stash && !self.has_loaded);
        if let Some(undelivered) = &mut recording.undelivered {
            undelivered.origin = if is_found { Origin::Found } else { Origin::Other };
        }
        let known = self.take(hash);
        let (mut known_state, mut known_unseen) = (None, None);
        if let Some(known) = known {
            known_state = Some(known.state());
            known_unseen = known.is_unseen().then(|| known.rank(hash));
            // A tab that has to deliver an impression of the id delivers the newer one.
            if let (Some(known), Some(undelivered)) = (&known.undelivered, &mut recording.undelivered) {
                undelivered.origin = undelivered.origin.max(known.origin);
            }
            let (change, can_wait) = (known.change, known.can_wait);
            recording = known.merge(recording);
            (recording.change, recording.can_wait) = (change, can_wait);
        }
        // Also if the id was unseen before, since that recording may have expired.
        let is_news = recording.is_unseen() && known_unseen != Some(recording.rank(hash));
        self.unseen_revision += u64::from(is_news);
        self.insert(hash, recording);
        if source == Source::Stash && self.get(hash).map(Recording::state) != known_state {
            self.change_unsaved(hash, false, &|_| {});
        }
        // While rows are loaded, what is outdated in one is still to be replaced by another.
        if self.has_loaded {
            self.drop_texts();
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

    /// Begins another generation: only the counter stays. `keeps`: the table has only recordings of this tab, which
    /// stay, as unsaved. The facts are those of a new table.
    pub(crate) fn reset(&mut self, keeps: bool) {
        self.unseen_revision += 1;
        self.facts = Facts::of_window(self.window_ms);
        self.facts.reported = self.reports;
        self.stored = Facts::default();
        self.written.clear();
        self.rename();
        if !keeps {
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
