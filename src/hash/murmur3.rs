//! MurmurHash3 of 128 bits for 64-bit machines, seed 0 (Appleby 2011): Guava and bits-and-blooms draw positions from
//! it.

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// The hash of `bytes`, followed by `suffix` if there is one.
pub(super) fn murmur3_128(bytes: &[u8], suffix: Option<u8>) -> [u64; 2] {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let tail_bytes = rest.iter().copied().chain(suffix);
    let (mut tail, mut tail_length) = ([0; 16], 0);
    for byte in tail_bytes {
        tail[tail_length] = byte;
        tail_length += 1;
    }

    let mut state = State { h1: 0, h2: 0 };
    for block in blocks {
        state.mix_block(block);
    }
    if tail_length == 16 {
        state.mix_block(&tail);
    } else {
        state.mix_tail(&tail);
    }
    state.finish((16 * blocks.len() + rest.len() + usize::from(suffix.is_some())) as u64)
}

struct State {
    h1: u64,
    h2: u64,
}

impl State {
    fn mix_block(&mut self, block: &[u8; 16]) {
        let [k1, k2] = words(block);
        self.h1 = (self.h1 ^ scramble1(k1)).rotate_left(27).wrapping_add(self.h2);
        self.h1 = self.h1.wrapping_mul(5).wrapping_add(0x52DC_E729);
        self.h2 = (self.h2 ^ scramble2(k2)).rotate_left(31).wrapping_add(self.h1);
        self.h2 = self.h2.wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }

    /// Mixes a last block of fewer than 16 bytes, padded with 0.
    fn mix_tail(&mut self, tail: &[u8; 16]) {
        let [k1, k2] = words(tail);
        self.h1 ^= scramble1(k1);
        self.h2 ^= scramble2(k2);
    }

    fn finish(self, length: u64) -> [u64; 2] {
        let (mut h1, mut h2) = (self.h1 ^ length, self.h2 ^ length);
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        (h1, h2) = (avalanche(h1), avalanche(h2));
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        [h1, h2]
    }
}

fn words(block: &[u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(*block);
    [both as u64, (both >> 64) as u64]
}

fn scramble1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn avalanche(mut h: u64) -> u64 {
    h = (h ^ h >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h = (h ^ h >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ h >> 33
}
