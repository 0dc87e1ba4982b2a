//! The impressions that are still of use one by one: those that no snapshot covers yet, and those that have not been delivered.
//!
//! Exact, in the order of recording, and bounded: beyond the limits the oldest leave, delivered ones first. Leaving here loses nothing that
//! protects the reader: the memory holds every impression too.

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::hash::HashedId;

/// Most impressions.
pub const MAX_IMPRESSIONS: usize = 5_000;
/// Most bytes of their ids together.
pub const MAX_ID_BYTES: usize = 256 * 1024;

/// One impression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Box<[u8]>,
    hash: u64,
    /// Unix milliseconds of this device's clock.
    pub(crate) at: u64,
    /// Whether this writer recorded or took it over.
    pub(crate) own: bool,
    /// Whether a snapshot has covered it: then it is here for delivery alone.
    pub(crate) covered: bool,
    /// Whether it was delivered.
    pub(crate) delivered: bool,
}

impl Entry {
    pub(crate) fn new(id: HashedId<'_>, at: u64, own: bool) -> Self {
        Entry {
            id: id.bytes().into(),
            hash: id.unseeded(),
            at,
            own,
            covered: false,
            delivered: false,
        }
    }

    pub(crate) fn hashed(&self) -> HashedId<'_> {
        HashedId::with_hash(&self.id, self.hash)
    }

    /// The id as text; it was UTF-8 when it came in.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.id).into_owned()
    }
}

/// The impressions of one namespace that are pending or not delivered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    /// In the order of recording; what has left is a hole until it reaches the front or the journal is packed.
    entries: VecDeque<Option<Entry>>,
    /// The serial number of the first of `entries`.
    base: u64,
    serials: HashTable<u64>,
    id_bytes: usize,
    pending: usize,
    delivered: usize,
}

impl Journal {
    pub(crate) fn len(&self) -> usize {
        self.serials.len()
    }

    /// How many no snapshot has covered.
    pub(crate) fn pending_len(&self) -> usize {
        self.pending
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Entry>>()
            + self.serials.capacity() * size_of::<u64>()
            + self.id_bytes
    }

    /// In the order of recording.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Those that no snapshot has covered, oldest first.
    pub(crate) fn pending(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.iter().filter(|entry| !entry.covered)
    }

    #[inline]
    pub(crate) fn get(&self, id: HashedId<'_>) -> Option<&Entry> {
        if self.serials.is_empty() {
            return None;
        }
        let serial = *self.serials.find(id.unseeded(), |&serial| self.is_at(serial, id))?;
        self.at(serial)
    }

    /// Appends an impression; one of the same id that is here leaves. Returns how many left for want of room.
    pub(crate) fn push(&mut self, entry: Entry) -> usize {
        if entry.id.len() > MAX_ID_BYTES {
            self.remove(entry.hashed());
            return 1;
        }
        self.remove(entry.hashed());
        let serial = self.base + self.entries.len() as u64;
        let (entries, base) = (&self.entries, self.base);
        self.serials
            .insert_unique(entry.hash, serial, |&serial| hash_at(entries, base, serial));
        self.count(&entry, true);
        self.entries.push_back(Some(entry));
        self.make_room()
    }

