//! The Wasm face of the crate: functions and classes for `js/`, which validates what comes in and types what goes out.
//!
//! Ids cross in one batch ([`batch`]), other inputs as plain arguments that the TypeScript has checked, and answers lie where JavaScript reads them.
//! So guards and chains take and give numbers alone, and pages load no glue. What the inspection tells goes out by serde-wasm-bindgen's `to_value`, an
//! error of it as `{ code, message }`. Nothing here throws or panics for what comes in.
//!
//! The features `client` and `server` say what a module offers: that of pages, that of servers and of the command.

mod allocator;
#[cfg(any(feature = "client", feature = "server"))]
mod answer;
#[cfg(any(feature = "client", feature = "server"))]
pub mod batch;
#[cfg(not(panic = "immediate-abort"))]
mod browser;
#[cfg(feature = "server")]
pub mod chain;
#[cfg(feature = "client")]
pub mod guard;
#[cfg(feature = "server")]
mod inspect;
#[cfg(any(feature = "client", feature = "server"))]
mod numbered;

#[cfg(feature = "server")]
pub use inspect::RawInspection;

#[cfg(feature = "server")]
use {serde::Serialize, wasm_bindgen::JsValue};

#[cfg(feature = "server")]
use crate::Error;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// An error as JavaScript takes it where it is thrown.
#[cfg(feature = "server")]
#[derive(Serialize)]
struct Failure {
    code: &'static str,
    message: String,
}

#[cfg(feature = "server")]
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            code: error.code(),
            message: error.to_string(),
        }
    }
}

/// Serializes what the crate reports; undefined if it cannot be, which no type that goes out allows.
#[cfg(feature = "server")]
fn to_js(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or(JsValue::UNDEFINED)
}

#[cfg(feature = "server")]
fn failure(error: Error) -> JsValue {
    to_js(&Failure::from(error))
}

/// `Date.now()` and `performance.now()`, in milliseconds. Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
#[cfg(feature = "client")]
fn now(wall_ms: f64, steady_ms: f64) -> crate::Now {
    crate::Now {
        wall_ms: wall_ms as u64,
        steady_ms: steady_ms as u64,
    }
}
