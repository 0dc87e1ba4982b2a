//! The class `Guard`: a namespace's guard and its storage protocol. Times are `Date.now()` and `performance.now()`, in
//! milliseconds.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::guard::Now;
use crate::hash::hash_id;
use crate::id_list::IdList;
use crate::snapshot::Snapshot;
use crate::storage::{Operation, Outcome, Storage, Trouble};
use crate::wire::Format;

/// A namespace's guard and its storage protocol.
#[wasm_bindgen]
pub struct Guard {
    guard: crate::Guard,
    storage: Storage,
    /// What the latest operation is about.
    keys: Vec<String>,
    text: String,
    until_ms: f64,
    stash: String,
}

/// What [`Guard::next`] returns.
const WAIT: u8 = 0;
const LIST: u8 = 1;
const READ: u8 = 2;
const WRITE: u8 = 3;
const REMOVE: u8 = 4;

/// What [`Guard::status`] returns, the notices from `TROUBLE_BEGAN` on.
const LOADED: u32 = 1;
const SETTLED: u32 = 2;
const CLEARING: u32 = 4;
const FULL: u32 = 8;
const UNAVAILABLE: u32 = 16;
const TROUBLE_BEGAN: u32 = 32;
const DAMAGED: u32 = 64;
const NEWER: u32 = 128;
const DAMAGED_SNAPSHOT: u32 = 256;
const SIGNAL: u32 = 512;
const FAILED: u32 = 1024;

/// What `record` tells.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordOutcome {
    unknown: usize,
    lost_text: usize,
    undelivered: usize,
}

#[wasm_bindgen]
impl Guard {
    /// A guard that knows of nothing, and whose storage is not opened yet. `seed`: numbers that differ from document to
    /// document.
    #[wasm_bindgen(constructor)]
    pub fn new(namespace: &str, window_days: f64, remember: usize, seed: &[f64]) -> Result<Guard, JsValue> {
        let guard = crate::Guard::new(window_days, remember).map_err(failure)?;
        let seed: Vec<u8> = seed.iter().flat_map(|number| number.to_le_bytes()).collect();
        Ok(Guard {
            guard,
            storage: Storage::new(namespace, window_days, remember, hash_id(&seed, 0)),
            keys: Vec::new(),
            text: String::new(),
            until_ms: f64::INFINITY,
            stash: String::new(),
        })
    }

