//! The bits of a filter as each format lays them out.

use crate::bloom::Shape;
use crate::{BloomFilter, Error};

use super::rice;

/// How the bits lie in bytes: bit i is bit `i mod w` of word `i div w`, in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The gaps between the set bits.
    Rice,
    /// Bytes: words of 8 bits.
    Bytes,
    /// Bytes, filled up to a multiple of 8.
    Bytes8,
    /// Words of 32 bits, big-endian.
    BigEndian32,
    /// Words of 64 bits, big-endian.
    BigEndian64,
}

impl Layout {
    /// How many bytes so many bits take.
    pub(super) fn length(self, bits: u32) -> usize {
        let unit = match self {
            Layout::Rice | Layout::Bytes => 1,
            Layout::BigEndian32 => 4,
            Layout::Bytes8 | Layout::BigEndian64 => 8,
        };
        bits.div_ceil(8 * unit) as usize * unit as usize
    }

    /// Eight bytes as 64 bits, the first one the lowest; and 64 bits as eight bytes.
    fn word(self, bytes: [u8; 8]) -> u64 {
        match self {
            Layout::BigEndian32 => u64::from_be_bytes(bytes).rotate_left(32),
            Layout::BigEndian64 => u64::from_be_bytes(bytes),
            _ => u64::from_le_bytes(bytes),
        }
    }
}

/// Reads the bits of a filter. No memory is taken before they are known to be as many as they should.
///
/// # Errors
/// [`Error::BadPayload`].
pub(super) fn read(layout: Layout, bytes: &[u8], shape: Shape) -> Result<BloomFilter, Error> {
    let bits = shape.bits();
    if layout == Layout::Rice {
        return rice::read(bytes, bits, || BloomFilter::of_shape(shape));
    }
    if bytes.len() != layout.length(bits) {
        return Err(Error::BadPayload("the payload must be as long as the filter's bits"));
    }
    let mut filter = BloomFilter::of_shape(shape);
    for (word, chunk) in filter.words_mut().iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        *word = layout.word(whole);
    }
    let last = filter.words().last().map_or(0, |last| last >> (bits % 64));
    if !bits.is_multiple_of(64) && last != 0 {
        return Err(Error::BadPayload("the bits after the last one must be 0"));
    }
    Ok(filter)
}

/// Appends the bits of a filter, in any layout but Rice.
pub(super) fn write(layout: Layout, filter: &BloomFilter, out: &mut Vec<u8>) {
    let end = out.len() + layout.length(filter.parameters().bits());
    // What turns eight bytes into a word turns a word into eight bytes.
    out.extend(
        filter
            .words()
            .iter()
            .flat_map(|word| layout.word(word.to_le_bytes()).to_le_bytes()),
    );
    out.truncate(end);
}
