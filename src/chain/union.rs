//! The union of two chains of one user, such as of two regions, or of two copies that were changed separately.

use std::cmp::Reverse;

use super::link::Link;
use super::shard_chain::ShardChain;

impl ShardChain {
    /// Merges another chain of this user.
    ///
    /// Two copies of a shard become the one that contains the other, so that uniting a chain with its copy drops
    /// nothing. Two different shards unite if neither is full, their parameters are equal, their expiries lie within
    /// one slice and their items together fit the capacity. Other shards stay separate, newest first.
    ///
    /// An id that is unseen in both has the later time. If one of the two chains lacks a deletion of the history, its
    /// shards and earlier unseen ids are dropped.
    pub fn unite(&mut self, other: &ShardChain) {
        if other.forget_before > self.forget_before {
            self.links.clear();
            self.forget_before = other.forget_before;
        }
        if other.forget_before == self.forget_before {
            self.unite_links(&other.links);
        }
        self.unseen.unite(&other.unseen);
        let counts_from = self.counts_from();
        self.unseen.retain(|_, at| at >= counts_from);
        self.last_epoch = self.last_epoch.max(other.last_epoch);
        while self.drop_oldest_full() {}
        self.drop_beyond_snapshot_limits();
        self.drop_unneeded_unseen();
    }

    fn unite_links(&mut self, others: &[Link]) {
        let mut is_united = vec![false; self.links.len()];
        let mut different = Vec::new();
        // Each shard is united with at most one other: first with a copy, beginning with the oldest.
        for theirs in others.iter().rev() {
            let is_copy = |&index: &usize| !is_united[index] && self.links[index].is_copy(theirs);
            match (0..self.links.len()).rev().find(is_copy) {
                Some(index) => {
                    self.links[index].unite_copy(theirs);
                    is_united[index] = true;
                }
                None => different.push(theirs),
            }
        }
        let mut added = Vec::new();
        for theirs in different {
            let union = (0..self.links.len())
                .filter(|&index| !is_united[index])
                .find_map(|index| {
                    let union = self.links[index].union(theirs, self.options.capacity, self.schedule)?;
                    Some((index, union))
                });
            match union {
                Some((index, union)) => {
                    self.links[index] = union;
                    is_united[index] = true;
                }
                None => added.push(theirs.clone()),
            }
        }
        self.links.append(&mut added);
        self.links.sort_by_key(|link| Reverse(link.shard().epoch));
    }
}
