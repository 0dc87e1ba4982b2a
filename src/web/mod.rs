//! The Wasm face of the crate: classes for `js/`, which checks what comes in and types what goes out.
//!
//! Texts cross in one [`batch`], since a call for each costs more than the filter itself; all else are plain arguments,
//! and answers are plain values. What is wrong with an input is thrown as `{ code, message, shard }`. Nothing here
//! panics for what comes in.

pub mod batch;
#[cfg(feature = "server")]
pub mod chain;
#[cfg(feature = "client")]
pub mod guard;
#[cfg(feature = "server")]
pub mod inspection;
#[cfg(feature = "server")]
pub mod near_duplicates;
#[cfg(feature = "server")]
pub mod plan;
#[cfg(feature = "server")]
pub mod store;

use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::error::Error;
use crate::id_map;

/// Gives the maps a random factor, and panics a voice.
#[wasm_bindgen(start)]
fn start() {
    id_map::set_random_factor((js_sys::Math::random() * 2f64.powi(53)) as u64 ^ js_sys::Math::random().to_bits());
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            let text = format!("seenguard: internal error at {}:{}", place.file(), place.line());
            web_sys::console::error_1(&text.into());
        }
    }));
}

/// An error as JavaScript catches it.
#[derive(Serialize)]
struct Failure {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<usize>,
}

fn failure(error: Error) -> JsValue {
    let shard = match &error {
        Error::InShard { index, .. } => Some(*index),
        _ => None,
    };
    to_js(&Failure {
        code: error.code(),
        message: error.to_string(),
        shard,
    })
}

/// Serializes what the crate reports; undefined if it cannot be, which no type that goes out allows.
fn to_js(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or(JsValue::UNDEFINED)
}