    /// Takes a snapshot: the batch has its shards, and after them the ids that it takes back, at the times `unseen_at`
    /// of the server's clock. Its format is told by three arguments. `version`, `server_now_ms` and `forget_before` are
    /// NaN where it has none.
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
        wall_ms: f64,
        steady_ms: f64,
    ) -> Result<JsValue, JsValue> {
        let given = |value: f64| (value >= 0.0).then_some(value as u64);
        let format = Format::from_arguments(format_kind, format_number, format_rate).map_err(failure)?;
        let shards: Vec<&[u8]> = (0..batch.len().saturating_sub(unseen_at.len()))
            .map(|index| batch.get(index))
            .collect();
        let unseen = batch.impressions(shards.len(), unseen_at).map_err(failure)?;
        let snapshot = Snapshot {
            version: given(version),
            shards: &shards,
            format,
            now_ms: given(server_now_ms),
            unseen: &unseen,
            forget_before: given(forget_before).map(|seconds| seconds as u32),
        };
        let applied = self.guard.apply(snapshot, now(wall_ms, steady_ms)).map_err(failure)?;
        self.storage.changed();
        Ok(to_js(&applied))
    }

    /// Leaves the indices of the batch's fresh items with the batch. Returns how many they are; undefined if there is
    /// no memory. A number crosses sooner than a `Result`, and that is all that can go wrong.
    pub fn filter(&mut self, ids: &mut TextBatch, wall_ms: f64, steady_ms: f64) -> Option<usize> {
        let fresh = self.guard.filter(ids, now(wall_ms, steady_ms)).ok()?;
        Some(ids.answer(fresh))
    }

    /// Leaves the indices of all of the batch's items with the batch, those of the fresh ones first, then those of the
    /// others, seen longest ago first. Returns how many are fresh.
    pub fn split(&mut self, ids: &mut TextBatch, wall_ms: f64, steady_ms: f64) -> Result<usize, JsValue> {
        let split = self.guard.split(ids, now(wall_ms, steady_ms)).map_err(failure)?;
        ids.answer_split(split).map_err(failure)
    }

    /// Why the batch's first id is stopped; undefined if it is fresh.
    pub fn explain(&self, ids: &TextBatch, wall_ms: f64, steady_ms: f64) -> JsValue {
        let explanation = match ids.len() {
            0 => None,
            _ => self.guard.explain(ids.get(0), now(wall_ms, steady_ms)),
        };
        to_js(&explanation)
    }

    /// Records the batch's ids; `is_local`: no server is to learn of them.
    pub fn record(
        &mut self,
        ids: &TextBatch,
        is_local: bool,
        wall_ms: f64,
        steady_ms: f64,
    ) -> Result<JsValue, JsValue> {
        self.storage.changed();
        let now = now(wall_ms, steady_ms);
        let recorded = match is_local {
            true => self.guard.record_local(ids, now),
            false => self.guard.record(ids, now),
        };
        let recorded = recorded.map_err(failure)?;
        Ok(to_js(&RecordOutcome {
            unknown: recorded.unknown,
            lost_text: recorded.lost_text,
            undelivered: self.guard.undelivered(),
        }))
    }

    /// Takes the batch's ids back. Returns how many were stopped before.
    pub fn unsee(&mut self, ids: &TextBatch, wall_ms: f64, steady_ms: f64) -> Result<usize, JsValue> {
        self.storage.changed();
        self.guard.unsee(ids, now(wall_ms, steady_ms)).map_err(failure)
    }

    /// Leaves the indices of the batch's ids that pass because they were taken back with the batch. Returns how many
    /// they are; undefined if there is no memory.
    #[wasm_bindgen(js_name = takenBack)]
    pub fn taken_back(&self, ids: &mut TextBatch, wall_ms: f64, steady_ms: f64) -> Option<usize> {
        let taken_back = self.guard.taken_back(ids, now(wall_ms, steady_ms)).ok()?;
        Some(ids.answer(taken_back))
    }

    /// Grows whenever something is taken back or forgotten.
    #[wasm_bindgen(getter, js_name = unseenRevision)]
    pub fn unseen_revision(&self) -> f64 {
        self.guard.unseen_revision() as f64
    }

    /// What the server need not send again.
    pub fn held(&self) -> String {
        self.guard.held()
    }

    /// How many recordings wait that were never delivered.
    #[wasm_bindgen(getter)]
    pub fn undelivered(&self) -> usize {
        self.guard.undelivered()
    }

    /// The pending ids, oldest first.
    pub fn pending(&self, limit: usize, wall_ms: f64, steady_ms: f64) -> Vec<String> {
        self.guard.pending(limit, now(wall_ms, steady_ms))
    }

    /// The pending ids as one base64 shard of at most so many characters; empty if it would hold none.
    #[wasm_bindgen(js_name = pendingShard)]
    pub fn pending_shard(&self, max_characters: usize, wall_ms: f64, steady_ms: f64) -> Result<String, JsValue> {
        let now = now(wall_ms, steady_ms);
        match self.guard.pending_shard(max_characters, now).map_err(failure)? {
            Some(shard) => shard.to_base64().map_err(failure),
            None => Ok(String::new()),
        }
    }

    /// What goes with each request and report: the device's name, its counter and its pending shard, together at most so
    /// many characters.
    #[wasm_bindgen(js_name = devicePending)]
    pub fn device_pending(&self, max_characters: usize, wall_ms: f64, steady_ms: f64) -> Result<String, JsValue> {
        self.guard
            .device_pending(max_characters, now(wall_ms, steady_ms))
            .map_err(failure)
    }

    /// What is held and was done.
    pub fn stats(&self, wall_ms: f64, steady_ms: f64) -> JsValue {
        to_js(&self.guard.stats(now(wall_ms, steady_ms)))
    }

    /// The version of the snapshot in use.
    #[wasm_bindgen(getter)]
    pub fn version(&self) -> Option<f64> {
        self.guard.version().map(|version| version as f64)
    }

    /// The number of shards in use.
    #[wasm_bindgen(getter)]
    pub fn shards(&self) -> usize {
        self.guard.shards()
    }
}

