//! What rows hold, by what their tabs had done, and what a tab must know of them: one look later every tab knows a row.
//! And what must hold of what is written, where and when.

use std::collections::BTreeSet;

use seenguard::Time;
use seenguard::device::{Explanation, Guard, Place, Step, Storage};

use super::conditions::SECOND;
use super::database::is_row;
use super::device::Device;
use super::items::{Item, Items};
use super::job::{Job, Stage};
use super::ledger::{Ledger, Recording};
use super::performing::HURRY;
use super::scene::Scene;
use super::tab::{Holds, NAMESPACE, PREFIX, Tab, number_of};

/// So many changes are in one row of a page that is visible.
const ROW: usize = 1_000;
/// Characters of a row in localStorage beside IndexedDB: at most, and at least if something is left out.
const MOST_OF_LOCAL_ROW: usize = 50_000;
const LEAST_OF_LOCAL_ROW: usize = 20_000;
const MOST_OF_LOCAL_ROWS: usize = 200_000;
/// In this time a page that is visible sees what others have stored, if nothing fails: it looks every ten seconds.
const SEEN_WITHIN_MS: u64 = 11 * SECOND;
/// A first look that has failed is tried again after a minute, and a quarter more.
const FIRST_LOOK_WITHIN_MS: u64 = 76 * SECOND;
/// Of a device with more recordings some are not counted each time.
const MANY: usize = 2_000;

/// A row as it is read.
struct Row {
    guard: Guard,
}

impl Row {
    fn read(key: &str, text: &str) -> Row {
        let mut guard = Guard::new(36_500.0, 50_000).expect("the options are those of a guard");
        let mut storage = Storage::new(PREFIX, NAMESPACE, Some(Place::IndexedDb), 0, &mut guard);
        storage.merge_local(&mut guard, key, text);
        Row { guard }
    }

    fn holds(&self, recording: &Recording, items: &Items) -> bool {
        let text = items.text(recording.item);
        let now = Time::from_unix_ms(recording.at);
        match self.guard.explain(text, now) {
            Some(Explanation::Pending { at } | Explanation::Device { at }) => !recording.unseen && at == recording.at,
            _ => recording.unseen && !self.guard.unseen(&[text], now).is_empty(),
        }
    }
}

impl Device {
    /// What a row holds of what its tab has yet to save.
    pub fn held_by(&self, key: &str, text: &str, unsaved: &Holds, scene: &Scene<'_>) -> Holds {
        let row = Row::read(key, text);
        let is_held = |index: &&usize| row.holds(&self.ledger.recordings[**index], scene.items);
        let keys = unsaved.delivered.iter();
        let delivered = keys.filter(|((item, at), _)| {
            let mut all = self.ledger.of(*item);
            all.any(|(_, recording)| recording.at == *at && row.holds(recording, scene.items))
        });
        Holds {
            recordings: unsaved.recordings.iter().filter(is_held).copied().collect(),
            covered: unsaved.covered.iter().filter(is_held).copied().collect(),
            delivered: delivered.map(|(key, confirmed)| (*key, *confirmed)).collect(),
        }
    }

    /// A transaction puts this.
    pub fn note_put(&mut self, tab: usize, job: &mut Job, key: &str, text: &str, scene: &Scene<'_>) {
        if is_row(key) {
            let unsaved = job.unsaved.clone().unwrap_or_default();
            let holds = self.held_by(key, text, &unsaved, scene);
            scene.trace(|| format!("{}: {key} holds {:?}", self.tabs[tab].serial, holds.recordings));
            job.rows.push((key.to_owned(), text.to_owned()));
            job.holds.add(&holds);
            self.tabs[tab].rows.insert(key.to_owned());
            self.contents.insert(key.to_owned(), holds);
            return;
        }
        job.meta_key = Some((key.to_owned(), text.to_owned()));
    }

    /// A transaction has done what it is to do.
    pub fn is_done(&mut self, tab: usize, job: &Job, now: u64) {
        job.rows.iter().for_each(|(key, _)| self.is_stored(key, now));
        let Some(key) = &job.meta_key else { return };
        let meta = self.metas.entry(key.clone()).or_insert(job.meta);
        *meta = (meta.0.min(job.meta.0), meta.1 && job.meta.1);
        if job.meta.1 {
            for &index in &self.tabs[tab].due {
                self.ledger.recordings[index].to_deliver = true;
            }
        }
    }

