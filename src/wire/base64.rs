//! Base64 as shards travel: written in the standard alphabet with padding; read in the standard or the URL-safe one, padded canonically or not
//! at all. White space, mixed alphabets, partial padding and trailing bits that are not 0 are refused.
//!
//! Servers write with an engine of the crate base64. These unroll their loops for speed, and would be a tenth of the Wasm module, which writes more
//! compactly; the tests compare.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Error;

/// The standard alphabet: a symbol's place is its value.
const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PADDING: u8 = b'=';

/// What symbols count as beside their value that only one alphabet has. What is no symbol counts as if it were of both.
const STANDARD_ONLY: u8 = 0x40;
const URL_SAFE_ONLY: u8 = 0x80;
const NO_SYMBOL: u8 = STANDARD_ONLY | URL_SAFE_ONLY;

/// What each byte counts as.
static VALUES: [u8; 256] = {
    let mut values = [NO_SYMBOL; 256];
    let mut value = 0;
    while value < SYMBOLS.len() {
        values[SYMBOLS[value] as usize] = value as u8;
        value += 1;
    }
    values[b'+' as usize] |= STANDARD_ONLY;
    values[b'/' as usize] |= STANDARD_ONLY;
    values[b'-' as usize] = 62 | URL_SAFE_ONLY;
    values[b'_' as usize] = 63 | URL_SAFE_ONLY;
    values
};

pub(crate) fn encode(bytes: &[u8]) -> String {
    if cfg!(target_arch = "wasm32") {
        encode_compactly(bytes)
    } else {
        STANDARD.encode(bytes)
    }
}

#[inline(never)]
fn encode_compactly(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut block = [0; 4];
        block[..chunk.len()].copy_from_slice(chunk);
        let mut bits = u32::from_be_bytes(block);
        for place in 0..4 {
            let symbol = SYMBOLS[(bits >> 26) as usize];
            // All symbols are ASCII: the mask says so, and how others would be written is not compiled.
            text.push(char::from(0x7F & if place > chunk.len() { PADDING } else { symbol }));
            bits <<= 6;
        }
    }
    text
}

pub(crate) fn decode(text: impl AsRef<[u8]>) -> Result<Vec<u8>, Error> {
    decode_bytes(text.as_ref()).ok_or(Error::BadBase64)
}

#[inline(never)]
fn decode_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let (mut symbols, mut padding) = (text, 0);
    while let (Some((&PADDING, before)), 0..2) = (symbols.split_last(), padding) {
        (symbols, padding) = (before, padding + 1);
    }
    let (blocks, tail) = symbols.as_chunks::<4>();
    // One symbol alone is less than a byte; padding fills its block.
    if tail.len() == 1 || (padding > 0 && tail.len() + padding != 4) {
        return None;
    }
    // What the last block lacks counts as 0, and so must what it leaves over.
    let mut last = [b'A'; 4];
    last[..tail.len()].copy_from_slice(tail);
    let mut bytes = vec![0; 3 * blocks.len() + 3];
    let mut seen = 0;
    for (index, to) in bytes.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let mut bits = 0;
        for &symbol in blocks.get(index).unwrap_or(&last) {
            let value = VALUES[usize::from(symbol)];
            seen |= value;
            bits = bits << 6 | u32::from(value & !NO_SYMBOL);
        }
        let [_, read @ ..] = bits.to_be_bytes();
        *to = read;
    }
    let length = symbols.len() * 3 / 4;
    if seen & NO_SYMBOL == NO_SYMBOL || bytes[length..].iter().any(|&byte| byte != 0) {
        return None;
    }
    bytes.truncate(length);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::alphabet::{STANDARD, URL_SAFE};
    use base64::engine::general_purpose::{NO_PAD, PAD};
    use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

    fn engines() -> [GeneralPurpose; 4] {
        [(STANDARD, PAD), (STANDARD, NO_PAD), (URL_SAFE, PAD), (URL_SAFE, NO_PAD)]
            .map(|(alphabet, config): (_, GeneralPurposeConfig)| GeneralPurpose::new(&alphabet, config))
    }

    /// Bytes of every length that take every value.
    fn samples() -> impl Iterator<Item = Vec<u8>> {
        (0..300usize).map(|length| (0..length).map(|index| (index * 89 + length * 7) as u8).collect())
    }

    #[test]
    fn it_writes_what_the_crate_writes_and_reads_all_that_the_crate_writes() {
        for bytes in samples() {
            assert_eq!(encode_compactly(&bytes), engines()[0].encode(&bytes));
            assert_eq!(encode_compactly(&bytes), encode(&bytes));
            for engine in engines() {
                assert_eq!(decode(engine.encode(&bytes)), Ok(bytes.clone()));
            }
        }
    }

    #[test]
    fn of_short_texts_of_any_bytes_it_reads_what_an_engine_of_the_crate_reads() {
        let symbols: Vec<u8> = b"Ag/+-_=\n \0\xFF9".to_vec();
        for length in 0..=5u32 {
            for mut number in 0..symbols.len().pow(length) {
                let mut text = Vec::new();
                for _ in 0..length {
                    text.push(symbols[number % symbols.len()]);
                    number /= symbols.len();
                }
                let read = engines().iter().find_map(|engine| engine.decode(&text).ok());
                assert_eq!(decode(&text).ok(), read, "{}", text.escape_ascii());
            }
        }
    }
}
