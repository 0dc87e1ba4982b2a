//! A chain as plainly as possible, from its description alone: what the crate's chains are compared with, byte for
//! byte. Its clock never goes back.

use std::collections::BTreeMap;

use seenguard::{ChainOptions, ChainSnapshot, Impression, Parameters};

use super::reference::ReferenceShard;
use super::{at, at_ms, base64_of};

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
    /// When each unseen id became unseen, in Unix milliseconds, and whether it was seen again after that.
    unseen_since: BTreeMap<String, (u64, bool)>,
    forget_before: Option<u32>,
}

impl ModelChain {
    pub fn new(options: ChainOptions) -> Self {
        ModelChain {
            options,
            newest_first: Vec::new(),
            last_epoch: None,
            unseen_since: BTreeMap::new(),
            forget_before: None,
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
            // A chain of which nothing is left is created again, and its numbers still grow.
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
        let ids: Vec<(&str, u64)> = ids.iter().map(|id| (id.as_ref(), now * 1000)).collect();
        self.record_each(&ids, now)
    }

    fn record_each(&mut self, ids: &[(&str, u64)], now: u64) -> usize {
        self.drop_expired(now);
        let mut unknown = 0;
        for &(id, at) in ids {
            unknown += usize::from(self.newest_with(id).is_none());
            if self.is_due(now) {
                self.begin(now);
            }
            self.newest_first[0].shard.insert(id.as_bytes());
            if let Some((since, is_seen)) = self.unseen_since.get_mut(id) {
                (*since, *is_seen) = (at.max(*since), true);
            }
        }
        self.trim_unseen();
        unknown
    }

    pub fn unsee<S: AsRef<str>>(&mut self, ids: &[S], now_ms: u64) {
        self.drop_expired(now_ms / 1000);
        for id in ids {
            self.make_unseen(id.as_ref(), now_ms);
        }
        self.trim_unseen();
    }

    pub fn forget(&mut self, now_ms: u64) {
        self.newest_first.clear();
        self.unseen_since.clear();
        let before = now_ms / 1000 + u64::from(!now_ms.is_multiple_of(1000));
        self.forget_before = self.forget_before.max(Some(before as u32));
    }

    /// Ingests impressions and unseen ids, by the server's clock.
    pub fn ingest(&mut self, impressions: &[(&str, u64)], unseen: &[(&str, u64)], now_ms: u64) -> usize {
        let since = self.forget_before.map_or(0, |seconds| u64::from(seconds) * 1000);
        for (id, at) in unseen.iter().filter(|(_, at)| *at >= since) {
            self.make_unseen(id, *at);
        }
        let mut ids = Vec::new();
        for (id, at) in impressions {
            let is_late = self
                .unseen_since
                .get(*id)
                .is_some_and(|(since, is_seen)| !is_seen && at <= since);
            if *at >= since && !is_late {
                ids.push((*id, *at));
            }
        }
        self.record_each(&ids, now_ms / 1000)
    }

    fn make_unseen(&mut self, id: &str, at: u64) {
        let (since, is_seen) = self.unseen_since.entry(id.to_string()).or_insert((at, false));
        if at > *since {
            (*since, *is_seen) = (at, false);
        }
    }

    fn trim_unseen(&mut self) {
        let links = &self.newest_first;
        self.unseen_since
            .retain(|id, _| links.iter().any(|link| link.shard.contains(id.as_bytes())));
        assert!(self.unseen_since.len() <= 1_000, "the model knows no bound");
    }

    fn is_unseen(&self, id: &str) -> bool {
        self.unseen_since.get(id).is_some_and(|(_, is_seen)| !is_seen)
    }

    fn unseen_newest_first(&self) -> Vec<Impression> {
        let mut list: Vec<Impression> = self
            .unseen_since
            .iter()
            .filter(|(id, _)| self.is_unseen(id) && self.newest_with(id).is_some())
            .map(|(id, &(at, _))| Impression {
                id: id.clone(),
                at: at_ms(at),
            })
            .collect();
        list.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
        list
    }

    /// The index of the newest shard that contains an id.
    fn newest_with(&self, id: &str) -> Option<usize> {
        self.newest_first
            .iter()
            .position(|link| link.shard.contains(id.as_bytes()))
    }

    pub fn contains(&self, id: &str, now: u64) -> bool {
        let mut live = self.clone();
        live.drop_expired(now);
        live.newest_with(id).is_some() && !self.is_unseen(id)
    }

    /// The indices of the ids that were seen, the oldest shard's first. The ids are all different.
    pub fn seen_oldest_first(&self, ids: &[String], now: u64) -> Vec<u32> {
        let mut live = self.clone();
        live.drop_expired(now);
        let mut seen = Vec::new();
        for shard in (0..live.newest_first.len()).rev() {
            let of_shard = |id: &String| live.newest_with(id) == Some(shard) && !live.is_unseen(id);
            seen.extend(
                (0..ids.len())
                    .filter(|&index| of_shard(&ids[index]))
                    .map(|index| index as u32),
            );
        }
        seen
    }

    pub fn len(&self) -> usize {
        self.newest_first.len()
    }

    pub fn snapshot(&self, now: u64) -> ChainSnapshot {
        let mut live = self.clone();
        live.drop_expired(now);
        let version = |link: &Link| u64::from(link.shard.epoch) * (1 << 21) + u64::from(link.shard.count);
        let texts = live.newest_first.iter().map(|link| base64_of(&link.shard.to_bytes()));
        let mut snapshot = ChainSnapshot::new(texts.collect(), at(now));
        snapshot.version = Some(live.newest_first.first().map_or(0, version));
        snapshot.unseen = live.unseen_newest_first();
        snapshot.forget_before = self.forget_before.map(|before| at(before.into()));
        snapshot
    }

    /// The chain after it was stored and loaded elsewhere.
    pub fn stored_and_restored(mut self, now: u64) -> Self {
        self.drop_expired(now);
        self.last_epoch = self.newest_first.first().map(|link| link.shard.epoch);
        self
    }
}
