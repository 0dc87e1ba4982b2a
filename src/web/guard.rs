//! The class `Guard`. Times are `Date.now()` and `performance.now()`, in milliseconds.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::guard::{Now, SegmentState};
use crate::id_list::IdList;
use crate::snapshot::Snapshot;
use crate::wire::Format;

/// A namespace's guard.
#[wasm_bindgen]
pub struct Guard {
    guard: crate::Guard,
}

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
    /// A guard that knows of nothing, and whose storage has not loaded yet.
    #[wasm_bindgen(constructor)]
    pub fn new(window_days: f64, remember: usize) -> Result<Guard, JsValue> {
        let guard = crate::Guard::new(window_days, remember).map_err(failure)?;
        Ok(Guard { guard })
    }

    /// Takes a snapshot: the batch has its shards, and after them the ids that it takes back, at the times `unseen_at`
    /// of the server's clock. Its format is told by three arguments. `version`, `server_now_ms` and `forget_before` are
    /// NaN where it has none. `held` is given if it was in use on an earlier visit: what `held` told of it.
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
        held: Option<String>,
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
        let now = now(wall_ms, steady_ms);
        let applied = match held {
            Some(held) => self.guard.restore(snapshot, &held, now),
            None => self.guard.apply(snapshot, now),
        };
        applied.map(|applied| to_js(&applied)).map_err(failure)
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
        Ok(ids.answer_split(split))
    }

    /// Why the batch's first id is stopped; undefined if it is fresh.
    pub fn explain(&self, ids: &TextBatch, wall_ms: f64, steady_ms: f64) -> JsValue {
        let explanation = match ids.len() {
            0 => None,
            _ => self.guard.explain(ids.get(0), now(wall_ms, steady_ms)),
        };
        to_js(&explanation)
    }

    /// Records the batch's ids.
    pub fn record(&mut self, ids: &TextBatch, wall_ms: f64, steady_ms: f64) -> Result<JsValue, JsValue> {
        let recorded = self.guard.record(ids, now(wall_ms, steady_ms)).map_err(failure)?;
        Ok(to_js(&RecordOutcome {
            unknown: recorded.unknown,
            lost_text: recorded.lost_text,
            undelivered: self.guard.undelivered(),
        }))
    }

    /// Takes the batch's ids back. Returns how many were stopped before.
    pub fn unsee(&mut self, ids: &TextBatch, wall_ms: f64, steady_ms: f64) -> Result<usize, JsValue> {
        self.guard.unsee(ids, now(wall_ms, steady_ms)).map_err(failure)
    }

    /// Leaves the indices of the batch's ids that pass because they were taken back with the batch. Returns how many
    /// they are.
    #[wasm_bindgen(js_name = takenBack)]
    pub fn taken_back(&self, ids: &mut TextBatch, wall_ms: f64, steady_ms: f64) -> usize {
        let taken_back = self.guard.taken_back(ids, now(wall_ms, steady_ms));
        ids.answer(taken_back)
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
    pub fn pending(&self, limit: usize) -> Vec<String> {
        self.guard.pending(limit)
    }

    /// The pending ids as one base64 shard of at most so many characters; empty if it would hold none.
    #[wasm_bindgen(js_name = pendingShard)]
    pub fn pending_shard(&self, max_characters: usize) -> Result<String, JsValue> {
        match self.guard.pending_shard(max_characters).map_err(failure)? {
            Some(shard) => shard.to_base64().map_err(failure),
            None => Ok(String::new()),
        }
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
        self.guard.end_batch(batch, arrived, now(wall_ms, steady_ms));
    }
}

/// Storage. The states of segments are those of `SegmentState`: 0 whole, 1 damaged, 2 of a newer version.
#[wasm_bindgen]
impl Guard {
    /// Takes over the batch's segments. Returns the state of each.
    pub fn load(&mut self, segments: &TextBatch) -> Result<Vec<u8>, JsValue> {
        self.guard.load(segments).map(numbers).map_err(failure)
    }

    /// The storage has loaded, or never will.
    #[wasm_bindgen(js_name = finishLoading)]
    pub fn finish_loading(&mut self) {
        self.guard.finish_loading();
    }

    /// Takes notice of the batch's segments, which other writers deliver. Returns the state of each.
    pub fn merge(&mut self, segments: &TextBatch) -> Result<Vec<u8>, JsValue> {
        self.guard.merge(segments).map(numbers).map_err(failure)
    }

    /// What has changed since the last call, as a segment; undefined if nothing has.
    #[wasm_bindgen(js_name = takeUnsaved)]
    pub fn take_unsaved(&mut self, everything: bool) -> JsValue {
        to_js(&self.guard.take_unsaved(everything))
    }

    /// One segment in place of the batch's.
    pub fn compact(&mut self, segments: &TextBatch) -> Result<JsValue, JsValue> {
        let segment = self.guard.compact(segments).map_err(failure)?;
        Ok(to_js(&segment))
    }

    /// Forgets what was recorded before a time of the wall clock, and the snapshot in use.
    #[wasm_bindgen(js_name = clearBefore)]
    pub fn clear_before(&mut self, cleared_at_ms: f64, wall_ms: f64, steady_ms: f64) {
        self.guard.clear_before(cleared_at_ms as u64, now(wall_ms, steady_ms));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.guard.clear();
    }
}

fn numbers(states: Vec<SegmentState>) -> Vec<u8> {
    states.into_iter().map(|state| state as u8).collect()
}

/// Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
fn now(wall_ms: f64, steady_ms: f64) -> Now {
    Now {
        wall_ms: wall_ms as u64,
        steady_ms: steady_ms as u64,
    }
}
