//! The bits of a filter as each format lays them out: bit i is bit `i mod w` of word `i div w` in all of them.

use crate::bloom::Shape;
use crate::hash::Hashing;
use crate::{BloomFilter, Error};

/// How many bytes the bits take: words of 8, 32 or 64 bits.
pub(super) fn length(shape: Shape) -> usize {
    let unit = match shape.hashing {
        _ if shape.is_native() => 1,
        Hashing::GoBloomfilter => 4,
        _ => 8,
    };
    shape.bits().div_ceil(8 * unit) as usize * unit as usize
}

/// Eight bytes as 64 bits, the first one the lowest; and 64 bits as eight bytes. Go and Java write words big-endian.
#[inline(never)]
fn word(shape: Shape, bytes: [u8; 8]) -> u64 {
    match shape.hashing {
        _ if shape.is_native() => u64::from_le_bytes(bytes),
        Hashing::RedisBloom => u64::from_le_bytes(bytes),
        Hashing::GoBloomfilter => u64::from_be_bytes(bytes).rotate_left(32),
        _ => u64::from_be_bytes(bytes),
    }
}

/// Reads the bits of a filter. No memory is taken before they are known to be as many as they should.
///
/// # Errors
/// [`Error::BadPayload`].
pub(super) fn read(bytes: &[u8], shape: Shape) -> Result<BloomFilter, Error> {
    if bytes.len() != length(shape) {
        return Err(Error::BadPayload("the payload must be as long as the filter's bits"));
    }
    let mut filter = BloomFilter::of_shape(shape);
    for (to, chunk) in filter.words_mut().iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *to = word(shape, whole);
    }
    let beyond = shape.bits() % 64;
    if beyond != 0 && filter.words().last().is_some_and(|last| last >> beyond != 0) {
        return Err(Error::BadPayload("the bits after the last one must be 0"));
    }
    Ok(filter)
}

/// Appends the bits of a filter.
#[inline(never)]
pub(super) fn write(filter: &BloomFilter, out: &mut Vec<u8>) {
    let shape = filter.shape();
    let end = out.len() + length(shape);
    for from in filter.words() {
        // What turns eight bytes into a word turns a word into eight bytes.
        out.extend_from_slice(&word(shape, from.to_le_bytes()).to_le_bytes());
    }
    out.truncate(end);
}
