//! One user's impressions in order: the same for every structure.
//!
//! Most impressions are of items that are new to the person. The others are views anew, as from a profile, a search or
//! a shared link. How recently an item was seen decides most whether it is consumed again, by a power law (Anderson,
//! Kumar, Tomkins, Vassilvitskii 2014, The Dynamics of Repeat Consumption). Its exponent is taken as 1: of the items
//! seen, that from `age` impressions ago comes with a weight of `1 / age`.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Impressions of a trace: at 200 a day those of 100 days.
pub const LENGTH: usize = 20_000;
/// The share of impressions that are views anew; assumed.
const VIEWED_ANEW: f64 = 0.05;

/// The text of an item's id.
pub fn item_id(number: u64) -> String {
    format!("item-{number:010}")
}

/// One person's impressions, oldest first.
#[derive(Debug)]
pub struct Trace {
    ids: Vec<String>,
    /// For each impression, the index of the next one of the same item.
    next: Vec<Option<usize>>,
}

impl Trace {
    pub fn new(seed: u64, person: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ person.rotate_left(32));
        let mut items: Vec<u64> = Vec::with_capacity(LENGTH);
        let mut next: Vec<Option<usize>> = vec![None; LENGTH];
        for index in 0..LENGTH {
            let source = (index > 0 && random.random_bool(VIEWED_ANEW)).then(|| index - draw_age(&mut random, index));
            items.push(source.map_or(person << 32 | index as u64, |source| items[source]));
            if let Some(source) = source {
                let latest = latest_of(&next, source);
                next[latest] = Some(index);
            }
        }
        Trace {
            ids: items.into_iter().map(item_id).collect(),
            next,
        }
    }

    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Whether the impression at `index` is its item's latest as of the impression at `now`.
    pub fn is_latest(&self, index: usize, now: usize) -> bool {
        self.next[index].is_none_or(|next| next > now)
    }

    /// An item that the person has not been shown.
    pub fn fresh_id(&self, random: &mut StdRng) -> String {
        item_id(1 << 60 | random.random_range(0..1 << 48))
    }
}

/// An age from 1 to `longest` with a probability proportional to `1 / age`.
pub fn draw_age(random: &mut StdRng, longest: usize) -> usize {
    let age = ((longest + 1) as f64).powf(random.random::<f64>());
    (age as usize).clamp(1, longest)
}

fn latest_of(next: &[Option<usize>], mut index: usize) -> usize {
    while let Some(later) = next[index] {
        index = later;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_repeats_by_its_seed_and_views_some_items_anew() {
        let trace = Trace::new(1, 2);
        assert_eq!(trace.ids, Trace::new(1, 2).ids);
        let anew = trace.next.iter().flatten().count() as f64 / LENGTH as f64;
        assert!((anew - VIEWED_ANEW).abs() < 0.01, "{anew}");
        let (first, second) = (0..LENGTH)
            .find_map(|index| Some((index, trace.next[index]?)))
            .expect("an item viewed anew");
        assert_eq!(trace.ids[first], trace.ids[second]);
        assert!(trace.is_latest(first, second - 1) && !trace.is_latest(first, second));
    }

    #[test]
    fn half_of_the_ages_are_below_the_root_of_the_longest() {
        let mut random = StdRng::seed_from_u64(1);
        let ages = (0..10_000).map(|_| draw_age(&mut random, 10_000));
        let recent = ages.filter(|&age| age < 100).count();
        assert!((4_800..5_200).contains(&recent), "{recent}");
    }
}
