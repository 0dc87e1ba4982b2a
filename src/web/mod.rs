//! The Wasm face of the crate: functions and classes for `js/`, which validates what comes in and types what goes out.
//!
//! Ids cross in one batch ([`batch`]), other inputs as plain arguments that the TypeScript has checked, and answers lie where JavaScript reads them.
//! So guards and chains take and give numbers alone, and pages load no glue. What the inspection tells goes out by serde-wasm-bindgen's `to_value`, an
//! error of it as `{ code, message }`. Nothing here throws or panics for what comes in.
//!
//! The features `guard`, `chain` and `inspect` say what a module offers: that of pages, that of servers, that of the command.

mod allocator;
#[cfg(any(feature = "guard", feature = "chain"))]
mod answer;
#[cfg(any(feature = "guard", feature = "chain"))]
pub mod batch;
#[cfg(not(panic = "immediate-abort"))]
mod browser;
#[cfg(feature = "chain")]
pub mod chain;
#[cfg(feature = "guard")]
pub mod guard;
#[cfg(feature = "inspect")]
mod inspect;
#[cfg(any(feature = "guard", feature = "chain"))]
mod numbered;

#[cfg(feature = "inspect")]
pub use inspect::RawInspection;

#[cfg(feature = "inspect")]
use {serde::Serialize, wasm_bindgen::JsValue};

use crate::{Error, Format};

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// An error as JavaScript takes it where it is thrown.
#[cfg(feature = "inspect")]
#[derive(Serialize)]
struct Failure {
    code: &'static str,
    message: String,
}

#[cfg(feature = "inspect")]
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure {
            code: error.code(),
            message: error.to_string(),
        }
    }
}

/// A format as `js/format.ts` numbers them, with what a go-bloomfilter's needs: k, or the capacity and the false positive rate.
fn format(kind: u8, number: u32, rate: f64) -> Result<Format, Error> {
    Ok(match kind {
        0 => Format::Native,
        1 => Format::Guava,
        2 => Format::BitsAndBlooms,
        3 => Format::RedisBloom,
        5 if cfg!(feature = "formats") => Format::go_bloomfilter(number, rate)?,
        // Where it is not known it is refused, whatever its sizes.
        _ => Format::GoBloomfilter {
            hashes: number,
            bits: None,
        },
    })
}

/// Serializes what the crate reports; undefined if it cannot be, which no type that goes out allows.
#[cfg(feature = "inspect")]
fn to_js(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or(JsValue::UNDEFINED)
}

#[cfg(feature = "inspect")]
fn failure(error: Error) -> JsValue {
    to_js(&Failure::from(error))
}

/// `Date.now()` and `performance.now()`, in milliseconds. Casts saturate: a clock before 1970 counts as 1970, NaN as 0.
#[cfg(feature = "guard")]
fn now(wall_ms: f64, steady_ms: f64) -> crate::Now {
    crate::Now {
        wall_ms: wall_ms as u64,
        steady_ms: steady_ms as u64,
    }
}
