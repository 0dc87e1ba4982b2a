//! A device: where its tabs store what they record, and what a tab does with the steps of its storage, over plain maps.

use std::cell::Cell;
use std::collections::BTreeMap;

use seenguard::device::{DEFAULT_REMEMBER, Guard, Others, Place, Step, Storage, Timer, Trouble};
use seenguard::{Snapshot, Time};

use super::{START, at_ms};

pub const NAMESPACE: &str = "home";
pub const PREFIX: &str = "seenguard/home/";

/// What becomes of a transaction.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    #[default]
    Complete,
    Failed,
    /// What has something to put fails for want of room.
    Full,
    /// It neither completes nor fails, and may yet do either: see [`Tab::complete_late`].
    Never,
}

/// What a device has stored.
#[derive(Debug, Default, Clone)]
pub struct Device {
    /// IndexedDB, or the app's own store.
    pub main: BTreeMap<String, String>,
    pub local: BTreeMap<String, String>,
    /// The number in the signal.
    pub signal: Option<u64>,
    pub answer: Answer,
    /// Whether IndexedDB is not open.
    pub is_away: bool,
    /// Whether localStorage has no room for another row.
    pub is_local_full: bool,
    /// A key that another tab deletes after it was listed and before it is read.
    pub vanishing: Option<String>,
}

impl Device {
    /// A device on which no clear is known, and the signal says so.
    pub fn with_signal() -> Self {
        Device {
            signal: Some(0),
            ..Device::default()
        }
    }

    /// One whose transactions end like this.
    pub fn answering(answer: Answer) -> Self {
        Device {
            answer,
            ..Device::default()
        }
    }

    /// One whose IndexedDB is not open.
    pub fn away() -> Self {
        Device {
            is_away: true,
            ..Device::default()
        }
    }

    /// The keys below the prefix, of IndexedDB or the app's own store.
    pub fn keys(&self) -> Vec<&str> {
        self.main.keys().map(|key| &key[PREFIX.len()..]).collect()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        rows_of(&self.main)
    }

    pub fn local_rows(&self) -> usize {
        rows_of(&self.local)
    }

    fn map(&mut self, place: Place) -> &mut BTreeMap<String, String> {
        match place {
            Place::Local => &mut self.local,
            _ => &mut self.main,
        }
    }

    /// A tab of the next visit, which has found in IndexedDB what is stored.
    pub fn next_visit(&mut self) -> Tab {
        Tab::open(self, Place::IndexedDb)
    }
}

fn rows_of(map: &BTreeMap<String, String>) -> usize {
    map.keys().filter(|key| key.contains("/r/")).count()
}

/// What a transaction does when it completes.
#[derive(Debug)]
struct Changes {
    id: u32,
    place: Place,
    puts: Vec<(String, String)>,
    deletions: Vec<String>,
    below: Option<String>,
}

/// A tab that has the namespace open.
#[derive(Debug)]
pub struct Tab {
    pub guard: Guard,
    pub storage: Storage,
    pub now_ms: u64,
    place: Place,
    timers: Vec<(Timer, u64)>,
    unanswered: Vec<Changes>,
}

