//! The guard's part of storage: writing and merging rows, and a new generation after a clear.

use super::Guard;
use super::server_view::ServerView;
use super::types::recorded_at;
use super::unseen::Unseen;
use crate::table::{Due, EncodedRow, Mark, Source, row};
use crate::time::Time;

/// Storage. A store is a bag of rows, each a string: rows of several tabs may be merged in any order, any number of
/// times.
///
/// ```
/// use seenguard::Time;
/// use seenguard::device::{Due, Guard, Mark, Source};
/// let now = Time::from_unix_seconds(1_764_000_000);
/// let mut guard = Guard::with_storage("home:reader-17", 4, 30.0, 10_000)?;
/// guard.loaded();
/// guard.record(&["a"], now);
///
/// let mut store = Vec::new();
/// while let Some((row, mark)) = guard.unsaved(Mark::default(), Due::Changes, now) {
///     store.push(row);
///     guard.saved(mark);
/// }
///
/// let mut next_visit = Guard::with_storage("home:reader-17", 5, 30.0, 10_000)?;
/// for row in &store {
///     assert_eq!(next_visit.merge_row(row, Source::Found), Some(1));
/// }
/// next_visit.loaded();
/// assert_eq!(next_visit.filter(&["a", "b"], now), [1]);
/// # Ok::<(), seenguard::Error>(())
/// ```
impl Guard {
    /// The next row to save, with its mark: up to 1,000 changes after `after`, and the facts about the namespace.
    /// `None` if nothing after that is due. To write all unsaved changes, call it again with the returned mark until it
    /// returns `None`.
    pub fn unsaved(&mut self, after: Mark, due: Due, now: Time) -> Option<(String, Mark)> {
        let (row, mark) = self.unsaved_row(after, due, now)?;
        Some((row.text, mark))
    }

    /// [`Guard::unsaved`] with the number of the row's recordings.
    pub(crate) fn unsaved_row(&mut self, after: Mark, due: Due, now: Time) -> Option<(EncodedRow, Mark)> {
        self.table.unsaved(after, due, recorded_at(now))
    }

    /// A row of at most this many characters with the newest unsaved recordings that fit. `None` if none fits, or if
    /// all unsaved changes can wait.
    pub fn unsaved_within(&mut self, characters: usize, now: Time) -> Option<String> {
        let (row, _) = self.unsaved_row_within(characters, now)?;
        Some(row)
    }

    /// [`Guard::unsaved_within`], and whether the row has all such recordings.
    pub(crate) fn unsaved_row_within(&mut self, characters: usize, now: Time) -> Option<(String, bool)> {
        self.table.unsaved_within(characters, recorded_at(now))
    }

    /// Confirms that the store has the row of this mark. Later changes stay unsaved. Marks may be confirmed in any
    /// order, or never.
    pub fn saved(&mut self, mark: Mark) {
        self.table.saved(mark);
    }

    /// Merges a row. Returns how many recordings it has; `None` if it is damaged, which changes nothing.
    pub fn merge_row(&mut self, text: impl AsRef<[u8]>, source: Source) -> Option<usize> {
        let row = row::read(text.as_ref())?;
        let count = row.recordings.len();
        self.merge(row, source);
        Some(count)
    }

    fn merge(&mut self, row: row::Row, source: Source) {
        self.table.merge_facts(&row.facts, source);
        self.drop_outdated_snapshot();
        self.table.reserve(row.recordings.len());
        for (hash, recording) in row.recordings {
            self.table.merge(hash, recording, source);
        }
    }

    /// Whether another tab's row has a fact that the store may lack, or an id with an unsaved change here.
    pub fn has_unsaved(&self, text: &str) -> bool {
        row::read(text.as_bytes()).is_some_and(|row| self.table.has_unsaved(&row))
    }

