//! The class `Guard`: a namespace's guard. Times are `Date.now()`, in milliseconds.
//!
//! Strings are passed in the guard's [`TextBatch`]. A method can leave additional results until the next call: numbers in
//! [`Guard::numbers`], a string in [`Guard::text`]. For a list of ids the string has all of them, one after the other,
//! and the numbers have for each its end in UTF-16 units, and its time or lag.

use wasm_bindgen::prelude::wasm_bindgen;

use super::batch::TextBatch;
use crate::error::Error;
use crate::guard::{Explanation, NotApplied, Scope};
use crate::hash::hash_id;
use crate::id_list::IdList;
use crate::id_map::MultiplyShift;
use crate::snapshot::Snapshot;
use crate::table::{Due, Mark, Source};
use crate::time::Time;
use crate::wire::Format;

/// A namespace's guard.
#[wasm_bindgen]
pub struct Guard {
    guard: crate::guard::Guard,
    batch: TextBatch,
    /// Random: the device name follows from it.
    seed: u64,
    /// Additional results of the last call.
    numbers: Vec<f64>,
    text: String,
    /// The length of the string in UTF-16 units.
    units: usize,
}

/// The result of a snapshot: it was applied, not applied without an error, or refused with an error.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ApplyStatus {
    Applied,
    OlderVersion,
    MissingShard,
    BadSnapshot,
    BadBase64,
    Truncated,
    BadMagic,
    BadChecksum,
    BadEncoding,
    BadParameters,
    BadPayload,
    TooLarge,
    OutOfMemory,
}

impl ApplyStatus {
    fn of(error: &Error) -> Self {
        match error {
            Error::BadOption(_) | Error::BadSnapshot(_) | Error::BadReport(_) | Error::WrongNamespace => {
                ApplyStatus::BadSnapshot
            }
            Error::BadBase64 => ApplyStatus::BadBase64,
            Error::Truncated { .. } => ApplyStatus::Truncated,
            Error::BadMagic => ApplyStatus::BadMagic,
            Error::BadChecksum => ApplyStatus::BadChecksum,
            Error::BadEncoding => ApplyStatus::BadEncoding,
            Error::BadParameters(_) => ApplyStatus::BadParameters,
            Error::BadPayload(_) => ApplyStatus::BadPayload,
            Error::TooLarge(_) => ApplyStatus::TooLarge,
            Error::OutOfMemory => ApplyStatus::OutOfMemory,
            Error::InShard { error, .. } => ApplyStatus::of(error),
        }
    }
}

/// Why an id is stopped.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum SeenBy {
    Pending,
    Device,
    Server,
}

/// The argument of [`Guard::filter`].
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum FilterKind {
    /// The fresh ids.
    Fresh,
    /// The fresh ids, and after them the others, those seen longest ago first.
    Split,
    /// The ids that pass because they are unseen.
    Unseen,
}

/// The argument of [`Guard::record`].
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum RecordKind {
    /// Impressions.
    Seen,
    /// Impressions that are not delivered to the server.
    Local,
    /// Ids that become unseen.
    Unseen,
}

/// The argument of [`Guard::count`].
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Count {
    /// Grows when an id becomes unseen or is forgotten.
    UnseenRevision,
    /// Recordings that were never delivered.
    Undelivered,
    /// All recordings.
    Recordings,
}

/// How a batch ends.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum BatchEnd {
    Failed,
    Delivered,
    /// It was sent as the page hid, and the page may never read the response.
    Left,
}

#[wasm_bindgen]
impl Guard {
    /// An empty guard that is not stored. `window_days` and `remember` are clamped to their ranges. `seed`: random
    /// numbers of this guard.
    #[wasm_bindgen(constructor)]
    pub fn new(window_days: f64, remember: usize, seed: &[f64]) -> Guard {
        let mut bytes = Vec::new();
        for number in seed {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Guard {
            guard: crate::guard::Guard::clamped(window_days, remember, MultiplyShift::seeded(hash_id(&bytes, 0))),
            batch: TextBatch::default(),
            seed: hash_id(&bytes, 1),
            numbers: Vec::new(),
            text: String::new(),
            units: 0,
        }
    }

    /// See [`TextBatch::reserve`].
    pub fn reserve(&mut self, bytes: usize) -> usize {
        self.batch.reserve(bytes)
    }

    /// See [`TextBatch::ends`].
    pub fn ends(&mut self, count: usize) -> usize {
        self.batch.ends(count)
    }

    /// See [`TextBatch::separated`].
    pub fn separated(&mut self, bytes: usize) {
        self.batch.separated(bytes);
    }

    /// See [`TextBatch::indices`].
    pub fn indices(&self) -> *const u32 {
        self.batch.indices()
    }

    /// Returns the numbers that the latest call has left.
    pub fn numbers(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.numbers)
    }

