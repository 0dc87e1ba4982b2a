//! What a module that panics with words needs of the environment itself: the console.

use wasm_bindgen::prelude::wasm_bindgen;

/// Says where a panic happened; the trap that follows does not.
#[wasm_bindgen(start)]
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            let text = format!("seenguard: internal error at {}:{}", place.file(), place.line());
            web_sys::console::error_1(&text.into());
        }
    }));
}
