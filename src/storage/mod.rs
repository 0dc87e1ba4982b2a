//! How what this device showed outlives its pages and is known in each of its tabs: three short transactions.
//!
//! - **put** writes one row of what is unsaved. It needs no look before it: the row merges in any case.
//! - **look** reads the keys of the namespace and the rows that were not read before, and merges them.
//! - **pass** looks, and then puts few rows in place of many, and deletes those.
//!
//! It knows no storage and no clock, as `raft-rs` and `quinn-proto` know no network. The caller tells [`Storage`] what
//! happens and takes its [`Step`]s; within a transaction it asks what is to be read, written and deleted.
//!
//! ```
//! use seenguard::Time;
//! use seenguard::device::{Guard, Place, Step, Storage};
//! # use std::collections::BTreeMap;
//! # let mut store: BTreeMap<String, String> = BTreeMap::new();
//! let now = Time::from_unix_seconds(1_764_000_000);
//! let mut guard = Guard::new(30.0, 10_000)?;
//! let mut storage = Storage::new("seenguard/home:reader-17/", "home:reader-17", Some(Place::Custom), 4, &mut guard);
//! guard.record(&["a"], now);
//! loop {
//!     match storage.next(&guard, now) {
//!         Step::Wait => break,
//!         Step::Put | Step::Look | Step::Pass => {
//!             storage.begin(&guard, Place::Custom);
//!             storage.list(&mut guard, store.keys().map(String::as_str), [].into_iter());
//!             while let Some((key, _)) = storage.next_read() {
//!                 storage.read(&mut guard, store.get(&key).map(String::as_str));
//!             }
//!             while let Some((key, text)) = storage.next_write(&guard, now) {
//!                 store.insert(key, text);
//!             }
//!             for key in storage.deletions() {
//!                 store.remove(&key);
//!             }
//!             storage.completed(&mut guard, storage.transaction(), now);
//!         }
//!         // Timers, and what browsers have beside: see `Step`.
//!         _ => {}
//!     }
//! }
//! assert!(storage.has_looked(&guard) && store.len() == 1);
//! # Ok::<(), seenguard::Error>(())
//! ```

mod idle;
mod keys;
mod random;
mod transaction;

pub use idle::Others;

use std::collections::VecDeque;

use crate::guard::Guard;
use crate::table::Rank;
use crate::time::Time;
use keys::{Keys, Meta};
use random::Random;

const FIRST_RETRY_MS: u32 = 1_000;
const LAST_RETRY_MS: u32 = 60_000;
/// Between attempts of the first look, while the caller waits for it.
const FIRST_LOOK_MS: u32 = 200;
/// Before the next look of a page that is visible.
const LOOK_MS: u32 = 10_000;
/// Before what no put has finished is written into localStorage.
const LOCAL_MS: u32 = 1_000;
/// After opening, before the first pass.
const PASS_MS: u32 = 2_000;
/// After the first snapshot, before it is stored.
const KEEP_MS: u32 = 60_000;
/// After that a transaction counts as failed.
const LIMIT_MS: u32 = 10_000;
/// Longest row in localStorage beside IndexedDB, and all such rows of the namespace together (characters).
const MAX_LOCAL_ROW: usize = 50_000;
const MAX_LOCAL_ROWS: usize = 200_000;

/// Where a namespace is kept.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// IndexedDB, with localStorage beside it.
    IndexedDb,
    /// localStorage.
    #[default]
    Local,
    /// A store that the app brings, which knows no transactions.
    Custom,
}

/// What is to be done next.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until something happens.
    #[default]
    Wait,
    /// A transaction that writes: [`Storage::begin`], [`Storage::next_write`].
    Put,
    /// A transaction that reads: [`Storage::begin`], [`Storage::list`], [`Storage::next_read`].
    Look,
    /// A transaction that does both, and deletes: [`Storage::deletions`], [`Storage::deletes_below`].
    Pass,
    /// A transaction that puts the snapshot in use under [`Storage::snapshot_key`], or deletes it if
    /// [`Storage::drops_snapshot`].
    Keep,
    /// The transaction under way is to be aborted.
    Abort,
    /// [`Storage::local_row`] is to be written into localStorage.
    LocalPut,
    /// The key [`Storage::local_key`] is to be removed from localStorage.
    LocalRemove,
    /// The signal is to be written, with the number of the latest clear.
    Signal,
    /// The timer [`Storage::timer`] is to be started, or started anew.
    Timer,
    /// What other namespaces have left below the number of their signal is to be deleted; if [`Storage::cleans_up`],
    /// those that are idle, too: see [`Others`].
    Idle,
}