/// Delivery.
#[wasm_bindgen]
impl Guard {
    /// From now on impressions of this namespace are delivered, on this visit and later ones.
    #[wasm_bindgen(js_name = startReporting)]
    pub fn start_reporting(&mut self) {
        self.storage.changed();
        self.guard.start_reporting();
    }

    /// The next batch to deliver; its number is 0 if there is nothing to deliver.
    #[wasm_bindgen(js_name = beginBatch)]
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, wall_ms: f64, steady_ms: f64) -> JsValue {
        let now = now(wall_ms, steady_ms);
        to_js(&self.guard.begin_batch(max_impressions, max_bytes, now))
    }

    /// What became of a batch.
    #[wasm_bindgen(js_name = endBatch)]
    pub fn end_batch(&mut self, batch: u32, arrived: bool, wall_ms: f64, steady_ms: f64) {
        self.storage.changed();
        self.guard.end_batch(batch, arrived, now(wall_ms, steady_ms));
    }
}

/// Storage: what `js/storage` performs.
#[wasm_bindgen]
impl Guard {
    /// A store was opened.
    #[wasm_bindgen(js_name = beginStorage)]
    pub fn begin_storage(&mut self, has_signals: bool, stashes: bool, undisturbed_ms: f64) {
        let undisturbed_ms = (undisturbed_ms >= 0.0).then_some(undisturbed_ms as u64);
        self.storage.begin(has_signals, stashes, undisturbed_ms);
    }

    /// There is no store.
    #[wasm_bindgen(js_name = withoutStorage)]
    pub fn without_storage(&mut self) {
        self.storage.without(&mut self.guard);
    }

    /// The next operation: 0 wait, 1 list, 2 read, 3 write, 4 remove.
    pub fn next(&mut self, wall_ms: f64, steady_ms: f64) -> u8 {
        let operation = self.storage.next(&mut self.guard, now(wall_ms, steady_ms));
        self.keep(operation)
    }

    fn keep(&mut self, operation: Operation) -> u8 {
        let (kind, keys, text) = match operation {
            Operation::Wait { until_ms } => {
                let is_endless = until_ms == u64::MAX;
                self.until_ms = if is_endless { f64::INFINITY } else { until_ms as f64 };
                return WAIT;
            }
            Operation::List(prefixes) => (LIST, prefixes, None),
            Operation::Read(keys) => (READ, keys, None),
            Operation::Write { key, text } => (WRITE, vec![key], Some(text)),
            Operation::Remove { keys, only_if } => (REMOVE, keys, only_if),
        };
        self.keys = keys;
        self.text = text.unwrap_or_default();
        kind
    }

    /// Until when to wait, by the steady clock.
    #[wasm_bindgen(getter, js_name = untilMs)]
    pub fn until_ms(&self) -> f64 {
        self.until_ms
    }

    /// The number of the latest operation.
    #[wasm_bindgen(getter)]
    pub fn operation(&self) -> u32 {
        self.storage.operation()
    }

    /// How long an operation may take, in milliseconds: what has no outcome by then has failed.
    #[wasm_bindgen(getter, js_name = operationMs)]
    pub fn operation_ms(&self) -> f64 {
        Storage::OPERATION_MS as f64
    }

    /// Its keys, or the prefixes of those that are to be listed.
    #[wasm_bindgen(js_name = operationKeys)]
    pub fn operation_keys(&mut self) -> Vec<String> {
        std::mem::take(&mut self.keys)
    }