    /// A row is stored.
    pub fn is_stored(&mut self, key: &str, now: u64) {
        self.stored_at.insert(key.to_owned(), now);
        for &index in self.contents.get(key).into_iter().flat_map(|holds| &holds.recordings) {
            let saved = &mut self.ledger.recordings[index].saved;
            *saved = (*saved).max(Some(number_of(key)));
        }
    }

    /// What a row holds is in these from now on.
    pub fn moves_into(&mut self, key: &str, rows: &[(String, String)], scene: &Scene<'_>) {
        let Some(moved) = self.contents.get(key).cloned() else {
            return;
        };
        for (key, text) in rows {
            let holds = self.held_by(key, text, &moved, scene);
            self.contents.entry(key.clone()).or_default().add(&holds);
        }
    }

    /// A tab has written a later row in place of this one: what is not put yet, and had no room in it, is stored no more.
    pub fn is_replaced(&mut self, tab: usize, key: &str) {
        let page = &self.tabs[tab];
        let later = page.own_local.as_ref().and_then(|own| self.contents.get(own));
        let former = self.contents.get(key).into_iter().flat_map(|holds| &holds.recordings);
        for index in former.filter(|index| page.unsaved.recordings.contains(index)) {
            if later.is_some_and(|later| !later.recordings.contains(index)) {
                self.ledger.recordings[*index].saved = None;
            }
        }
    }

    /// A tab has read what is stored under this key.
    pub fn knows_row(&mut self, tab: usize, key: &str, text: &str, scene: &Scene<'_>) {
        self.tabs[tab].hear(&self.ledger);
        if number_of(key) != self.tabs[tab].number {
            return;
        }
        let page = &mut self.tabs[tab];
        if let Some(&(deletion, is_reporting)) = self.metas.get(&(key.to_owned(), text.to_owned())) {
            page.knows_deletion = page.knows_deletion.max(deletion);
            page.is_reporting |= is_reporting;
        }
        page.rows.insert(key.to_owned());
        scene.trace(|| format!("{}: knows {key}", page.serial));
        let Some(holds) = self.contents.get(key) else {
            return;
        };
        let time = Time::from_unix_ms(scene.now.saturating_add_signed(self.clock_off_ms));
        for &index in &holds.recordings {
            let recording = &self.ledger.recordings[index];
            if !page.known.insert(index) {
                continue;
            }
            let item = recording.item;
            let is_settled = self.ledger.covered.contains(&item) || page.view.contains(scene.items.text(item), time);
            if !is_settled && !recording.unseen {
                page.due.insert(index);
            }
        }
        // What another tab has settled need not be pending here.
        let is_due = |&index: &usize| !self.ledger.covered.contains(&self.ledger.recordings[index].item);
        page.due.retain(is_due);
        page.settled.extend(&holds.covered);
        for (key, confirmed) in &holds.delivered {
            let known = page.confirmed.entry(*key).or_insert(*confirmed);
            known.times = known.times.max(confirmed.times);
            known.wall_ms = known.wall_ms.max(confirmed.wall_ms);
        }
    }

    /// A tab has learned of a clear. `keeps`: what it recorded itself stays.
    pub fn renumbered(&mut self, tab: usize, keeps: bool, scene: &mut Scene<'_>) {
        let (page, ledger) = (&mut self.tabs[tab], &mut self.ledger);
        let own: BTreeSet<usize> = page.own.iter().copied().collect();
        let number = page.number;
        page.forget(|index| keeps && own.contains(&index) && ledger.recordings[index].number >= number);
        for &index in &page.known {
            let known = &mut ledger.recordings[index].number;
            *known = page.number.max(*known);
            if !ledger.recordings[index].unseen {
                page.due.insert(index);
            }
        }
        self.highest = self.highest.max(page.number);
        scene.trace(|| {
            format!(
                "{}: learns of {}, keeps {keeps} {:?}",
                page.serial, page.number, page.known
            )
        });
        scene.tally.reach(match page.known.is_empty() {
            true => "a tab learns of a clear",
            false => "what a tab recorded before it learned of a clear is kept",
        });
    }

