//! Random draws: whole numbers and a heavy-tailed distribution, from the seeded generator.

use crate::random::Random;

/// Longest time that a heavy tail gives: 20 days.
const MAX_MS: f64 = 20.0 * 86_400_000.0;

pub trait Chance {
    /// True `times` in a thousand.
    fn per_mille(&mut self, times: u64) -> bool;
    /// True `times` in a hundred.
    fn percent(&mut self, times: u64) -> bool;
    /// A whole number from `least` to `most`, both included.
    fn between(&mut self, least: u64, most: u64) -> u64;
    /// Milliseconds of a Pareto distribution (Pareto 1896) of this smallest value. Its exponent is 1, where not even
    /// the mean is finite, or 2: division and square root are exact on every machine, so a seed means the same
    /// everywhere.
    fn heavy_tailed(&mut self, least_ms: u64, has_mean: bool) -> u64;
}

impl Chance for Random {
    fn per_mille(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }

    fn percent(&mut self, times: u64) -> bool {
        self.below(100) < times
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn heavy_tailed(&mut self, least_ms: u64, has_mean: bool) -> u64 {
        let share = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let divisor = if has_mean { share.sqrt() } else { share };
        (least_ms as f64 / divisor).min(MAX_MS) as u64
    }
}
