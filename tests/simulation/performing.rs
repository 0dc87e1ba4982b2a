//! A device performs what the storage protocol of its tabs decides, one thing at a time; between any two of them other
//! tabs do theirs, or this one dies. What a call has brought about is seen from outside.

use seenguard::{Now, Operation, Outcome, Storage};

use super::bounds;
use super::chance::Chance;
use super::device::Device;
use super::job::Job;
use super::knowing::clear_number_in;
use super::scene::Scene;
use super::snapshots;
use super::store::{is_segment, is_snapshot};
use super::stored_snapshot::{self, Kept};
use super::tab::Tab;

/// So many segments of a level are compacted.
const SEGMENTS_A_LEVEL: usize = 4;

/// What a call of a tab's protocol may change.
pub struct Before {
    pub is_loaded: bool,
    pub is_clearing: bool,
    pub is_unsaved: bool,
    pub clear: u64,
    /// Whether the call is a clear.
    pub is_own_clear: bool,
}

impl Before {
    pub fn of(page: &Tab) -> Self {
        Before {
            is_loaded: page.storage.is_loaded(),
            is_clearing: page.storage.is_clearing(),
            is_unsaved: page.guard.is_unsaved(true),
            clear: page.guard.clear_number(),
            is_own_clear: false,
        }
    }
}

impl Device {
    /// Lets the next thing happen to a tab's storage: it is asked for an operation, some of one is performed, or its
    /// outcome is told.
    pub fn step(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let wall_ms = self.wall(scene.now);
        let page = &mut self.tabs[tab];
        page.earliest_ms = page.earliest_ms.min(wall_ms);
        if page.frozen {
            return;
        }
        if !page.late.is_empty() && scene.random.percent(20) {
            let late = page.late.swap_remove(scene.random.index(page.late.len()));
            self.answer_late(tab, late, scene);
        }
        match self.tabs[tab].job.take() {
            // The page asks again when something has changed.
            Some(job) if job.hangs || scene.random.percent(5) => {
                self.tabs[tab].job = Some(job);
                self.ask(tab, scene);
            }
            Some(mut job) => match self.perform(tab, &mut job, scene) {
                true => self.tabs[tab].job = Some(job),
                false => self.answer(tab, job, scene),
            },
            None => self.ask(tab, scene),
        }
        self.check_storage(scene);
    }

    /// Asks for the next operation.
    fn ask(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let steady_ms = self.clocks(tab, scene.now).steady_ms;
        if let Some(job) = self.tabs[tab].job.take_if(|job| job.deadline_ms <= steady_ms) {
            let number = job.number;
            self.call(tab, scene, |page, now| {
                page.late.push(job);
                page.is_troubled = true;
                let outcome = Outcome::Failed { is_full: false };
                page.storage.complete(&mut page.guard, number, outcome, now);
            });
            scene.tally.reach("an operation never answers");
        }
        let was_loaded = self.tabs[tab].storage.is_loaded();
        let operation = self.call(tab, scene, |page, now| page.storage.next(&mut page.guard, now));
        let page = &mut self.tabs[tab];
        let Operation::Wait { until_ms } = operation else {
            let has_unsaved = !page.storage.is_clearing() || !page.unsaved.recordings.is_empty();
            if !was_loaded && has_unsaved && matches!(&operation, Operation::Write { key, .. } if is_segment(key)) {
                // It was not unsaved before, since it had no number.
                page.take_unsaved();
            }
            return self.begin(tab, operation, scene);
        };
        let acts_ms = page.job.as_ref().map_or(until_ms.max(steady_ms), |job| job.deadline_ms);
        page.acts_at = acts_ms.saturating_add(page.steady_zero);
        if page.job.is_none() && until_ms > steady_ms {
            let is_written = !page.guard.is_unsaved(false) && page.taken.is_none() && page.writing.is_none();
            let is_done = is_written && page.storage.is_loaded() && page.storage.is_current();
            // What has failed is tried again after a while.
            page.is_troubled |= page.storage.trouble().is_some();
            assert!(
                is_done || page.is_troubled,
                "storage: a tab waits, and has not written and read everything"
            );
            page.is_troubled &= !is_done;
        }
    }

