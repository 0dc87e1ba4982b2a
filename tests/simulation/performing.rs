//! A device performs what the storage of its tabs decides, as the package's TypeScript does: one thing at a time, so that
//! between any two of them other tabs do theirs, or this one dies.

use seenguard::Time;
use seenguard::device::{Guard, Place, Step, Storage, Timer};

use super::chance::Chance;
use super::conditions::{MINUTE, SECOND};
use super::database::is_row;
use super::device::Device;
use super::job::{Fate, Job, Stage};
use super::scene::Scene;
use super::snapshots;
use super::stored_snapshot;
use super::tab::{PREFIX, SIGNAL, Tab, base36, number_of, signal_of};

/// Steps that follow from one event.
const MANY_STEPS: usize = 1_000;
/// What a timer is known by.
const TIMERS: [Timer; 7] = [
    Timer::Retry,
    Timer::Hurry,
    Timer::Local,
    Timer::Look,
    Timer::Pass,
    Timer::Keep,
    Timer::Limit,
];

pub const HURRY: u8 = 1;
const OPENING_MS: u64 = 10 * SECOND;

/// What can happen to a tab's storage next.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A change of localStorage reaches its process.
    Hear,
    Fire(u8),
    /// Its page stops waiting for what is stored.
    Open,
    /// An opening of IndexedDB answers after all.
    Connect,
    Step,
    Late(usize),
    Clear,
}

impl Device {
    /// What can happen to a tab's storage now.
    fn acts(&self, tab: usize, now: u64) -> Vec<Act> {
        let page = &self.tabs[tab];
        let mut acts = Vec::new();
        let late = page.late.iter().enumerate();
        acts.extend(late.filter_map(|(place, job)| self.may_step(job, page, now).then_some(Act::Late(place))));
        if page.job.as_ref().is_some_and(|job| self.may_step(job, page, now)) {
            acts.push(Act::Step);
        }
        if page.frozen {
            return acts;
        }
        let heard = page
            .local
            .as_ref()
            .and_then(|(local, copy)| self.locals[*local].next_ms(copy));
        if heard.is_some_and(|due| due <= now) {
            acts.push(Act::Hear);
        }
        let due = page.timers.iter().filter(|(_, fires_at)| **fires_at <= now);
        acts.extend(due.map(|(&timer, _)| Act::Fire(timer)));
        if !page.is_open && (page.has_looked() || page.opens_at <= now) {
            acts.push(Act::Open);
        }
        if page.opening.is_some_and(|(_, connects_at)| connects_at <= now) {
            acts.push(Act::Connect);
        }
        let may_clear = |lock: Option<u64>| lock.is_none_or(|lock| self.database.may_run(lock));
        if page.clearing.as_ref().is_some_and(|clearing| may_clear(clearing.lock)) {
            acts.push(Act::Clear);
        }
        acts
    }

    fn may_step(&self, job: &Job, page: &Tab, now: u64) -> bool {
        // An opening that has not answered in ten seconds has failed.
        let is_opening = |(begun, _): (u64, u64)| now < begun + OPENING_MS;
        if job.stage == Stage::Open && page.opening.is_some_and(is_opening) {
            return false;
        }
        let needs_page = !matches!(job.step, Step::Put | Step::Keep) || matches!(job.stage, Stage::Told | Stage::Open);
        let may_run = job.lock.is_none_or(|lock| self.database.may_run(lock));
        !job.hangs() && may_run && !(page.frozen && needs_page) && (job.stage != Stage::Told || job.tells_at <= now)
    }

