//! The class that `npx seenguard inspect` uses.

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{failure, to_js};
use crate::inspect::{self, InspectedFilter};
use crate::shard::Shard;
use crate::time::Time;
use crate::wire::{Encoding, Format};

/// The description of one shard.
#[wasm_bindgen]
pub struct Inspection {
    inspection: inspect::Inspection,
}

#[wasm_bindgen]
impl Inspection {
    /// Reads a shard in the format that the first three arguments name. Throws `{ code, message }` if it cannot be
    /// read.
    #[wasm_bindgen(constructor)]
    pub fn new(format_kind: u8, format_number: u32, format_rate: f64, text: &str) -> Result<Inspection, JsValue> {
        let format = Format::from_arguments(format_kind, format_number, format_rate).map_err(failure)?;
        inspect::inspect(format, text)
            .map(|inspection| Inspection { inspection })
            .map_err(failure)
    }

    /// The description of the shard.
    pub fn report(&self) -> JsValue {
        to_js(&Report::from(&self.inspection))
    }

    /// Whether it answers "contained" for an id at this time, in Unix seconds.
    pub fn has(&self, id: &str, now_seconds: f64) -> bool {
        self.inspection
            .contains(id, Time::from_unix_seconds(now_seconds as u64))
    }
}

/// The JSON of the command.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    bytes: usize,
    bits: f64,
    estimated_items: f64,
    false_positive_rate: f64,
    information_limit_bits: f64,
    filters: Vec<FilterReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FilterReport {
    bits: u32,
    hashes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    set_bits: u32,
    fill: f64,
    estimated_items: f64,
    false_positive_rate: f64,
    encoding: &'static str,
    /// Like the next two, in the native format alone. A string, since JavaScript's numbers have fewer bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u32>,
    /// Unix seconds; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u32>,
}

impl From<&inspect::Inspection> for Report {
    fn from(inspection: &inspect::Inspection) -> Self {
        let filters: Vec<FilterReport> = inspection.filters.iter().map(FilterReport::from).collect();
        Report {
            bytes: inspection.bytes,
            bits: filters.iter().map(|filter| f64::from(filter.bits)).sum(),
            estimated_items: inspection.estimated_items(),
            false_positive_rate: inspection.false_positive_rate(),
            information_limit_bits: inspection.information_limit_bits(),
            filters,
        }
    }
}

impl From<&InspectedFilter> for FilterReport {
    fn from(inspected: &InspectedFilter) -> Self {
        let Shard {
            filter, epoch, expires, ..
        } = &inspected.shard;
        FilterReport {
            bits: filter.parameters().bits(),
            hashes: filter.parameters().hashes(),
            count: inspected.count,
            set_bits: filter.set_bits(),
            fill: filter.fill(),
            estimated_items: filter.estimate_items(),
            false_positive_rate: filter.false_positive_rate(),
            encoding: match inspected.encoding {
                Encoding::Raw => "raw",
                Encoding::Rice => "rice",
            },
            seed: filter.is_native().then(|| filter.seed().to_string()),
            epoch: filter.is_native().then_some(*epoch),
            expires: filter.is_native().then_some(*expires),
        }
    }
}
