//! What is in a device's storage, and what its tabs must know of it: by what was written before they have listed it.
//!
//! Of a clear the number decides: what is older than it, by the device's clock, is gone for whoever knows the number,
//! and what was recorded since stays, whoever recorded it. A clock that was set in between tells nothing of what other
//! tabs have recorded who had not heard.

use std::collections::BTreeSet;

use seenguard::{Guard, Now, Time};

use super::device::Device;
use super::items::Item;
use super::ledger::{Deletion, Ledger, Recording, Stored};
use super::performing::Before;
use super::scene::Scene;
use super::store::{is_segment, is_snapshot, is_stash};
use super::stored_snapshot;
use super::tab::{Confirmed, Holds, Tab};

impl Device {
    /// From now on this is in storage, in a segment that tells of this clear.
    pub fn stored(&mut self, tab: usize, holds: Holds, clear: u64) {
        let (page, ledger) = (&self.tabs[tab], &mut self.ledger);
        let tick = self.store.tick;
        let stored = Stored { tick, clear };
        for &index in &holds.recordings {
            ledger.recordings[index].stored.push(stored);
        }
        for index in holds.promised {
            ledger.recordings[index].to_deliver = true;
        }
        for index in holds.covered {
            ledger.stored_coverages.insert(index, stored);
        }
        for key in holds.delivered {
            if let Some(&confirmed) = page.confirmed.get(&key) {
                ledger.stored_deliveries.insert(key, (confirmed, stored));
            }
        }
        if holds.is_reporting {
            ledger.reporting_stored.get_or_insert(tick);
        }
        ledger.stored_deletions.insert(holds.deletion, stored);
    }

    /// What was recorded before the storage had loaded gets its counters now, above all that was loaded.
    pub fn number_early(&mut self, tab: usize) {
        let (page, ledger) = (&self.tabs[tab], &mut self.ledger);
        // A clear that was heard of first has made it forget the others.
        let kept = || page.own.iter().filter(|&&index| page.known.contains(&index));
        let others_known = page.known.len() - kept().count();
        for (place, &index) in kept().enumerate() {
            let item = ledger.recordings[index].item;
            let missed_of_item = missed_of_item(page, ledger, item, index);
            // A deletion that it heard of later has dropped what was recorded before it.
            let at = ledger.recordings[index].at;
            let is_before = |deletion: &&Deletion| deletion.before <= page.knows_deletion && deletion.latest_ms <= at;
            let before = ledger
                .deletions
                .iter()
                .filter(is_before)
                .map(|deletion| deletion.before);
            let knew_deletion = before.max().unwrap_or(0);
            let recording = &mut ledger.recordings[index];
            recording.certain = others_known + place;
            recording.missed = index.saturating_sub(recording.certain);
            recording.missed_of_item = missed_of_item;
            recording.knew_deletion = recording.knew_deletion.max(knew_deletion);
            recording.may_have_known_deletion = page.may_know_deletion;
        }
    }

    /// A tab knows of another clear: what it keeps is unsaved again.
    pub fn cleared(&mut self, tab: usize, before: &Before, scene: &mut Scene<'_>) {
        let wall_ms = self.clocks(tab, scene.now).wall_ms;
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        let number = page.guard.clear_number();
        // A number in the future was made by a clock that was ahead. Whoever clears too takes a higher one, and what was
        // recorded before the storage had loaded stays.
        let is_ahead = !before.is_own_clear && number > wall_ms;
        let is_spared = |index, recording: &Recording| {
            let is_early = !before.is_loaded && recording.author == page.serial;
            is_ahead && (before.is_clearing || is_early) && page.may_know(index, recording, before.clear)
        };
        let spared: BTreeSet<usize> = ledger.places(is_spared).collect();
        let is_since = |_, recording: &Recording| ledger.is_since(recording, number, wall_ms);
        let since: BTreeSet<usize> = ledger.places(is_since).filter(|_| !before.is_own_clear).collect();
        page.clear(|index| spared.contains(index) || since.contains(index));
        for &index in spared.iter().chain(&page.unsaved.recordings) {
            let known = &mut ledger.recordings[index].clear;
            *known = number.max(*known);
        }
        if is_ahead && before.is_clearing {
            scene.tally.reach("a clear overtakes one of a clock that was ahead");
        }
        if before.is_own_clear {
            page.found_snapshot = None;
        } else if before.is_loaded {
            scene.tally.reach("another tab's clear is noticed");
        }
        if !before.is_own_clear && !page.known.is_empty() {
            scene.tally.reach("what was recorded since a clear is kept");
        }
    }

