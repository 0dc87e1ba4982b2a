//! How many users see an item. Requests for items follow a Zipf-like law (Breslau, Cao, Fan, Phillips, Shenker 1999,
//! Web Caching and Zipf-like Distributions): the weight of the item of rank r is `r^-s`.

/// s; assumed.
pub const EXPONENT: f64 = 0.8;
/// Ranks up to here are added one by one, later ones in blocks.
const SINGLE_RANKS: f64 = 1_000.0;
/// The length of a block as a share of its first rank.
const BLOCK: f64 = 0.01;

/// The chance that a user has seen an item, by the item's rank.
#[derive(Debug, Clone, Copy)]
pub struct Popularity {
    items: f64,
    /// The draws, in expectation, that an item of weight 1 has had.
    draws: f64,
}

impl Popularity {
    /// Each user draws items by their weight until `impressions` different ones are seen. As if items were drawn at
    /// random times instead, the chance of an item is `1 − e^(−draws · weight)`, with as many draws as make the chances
    /// add up to `impressions`.
    pub fn new(items: u64, impressions: u64) -> Self {
        let of = |draws| Popularity {
            items: items as f64,
            draws,
        };
        let seen = |draws| of(draws).sum(|_, chance| chance);
        let (mut low, mut high) = (0.0, 1.0);
        while seen(high) < impressions as f64 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if seen(middle) < impressions as f64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        of(low)
    }

    /// The sum of `value(weight, chance)` over all items.
    pub fn sum(self, value: impl Fn(f64, f64) -> f64) -> f64 {
        let mut sum = 0.0;
        let mut rank = 1.0;
        while rank <= self.items {
            let length = if rank < SINGLE_RANKS {
                1.0
            } else {
                (rank * BLOCK).floor()
            };
            let length = length.min(self.items - rank + 1.0);
            let weight = (rank + (length - 1.0) / 2.0).powf(-EXPONENT);
            sum += length * value(weight, 1.0 - (-self.draws * weight).exp());
            rank += length;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_add_up_to_the_impressions_and_blocks_lose_nothing() {
        let popularity = Popularity::new(100_000, 1_000);
        let sum = popularity.sum(|_, chance| chance);
        assert!((sum - 1_000.0).abs() < 0.01, "{sum}");
        let exact: f64 = (1..=100_000).map(|rank| f64::from(rank).powf(-EXPONENT)).sum();
        let blocks = popularity.sum(|weight, _| weight);
        assert!((blocks / exact - 1.0).abs() < 1e-4, "{blocks}, {exact}");
    }
}
