//! The class `Chain`. The times of its calls are Unix seconds, to the millisecond; those of ids are Unix milliseconds.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::batch::TextBatch;
use super::{bad_option, failure, to_js};
use crate::chain::{
    ChainOptions, ChainSnapshot, Page, PageRequest, ReceivedReport, Rejected, Repeats, ShardChain, server_time,
};
use crate::devices::Pending;
use crate::error::Error;
use crate::time::Time;
use crate::wire::Format;

/// The number of a format: go-bloomfilter with the chain's sizes. `Format::from_arguments` has the others.
const GO_WITH_CHAINS_SIZES: u8 = 6;

/// A user's shards.
#[wasm_bindgen]
pub struct Chain {
    pub(super) chain: ShardChain,
    pub(super) rejected: Vec<RejectedShard>,
}

/// A stored shard that could not be read.
#[derive(Serialize)]
pub(super) struct RejectedShard {
    index: usize,
    reason: &'static str,
}

/// The unreadable shards among these errors.
pub(super) fn rejected(errors: &[Error]) -> Vec<RejectedShard> {
    let shard = |error: &Error| {
        let (index, reason) = (error.shard()?, error.code());
        Some(RejectedShard { index, reason })
    };
    errors.iter().filter_map(shard).collect()
}

/// A page without its items, which are in the batch.
#[derive(Serialize)]
struct ShippedPage {
    next: Option<String>,
    snapshot: Option<ChainSnapshot>,
}

/// The request for a page. `last`: seen items follow if there are too few fresh ones.
pub(super) fn page_request<'a>(
    size: usize,
    last: bool,
    cursor: Option<&'a str>,
    held: Option<&'a str>,
    pending: Pending<'a>,
) -> PageRequest<'a> {
    let repeats = if last { Repeats::Last } else { Repeats::Drop };
    PageRequest {
        size,
        cursor,
        repeats,
        held,
        pending,
    }
}

/// Returns a page, and puts the indices of its items into the batch.
pub(super) fn shipped(ranked: &mut TextBatch, page: Page, is_degraded: bool) -> JsValue {
    ranked.answer(page.items, &[]);
    to_js(&ShippedPage {
        next: page.next,
        snapshot: (!is_degraded).then_some(page.snapshot),
    })
}

/// A report of the batch's ids from `first` on, each with its time in Unix milliseconds. The first `unseen` of them
/// became unseen, the others were recorded.
pub(super) fn report_of(
    ids: &TextBatch,
    first: usize,
    times_ms: &[f64],
    unseen: usize,
    received_ms: f64,
) -> ReceivedReport {
    let mut all = ids.impressions(first, times_ms);
    ReceivedReport {
        namespace: String::new(),
        received_at: Time::from_unix_ms(received_ms as u64),
        impressions: all.split_off(unseen.min(all.len())),
        unseen: all,
        forgotten: false,
        pending: None,
    }
}

const BAD_SEED: Error = Error::BadOption("the seed must be a whole number from 0 to 2^64 - 1");

/// Options, with defaults for those that are not given.
#[wasm_bindgen]
pub struct GivenOptions {
    pub(super) options: ChainOptions,
}

#[wasm_bindgen]
impl GivenOptions {
    /// `are_stores`: use the defaults of stores. The next three arguments name the format. `seed` is a decimal string,
    /// since the engine as JavaScript accepts no 64-bit integers.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        are_stores: bool,
        format_kind: u8,
        format_number: u32,
        format_rate: f64,
        capacity: Option<u32>,
        shards: Option<usize>,
        false_positive_rate: Option<f64>,
        seed: Option<String>,
        ttl_seconds: Option<u32>,
    ) -> Result<GivenOptions, JsValue> {
        let defaults = |format| match are_stores {
            true => ChainOptions::recommended(format),
            false => ChainOptions {
                format,
                ..ChainOptions::default()
            },
        };
        let sizes = defaults(Format::Native);
        let capacity = capacity.unwrap_or(sizes.capacity);
        let false_positive_rate = false_positive_rate.unwrap_or(sizes.false_positive_rate);
        let format = match format_kind {
            GO_WITH_CHAINS_SIZES => go_bloomfilter(capacity, false_positive_rate),
            kind => Format::from_arguments(kind, format_number, format_rate),
        };
        let defaults = defaults(format.map_err(bad_option)?);
        let seed = seed.map(|text| text.parse().map_err(|_| BAD_SEED)).transpose();
        let options = ChainOptions {
            capacity,
            false_positive_rate,
            shards: shards.unwrap_or(defaults.shards),
            seed: seed.map_err(failure)?.unwrap_or(defaults.seed),
            ttl_seconds: ttl_seconds.unwrap_or(defaults.ttl_seconds),
            ..defaults
        };
        Ok(GivenOptions { options })
    }
}

#[cfg(feature = "formats")]
fn go_bloomfilter(capacity: u32, rate: f64) -> Result<Format, Error> {
    Format::go_bloomfilter(capacity, rate)
}

