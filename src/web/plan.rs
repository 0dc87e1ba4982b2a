//! The function `plan`.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{bad_option, to_js};
use crate::plan::{self, Plan, PlanOptions};

/// A plan in the names of the command's JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Costs {
    capacity: u32,
    shards: usize,
    false_positive_rate: f64,
    ttl_seconds: u32,
    bits: u32,
    hashes: u32,
    bytes_stored: u64,
    bytes_first_page: u64,
    bytes_refresh: u64,
    rate_when_young: f64,
    rate_when_full: f64,
}

/// Plans a chain: impressions of a user a day, days of the window, false positive rate, impressions between refreshes.
#[wasm_bindgen]
pub fn plan(per_day: f64, window_days: f64, false_positive_rate: f64, per_refresh: f64) -> Result<JsValue, JsValue> {
    let options = PlanOptions {
        per_day,
        window_days,
        false_positive_rate,
        per_refresh,
    };
    plan::plan(&options)
        .map(|plan| to_js(&Costs::from(plan)))
        .map_err(bad_option)
}

impl From<Plan> for Costs {
    fn from(plan: Plan) -> Self {
        Costs {
            capacity: plan.chain.capacity,
            shards: plan.chain.shards,
            false_positive_rate: plan.chain.false_positive_rate,
            ttl_seconds: plan.chain.ttl_seconds,
            bits: plan.parameters.bits(),
            hashes: plan.parameters.hashes(),
            bytes_stored: plan.bytes_stored,
            bytes_first_page: plan.bytes_first_page,
            bytes_refresh: plan.bytes_refresh,
            rate_when_young: plan.rate_when_young,
            rate_when_full: plan.rate_when_full,
        }
    }
}
