//! The class behind `ShardChain`.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::with_batch;
use super::{failure, format, to_js};
use crate::ids::IdList;
use crate::{ChainOptions, Rejected, ShardChain};

#[derive(Serialize)]
struct RejectedShard {
    index: usize,
    code: &'static str,
}

/// A snapshot without its format, which JavaScript knows.
#[derive(Serialize)]
struct ShippedChain {
    version: Option<u64>,
    shards: Vec<String>,
    now: u64,
}

/// A user's chain on the server. Times are Unix seconds.
#[wasm_bindgen]
pub struct RawChain {
    chain: ShardChain,
    rejected: Vec<Rejected>,
}

#[wasm_bindgen]
impl RawChain {
    /// Goes on from stored shards in the format that the first three arguments tell, newest first; from none, a new chain. Throws `{ code, message }` for options without meaning.
    // Plain arguments are what crosses this boundary most cheaply.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(constructor)]
    pub fn new(
        kind: u8,
        number: u32,
        rate: f64,
        stored: Vec<String>,
        capacity: u32,
        shards: usize,
        false_positive_rate: f64,
        seed: u64,
        ttl_seconds: u32,
    ) -> Result<RawChain, JsValue> {
        let options = ChainOptions {
            capacity,
            shards,
            false_positive_rate,
            seed,
            ttl_seconds,
            format: format(kind, number, rate).map_err(failure)?,
        };
        let (chain, rejected) = ShardChain::from_shards(&stored, options).map_err(failure)?;
        Ok(RawChain { chain, rejected })
    }

    /// What could not be read: `{ index, code }` each.
    pub fn rejected(&self) -> JsValue {
        let listed: Vec<RejectedShard> = self
            .rejected
            .iter()
            .map(|rejected| RejectedShard {
                index: rejected.index,
                code: rejected.error.code(),
            })
            .collect();
        to_js(&listed)
    }

    /// Records the batch's ids. Returns how many no live shard contained.
    pub fn record(&mut self, now_seconds: f64) -> usize {
        with_batch(|ids, _| {
            self.chain
                .record((0..ids.count()).map(|index| ids.id(index)), now_seconds as u64)
        })
    }

    /// Whether a live shard contains the id.
    pub fn has(&self, id: &str, now_seconds: f64) -> bool {
        self.chain.contains(id, now_seconds as u64)
    }

    /// Puts the indices of the batch's ids that no live shard contains where `fresh` tells. Returns how many they are.
    pub fn filter(&self, now_seconds: f64) -> usize {
        with_batch(|ids, fresh| {
            self.chain.filter_into(ids, now_seconds as u64, fresh);
            fresh.len()
        })
    }

    /// `{ version, shards, now }`, the version undefined in another format than the native one.
    pub fn snapshot(&self, now_seconds: f64) -> JsValue {
        let snapshot = self.chain.snapshot(now_seconds as u64);
        to_js(&ShippedChain {
            version: snapshot.version,
            shards: snapshot.shards,
            now: snapshot.now,
        })
    }
}