/// The timers.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timer {
    /// A put or pass that has failed may be tried again.
    Retry,
    /// It may even be hurried.
    Hurry,
    /// What no put has finished goes into localStorage.
    Local,
    /// A page that is visible looks.
    Look,
    /// The first pass.
    Pass,
    /// The snapshot in use is stored.
    Keep,
    /// The transaction under way has had its time.
    #[default]
    Limit,
}

/// What is wrong with a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It does not answer, or answers with errors.
    Unavailable,
    /// There is no room.
    Full,
}

/// A row that this tab has read or put, but for its [`LocalRow`].
#[derive(Debug)]
struct Row {
    key: String,
    /// Whether it is in localStorage.
    is_local: bool,
    length: usize,
    /// Of the ids in it; none if it is damaged.
    hashes: Vec<u64>,
}

/// The row that this tab has in localStorage beside IndexedDB.
#[derive(Debug)]
struct LocalRow {
    key: String,
    length: usize,
    /// The changes that are in it.
    first: u64,
    last: u64,
}

/// A transaction under way.
#[derive(Debug, Default)]
struct Transaction {
    step: Step,
    id: u32,
    place: Place,
    /// The number that it puts rows under.
    number: u64,
    /// What is to be read, and is being read, each with whether it is in localStorage.
    reads: Vec<(String, bool)>,
    read: Option<(String, bool)>,
    has_missed: bool,
    /// Whether there are keys under lower numbers in its place.
    deletes_below: bool,
    is_planned: bool,
    puts: Vec<Vec<Rank>>,
    /// The rows that were put, and the changes in them.
    rows: Vec<Row>,
    first: u64,
    last: u64,
    meta: Option<Meta>,
    puts_meta: bool,
    /// What is deleted, and whether it is in localStorage.
    deletions: Vec<(String, bool)>,
}

impl Transaction {
    fn new(step: Step, id: u32) -> Self {
        Transaction {
            step,
            id,
            ..Transaction::default()
        }
    }

    fn is_local(&self) -> bool {
        self.place == Place::Local
    }

    /// Whether it is a look or a pass.
    fn reads(&self) -> bool {
        matches!(self.step, Step::Look | Step::Pass)
    }
}

/// A step with what it is about.
#[derive(Debug, Default)]
struct Todo {
    step: Step,
    key: String,
    timer: Timer,
    ms: u32,
}

/// The storage of one namespace in one document.
#[derive(Debug, Default)]
pub struct Storage {
    keys: Keys,
    namespace: String,
    place: Option<Place>,
    random: Random,
    todo: VecDeque<Todo>,
    current: Todo,
    transaction: Option<Transaction>,
    transactions: u32,

    /// Whether rows may be put: until the first look their number is the signal's.
    knows_number: bool,
    is_hidden: bool,
    /// Whether the page has stopped waiting for the first look.
    is_open: bool,
    is_flushing: bool,
    wants_look: bool,
    may_pass: bool,
    wants_pass: bool,
    has_passed: bool,
    /// Whether the latest look or pass has missed something that was listed.
    has_missed: bool,
    wants_idle: bool,
    cleans_up: bool,

    rows: Vec<Row>,
    /// As stored under the number that is known.
    meta: Option<Meta>,
    /// In localStorage, and about to be.
    local: Option<LocalRow>,
    next_local: Option<LocalRow>,
    /// The latest change when the timer was started.
    local_due: Option<u64>,
    /// Whether IndexedDB is not open, so that rows stay in localStorage.
    is_away: bool,

    /// Whether the snapshot in use is to be stored, or will be, and which was last, by the guard's count.
    wants_keep: bool,
    will_keep: bool,
    kept: Option<u64>,
    /// Whether there was no room for it, and it is to be deleted.
    has_no_room: bool,
    drops_snapshot: bool,
    /// Whether the next pass compacts all rows for room, and whether one has tried since the storage was full.
    compacts_all: bool,
    has_compacted: bool,

    trouble: Option<Trouble>,
    failures: u32,
    waits_to_retry: bool,
    waits_to_hurry: bool,
    is_hurried: bool,
    has_damage: bool,
    has_dropped_rows: bool,
}