    /// Lets one thing happen to a tab's storage. Whether there was any.
    pub fn step(&mut self, tab: usize, scene: &mut Scene<'_>) -> bool {
        let acts = self.acts(tab, scene.now);
        if acts.is_empty() {
            return false;
        }
        let act = *scene.random.pick(&acts);
        let page = &self.tabs[tab];
        scene.trace(|| {
            format!(
                "{}: {act:?} {:?}",
                page.serial,
                page.job.as_ref().map(|job| (job.step, job.place, job.stage))
            )
        });
        match act {
            Act::Hear => self.hear_change(tab, scene),
            Act::Fire(timer) => {
                self.tabs[tab].timers.remove(&timer);
                let page = &self.tabs[tab];
                let is_under_way = page.storage.is_under_way(page.storage.transaction());
                if TIMERS[usize::from(timer)] == Timer::Limit && is_under_way {
                    // That of a page that was frozen has been aborted.
                    let step = page.job.as_ref().map_or(Step::Pass, |job| job.step);
                    self.trouble(tab, step, scene);
                    self.tabs[tab].is_connected = false;
                    scene.tally.reach("a transaction never answers");
                }
                self.call(tab, false, scene, |storage, guard, _| {
                    storage.fired(guard, TIMERS[usize::from(timer)]);
                });
                self.run(tab, scene);
            }
            Act::Open => {
                self.tabs[tab].is_open = true;
                self.call(tab, false, scene, |storage, _, _| storage.opened());
                self.run(tab, scene);
            }
            Act::Connect => {
                self.tabs[tab].opening = None;
                self.tabs[tab].failed_at = scene.now;
                self.tabs[tab].is_connected = true;
            }
            Act::Step => {
                let job = self.tabs[tab].job.take();
                if let Some(job) = job.and_then(|job| self.perform(tab, job, scene)) {
                    self.tabs[tab].job = Some(job);
                }
            }
            Act::Late(place) => {
                let job = self.tabs[tab].late.swap_remove(place);
                if let Some(job) = self.perform(tab, job, scene) {
                    self.tabs[tab].late.push(job);
                }
            }
            Act::Clear => self.step_clear(tab, scene),
        }
        true
    }

    /// Calls a tab's storage, and notes what it has learned of a clear. `keeps`: what the tab recorded stays then.
    pub fn call<T>(
        &mut self,
        tab: usize,
        keeps: bool,
        scene: &mut Scene<'_>,
        act: impl FnOnce(&mut Storage, &mut Guard, Time) -> T,
    ) -> T {
        let time = self.time(scene.now);
        let page = &mut self.tabs[tab];
        let result = act(&mut page.storage, &mut page.guard, time);
        let (is_damaged, has_dropped) = page.storage.take_notices();
        for (is_noticed, what) in [
            (is_damaged, "damaged text is set aside"),
            (has_dropped, "the oldest rows in localStorage are dropped"),
        ] {
            if is_noticed {
                scene.tally.reach(what);
            }
        }
        self.was_dropped |= has_dropped;
        if page.guard.number() != page.number {
            self.renumbered(tab, keeps, scene);
        }
        snapshots::note_dropped(&mut self.tabs[tab], &self.ledger, scene);
        result
    }

    /// Performs what a tab's storage wants, until it waits.
    pub fn run(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.hear(tab, scene);
        for _ in 0..MANY_STEPS {
            let step = self.call(tab, false, scene, |storage, guard, now| storage.next(guard, now));
            scene.trace(|| format!("{}: wants {step:?}", self.tabs[tab].serial));
            match step {
                Step::Wait => return self.check_waiting(tab, scene),
                Step::Abort => self.abort(tab, scene),
                Step::LocalPut => self.put_local(tab, scene),
                Step::LocalRemove => {
                    let key = self.tabs[tab].storage.local_key().to_owned();
                    self.remove_local(tab, &key, scene);
                }
                Step::Signal => {
                    let number = self.tabs[tab].guard.number();
                    self.write_signal(tab, number, scene);
                }
                Step::Timer => {
                    let (timer, ms) = self.tabs[tab].storage.timer();
                    let timer = TIMERS.iter().position(|known| *known == timer).expect("a timer") as u8;
                    self.tabs[tab].timers.insert(timer, scene.now + u64::from(ms));
                }
                Step::Idle => self.clean(tab, scene),
                step => self.start(tab, step, scene),
            }
        }
        panic!("storage: a tab's work never ends");
    }

