//! The crate as Wasm in Node.
#![cfg(target_arch = "wasm32")]

mod common;
#[path = "web/suite.rs"]
mod suite;