    /// Marks as covered what `covers` says; takes out what is then of no more use. Returns what was covered, oldest first.
    pub(crate) fn cover(&mut self, keep_undelivered: bool, mut covers: impl FnMut(&Entry) -> bool) -> Vec<Entry> {
        let mut covered = Vec::new();
        for index in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[index] else {
                continue;
            };
            if entry.covered || !covers(entry) {
                continue;
            }
            entry.covered = true;
            self.pending -= 1;
            covered.push(entry.clone());
            if !keep_undelivered || entry.delivered {
                self.remove_serial(self.base + index as u64);
            }
        }
        self.pack();
        covered
    }

    /// Takes an id out.
    pub(crate) fn remove(&mut self, id: HashedId<'_>) -> Option<Entry> {
        let serial = *self.serials.find(id.unseeded(), |&serial| self.is_at(serial, id))?;
        let removed = self.remove_serial(serial);
        self.pack();
        removed
    }

    fn make_room(&mut self) -> usize {
        let before = self.len();
        while self.len() > MAX_IMPRESSIONS || self.id_bytes > MAX_ID_BYTES {
            let delivered = self.delivered > 0;
            let Some(leaving) = self
                .entries
                .iter()
                .position(|entry| entry.as_ref().is_some_and(|entry| entry.delivered || !delivered))
            else {
                break;
            };
            self.remove_serial(self.base + leaving as u64);
            self.pack();
        }
        before - self.len()
    }

    fn remove_serial(&mut self, serial: u64) -> Option<Entry> {
        let entry = self.entries.get_mut((serial - self.base) as usize)?.take()?;
        if let Ok(found) = self.serials.find_entry(entry.hash, |&other| other == serial) {
            found.remove();
        }
        self.count(&entry, false);
        Some(entry)
    }

    fn count(&mut self, entry: &Entry, comes: bool) {
        let change = |total: usize, by: usize| if comes { total + by } else { total - by };
        self.id_bytes = change(self.id_bytes, entry.id.len());
        self.pending = change(self.pending, usize::from(!entry.covered));
        self.delivered = change(self.delivered, usize::from(entry.delivered));
    }

    /// Drops the holes at the front, and all of them when they are the greater part.
    fn pack(&mut self) {
        while matches!(self.entries.front(), Some(None)) {
            self.entries.pop_front();
            self.base += 1;
        }
        if self.entries.len() > 2 * self.len() + 64 {
            self.entries.retain(Option::is_some);
            self.serials.clear();
            let (entries, base) = (&self.entries, self.base);
            for (serial, entry) in (base..).zip(entries.iter().flatten()) {
                self.serials
                    .insert_unique(entry.hash, serial, |&serial| hash_at(entries, base, serial));
            }
        }
    }

    fn at(&self, serial: u64) -> Option<&Entry> {
        self.entries.get((serial - self.base) as usize)?.as_ref()
    }

    fn is_at(&self, serial: u64, id: HashedId<'_>) -> bool {
        self.at(serial).is_some_and(|entry| *entry.id == *id.bytes())
    }
}

fn hash_at(entries: &VecDeque<Option<Entry>>, base: u64, serial: u64) -> u64 {
    entries
        .get((serial - base) as usize)
        .and_then(Option::as_ref)
        .map_or(0, |entry| entry.hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(journal: &mut Journal, id: &str) -> usize {
        journal.push(Entry::new(HashedId::new(id.as_bytes()), 0, true))
    }

    fn ids(journal: &Journal) -> Vec<String> {
        journal.pending().map(Entry::text).collect()
    }

    #[test]
    fn an_id_recorded_again_moves_to_the_end() {
        let mut journal = Journal::default();
        for id in ["a", "b", "a"] {
            push(&mut journal, id);
        }
        assert_eq!(ids(&journal), ["b", "a"]);
    }

    #[test]
    fn beyond_the_limits_the_oldest_leave() {
        let mut journal = Journal::default();
        let left: usize = (0..6_000).map(|i| push(&mut journal, &format!("{i}"))).sum();
        assert_eq!((journal.len(), left), (MAX_IMPRESSIONS, 1_000));
        assert_eq!(ids(&journal)[0], "1000");
        push(&mut journal, &"x".repeat(MAX_ID_BYTES - 4));
        assert!(journal.id_bytes <= MAX_ID_BYTES && journal.len() == 2);
        assert_eq!(push(&mut journal, &"y".repeat(MAX_ID_BYTES + 1)), 1);
        assert_eq!(journal.len(), 2);
    }

    #[test]
    fn delivered_ones_leave_first() {
        let mut journal = Journal::default();
        for i in 0..MAX_IMPRESSIONS {
            let mut entry = Entry::new(HashedId::new(i.to_string().as_bytes()), 0, true);
            entry.delivered = i == 4_000;
            journal.push(entry);
        }
        push(&mut journal, "one more");
        assert!(journal.get(HashedId::new(b"4000")).is_none() && journal.get(HashedId::new(b"0")).is_some());
    }

    #[test]
    fn what_is_covered_leaves_unless_it_is_still_to_be_delivered() {
        let mut journal = Journal::default();
        for i in 0..500 {
            push(&mut journal, &format!("{i}"));
        }
        let covered = journal.cover(true, |entry| entry.text().len() < 3);
        assert_eq!((covered.len(), journal.pending_len(), journal.len()), (100, 400, 500));
        journal.cover(false, |entry| entry.text().starts_with('4'));
        assert_eq!((journal.pending_len(), journal.len()), (300, 400));
        assert_eq!(ids(&journal).len(), 300);
        assert!(
            (0..500)
                .filter(|i: &u32| i.to_string().starts_with('4') && *i > 99)
                .all(|i| journal.get(HashedId::new(i.to_string().as_bytes())).is_none())
        );
        assert!(journal.get(HashedId::new(b"300")).is_some());
    }
}
