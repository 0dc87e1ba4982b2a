//! The storage protocol: which keys are listed, read, written and removed, and when, so that what this device showed
//! outlives its pages and is known in each of its tabs.
//!
//! It knows no storage, as `raft-rs` and `quinn-proto` know no network: [`Storage::next`] says what to do, and
//! [`Storage::complete`] takes what came of it; one operation at a time.
//!
//! ```
//! use seenguard::{Guard, Now, Operation, Outcome, Storage, Time};
//! # use std::collections::BTreeMap;
//! # let mut store: BTreeMap<String, String> = BTreeMap::new();
//! let now = Now::at(Time::from_unix_seconds(1_764_000_000));
//! let mut guard = Guard::new(30.0, 10_000)?;
//! let mut storage = Storage::new("home:reader-17", 30.0, 10_000, 4);
//! storage.begin(true, false, None);
//! guard.record(&["a"], now)?;
//! loop {
//!     let outcome = match storage.next(&mut guard, now) {
//!         Operation::Wait { until_ms } if until_ms > now.steady_ms => break,
//!         Operation::Wait { .. } => continue,
//!         Operation::List(prefixes) => {
//!             let is_meant = |key: &&String| prefixes.iter().any(|prefix| key.starts_with(prefix));
//!             Outcome::Keys(store.keys().filter(is_meant).cloned().collect())
//!         }
//!         Operation::Read(keys) => {
//!             let texts = keys.into_iter().filter_map(|key| store.get_key_value(&key));
//!             Outcome::Texts(texts.map(|(key, text)| (key.clone(), text.clone())).collect())
//!         }
//!         Operation::Write { key, text } => {
//!             store.insert(key, text);
//!             Outcome::Done
//!         }
//!         Operation::Remove { keys, .. } => {
//!             keys.iter().for_each(|key| drop(store.remove(key)));
//!             Outcome::Done
//!         }
//!     };
//!     storage.complete(&mut guard, storage.operation(), outcome, now);
//! }
//! assert!(storage.is_loaded() && store.keys().any(|key| key.starts_with("seenguard/home:reader-17/s/")));
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! A writer writes what has changed as a new segment under a key of its own, and never rewrites one. Copies of the table
//! merge in any order, so nothing depends on who reads or compacts what, or how often.

mod compact;
mod compaction;
mod health;
mod idle;
mod listing;
mod names;
mod operation;
mod random;
mod reading;
mod save;
mod saving;

pub use health::Trouble;
pub use operation::{Hidden, Notices, Operation, Outcome};

use crate::base36::base36_of_length;
use crate::device_name::DeviceName;
use crate::error::Error;
use crate::guard::{Guard, Now, SegmentState};
use crate::hash::hash_id;
use compaction::Compactions;
use health::Health;
use idle::Today;
use listing::{Entry, Listing};
use names::{Kind, Names};
use random::Random;
use reading::{Reading, Text};
use saving::{SNAPSHOT_MS, Saving};

/// So many operations are begun in `BURST_MS` at most: a storage that does not do what it says asks for ever more.
const MOST_IN_A_BURST: u32 = 1_000;
const BURST_MS: u64 = 1_000;
const MS_PER_DAY: f64 = 86_400_000.0;

/// Where the impressions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// That is not known yet.
    Opening,
    Nowhere,
    Store,
}

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Listing,
    /// Reading what others have written.
    Look,
    /// Reading what is compacted.
    Group,
    /// Writing a segment of what has changed.
    Save,
    /// Writing or removing the stored snapshot.
    Snapshot,
    SetAside,
    Union,
    /// Removing what was compacted.
    Replace,
    /// Removing something for room.
    GiveUp,
    /// Removing the last of the stashes that were taken over.
    Unstash,
    /// Reading when other namespaces were used.
    Idle,
    Chore,
}

/// An operation under way.
#[derive(Debug)]
struct Flight {
    purpose: Purpose,
    /// Those that are read or removed.
    keys: Vec<String>,
}