    /// An operation is under way from now on.
    pub fn begin(&mut self, tab: usize, operation: Operation, scene: &mut Scene<'_>) {
        let clocks = self.clocks(tab, scene.now);
        let page = &mut self.tabs[tab];
        assert!(page.job.is_none(), "storage: one operation at a time");
        if let Operation::Write { key, text } = &operation
            && is_snapshot(key)
        {
            let kept = Kept::of(&page.view, clocks);
            self.snapshots.entry(text.clone()).or_insert_with(|| kept.into());
        }
        let holds = page.holds_of(&operation);
        let mut job = Job::new(page.storage.operation(), operation, holds, &self.store, scene);
        let next = page.storage.next(&mut page.guard, clocks);
        assert!(
            matches!(next, Operation::Wait { .. }),
            "storage: one operation at a time"
        );
        job.deadline_ms = clocks.steady_ms + Storage::OPERATION_MS;
        page.acts_at = job.deadline_ms.saturating_add(page.steady_zero);
        page.job = Some(job);
    }

    /// Performs the next part of an operation, if there is one.
    fn perform(&mut self, tab: usize, job: &mut Job, scene: &mut Scene<'_>) -> bool {
        if !job.perform(&mut self.store) {
            return false;
        }
        let page = &mut self.tabs[tab];
        let has_removed = page.clear_step == Some("a tab dies after the removal of a clear");
        page.clear_step = page.storage.is_clearing().then_some(match &job.operation {
            Operation::List(_) if has_removed => "a tab dies after the last listing of a clear",
            Operation::List(_) => "a tab dies after the listing of a clear",
            Operation::Read(_) => "a tab dies after the reading of a clear",
            Operation::Write { .. } => "a tab dies after the writing of a clear",
            _ => "a tab dies after the removal of a clear",
        });
        match &job.operation {
            Operation::List(_) => {
                let is_enough = |key: String| self.store.segments_like(&key) >= SEGMENTS_A_LEVEL;
                if !page.crowded.take().is_none_or(is_enough) {
                    scene.tally.reach("a compaction finds that another was quicker");
                }
            }
            Operation::Write { key, text } if is_segment(key) => match job.holds.clone() {
                Some(holds) => {
                    bounds::check_size_of_one(&holds, text, &self.ledger, scene);
                    let is_enough = self.store.segments_like(key) >= SEGMENTS_A_LEVEL;
                    page.crowded = is_enough.then(|| key.clone());
                    self.stored(tab, holds, clear_number_in(text));
                }
                None => {
                    page.has_union = true;
                    scene.tally.reach("a union is written");
                }
            },
            Operation::Remove { keys, only_if } => {
                page.has_union = false;
                if only_if.is_some() && *keys != [page.storage.stash_key()] {
                    scene.tally.reach("a stash is taken over");
                }
                if page.storage.is_clearing() {
                    // What a clear overtakes may be gone before a segment tells of it.
                    self.ledger.unstore_older(page.guard.clear_number(), page.earliest_ms);
                    if scene.conditions.fills_up {
                        self.ledger.resolved = None;
                        self.ledger.reporting_stored = None;
                    }
                }
            }
            _ => {}
        }
        true
    }

