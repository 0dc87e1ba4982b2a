//! The class behind `SeenGuard`.
//!
//! Ids and other texts come in as the batch. What goes out is numbers, and ids with a time each: names, which would cost more than all of it,
//! are given to them by `js/core.ts`.

use serde::{Serialize, Serializer};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::IdBatch;
use super::{format, now, to_js};
use crate::ids::IdList;
use crate::journal::Entry;
use crate::{Explanation, Guard};

/// An id's UTF-8 bytes and a time in milliseconds. Goes out as `[Uint8Array, number]`: to check the bytes once more for a text would only be code.
struct TimedId(Box<[u8]>, u64);

impl TimedId {
    fn new(entry: &Entry, ms: u64) -> Self {
        TimedId(entry.id.clone(), ms)
    }
}

impl Serialize for TimedId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (Bytes(&self.0), self.1 as f64).serialize(serializer)
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// `[numbers, ids]`: all answers have one form, so that it is compiled once.
#[inline(never)]
fn answer(numbers: &[f64], ids: &[TimedId]) -> JsValue {
    to_js(&(numbers, ids))
}

/// A guard for one namespace. Times are `Date.now()` and `performance.now()`.
#[wasm_bindgen]
pub struct RawGuard {
    guard: Guard,
}

#[wasm_bindgen]
impl RawGuard {
    /// A window without meaning, which JavaScript refuses, would stop nothing for long.
    #[wasm_bindgen(constructor)]
    pub fn new(window_days: f64) -> RawGuard {
        let guard = Guard::of_window(window_days);
        RawGuard { guard }
    }

