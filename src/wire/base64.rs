//! Base64 as shards travel: written in the standard alphabet with padding; read in the standard or the URL-safe one, padded canonically or not
//! at all. White space, mixed alphabets, partial padding and trailing bits that are not 0 are refused.

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::Error;

const fn engine(alphabet: &Alphabet, padding: DecodePaddingMode) -> GeneralPurpose {
    GeneralPurpose::new(alphabet, GeneralPurposeConfig::new().with_decode_padding_mode(padding))
}

static PADDED: GeneralPurpose = engine(&STANDARD, DecodePaddingMode::RequireCanonical);
static UNPADDED: GeneralPurpose = engine(&STANDARD, DecodePaddingMode::RequireNone);
static URL_PADDED: GeneralPurpose = engine(&URL_SAFE, DecodePaddingMode::RequireCanonical);
static URL_UNPADDED: GeneralPurpose = engine(&URL_SAFE, DecodePaddingMode::RequireNone);

pub(crate) fn encode(bytes: &[u8]) -> String {
    PADDED.encode(bytes)
}

pub(crate) fn decode(text: impl AsRef<[u8]>) -> Result<Vec<u8>, Error> {
    decode_bytes(text.as_ref())
}

fn decode_bytes(text: &[u8]) -> Result<Vec<u8>, Error> {
    let url_safe = memchr::memchr2(b'-', b'_', text).is_some();
    // Text whose length is a multiple of four is canonical without padding as well as with it.
    let padded = text.last() == Some(&b'=');
    let engine = match (url_safe, padded) {
        (false, true) => &PADDED,
        (false, false) => &UNPADDED,
        (true, true) => &URL_PADDED,
        (true, false) => &URL_UNPADDED,
    };
    engine.decode(text).map_err(|_| Error::BadBase64)
}
