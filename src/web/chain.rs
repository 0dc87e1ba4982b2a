//! The class `Chain`. Times are Unix seconds.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{failure, to_js};
use crate::chain::{ChainOptions, Rejected, ShardChain};
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

    /// Records the batch's ids. Returns how many no live shard contained.
    pub fn record(&mut self, ids: &TextBatch, now_seconds: f64) -> Result<usize, JsValue> {
        self.chain.record(ids, now_seconds as u64).map_err(failure)
    }

    /// Leaves the indices of the batch's ids that no live shard contains with the batch, of equal ids the first.
    /// Returns how many they are.
    pub fn filter(&self, ids: &mut TextBatch, now_seconds: f64) -> Result<usize, JsValue> {
        let fresh = self.chain.filter(ids, now_seconds as u64).map_err(failure)?;
        Ok(ids.answer(fresh))
    }

    /// What to ship.
    pub fn snapshot(&self, now_seconds: f64) -> Result<JsValue, JsValue> {
        let snapshot = self.chain.snapshot(now_seconds as u64).map_err(failure)?;
        Ok(to_js(&snapshot))
    }
}