    /// Whether a recording may have left a tab's table, or another may have taken its place there.
    pub fn may_have_left(&self, page: &Tab, index: usize) -> bool {
        let ledger = &self.ledger;
        let recording = &ledger.recordings[index];
        let is_replacing = |(other, _): (usize, &Recording)| {
            other != index && (other > index || recording.missed_of_item.contains(&other))
        };
        !page.must_remember(ledger, index)
            || ledger.may_be_deleted(recording)
            || ledger.of(recording.item).any(is_replacing)
            || (recording.unseen && ledger.unseen_since(index) >= 1_000)
    }

    /// What is under a lower number than the process of a page has is neither written nor said.
    pub fn check_number(&self, tab: usize) {
        let page = &self.tabs[tab];
        let heard = page.signal().unwrap_or(0);
        assert!(
            page.number >= heard,
            "cleared: a tab writes under {}, and its process has {heard}",
            page.number
        );
    }

    /// What a put begins with: all that is unsaved, the latest of it if that is more than a row.
    pub fn check_put(&self, tab: usize, job: &mut Job) {
        let page = &self.tabs[tab];
        let unsaved = job.unsaved.take().unwrap_or_default();
        if page.changes > ROW && !page.is_hidden {
            return;
        }
        for index in unsaved.recordings.difference(&job.holds.recordings) {
            assert!(
                self.may_have_left(page, *index) || !page.known.contains(index),
                "saved: a put of a page {} leaves out {:?}",
                if page.is_hidden {
                    "that hides"
                } else {
                    "that is visible"
                },
                self.ledger.recordings[*index]
            );
        }
        // What is not in it is of no use any more.
        job.holds = unsaved;
    }

    pub fn check_local_row(&self, tab: usize, holds: &Holds, length: usize, scene: &Scene<'_>) {
        let page = &self.tabs[tab];
        assert!(
            length <= MOST_OF_LOCAL_ROW,
            "limits: a row of {length} characters in localStorage"
        );
        let left_out = || page.unsaved.recordings.difference(&holds.recordings);
        let missing = left_out().filter(|index| !self.may_have_left(page, **index)).last();
        if let Some(&missing) = missing {
            let latest =
                holds.recordings.last().is_some_and(|&last| missing < last) || !page.unsaved.delivered.is_empty();
            let is_long =
                length >= LEAST_OF_LOCAL_ROW || holds.recordings.len() >= ROW / 2 || scene.conditions.has_long_ids();
            assert!(
                is_long && latest,
                "saved: a row of {length} characters in localStorage leaves out {:?}",
                self.ledger.recordings[missing]
            );
        }
        let Some((_, copy)) = &page.local else { return };
        let lengths = copy
            .keys(PREFIX)
            .into_iter()
            .filter(|key| is_row(key))
            .map(|key| copy.values[&key].len());
        let all: usize = lengths.sum();
        let knows_all = page.has_passed && !page.is_troubled && !scene.conditions.late_signals && !self.was_away;
        assert!(
            !knows_all || all <= MOST_OF_LOCAL_ROWS + MOST_OF_LOCAL_ROW,
            "limits: {all} characters of rows in localStorage"
        );
    }

    /// A hidden page begins nothing but a put, and the look of `open`.
    pub fn check_hidden(&self, tab: usize, job: &Job) {
        let page = &self.tabs[tab];
        let may_be = match job.step {
            Step::Put | Step::Keep => true,
            Step::Look => !page.has_looked(),
            _ => false,
        };
        assert!(
            !page.is_hidden || may_be,
            "hidden: a page that is hidden begins {:?}",
            job.step
        );
    }

    /// As a page hides, all that it recorded and has not saved is in the put that it begins, and it holds nothing else.
    pub fn check_hides(&self, tab: usize) {
        let page = &self.tabs[tab];
        let step = page.job.as_ref().map(|job| job.step);
        let unsaved = || {
            page.unsaved
                .recordings
                .iter()
                .filter(|index| !self.may_have_left(page, **index))
        };
        assert!(
            unsaved().next().is_none() || step == Some(Step::Put) || page.is_troubled,
            "saved: a page hides, begins {step:?}, and has not saved {:?}",
            unsaved()
                .map(|index| &self.ledger.recordings[*index])
                .collect::<Vec<_>>()
        );
        if let Some(job) = &page.job {
            self.check_hidden(tab, job);
        }
        let reads = |job: &Job| matches!(job.step, Step::Look | Step::Pass) && job.stage != Stage::Told;
        assert!(!page.late.iter().any(reads), "hidden: a page that hides holds a lock");
    }

