//! Compaction: several segments become one that stands for them. The union is written first, then exactly the keys that
//! were read are removed: in that order no interleaving of writers loses anything, and nobody needs a lock.
//!
//! What a clear has overtaken is compacted by the same steps, whatever its size; so is what is damaged, of which a part
//! is set aside first.

use super::listing::{Entry, Listing, group_size};
use super::names::{Kind, Names};
use super::operation::Operation;
use super::random::Random;
use super::reading::Text;
use super::saving::Saving;
use super::{Next, Purpose, Storage};
use crate::guard::{Guard, Now, SegmentState};

/// A compaction waits for a random time up to this, so that of several tabs one does it.
const MAX_WAIT_MS: u64 = 1_000;
/// So many damaged segments are set aside …
const MOST_SET_ASIDE: usize = 4;
/// … so much of each (characters).
const SET_ASIDE_CHARACTERS: usize = 16_384;

/// A key for a segment of this writer's.
pub(super) fn segment_key(names: &Names, writer: &str, saving: &mut Saving, level: u32) -> String {
    names.segment(level, writer, saving.next_number())
}

/// What a scheduled compaction compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Level(u32),
    All,
}

#[derive(Debug)]
struct Due {
    at_ms: u64,
    goal: Goal,
    /// Whether the keys were listed since.
    is_listed: bool,
}

/// A compaction that is going on.
#[derive(Debug, Default)]
struct Compaction {
    /// What the union stands for.
    keys: Vec<String>,
    /// Those of them that are to be read, and whether any was.
    to_read: Vec<String>,
    has_read: bool,
    /// Parts of damaged segments.
    set_aside: Vec<String>,
    /// What was read.
    hashes: Vec<u64>,
    least_level: u32,
    union: Option<Union>,
}

#[derive(Debug)]
struct Union {
    key: String,
    text: String,
    level: u32,
    /// The number of the latest clear that it tells of.
    clear: u64,
    is_written: bool,
}

/// When and what a writer compacts.
#[derive(Debug)]
pub(super) struct Compactions {
    remember: usize,
    due: Option<Due>,
    current: Option<Compaction>,
}

impl Compactions {
    pub(super) fn new(remember: usize) -> Self {
        Compactions {
            remember,
            due: None,
            current: None,
        }
    }

    /// By the steady clock.
    pub(super) fn due_ms(&self) -> u64 {
        self.due.as_ref().map_or(u64::MAX, |due| due.at_ms)
    }

    /// Whether one is going on, or to begin at once.
    pub(super) fn is_urgent(&self) -> bool {
        self.current.is_some() || self.due_ms() == 0
    }

    /// This writer has just written a segment of a level.
    pub(super) fn after_write(&mut self, level: u32, listing: &Listing, now_ms: u64, random: &mut Random) {
        let (count, enough) = (listing.readable(Some(level)).len(), group_size(level, self.remember));
        if count >= 2 * enough {
            // Who writes so fast that the time never comes does not wait for it.
            self.schedule(Goal::Level(level), 0);
        } else if count >= enough && self.due.is_none() {
            self.schedule(Goal::Level(level), now_ms + random.below(MAX_WAIT_MS));
        }
    }

    /// What an opening has found is worth compacting.
    pub(super) fn schedule_all(&mut self, now_ms: u64, random: &mut Random) {
        self.schedule(Goal::All, now_ms + random.below(MAX_WAIT_MS));
    }

    fn schedule(&mut self, goal: Goal, at_ms: u64) {
        let is_listed = false;
        self.due = Some(Due { at_ms, goal, is_listed });
    }

    /// What is going on is begun anew, if there is still reason for it.
    pub(super) fn abandon(&mut self) {
        self.current = None;
    }

    /// What is damaged is lost for want of room.
    pub(super) fn set_nothing_aside(&mut self) {
        if let Some(current) = &mut self.current {
            current.set_aside.clear();
        }
    }

    /// Takes what was read of the group. Returns the stashes among it, which are removed in their own way.
    pub(super) fn take_group(&mut self, texts: Vec<Text>, names: &Names) -> Vec<(String, String)> {
        let mut stashes = Vec::new();
        let Some(current) = &mut self.current else {
            return stashes;
        };
        for text in texts {
            let state = text.state();
            current.hashes.extend(text.hashes);
            if names.kind_of(&text.key) == Some(Kind::Stash) {
                current.keys.retain(|key| *key != text.key);
                stashes.push((text.key, text.text));
            } else if state == SegmentState::Damaged {
                let part = text.text.get(..SET_ASIDE_CHARACTERS).unwrap_or(&text.text);
                current.set_aside.push(part.to_owned());
            }
        }
        stashes
    }

    pub(super) fn written(&mut self, listing: &mut Listing) {
        if let Some(union) = self.current.as_mut().and_then(|current| current.union.as_mut()) {
            listing.insert(union.key.clone(), Kind::Segment { level: union.level }, union.clear);
            union.is_written = true;
        }
    }

    /// What the union stands for was removed. The next level may have enough segments now.
    pub(super) fn replaced(&mut self, listing: &mut Listing) {
        let Some(current) = self.current.take() else { return };
        listing.remove(&current.keys);
        let Some(Union { level, .. }) = current.union else {
            return;
        };
        if current.least_level > 0 && listing.readable(Some(level)).len() >= group_size(level, self.remember) {
            self.schedule(Goal::Level(level), 0);
        }
    }
}

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
                key: segment_key(&self.names, &self.writer, &mut self.saving, level),
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

impl Compaction {
    fn of(keys: Vec<String>, least_level: u32) -> Self {
        Compaction {
            to_read: keys.clone(),
            keys,
            least_level,
            ..Compaction::default()
        }
    }
}