/// An operation that is to begin.
type Next = (Operation, Purpose);

/// The storage protocol of one namespace in one document. Knows no clock: every call takes the time.
#[derive(Debug)]
pub struct Storage {
    names: Names,
    /// What the device name is checked against.
    namespace: String,
    window_ms: u64,
    random: Random,
    /// This document's, unique among the keys; chosen when they are listed.
    writer: String,
    place: Place,
    has_signals: bool,
    stashes: bool,
    undisturbed_ms: Option<u64>,
    signals: u64,

    is_loaded: bool,
    is_clearing: bool,
    is_flushing: bool,
    notices: Notices,
    health: Health,
    /// The number of the latest operation.
    operation: u32,
    flight: Option<Flight>,
    /// When the latest burst of operations began, by the steady clock, and how many it has.
    burst_ms: u64,
    burst: u32,

    listing: Listing,
    wants_listing: bool,
    /// The number of the latest clear that was known when the table was last looked at.
    clear: u64,
    reading: Option<Reading>,
    /// The stored snapshot as it was read, with the number of its clear, until the guard takes it.
    found_snapshot: Option<(u64, String)>,
    saving: Saving,
    compactions: Compactions,
    /// Stashes that were taken over, with what they had: to be removed once it is written.
    taken_stashes: Vec<(String, String)>,
    /// What is removed first, for room.
    given_up: Vec<String>,
    chores: Vec<Operation>,
    /// All keys of all namespaces as the opening has found them, until others are looked at.
    found: Option<Vec<String>>,
    /// The note of the namespace's last use, if there is one.
    use_note: Option<String>,
}

impl Storage {
    /// How long an operation may take (ms): what has no outcome by then is to be told as [`Outcome::Failed`].
    pub const OPERATION_MS: u64 = 10_000;

    /// The protocol of a namespace whose guard has these options. `seed`: differs from document to document; it names
    /// the writer and draws the waits.
    pub fn new(namespace: &str, window_days: f64, remember: usize, seed: u64) -> Self {
        Storage {
            names: Names::new(namespace),
            namespace: namespace.to_owned(),
            window_ms: (window_days * MS_PER_DAY).ceil() as u64,
            random: Random::seeded(seed),
            writer: String::new(),
            place: Place::Opening,
            has_signals: false,
            stashes: false,
            undisturbed_ms: None,
            signals: 0,
            is_loaded: false,
            is_clearing: false,
            is_flushing: false,
            notices: Notices::default(),
            health: Health::default(),
            operation: 0,
            flight: None,
            burst_ms: 0,
            burst: 0,
            listing: Listing::default(),
            wants_listing: true,
            clear: 0,
            reading: None,
            found_snapshot: None,
            saving: Saving::default(),
            compactions: Compactions::new(remember),
            taken_stashes: Vec::new(),
            given_up: Vec::new(),
            chores: Vec::new(),
            found: None,
            use_note: None,
        }
    }

    /// A store was opened. `has_signals`: other tabs share it, and hear when somebody has written. `stashes`: a page that
    /// goes may not get its writes done, so it leaves them in a stash as well. `undisturbed_ms`: what the wall clock would
    /// say had nobody set it since the document began, if that is known.
    pub fn begin(&mut self, has_signals: bool, stashes: bool, undisturbed_ms: Option<u64>) {
        self.place = Place::Store;
        self.has_signals = has_signals;
        self.stashes = stashes;
        self.undisturbed_ms = undisturbed_ms;
    }

    /// There is no store: the guard runs without.
    pub fn without(&mut self, guard: &mut Guard) {
        self.place = Place::Nowhere;
        guard.finish_loading();
        self.is_loaded = true;
        self.is_clearing = false;
        self.is_flushing = false;
    }

