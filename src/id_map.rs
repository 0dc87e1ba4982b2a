//! Maps from the XXH64 of an id.
//!
//! XXH64 spreads ids evenly, but a client can craft ids of any hash. So the map's buckets are chosen by multiply-shift
//! hashing with a random odd factor (Dietzfelbinger, Hagerup, Katajainen and Penttonen 1997), which separates ids that
//! were crafted to share a bucket.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map whose keys are hashes of ids.
pub(crate) type IdMap<V> = HashMap<u64, V, MultiplyShift>;

static FACTOR: OnceLock<u64> = OnceLock::new();

/// Sets the factor of all maps without a seed, unless it is set already. For targets on which the standard library has
/// no source of randomness, such as wasm32-unknown-unknown.
#[cfg(all(target_arch = "wasm32", feature = "server"))]
pub(crate) fn set_random_factor(random: u64) {
    let _ = FACTOR.set(random | 1);
}

/// A random factor. While fuzzing it is constant, so that an input always reaches the same code: the golden ratio
/// (Knuth 1973).
fn random_factor() -> u64 {
    if cfg!(fuzzing) {
        0x9E37_79B9_7F4A_7C15
    } else {
        RandomState::new().hash_one(0u8) | 1
    }
}

/// Hashes a `u64` by one multiplication.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MultiplyShift {
    factor: u64,
}

impl MultiplyShift {
    /// A hasher with the caller's random number: a page's module has no source of randomness.
    pub(crate) fn seeded(random: u64) -> Self {
        MultiplyShift { factor: random | 1 }
    }
}

impl Default for MultiplyShift {
    fn default() -> Self {
        MultiplyShift {
            factor: *FACTOR.get_or_init(random_factor),
        }
    }
}

impl BuildHasher for MultiplyShift {
    type Hasher = MultiplyShiftHasher;

    fn build_hasher(&self) -> MultiplyShiftHasher {
        MultiplyShiftHasher {
            factor: self.factor,
            product: 0,
        }
    }
}

pub(crate) struct MultiplyShiftHasher {
    factor: u64,
    product: u64,
}

impl Hasher for MultiplyShiftHasher {
    fn finish(&self) -> u64 {
        // The highest bits are mixed best, but the map uses the lowest: 16 of them for the largest table.
        self.product.rotate_left(16)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.product ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.product = key.wrapping_mul(self.factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_most_of_their_bits_are_spread_over_the_buckets() {
        let state = MultiplyShift::default();
        for shift in [0, 16, 32, 47] {
            let mut buckets = vec![0u32; 1 << 13];
            for key in 0..1u64 << 16 {
                let bucket = state.hash_one(key << shift) as usize % buckets.len();
                buckets[bucket] += 1;
            }
            // Eight in each if they are spread evenly; of keys that agree in all bits that decide, there are eight.
            let fullest = buckets.iter().max().copied().unwrap_or(0);
            assert!(fullest <= 8 * 8, "{fullest} keys of shift {shift} in one bucket");
        }
    }
}