    /// Reads the number of the latest clear.
    pub fn hear(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &self.tabs[tab];
        let (signal, has_local) = (page.signal(), page.local.is_some());
        if signal.is_some() || (page.number > 0 && has_local) {
            self.call(tab, false, scene, |storage, guard, _| storage.hear(guard, signal));
        }
    }

    fn hear_change(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        let Some((local, copy)) = &mut page.local else { return };
        let Some(event) = self.locals[*local].hear(copy) else {
            return;
        };
        if event.key == SIGNAL {
            let numbers = [event.before, event.after].into_iter().flatten();
            let highest = numbers.filter_map(|text| signal_of(&text)).max();
            self.call(tab, false, scene, |storage, guard, _| {
                if highest.is_some() {
                    storage.hear(guard, highest);
                }
                storage.signalled();
            });
            self.run(tab, scene);
        } else if let Some(text) = event.after.filter(|_| event.key.starts_with(PREFIX)) {
            self.merge_local(tab, &event.key, &text, scene);
        }
    }

    /// A row in localStorage that another tab, or an earlier visit, has written.
    pub fn merge_local(&mut self, tab: usize, key: &str, text: &str, scene: &mut Scene<'_>) {
        if self.tabs[tab].place == Place::Custom {
            return;
        }
        self.call(tab, false, scene, |storage, guard, _| {
            storage.merge_local(guard, key, text);
        });
        // What is said of the whole waits for a look.
        if is_row(key) {
            self.knows_row(tab, key, text, scene);
        }
    }

    pub fn write_signal(&mut self, tab: usize, number: u64, scene: &mut Scene<'_>) -> bool {
        self.highest = self.highest.max(number);
        let text = format!("{:0>11}.{:08x}", base36(number), scene.random.next() as u32);
        self.set_local(tab, SIGNAL, Some(text), scene)
    }

    /// Sets a value of a tab's localStorage, of which others hear later. Whether there was room.
    pub fn set_local(&mut self, tab: usize, key: &str, text: Option<String>, scene: &mut Scene<'_>) -> bool {
        let delay = if scene.conditions.late_signals {
            scene.random.below(5 * SECOND)
        } else {
            0
        };
        match &mut self.tabs[tab].local {
            Some((local, copy)) => self.locals[*local].set(copy, key, text, scene.now + delay),
            None => false,
        }
    }

    fn put_local(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.check_number(tab);
        let row = self.call(tab, false, scene, |storage, guard, now| storage.local_row(guard, now));
        let Some((key, text)) = row else { return };
        let length = text.len();
        let unsaved = self.tabs[tab].unsaved.clone();
        let holds = self.held_by(&key, &text, &unsaved, scene);
        self.check_local_row(tab, &holds, length, scene);
        let is_written = self.set_local(tab, &key, Some(text), scene);
        if is_written {
            scene.tally.reach("a row is written into localStorage");
            self.tabs[tab].rows.insert(key.clone());
            self.contents.insert(key.clone(), holds);
            self.is_stored(&key, scene.now);
            self.tabs[tab].own_local = Some(key);
        }
        self.call(tab, false, scene, |storage, _, _| storage.local_written(is_written));
    }

    fn remove_local(&mut self, tab: usize, key: &str, scene: &mut Scene<'_>) {
        let page = &self.tabs[tab];
        if page.own_local.as_deref() != Some(key) && page.rows.contains(key) {
            scene.tally.reach("a row is moved out of localStorage");
        }
        self.is_replaced(tab, key);
        self.set_local(tab, key, None, scene);
        self.check_nothing_lost(scene);
    }

    /// A transaction is to be begun.
    fn start(&mut self, tab: usize, step: Step, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        // A put goes on as the page hides. Nobody would abort one that never answers.
        let mut before = page.job.take();
        before.iter_mut().for_each(Job::answers);
        page.late.extend(before);
        let (id, place) = (page.storage.transaction(), page.place);
        let job = Job::new(id, step, place, scene);
        let is_connected = place != Place::IndexedDb || page.is_connected;
        let job = match is_connected {
            true => self.begin(tab, job, place, scene),
            false => Some(job),
        };
        self.tabs[tab].job = job;
    }

