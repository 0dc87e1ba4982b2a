//! The bits of a filter as each format lays them out: bit i is bit `i mod w` of word `i div w` in all of them.

use crate::bloom::FilterSpec;
use crate::hash::HashScheme;
use crate::{BloomFilter, Error};

/// How many bytes the bits take: words of 8, 32 or 64 bits.
pub(super) fn length(spec: FilterSpec) -> usize {
    let unit = match spec.scheme {
        _ if spec.is_native() => 1,
        HashScheme::GoBloomfilter => 4,
        _ => 8,
    };
    spec.bits().div_ceil(8 * unit) as usize * unit as usize
}

/// Eight bytes as 64 bits, the first one the lowest; and 64 bits as eight bytes. Go and Java write words big-endian.
#[inline(never)]
fn word(spec: FilterSpec, bytes: [u8; 8]) -> u64 {
    match spec.scheme {
        _ if spec.is_native() => u64::from_le_bytes(bytes),
        HashScheme::RedisBloom => u64::from_le_bytes(bytes),
        HashScheme::GoBloomfilter => u64::from_be_bytes(bytes).rotate_left(32),
        _ => u64::from_be_bytes(bytes),
    }
}

/// Reads the bits of a filter. No memory is taken before they are known to be as many as they should.
///
/// # Errors
/// [`Error::BadPayload`].
pub(super) fn read(bytes: &[u8], spec: FilterSpec) -> Result<BloomFilter, Error> {
    if bytes.len() != length(spec) {
        return Err(Error::BadPayload("the payload must be as long as the filter's bits"));
    }
    let mut filter = BloomFilter::with_spec(spec);
    for (to, chunk) in filter.words_mut().iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *to = word(spec, whole);
    }
    let beyond = spec.bits() % 64;
    if beyond != 0 && filter.words().last().is_some_and(|last| last >> beyond != 0) {
        return Err(Error::BadPayload("the bits after the last one must be 0"));
    }
    Ok(filter)
}

/// Appends the bits of a filter.
#[inline(never)]
pub(super) fn write(filter: &BloomFilter, out: &mut Vec<u8>) {
    let spec = filter.spec();
    let end = out.len() + length(spec);
    for from in filter.words() {
        // What turns eight bytes into a word turns a word into eight bytes.
        out.extend_from_slice(&word(spec, from.to_le_bytes()).to_le_bytes());
    }
    out.truncate(end);
}