    /// Merges rows, and returns rows that replace them: the table's current recordings of their ids, without evicted
    /// ones. Marks nothing as saved. Returns no rows if all are damaged.
    pub fn rewrite<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut rows = Vec::new();
        for row in self.rewritten(texts.into_iter().map(str::as_bytes)) {
            rows.push(row.text);
        }
        rows
    }

    /// [`Guard::rewrite`], each row with the number of its recordings.
    pub(crate) fn rewritten<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> Vec<EncodedRow> {
        let (mut hashes, mut is_readable) = (Vec::new(), false);
        for row in texts.filter_map(row::read) {
            is_readable = true;
            hashes.extend(row.recordings.iter().map(|(hash, _)| *hash));
            self.merge(row, Source::Row);
        }
        match is_readable {
            true => self.table.rows_of(hashes),
            false => Vec::new(),
        }
    }

    /// Ends the first load: all stored rows have been merged. Earlier calls of [`Guard::record_local`] take effect now,
    /// for ids that no row has stopped.
    pub fn loaded(&mut self) {
        self.table.loaded();
    }

    /// Begins another generation, after a clear: removes all impressions, the snapshot in use and the device name, and
    /// invalidates all marks. `keep_own`: retains this guard's recordings, as unsaved; only if nothing was merged yet.
    pub fn reset(&mut self, keep_own: bool) {
        self.table.reset(keep_own);
        self.forget_snapshot();
        self.has_applied = false;
    }

    /// The number of recordings, expired ones included.
    pub fn recordings(&self) -> usize {
        self.table.len()
    }

    /// The day of the last use, in days since 1970, and the window in days, of a row. `None` if it is damaged or empty.
    pub fn row_facts(text: &str) -> Option<(u64, u64)> {
        let facts = row::read(text.as_bytes())?.facts;
        (!text.is_empty()).then_some((facts.day, facts.window_days))
    }

    /// Drops a snapshot from before a deletion of the history that another tab, or an earlier visit, has received.
    fn drop_outdated_snapshot(&mut self) {
        let deleted_at = self.latest_deletion();
        let is_in_use = self.has_applied || !self.server.is_empty();
        if is_in_use && deleted_at > self.forget_before {
            let version = self.version.map(|_| 0);
            self.forget_snapshot();
            (self.forget_before, self.version) = (deleted_at, version);
        }
    }

    /// When the history was deleted, Unix seconds of the server's clock; 0: never.
    pub(super) fn latest_deletion(&self) -> u32 {
        self.table.deletion().map_or(0, |deletion| deletion.deleted_at)
    }

    fn forget_snapshot(&mut self) {
        self.server = ServerView::default();
        self.unseen = Unseen::default();
        self.version = None;
        self.forget_before = 0;
        self.server_ahead_ms = None;
        self.is_missing_shard = false;
        self.snapshots += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Scope;

    const NOW: Time = Time::from_unix_ms(1_764_000_000_000);

    fn guard(seed: u64) -> Guard {
        Guard::with_storage("home:ada", seed, 30.0, 10_000).unwrap()
    }

    #[test]
    fn rewriting_marks_nothing_as_saved_and_loses_no_facts() {
        let mut writer = guard(1);
        let (facts_alone, mark) = writer.unsaved(Mark::default(), Due::Facts, NOW).unwrap();
        writer.saved(mark);
        writer.loaded();
        writer.record(&["a"], NOW);
        let (row, _) = writer.unsaved(Mark::default(), Due::Changes, NOW).unwrap();
        let rewritten = writer.rewrite([&*row, "damaged", &*facts_alone]);
        assert_eq!(rewritten.len(), 1);
        assert!(writer.unsaved(Mark::default(), Due::Changes, NOW).is_some());
        assert_eq!(writer.rewrite(rewritten.iter().map(String::as_str)), rewritten);
        assert!(writer.rewrite(["damaged"]).is_empty());
        // A row of facts alone is replaced by one.
        let mut reader = guard(2);
        let facts = reader.rewrite([&*facts_alone]);
        assert_eq!((facts.len(), Guard::row_facts(&facts[0])), (1, Some((20_416, 30))));
        assert_eq!(reader.merge_row(&rewritten[0], Source::Row), Some(1));
        assert_eq!((reader.filter(&["a", "b"], NOW), reader.recordings()), (vec![1], 1));
        assert_eq!((Guard::row_facts(""), Guard::row_facts("damaged")), (None, None));
    }

    #[test]
    fn found_impressions_are_delivered_by_a_batch_of_all_and_those_of_another_tab_are_not() {
        let mut writer = guard(1);
        writer.loaded();
        writer.record(&["a"], NOW);
        let (row, _) = writer.unsaved(Mark::default(), Due::Changes, NOW).unwrap();
        for (source, found) in [(Source::Row, 0), (Source::Found, 1), (Source::Stash, 1)] {
            let mut reader = guard(2);
            reader.merge_row(&row, source);
            reader.loaded();
            reader.record(&["b", "c"], NOW);
            let mut batch = |most, scope| {
                let batch = reader.begin_batch(most, 1_000, scope, NOW);
                reader.end_batch(batch.number, false, NOW);
                batch
                    .impressions
                    .into_iter()
                    .map(|impression| impression.id)
                    .collect::<Vec<_>>()
            };
            assert_eq!(batch(9, Scope::All).len(), 2 + found, "{source:?}");
            assert_eq!(batch(9, Scope::Own), ["b", "c"]);
            assert_eq!(batch(1, Scope::Own), ["b"]);
            assert_eq!(batch(1, Scope::Hiding), ["c"]);
        }
    }
}
