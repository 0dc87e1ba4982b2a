//! What the module needs of the environment itself: randomness for writers' ids, and the console for the last words of a panic.

#[cfg(any(feature = "guard", not(panic = "immediate-abort")))]
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(feature = "guard")]
const WRITER_ID_BYTES: usize = 8;

/// An id for a writer, new for each `open`: 16 hexadecimal digits. `crypto` is the environment's own, if it has one.
#[cfg(feature = "guard")]
#[wasm_bindgen(js_name = randomWriterId)]
pub fn random_writer_id(crypto: Option<web_sys::Crypto>) -> String {
    let mut bytes = [0; WRITER_ID_BYTES];
    if crypto.is_none_or(|crypto| crypto.get_random_values_with_u8_array(&mut bytes).is_err()) {
        // Two writers must differ; nobody has to be unable to guess.
        bytes.fill_with(|| (js_sys::Math::random() * 256.0) as u8);
    }
    let mut id = String::with_capacity(2 * WRITER_ID_BYTES);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            id.push(char::from(digit + if digit < 10 { b'0' } else { b'a' - 10 }));
        }
    }
    id
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
