//! MurmurHash64A (Appleby 2008).

pub(super) const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;

pub(super) fn murmur_64a(bytes: &[u8], seed: u64) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        hash = (hash ^ scramble(word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    scramble(scramble(hash).wrapping_mul(MULTIPLIER))
}

fn scramble(word: u64) -> u64 {
    word ^ word >> 47
}