    /// Returns the string that the latest call has left.
    pub fn text(&mut self) -> String {
        self.units = 0;
        std::mem::take(&mut self.text)
    }

    fn clear_answer(&mut self) {
        self.numbers.clear();
        self.text.clear();
        self.units = 0;
    }

    fn add_id(&mut self, id: &str, number: u64) {
        self.text += id;
        for &byte in id.as_bytes() {
            // A character of four bytes has two units, any other one.
            self.units += usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0);
        }
        self.numbers.push(self.units as f64);
        self.numbers.push(number as f64);
    }

    /// Applies a snapshot: the batch has its shards, then its unseen ids, with the times `unseen_at` of the server's
    /// clock. Three arguments name its format. `version`, `server_now_ms` and `forget_before` are NaN if absent.
    /// `is_stored`: it is of an earlier visit.
    ///
    /// If it was applied, leaves the number of impressions that it covers, 1 if its shards stop most fresh items, and
    /// `with_lags` the covered ids with their lags. For an invalid shard, leaves the shard's index.
    #[allow(clippy::too_many_arguments)]
    pub fn apply(
        &mut self,
        format_kind: u8,
        format_number: u32,
        format_rate: f64,
        version: f64,
        server_now_ms: f64,
        unseen_at: &[f64],
        forget_before: f64,
        is_stored: bool,
        with_lags: bool,
        wall_ms: f64,
    ) -> ApplyStatus {
        self.clear_answer();
        let format = Format::from_arguments(format_kind, format_number, format_rate);
        let applied = format.and_then(|format| {
            let given = |value: f64| (value >= 0.0).then_some(value as u64);
            let batch = &self.batch;
            let shards: Vec<&[u8]> = (0..batch.len().saturating_sub(unseen_at.len()))
                .map(|index| batch.get(index))
                .collect();
            let snapshot = Snapshot {
                version: given(version),
                shards: &shards,
                format,
                now_ms: given(server_now_ms),
                unseen: &batch.impressions(shards.len(), unseen_at),
                forget_before: given(forget_before).map(|seconds| seconds as u32),
            };
            match is_stored {
                true => self.guard.restore(snapshot, now(wall_ms)).map(|_| None),
                false => self.guard.apply_with(snapshot, with_lags, now(wall_ms)).map(Some),
            }
        });
        match applied {
            Ok(None) => ApplyStatus::Applied,
            Ok(Some(applied)) => {
                self.numbers = vec![applied.covered as f64, f64::from(u8::from(applied.saturated))];
                for covered in applied.lags {
                    self.add_id(&covered.id, covered.lag_ms);
                }
                match applied.reason {
                    None => ApplyStatus::Applied,
                    Some(NotApplied::OlderVersion) => ApplyStatus::OlderVersion,
                    Some(NotApplied::MissingShard) => ApplyStatus::MissingShard,
                }
            }
            Err(error) => {
                self.numbers.extend(error.shard().map(|shard| shard as f64));
                ApplyStatus::of(&error)
            }
        }
    }

    /// Puts the indices of the selected ids into the batch. Returns how many are fresh, or unseen. For a split, leaves
    /// how many seen ones follow.
    pub fn filter(&mut self, kind: FilterKind, wall_ms: f64) -> usize {
        let (ids, now) = (&self.batch, now(wall_ms));
        let (found, seen) = match kind {
            FilterKind::Fresh => (self.guard.filter(ids, now), Vec::new()),
            FilterKind::Unseen => (self.guard.unseen(ids, now), Vec::new()),
            FilterKind::Split => {
                let split = self.guard.split(ids, now);
                self.numbers = vec![split.seen.len() as f64];
                (split.fresh, split.seen)
            }
        };
        self.batch.answer(found, &seen)
    }

    /// Why the batch's first id is stopped; undefined if it is fresh. Leaves the time at which this device showed it,
    /// if it did.
    pub fn explain(&mut self, wall_ms: f64) -> Option<SeenBy> {
        self.clear_answer();
        match self.guard.explain(self.batch.get(0), now(wall_ms))? {
            Explanation::Pending { at } => {
                self.numbers.push(at as f64);
                Some(SeenBy::Pending)
            }
            Explanation::Device { at } => {
                self.numbers.push(at as f64);
                Some(SeenBy::Device)
            }
            Explanation::Server => Some(SeenBy::Server),
        }
    }

    /// Records the batch's ids. Returns how many of them were not known on this device; of unseen ones, how many were
    /// stopped before. Leaves how many pending ids were reduced to hashes.
    pub fn record(&mut self, kind: RecordKind, wall_ms: f64) -> usize {
        self.clear_answer();
        let (ids, now) = (&self.batch, now(wall_ms));
        let recorded = match kind {
            RecordKind::Seen => self.guard.record(ids, now),
            RecordKind::Local => self.guard.record_local(ids, now),
            RecordKind::Unseen => return self.guard.unsee(ids, now),
        };
        self.numbers.push(recorded.lost_text as f64);
        recorded.unknown
    }

    /// Leaves the value of `Seen-Held`: the shards that the server need not send again.
    pub fn held(&mut self) {
        self.clear_answer();
        self.text = self.guard.held();
    }

    /// Leaves the pending ids, oldest first.
    pub fn pending(&mut self, limit: usize, wall_ms: f64) {
        self.clear_answer();
        for id in self.guard.pending(limit, now(wall_ms)) {
            self.add_id(&id, 0);
        }
    }

    /// Leaves the value of `Seen-Pending`: the device's name and its pending list, at most this many characters.
    #[wasm_bindgen(js_name = pendingList)]
    pub fn pending_list(&mut self, max_characters: usize, wall_ms: f64) {
        self.clear_answer();
        self.text = self.guard.pending_list(max_characters, now(wall_ms));
    }

    /// Leaves the numbers of pending, undelivered and remembered impressions, the rate at which the server's shards
    /// stop a fresh item, and the version of the snapshot in use, NaN if it has none.
    pub fn stats(&mut self, wall_ms: f64) {
        let stats = self.guard.stats(now(wall_ms));
        self.clear_answer();
        self.numbers = vec![
            stats.pending as f64,
            self.guard.undelivered() as f64,
            stats.remembered as f64,
            stats.server_false_positive_rate,
            self.guard.version().map_or(f64::NAN, |version| version as f64),
        ];
    }

    /// Returns a number that is available in constant time.
    pub fn count(&self, what: Count) -> f64 {
        match what {
            Count::UnseenRevision => self.guard.unseen_revision() as f64,
            Count::Undelivered => self.guard.undelivered() as f64,
            Count::Recordings => self.guard.recordings() as f64,
        }
    }
}

