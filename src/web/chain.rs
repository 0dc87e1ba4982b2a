//! The class `Chain`. The times of its calls are Unix seconds, to the millisecond; those of ids are Unix milliseconds.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::chain::{ChainOptions, Rejected, Report, ShardChain};
use crate::time::Time;
use crate::wire::Format;

/// A user's shards.
#[wasm_bindgen]
pub struct Chain {
    chain: ShardChain,
    rejected: Vec<Rejected>,
}

/// A stored shard that could not be read.
#[derive(Serialize)]
struct RejectedShard {
    index: usize,
    code: &'static str,
}

#[wasm_bindgen]
impl Chain {
    /// Goes on from the batch's stored shards, newest first, in the format that the first three arguments tell; from
    /// none, a new chain.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        format_kind: u8,
        format_number: u32,
        format_rate: f64,
        capacity: u32,
        shards: usize,
        false_positive_rate: f64,
        seed: u64,
        ttl_seconds: u32,
        stored: &TextBatch,
    ) -> Result<Chain, JsValue> {
        let options = ChainOptions {
            capacity,
            shards,
            false_positive_rate,
            seed,
            ttl_seconds,
            format: Format::from_arguments(format_kind, format_number, format_rate).map_err(failure)?,
        };
        let (chain, rejected) = ShardChain::from_shards(stored, options).map_err(failure)?;
        Ok(Chain { chain, rejected })
    }

    /// The stored shards that could not be read, each with its place.
    pub fn rejected(&self) -> JsValue {
        let of = |rejected: &Rejected| RejectedShard {
            index: rejected.index,
            code: rejected.error.code(),
        };
        to_js(&self.rejected.iter().map(of).collect::<Vec<_>>())
    }

    /// Takes over what was stored beside the shards: since when the batch's ids are unseen, and when the history was
    /// deleted, in Unix seconds.
    #[wasm_bindgen(js_name = restoreExceptions)]
    pub fn restore(&mut self, unseen: &TextBatch, times_ms: &[f64], forget_before: Option<u32>) -> Result<(), JsValue> {
        let unseen = unseen.impressions(0, times_ms).map_err(failure)?;
        let forget_before = forget_before.map(|seconds| Time::from_unix_seconds(seconds.into()));
        self.chain.restore(&unseen, forget_before).map_err(failure)
    }

    /// Records the batch's ids. Returns how many no live shard contained.
    pub fn record(&mut self, ids: &TextBatch, now_seconds: f64) -> Result<usize, JsValue> {
        self.chain.record(ids, time(now_seconds)).map_err(failure)
    }

    /// Takes in what a device reported: the first `unseen` of the batch's ids became unseen at these times, the others
    /// were recorded. `sent_ms` is the device's clock. Returns how many ids no live shard contained.
    pub fn take(
        &mut self,
        ids: &TextBatch,
        times_ms: &[f64],
        unseen: usize,
        sent_ms: f64,
        arrived_seconds: f64,
    ) -> Result<usize, JsValue> {
        let all = ids.impressions(0, times_ms).map_err(failure)?;
        let (unseen, impressions) = all.split_at(unseen.min(all.len()));
        let report = Report {
            sent: Time::from_unix_ms(sent_ms as u64),
            arrived: time(arrived_seconds),
            impressions,
            unseen,
        };
        self.chain.take(&report).map_err(failure)
    }

    /// Makes the batch's ids unseen.
    pub fn unsee(&mut self, ids: &TextBatch, now_seconds: f64) -> Result<(), JsValue> {
        self.chain.unsee(ids, time(now_seconds)).map_err(failure)
    }

    /// Deletes the history.
    pub fn forget(&mut self, now_seconds: f64) -> Result<(), JsValue> {
        self.chain.forget(time(now_seconds)).map_err(failure)
    }

    /// Leaves the indices of the batch's fresh items with the batch, of items that have an id in common the first.
    /// `pending` is a device's pending shard. Returns how many they are.
    pub fn filter(&self, ids: &mut TextBatch, pending: Option<String>, now_seconds: f64) -> Result<usize, JsValue> {
        let fresh = self.chain.filter(ids, pending.as_deref(), time(now_seconds));
        Ok(ids.answer(fresh.map_err(failure)?))
    }

    /// The same followed by the indices of the others, those seen longest ago first. Returns how many are fresh.
    pub fn split(&self, ids: &mut TextBatch, pending: Option<String>, now_seconds: f64) -> Result<usize, JsValue> {
        let split = self.chain.split(ids, pending.as_deref(), time(now_seconds));
        ids.answer_split(split.map_err(failure)?).map_err(failure)
    }

    /// What to ship, with references to what is held.
    pub fn snapshot(&self, now_seconds: f64, held: Option<String>) -> Result<JsValue, JsValue> {
        let snapshot = self.chain.snapshot(time(now_seconds), held.as_deref());
        Ok(to_js(&snapshot.map_err(failure)?))
    }
}

/// The time of Unix seconds with milliseconds behind the point.
fn time(seconds: f64) -> Time {
    Time::from_unix_ms((seconds * 1000.0).round() as u64)
}
