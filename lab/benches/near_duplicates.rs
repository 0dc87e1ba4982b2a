//! Compares `NearDuplicates` with brute force: the fingerprints within 3 bits of one, among ten thousand to a million.
//!
//! Each has short alternating turns, as in `fastbloom.rs`. Half of the queries differ in up to 3 bits from a stored
//! fingerprint.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use seenguard::near_duplicates::{NearDuplicates, hamming_distance};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
const DISTANCE: u32 = 3;
const QUERIES: usize = 1024;
const TURNS: usize = 4;

fn index_of(fingerprints: &[u64]) -> NearDuplicates {
    let mut index = NearDuplicates::new(DISTANCE).expect("the distance is in its range");
    for &fingerprint in fingerprints {
        add(&mut index, fingerprint);
    }
    index
}

/// Adds a fingerprint with an id of 14 characters.
fn add(index: &mut NearDuplicates, fingerprint: u64) {
    let group = index.group_of(fingerprint, "1r8bq8r7q4izgx");
    group.expect("there is memory for a fingerprint");
}

fn with_index(index: &NearDuplicates, query: u64) -> u64 {
    index
        .find(query)
        .map(|found| found.fingerprint)
        .fold(0, u64::wrapping_add)
}

fn with_brute_force(fingerprints: &[u64], query: u64) -> u64 {
    let is_near = |&&fingerprint: &&u64| hamming_distance(fingerprint, query) <= DISTANCE;
    fingerprints.iter().filter(is_near).copied().fold(0, u64::wrapping_add)
}

fn queries(random: &mut StdRng, fingerprints: &[u64]) -> Vec<u64> {
    let near = |random: &mut StdRng| {
        let fingerprint = fingerprints[random.random_range(0..fingerprints.len())];
        (0..DISTANCE).fold(fingerprint, |near, _| near ^ 1 << random.random_range(0..64))
    };
    let pair = |_| [near(random), random.random()];
    (0..QUERIES / 2).flat_map(pair).collect()
}

/// Adds fingerprints to an index, until it has a tenth more.
struct Arrivals<'a> {
    fingerprints: &'a [u64],
    random: StdRng,
    index: NearDuplicates,
}

impl<'a> Arrivals<'a> {
    fn at(fingerprints: &'a [u64], random: StdRng) -> Self {
        let index = index_of(fingerprints);
        Arrivals {
            fingerprints,
            random,
            index,
        }
    }

    /// Measures this number of additions.
    fn take(&mut self, count: u64) -> Duration {
        let mut took = Duration::ZERO;
        let mut left = count;
        while left > 0 {
            let size = self.fingerprints.len();
            if self.index.len() >= size + size / 10 {
                self.index = index_of(self.fingerprints);
            }
            let fits = left.min((size + size / 10 - self.index.len()) as u64);
            let start = Instant::now();
            for _ in 0..fits {
                add(&mut self.index, self.random.random());
            }
            took += start.elapsed();
            left -= fits;
        }
        took
    }
}

fn searching(criterion: &mut Criterion) {
    for size in SIZES {
        let mut random = StdRng::seed_from_u64(size as u64);
        let fingerprints: Vec<u64> = (0..size).map(|_| random.random()).collect();
        let queries = queries(&mut random, &fingerprints);
        let index = index_of(&fingerprints);
        for &query in queries.iter().step_by(16) {
            assert_eq!(with_index(&index, query), with_brute_force(&fingerprints, query));
        }
        let mut arrivals = Arrivals::at(&fingerprints, random);
        let mut group = criterion.benchmark_group(format!("near-duplicates-{size}"));
        for turn in 0..TURNS {
            let mut cycle = queries.iter().cycle();
            let mut next = || *cycle.next().expect("a cycle does not end");
            group.bench_function(format!("index-{turn}"), |bencher| {
                bencher.iter(|| with_index(&index, black_box(next())));
            });
            group.bench_function(format!("brute-force-{turn}"), |bencher| {
                bencher.iter(|| with_brute_force(&fingerprints, black_box(next())));
            });
            group.bench_function(format!("arrival-{turn}"), |bencher| {
                bencher.iter_custom(|count| arrivals.take(count));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .nresamples(1_001)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .without_plots();
    targets = searching
}
criterion_main!(benches);