    /// It begins in this place. In localStorage it is done at once.
    fn begin(&mut self, tab: usize, mut job: Job, place: Place, scene: &mut Scene<'_>) -> Option<Job> {
        job.place = place;
        if place == Place::Local {
            job.answers();
            self.was_away = true;
            self.tabs[tab].failed_at = scene.now;
        }
        if job.step != Step::Look {
            self.check_number(tab);
        }
        self.check_hidden(tab, &job);
        self.call(tab, false, scene, |storage, guard, _| storage.begin(guard, place));
        if place == Place::IndexedDb {
            job.lock = Some(self.database.begin(job.step != Step::Look));
        }
        job.stage = match job.step {
            Step::Put => {
                job.unsaved = Some(self.tabs[tab].unsaved.clone());
                while let Some((key, text)) =
                    self.call(tab, false, scene, |storage, guard, now| storage.next_write(guard, now))
                {
                    self.note_put(tab, &mut job, &key, &text, scene);
                    job.puts.push_back((key, text));
                }
                self.check_put(tab, &mut job);
                Stage::Write
            }
            Step::Keep => {
                let page = &self.tabs[tab];
                let key = page.storage.snapshot_key(&page.guard);
                match page.storage.drops_snapshot() {
                    true => job.deletions.push_back(key),
                    false => match stored_snapshot::text_of(self, tab, scene) {
                        Some(text) => job.puts.push_back((key, text)),
                        None => job.deletions.push_back(key),
                    },
                }
                Stage::Write
            }
            _ => Stage::List,
        };
        if place != Place::Local {
            return Some(job);
        }
        let mut next = Some(job);
        while let Some(job) = next {
            next = self.perform(tab, job, scene);
        }
        None
    }

    /// Performs the next request of a transaction. Returns what is left of it.
    fn perform(&mut self, tab: usize, mut job: Job, scene: &mut Scene<'_>) -> Option<Job> {
        match job.stage {
            Stage::Open => return self.connect(tab, job, scene),
            Stage::Told => {
                self.complete(tab, job, scene);
                return None;
            }
            Stage::Commit => {
                job.lock.take().inspect(|&lock| self.database.end(lock));
                job.stage = Stage::Told;
                job.undo.clear();
                self.is_done(tab, &job, scene.now);
                self.check_storage(scene);
                return Some(job);
            }
            _ => {}
        }
        match job.next_fate() {
            Fate::Hangs => return Some(job),
            Fate::Fails => {
                self.fail(tab, job, false, scene);
                return None;
            }
            Fate::Done => {}
        }
        match job.stage {
            Stage::List => self.list(tab, &mut job, scene),
            Stage::Read => self.read(tab, &mut job, scene),
            Stage::Write => {
                let has_room = self.write(tab, &mut job, scene);
                if !has_room {
                    self.fail(tab, job, true, scene);
                    return None;
                }
            }
            Stage::Delete => match job.deletions.pop_front() {
                Some(key) => drop(self.set(tab, &mut job, &key, None, scene)),
                None => {
                    if let Some(below) = job.below.take() {
                        let lower: Vec<String> = self.keys(tab, &job).into_iter().filter(|key| *key < below).collect();
                        for key in lower {
                            self.set(tab, &mut job, &key, None, scene);
                        }
                    }
                    job.stage = Stage::Commit;
                }
            },
            _ => {}
        }
        Some(job)
    }

    fn connect(&mut self, tab: usize, job: Job, scene: &mut Scene<'_>) -> Option<Job> {
        let (conditions, random) = (scene.conditions, &mut *scene.random);
        let is_well = scene.server.is_well;
        let page = &mut self.tabs[tab];
        if !page.storage.is_under_way(job.id) {
            return None;
        }
        let place = if page.is_connected {
            Place::IndexedDb
        } else if page.opening.is_some() {
            Place::Local
        } else if !is_well && random.per_mille(2 * conditions.hangs_per_mille) {
            page.opening = Some((scene.now, scene.now + random.between(5 * SECOND, 2 * MINUTE)));
            // The transaction that waits for it is given up when its time is over.
            return Some(job);
        } else if !is_well && (self.is_broken || random.per_mille(2 * conditions.fails_per_mille)) {
            scene.tally.reach("IndexedDB is not open");
            Place::Local
        } else {
            page.is_connected = true;
            Place::IndexedDb
        };
        if place == Place::Local && page.local.is_none() {
            self.fail(tab, job, false, scene);
            return None;
        }
        self.begin(tab, job, place, scene)
    }

