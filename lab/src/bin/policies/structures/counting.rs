//! A counting Bloom filter (Fan, Cao, Almeida, Broder 2000): 4 bits for each bit of a Bloom filter, so that it can
//! delete. To age out, it would have to be told which ids leave; without that list it is emptied when it is full.

use fastbloom_rs::{CountingBloomFilter, Deletable, FilterBuilder, Membership};
use seenguard_lab::report::Result;

use super::{CAPACITY, FALSE_POSITIVE_RATE, History};

const COUNTERS_A_BYTE: u64 = 2;

pub struct CountingFilter {
    filter: CountingBloomFilter,
    count: u32,
}

impl CountingFilter {
    pub fn new() -> Self {
        let builder = FilterBuilder::new(u64::from(CAPACITY), FALSE_POSITIVE_RATE);
        CountingFilter {
            filter: CountingBloomFilter::new(builder),
            count: 0,
        }
    }
}

impl History for CountingFilter {
    /// A view anew is not counted twice: its deletion would then take two.
    fn record(&mut self, id: &str) -> Result<()> {
        if self.count >= CAPACITY {
            *self = CountingFilter::new();
        }
        if !self.contains(id) {
            self.filter.add(id.as_bytes());
            self.count += 1;
        }
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.filter.contains(id.as_bytes())
    }

    fn stored_bytes(&self) -> Result<usize> {
        Ok((self.filter.config().size / COUNTERS_A_BYTE) as usize)
    }

    fn delete(&mut self, id: &str) -> bool {
        self.filter.remove(id.as_bytes());
        true
    }
}
