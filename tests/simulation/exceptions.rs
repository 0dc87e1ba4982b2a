//! The unseen ids and deletions that a server must have, by the events that reached it: the oracle for the chain.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use seenguard::{ChainSnapshot, Impression, Time};

use super::conditions::SECOND;
use super::items::{Item, Items};

#[derive(Debug, Default)]
pub struct Exceptions {
    /// Unix seconds of the latest deletion of the history, 0 if there was none.
    pub forget_before: u32,
    /// Unseen items, each with the server's time of it.
    unseen: BTreeMap<Item, u64>,
    /// Items that were unseen and were seen again, each with the server's time of that.
    seen_again: BTreeMap<Item, u64>,
    /// Items that ever were unseen.
    pub ever: BTreeSet<Item>,
}

impl Exceptions {
    /// A device reports an item. Returns whether that changes anything.
    pub fn ingest(&mut self, item: Item, at_ms: u64, is_unseen: bool) -> bool {
        if at_ms < u64::from(self.forget_before) * SECOND {
            return false;
        }
        if is_unseen {
            return self.unsee(item, at_ms);
        }
        let counts = self.unseen.get(&item).is_none_or(|&unseen| at_ms > unseen);
        if counts && let Some(known) = self.unseen.remove(&item).or(self.seen_again.get(&item).copied()) {
            self.seen_again.insert(item, at_ms.max(known));
        }
        counts
    }

    /// Returns whether the unsee is later than the last impression.
    pub fn unsee(&mut self, item: Item, at_ms: u64) -> bool {
        if self.seen_again.get(&item).is_some_and(|&seen| at_ms <= seen) {
            return false;
        }
        self.seen_again.remove(&item);
        let latest = self.unseen.entry(item).or_default();
        *latest = (*latest).max(at_ms);
        self.ever.insert(item);
        true
    }

    pub fn forget(&mut self, now: u64) {
        self.restore(&[], self.forget_before.max(now.div_ceil(SECOND) as u32));
    }

    /// Restores the store of another state.
    pub fn restore(&mut self, unseen: &[(Item, u64)], forget_before: u32) {
        self.unseen = unseen.iter().copied().collect();
        self.seen_again.clear();
        self.forget_before = forget_before;
    }

    pub fn retain(&mut self, is_needed: impl Fn(Item) -> bool) {
        self.unseen.retain(|&item, _| is_needed(item));
        self.seen_again.retain(|&item, _| is_needed(item));
    }

    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.unseen.keys().copied()
    }

    pub fn contains(&self, item: Item) -> bool {
        self.unseen.contains_key(&item)
    }

    /// A snapshot unsees exactly what it must, and has the deletion.
    pub fn check(&self, shipped: &ChainSnapshot, is_in_shard: impl Fn(Item) -> bool, items: &Items) {
        let listed: BTreeMap<Item, u64> = listed(&shipped.unseen, items).into_iter().collect();
        let needed = self.unseen.iter().filter(|&(&item, _)| is_in_shard(item));
        assert!(
            needed.eq(listed.iter()) && listed.len() == shipped.unseen.len(),
            "unseen: a snapshot lists {listed:?}, and {:?} are",
            self.unseen
        );
        assert!(
            shipped.unseen.is_sorted_by_key(|impression| Reverse(impression.at)),
            "unseen: the newest is listed first"
        );
        let forget_before = seconds_of(shipped.forget_before);
        assert_eq!(
            forget_before, self.forget_before,
            "deletions: a snapshot has the latest one"
        );
    }
}

/// When a snapshot says that the history was deleted, Unix seconds; 0: never.
pub fn seconds_of(forget_before: Option<Time>) -> u32 {
    forget_before.map_or(0, |before| before.unix_seconds() as u32)
}

/// What a snapshot unsees.
pub fn listed(unseen: &[Impression], items: &Items) -> Vec<(Item, u64)> {
    let read = |Impression { id, at }: &Impression| (items.of(id).expect("an item of this feed"), at.unix_ms());
    unseen.iter().map(read).collect()
}
