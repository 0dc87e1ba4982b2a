//! The storage protocol: impressions outlive their page and are shared by the device's tabs, with three short
//! transactions.
//!
//! - **put** writes one row with the unsaved recordings. It needs no look before it: rows merge in any order.
//! - **look** reads the keys of the namespace and the rows that were not read before, and merges them.
//! - **pass** is a look that then compacts: it replaces many rows by few.
//!
//! It does no I/O and has no clock, as `raft-rs` and `quinn-proto` do no network I/O. The caller reports events to
//! [`Storage`] and performs its [`Step`]s; within a transaction it asks for the keys to read, write and delete.
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
//!         // Timers, and steps that only browsers need: see `Step`.
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
/// The delay between attempts of the first look, while the caller waits for it.
const FIRST_LOOK_MS: u32 = 200;
/// The interval of looks of a visible page.
const LOOK_MS: u32 = 10_000;
/// The delay after which changes that no put has completed are written into localStorage.
const LOCAL_MS: u32 = 1_000;
/// The delay of the first pass after opening.
const PASS_MS: u32 = 2_000;
/// The delay after which the first snapshot is stored.
const KEEP_MS: u32 = 60_000;
/// Timeout of a transaction.
const LIMIT_MS: u32 = 10_000;
/// Longest row in localStorage beside IndexedDB, and all such rows of the namespace together (characters).
const MAX_LOCAL_ROW: usize = 50_000;
const MAX_LOCAL_ROWS: usize = 200_000;

/// The kind of storage of a namespace.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// IndexedDB, with localStorage beside it.
    IndexedDb,
    /// localStorage.
    #[default]
    Local,
    /// A custom store of the app, without transactions.
    Custom,
}

/// The next action for the caller.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until the next event.
    #[default]
    Wait,
    /// A transaction that writes: [`Storage::begin`], [`Storage::next_write`].
    Put,
    /// A transaction that reads: [`Storage::begin`], [`Storage::list`], [`Storage::next_read`].
    Look,
    /// A transaction that reads, writes and deletes: [`Storage::deletions`], [`Storage::deletes_below`].
    Pass,
    /// A transaction that puts the snapshot in use under [`Storage::snapshot_key`], or deletes it if
    /// [`Storage::drops_snapshot`].
    Keep,
    /// Abort the transaction in progress.
    Abort,
    /// Write [`Storage::local_row`] into localStorage.
    LocalPut,
    /// Remove the key [`Storage::local_key`] from localStorage.
    LocalRemove,
    /// Write the signal, with the number of the latest clear.
    Signal,
    /// Start or restart the timer [`Storage::timer`].
    Timer,
    /// Delete keys of other namespaces below the number of their signal; if [`Storage::cleans_up`], idle namespaces,
    /// too: see [`Others`].
    Idle,
}

/// The timers.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timer {
    /// A put or pass that has failed may be tried again.
    Retry,
    /// The retry may be early, for example because the page hides.
    Hurry,
    /// Changes that no put has completed go into localStorage.
    Local,
    /// A visible page looks.
    Look,
    /// The first pass.
    Pass,
    /// The snapshot in use is stored.
    Keep,
    /// The transaction in progress has timed out.
    #[default]
    Limit,
}

/// The failure of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It does not respond, or fails.
    Unavailable,
    /// It is full.
    Full,
}

/// A row that this tab has read or put, except its [`LocalRow`].
#[derive(Debug)]
struct Row {
    key: String,
    /// Whether it is in localStorage.
    is_local: bool,
    length: usize,
    /// The hashes of its ids; none if it is damaged.
    hashes: Vec<u64>,
}

/// The row that this tab has in localStorage beside IndexedDB.
#[derive(Debug)]
struct LocalRow {
    key: String,
    length: usize,
    /// The changes in it.
    first: u64,
    last: u64,
}

/// A transaction in progress.
#[derive(Debug, Default)]
struct Transaction {
    step: Step,
    id: u32,
    place: Place,
    /// The number in the keys of its new rows.
    number: u64,
    /// The keys to read, and the one being read, each with whether it is in localStorage.
    reads: Vec<(String, bool)>,
    read: Option<(String, bool)>,
    has_missed: bool,
    /// Whether its storage has keys under lower numbers.
    deletes_below: bool,
    is_planned: bool,
    puts: Vec<Vec<Rank>>,
    /// The new rows, and the changes in them.
    rows: Vec<Row>,
    first: u64,
    last: u64,
    meta: Option<Meta>,
    puts_meta: bool,
    /// The keys to delete, each with whether it is in localStorage.
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

/// A step with its arguments.
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

