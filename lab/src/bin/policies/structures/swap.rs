//! Two Bloom filters: one answers, and from 60% on another is filled beside it, which takes its place when it is full.

use seenguard::Shard;
use seenguard_lab::report::Result;

use super::reset::empty_filter;
use super::{CAPACITY, History};

/// Items in the filter that answers from which on the other is filled, too.
const WARMING_FROM: u32 = CAPACITY / 10 * 6;

pub struct SwappedFilters {
    active: Shard,
    warming: Option<Shard>,
}

impl SwappedFilters {
    pub fn new() -> Result<Self> {
        Ok(SwappedFilters {
            active: empty_filter()?,
            warming: None,
        })
    }
}

impl History for SwappedFilters {
    fn record(&mut self, id: &str) -> Result<()> {
        if self.active.count >= CAPACITY {
            self.active = self.warming.take().map_or_else(empty_filter, Ok)?;
        }
        if self.active.count >= WARMING_FROM && self.warming.is_none() {
            self.warming = Some(empty_filter()?);
        }
        self.active.insert(id);
        if let Some(warming) = &mut self.warming {
            warming.insert(id);
        }
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.active.filter.contains(id)
    }

    fn stored_bytes(&self) -> Result<usize> {
        let warming = self
            .warming
            .as_ref()
            .map_or(Ok(0), |shard| shard.to_bytes().map(|bytes| bytes.len()))?;
        Ok(self.active.to_bytes()?.len() + warming)
    }
}
