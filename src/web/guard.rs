//! The class `Guard`: a namespace's guard and its storage. Times are `Date.now()`, in milliseconds.
//!
//! Additional results of a call stay until the next one: numbers in [`Guard::numbers`], a text in [`Guard::text`]. For
//! a list of ids the text has all of them, one after the other, and the numbers have for each its end in UTF-16 units,
//! and its time or lag.

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use crate::error::Error;
use crate::guard::{Explanation, NotApplied};
use crate::hash::hash_id;
use crate::id_list::IdList;
use crate::snapshot::Snapshot;
use crate::storage::{Others, Place, Step, Storage, Timer, Trouble};
use crate::time::Time;
use crate::wire::Format;

/// A namespace's guard and its storage.
#[wasm_bindgen]
pub struct Guard {
    guard: crate::guard::Guard,
    storage: Storage,
    others: Others,
    /// Whether the key read last is in localStorage.
    is_local: bool,
    /// Additional results of the last call.
    numbers: Vec<f64>,
    text: String,
    /// The length of the text in UTF-16 units.
    units: usize,
}

/// The result of a snapshot: it was applied, not applied without an error, or refused with an error.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum ApplyStatus {
    Taken,
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
            Error::BadOption(_) | Error::BadSnapshot(_) | Error::BadReport(_) => ApplyStatus::BadSnapshot,
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

/// The state of the storage, and events since the last call of [`Guard::status`]: flags.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Status {
    Looked = 1,
    Settled = 2,
    Looking = 4,
    Full = 8,
    Unavailable = 16,
    Damaged = 32,
    DroppedRows = 64,
}

/// The argument of [`Guard::happens`].
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Event {
    /// The page stops waiting for the first look.
    Opened,
    /// Another tab has changed something.
    Signalled,
    /// A look is requested.
    Look,
    /// Everything must be stored.
    Flush,
    /// The page hides, or is shown again.
    Hide,
    Show,
}

#[wasm_bindgen]
impl Guard {
    /// An empty guard. `place`: the kind of storage; undefined: none. `prefix`: of all its keys. `seed`: numbers that
    /// differ from document to document.
    #[wasm_bindgen(constructor)]
    pub fn new(
        namespace: &str,
        prefix: &str,
        place: Option<Place>,
        window_days: f64,
        remember: f64,
        seed: &[f64],
    ) -> Result<Guard, JsValue> {
        // None of these is in range.
        let is_whole = remember.fract() == 0.0;
        let guard = crate::guard::Guard::new(window_days, if is_whole { remember as usize } else { 0 });
        let mut guard = guard.map_err(|error| match error {
            Error::BadOption(text) => JsValue::from_str(text),
            _ => JsValue::UNDEFINED,
        })?;
        let seed: Vec<u8> = seed.iter().flat_map(|number| number.to_le_bytes()).collect();
        let storage = Storage::new(prefix, namespace, place, hash_id(&seed, 0), &mut guard);
        Ok(Guard {
            guard,
            storage,
            others: Others::default(),
            is_local: false,
            numbers: Vec::new(),
            text: String::new(),
            units: 0,
        })
    }

    fn changed(&mut self) {
        self.storage.changed(&self.guard);
    }