impl Storage {
    /// The storage of the guard's namespace, all of whose keys begin with `prefix`: `seenguard/`, the namespace in
    /// ASCII without a slash, and a slash; without a `place` it is not stored. `seed`: differs from document to
    /// document; it names the writer.
    pub fn new(prefix: &str, namespace: &str, place: Option<Place>, seed: u64, guard: &mut Guard) -> Self {
        let mut random = Random::seeded(seed);
        if place.is_some() {
            guard.table.expect_look();
        }
        Storage {
            keys: Keys::new(prefix, random.next()),
            namespace: namespace.to_owned(),
            place,
            random,
            wants_look: true,
            ..Storage::default()
        }
    }

    /// The next step.
    pub fn next(&mut self, guard: &Guard, now: Time) -> Step {
        if self.todo.is_empty() {
            self.watch_unsaved(guard);
        }
        if self.todo.is_empty() && self.transaction.is_none() {
            let step = self.decide(guard, now);
            self.is_flushing &= step.is_some();
            if let Some(step) = step {
                self.start(step);
            }
        }
        self.current = self.todo.pop_front().unwrap_or_default();
        self.current.step
    }

    fn decide(&self, guard: &Guard, now: Time) -> Option<Step> {
        self.place?;
        let table = &guard.table;
        let can_write = !self.waits_to_hurry && (!self.waits_to_retry || self.is_hurried);
        let can_pass = can_write && !self.is_hidden && table.has_looked() && (self.may_pass || self.is_flushing);
        if can_pass && self.compacts_all {
            return Some(Step::Pass);
        }
        if can_write && self.drops_snapshot {
            return Some(Step::Keep);
        }
        let is_kept = self.kept == Some(guard.snapshots()) || self.has_no_room;
        let keeps = can_write && self.wants_keep && guard.has_applied() && !is_kept && table.has_looked();
        // A page that hides may get no further than its first transaction. What a shard covers can be found again.
        if keeps && self.is_hidden && !table.is_unsaved(false, 0, u64::MAX) {
            return Some(Step::Keep);
        }
        if can_write && self.knows_number && table.is_unsaved(self.is_flushing || self.is_hidden, 0, u64::MAX) {
            return Some(Step::Put);
        }
        if self.wants_look {
            return Some(Step::Look);
        }
        if keeps {
            return Some(Step::Keep);
        }
        if can_pass && (self.wants_pass || self.is_meta_due(Meta::of(table, now.unix_ms()))) {
            return Some(Step::Pass);
        }
        (self.wants_idle && self.may_pass && !self.is_hidden).then_some(Step::Idle)
    }

    /// Whether what is stored says less than the table, or is of another day. Tabs with other windows leave it alone.
    fn is_meta_due(&self, meta: Meta) -> bool {
        let is_same = |stored: Meta| {
            meta == Meta {
                window_days: meta.window_days,
                ..stored
            }
        };
        !self.meta.is_some_and(is_same)
    }

    fn start(&mut self, step: Step) {
        if step == Step::Idle {
            self.wants_idle = false;
        } else {
            self.is_hurried &= step == Step::Look;
            self.transactions = self.transactions.wrapping_add(1);
            self.transaction = Some(Transaction::new(step, self.transactions));
            // Before it begins: localStorage is done when the step is performed.
            self.set_timer(Timer::Limit, LIMIT_MS);
        }
        self.push(step);
    }

    fn push(&mut self, step: Step) {
        let todo = Todo {
            step,
            ..Todo::default()
        };
        self.todo.push_back(todo);
    }

    fn set_timer(&mut self, timer: Timer, ms: u32) {
        let (step, key) = (Step::Timer, String::new());
        self.todo.push_back(Todo { step, key, timer, ms });
    }

    fn remove_local(&mut self, key: String) {
        self.rows.retain(|row| !row.is_local || row.key != key);
        let (step, timer) = (Step::LocalRemove, Timer::Limit);
        self.todo.push_back(Todo {
            step,
            key,
            timer,
            ms: 0,
        });
    }

    /// Has what no put finishes in time written into localStorage.
    fn watch_unsaved(&mut self, guard: &Guard) {
        let first = self.local.as_ref().map_or(0, |local| local.last + 1);
        let is_due = self.place == Some(Place::IndexedDb) && guard.table.is_unsaved(false, first, u64::MAX);
        if is_due && self.local_due.is_none() {
            self.local_due = Some(guard.table.changes());
            self.set_timer(Timer::Local, LOCAL_MS);
        }
    }
}