    /// A page that waits, and whose storage works, has saved everything.
    pub fn check_waiting(&self, tab: usize, scene: &Scene<'_>) {
        let page = &self.tabs[tab];
        // Within a second of the last failure nothing is tried again.
        let waits = page.is_troubled || page.timers.contains_key(&HURRY);
        let is_under_way = page.storage.is_under_way(page.storage.transaction());
        if is_under_way || waits || !page.has_looked() {
            return;
        }
        let unsaved = page
            .unsaved
            .recordings
            .iter()
            .find(|index| !self.may_have_left(page, **index));
        assert!(
            unsaved.is_none(),
            "saved: a tab waits, and has not saved {:?} at {}",
            unsaved.map(|index| &self.ledger.recordings[*index]),
            scene.now
        );
    }

    /// Whoever has looked knows every row.
    pub fn check_look(&self, tab: usize, job: &Job) {
        let page = &self.tabs[tab];
        let highest = job.listed.iter().map(|key| number_of(key)).max().unwrap_or(0);
        assert!(
            page.number >= highest,
            "cleared: a tab has found {highest}, and knows of {}",
            page.number
        );
        for key in job
            .listed
            .iter()
            .filter(|key| is_row(key) && number_of(key) == page.number)
        {
            assert!(
                page.rows.contains(key) || job.missed.contains(key),
                "known: a tab has looked, and has not read {key}"
            );
        }
    }

    /// A page that is visible, and whose storage works, has seen what others have stored.
    pub fn check_seen(&self, tab: usize, scene: &Scene<'_>) {
        let page = &self.tabs[tab];
        let is_well = !page.is_troubled && page.is_connected && page.job.is_none() && !page.is_hidden;
        let within = if page.has_looked() {
            SEEN_WITHIN_MS
        } else {
            FIRST_LOOK_WITHIN_MS
        };
        if page.place != Place::IndexedDb || !is_well || scene.now < page.failed_at + within {
            return;
        }
        let rows = self
            .database
            .keys(PREFIX)
            .filter(|key| is_row(key) && number_of(key) == page.number);
        let unseen = rows.filter(|key| !page.rows.contains(*key)).find(|key| {
            let stored_at = self.stored_at.get(*key).copied().unwrap_or(u64::MAX);
            stored_at.max(page.shown_at).saturating_add(SEEN_WITHIN_MS) < scene.now
        });
        assert!(
            unseen.is_none(),
            "seen: at {} a visible page has not read {unseen:?}, stored at {:?}",
            scene.now,
            unseen.and_then(|key| self.stored_at.get(key))
        );
    }

    /// What is saved is in some row, or a tab has it that is yet to save it anew.
    pub fn check_nothing_lost(&self, scene: &mut Scene<'_>) {
        let recordings = &self.ledger.recordings;
        if recordings.len() > MANY && scene.random.below(200) > 0 {
            return;
        }
        let mut held: BTreeSet<usize> = BTreeSet::new();
        let local = self.locals.iter().flat_map(|local| local.values().keys());
        for key in self.database.keys(PREFIX).chain(local).filter(|key| is_row(key)) {
            held.extend(self.contents.get(key).into_iter().flat_map(|holds| &holds.recordings));
        }
        for page in &self.tabs {
            held.extend(&page.unsaved.recordings);
            held.extend(page.known.iter().filter(|_| self.was_dropped));
        }
        for (index, recording) in recordings.iter().enumerate() {
            let counts = recording.saved.is_some_and(|number| number >= self.highest) && !held.contains(&index);
            let has_left = || {
                let ledger: &Ledger = &self.ledger;
                let is_later = |(other, _): (usize, &Recording)| {
                    other != index && (other > index || recording.missed_of_item.contains(&other))
                };
                ledger.higher(index) >= ledger.remember
                    || ledger.may_be_deleted(recording)
                    || ledger.of(recording.item).any(is_later)
                    || recording.unseen && ledger.unseen_since(index) >= 1_000
            };
            assert!(
                !counts || has_left() || self.was_dropped,
                "lost: this was saved, and is in no row: {recording:?}"
            );
        }
    }
}

/// Earlier recordings of an item that this tab need not have known.
pub fn missed_of_item(page: &Tab, ledger: &Ledger, item: Item, before: usize) -> Vec<usize> {
    let earlier = ledger.of(item).map(|(index, _)| index).filter(|&index| index < before);
    earlier.filter(|&index| !page.known.contains(&index)).collect()
}
