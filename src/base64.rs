//! The base64 of shards: written in the standard alphabet with padding; read in the standard or the URL-safe one,
//! padded canonically or not at all. White space, mixed alphabets, partial padding and trailing bits that are not 0 are
//! refused.

use ::base64::Engine;
use ::base64::alphabet::STANDARD;
use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::Error;

/// The standard alphabet alone: a second engine would add its tables to the module. Input in the other alphabet is
/// translated first.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = vec![0; encoded_len(bytes.len())];
    // The crate's own `encode` would add the messages of errors that cannot occur.
    let written = ENGINE.encode_slice(bytes, &mut text);
    debug_assert_eq!(written, Ok(text.len()));
    String::from_utf8(text).unwrap_or_default()
}

/// The length of the base64 of this many bytes.
pub(crate) fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Decodes base64.
///
/// # Errors
/// [`Error::BadBase64`] or [`Error::OutOfMemory`].
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, Error> {
    // The engine would also accept partial padding.
    if text.ends_with(b"=") && !text.len().is_multiple_of(4) {
        return Err(Error::BadBase64);
    }
    let mut bytes = Vec::new();
    let most = ::base64::decoded_len_estimate(text.len());
    bytes.try_reserve_exact(most)?;
    bytes.resize(most, 0);
    let mut length = ENGINE.decode_slice(text, &mut bytes);
    if length.is_err() {
        length = ENGINE.decode_slice(as_standard(text)?.as_slice(), &mut bytes);
    }
    bytes.truncate(length.map_err(|_| Error::BadBase64)?);
    Ok(bytes)
}

/// Translates the URL-safe alphabet to the standard one.
fn as_standard(text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut standard = Vec::new();
    standard.try_reserve_exact(text.len())?;
    for &byte in text {
        standard.push(match byte {
            b'-' => b'+',
            b'_' => b'/',
            b'+' | b'/' => return Err(Error::BadBase64),
            other => other,
        });
    }
    Ok(standard)
}

#[cfg(test)]
mod tests {
    use ::base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn output_of_an_engine_with_either_alphabet_is_decoded() {
        for length in 0..300usize {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 89 + length * 7) as u8).collect();
            assert_eq!(decode(encode(&bytes).as_bytes()), Ok(bytes.clone()));
            for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                assert_eq!(decode(engine.encode(&bytes).as_bytes()), Ok(bytes.clone()));
            }
        }
    }

    #[test]
    fn a_short_string_is_decoded_exactly_if_an_engine_decodes_it() {
        let symbols = b"Ag/+-_=\n \0\xFF9";
        for length in 0..=5u32 {
            for mut number in 0..symbols.len().pow(length) {
                let mut text = Vec::new();
                for _ in 0..length {
                    text.push(symbols[number % symbols.len()]);
                    number /= symbols.len();
                }
                let read = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
                    .iter()
                    .find_map(|engine| engine.decode(&text).ok());
                assert_eq!(decode(&text).ok(), read, "{}", text.escape_ascii());
            }
        }
    }
}
