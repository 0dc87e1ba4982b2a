//! The Wasm interface of the crate: classes for `js/`, which checks arguments and adds types to results.
//!
//! Strings are transferred in one [`batch`], since a call for each costs more than the filter itself; all others are
//! plain arguments. A page's module returns only numbers and strings: `js/` has the messages. It has no random numbers
//! and no console, so it needs no call at its start. A server's module throws errors as `{ code, message, shard }`. No
//! argument makes a module panic.

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

#[cfg(feature = "server")]
use serde::Serialize;
#[cfg(feature = "server")]
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(feature = "server")]
use crate::error::Error;
#[cfg(feature = "server")]
use crate::id_map;

/// Sets the random factor of maps, and reports panics.
#[cfg(feature = "server")]
#[wasm_bindgen(start)]
fn start() {
    id_map::set_random_factor((js_sys::Math::random() * 2f64.powi(53)) as u64 ^ js_sys::Math::random().to_bits());
    std::panic::set_hook(Box::new(|panic| {
        if let Some(location) = panic.location() {
            let what = "seenguard: internal error at".into();
            web_sys::console::error_3(&what, &location.file().into(), &location.line().into());
        }
    }));
}

/// An error as JavaScript catches it.
#[cfg(feature = "server")]
#[derive(Serialize)]
struct Failure {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<usize>,
}

#[cfg(feature = "server")]
impl Failure {
    fn of(error: &Error) -> Self {
        Failure {
            code: error.code(),
            message: error.to_string(),
            shard: error.shard(),
        }
    }
}

#[cfg(feature = "server")]
fn failure(error: Error) -> JsValue {
    to_js(&Failure::of(&error))
}

/// Reports any error as `bad-option`: for errors of other parts of the crate that are caused by an option.
#[cfg(feature = "server")]
fn bad_option(error: Error) -> JsValue {
    to_js(&Failure {
        code: "bad-option",
        shard: None,
        ..Failure::of(&error)
    })
}

/// Serializes a value. Serialization cannot fail for the types of this module; if it did, the result would be
/// undefined.
#[cfg(feature = "server")]
fn to_js(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or(JsValue::UNDEFINED)
}
