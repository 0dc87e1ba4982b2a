//! The crate as Wasm in a browser.
#![cfg(target_arch = "wasm32")]

#[path = "engine/classes.wasm.rs"]
mod classes;
mod common;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
