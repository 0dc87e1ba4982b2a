//! The crate as Wasm in Node.
#![cfg(target_arch = "wasm32")]

#[path = "engine/classes.wasm.rs"]
mod classes;
mod common;