/// What happens.
impl Storage {
    /// The page waits no longer for the first look.
    pub fn opened(&mut self) {
        self.is_open = true;
        self.set_timer(Timer::Pass, PASS_MS);
    }

    /// Something was recorded, made unseen, delivered or covered.
    pub fn changed(&mut self, guard: &Guard) {
        self.is_hurried = true;
        if guard.has_applied() && !self.will_keep {
            self.will_keep = true;
            self.set_timer(Timer::Keep, KEEP_MS);
        }
    }

    /// The number of the latest clear, as the signal has it; nothing: there is no signal.
    pub fn hear(&mut self, guard: &mut Guard, number: Option<u64>) {
        self.knows_number |= number.is_some();
        let number = number.unwrap_or(0);
        if number < guard.number() {
            // Several processes may see each other's localStorage late.
            self.push(Step::Signal);
        } else if self.learn(guard, number, false) {
            self.abort();
        }
    }

    /// The namespace is cleared, by this document. `keeps`: it was, and the clear got this number when it was carried
    /// out; what was recorded since the call is kept.
    pub fn clear(&mut self, guard: &mut Guard, number: u64, keeps: bool) {
        self.knows_number = true;
        if self.learn(guard, number, keeps) {
            self.abort();
        }
    }

    fn learn(&mut self, guard: &mut Guard, number: u64, keeps: bool) -> bool {
        if number > guard.number() && keeps {
            // What others have stored stands under a lower number.
            let others = self.rows.iter().filter(|row| !self.keys.has_made(&row.key));
            guard.table.drop_stored(others.flat_map(|row| &row.hashes));
        }
        let is_new = guard.learn(number, keeps);
        if is_new {
            self.rows.clear();
            (self.meta, self.local, self.next_local, self.kept) = (None, None, None, None);
        }
        is_new
    }

    fn abort(&mut self) {
        if self.transaction.is_some() {
            self.wants_look = self.is_looking();
            self.transaction = None;
            self.push(Step::Abort);
        }
    }

    /// Another tab has changed something.
    pub fn signalled(&mut self) {
        self.wants_look |= !self.is_hidden && self.place != Some(Place::Custom);
    }

    /// What others have written is to be known, such as before something is delivered.
    pub fn look(&mut self) {
        self.wants_look |= !self.is_hidden;
    }

    /// All is to be stored, and what others have written to be known: see [`Storage::is_settled`].
    pub fn flush(&mut self, guard: &Guard) {
        self.is_flushing = true;
        self.wants_keep |= guard.has_applied();
        (self.is_hurried, self.waits_to_hurry) = (true, false);
        self.look();
    }

    /// The page hides, and may never run again.
    pub fn hide(&mut self, guard: &Guard) {
        self.is_hidden = true;
        // A put goes on; what it has is put once more, since it may not end.
        match self.transaction.as_ref().is_some_and(Transaction::reads) {
            true => self.abort(),
            false => self.transaction = None,
        }
        self.wants_look = !guard.table.has_looked();
        self.knows_number |= guard.table.is_unsaved(true, 0, u64::MAX);
        self.wants_keep |= guard.has_applied() && self.kept.is_none();
        (self.is_hurried, self.waits_to_hurry) = (true, false);
        if self.place == Some(Place::IndexedDb) && guard.table.is_unsaved(false, 0, u64::MAX) {
            self.push(Step::LocalPut);
        }
    }

    /// The page is shown again.
    pub fn show(&mut self) {
        self.is_hidden = false;
        self.is_hurried = true;
        self.look();
    }

    /// A timer has fired.
    pub fn fired(&mut self, guard: &Guard, timer: Timer) {
        match timer {
            Timer::Retry => self.waits_to_retry = false,
            Timer::Hurry => self.waits_to_hurry = false,
            Timer::Look if guard.table.has_looked() => self.signalled(),
            Timer::Look => self.wants_look = true,
            Timer::Local => {
                let due = self.local_due.take().unwrap_or(0);
                let first = self.local.as_ref().map_or(0, |local| local.last + 1);
                if guard.table.is_unsaved(false, first, due) {
                    self.push(Step::LocalPut);
                }
            }
            Timer::Pass => self.may_pass = true,
            Timer::Keep => self.wants_keep = true,
            Timer::Limit => {
                let id = self.transactions;
                if self.transaction.is_some() {
                    self.push(Step::Abort);
                    self.failed(guard, id, false);
                }
            }
        }
    }
}
