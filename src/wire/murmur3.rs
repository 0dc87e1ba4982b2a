//! MurmurHash3 of 128 bits for 64-bit machines, seed 0 (Appleby 2011): what Guava and bits-and-blooms draw positions from.

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// The hash of `bytes` followed by `suffix`.
#[inline(never)]
pub(super) fn murmur3_128(bytes: &[u8], suffix: Option<u8>) -> [u64; 2] {
    let mut h = [0; 2];
    let blocks = bytes.chunks_exact(16);
    let rest = blocks.remainder();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let mut filled = rest.len();
    if let Some(suffix) = suffix {
        last[filled] = suffix;
        filled += 1;
    }
    for block in blocks {
        absorb(&mut h, block, true);
    }
    absorb(&mut h, &last, filled == 16);

    let length = (bytes.len() + usize::from(suffix.is_some())) as u64;
    let [mut h1, mut h2] = h.map(|half| half ^ length);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = scramble(h1);
    h2 = scramble(h2);
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}

/// Takes 16 bytes in. The last ones, filled up with 0, are not stirred unless they are 16 of themselves.
#[inline(never)]
fn absorb(h: &mut [u64; 2], block: &[u8], whole: bool) {
    let half = |at: usize| {
        let bytes = block[at..at + 8].iter().rev();
        bytes.fold(0, |half, &byte| half << 8 | u64::from(byte))
    };
    h[0] ^= half(0).wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    if whole {
        h[0] = stir(h[0].rotate_left(27), h[1], 0x52DC_E729);
    }
    h[1] ^= half(8).wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    if whole {
        h[1] = stir(h[1].rotate_left(31), h[0], 0x3849_5AB5);
    }
}

fn stir(half: u64, other: u64, constant: u64) -> u64 {
    half.wrapping_add(other).wrapping_mul(5).wrapping_add(constant)
}

fn scramble(mut h: u64) -> u64 {
    h = (h ^ h >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h = (h ^ h >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ h >> 33
}