    /// The next operation. While one is under way there is none.
    pub fn next(&mut self, guard: &mut Guard, now: Now) -> Operation {
        if self.place != Place::Store || self.flight.is_some() {
            return Operation::Wait { until_ms: u64::MAX };
        }
        let burst_end_ms = self.burst_ms + BURST_MS;
        if self.burst >= MOST_IN_A_BURST && now.steady_ms < burst_end_ms {
            return Operation::Wait { until_ms: burst_end_ms };
        }
        if now.steady_ms < self.health.retry_ms() {
            let until_ms = self.health.retry_ms();
            return Operation::Wait { until_ms };
        }
        if let Some(mut reading) = self.reading.take() {
            if !reading.merge_portion(guard, now) {
                self.reading = Some(reading);
                let until_ms = now.steady_ms;
                return Operation::Wait { until_ms };
            }
            self.finish_reading(reading, guard, now);
        }
        match self.decide(guard, now) {
            Some((operation, purpose)) => self.start(operation, purpose, now),
            None => Operation::Wait {
                until_ms: self.next_ms(guard, now),
            },
        }
    }

    fn start(&mut self, operation: Operation, purpose: Purpose, now: Now) -> Operation {
        if now.steady_ms >= self.burst_ms + BURST_MS {
            (self.burst_ms, self.burst) = (now.steady_ms, 0);
        }
        self.burst += 1;
        self.operation = self.operation.wrapping_add(1);
        let keys = match &operation {
            Operation::Read(keys) | Operation::Remove { keys, .. } => keys.clone(),
            _ => Vec::new(),
        };
        self.flight = Some(Flight { purpose, keys });
        operation
    }

    /// The number of the latest operation, which its outcome is told with.
    pub fn operation(&self) -> u32 {
        self.operation
    }

    /// Takes what came of an operation. An outcome that is no longer awaited changes nothing.
    pub fn complete(&mut self, guard: &mut Guard, number: u32, outcome: Outcome, now: Now) {
        if number != self.operation || self.flight.is_none() {
            return;
        }
        if let Outcome::Failed { is_full } = outcome {
            return self.fail(is_full, now);
        }
        let Some(Flight { purpose, keys, .. }) = self.flight.take() else {
            return;
        };
        let shows_room = match purpose {
            Purpose::Snapshot => true,
            Purpose::Save | Purpose::Union => !self.saving.lacks_room(),
            _ => false,
        };
        self.health.succeed(shows_room);
        match (purpose, outcome) {
            (Purpose::Listing, Outcome::Keys(keys)) => self.take_listing(keys),
            (Purpose::Idle, Outcome::Texts(texts)) => {
                let today = Today::new(now.wall_ms, self.window_ms, self.undisturbed_ms);
                let found = self.found.take().unwrap_or_default();
                self.chores = today.clean_up(&found, self.names.namespace(), &texts);
            }
            (Purpose::Look | Purpose::Group, Outcome::Texts(texts)) => {
                let is_missed = |key: &String| texts.iter().all(|(found, _)| found != key);
                let missed: Vec<String> = keys.into_iter().filter(is_missed).collect();
                if missed.contains(&self.names.last_use()) {
                    self.use_note = None;
                }
                if self.listing.miss(missed) {
                    // Somebody has compacted them since they were listed: what they had is under another key.
                    self.wants_listing = true;
                    if purpose == Purpose::Group {
                        return self.compactions.abandon();
                    }
                }
                self.begin_reading(texts, purpose == Purpose::Group, guard, now);
            }
            (purpose, Outcome::Done) => self.take_done(purpose, &keys, now),
            // The outcome of another kind of operation: nothing that one could go on with.
            _ => self.fail(false, now),
        }
    }

