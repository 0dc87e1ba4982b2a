//! What is known of the keys that a namespace has in storage.

use super::names::{Kind, Names};
use crate::guard::SegmentState;

/// So many segments of one size become one of the next …
const GROUP: usize = 4;
/// … or so many, if they are large …
const LARGE_GROUP: usize = 2;
/// … which they are if together they hold at least this part of all that is remembered.
const LARGE_SHARE: usize = 4;
/// An opening that finds less than this (characters) in fewer than `MANY_SEGMENTS` leaves it as it is.
const LITTLE: usize = 16_384;
const MANY_SEGMENTS: usize = 16;

/// How many segments of a level are compacted.
pub(super) fn group_size(level: u32, remember: usize) -> usize {
    if GROUP.saturating_pow(level) >= remember / LARGE_SHARE {
        LARGE_GROUP
    } else {
        GROUP
    }
}

/// What is known of a key.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) kind: Kind,
    /// How a segment or a stash could be read; nothing if it was not read yet.
    pub(super) state: Option<SegmentState>,
    /// The number of the latest clear that its writer knew of.
    pub(super) clear: u64,
    /// Characters, of what was read.
    pub(super) length: usize,
    /// Whether nothing in it counted when it was read.
    pub(super) is_void: bool,
}

impl Entry {
    fn new(key: String, kind: Kind) -> Self {
        let clear = match kind {
            Kind::Snapshot { clear } | Kind::SetAside { clear } => clear,
            Kind::Segment { .. } | Kind::Stash => 0,
        };
        Entry {
            key,
            kind,
            state: None,
            clear,
            length: 0,
            is_void: false,
        }
    }

    /// Whether it has recordings, and they are not read yet.
    fn is_unread(&self) -> bool {
        self.state.is_none() && matches!(self.kind, Kind::Segment { .. } | Kind::Stash)
    }

    fn is_segment(&self) -> bool {
        matches!(self.kind, Kind::Segment { .. })
    }

    pub(super) fn is_snapshot(&self) -> bool {
        matches!(self.kind, Kind::Snapshot { .. })
    }

    pub(super) fn is_set_aside(&self) -> bool {
        matches!(self.kind, Kind::SetAside { .. })
    }

    /// Whether recordings can be read from it.
    pub(super) fn is_readable(&self) -> bool {
        self.state == Some(SegmentState::Whole)
    }
}

/// The keys of a namespace: a few dozen.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    entries: Vec<Entry>,
    /// Keys that a storage lists though it has no value for them.
    missed: Vec<String>,
}

impl Listing {
    /// Takes over a new listing; what is known of keys that are still there stays known. Of others' stashes nothing
    /// does: they are overwritten. What this page has left in `own_stash` is left out.
    pub(super) fn update(&mut self, keys: Vec<String>, names: &Names, own_stash: Option<&str>) {
        let mut known = std::mem::take(&mut self.entries);
        self.missed.retain(|key| keys.contains(key));
        for key in keys {
            let Some(kind) = names.kind_of(&key).filter(|_| Some(&*key) != own_stash) else {
                continue;
            };
            // A key that two places list is there once.
            if self.get(&key).is_some() {
                continue;
            }
            let place = known.iter().position(|entry| entry.key == key && kind != Kind::Stash);
            let entry = place.map(|place| known.swap_remove(place));
            self.entries.push(entry.unwrap_or_else(|| Entry::new(key, kind)));
        }
    }

    /// Notes what was written here.
    pub(super) fn insert(&mut self, key: String, kind: Kind, clear: u64) {
        self.remove(std::slice::from_ref(&key));
        self.entries.push(Entry {
            state: Some(SegmentState::Whole),
            clear,
            ..Entry::new(key, kind)
        });
    }

    /// Notes that listed keys had no value. Returns whether it is news of any that is known: a storage may list for ever
    /// what it has no value for.
    pub(super) fn miss(&mut self, keys: Vec<String>) -> bool {
        let is_news = |key: &String| self.get(key).is_some() && !self.missed.contains(key);
        let is_news = keys.iter().any(is_news);
        self.remove(&keys);
        self.missed.extend(keys);
        is_news
    }

    pub(super) fn remove(&mut self, keys: &[String]) {
        self.entries.retain(|entry| !keys.contains(&entry.key));
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// The keys of the entries that `is_meant` names.
    pub(super) fn keys(&self, is_meant: &dyn Fn(&Entry) -> bool) -> Vec<String> {
        let meant = self.entries.iter().filter(|entry| is_meant(entry));
        meant.map(|entry| entry.key.clone()).collect()
    }

    /// What is to be read.
    pub(super) fn unread(&self) -> Vec<String> {
        self.keys(&Entry::is_unread)
    }

    /// What a later clear has overtaken.
    pub(super) fn stale(&self, clear: u64) -> Vec<String> {
        self.keys(&|entry| entry.clear < clear && !entry.is_unread())
    }

    /// The damaged segments.
    pub(super) fn damaged(&self) -> Vec<String> {
        self.keys(&|entry| entry.is_segment() && entry.state == Some(SegmentState::Damaged))
    }

    /// The segments that can be compacted: of one level, or all.
    pub(super) fn readable(&self, level: Option<u32>) -> Vec<String> {
        self.keys(&|entry| match entry.kind {
            Kind::Segment { level: own } => entry.is_readable() && level.is_none_or(|level| level == own),
            _ => false,
        })
    }

    /// Whether it is worth it to compact all segments: there are many, or much of what they hold is told twice, as it is
    /// if all but the largest are together half as large as that one.
    pub(super) fn is_wasteful(&self) -> bool {
        let (mut count, mut total, mut largest) = (0, 0, 0);
        for entry in self
            .entries
            .iter()
            .filter(|entry| entry.is_segment() && entry.is_readable())
        {
            count += 1;
            total += entry.length;
            largest = largest.max(entry.length);
        }
        count >= MANY_SEGMENTS || (total >= LITTLE && total - largest >= largest / 2)
    }

    /// The key of the stored snapshot of the highest number.
    pub(super) fn snapshot(&self) -> Option<String> {
        let snapshots = self.entries.iter().filter(|entry| entry.is_snapshot());
        Some(snapshots.max_by_key(|entry| entry.clear)?.key.clone())
    }

    /// Whether a segment tells of this clear.
    pub(super) fn tells_of(&self, clear: u64) -> bool {
        let mut segments = self.entries.iter().filter(|entry| entry.is_segment());
        segments.any(|entry| entry.is_readable() && entry.clear >= clear)
    }

    /// What is given up for room, the first that there is: the stored snapshot, which the server can send again; what
    /// is set aside; segments that a clear has overtaken, if nothing in them counts.
    pub(super) fn expendable(&self, clear: u64) -> Vec<String> {
        let mut keys = self.keys(&Entry::is_snapshot);
        if keys.is_empty() {
            keys = self.keys(&Entry::is_set_aside);
        }
        if keys.is_empty() {
            keys = self.keys(&|entry| entry.is_segment() && entry.clear < clear && entry.is_void);
        }
        keys
    }
}
