//! The Rice payload: the gaps between set bits, which is what a sparse filter is made of (Golomb 1966, Rice 1979).
//!
//! One byte r (0 to 31), the number of set bits (4 bytes), then a bit stream, least significant bit first in each byte.
//! For each set position in ascending order, gap = position − previous − 1 (the previous of the first is −1): `gap >>
//! r` as so many 1 bits and a 0 bit, then the r low bits of gap. The last byte is filled with 0. Writers take the
//! smallest r of those that make the stream shortest.

use crate::bloom::{BloomFilter, FilterSpec};
use crate::error::Error;

const PREFIX_LENGTH: usize = 5;
const MAX_R: u32 = 31;

/// How a filter is coded best.
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
/// The stream has `Σ(gap >> r) + n · (1 + r)` bits. Each halving takes ceil(half) off a quotient, which shrinks from
/// step to step, so the sum is convex in r, and the first r that its successor does not beat is the smallest of the
/// best.
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

/// Appends the payload.
pub(super) fn write(filter: &BloomFilter, plan: &Plan, out: &mut Vec<u8>) {
    out.push(plan.r as u8);
    out.extend_from_slice(&plan.set_bits.to_le_bytes());
    let mut at = 8 * out.len();
    out.resize(out.len() + plan.stream_bits.div_ceil(8) as usize, 0);
    let mut push = |bit: u32| {
        out[at >> 3] |= (bit as u8) << (at & 7);
        at += 1;
    };
    for gap in gaps(filter) {
        for _ in 0..gap >> plan.r {
            push(1);
        }
        push(0);
        for place in 0..plan.r {
            push(gap >> place & 1);
        }
    }
}

/// Sets the bits that a payload names. No memory is taken before the payload is known to be long enough for what it
/// claims.
///
/// # Errors
/// [`Error::BadPayload`] or [`Error::OutOfMemory`].
pub(super) fn read(payload: &[u8], spec: FilterSpec) -> Result<BloomFilter, Error> {
    let bits = u64::from(spec.bits());
    let [r, n0, n1, n2, n3, stream @ ..] = payload else {
        return Err(Error::BadPayload("a Rice payload has at least 5 bytes"));
    };
    let (r, count) = (u32::from(*r), u32::from_le_bytes([*n0, *n1, *n2, *n3]));
    if r > MAX_R {
        return Err(Error::BadPayload("the Rice parameter must be 0 to 31"));
    }
    if u64::from(count) > bits {
        return Err(Error::BadPayload("more set bits than bits"));
    }
    // Each gap takes 1 + r bits at least.
    if u64::from(count) * u64::from(1 + r) > stream.len() as u64 * 8 {
        return Err(ENDS_EARLY);
    }
    let mut filter = BloomFilter::with_spec(spec)?;
    let mut reader = BitReader { bytes: stream, at: 0 };
    let mut next = 0u64;
    for _ in 0..count {
        let quotient = reader.ones().ok_or(ENDS_EARLY)?;
        let low = reader.take(r).ok_or(ENDS_EARLY)?;
        let position = next + (quotient << r) + low;
        if position >= bits {
            return Err(Error::BadPayload("a position lies beyond the bits"));
        }
        filter.set(position as u32);
        next = position + 1;
    }
    if reader.rest_is_padding() {
        Ok(filter)
    } else {
        Err(Error::BadPayload(
            "a Rice payload must end with its last gap, filled up with 0",
        ))
    }
}

const ENDS_EARLY: Error = Error::BadPayload("a Rice payload claims more than it holds");

/// The gaps before each set bit.
fn gaps(filter: &BloomFilter) -> impl Iterator<Item = u32> + '_ {
    let mut next = 0;
    filter.set_positions().map(move |position| {
        let gap = position - next;
        next = position + 1;
        gap
    })
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The bits from the current one on in the byte that holds it, and how many they are.
    fn rest_of_byte(&self) -> Option<(u8, u32)> {
        let byte = self.bytes.get(self.at >> 3)?;
        let used = (self.at & 7) as u32;
        Some((byte >> used, 8 - used))
    }

    /// Counts 1 bits up to the 0 bit that ends them, and passes that.
    fn ones(&mut self) -> Option<u64> {
        let mut count = 0;
        loop {
            let (rest, length) = self.rest_of_byte()?;
            let ones = rest.trailing_ones();
            count += u64::from(ones.min(length));
            if ones < length {
                self.at += ones as usize + 1;
                return Some(count);
            }
            self.at += length as usize;
        }
    }

    /// The next `length` bits, the first as the least significant.
    fn take(&mut self, length: u32) -> Option<u64> {
        let (mut value, mut taken) = (0, 0);
        while taken < length {
            let (rest, available) = self.rest_of_byte()?;
            let step = available.min(length - taken);
            value |= (u64::from(rest) & ((1 << step) - 1)) << taken;
            taken += step;
            self.at += step as usize;
        }
        Some(value)
    }

    fn rest_is_padding(&self) -> bool {
        self.bytes.len() == self.at.div_ceil(8)
            && self
                .rest_of_byte()
                .is_none_or(|(rest, length)| length == 8 || rest == 0)
    }
}
