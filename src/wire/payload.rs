//! The bits of a filter one after the other: bit i is bit `i mod w` of word `i div w`. Formats differ in the words.

use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::{Error, message};

/// The width of the words, and the order of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// 8 bits.
    Bytes,
    /// 64 bits, little-endian.
    LittleEndian64,
    /// 64 bits, big-endian.
    BigEndian64,
    /// 32 bits, big-endian.
    BigEndian32,
}

impl Words {
    fn byte_width(self) -> u32 {
        match self {
            Words::Bytes => 1,
            Words::BigEndian32 => 4,
            Words::LittleEndian64 | Words::BigEndian64 => 8,
        }
    }

    /// Eight bytes of a payload as 64 bits of a filter.
    fn read(self, bytes: [u8; 8]) -> u64 {
        match self {
            Words::Bytes | Words::LittleEndian64 => u64::from_le_bytes(bytes),
            Words::BigEndian64 => u64::from_be_bytes(bytes),
            // The first word is the lower half.
            Words::BigEndian32 => u64::from_be_bytes(bytes).rotate_left(32),
        }
    }

    fn write(self, bits: u64) -> [u8; 8] {
        match self {
            Words::Bytes | Words::LittleEndian64 => bits.to_le_bytes(),
            Words::BigEndian64 => bits.to_be_bytes(),
            Words::BigEndian32 => bits.rotate_left(32).to_be_bytes(),
        }
    }
}

/// The number of bytes of this many bits.
pub(super) fn length(words: Words, bits: u32) -> usize {
    let width = words.byte_width();
    (bits.div_ceil(8 * width) * width) as usize
}

/// Reads the bits of a filter. Allocates memory only if their number is right.
///
/// # Errors
/// [`Error::BadPayload`] or [`Error::OutOfMemory`].
pub(super) fn read(bytes: &[u8], words: Words, spec: FilterSpec) -> Result<BloomFilter, Error> {
    if bytes.len() != length(words, spec.bits()) {
        return Err(Error::BadPayload(message(
            "the payload must be as long as the filter's bits",
        )));
    }
    let mut filter = BloomFilter::with_spec(spec)?;
    let (whole, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for (to, &chunk) in filter.words_mut().iter_mut().zip(whole.iter().chain([&last])) {
        *to = words.read(chunk);
    }
    let beyond = spec.bits() % 64;
    if beyond != 0 && filter.words().last().is_some_and(|last| last >> beyond != 0) {
        return Err(Error::BadPayload(message("the bits after the last one must be 0")));
    }
    Ok(filter)
}

/// Appends the bits of a filter.
pub(super) fn write(filter: &BloomFilter, words: Words, out: &mut Vec<u8>) {
    let end = out.len() + length(words, filter.spec().bits());
    for &bits in filter.words() {
        out.extend_from_slice(&words.write(bits));
    }
    out.truncate(end);
}