    /// An operation failed. What can be put right by giving something up is; else all is tried again after a while.
    fn fail(&mut self, is_full: bool, now: Now) {
        let trouble = if is_full { Trouble::Full } else { Trouble::Unavailable };
        match self.flight.take().map(|flight| flight.purpose) {
            Some(Purpose::SetAside) if is_full => return self.compactions.set_nothing_aside(),
            Some(Purpose::Snapshot) if is_full => {
                // Without it the next visit waits for the server; all else goes on.
                self.saving.snapshot_has_no_room(now.steady_ms);
                self.notices.failed = true;
                self.notices.trouble |= self.health.note(trouble);
                self.is_flushing = false;
                return;
            }
            Some(Purpose::Save) => {
                self.saving.put_back(self.clear);
                if is_full && self.give_up() {
                    return;
                }
            }
            Some(Purpose::Union) if is_full && self.give_up() => return,
            Some(Purpose::Listing) => self.wants_listing = true,
            Some(Purpose::Group) => self.compactions.abandon(),
            _ => {}
        }
        self.notices.failed = true;
        self.notices.trouble |= self.health.note(trouble);
        self.is_flushing = false;
        self.health.back_off(now.steady_ms, &mut self.random);
    }

    /// Has something removed for room. Returns whether there is anything.
    fn give_up(&mut self) -> bool {
        self.given_up = self.listing.expendable(self.clear);
        !self.given_up.is_empty()
    }

    /// What comes next, the most urgent first.
    fn decide(&mut self, guard: &mut Guard, now: Now) -> Option<Next> {
        if !self.given_up.is_empty() {
            let keys = std::mem::take(&mut self.given_up);
            return Some((Operation::Remove { keys, only_if: None }, Purpose::GiveUp));
        }
        if self.is_loaded {
            if guard.device_name().is_none() {
                guard.name_device(DeviceName::new(&self.namespace, self.random.next()));
            }
            if let Some(save) = self.save(guard) {
                return Some(save);
            }
        }
        if self.wants_listing {
            self.wants_listing = false;
            let prefixes = vec![names::ROOT.to_owned(), names::STASH_ROOT.to_owned()];
            return Some((Operation::List(prefixes), Purpose::Listing));
        }
        let unread = self.to_read();
        if !unread.is_empty() {
            return Some((Operation::Read(unread), Purpose::Look));
        }
        if !self.is_loaded {
            self.finish_loading(guard, now);
            return self.decide(guard, now);
        }
        if let Some(snapshot) = self.save_snapshot(guard, now) {
            return Some(snapshot);
        }
        if let Some(next) = self.unstash(guard) {
            return Some(next);
        }
        // Who writes so fast that a compaction's time never comes waits for it.
        if self.compactions.is_urgent()
            && let Some(next) = self.compact(guard, now)
        {
            return Some(next);
        }
        self.is_flushing &= self.wants_listing;
        if let Some(next) = self.compact(guard, now) {
            return Some(next);
        }
        if self.wants_listing {
            return self.decide(guard, now);
        }
        if std::mem::take(&mut self.is_clearing) {
            guard.finish_clear();
            self.notices.signal = self.has_signals;
        }
        self.keep_house(now)
    }

    /// What others have written and is not read yet; when the namespace is loaded, the snapshot and the note of its last
    /// use with it.
    fn to_read(&self) -> Vec<String> {
        let mut keys = self.listing.unread();
        if !self.is_loaded {
            keys.extend(self.listing.snapshot());
            keys.extend(self.use_note.is_some().then(|| self.names.last_use()));
        }
        keys
    }

    /// What can wait for everything else.
    fn keep_house(&mut self, now: Now) -> Option<Next> {
        if let Some(found) = &self.found {
            let keys = idle::to_read(found, self.names.namespace());
            if !keys.is_empty() {
                return Some((Operation::Read(keys), Purpose::Idle));
            }
            self.found = None;
        }
        let note = idle::use_note(now.wall_ms, self.window_ms);
        if self.use_note.as_ref() != Some(&note) {
            self.use_note = Some(note.clone());
            let (key, text) = (self.names.last_use(), note);
            return Some((Operation::Write { key, text }, Purpose::Chore));
        }
        Some((self.chores.pop()?, Purpose::Chore))
    }

