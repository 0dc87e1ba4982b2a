//! Unsaved changes, and the rows that save them.
//!
//! Each change of a recording has a number. A row has the current state of the recordings with the next 1,000 changes
//! or fewer. Once the store has it, these recordings are saved, except those that have changed since, and so have
//! higher numbers. Rows may be saved in any order, and a row that is never confirmed does no harm, since rows merge.

use super::facts::Facts;
use super::row;
use super::written::{EncodedRow, WrittenRow};
use super::{MAX_ROW, Table};
use crate::rank::{Rank, sorted};

/// Most rows that wait for [`Table::saved`]. Older ones cannot be confirmed: their changes stay unsaved.
const MAX_WRITTEN: usize = 64;

/// Identifies a returned row. A guard uses no mark twice; the default one is before the first change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) u32);

/// The changes for which a row is due. A row also has all other unsaved changes.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// A change that cannot wait: anything but that an impression is covered.
    Changes,
    /// The same, or a fact that the store lacks: the day, a larger window, a deletion, that impressions are delivered,
    /// a device name.
    Facts,
    /// Anything unsaved.
    All,
}

impl Table {
    /// The next row to save, with up to 1,000 changes after `after` and the facts as of `now_ms`, and its mark. `None`
    /// if nothing after that is due. Facts are due only after the default mark.
    pub(crate) fn unsaved(&mut self, after: Mark, due: Due, now_ms: u64) -> Option<(EncodedRow, Mark)> {
        let facts = self.facts_at(now_ms);
        let mut is_due = due != Due::Changes && after == Mark::default() && !self.stored.include(&facts);
        if !is_due && due != Due::All && self.tally.unsaved == 0 {
            return None;
        }
        let written = self.written.iter().find(|row| row.mark == after.0);
        let after = written.map_or(0, |row| row.last);
        let mut changes = Vec::new();
        for (&hash, recording) in &self.recordings {
            if recording.change > after {
                is_due |= due == Due::All || !recording.can_wait;
                changes.push((recording.change.into(), 0, hash));
            }
        }
        if !is_due {
            return None;
        }
        let mut changes = sorted(changes);
        changes.truncate(MAX_ROW);
        let last = changes.last().map_or(after, |change| change.0 as u32);
        let mark = self.next_change();
        if self.written.len() == MAX_WRITTEN {
            let oldest = self.written.first().map_or(0, |row| row.mark);
            self.forget_written(oldest);
        }
        self.written.push(WrittenRow {
            mark,
            after,
            last,
            facts,
        });
        self.facts = facts;
        Some((self.row_of(changes), Mark(mark)))
    }

    /// A row of at most this many characters with the newest unsaved recordings that fit, up to 1,000, and the facts as
    /// of `now_ms`; and whether it has all of them. `None` if none fits, or if all unsaved changes can wait.
    pub(crate) fn unsaved_within(&mut self, characters: usize, now_ms: u64) -> Option<(String, bool)> {
        if self.tally.unsaved == 0 {
            return None;
        }
        let mut changes = Vec::new();
        for (&hash, recording) in &self.recordings {
            if recording.must_be_saved() {
                changes.push((recording.change.into(), 0, hash));
            }
        }
        let mut room = row::room_in(characters);
        let mut fitting = Vec::new();
        for (_, _, hash) in sorted(changes).into_iter().rev() {
            let bytes = self.get(hash).map_or(0, row::most_bytes_of);
            if bytes <= room && fitting.len() < MAX_ROW {
                room -= bytes;
                fitting.push((0, 0, hash));
            }
        }
        self.facts = self.facts_at(now_ms);
        let is_all = fitting.len() == self.tally.unsaved;
        (!fitting.is_empty()).then(|| (self.row_of(fitting).text, is_all))
    }

    /// Confirms that the store has the row of this mark: its facts, and its recordings unless they have changed since.
    /// Has no effect a second time.
    pub(crate) fn saved(&mut self, mark: Mark) {
        let Some(&row) = self.written.iter().find(|row| row.mark == mark.0) else {
            return;
        };
        self.forget_written(row.mark);
        self.stored.merge(&row.facts);
        for recording in self.recordings.values_mut() {
            if recording.change > row.after && recording.change <= row.last {
                self.tally.unsaved -= usize::from(recording.must_be_saved());
                (recording.change, recording.can_wait) = (0, false);
            }
        }
    }

    fn forget_written(&mut self, mark: u32) {
        self.written.retain(|row| row.mark != mark);
    }

    /// Whether an id of the row has an unsaved change here, or the row has a fact that the store is not known to have.
    pub(crate) fn has_unsaved(&self, row: &row::Row) -> bool {
        let is_unsaved = |hash| self.get(hash).is_some_and(|recording| recording.change != 0);
        !self.stored.include(&row.facts) || row.recordings.iter().any(|(hash, _)| is_unsaved(*hash))
    }

    /// Rows with the table's recordings of these ids, up to 1,000 each; at least one row, for the facts.
    pub(crate) fn rows_of(&self, hashes: Vec<u64>) -> Vec<EncodedRow> {
        let mut ids = Vec::new();
        for hash in hashes {
            ids.extend(self.get(hash).map(|recording| recording.rank(hash)));
        }
        let mut ids = sorted(ids);
        ids.dedup();
        let mut rows = Vec::new();
        for ids in ids.chunks(MAX_ROW) {
            rows.push(self.write(ids));
        }
        if rows.is_empty() {
            rows.push(self.write(&[]));
        }
        rows
    }

    /// A row of these ids, each once.
    fn row_of(&self, mut ids: Vec<Rank>) -> EncodedRow {
        for id in &mut ids {
            // A recording's rank orders a row.
            *id = self.get(id.2).map_or(*id, |recording| recording.rank(id.2));
        }
        self.write(&sorted(ids))
    }

    fn write(&self, ids: &[Rank]) -> EncodedRow {
        EncodedRow {
            text: row::write(self, &self.facts, ids),
            recordings: ids.len(),
        }
    }

    /// The facts for a row that is written now.
    fn facts_at(&self, now_ms: u64) -> Facts {
        let mut facts = self.facts;
        facts.day = facts.day.max(Facts::day_of(now_ms));
        facts.device_name = facts.device_name.or(self.candidate);
        facts
    }
}