    /// The numbers of the latest call.
    pub fn numbers(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.numbers)
    }

    /// The text of the latest call.
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
        self.units += id.encode_utf16().count();
        self.numbers.push(self.units as f64);
        self.numbers.push(number as f64);
    }

    /// Applies a snapshot: the batch has its shards, then its unseen ids, with the times `unseen_at` of the server's
    /// clock. Three arguments name its format. `version`, `server_now_ms` and `forget_before` are NaN if absent.
    /// `is_stored`: it is of an earlier visit.
    ///
    /// Numbers, of one that was taken: how many impressions it covers; 1 if its shards stop most fresh items; and the
    /// covered ids with their lags. Of one with a shard that is wrong: the shard's index. Text, of one that is wrong
    /// itself: what is.
    #[allow(clippy::too_many_arguments)]
    pub fn apply(
        &mut self,
        batch: &TextBatch,
        format_kind: u8,
        format_number: u32,
        format_rate: f64,
        version: f64,
        server_now_ms: f64,
        unseen_at: &[f64],
        forget_before: f64,
        is_stored: bool,
        wall_ms: f64,
    ) -> ApplyStatus {
        self.clear_answer();
        let format = Format::from_arguments(format_kind, format_number, format_rate);
        let applied = format.and_then(|format| {
            let given = |value: f64| (value >= 0.0).then_some(value as u64);
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
                false => self.guard.apply(snapshot, now(wall_ms)).map(Some),
            }
        });
        match applied {
            Ok(None) => ApplyStatus::Taken,
            Ok(Some(applied)) => {
                self.changed();
                self.numbers = vec![applied.covered as f64, f64::from(u8::from(applied.saturated))];
                for covered in applied.lags {
                    self.add_id(&covered.id, covered.lag_ms);
                }
                match applied.reason {
                    None => ApplyStatus::Taken,
                    Some(NotApplied::OlderVersion) => ApplyStatus::OlderVersion,
                    Some(NotApplied::MissingShard) => ApplyStatus::MissingShard,
                }
            }
            Err(error) => {
                self.numbers.extend(error.shard().map(|shard| shard as f64));
                if let Error::BadOption(text) | Error::BadSnapshot(text) | Error::TooLarge(text) = error {
                    self.text += text;
                }
                ApplyStatus::of(&error)
            }
        }
    }

    /// Leaves the indices of the batch's fresh ids with the batch, and after them, if `with_seen`, those of the others,
    /// seen longest ago first. Returns how many are fresh.
    pub fn filter(&mut self, ids: &mut TextBatch, with_seen: bool, wall_ms: f64) -> usize {
        let now = now(wall_ms);
        match with_seen {
            true => {
                let split = self.guard.split(ids, now);
                ids.answer(split.fresh, &split.seen)
            }
            false => {
                let fresh = self.guard.filter(ids, now);
                ids.answer(fresh, &[])
            }
        }
    }

    /// Why the batch's first id is stopped; undefined if it is fresh. Numbers: when this device showed it, if it did.
    pub fn explain(&mut self, ids: &TextBatch, wall_ms: f64) -> Option<SeenBy> {
        self.clear_answer();
        let id = (!ids.is_empty()).then(|| ids.get(0))?;
        match self.guard.explain(id, now(wall_ms))? {
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

    /// Records the batch's ids; `is_local`: no server is to learn of them. Returns how many were not known on this
    /// device. Numbers: how many pending impressions have lost their text for want of room.
    pub fn record(&mut self, ids: &TextBatch, is_local: bool, wall_ms: f64) -> usize {
        self.changed();
        let now = now(wall_ms);
        let recorded = match is_local {
            true => self.guard.record_local(ids, now),
            false => self.guard.record(ids, now),
        };
        self.clear_answer();
        self.numbers.push(recorded.lost_text as f64);
        recorded.unknown
    }

    /// Makes the batch's ids unseen. Returns how many were stopped before.
    pub fn unsee(&mut self, ids: &TextBatch, wall_ms: f64) -> usize {
        self.changed();
        self.guard.unsee(ids, now(wall_ms))
    }

    /// Leaves the indices of the batch's ids that pass because they are unseen with the batch. Returns how many they
    /// are.
    pub fn unseen(&self, ids: &mut TextBatch, wall_ms: f64) -> usize {
        let unseen = self.guard.unseen(ids, now(wall_ms));
        ids.answer(unseen, &[])
    }

    /// Grows when an id becomes unseen or is forgotten.
    #[wasm_bindgen(getter, js_name = unseenRevision)]
    pub fn unseen_revision(&self) -> f64 {
        self.guard.unseen_revision() as f64
    }

    /// The shards that the server need not send again.
    pub fn held(&self) -> String {
        self.guard.held()
    }

    /// Leaves the pending ids, oldest first.
    pub fn pending(&mut self, limit: usize, wall_ms: f64) {
        self.clear_answer();
        for id in self.guard.pending(limit, now(wall_ms)) {
            self.add_id(&id, 0);
        }
    }

    /// The value of `Seen-Pending`: the device's name and its pending list, at most this many characters.
    #[wasm_bindgen(js_name = pendingList)]
    pub fn pending_list(&self, max_characters: usize, wall_ms: f64) -> String {
        self.guard.pending_list(max_characters, now(wall_ms))
    }

    /// How many impressions are pending, wait to be delivered and are remembered, the rate at which the server's shards
    /// stop a fresh item, and the version of the snapshot in use, NaN if it has none.
    pub fn stats(&self, wall_ms: f64) -> Vec<f64> {
        let stats = self.guard.stats(now(wall_ms));
        vec![
            stats.pending as f64,
            self.guard.undelivered() as f64,
            stats.remembered as f64,
            stats.server_false_positive_rate,
            self.guard.version().map_or(f64::NAN, |version| version as f64),
        ]
    }
}

/// Delivery.
#[wasm_bindgen]
impl Guard {
    /// The number of recordings that were never delivered.
    #[wasm_bindgen(getter)]
    pub fn undelivered(&self) -> usize {
        self.guard.undelivered()
    }

    /// Marks this namespace as delivering impressions, on this visit and later ones.
    #[wasm_bindgen(js_name = startReporting)]
    pub fn start_reporting(&mut self) {
        self.changed();
        self.guard.start_reporting();
    }

    /// The next batch to deliver: returns its number, 0 if there is nothing. `is_last`: the page hides. Leaves its
    /// impressions and after them what is unseen, each with its time; before all of them, how many are impressions.
    #[wasm_bindgen(js_name = beginBatch)]
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, is_last: bool, wall_ms: f64) -> u32 {
        let batch = match is_last {
            true => self.guard.begin_last_batch(max_impressions, max_bytes, now(wall_ms)),
            false => self.guard.begin_batch(max_impressions, max_bytes, now(wall_ms)),
        };
        self.clear_answer();
        self.numbers.push(batch.impressions.len() as f64);
        for impression in batch.impressions.iter().chain(&batch.unseen) {
            self.add_id(&impression.id, impression.at.unix_ms());
        }
        batch.number
    }

    /// Marks a batch that was sent as the page hid.
    #[wasm_bindgen(js_name = leaveBatch)]
    pub fn leave_batch(&mut self, batch: u32, wall_ms: f64) {
        self.changed();
        self.guard.leave_batch(batch, now(wall_ms));
    }

    /// Ends a batch.
    #[wasm_bindgen(js_name = endBatch)]
    pub fn end_batch(&mut self, batch: u32, arrived: bool, wall_ms: f64) {
        self.changed();
        self.guard.end_batch(batch, arrived, now(wall_ms));
    }
}