    /// When there is something to do though nothing happens, by the steady clock.
    fn next_ms(&self, guard: &Guard, now: Now) -> u64 {
        let snapshot = self.saving.snapshot_ms(guard, now);
        snapshot.unwrap_or(u64::MAX).min(self.compactions.due_ms())
    }

    fn take_listing(&mut self, keys: Vec<String>) {
        let is_taken = |writer: &str| {
            keys.iter().any(|key| {
                key.as_bytes()
                    .windows(writer.len())
                    .any(|part| part == writer.as_bytes())
            })
        };
        while self.writer.is_empty() || (!self.saving.has_written() && is_taken(&self.writer)) {
            self.writer = base36_of_length(self.random.next(), 13);
            if !self.is_loaded {
                self.use_note = keys.contains(&self.names.last_use()).then(String::new);
                self.found = Some(keys.clone());
            }
        }
        let own_stash = self.saving.stash.is_some().then(|| self.stash_key());
        self.listing.update(keys, &self.names, own_stash.as_deref());
    }

    fn begin_reading(&mut self, texts: Vec<(String, String)>, is_group: bool, guard: &mut Guard, now: Now) {
        let mut recordings = Vec::new();
        for (key, text) in texts {
            match self.names.kind_of(&key) {
                Some(Kind::Segment { .. } | Kind::Stash) => recordings.push(Text::new(key, text)),
                Some(Kind::Snapshot { clear } | Kind::SetAside { clear }) => self.found_snapshot = Some((clear, text)),
                None => self.use_note = Some(text),
            }
        }
        self.reading = Some(Reading::begin(recordings, is_group, !self.is_loaded, guard, now));
        self.learn_clear(guard);
    }

    fn finish_reading(&mut self, reading: Reading, guard: &mut Guard, now: Now) {
        for text in &reading.texts {
            // What a clear has overtaken is removed, and that is nobody's concern; a group's was told when it was found.
            let is_stale = text.clear() < self.clear || reading.is_group;
            self.notices.damaged |= text.state() == SegmentState::Damaged && !is_stale;
            self.notices.newer |= text.state() == SegmentState::Newer && !is_stale;
            if let Some(entry) = self.listing.get_mut(&text.key) {
                entry.state = Some(text.state());
                entry.clear = text.clear();
                entry.length = text.text.len();
                entry.is_void = text.hashes.is_empty();
            }
        }
        if reading.is_group {
            let stashes = self.compactions.take_group(reading.texts, &self.names);
            return self.taken_stashes.extend(stashes);
        }
        if self.is_loaded {
            return;
        }
        for text in reading.texts {
            if self.names.kind_of(&text.key) == Some(Kind::Stash) {
                guard.set_unsaved(&text.hashes);
                self.taken_stashes.push((text.key, text.text));
            }
        }
        if !self.wants_listing {
            self.finish_loading(guard, now);
        }
    }

    fn finish_loading(&mut self, guard: &mut Guard, now: Now) {
        // One from before a clear is removed, as all that is.
        let found = self
            .found_snapshot
            .take()
            .filter(|(clear, _)| *clear >= guard.clear_number());
        if let Some((_, snapshot)) = found {
            let damage = guard
                .restore(&snapshot, now)
                .err()
                .filter(|error| *error != Error::OutOfMemory);
            if damage.is_some() {
                self.notices.damaged_snapshot = true;
                let keys = self.listing.keys(&Entry::is_snapshot);
                self.listing.remove(&keys);
                self.chores.push(Operation::Remove { keys, only_if: None });
            }
        }
        guard.finish_loading();
        self.is_loaded = true;
        if self.listing.is_wasteful() {
            self.compactions.schedule_all(now.steady_ms, &mut self.random);
        }
    }