    /// A clear is done: whoever opens learns of it, and nothing is left that was there before.
    pub fn resolved(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &self.tabs[tab];
        let clear = page.guard.clear_number();
        self.check_cleared(page.listed, clear);
        let mut segments = self.store.written_by(u64::MAX).filter(|(key, _)| is_segment(key));
        assert!(
            self.was_damaged || segments.any(|(_, text)| clear_number_in(text) >= clear),
            "cleared: no segment tells of a clear that is done"
        );
        let tick = self.store.tick;
        self.ledger.resolved = Some(Stored { tick, clear });
        scene.tally.reach("a clear is done");
    }

    /// Nothing that was in storage by then is from before this clear.
    pub fn check_cleared(&self, listed: u64, clear: u64) {
        for (key, text) in self.store.written_by(listed) {
            let number = match key {
                // Whoever has read it before it was damaged does not read it again.
                _ if is_segment(key) || is_stash(key) => {
                    let as_written = self.store.read_undamaged(key).map_or(0, clear_number_in);
                    clear_number_in(text).max(as_written)
                }
                _ if is_snapshot(key) || key.contains("/x/") => stored_snapshot::clear_of(key),
                _ => continue,
            };
            assert!(number >= clear, "cleared: {key} is from before {clear}");
        }
    }

    /// Notes what a tab must know from now on: what was in storage when it was listed last.
    pub fn learn(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let clocks = self.clocks(tab, scene.now);
        let (was_set, off_ms) = (self.clock_was_set, self.clock_off_ms);
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        let (listed, clear) = (page.listed, page.guard.clear_number());
        let must_know = |stored: &Stored| stored.is_known(listed, clear);
        let has_heard = |resolved: Stored| resolved.tick > listed || resolved.clear <= clear;
        assert!(
            ledger.resolved.is_none_or(has_heard),
            "cleared: a tab has not heard of a clear that is done"
        );
        page.is_reporting |= ledger.reporting_stored.is_some_and(|stored| stored <= listed);
        for (index, recording) in ledger.recordings.iter().enumerate() {
            // What was recorded in the very millisecond of the clear may have a later time.
            let wall_ms = recording.true_ms.saturating_add_signed(off_ms);
            let is_since = || !was_set && ledger.is_since(recording, clear, wall_ms);
            let is_known = recording.stored.iter().any(|stored| stored.is_known(listed, clear));
            let is_kept = || recording.stored.iter().any(|stored| stored.tick <= listed) && is_since();
            if !(is_known || is_kept()) || !page.known.insert(index) {
                continue;
            }
            if !is_known {
                let what = "what a tab recorded since a clear that it had not heard of is kept";
                scene.tally.reach(what);
            }
            page.is_reporting |= recording.was_to_deliver;
            let item = recording.item;
            let is_settled = ledger.covered.contains(&item) || page.view.contains(scene.items.text(item), clocks);
            if !is_settled && !recording.unseen {
                page.due.insert(index);
            }
        }
        // What another tab has settled need not be pending here.
        let is_due = |&index: &usize| !ledger.covered.contains(&ledger.recordings[index].item);
        page.due.retain(is_due);
        let deletions = ledger.stored_deletions.iter().filter(|(_, stored)| must_know(stored));
        page.knows_deletion = deletions.map(|(&before, _)| before).fold(page.knows_deletion, u32::max);
        let coverages = ledger.stored_coverages.iter().filter(|(_, stored)| must_know(stored));
        page.settled.extend(coverages.map(|(&index, _)| index));
        let is_stored = |(_, (_, stored)): &(_, &(_, Stored))| must_know(stored);
        let deliveries = ledger.stored_deliveries.iter().filter(is_stored);
        for (&key, (confirmed, _)) in deliveries {
            let known = page.confirmed.entry(key).or_insert(Confirmed {
                is_own: false,
                ..*confirmed
            });
            known.times = known.times.max(confirmed.times);
            known.wall_ms = known.wall_ms.max(confirmed.wall_ms);
        }
    }
}

/// The number of the latest clear that a segment tells of.
pub fn clear_number_in(segment: &str) -> u64 {
    let mut guard = Guard::new(1.0, 1).expect("the options are those of a guard");
    guard
        .merge(&[segment], Now::at(Time::from_unix_ms(0)))
        .expect("there is memory");
    guard.clear_number()
}

/// Earlier recordings of an item that this tab need not have known.
pub fn missed_of_item(page: &Tab, ledger: &Ledger, item: Item, before: usize) -> Vec<usize> {
    let earlier = ledger.of(item).map(|(index, _)| index).filter(|&index| index < before);
    earlier.filter(|&index| !page.known.contains(&index)).collect()
}