    /// The keys of the namespace in a transaction's place.
    fn keys(&self, tab: usize, job: &Job) -> Vec<String> {
        match (job.place, &self.tabs[tab].local) {
            (Place::Local, Some((_, copy))) => copy.keys(PREFIX),
            (Place::Local, None) => Vec::new(),
            _ => self.database.keys(PREFIX).cloned().collect(),
        }
    }

    fn list(&mut self, tab: usize, job: &mut Job, scene: &mut Scene<'_>) {
        let keys = self.keys(tab, job);
        let beside = match (&self.tabs[tab].local, job.place) {
            (Some((_, copy)), Place::IndexedDb) => copy.keys(PREFIX),
            _ => Vec::new(),
        };
        let keeps = !self.tabs[tab].has_looked();
        self.call(tab, keeps, scene, |storage, guard, _| {
            storage.list(
                guard,
                keys.iter().map(String::as_str),
                beside.iter().map(String::as_str),
            );
        });
        job.listed = keys.into_iter().chain(beside).collect();
        job.stage = Stage::Read;
    }

    fn read(&mut self, tab: usize, job: &mut Job, scene: &mut Scene<'_>) {
        loop {
            let next = self.call(tab, false, scene, |storage, _, _| storage.next_read());
            let Some((key, is_local)) = next else {
                job.stage = if job.step == Step::Look {
                    Stage::Commit
                } else {
                    Stage::Write
                };
                return;
            };
            let text = match (&self.tabs[tab].local, is_local) {
                (Some((_, copy)), true) => copy.values.get(&key).cloned(),
                (None, true) => None,
                (_, false) => self.database.read(&key).cloned(),
            };
            if key.ends_with("/h") && text.is_some() {
                stored_snapshot::restore(self, tab, &key, text.as_deref().unwrap_or_default(), scene);
            } else {
                self.call(tab, false, scene, |storage, guard, _| {
                    storage.read(guard, text.as_deref())
                });
                match &text {
                    Some(text) => self.knows_row(tab, &key, text, scene),
                    None => {
                        scene.tally.reach("a key vanishes between listing and reading");
                        job.missed.insert(key);
                    }
                }
            }
            if !is_local {
                return;
            }
        }
    }

    /// Writes what is next. Whether there was room.
    fn write(&mut self, tab: usize, job: &mut Job, scene: &mut Scene<'_>) -> bool {
        let next = if job.step == Step::Pass {
            let page = &self.tabs[tab];
            if job.unsaved.is_none() {
                job.unsaved = Some(page.unsaved.clone());
                job.meta = (page.knows_deletion, page.is_reporting);
            }
            let next = self.call(tab, false, scene, |storage, guard, now| storage.next_write(guard, now));
            if let Some((key, text)) = &next {
                self.note_put(tab, job, key, text, scene);
            }
            next
        } else {
            job.puts.pop_front()
        };
        if let Some((key, text)) = next {
            return self.set(tab, job, &key, Some(text), scene);
        }
        if job.step == Step::Pass {
            self.check_put(tab, job);
            let storage = &self.tabs[tab].storage;
            (job.deletions, job.below) = (storage.deletions().into(), storage.deletes_below());
            if !job.rows.is_empty() {
                for key in job.deletions.iter().filter(|key| is_row(key)) {
                    scene.tally.reach("rows are compacted");
                    self.moves_into(key, &job.rows, scene);
                }
                for key in self.tabs[tab].rows_beside() {
                    self.moves_into(&key, &job.rows, scene);
                }
            }
        }
        job.stage = Stage::Delete;
        true
    }