thread_local! {
    /// Each document has a seed of its own.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

impl Tab {
    /// One that has not begun, and whose guard may have been used before.
    pub fn with(mut guard: Guard, place: Place) -> Self {
        SEED.set(SEED.get() + 1);
        let storage = Storage::new(PREFIX, NAMESPACE, Some(place), SEED.get(), &mut guard);
        Tab {
            guard,
            storage,
            now_ms: START * 1000,
            place,
            timers: Vec::new(),
            unanswered: Vec::new(),
        }
    }

    /// One that has not begun.
    pub fn new(place: Place) -> Self {
        Tab::with(Guard::new(30.0, DEFAULT_REMEMBER).unwrap(), place)
    }

    /// One that has looked, at the beginning of time, and may pass in two seconds.
    pub fn open(device: &mut Device, place: Place) -> Self {
        let mut tab = Tab::new(place);
        tab.work(device);
        tab.storage.opened();
        tab
    }

    pub fn now(&self) -> Time {
        at_ms(self.now_ms)
    }

    pub fn record<S: AsRef<[u8]>>(&mut self, ids: &[S]) {
        self.guard.record(ids, self.now());
        self.storage.changed(&self.guard);
    }

    pub fn record_local<S: AsRef<[u8]>>(&mut self, ids: &[S]) {
        self.guard.record_local(ids, self.now());
        self.storage.changed(&self.guard);
    }

    pub fn unsee<S: AsRef<[u8]>>(&mut self, ids: &[S]) {
        self.guard.unsee(ids, self.now());
        self.storage.changed(&self.guard);
    }

    pub fn has(&self, id: &str) -> bool {
        self.guard.explain(id, self.now()).is_some()
    }

    pub fn pending(&self) -> Vec<String> {
        self.guard.pending(usize::MAX, self.now())
    }

    /// The device's name, as it tells a server.
    pub fn device_name(&self) -> String {
        let pending = self.guard.pending_list(4_000, self.now());
        pending.split('.').next().unwrap().to_owned()
    }

    pub fn hide(&mut self, device: &mut Device) -> Vec<Step> {
        self.storage.hide(&self.guard);
        self.work(device)
    }

    pub fn flush(&mut self, device: &mut Device) -> Vec<Step> {
        self.storage.flush(&self.guard);
        self.work(device)
    }

    /// Does what there is to do now. Returns the steps but timers.
    pub fn work(&mut self, device: &mut Device) -> Vec<Step> {
        self.storage.hear(&mut self.guard, device.signal);
        let mut steps = Vec::new();
        loop {
            let step = self.storage.next(&self.guard, self.now());
            match step {
                Step::Wait => return steps,
                Step::Timer => {
                    let (timer, ms) = self.storage.timer();
                    self.timers.retain(|(other, _)| *other != timer);
                    self.timers.push((timer, self.now_ms + u64::from(ms)));
                    continue;
                }
                Step::Put | Step::Look | Step::Pass | Step::Keep => self.transact(device, step),
                Step::Abort => {}
                Step::LocalPut => self.put_local(device),
                Step::LocalRemove => drop(device.local.remove(self.storage.local_key())),
                Step::Signal => device.signal = Some(self.guard.number()),
                Step::Idle => self.remove_idle(device),
            }
            steps.push(step);
            assert!(steps.len() < 10_000, "it does not come to rest: {:?}", &steps[..20]);
        }
    }

    /// Does what there is to do now and for so long.
    pub fn wait(&mut self, device: &mut Device, ms: u64) -> Vec<Step> {
        let end_ms = self.now_ms + ms;
        let mut steps = self.work(device);
        while let Some(next) = self.timers.iter().position(|&(_, due)| {
            let earliest = self.timers.iter().map(|&(_, due)| due).min();
            due <= end_ms && Some(due) == earliest
        }) {
            let (timer, due) = self.timers.remove(next);
            self.now_ms = due;
            self.storage.fired(&self.guard, timer);
            steps.extend(self.work(device));
        }
        self.now_ms = end_ms;
        steps
    }

    fn transact(&mut self, device: &mut Device, step: Step) {
        let place = if device.is_away { Place::Local } else { self.place };
        self.storage.begin(&self.guard, place);
        let mut changes = Changes {
            id: self.storage.transaction(),
            place,
            puts: Vec::new(),
            deletions: Vec::new(),
            below: None,
        };
        if device.answer == Answer::Failed {
            return self.storage.failed(&self.guard, changes.id, false);
        }
        match step {
            Step::Look | Step::Pass => self.look(device, place),
            Step::Keep if self.storage.drops_snapshot() => {
                changes.deletions.push(self.storage.snapshot_key(&self.guard));
            }
            Step::Keep => {
                let texts = self.guard.shard_texts().into_iter().flatten();
                let texts: Vec<_> = texts.map(String::from_utf8_lossy).collect();
                changes
                    .puts
                    .push((self.storage.snapshot_key(&self.guard), texts.join(",")));
            }
            _ => {}
        }
        if step != Step::Keep {
            while let Some(put) = self.storage.next_write(&self.guard, self.now()) {
                changes.puts.push(put);
            }
            changes.deletions.extend(self.storage.deletions());
            changes.below = self.storage.deletes_below();
        }
        match device.answer {
            Answer::Never => self.unanswered.push(changes),
            Answer::Full if !changes.puts.is_empty() => self.storage.failed(&self.guard, changes.id, true),
            _ => self.complete(device, changes),
        }
    }

    fn look(&mut self, device: &mut Device, place: Place) {
        let of_namespace = |map: &BTreeMap<String, String>| -> Vec<String> {
            map.keys().filter(|key| key.starts_with(PREFIX)).cloned().collect()
        };
        let keys = of_namespace(device.map(place));
        let beside = match place {
            Place::IndexedDb => of_namespace(&device.local),
            _ => Vec::new(),
        };
        let (keys, beside) = (keys.iter().map(String::as_str), beside.iter().map(String::as_str));
        self.storage.list(&mut self.guard, keys, beside);
        if let Some(key) = device.vanishing.take() {
            device.main.remove(&key);
        }
        while let Some((key, is_local)) = self.storage.next_read() {
            let map = device.map(if is_local { Place::Local } else { place });
            match map.get(&key) {
                Some(text) if key.ends_with("/h") => {
                    let texts: Vec<&str> = text.split(',').collect();
                    let _ = self.guard.restore(Snapshot::new(&texts), at_ms(self.now_ms));
                }
                text => self.storage.read(&mut self.guard, text.map(String::as_str)),
            }
        }
    }

    fn complete(&mut self, device: &mut Device, changes: Changes) {
        let map = device.map(changes.place);
        map.extend(changes.puts);
        map.retain(|key, _| {
            let is_lower = changes.below.as_ref().is_some_and(|below| key < below);
            !key.starts_with(PREFIX) || !(is_lower || changes.deletions.contains(key))
        });
        let now = self.now();
        self.storage.completed(&mut self.guard, changes.id, now);
    }

    /// What was never answered was done all the same, and completes now. It does so after an abort, too, if that came
    /// too late.
    pub fn complete_late(&mut self, device: &mut Device) {
        for changes in std::mem::take(&mut self.unanswered) {
            self.complete(device, changes);
        }
    }

    fn put_local(&mut self, device: &mut Device) {
        let Some((key, text)) = self.storage.local_row(&self.guard, self.now()) else {
            return;
        };
        if !device.is_local_full {
            device.local.insert(key, text);
        }
        self.storage.local_written(!device.is_local_full);
    }

    fn remove_idle(&mut self, device: &mut Device) {
        let mut others = Others::default();
        for (key, text) in device.main.iter().chain(&device.local) {
            others.note(key, Others::is_to_read(key).then_some(text));
        }
        for name in others.idle(NAMESPACE, self.now_ms) {
            let prefix = format!("seenguard/{name}/");
            device.main.retain(|key, _| !key.starts_with(&prefix));
            device.local.retain(|key, _| !key.starts_with(&prefix));
        }
    }

    pub fn trouble(&self) -> Option<Trouble> {
        self.storage.trouble()
    }
}

/// Stores all that a guard has recorded, and lets it know what is stored.
pub fn save(guard: &mut Guard, device: &mut Device) {
    let spare = Guard::new(1.0, 1).unwrap();
    let mut tab = Tab::with(std::mem::replace(guard, spare), Place::IndexedDb);
    tab.flush(device);
    *guard = tab.guard;
}

/// The guard of the next visit after what this one has not stored yet.
pub fn next_visit(guard: &mut Guard) -> Guard {
    let mut device = Device::default();
    save(guard, &mut device);
    device.next_visit().guard
}
