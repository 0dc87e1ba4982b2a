//! The crate as Wasm in a browser.
#![cfg(target_arch = "wasm32")]

mod common;
#[path = "web/suite.rs"]
mod suite;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