    /// Takes a snapshot of the batch's shards in the format that the next three arguments tell. `version` and `server_now_ms` are NaN where the
    /// snapshot has none. Answers whether it was applied, how many shards are held, were held before and are expired, and how many impressions it
    /// covers, with their lags if `wants_lags`; or what was wrong: `[code, text, shard, held, expired]`, with -1 where it is none of the shards alone.
    // Plain arguments are what crosses this boundary most cheaply.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(
        unchecked_return_type = "[number[], [Uint8Array, number][]] | [string, string, number, number, number]"
    )]
    pub fn apply(
        &mut self,
        batch: &mut IdBatch,
        kind: u8,
        number: u32,
        rate: f64,
        version: f64,
        server_now_ms: f64,
        wants_lags: bool,
        wall_ms: f64,
        steady_ms: f64,
    ) -> JsValue {
        let given = |value: f64| (value >= 0.0).then_some(value as u64);
        let (version, server_ms) = (given(version), given(server_now_ms));
        let (mut covered, mut lags) = (0.0, Vec::new());
        let tell = |entry: &Entry, lag: u64| {
            covered += 1.0;
            if wants_lags {
                lags.push(TimedId::new(entry, lag));
            }
        };
        let now = now(wall_ms, steady_ms);
        let applied = format(kind, number, rate).and_then(|format| {
            self.guard
                .apply_list(&batch.parts().0, format, version, server_ms, now, tell)
        });
        let (shards, expired) = self.guard.held(now);
        let (shards, expired) = (shards as f64, expired as f64);
        match applied {
            Ok(reused) => {
                let applied = f64::from(u8::from(reused.is_some()));
                answer(&[applied, shards, reused.unwrap_or(0) as f64, expired, covered], &lags)
            }
            Err(error) => {
                let shard = error.shard().map_or(-1.0, |shard| shard as f64);
                to_js(&(error.code(), error.text(), shard, shards, expired))
            }
        }
    }

    /// Puts the indices of the batch's fresh ids where `freshPointer` tells. Returns how many they are.
    pub fn filter(&mut self, batch: &mut IdBatch, wall_ms: f64, steady_ms: f64) -> usize {
        let (ids, fresh) = batch.parts();
        self.guard.filter_into(&ids, now(wall_ms, steady_ms), fresh);
        fresh.len()
    }

    /// Why the batch's first id is stopped: `[0, at]` because it is pending, `[1]` by the memory, `[2, shard, epoch]` by the server, the epoch only
    /// where there is one; `[]` if it is not.
    #[wasm_bindgen(unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn explain(&self, batch: &mut IdBatch, wall_ms: f64, steady_ms: f64) -> JsValue {
        let now = now(wall_ms, steady_ms);
        match self.guard.explain(batch.parts().0.id(0), now) {
            None => answer(&[], &[]),
            Some(Explanation::Pending { at }) => answer(&[0.0, at as f64], &[]),
            Some(Explanation::Memory) => answer(&[1.0], &[]),
            Some(Explanation::Server { shard, epoch }) => {
                let numbers = [2.0, shard as f64, epoch.map_or(0.0, f64::from)];
                answer(&numbers[..2 + usize::from(epoch.is_some())], &[])
            }
        }
    }

    /// Records the batch's ids. Answers how many were not known on this device, how many others are no longer pending for want of room, and how many
    /// wait to be delivered.
    #[wasm_bindgen(unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn record(&mut self, batch: &mut IdBatch, wall_ms: f64, steady_ms: f64) -> JsValue {
        let recorded = self.guard.record_list(&batch.parts().0, now(wall_ms, steady_ms));
        let counts = [recorded.unknown, recorded.displaced, self.guard.undelivered()];
        answer(&counts.map(|count| count as f64), &[])
    }

    /// Pending ids with their times, oldest first.
    #[wasm_bindgen(unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn pending(&self, limit: usize) -> JsValue {
        let pending = self.guard.pending_entries().take(limit);
        answer(
            &[],
            &pending.map(|entry| TimedId::new(entry, entry.at)).collect::<Vec<_>>(),
        )
    }

    /// Pending ids as one base64 shard.
    #[wasm_bindgen(js_name = pendingShard, unchecked_return_type = "string")]
    pub fn pending_shard(&self) -> JsValue {
        JsValue::from_str(&self.guard.pending_shard().to_base64())
    }

    /// The version of the snapshot in use, -1 where there is none; then what is held and was done, in the order of the `GuardStats` of JavaScript. The
    /// times of lags are 0 where there were none.
    #[wasm_bindgen(unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn stats(&self, wall_ms: f64, steady_ms: f64) -> JsValue {
        let now = now(wall_ms, steady_ms);
        let stats = self.guard.stats(now);
        let (filtered, lag) = (stats.filtered, stats.lag);
        let ms = |lag: Option<u64>| lag.unwrap_or(0) as f64;
        answer(
            &[
                self.guard.version().map_or(-1.0, |version| version as f64),
                stats.shards as f64,
                stats.server_false_positive_rate,
                stats.memory_false_positive_rate,
                stats.pending as f64,
                stats.remembered as f64,
                stats.bytes as f64,
                filtered.passed as f64,
                filtered.pending as f64,
                filtered.memory as f64,
                filtered.server as f64,
                filtered.duplicate as f64,
                lag.count as f64,
                ms(lag.last_ms),
                ms(lag.p50_ms),
                ms(lag.p95_ms),
                ms(lag.p99_ms),
            ],
            &[],
        )
    }

    /// Whether impressions are delivered.
    #[wasm_bindgen(js_name = setDelivering)]
    pub fn set_delivering(&mut self, delivering: bool) {
        self.guard.set_delivering(delivering);
    }

    /// The next batch to deliver: its number, 0 if there is nothing to deliver, and the ids with their times.
    #[wasm_bindgen(js_name = beginBatch, unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn begin_batch(&mut self, impressions: usize, bytes: usize, wall_ms: f64, steady_ms: f64) -> JsValue {
        let mut ids = Vec::new();
        let take = |entry: &Entry| ids.push(TimedId::new(entry, entry.at));
        let now = now(wall_ms, steady_ms);
        let batch = self.guard.begin_batch_with(impressions, bytes, now, take);
        answer(&[f64::from(batch)], &ids)
    }

    /// What became of a batch.
    #[wasm_bindgen(js_name = endBatch)]
    pub fn end_batch(&mut self, batch: u32, arrived: bool, wall_ms: f64, steady_ms: f64) {
        self.guard.end_batch(batch, arrived, now(wall_ms, steady_ms));
    }

    /// What was recorded since the last call, as a segment; empty if nothing was.
    #[wasm_bindgen(js_name = takeUnsaved, unchecked_return_type = "string")]
    pub fn take_unsaved(&mut self) -> JsValue {
        JsValue::from_str(&self.guard.take_unsaved().unwrap_or_default())
    }

    /// All that is this writer's own, as one segment.
    #[wasm_bindgen(unchecked_return_type = "string")]
    pub fn checkpoint(&self) -> JsValue {
        JsValue::from_str(&self.guard.checkpoint())
    }

    /// Takes in the batch's segments, each preceded by its writer: those that others have left behind as this writer's own, or those of a writer that
    /// is alive. Answers the state of each, as [`crate::SegmentState`] orders them.
    #[wasm_bindgen(js_name = takeIn, unchecked_return_type = "[number[], [Uint8Array, number][]]")]
    pub fn take_in(&mut self, batch: &mut IdBatch, own: bool, wall_ms: f64, steady_ms: f64) -> JsValue {
        let states = self.guard.take_in(&batch.parts().0, own, now(wall_ms, steady_ms));
        answer(
            &states
                .into_iter()
                .map(|state| f64::from(state as u8))
                .collect::<Vec<_>>(),
            &[],
        )
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.guard.forget();
    }
}