#[cfg(not(feature = "formats"))]
fn go_bloomfilter(_: u32, _: f64) -> Result<Format, Error> {
    Format::from_arguments(GO_WITH_CHAINS_SIZES, 0, 0.0)
}

#[wasm_bindgen]
impl Chain {
    /// Restores a chain from the batch's shards, newest first; without any, a new chain.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &GivenOptions, stored: &TextBatch) -> Result<Chain, JsValue> {
        let (chain, rejected) = ShardChain::from_shards(stored, given.options).map_err(bad_option)?;
        let shard = |shard: Rejected| RejectedShard {
            index: shard.index,
            reason: shard.error.code(),
        };
        let rejected = rejected.into_iter().map(shard).collect();
        Ok(Chain { chain, rejected })
    }

    /// The stored shards that could not be read, each with its index.
    pub fn rejected(&self) -> JsValue {
        to_js(&self.rejected)
    }

    /// Restores the data stored with the shards: the batch's unseen ids with their times, and the deletion of the
    /// history, in Unix seconds.
    #[wasm_bindgen(js_name = restore)]
    pub fn restore(&mut self, unseen: &TextBatch, times_ms: &[f64], forget_before: Option<u32>) -> Result<(), JsValue> {
        let unseen = unseen.impressions(0, times_ms);
        let forget_before = forget_before.map(|seconds| Time::from_unix_seconds(seconds.into()));
        self.chain.restore(&unseen, forget_before).map_err(failure)
    }

    /// Records the batch's ids. Returns how many no live shard contained.
    pub fn record(&mut self, ids: &TextBatch, now_seconds: f64) -> Result<usize, JsValue> {
        self.chain.record(ids, time(now_seconds)).map_err(failure)
    }

    /// Applies a report in the server's time: the first `unseen` of the batch's ids became unseen at these times, the
    /// others were recorded; `forgotten`: the history was deleted then. Returns how many ids no live shard contained.
    pub fn ingest(
        &mut self,
        ids: &TextBatch,
        times_ms: &[f64],
        unseen: usize,
        received_ms: f64,
        forgotten: bool,
    ) -> Result<usize, JsValue> {
        let report = ReceivedReport {
            forgotten,
            ..report_of(ids, 0, times_ms, unseen, received_ms)
        };
        self.chain.ingest(&report).map_err(failure)
    }

    /// Makes the batch's ids unseen.
    pub fn unsee(&mut self, ids: &TextBatch, now_seconds: f64) -> Result<(), JsValue> {
        self.chain.unsee(ids, time(now_seconds)).map_err(failure)
    }

    /// Deletes the history.
    pub fn forget(&mut self, now_seconds: f64) -> Result<(), JsValue> {
        self.chain.forget(time(now_seconds)).map_err(failure)
    }

    /// Puts the indices of the fresh ids into the batch, and returns their number; equal ids count once. `pending`: the
    /// value of `Seen-Pending`.
    pub fn filter(&self, ids: &mut TextBatch, pending: Option<String>, now_seconds: f64) -> Result<usize, JsValue> {
        let fresh = self.chain.filter(&*ids, pending.as_deref(), time(now_seconds));
        Ok(ids.answer(fresh.map_err(failure)?, &[]))
    }

    /// Makes a page of the batch's items, and puts the indices of its items into the batch. `last`: seen ones follow if
    /// there are too few fresh ones.
    #[allow(clippy::too_many_arguments)]
    pub fn page(
        &self,
        ranked: &mut TextBatch,
        size: usize,
        last: bool,
        cursor: Option<String>,
        held: Option<String>,
        pending: Option<String>,
        now_seconds: f64,
    ) -> Result<JsValue, JsValue> {
        let pending = pending.as_deref().into();
        let request = page_request(size, last, cursor.as_deref(), held.as_deref(), pending);
        let page = self.chain.page(&*ranked, &request, time(now_seconds));
        Ok(shipped(ranked, page.map_err(failure)?, false))
    }

    /// The snapshot to send, with references of held shards.
    pub fn snapshot(&self, now_seconds: f64, held: Option<String>) -> Result<JsValue, JsValue> {
        let snapshot = self.chain.snapshot(time(now_seconds), held.as_deref());
        Ok(to_js(&snapshot.map_err(failure)?))
    }
}

/// The time of Unix seconds, rounded to a millisecond.
pub(super) fn time(seconds: f64) -> Time {
    Time::from_unix_ms((seconds * 1000.0).round() as u64)
}

/// Translates a device's times to the server's clock, all in Unix milliseconds, by the times at which the report was
/// sent and received.
#[wasm_bindgen(js_name = serverTimes)]
pub fn server_times(times_ms: &[f64], sent_ms: f64, received_ms: f64) -> Result<Vec<f64>, JsValue> {
    let [sent, received] = [sent_ms, received_ms].map(|time| Time::from_unix_ms(time as u64));
    let translated = |&at: &f64| server_time(Time::from_unix_ms(at as u64), sent, received).unix_ms() as f64;
    let mut times = Vec::new();
    times
        .try_reserve_exact(times_ms.len())
        .map_err(|error| failure(error.into()))?;
    times.extend(times_ms.iter().map(translated));
    Ok(times)
}