    /// A higher number was learned: what is under way for the lower one is begun anew.
    fn learn_clear(&mut self, guard: &Guard) {
        if guard.clear_number() > self.clear {
            self.clear = guard.clear_number();
            self.saving.forget();
            self.compactions.abandon();
        }
    }

    fn take_done(&mut self, purpose: Purpose, keys: &[String], now: Now) {
        match purpose {
            Purpose::Save => self.saved(now),
            Purpose::Snapshot => {
                self.saving.snapshot_is_saved();
                self.saving.snapshot_due_ms = now.steady_ms + SNAPSHOT_MS;
            }
            Purpose::Union => self.compactions.written(&mut self.listing),
            Purpose::Replace => {
                self.compactions.replaced(&mut self.listing);
                self.wants_listing |= self.is_clearing;
            }
            Purpose::GiveUp => self.listing.remove(keys),
            Purpose::Unstash => {
                self.taken_stashes.pop();
                self.listing.remove(keys);
                // Who left it may have left something else there since.
                self.wants_listing = true;
            }
            _ => {}
        }
    }

    /// Something was recorded, taken back, applied or delivered: that is tried at once, though the storage has failed.
    pub fn changed(&mut self) {
        self.health.try_now();
    }

    /// Somebody else has written.
    pub fn look(&mut self) {
        self.wants_listing = true;
    }

    /// Everything is to be written at once, the snapshot in use, too: see [`Storage::is_settled`]. Where no signals tell
    /// what others have written, that is looked up.
    pub fn flush(&mut self) {
        self.is_flushing = self.place != Place::Nowhere;
        self.wants_listing |= !self.has_signals;
        self.health.try_now();
    }

    /// Empties the table at once, and begins to clear the storage: see [`Storage::is_clearing`].
    pub fn clear(&mut self, guard: &mut Guard, now: Now) {
        guard.clear(now);
        self.learn_clear(guard);
        self.found_snapshot = None;
        self.is_clearing = self.place != Place::Nowhere;
        self.wants_listing = true;
        self.health.try_now();
        if !self.is_clearing {
            guard.finish_clear();
        }
    }

    /// Somebody has waited in vain: the storage is in trouble.
    pub fn timed_out(&mut self) {
        self.notices.trouble |= self.health.note(Trouble::Unavailable);
    }

    /// Whether what was stored is known.
    pub fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// Whether all that was recorded before the last [`Storage::flush`] is written, or an operation has failed since.
    pub fn is_settled(&self) -> bool {
        !self.is_flushing
    }

    /// Whether a clear was begun here, and something from before it may be in storage.
    pub fn is_clearing(&self) -> bool {
        self.is_clearing
    }

    /// Whether all is read and merged that the last listing named, and no other is due.
    pub fn is_current(&self) -> bool {
        let is_reading = |flight: &Flight| matches!(flight.purpose, Purpose::Listing | Purpose::Look);
        let is_idle = !self.flight.as_ref().is_some_and(is_reading) && self.reading.is_none();
        is_idle && self.is_loaded && !self.wants_listing && self.listing.unread().is_empty()
    }

    /// What is wrong with the storage.
    pub fn trouble(&self) -> Option<Trouble> {
        self.health.trouble()
    }

    /// What there is to tell since the last call.
    pub fn take_notices(&mut self) -> Notices {
        std::mem::take(&mut self.notices)
    }

    /// The key of the signal to other tabs.
    pub fn signal_key(&self) -> String {
        self.names.signal()
    }

    /// The signal's value: another one each time, always of one length, so that a storage that has filled up since has
    /// room for it.
    pub fn signal_text(&mut self) -> String {
        self.signals += 1;
        base36_of_length(hash_id(self.writer.as_bytes(), self.signals), 13)
    }

    /// The key of this page's stash.
    pub fn stash_key(&self) -> String {
        self.names.stash(&self.writer)
    }

    /// The prefix of the keys of this namespace's stashes.
    pub fn stash_prefix(&self) -> String {
        self.names.stash_prefix().to_owned()
    }
}