    /// What is to be written; of a removal, what the key must still have, unless it is empty.
    #[wasm_bindgen(js_name = operationText)]
    pub fn operation_text(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The batch has all keys.
    pub fn listed(&mut self, number: u32, keys: &TextBatch, wall_ms: f64, steady_ms: f64) {
        let keys = (0..keys.len()).map(|index| text_of(keys, index)).collect();
        self.complete(number, Outcome::Keys(keys), wall_ms, steady_ms);
    }

    /// The batch has the keys that are there, each followed by its text.
    pub fn found(&mut self, number: u32, texts: &TextBatch, wall_ms: f64, steady_ms: f64) {
        let pairs = (0..texts.len() / 2).map(|pair| (text_of(texts, 2 * pair), text_of(texts, 2 * pair + 1)));
        let pairs = pairs.collect();
        self.complete(number, Outcome::Texts(pairs), wall_ms, steady_ms);
    }

    /// Something is written or removed.
    pub fn done(&mut self, number: u32, wall_ms: f64, steady_ms: f64) {
        self.complete(number, Outcome::Done, wall_ms, steady_ms);
    }

    /// The operation failed; `is_full`: for want of room.
    pub fn failed(&mut self, number: u32, is_full: bool, wall_ms: f64, steady_ms: f64) {
        self.complete(number, Outcome::Failed { is_full }, wall_ms, steady_ms);
    }

    fn complete(&mut self, number: u32, outcome: Outcome, wall_ms: f64, steady_ms: f64) {
        let now = now(wall_ms, steady_ms);
        self.storage.complete(&mut self.guard, number, outcome, now);
    }

    /// How the storage is, and what there is to tell since the last call: flags.
    pub fn status(&mut self) -> u32 {
        let notices = self.storage.take_notices();
        let flag = |holds: bool, flag: u32| if holds { flag } else { 0 };
        flag(self.storage.is_loaded(), LOADED)
            | flag(self.storage.is_settled(), SETTLED)
            | flag(self.storage.is_clearing(), CLEARING)
            | flag(self.storage.trouble() == Some(Trouble::Full), FULL)
            | flag(self.storage.trouble() == Some(Trouble::Unavailable), UNAVAILABLE)
            | flag(notices.trouble, TROUBLE_BEGAN)
            | flag(notices.damaged, DAMAGED)
            | flag(notices.newer, NEWER)
            | flag(notices.damaged_snapshot, DAMAGED_SNAPSHOT)
            | flag(notices.signal, SIGNAL)
            | flag(notices.failed, FAILED)
    }

    /// Somebody else has written.
    pub fn look(&mut self) {
        self.storage.look();
    }

    /// Everything is to be written at once.
    pub fn flush(&mut self) {
        self.storage.flush();
    }

    /// Somebody has waited in vain.
    #[wasm_bindgen(js_name = timedOut)]
    pub fn timed_out(&mut self) {
        self.storage.timed_out();
    }

    /// Empties the table at once, and begins to clear the storage.
    pub fn clear(&mut self, wall_ms: f64, steady_ms: f64) {
        self.storage.clear(&mut self.guard, now(wall_ms, steady_ms));
    }

    /// The number of the latest clear that is known: 1 above the time of it; 0: none.
    #[wasm_bindgen(getter, js_name = clearNumber)]
    pub fn clear_number(&self) -> f64 {
        self.guard.clear_number() as f64
    }

    /// The page hides. Returns 3 if there is something to be written at once, as [`Guard::next`], else 0.
    pub fn hide(&mut self, wall_ms: f64, steady_ms: f64) -> u8 {
        let hidden = self.storage.hide(&mut self.guard, now(wall_ms, steady_ms));
        self.stash = hidden.stash.unwrap_or_default();
        hidden.write.map_or(WAIT, |write| self.keep(write))
    }

    /// What the page that hides leaves under `stashKey`; empty: nothing.
    #[wasm_bindgen(js_name = stashText)]
    pub fn stash_text(&mut self) -> String {
        std::mem::take(&mut self.stash)
    }

    /// The key of this page's stash in localStorage.
    #[wasm_bindgen(getter, js_name = stashKey)]
    pub fn stash_key(&self) -> String {
        self.storage.stash_key()
    }

    /// The prefix of the keys of this namespace's stashes.
    #[wasm_bindgen(getter, js_name = stashPrefix)]
    pub fn stash_prefix(&self) -> String {
        self.storage.stash_prefix()
    }

    /// The key of the signal in localStorage.
    #[wasm_bindgen(getter, js_name = signalKey)]
    pub fn signal_key(&self) -> String {
        self.storage.signal_key()
    }

    /// The signal's value, another one each time.
    #[wasm_bindgen(js_name = signalText)]
    pub fn signal_text(&mut self) -> String {
        self.storage.signal_text()
    }
}

fn text_of(batch: &TextBatch, index: usize) -> String {
    String::from_utf8_lossy(batch.get(index)).into_owned()
}

/// Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
fn now(wall_ms: f64, steady_ms: f64) -> Now {
    Now {
        wall_ms: wall_ms as u64,
        steady_ms: steady_ms as u64,
    }
}
