//! The operations of a compaction.

use super::compaction::{Compaction, Goal, Union};
use super::listing::{Entry, group_size};
use super::names::Kind;
use super::operation::Operation;
use super::{Next, Purpose, Storage};
use crate::guard::{Guard, Now};

/// So many damaged segments are set aside.
const MOST_SET_ASIDE: usize = 4;

impl Storage {
    /// The next operation of a compaction that is going on or due.
    pub(super) fn compact(&mut self, guard: &Guard, now: Now) -> Option<Next> {
        if self.compactions.current.is_none() {
            self.compactions.current = self.next_group(now);
        }
        let current = self.compactions.current.as_mut()?;
        if !current.to_read.is_empty() {
            let keys = std::mem::take(&mut current.to_read);
            current.has_read = true;
            return Some((Operation::Read(keys), Purpose::Group));
        }
        if let Some(text) = current.set_aside.pop() {
            if self.listing.keys(&Entry::is_set_aside).len() < MOST_SET_ASIDE {
                let key = self.names.set_aside(self.clear, self.random.next());
                self.listing
                    .insert(key.clone(), Kind::SetAside { clear: self.clear }, self.clear);
                return Some((Operation::Write { key, text }, Purpose::SetAside));
            }
            current.set_aside.clear();
        }
        // Even if nothing counts of what was read, the union carries the number of the clear, and the header.
        if current.union.is_none() && (current.has_read || !self.listing.tells_of(self.clear)) {
            let Ok(segment) = guard.segment_of(&current.hashes) else {
                // Without memory for the union all stays as it is.
                self.compactions.abandon();
                self.health.back_off(now.steady_ms, &mut self.random);
                return None;
            };
            let level = segment.level.max(current.least_level);
            current.union = Some(Union {
                key: self.saving.segment_key(&self.names, &self.writer, level),
                text: segment.text,
                level,
                clear: self.clear,
                is_written: false,
            });
        }
        if let Some(union) = current.union.as_ref().filter(|union| !union.is_written) {
            let (key, text) = (union.key.clone(), union.text.clone());
            return Some((Operation::Write { key, text }, Purpose::Union));
        }
        let keys = current.keys.clone();
        Some((Operation::Remove { keys, only_if: None }, Purpose::Replace))
    }

    /// What is to be compacted now.
    fn next_group(&mut self, now: Now) -> Option<Compaction> {
        let stale = self.listing.stale(self.clear);
        // A clear is told of even if there is nothing to clear: another tab may be yet to write what it has.
        if !stale.is_empty() || (self.is_clearing && !self.listing.tells_of(self.clear)) {
            // What is damaged, set aside or of a newer version goes unread.
            let mut group = Compaction::of(stale, 0);
            group
                .to_read
                .retain(|key| self.listing.get(key).is_some_and(Entry::is_readable));
            return Some(group);
        }
        let damaged = self.listing.damaged();
        if !damaged.is_empty() {
            return Some(Compaction::of(damaged, 0));
        }
        let due = self.compactions.due.as_mut().filter(|due| due.at_ms <= now.steady_ms)?;
        if !due.is_listed {
            due.is_listed = true;
            self.wants_listing = true;
            return None;
        }
        let goal = due.goal;
        self.compactions.due = None;
        let (keys, least_level) = match goal {
            Goal::All => (self.listing.readable(None), 0),
            Goal::Level(level) => (self.listing.readable(Some(level)), level + 1),
        };
        let is_worth_it = match goal {
            Goal::All => self.listing.is_wasteful(),
            // Another tab may have been quicker.
            Goal::Level(level) => keys.len() >= group_size(level, self.compactions.remember),
        };
        is_worth_it.then(|| Compaction::of(keys, least_level))
    }
}