    /// Sets or deletes a value in a transaction's place. Whether there was room.
    fn set(&mut self, tab: usize, job: &mut Job, key: &str, text: Option<String>, scene: &mut Scene<'_>) -> bool {
        self.highest = self.highest.max(number_of(key));
        if text.is_none() {
            self.check_deletion(tab, key);
        }
        scene.trace(|| {
            format!(
                "{}: {} {key}",
                self.tabs[tab].serial,
                if text.is_some() { "puts" } else { "deletes" }
            )
        });
        if job.place == Place::Local {
            return self.set_local(tab, key, text, scene);
        }
        if text.is_some() && self.database.is_full {
            return false;
        }
        let before = self.database.set(key, text);
        if job.place == Place::IndexedDb {
            job.undo.push((key.to_owned(), before));
        }
        true
    }

    fn complete(&mut self, tab: usize, job: Job, scene: &mut Scene<'_>) {
        let id = job.id;
        let page = &mut self.tabs[tab];
        let is_current = page.storage.is_under_way(id);
        let was_first = !page.has_looked();
        self.call(tab, false, scene, |storage, guard, now| {
            storage.completed(guard, id, now)
        });
        if is_current {
            self.check_look(tab, &job);
            let page = &mut self.tabs[tab];
            if job.step != Step::Look || was_first {
                page.is_troubled = false;
            }
            if scene.now > job.begun_at + SECOND {
                // What is seen so late is as if it had failed.
                page.failed_at = scene.now;
            }
            page.unsaved.remove(&job.holds);
            if page.unsaved.is_empty() {
                page.changes = 0;
            }
            page.has_passed |= job.step == Step::Pass;
        } else {
            scene.tally.reach("a transaction is complete too late");
        }
        self.run(tab, scene);
        if job.step == Step::Pass {
            self.was_away &= job.place == Place::Local;
            self.check_nothing_lost(scene);
        }
    }

    fn trouble(&mut self, tab: usize, step: Step, scene: &Scene<'_>) {
        self.tabs[tab].is_troubled |= step != Step::Look;
        self.tabs[tab].failed_at = scene.now;
    }

    fn fail(&mut self, tab: usize, job: Job, is_full: bool, scene: &mut Scene<'_>) {
        let (id, step) = (job.id, job.step);
        scene.trace(|| format!("{}: fails, {job:?}", self.tabs[tab].serial));
        self.undo(job);
        self.trouble(tab, step, scene);
        self.tabs[tab].is_connected &= is_full;
        scene.tally.reach(if is_full {
            "there is no room"
        } else {
            "a transaction fails"
        });
        self.call(tab, false, scene, |storage, guard, _| {
            storage.failed(guard, id, is_full)
        });
        self.run(tab, scene);
    }

    /// Takes back what a transaction that is not complete has done.
    pub fn undo(&mut self, job: Job) {
        for (key, before) in job.undo.into_iter().rev() {
            self.database.set(&key, before);
        }
        job.lock.inspect(|&lock| self.database.end(lock));
    }

    fn abort(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let Some(mut job) = self.tabs[tab].job.take() else {
            return;
        };
        let may_be_done = job.place == Place::Custom && job.step == Step::Put && scene.random.percent(30);
        if job.stage == Stage::Told || may_be_done {
            job.answers();
            self.tabs[tab].late.push(job);
        } else {
            self.undo(job);
        }
    }

    /// The page of a transaction dies: what was handed to the browser as a whole may be done all the same.
    pub fn orphan(&mut self, tab: usize, mut job: Job, scene: &mut Scene<'_>) {
        let may_run = job.lock.is_some_and(|lock| self.database.may_run(lock));
        let is_handed_over = job.step == Step::Put && job.place == Place::IndexedDb && may_run;
        if !is_handed_over || job.hangs() || scene.random.percent(50) {
            return self.undo(job);
        }
        while let Some((key, text)) = job.puts.pop_front() {
            if !self.set(tab, &mut job, &key, Some(text), scene) {
                return self.undo(job);
            }
        }
        job.undo.clear();
        self.is_done(tab, &job, scene.now);
        self.undo(job);
    }
}