/// Storage: the steps that `js/storage` performs.
#[wasm_bindgen]
impl Guard {
    /// The next step.
    pub fn next(&mut self, wall_ms: f64) -> Step {
        self.storage.next(&self.guard, now(wall_ms))
    }

    /// The timer of a step.
    #[wasm_bindgen(getter)]
    pub fn timer(&self) -> Timer {
        self.storage.timer().0
    }

    /// Its delay (ms).
    #[wasm_bindgen(getter, js_name = timerMs)]
    pub fn timer_ms(&self) -> u32 {
        self.storage.timer().1
    }

    /// The key of a step.
    #[wasm_bindgen(getter, js_name = localKey)]
    pub fn local_key(&self) -> String {
        self.storage.local_key().to_owned()
    }

    /// A timer has fired.
    pub fn fired(&mut self, timer: Timer) {
        self.storage.fired(&self.guard, timer);
    }

    /// Reports an event.
    pub fn happens(&mut self, event: Event) {
        match event {
            Event::Opened => self.storage.opened(),
            Event::Signalled => self.storage.signalled(),
            Event::Look => self.storage.look(),
            Event::Flush => self.storage.flush(&self.guard),
            Event::Hide => self.storage.hide(&self.guard),
            Event::Show => self.storage.show(),
        }
    }

    /// The number in the signal; undefined: there is no signal.
    pub fn hear(&mut self, number: Option<f64>) {
        self.storage.hear(&mut self.guard, number.map(|number| number as u64));
    }

    /// This document clears the namespace; `keeps`: it has.
    pub fn clear(&mut self, number: f64, keeps: bool) {
        self.storage.clear(&mut self.guard, number as u64, keeps);
    }

    /// The number of the latest clear that is known; 0: none.
    #[wasm_bindgen(getter)]
    pub fn number(&self) -> f64 {
        self.guard.number() as f64
    }

    /// Another tab has written a row into localStorage.
    #[wasm_bindgen(js_name = mergeLocal)]
    pub fn merge_local(&mut self, key: &str, text: &str) {
        self.storage.merge_local(&mut self.guard, key, text);
    }

    /// The state of the storage: the sum of [`Status`].
    pub fn status(&mut self) -> u32 {
        let (is_damaged, has_dropped_rows) = self.storage.take_notices();
        let flag = |holds: bool, flag: Status| if holds { flag as u32 } else { 0 };
        flag(self.storage.has_looked(&self.guard), Status::Looked)
            | flag(self.storage.is_settled(), Status::Settled)
            | flag(self.storage.is_looking(), Status::Looking)
            | flag(self.storage.trouble() == Some(Trouble::Full), Status::Full)
            | flag(
                self.storage.trouble() == Some(Trouble::Unavailable),
                Status::Unavailable,
            )
            | flag(is_damaged, Status::Damaged)
            | flag(has_dropped_rows, Status::DroppedRows)
    }
}

/// Within a transaction. Lists of keys are joined by line feeds, which no key has.
#[wasm_bindgen]
impl Guard {
    /// The number of the transaction that was begun last.
    #[wasm_bindgen(getter)]
    pub fn transaction(&self) -> u32 {
        self.storage.transaction()
    }

