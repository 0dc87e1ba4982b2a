//! The union of two chains of one user: another region's, or a copy that went on elsewhere.

use std::cmp::Reverse;

use super::link::Link;
use super::shard_chain::ShardChain;

impl ShardChain {
    /// Takes in another chain of this user.
    ///
    /// Of a shard and its copy the one that contains the other stays, with all that is known of it: a chain that is
    /// united with its copy keeps everything as long as before. Two different shards unite if neither is full,
    /// their parameters are equal, their expiries lie within one slice and what they hold together fits the capacity.
    /// The others stand beside each other, newest first.
    ///
    /// Of an id that is unseen in both the later time counts. If one of the two chains does not know that the history
    /// was deleted, its shards are dropped, and what was unseen before.
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
        self.drop_what_no_snapshot_holds();
        self.drop_needless_unseen();
    }

    fn unite_links(&mut self, others: &[Link]) {
        let mut is_united = vec![false; self.links.len()];
        let mut different = Vec::new();
        // Each shard is united with at most one. Copies first, the oldest first as they were made.
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