    /// Tells what came of an operation.
    fn answer(&mut self, tab: usize, job: Job, scene: &mut Scene<'_>) {
        let outcome = job.outcome();
        let page = &mut self.tabs[tab];
        match (&job.operation, &outcome) {
            (operation, Outcome::Failed { .. }) => {
                page.is_troubled = true;
                if matches!(operation, Operation::Write { .. }) {
                    scene.tally.reach("a write fails");
                }
            }
            (Operation::Read(keys), Outcome::Texts(texts)) => {
                page.hear(&self.ledger);
                if texts.len() < keys.len() {
                    scene.tally.reach("a key vanishes between listing and reading");
                }
                let snapshot = texts.iter().find(|(key, _)| is_snapshot(key));
                if let Some((key, text)) = snapshot.filter(|_| !page.storage.is_loaded()) {
                    page.found_snapshot = Some((stored_snapshot::clear_of(key), text.clone()));
                }
            }
            (Operation::List(_), _) => page.listed = job.tick,
            (Operation::Write { key, .. }, _) if page.writing.as_ref().is_some_and(|(other, _)| other == key) => {
                page.writing = None;
            }
            _ => {}
        }
        page.acts_at = scene.now;
        let is_saved = job.holds.is_some() && outcome == Outcome::Done;
        let (number, done) = (job.number, outcome);
        self.call(tab, scene, |page, now| {
            page.storage.complete(&mut page.guard, number, done, now)
        });
        assert!(
            !is_saved || !scene.conditions.has_signals || self.tabs[tab].notices.signal,
            "storage: others hear of what is written"
        );
    }

    /// What is no longer awaited is performed and answered all the same.
    fn answer_late(&mut self, tab: usize, mut job: Job, scene: &mut Scene<'_>) {
        while job.perform(&mut self.store) {
            if let Some(holds) = job.holds.clone()
                && let Operation::Write { text, .. } = &job.operation
            {
                self.stored(tab, holds, clear_number_in(text));
            }
        }
        let clocks = self.clocks(tab, scene.now);
        let page = &mut self.tabs[tab];
        let state = |page: &Tab| {
            let Tab { storage, guard, .. } = page;
            let flags = [
                storage.is_loaded(),
                storage.is_current(),
                storage.is_settled(),
                storage.is_clearing(),
            ];
            (
                flags,
                storage.operation(),
                storage.trouble(),
                guard.clear_number(),
                guard.is_unsaved(true),
            )
        };
        let before = state(page);
        page.storage
            .complete(&mut page.guard, job.number, job.outcome(), clocks);
        assert_eq!(before, state(page), "storage: a late outcome changes nothing");
    }

    /// Calls a tab's protocol, and looks at what that has brought about.
    pub fn call<T>(&mut self, tab: usize, scene: &mut Scene<'_>, act: impl FnOnce(&mut Tab, Now) -> T) -> T {
        let clocks = self.clocks(tab, scene.now);
        let page = &mut self.tabs[tab];
        let before = Before::of(page);
        let result = act(page, clocks);
        self.observe(tab, before, scene);
        result
    }

    pub fn observe(&mut self, tab: usize, before: Before, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        page.notices = page.storage.take_notices();
        let notices = page.notices;
        if page.guard.clear_number() != before.clear {
            self.cleared(tab, &before, scene);
        }
        let page = &mut self.tabs[tab];
        let is_new = page.storage.is_loaded() && !before.is_loaded;
        if before.is_unsaved && !page.guard.is_unsaved(true) && page.guard.clear_number() == before.clear {
            page.take_unsaved();
        }
        snapshots::note_dropped(page, &self.ledger, scene);
        if page.storage.is_current() && page.learned != page.listed {
            page.learned = page.listed;
            self.learn(tab, scene);
        }
        if is_new {
            stored_snapshot::restored(self, tab, scene);
            self.number_early(tab);
        }
        if before.is_clearing && !self.tabs[tab].storage.is_clearing() {
            self.tabs[tab].clear_step = None;
            self.resolved(tab, scene);
        }
        if notices.signal {
            self.tell_others(tab, scene);
        }
        for (is_noticed, what) in [
            (notices.damaged, "damaged text is set aside"),
            (notices.newer, "segments of a newer version are left alone"),
            (notices.damaged_snapshot, "a damaged stored snapshot is refused"),
        ] {
            if is_noticed {
                scene.tally.reach(what);
            }
        }
    }
}
