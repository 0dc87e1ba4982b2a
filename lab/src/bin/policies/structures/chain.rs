//! A chain of Bloom filters, as this crate keeps it: a full one is sealed, and the oldest drops out.

use seenguard::{ChainOptions, ShardChain, Time};
use seenguard_lab::report::Result;

use super::History;

/// Nothing expires here, so any time will do.
const NOW: Time = Time::from_unix_seconds(1_764_000_000);

pub struct Chain(ShardChain);

impl Chain {
    pub fn new(capacity: u32, shards: usize, false_positive_rate: f64) -> Result<Self> {
        let options = ChainOptions {
            capacity,
            shards,
            false_positive_rate,
            ..ChainOptions::default()
        };
        Ok(Chain(ShardChain::new(options)?))
    }
}

impl History for Chain {
    fn record(&mut self, id: &str) -> Result<()> {
        self.0.record(&[id], NOW)?;
        Ok(())
    }

    fn contains(&self, id: &str) -> bool {
        self.0.contains(id, NOW).is_ok_and(|is_contained| is_contained)
    }

    fn stored_bytes(&self) -> Result<usize> {
        let mut bytes = 0;
        for shard in self.0.shards() {
            bytes += shard.to_bytes()?.len();
        }
        Ok(bytes)
    }
}
