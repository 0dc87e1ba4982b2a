//! The placements with real filters and bitmaps, for as many users as fit on one machine.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use roaring::RoaringBitmap;
use seenguard::{BloomFilter, MAX_BITS, Parameters};
use seenguard_lab::report::Result;

use super::formulas::Scenario;
use super::popularity::EXPONENT;
use super::{CANDIDATES, Estimate, FALSE_POSITIVE_RATE, Placement};

/// Users whose candidates are asked for.
const ASKING_USERS: u32 = 500;

/// Who has seen what, and what is asked for.
pub struct World {
    scenario: Scenario,
    /// Of each user, the items in ascending order.
    seen: Vec<Vec<u32>>,
    /// Pairs of a user and an item that the user has not seen.
    fresh: Vec<(u32, u32)>,
}

impl World {
    pub fn new(scenario: Scenario, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let popularity = Zipf::new(scenario.items as f64, EXPONENT).expect("items and an exponent above 0");
        let seen: Vec<Vec<u32>> = (0..scenario.users)
            .map(|_| draw_items(scenario.impressions, popularity, &mut random))
            .collect();
        let mut fresh = Vec::new();
        for (user, seen) in (0..ASKING_USERS).zip(&seen) {
            let candidates = (0..CANDIDATES).map(|_| draw_item(popularity, &mut random));
            let unseen = candidates.filter(|item| seen.binary_search(item).is_err());
            fresh.extend(unseen.map(|item| (user, item)));
        }
        World { scenario, seen, fresh }
    }

    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let users = (0..).zip(&self.seen);
        users.flat_map(|(user, items)| items.iter().map(move |&item| (user, item)))
    }

    /// Of each item, the number of users who have seen it.
    fn viewers(&self) -> Vec<u32> {
        let mut viewers = vec![0; self.scenario.items as usize];
        for (_, item) in self.pairs() {
            viewers[item as usize] += 1;
        }
        viewers
    }

    fn estimate(&self, bytes: usize, contains: impl Fn(u32, u32) -> bool) -> Estimate {
        let claimed = self.fresh.iter().filter(|&&(user, item)| contains(user, item)).count();
        Estimate {
            bytes: bytes as f64,
            false_positives: claimed as f64 / self.fresh.len() as f64,
        }
    }
}

/// Different items in ascending order, drawn by their popularity.
fn draw_items(count: u64, popularity: Zipf<f64>, random: &mut StdRng) -> Vec<u32> {
    let mut items = BTreeSet::new();
    while items.len() < count as usize {
        items.insert(draw_item(popularity, random));
    }
    items.into_iter().collect()
}

fn draw_item(popularity: Zipf<f64>, random: &mut StdRng) -> u32 {
    random.sample(popularity) as u32 - 1
}

/// Builds a placement and asks it for what was not seen.
///
/// # Errors
/// If a filter cannot be made.
pub fn simulate(placement: Placement, world: &World) -> Result<Estimate> {
    match placement {
        Placement::UserFilters => user_filters(world),
        Placement::ItemFilters => item_filters(world),
        Placement::PairFilter => pair_filter(world),
        Placement::ItemBitmaps => Ok(item_bitmaps(world, plain_bytes)),
        Placement::CompressedBitmaps => Ok(item_bitmaps(world, RoaringBitmap::serialized_size)),
    }
}

fn empty_filter(items: u32) -> Result<BloomFilter> {
    let parameters = Parameters::for_capacity(items, FALSE_POSITIVE_RATE)?;
    Ok(BloomFilter::new(parameters, 0))
}

fn bytes_of<'a>(filters: impl IntoIterator<Item = &'a BloomFilter>) -> usize {
    let bits = filters.into_iter().map(|filter| filter.parameters().bits());
    bits.map(|bits| bits.div_ceil(8) as usize).sum()
}

fn user_filters(world: &World) -> Result<Estimate> {
    let mut filters = Vec::new();
    for items in &world.seen {
        let mut filter = empty_filter(items.len() as u32)?;
        for item in items {
            filter.insert(item.to_le_bytes());
        }
        filters.push(filter);
    }
    let contains = |user: u32, item: u32| filters[user as usize].contains(item.to_le_bytes());
    Ok(world.estimate(bytes_of(&filters), contains))
}

/// Each filter is as large as its item's viewers need, which a server only knows afterwards.
fn item_filters(world: &World) -> Result<Estimate> {
    let mut filters: Vec<Option<BloomFilter>> = Vec::new();
    for viewers in world.viewers() {
        filters.push((viewers > 0).then(|| empty_filter(viewers)).transpose()?);
    }
    for (user, item) in world.pairs() {
        if let Some(filter) = &mut filters[item as usize] {
            filter.insert(user.to_le_bytes());
        }
    }
    let contains = |user: u32, item: u32| {
        let filter = filters[item as usize].as_ref();
        filter.is_some_and(|filter| filter.contains(user.to_le_bytes()))
    };
    Ok(world.estimate(bytes_of(filters.iter().flatten()), contains))
}

/// In parts, each of as many users as one filter may have: no store takes values of any size.
fn pair_filter(world: &World) -> Result<Estimate> {
    let impressions = world.scenario.impressions as u32;
    let bits = Parameters::for_capacity(impressions, FALSE_POSITIVE_RATE)?.bits();
    let users = MAX_BITS / bits;
    let mut parts = Vec::new();
    for seen in world.seen.chunks(users as usize) {
        parts.push(empty_filter(impressions * seen.len() as u32)?);
    }
    let pair = |user: u32, item: u32| (u64::from(user) << 32 | u64::from(item)).to_le_bytes();
    for (user, item) in world.pairs() {
        parts[(user / users) as usize].insert(pair(user, item));
    }
    let contains = |user: u32, item: u32| parts[(user / users) as usize].contains(pair(user, item));
    Ok(world.estimate(bytes_of(&parts), contains))
}

fn item_bitmaps(world: &World, bytes: impl Fn(&RoaringBitmap) -> usize) -> Estimate {
    let mut bitmaps = vec![RoaringBitmap::new(); world.scenario.items as usize];
    for (user, item) in world.pairs() {
        bitmaps[item as usize].insert(user);
    }
    let bytes = bitmaps.iter().filter(|bitmap| !bitmap.is_empty()).map(bytes).sum();
    world.estimate(bytes, |user, item| bitmaps[item as usize].contains(user))
}

/// As a store keeps a bitmap that grows: up to the highest bit that is set.
fn plain_bytes(bitmap: &RoaringBitmap) -> usize {
    bitmap.max().map_or(0, |highest| (highest / 8 + 1) as usize)
}
