//! Compaction: several segments become one that stands for them. The union is written first, then exactly the keys that
//! were read are removed: in that order no interleaving of writers loses anything, and nobody needs a lock.
//!
//! What a clear has overtaken is compacted by the same steps, whatever its size; so is what is damaged, of which a part
//! is set aside first.

use super::listing::{Listing, group_size};
use super::names::{Kind, Names};
use super::random::Random;
use super::reading::Text;
use crate::guard::SegmentState;

/// A compaction waits for a random time up to this, so that of several tabs one does it.
const MAX_WAIT_MS: u64 = 1_000;
/// So much of each damaged segment is set aside (characters).
const SET_ASIDE_CHARACTERS: usize = 16_384;

/// What a scheduled compaction compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Level(u32),
    All,
}

#[derive(Debug)]
pub(super) struct Due {
    pub(super) at_ms: u64,
    pub(super) goal: Goal,
    /// Whether the keys were listed since.
    pub(super) is_listed: bool,
}

/// A compaction that is going on.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// What the union stands for.
    pub(super) keys: Vec<String>,
    /// Those of them that are to be read, and whether any was.
    pub(super) to_read: Vec<String>,
    pub(super) has_read: bool,
    /// Parts of damaged segments.
    pub(super) set_aside: Vec<String>,
    /// What was read.
    pub(super) hashes: Vec<u64>,
    pub(super) least_level: u32,
    pub(super) union: Option<Union>,
}

#[derive(Debug)]
pub(super) struct Union {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) level: u32,
    /// The number of the latest clear that it tells of.
    pub(super) clear: u64,
    pub(super) is_written: bool,
}

/// When and what a writer compacts.
#[derive(Debug)]
pub(super) struct Compactions {
    pub(super) remember: usize,
    pub(super) due: Option<Due>,
    pub(super) current: Option<Compaction>,
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

impl Compaction {
    pub(super) fn of(keys: Vec<String>, least_level: u32) -> Self {
        Compaction {
            to_read: keys.clone(),
            keys,
            least_level,
            ..Compaction::default()
        }
    }
}
