//! Writing what has changed: as segments; the snapshot in use; and as a page hides, what must outlive it.

use super::names::Kind;
use super::operation::{Hidden, Operation};
use super::saving::Unwritten;
use super::{Next, Place, Purpose, Storage};
use crate::guard::{Guard, Now, Segment};

/// The longest stash (characters): localStorage is small, and takes its time.
const MAX_STASH: usize = 100_000;

impl Storage {
    /// Writes what has changed.
    pub(super) fn save(&mut self, guard: &mut Guard) -> Option<Next> {
        let unwritten = match self.saving.waiting.is_empty() {
            true => self.take_unsaved(guard, false)?,
            false => self.saving.waiting.remove(0),
        };
        let (key, text) = (unwritten.key.clone(), unwritten.segment.text.clone());
        self.saving.in_flight = Some(unwritten);
        Some((Operation::Write { key, text }, Purpose::Save))
    }

    fn take_unsaved(&mut self, guard: &mut Guard, everything: bool) -> Option<Unwritten> {
        let (segment, hashes) = guard.take_unsaved_hashes(everything)?;
        Some(self.unwritten(guard, segment, hashes))
    }

    fn unwritten(&mut self, guard: &Guard, segment: Segment, hashes: Vec<u64>) -> Unwritten {
        Unwritten {
            key: self.saving.segment_key(&self.names, &self.writer, segment.level),
            segment,
            hashes,
            clear: guard.clear_number(),
        }
    }

    /// A segment was written.
    pub(super) fn saved(&mut self, now: Now) {
        let Some(Unwritten {
            key, segment, clear, ..
        }) = self.saving.in_flight.take()
        else {
            return;
        };
        self.listing.insert(key, Kind::Segment { level: segment.level }, clear);
        self.notices.signal = self.has_signals;
        self.compactions
            .after_write(segment.level, &self.listing, now.steady_ms, &mut self.random);
    }

    /// Stores the snapshot in use if it is due, or removes the stored one if it is not to be kept.
    pub(super) fn save_snapshot(&mut self, guard: &Guard, now: Now) -> Option<Next> {
        let due_ms = self.saving.snapshot_ms(guard, now)?;
        if due_ms > now.steady_ms && !self.is_flushing {
            return None;
        }
        let (key, clear) = (self.names.snapshot(self.clear), self.clear);
        self.saving.snapshot_in_flight = guard.snapshots();
        if let Some(text) = guard.stored_snapshot(now) {
            self.listing.insert(key.clone(), Kind::Snapshot { clear }, clear);
            return Some((Operation::Write { key, text }, Purpose::Snapshot));
        }
        if self.listing.get(&key).is_none() {
            self.saving.snapshot_is_saved();
            return None;
        }
        let keys = vec![key];
        self.listing.remove(&keys);
        Some((Operation::Remove { keys, only_if: None }, Purpose::Snapshot))
    }

    /// The page hides, and may never run again. While an operation is under way nothing else can be written: the stash
    /// has all that is not, in one value, which takes the place of what the page has left before.
    pub fn hide(&mut self, guard: &mut Guard, now: Now) -> Hidden {
        let mut hidden = Hidden::default();
        if !self.is_loaded || self.place != Place::Store {
            return hidden;
        }
        self.flush();
        if let Some(new) = self.take_unsaved(guard, true) {
            self.wait_to_write(guard, new);
        }
        if self.stashes {
            hidden.stash = self.stash(guard);
            if hidden.stash.is_some() {
                self.saving.stash.clone_from(&hidden.stash);
            }
        }
        if self.flight.is_none() {
            let write = self.save(guard).or_else(|| self.save_snapshot(guard, now));
            hidden.write = write.map(|(operation, purpose)| self.start(operation, purpose, now));
        }
        hidden
    }

    /// Has a segment written later, in one with what waits already: however often a page hides, few wait.
    fn wait_to_write(&mut self, guard: &Guard, mut new: Unwritten) {
        if let Some(waiting) = self.saving.waiting.pop() {
            let hashes = [waiting.hashes.as_slice(), &new.hashes].concat();
            match guard.segment_of(&hashes) {
                Ok(both) => new = self.unwritten(guard, both, hashes),
                Err(_) => self.saving.waiting.push(waiting),
            }
        }
        self.saving.waiting.push(new);
    }

    /// All that is not written yet; of too much the latest part.
    fn stash(&self, guard: &Guard) -> Option<String> {
        let in_flight = self
            .saving
            .in_flight
            .iter()
            .filter(|unwritten| unwritten.clear == self.clear);
        let unwritten = in_flight.chain(&self.saving.waiting);
        let mut hashes: Vec<u64> = unwritten.flat_map(|unwritten| unwritten.hashes.clone()).collect();
        while !hashes.is_empty() {
            let segment = guard.segment_of(&hashes).ok()?;
            if segment.text.len() <= MAX_STASH {
                return Some(segment.text);
            }
            hashes.drain(..hashes.len().div_ceil(2));
        }
        None
    }

    /// Removes a stash that was taken over, or this page's own, once everything is written.
    pub(super) fn unstash(&mut self, guard: &Guard) -> Option<Next> {
        if !self.saving.waiting.is_empty() || guard.is_unsaved(false) {
            return None;
        }
        let own = self.saving.stash.take().map(|text| (self.stash_key(), text));
        self.taken_stashes.extend(own);
        let (key, text) = self.taken_stashes.last().cloned()?;
        let (keys, only_if) = (vec![key], Some(text));
        Some((Operation::Remove { keys, only_if }, Purpose::Unstash))
    }
}
