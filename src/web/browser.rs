//! What the module needs of the environment itself: randomness for writers' ids, and the console for the last words of a panic.

use js_sys::Reflect;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

const WRITER_ID_BYTES: usize = 8;

/// An id for a writer, new for each `open`: 16 hexadecimal digits.
#[wasm_bindgen(js_name = randomWriterId)]
pub fn random_writer_id() -> String {
    let mut bytes = [0; WRITER_ID_BYTES];
    let crypto = Reflect::get(&js_sys::global(), &"crypto".into())
        .ok()
        .filter(JsValue::is_object);
    let filled = crypto.is_some_and(|crypto| {
        crypto
            .unchecked_ref::<web_sys::Crypto>()
            .get_random_values_with_u8_array(&mut bytes)
            .is_ok()
    });
    if !filled {
        // Two writers must differ; nobody has to be unable to guess.
        bytes.fill_with(|| (js_sys::Math::random() * 256.0) as u8);
    }
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// Says where a panic happened; the trap that follows does not. Where panics have no words, nothing can be said.
#[cfg(not(panic = "immediate-abort"))]
#[wasm_bindgen(start)]
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            let text = format!("seenguard: internal error at {}:{}", place.file(), place.line());
            web_sys::console::error_1(&text.into());
        }
    }));
}
