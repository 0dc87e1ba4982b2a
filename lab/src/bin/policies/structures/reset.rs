//! One Bloom filter, emptied when it is full.

use seenguard::{BloomFilter, Parameters, Shard};
use seenguard_lab::report::Result;

use super::{CAPACITY, FALSE_POSITIVE_RATE, History};

/// A filter for as many items as a structure is made for, with what counts them.
pub fn empty_filter() -> Result<Shard> {
    let parameters = Parameters::for_capacity(CAPACITY, FALSE_POSITIVE_RATE)?;
    Ok(Shard::new(BloomFilter::new(parameters, 0), 0, 0))
}

pub struct ResetFilter {
    filter: Shard,
}

impl ResetFilter {
    pub fn new() -> Result<Self> {
        Ok(ResetFilter {
            filter: empty_filter()?,
        })
    }
}

impl History for ResetFilter {
    fn record(&mut self, id: &str) -> Result<()> {
        if self.filter.count >= CAPACITY {
            self.filter = empty_filter()?;
        }
        self.filter.insert(id);
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.filter.filter.contains(id)
    }

    fn stored_bytes(&self) -> Result<usize> {
        Ok(self.filter.to_bytes()?.len())
    }
}