    /// Whether rows may be put: before the first look, the number is known only from a signal.
    knows_number: bool,
    is_hidden: bool,
    /// Whether the page has stopped waiting for the first look.
    is_open: bool,
    is_flushing: bool,
    wants_look: bool,
    may_pass: bool,
    wants_pass: bool,
    has_passed: bool,
    /// Whether a listed key was missing in the latest look or pass.
    has_missed: bool,
    wants_idle: bool,
    cleans_up: bool,

    rows: Vec<Row>,
    /// The stored metadata under the known number.
    meta: Option<Meta>,
    /// The rows that are in localStorage, and the one to be written there.
    local: Option<LocalRow>,
    next_local: Option<LocalRow>,
    /// The latest change when its timer was started.
    local_due: Option<u64>,
    /// Whether IndexedDB is not open, so that rows go into localStorage.
    is_away: bool,

    /// Whether the snapshot in use must be stored, now or later, and which one was stored last, by the guard's count.
    wants_keep: bool,
    will_keep: bool,
    kept: Option<u64>,
    /// Whether it must be deleted because the storage is full.
    has_no_room: bool,
    drops_snapshot: bool,
    /// Whether the next pass compacts all rows to free space, and whether one has tried since the storage was full.
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
    /// The storage of the guard's namespace. Its keys have the `prefix` `seenguard/<namespace>/`, with the namespace in
    /// ASCII without a slash; without a `place` it is not stored. `seed`: differs from document to document; it names
    /// the writer.
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
        // A page that hides may complete only one transaction. Changes of `covered` can be derived again.
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

    /// Whether the stored metadata is behind the table's, or of another day. Tabs with other windows do not replace it.
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
            // Before the transaction: in localStorage it completes within the step.
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

    /// Starts the timer after which unsaved changes go into localStorage.
    fn watch_unsaved(&mut self, guard: &Guard) {
        let first = self.local.as_ref().map_or(0, |local| local.last + 1);
        let is_due = self.place == Some(Place::IndexedDb) && guard.table.is_unsaved(false, first, u64::MAX);
        if is_due && self.local_due.is_none() {
            self.local_due = Some(guard.table.changes());
            self.set_timer(Timer::Local, LOCAL_MS);
        }
    }
}

/// Events.
impl Storage {
    /// The page stops waiting for the first look.
    pub fn opened(&mut self) {
        self.is_open = true;
        self.set_timer(Timer::Pass, PASS_MS);
    }

    /// A recording has changed: seen, unseen, delivered or covered.
    pub fn changed(&mut self, guard: &Guard) {
        self.is_hurried = true;
        if guard.has_applied() && !self.will_keep {
            self.will_keep = true;
            self.set_timer(Timer::Keep, KEEP_MS);
        }
    }

    /// The number of the latest clear in the signal; `None`: there is no signal.
    pub fn hear(&mut self, guard: &mut Guard, number: Option<u64>) {
        self.knows_number |= number.is_some();
        let number = number.unwrap_or(0);
        if number < guard.number() {
            // Processes may see each other's writes to localStorage late.
            self.push(Step::Signal);
        } else if self.learn(guard, number, false) {
            self.abort();
        }
    }

    /// This document clears the namespace. `keeps`: it has cleared it, and the clear got this number when it was
    /// carried out; recordings made since the call stay.
    pub fn clear(&mut self, guard: &mut Guard, number: u64, keeps: bool) {
        self.knows_number = true;
        if self.learn(guard, number, keeps) {
            self.abort();
        }
    }

    fn learn(&mut self, guard: &mut Guard, number: u64, keeps: bool) -> bool {
        if number > guard.number() && keeps {
            // Rows of other writers are under lower numbers.
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

    /// Requests a look, such as before a delivery.
    pub fn look(&mut self) {
        self.wants_look |= !self.is_hidden;
    }

    /// Requests that everything is stored, and a look: see [`Storage::is_settled`].
    pub fn flush(&mut self, guard: &Guard) {
        self.is_flushing = true;
        self.wants_keep |= guard.has_applied();
        (self.is_hurried, self.waits_to_hurry) = (true, false);
        self.look();
    }

    /// The page hides, and may never run again.
    pub fn hide(&mut self, guard: &Guard) {
        self.is_hidden = true;
        // A put continues; its changes are put once more, since it may not complete.
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
