//! The function `plan`.

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{bad_option, to_js};
use crate::plan::{self, PlanJson, PlanOptions};

/// Plans a chain. The arguments are those of [`PlanOptions`].
#[wasm_bindgen]
pub fn plan(per_day: f64, window_days: f64, false_positive_rate: f64, per_refresh: f64) -> Result<JsValue, JsValue> {
    let options = PlanOptions {
        per_day,
        window_days,
        false_positive_rate,
        per_refresh,
    };
    plan::plan(&options)
        .map(|plan| to_js(&PlanJson::from(plan)))
        .map_err(bad_option)
}
