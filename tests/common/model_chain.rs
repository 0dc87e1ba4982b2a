//! A chain as plainly as possible, from its description alone: what the crate's chains are compared with, byte for
//! byte. Its clock never goes back.

use seenguard::{ChainOptions, ChainSnapshot, Format, Parameters};

use super::base64_of;
use super::reference::ReferenceShard;

#[derive(Debug, Clone)]
struct Link {
    shard: ReferenceShard,
    begun: u64,
}

#[derive(Debug, Clone)]
pub struct ModelChain {
    options: ChainOptions,
    newest_first: Vec<Link>,
    last_epoch: Option<u32>,
}

impl ModelChain {
    pub fn new(options: ChainOptions) -> Self {
        ModelChain {
            options,
            newest_first: Vec::new(),
            last_epoch: None,
        }
    }

    fn slice(&self) -> u64 {
        u64::from(self.options.ttl_seconds) / (self.options.shards as u64 - 1).max(1)
    }

    fn is_full(&self, link: &Link) -> bool {
        link.shard.count >= self.options.capacity
    }

    fn is_due(&self, now: u64) -> bool {
        let Some(newest) = self.newest_first.first() else {
            return true;
        };
        let sealed_by_time = self.options.ttl_seconds > 0 && now - newest.begun > self.slice();
        self.is_full(newest) || sealed_by_time
    }

    fn begin(&mut self, now: u64) {
        let epoch = match self.last_epoch {
            None => now as u32,
            // A chain of which nothing is left is created anew, and its numbers still grow.
            Some(last) if self.newest_first.is_empty() => (last + 1).max(now as u32),
            Some(last) => last + 1,
        };
        self.last_epoch = Some(epoch);
        let ttl = u64::from(self.options.ttl_seconds);
        let expires = if ttl == 0 { 0 } else { now + ttl + self.slice() };
        let size = Parameters::for_capacity(self.options.capacity, self.options.false_positive_rate).unwrap();
        let shard = ReferenceShard::new(size.bits(), size.hashes(), self.options.seed, epoch, expires as u32);
        self.newest_first.insert(0, Link { shard, begun: now });
        while self.full_or_newest() > self.options.shards {
            let oldest_full = self.newest_first.iter().rposition(|link| self.is_full(link));
            self.newest_first
                .remove(oldest_full.expect("all but the newest are full"));
        }
    }

    fn full_or_newest(&self) -> usize {
        1 + self
            .newest_first
            .iter()
            .skip(1)
            .filter(|link| self.is_full(link))
            .count()
    }

    fn drop_expired(&mut self, now: u64) {
        self.newest_first
            .retain(|link| link.shard.expires == 0 || now < u64::from(link.shard.expires));
    }

    /// Returns how many ids no shard contained.
    pub fn record<S: AsRef<str>>(&mut self, ids: &[S], now: u64) -> usize {
        self.drop_expired(now);
        let mut unknown = 0;
        for id in ids {
            unknown += usize::from(!self.contains(id.as_ref(), now));
            if self.is_due(now) {
                self.begin(now);
            }
            self.newest_first[0].shard.insert(id.as_ref().as_bytes());
        }
        unknown
    }

    pub fn contains(&self, id: &str, now: u64) -> bool {
        let mut live = self.clone();
        live.drop_expired(now);
        live.newest_first.iter().any(|link| link.shard.contains(id.as_bytes()))
    }

    pub fn len(&self) -> usize {
        self.newest_first.len()
    }

    pub fn snapshot(&self, now: u64) -> ChainSnapshot {
        let mut live = self.clone();
        live.drop_expired(now);
        let version = |link: &Link| u64::from(link.shard.epoch) * (1 << 21) + u64::from(link.shard.count);
        ChainSnapshot {
            version: Some(live.newest_first.first().map_or(0, version)),
            shards: live
                .newest_first
                .iter()
                .map(|link| base64_of(&link.shard.to_bytes()))
                .collect(),
            format: Format::Native,
            now,
        }
    }

    /// What is left of the chain when it was stored and goes on elsewhere.
    pub fn stored_and_restored(mut self, now: u64) -> Self {
        self.drop_expired(now);
        self.last_epoch = self.newest_first.first().map(|link| link.shard.epoch);
        self
    }
}