/// Delivery.
#[wasm_bindgen]
impl Guard {
    /// Marks this namespace as delivering impressions, on this visit and later ones.
    #[wasm_bindgen(js_name = startReporting)]
    pub fn start_reporting(&mut self) {
        self.guard.start_reporting();
    }

    /// Begins the next batch to deliver. Returns its number, 0 if there is nothing to deliver. Leaves how many entries
    /// are impressions, then the impressions and the unseen ids, each with its time.
    #[wasm_bindgen(js_name = beginBatch)]
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, scope: Scope, wall_ms: f64) -> u32 {
        let batch = self.guard.begin_batch(max_impressions, max_bytes, scope, now(wall_ms));
        self.clear_answer();
        self.numbers.push(batch.impressions.len() as f64);
        for impression in batch.impressions.iter().chain(&batch.unseen) {
            self.add_id(&impression.id, impression.at.unix_ms());
        }
        batch.number
    }

    /// Ends a batch.
    #[wasm_bindgen(js_name = endBatch)]
    pub fn end_batch(&mut self, batch: u32, end: BatchEnd, wall_ms: f64) {
        let now = now(wall_ms);
        match end {
            BatchEnd::Left => self.guard.leave_batch(batch, now),
            BatchEnd::Delivered => self.guard.end_batch(batch, true, now),
            BatchEnd::Failed => self.guard.end_batch(batch, false, now),
        }
    }
}

