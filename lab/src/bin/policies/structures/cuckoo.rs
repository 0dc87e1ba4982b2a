//! A cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher 2014): fingerprints in buckets, which can be deleted. It is
//! emptied when it is full, for the reason that the counting filter is.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use scalable_cuckoo_filter::{DefaultHasher, ScalableCuckooFilter, ScalableCuckooFilterBuilder};
use seenguard_lab::report::Result;

use super::{CAPACITY, FALSE_POSITIVE_RATE, History};

pub struct CuckooFilter {
    filter: ScalableCuckooFilter<str, DefaultHasher, ChaCha8Rng>,
    count: u32,
}

impl CuckooFilter {
    pub fn new() -> Self {
        CuckooFilter {
            filter: ScalableCuckooFilterBuilder::new()
                .initial_capacity(CAPACITY as usize)
                .false_positive_probability(FALSE_POSITIVE_RATE)
                // Which fingerprints are moved is random; the same ones in each run.
                .rng(ChaCha8Rng::seed_from_u64(0))
                .finish(),
            count: 0,
        }
    }
}

impl History for CuckooFilter {
    fn record(&mut self, id: &str) -> Result<()> {
        if self.count >= CAPACITY {
            *self = CuckooFilter::new();
        }
        let was_contained = self.filter.insert_if_not_contained(id);
        self.count += u32::from(!was_contained);
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.filter.contains(id)
    }

    fn stored_bytes(&self) -> Result<usize> {
        Ok(self.filter.bits().div_ceil(8) as usize)
    }

    fn delete(&mut self, id: &str) -> bool {
        // The crate's `remove` takes an empty place for one of the items whose fingerprint is 0.
        if self.contains(id) {
            self.filter.remove(id);
        }
        true
    }
}
