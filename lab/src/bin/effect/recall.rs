//! Recall: the ranked candidates of a request, the best first. It ignores seen items, which the remedies handle.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::people::{DAY_MS, FIRST_DAY_MS, Refresh};

/// The supply of candidates to rank.
#[derive(Debug, Clone, Copy)]
pub struct Supply {
    /// New items a day for one person.
    pub new_per_day: f64,
    /// The share of new items from the popular pool, which are better by `POPULAR_BONUS` and age `POPULAR_SLOWNESS`
    /// times /// as slowly.
    pub popular: f64,
    /// The days in which an item loses one standard deviation of the items' quality.
    pub decay_days: f64,
    /// The age from which items are no longer candidates.
    pub max_age_days: f64,
    /// The number of candidates of a request.
    pub candidates: usize,
    /// The difference of a score between two requests, in standard deviations of the items' quality.
    pub noise: f64,
}

const POPULAR_BONUS: f32 = 0.5;
const POPULAR_SLOWNESS: f32 = 3.0;

impl Supply {
    pub const DEFAULT: Supply = Supply {
        new_per_day: 1_500.0,
        popular: 0.1,
        decay_days: 1.0,
        max_age_days: 7.0,
        candidates: 2_000,
        noise: 0.2,
    };
}

impl Default for Supply {
    fn default() -> Self {
        Supply::DEFAULT
    }
}

#[derive(Debug, Clone, Copy)]
struct Item {
    arrived: u64,
    quality: f32,
    /// The days in which it loses one standard deviation.
    decay_days: f32,
}

/// One person's items in the order of their arrival. An item is identified by its index.
#[derive(Debug)]
pub struct Catalogue {
    supply: Supply,
    items: Vec<Item>,
    seed: u64,
}

impl Catalogue {
    /// Draws the items of `days` days, and of the `max_age_days` before.
    pub fn new(supply: &Supply, days: u64, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let before = (supply.max_age_days * DAY_MS as f64) as u64;
        let span = before + days * DAY_MS;
        let count = (supply.new_per_day * span as f64 / DAY_MS as f64).round() as usize;
        let mut arrivals: Vec<u64> = (0..count).map(|_| rng.random_range(0..span)).collect();
        arrivals.sort_unstable();
        let items = arrivals
            .into_iter()
            .map(|arrival| {
                let is_popular = rng.random_bool(supply.popular);
                let quality: f32 = StandardNormal.sample(&mut rng);
                Item {
                    arrived: FIRST_DAY_MS - before + arrival,
                    quality: quality + if is_popular { POPULAR_BONUS } else { 0.0 },
                    decay_days: supply.decay_days as f32 * if is_popular { POPULAR_SLOWNESS } else { 1.0 },
                }
            })
            .collect();
        Catalogue {
            supply: *supply,
            items,
            seed,
        }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Ranks the candidates of a refresh, the best first.
    pub fn rank(&self, refresh: &Refresh) -> Vec<u32> {
        let oldest = refresh.at - (self.supply.max_age_days * DAY_MS as f64) as u64;
        let from = self.items.partition_point(|item| item.arrived < oldest);
        let to = self.items.partition_point(|item| item.arrived <= refresh.at);
        let interest = |index: usize| {
            let item = &self.items[index];
            let age_days = (refresh.at - item.arrived) as f32 / DAY_MS as f32;
            (item.quality - age_days / item.decay_days, index as u32)
        };
        let best_first = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let mut scored: Vec<(f32, u32)> = (from..to).map(interest).collect();
        if scored.len() > self.supply.candidates {
            scored.select_nth_unstable_by(self.supply.candidates, best_first);
            scored.truncate(self.supply.candidates);
        }
        for (score, index) in &mut scored {
            *score += self.supply.noise as f32 * noise_of(self.seed, u64::from(*index), refresh.at);
        }
        scored.sort_unstable_by(best_first);
        scored.into_iter().map(|(_, index)| index).collect()
    }
}

/// Noise that is about normal with deviation 1: the sum of four uniform numbers. The same arguments give the same
/// noise.
fn noise_of(seed: u64, item: u64, at: u64) -> f32 {
    let bits = mix(seed ^ mix(item) ^ mix(at).rotate_left(32));
    let sum: u32 = (0..4).map(|part| (bits >> (16 * part)) as u32 & 0xFFFF).sum();
    (sum as f32 / 65_536.0 - 2.0) * 3f32.sqrt()
}

/// SplitMix64's finalizer (Steele, Lea and Flood 2014).
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::SECOND_MS;

    fn refresh(at: u64) -> Refresh {
        Refresh {
            at,
            device: 0,
            size: 10,
            depth: 5,
            attention: u64::MAX,
            pause_ms: SECOND_MS,
        }
    }

    #[test]
    fn candidates_are_the_best_of_those_that_are_there_and_not_too_old() {
        let catalogue = Catalogue::new(&Supply::DEFAULT, 3, 1);
        let at = FIRST_DAY_MS + DAY_MS;
        let ranked = catalogue.rank(&refresh(at));
        assert_eq!(ranked.len(), Supply::DEFAULT.candidates);
        let is_candidate = |item: &u32| {
            let arrived = catalogue.items[*item as usize].arrived;
            arrived <= at && arrived >= at - 7 * DAY_MS
        };
        assert!(ranked.iter().all(is_candidate));
        let distinct: std::collections::HashSet<&u32> = ranked.iter().collect();
        assert_eq!(distinct.len(), ranked.len());
    }

    #[test]
    fn without_noise_the_order_stays_but_for_new_items() {
        let supply = Supply {
            noise: 0.0,
            popular: 0.0,
            ..Supply::DEFAULT
        };
        let catalogue = Catalogue::new(&supply, 3, 1);
        let at = FIRST_DAY_MS + DAY_MS;
        let before = catalogue.rank(&refresh(at));
        let after = catalogue.rank(&refresh(at + 30 * SECOND_MS));
        let is_old = |item: &&u32| catalogue.items[**item as usize].arrived <= at;
        let after: Vec<&u32> = after.iter().filter(is_old).take(500).collect();
        let moved = before
            .iter()
            .zip(after)
            .filter(|(before, after)| before != after)
            .count();
        // Some 32-bit scores are equal.
        assert!(moved < 10, "{moved} of 500 moved");
    }

    #[test]
    fn noise_has_mean_0_and_deviation_1() {
        let values: Vec<f32> = (0..100_000).map(|item| noise_of(1, item, 2)).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let variance = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
