//! The class behind `SeenGuard`.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::IdBatch;
use super::{Failure, failure, format, now, to_js};
use crate::{Applied, Guard, SegmentState, Snapshot};

/// What `apply` reports: what became of the snapshot, or what was wrong with it.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Applied(Applied),
    Failed {
        error: Failure,
        shards: usize,
        expired: usize,
    },
}

/// A guard for one namespace. Times are `Date.now()` and `performance.now()`.
#[wasm_bindgen]
pub struct RawGuard {
    guard: Guard,
}

#[wasm_bindgen]
impl RawGuard {
    /// Throws `{ code, message }` for a window without meaning.
    #[wasm_bindgen(constructor)]
    pub fn new(window_days: f64) -> Result<RawGuard, JsValue> {
        Guard::new(window_days).map(|guard| RawGuard { guard }).map_err(failure)
    }

    /// Takes a snapshot in the format that the first three arguments tell. `version` and `server_now_ms` are negative where the snapshot has none; the lags of what it covers
    /// are told if `wants_lags`.
    // Plain arguments are what crosses this boundary most cheaply.
    #[allow(clippy::too_many_arguments)]
    pub fn apply(
        &mut self,
        kind: u8,
        number: u32,
        rate: f64,
        shards: Vec<String>,
        version: f64,
        server_now_ms: f64,
        wants_lags: bool,
        wall_ms: f64,
        steady_ms: f64,
    ) -> JsValue {
        let given = |value: f64| (value >= 0.0).then_some(value as u64);
        let now = now(wall_ms, steady_ms);
        let applied = format(kind, number, rate).and_then(|format| {
            let snapshot = Snapshot {
                version: given(version),
                shards: &shards,
                format,
                now_ms: given(server_now_ms),
            };
            self.guard.apply(snapshot, now)
        });
        to_js(&match applied {
            Ok(mut applied) => {
                if !wants_lags {
                    applied.lags.clear();
                }
                Outcome::Applied(applied)
            }
            Err(error) => {
                let held = self.guard.held(now);
                Outcome::Failed {
                    error: error.into(),
                    shards: held.0,
                    expired: held.1,
                }
            }
        })
    }

    /// Puts the indices of the batch's fresh ids where `freshPointer` tells. Returns how many they are.
    pub fn filter(&mut self, batch: &mut IdBatch, wall_ms: f64, steady_ms: f64) -> usize {
        let (ids, fresh) = batch.parts();
        self.guard.filter_into(&ids, now(wall_ms, steady_ms), fresh);
        fresh.len()
    }

    /// Why an id is stopped; undefined if it is not.
    pub fn explain(&self, id: &str, wall_ms: f64, steady_ms: f64) -> JsValue {
        self.guard
            .explain(id, now(wall_ms, steady_ms))
            .map_or(JsValue::UNDEFINED, |explanation| to_js(&explanation))
    }

    /// Whether an id is stopped.
    pub fn has(&self, id: &str, wall_ms: f64, steady_ms: f64) -> bool {
        self.guard.has(id, now(wall_ms, steady_ms))
    }

    /// Records the batch's ids. Returns how many were not known on this device, and how many others are no longer pending for want of room.
    pub fn record(&mut self, batch: &mut IdBatch, wall_ms: f64, steady_ms: f64) -> Vec<u32> {
        let recorded = self.guard.record_list(&batch.parts().0, now(wall_ms, steady_ms));
        vec![recorded.unknown as u32, recorded.displaced as u32]
    }

    /// Pending ids, oldest first.
    pub fn pending(&self, limit: usize) -> Vec<String> {
        self.guard.pending(limit)
    }

    /// Pending ids as one base64 shard.
    #[wasm_bindgen(js_name = pendingShard)]
    pub fn pending_shard(&self) -> String {
        self.guard.pending_shard().to_base64()
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

    /// Whether impressions are delivered.
    #[wasm_bindgen(js_name = setDelivering)]
    pub fn set_delivering(&mut self, delivering: bool) {
        self.guard.set_delivering(delivering);
    }

    /// The next batch to deliver: `[number, [[id, at], …]]`, with the number 0 if there is nothing to deliver.
    #[wasm_bindgen(js_name = beginBatch)]
    pub fn begin_batch(&mut self, impressions: usize, bytes: usize, wall_ms: f64, steady_ms: f64) -> JsValue {
        to_js(&self.guard.begin_batch(impressions, bytes, now(wall_ms, steady_ms)))
    }

    /// What became of a batch.
    #[wasm_bindgen(js_name = endBatch)]
    pub fn end_batch(&mut self, batch: u32, arrived: bool, wall_ms: f64, steady_ms: f64) {
        self.guard.end_batch(batch, arrived, now(wall_ms, steady_ms));
    }

    /// How many impressions were never delivered and are not under way.
    pub fn undelivered(&self) -> usize {
        self.guard.undelivered()
    }

    /// What was recorded since the last call, as a segment.
    #[wasm_bindgen(js_name = takeUnsaved)]
    pub fn take_unsaved(&mut self) -> Option<String> {
        self.guard.take_unsaved()
    }

    /// All that is this writer's own, as one segment.
    pub fn checkpoint(&self) -> String {
        self.guard.checkpoint()
    }

    /// Takes over segments, given with their writers. Returns the state of each.
    #[wasm_bindgen(js_name = takeOver)]
    pub fn take_over(&mut self, writers: Vec<String>, texts: Vec<String>, wall_ms: f64, steady_ms: f64) -> JsValue {
        let segments: Vec<(String, String)> = writers.into_iter().zip(texts).collect();
        to_js(&self.guard.take_over(&segments, now(wall_ms, steady_ms)))
    }

    /// Takes notice of a segment of a writer that is alive. Returns its state.
    pub fn merge(&mut self, text: &str, wall_ms: f64, steady_ms: f64) -> JsValue {
        let state: SegmentState = self.guard.merge(text, now(wall_ms, steady_ms));
        to_js(&state)
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.guard.forget();
    }
}
