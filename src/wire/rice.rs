//! The Rice payload: the gaps between set bits, Rice-coded, for sparse filters (Golomb 1966, Rice 1979).
//!
//! One byte r (0 to 31), the number of set bits (4 bytes), then a bit stream, least significant bit first in each byte.
//! For each set position in ascending order, gap = position − previous − 1 (the previous of the first is −1): `gap >>
//! r` as that many 1 bits and a 0 bit, then the r low bits of gap. The last byte is padded with 0. Writers choose the
//! smallest r of those with the shortest stream.

use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::{Error, message};

const PREFIX_LENGTH: usize = 5;
const MAX_R: u32 = 31;

/// The parameters of a filter's shortest encoding.
pub(super) struct Plan {
    r: u32,
    set_bits: u32,
    stream_bits: u64,
}

impl Plan {
    /// Bytes of the whole payload.
    pub(super) fn byte_length(&self) -> u64 {
        PREFIX_LENGTH as u64 + self.stream_bits.div_ceil(8)
    }
}

/// Finds the best r.
///
/// The stream has `Σ(gap >> r) + n · (1 + r)` bits. Each step of r subtracts ceil(quotient / 2) from each quotient,
/// which decreases from step to step. So the sum is convex in r, and the first r whose successor is not better is the
/// smallest optimum.
pub(super) fn plan(filter: &BloomFilter) -> Plan {
    let set_bits = filter.set_bits();
    let stream_bits =
        |r: u32| gaps(filter).map(|gap| u64::from(gap >> r)).sum::<u64>() + u64::from(set_bits) * u64::from(1 + r);
    let mut best = Plan {
        r: 0,
        set_bits,
        stream_bits: u64::MAX,
    };
    for r in 0..=MAX_R {
        let bits = stream_bits(r);
        if bits >= best.stream_bits {
            break;
        }
        best = Plan {
            r,
            stream_bits: bits,
            ..best
        };
    }
    best
}

/// The expected length of the payload of a filter with `set_bits` of its `bits` bits set at random, at least one.
///
/// Gaps are then geometrically distributed: with q the share of bits that are not set, the expected `Σ(gap >> r)` is
/// `set_bits · q^(2^r) / (1 − q^(2^r))`.
pub(super) fn expected_byte_length(bits: u32, set_bits: f64) -> f64 {
    let mut power = 1.0 - set_bits / f64::from(bits);
    let mut best = f64::INFINITY;
    for r in 0..=MAX_R {
        let stream_bits = set_bits * (f64::from(1 + r) + power / (1.0 - power));
        if stream_bits >= best {
            break;
        }
        best = stream_bits;
        power *= power;
    }
    PREFIX_LENGTH as f64 + (best / 8.0).ceil()
}

/// Appends the payload.
pub(super) fn write(filter: &BloomFilter, plan: &Plan, out: &mut Vec<u8>) {
    out.push(plan.r as u8);
    out.extend_from_slice(&plan.set_bits.to_le_bytes());
    let mut writer = BitWriter::new(out);
    gaps(filter).for_each(|gap| {
        writer.ones(gap >> plan.r);
        // The 0 that ends the quotient, and the low bits.
        let low = u64::from(gap) & ((1 << plan.r) - 1);
        writer.push(low << 1, 1 + plan.r);
    });
    writer.finish();
}

/// Reads the bits of a filter. Allocates memory only if the payload is long enough for the number of bits that it
/// states.
///
/// # Errors
/// [`Error::BadPayload`] or [`Error::OutOfMemory`].
pub(super) fn read(payload: &[u8], spec: FilterSpec) -> Result<BloomFilter, Error> {
    let bits = u64::from(spec.bits());
    let [r, n0, n1, n2, n3, stream @ ..] = payload else {
        return Err(Error::BadPayload(message("a Rice payload has at least 5 bytes")));
    };
    let (r, count) = (u32::from(*r), u32::from_le_bytes([*n0, *n1, *n2, *n3]));
    if r > MAX_R {
        return Err(Error::BadPayload(message("the Rice parameter must be 0 to 31")));
    }
    if u64::from(count) > bits {
        return Err(Error::BadPayload(message("more set bits than bits")));
    }
    // Each gap has at least 1 + r bits.
    if u64::from(count) * u64::from(1 + r) > stream.len() as u64 * 8 {
        return Err(ENDS_EARLY);
    }
    let mut filter = BloomFilter::with_spec(spec)?;
    let mut reader = BitReader { bytes: stream, at: 0 };
    let mut next = 0u64;
    for _ in 0..count {
        let position = next + reader.gap(r).ok_or(ENDS_EARLY)?;
        if position >= bits {
            return Err(Error::BadPayload(message("a position lies beyond the bits")));
        }
        filter.set(position as u32);
        next = position + 1;
    }
    if reader.rest_is_padding() {
        Ok(filter)
    } else {
        Err(Error::BadPayload(message(
            "a Rice payload must end with its last gap, padded with 0",
        )))
    }
}

const ENDS_EARLY: Error = Error::BadPayload(message(
    "a Rice payload is shorter than its number of set bits requires",
));

/// The gaps before each set bit.
fn gaps(filter: &BloomFilter) -> impl Iterator<Item = u32> + '_ {
    let mut next = 0;
    filter.set_positions().map(move |position| {
        let gap = position - next;
        next = position + 1;
        gap
    })
}

/// Appends bits to bytes.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that are not written yet, fewer than 32.
    bits: u64,
    length: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter {
            out,
            bits: 0,
            length: 0,
        }
    }

    /// Appends `length` bits, at most 32. All higher bits must be 0.
    fn push(&mut self, bits: u64, length: u32) {
        self.bits |= bits << self.length;
        self.length += length;
        if self.length >= 32 {
            self.out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.bits >>= 32;
            self.length -= 32;
        }
    }

    fn ones(&mut self, mut count: u32) {
        while count > 0 {
            let step = count.min(32);
            self.push((1 << step) - 1, step);
            count -= step;
        }
    }

    /// Pads the last byte with 0.
    fn finish(self) {
        let bytes = self.length.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.bits.to_le_bytes()[..bytes]);
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// The position, in bits.
    at: usize,
}

impl BitReader<'_> {
    /// A window has at least 57 bits: enough for a quotient with fewer 1 bits than this, its 0 bit, and the low bits.
    const MOST_ONES: u32 = 57 - 1 - MAX_R;

    /// The next gap; `None` if the stream ends within it.
    fn gap(&mut self, r: u32) -> Option<u64> {
        let (mut quotient, mut window) = (0, self.window());
        while window.trailing_ones() >= Self::MOST_ONES {
            self.skip(Self::MOST_ONES)?;
            quotient += u64::from(Self::MOST_ONES);
            window = self.window();
        }
        let ones = window.trailing_ones();
        self.skip(ones + 1 + r)?;
        let low = (window >> (ones + 1)) & ((1 << r) - 1);
        Some(((quotient + u64::from(ones)) << r) + low)
    }

    /// The bits from the current one on, and 0 after the last.
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            bytes
        });
        u64::from_le_bytes(bytes) >> (self.at % 8)
    }

    /// Skips bits; `None` if there are too few.
    fn skip(&mut self, bits: u32) -> Option<()> {
        self.at += bits as usize;
        (self.at <= 8 * self.bytes.len()).then_some(())
    }

    fn rest_is_padding(&self) -> bool {
        self.bytes.len() == self.at.div_ceil(8) && self.window() == 0
    }
}