/// Storage.
#[wasm_bindgen]
impl Guard {
    /// Makes this the guard of the namespace in the batch, which has storage, whose rows are not loaded yet.
    #[wasm_bindgen(js_name = expectRows)]
    pub fn expect_rows(&mut self) {
        self.guard.table.expect_rows(first_of(&self.batch), self.seed);
    }

    /// Makes the next row to save, with changes after a mark, 0 for the first row. Returns its mark, 0 if nothing is
    /// due. Leaves the row, and the number of its recordings.
    pub fn unsaved(&mut self, after: u32, due: Due, wall_ms: f64) -> u32 {
        self.clear_answer();
        let Some((row, mark)) = self.guard.unsaved_row(Mark(after), due, now(wall_ms)) else {
            return 0;
        };
        self.numbers.push(row.recordings as f64);
        self.text = row.text;
        mark.0
    }

    /// Leaves a row of at most this many characters with the newest unsaved recordings, or an empty string. Returns
    /// whether the row has all of them.
    #[wasm_bindgen(js_name = unsavedWithin)]
    pub fn unsaved_within(&mut self, characters: usize, wall_ms: f64) -> bool {
        self.clear_answer();
        let (row, is_all) = self
            .guard
            .unsaved_row_within(characters, now(wall_ms))
            .unwrap_or_default();
        self.text = row;
        is_all
    }

    /// Confirms that the store has the row of this mark.
    pub fn saved(&mut self, mark: u32) {
        self.guard.saved(Mark(mark));
    }

    /// Merges the batch's row. Returns how many recordings it has; -1 if it is damaged.
    pub fn merge(&mut self, source: Source) -> i32 {
        let count = self.guard.merge_row(self.batch.get(0), source);
        count.map_or(-1, |count| count as i32)
    }

    /// Whether the batch's row, of another tab, has a fact that the store may lack, or an id with an unsaved change
    /// here.
    #[wasm_bindgen(js_name = hasUnsaved)]
    pub fn has_unsaved(&self) -> bool {
        self.guard.has_unsaved(first_of(&self.batch))
    }

    /// Merges the batch's rows. Leaves the rows that replace them, joined by line feeds, and the number of recordings
    /// of each; nothing if all are damaged.
    pub fn rewrite(&mut self) {
        self.clear_answer();
        let rows = &self.batch;
        let texts = (0..rows.len()).map(|index| rows.get(index));
        for row in self.guard.rewritten(texts) {
            if !self.numbers.is_empty() {
                self.text.push('\n');
            }
            self.text += &row.text;
            self.numbers.push(row.recordings as f64);
        }
    }

    /// Ends the first load: all stored rows have been merged.
    pub fn loaded(&mut self) {
        self.guard.loaded();
    }

    /// Begins another generation. `keep_own`: retains this guard's recordings; only if nothing was merged yet.
    pub fn reset(&mut self, keep_own: bool) {
        self.guard.reset(keep_own);
    }

    /// Leaves the shards in use as strings, each followed by a line feed. Returns false if they are too large to be
    /// stored.
    #[wasm_bindgen(js_name = encodedShards)]
    pub fn encoded_shards(&mut self) -> bool {
        self.clear_answer();
        let Some(texts) = self.guard.encoded_shards() else {
            return false;
        };
        for text in texts {
            self.text += std::str::from_utf8(text).unwrap_or_default();
            self.text.push('\n');
        }
        true
    }

    /// Leaves the day of the last use, in days since 1970, and the window in days, of the batch's row; nothing if it is
    /// damaged.
    #[wasm_bindgen(js_name = rowFacts)]
    pub fn row_facts(&mut self) {
        self.clear_answer();
        if let Some((day, window_days)) = crate::guard::Guard::row_facts(first_of(&self.batch)) {
            self.numbers = vec![day as f64, window_days as f64];
        }
    }
}

/// The first string of a batch, which JavaScript has written as UTF-8.
fn first_of(batch: &TextBatch) -> &str {
    std::str::from_utf8(batch.get(0)).unwrap_or_default()
}

/// Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
fn now(wall_ms: f64) -> Time {
    Time::from_unix_ms(wall_ms as u64)
}