    /// It begins in this storage, unless it is no longer in progress.
    pub fn begin(&mut self, transaction: u32, place: Place) -> bool {
        let is_under_way = self.storage.is_under_way(transaction);
        if is_under_way {
            self.storage.begin(&self.guard, place);
        }
        is_under_way
    }

    /// It has found these keys in its storage, and in localStorage beside it.
    pub fn list(&mut self, keys: &str, beside: &str) {
        self.storage.list(&mut self.guard, keys.split('\n'), beside.split('\n'));
    }

    /// The next key to read; undefined at the end.
    #[wasm_bindgen(js_name = nextRead)]
    pub fn next_read(&mut self) -> Option<String> {
        let (key, is_local) = self.storage.next_read()?;
        self.is_local = is_local;
        Some(key)
    }

    /// Whether it is in localStorage.
    #[wasm_bindgen(getter, js_name = isLocal)]
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// The text of that key.
    pub fn read(&mut self, text: Option<String>) {
        self.storage.read(&mut self.guard, text.as_deref());
    }

    /// The next key to write, with `text`; undefined at the end.
    #[wasm_bindgen(js_name = nextWrite)]
    pub fn next_write(&mut self, wall_ms: f64) -> Option<String> {
        let written = self.storage.next_write(&self.guard, now(wall_ms));
        self.keep_text(written)
    }

    fn keep_text(&mut self, written: Option<(String, String)>) -> Option<String> {
        let (key, text) = written?;
        self.text = text;
        Some(key)
    }

    /// The keys to delete: the key below which all keys of the namespace are deleted, or an empty one, then single
    /// keys.
    pub fn deletions(&self) -> String {
        let mut keys = vec![self.storage.deletes_below().unwrap_or_default()];
        keys.extend(self.storage.deletions());
        keys.join("\n")
    }

    /// It has completed.
    pub fn completed(&mut self, transaction: u32, wall_ms: f64) {
        self.storage.completed(&mut self.guard, transaction, now(wall_ms));
    }

    /// It has failed; `is_full`: because the storage is full.
    pub fn failed(&mut self, transaction: u32, is_full: bool) {
        self.storage.failed(&self.guard, transaction, is_full);
    }

    /// The key of the row that goes into localStorage beside IndexedDB, with `text`; undefined: there is nothing.
    #[wasm_bindgen(js_name = localRow)]
    pub fn local_row(&mut self, wall_ms: f64) -> Option<String> {
        let row = self.storage.local_row(&self.guard, now(wall_ms));
        self.keep_text(row)
    }

    /// It was written, or localStorage is full.
    #[wasm_bindgen(js_name = localWritten)]
    pub fn local_written(&mut self, is_written: bool) {
        self.storage.local_written(is_written);
    }

    /// The key of the snapshot in use.
    #[wasm_bindgen(getter, js_name = snapshotKey)]
    pub fn snapshot_key(&self) -> String {
        self.storage.snapshot_key(&self.guard)
    }

    /// Whether it is to be deleted to free space.
    #[wasm_bindgen(getter, js_name = dropsSnapshot)]
    pub fn drops_snapshot(&self) -> bool {
        self.storage.drops_snapshot()
    }

    /// The texts of the shards in use, each followed by a line feed, which no text has; undefined: they are too long to
    /// be stored.
    #[wasm_bindgen(js_name = shardTexts)]
    pub fn shard_texts(&self) -> Option<String> {
        let mut all = String::new();
        for text in self.guard.shard_texts()? {
            all += &String::from_utf8_lossy(text);
            all.push('\n');
        }
        Some(all)
    }

    /// Whether namespaces that are idle are to be removed.
    #[wasm_bindgen(getter, js_name = cleansUp)]
    pub fn cleans_up(&self) -> bool {
        self.storage.cleans_up()
    }

    /// Notes a key of any namespace; `text`: its text, if it is needed.
    #[wasm_bindgen(js_name = noteOther)]
    pub fn note_other(&mut self, key: &str, text: Option<String>) {
        self.others.note(key, text.as_deref());
    }

    /// The names in keys of the noted namespaces that are idle.
    #[wasm_bindgen(js_name = takeIdle)]
    pub fn take_idle(&mut self, in_use: &str, wall_ms: f64) -> String {
        std::mem::take(&mut self.others).idle(in_use, wall_ms as u64).join("\n")
    }
}

/// The checksum of a text: the low 32 bits of its XXH64.
#[wasm_bindgen]
pub fn checksum(text: &str) -> u32 {
    hash_id(text.as_bytes(), 0) as u32
}

/// Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
fn now(wall_ms: f64) -> Time {
    Time::from_unix_ms(wall_ms as u64)
}
