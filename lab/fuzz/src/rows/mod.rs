//! Stored rows, read in every order and grouping, against a plain model of the table.

mod input;
mod model;

use allocation_counter::measure;
use arbitrary::Arbitrary;
use seenguard::device::{Guard, MAX_REMEMBER, Place};
use seenguard::hash::hash_id;

use crate::common::at_ms;
use crate::common::device::{Device, PREFIX, Tab};
use crate::pieces::{Few, Id, Time, texts};
use input::{MetaInput, RowInput};
use model::{MAX_NUMBER, Row, Table};

const WINDOW_DAYS: f64 = 30.0;
const WINDOW_MS: u64 = 30 * 86_400_000;
/// The most recordings that the table keeps above `remember`.
const MAX_TEXTS: usize = 5_000;
const MAX_TEXT_BYTES: usize = 256 * 1024;
const MAX_UNSEEN: usize = 1_000;
const LITTLE: usize = 64 * 1024;

/// One input.
#[derive(Debug, Arbitrary)]
pub struct Input<'a> {
    /// Recordings that are kept.
    remember: u16,
    now: Time,
    rows: Few<RowInput<'a>, 8>,
    meta: Option<MetaInput>,
    recorded: Few<Id, 8>,
    unseen: Few<Id, 4>,
    delivers: bool,
    clears: bool,
}

/// Rows, and what the model makes of them.
struct Stored {
    remember: usize,
    now: seenguard::Time,
    /// The number of the latest clear.
    number: u64,
    device: Device,
    /// Those under this number; none of a damaged one.
    rows: Vec<Option<Row>>,
    table: Table,
    /// Whether the history was deleted: then all that passes is to be decided anew.
    has_floor: bool,
}

/// Reads an input's rows in several ways.
///
/// # Panics
/// If a property does not hold.
pub fn check(input: &Input<'_>) {
    let number = input.rows.0.iter().map(RowInput::number).max().unwrap_or(0);
    let counted = input.rows.0.iter().filter(|row| row.number() == number);
    let rows: Vec<Option<Row>> = counted.map(|row| model::read(&row.text())).collect();
    let reporting = input.meta.is_some_and(|meta| meta.reporting);
    let floor = input.meta.and_then(|meta| meta.floor()).map_or(0, |(_, at)| at);
    let mut device = Device::default();
    device.main = keyed(input, |writer| writer);
    if let Some(meta) = input.meta {
        device.main.insert(format!("{PREFIX}{number:011}/m"), meta.text());
    }
    let stored = Stored {
        remember: usize::from(input.remember).clamp(1, MAX_REMEMBER),
        now: at_ms(input.now.ms().min(1 << 54)),
        number,
        device,
        table: Table::of(rows.iter().flatten(), reporting, floor),
        rows,
        has_floor: input.meta.is_some_and(|meta| meta.floor().is_some()),
    };
    let mut tab = stored.open(&mut stored.device.clone());
    let is_damaged = stored.rows.contains(&None);
    assert_eq!(tab.storage.take_notices(), (is_damaged, false), "what is told");
    stored.check_limits(&tab.guard);
    if stored.drops_nothing() {
        stored.check_answers(&tab.guard);
        stored.check_order(input);
        stored.check_pass();
    } else {
        stored.check_highest(&tab.guard);
    }
    if input.clears {
        stored.check_clear();
    }
    stored.go_on(input);
}

/// The rows by their keys, each of the writer that `name` makes of its place.
fn keyed(input: &Input<'_>, name: impl Fn(usize) -> usize) -> std::collections::BTreeMap<String, String> {
    let rows = input.rows.0.iter().enumerate();
    rows.map(|(place, row)| (row.key(name(place)), row.text())).collect()
}

impl Stored {
    fn open(&self, device: &mut Device) -> Tab {
        let guard = Guard::new(WINDOW_DAYS, self.remember).expect("the options are those of a guard");
        let mut tab = Tab::with(guard, Place::IndexedDb);
        tab.now_ms = self.now.unix_ms();
        let text: usize = device.main.iter().map(|(key, text)| key.len() + text.len()).sum();
        let memory = measure(|| _ = tab.work(device)).bytes_max as usize;
        assert!(memory <= 64 * text + LITTLE, "{memory} bytes for {text} of text");
        tab
    }

    /// Whether this time is within the window.
    fn is_live(&self, at: u64) -> bool {
        self.now.unix_ms() < at.saturating_add(WINDOW_MS)
    }

    /// Whether all that was read is within the limits of a table.
    fn drops_nothing(&self) -> bool {
        let all = || self.rows.iter().flatten().flatten();
        let ids = || all().filter_map(|(_, recording)| recording.id.as_ref());
        let unseen = all().filter(|(_, recording)| !recording.is_seen).count();
        all().count() <= self.remember
            && ids().count() <= MAX_TEXTS
            && ids().map(Vec::len).sum::<usize>() <= MAX_TEXT_BYTES
            && unseen <= MAX_UNSEEN
    }

    fn check_limits(&self, guard: &Guard) {
        let stats = guard.stats(self.now);
        let with_slack = |limit: usize| limit + limit / 10;
        assert!(stats.remembered <= with_slack(self.remember));
        let pending = guard.pending(usize::MAX, self.now);
        assert!(stats.pending <= MAX_TEXTS && pending.len() == stats.pending);
        // What is not Unicode takes up to three bytes for one as text.
        assert!(pending.iter().map(String::len).sum::<usize>() <= 3 * MAX_TEXT_BYTES);
    }

    /// The answers are the model's.
    fn check_answers(&self, guard: &Guard) {
        assert_eq!(guard.number(), self.number);
        let told = guard.pending_list(0, self.now);
        let counter = told.split('.').nth(1).map(|counter| u64::from_str_radix(counter, 36));
        assert_eq!(counter, Some(Ok(self.table.highest_seq)));
        assert_eq!(
            guard.pending(usize::MAX, self.now),
            self.table.pending(|at| self.is_live(at))
        );
        assert_eq!(guard.undelivered(), self.table.undelivered());
        let all = self.table.recordings.values();
        let remembered = all.filter(|one| one.is_seen && self.is_live(one.at)).count();
        assert_eq!(guard.stats(self.now).remembered, remembered);
        for text in (0..=255).map(|number| Id(number).text()) {
            let recording = self.table.recordings.get(&hash_id(text.as_bytes(), 0));
            let is_stopped = recording.is_some_and(|recording| recording.is_seen && self.is_live(recording.at));
            assert_eq!(guard.explain(&text, self.now).is_some(), is_stopped, "{text:?}");
            let is_unseen = recording.is_some_and(|recording| !recording.is_seen && self.is_live(recording.at));
            let is_named = !guard.unseen(&[&text], self.now).is_empty();
            assert_eq!(is_named, is_unseen || (self.has_floor && !is_stopped), "{text:?}");
        }
    }

    /// In which order rows are read, and how often, does not matter.
    fn check_order(&self, input: &Input<'_>) {
        let mut device = self.device.clone();
        device.main.retain(|key, _| key.ends_with("/m"));
        device.main.extend(keyed(input, |writer| 9 - writer));
        self.check_answers(&self.open(&mut device).guard);
        device.main.extend(keyed(input, |writer| writer));
        self.check_answers(&self.open(&mut device).guard);
    }

    /// A pass leaves few rows for many, and they say the same.
    fn check_pass(&self) {
        let mut device = self.device.clone();
        let mut tab = self.open(&mut device);
        tab.flush(&mut device);
        // Damaged ones are deleted, and those of more recordings than a row has become several.
        let most = self.rows.iter().flatten().count() + self.table.recordings.len() / 1_000;
        assert!(device.rows() <= most, "{:?} for {most}", device.keys());
        self.check_answers(&tab.guard);
        let mut later = self.open(&mut device);
        assert_eq!(later.storage.take_notices(), (false, false));
        self.check_answers(&later.guard);
    }

    /// Where more is stored than a table keeps, it keeps the highest.
    fn check_highest(&self, guard: &Guard) {
        let kept = self.table.in_order().into_iter().rev().take(self.remember);
        let stopped: Vec<u64> = kept.filter(|(_, one)| one.is_seen).map(|(hash, _)| hash).collect();
        for text in (0..=255).map(|number| Id(number).text()) {
            let hash = hash_id(text.as_bytes(), 0);
            if stopped.contains(&hash) && self.is_live(self.table.recordings[&hash].at) {
                assert!(
                    guard.explain(&text, self.now).is_some(),
                    "{text:?} is among the highest"
                );
            }
        }
    }

    /// After a clear nothing is known but what is recorded then, here and on the next visit.
    fn check_clear(&self) {
        let mut device = self.device.clone();
        let mut tab = self.open(&mut device);
        let number = self.now.unix_ms().max(self.number + 1);
        if number > MAX_NUMBER {
            return;
        }
        tab.storage.clear(&mut tab.guard, number, false);
        device.signal = Some(number);
        tab.record(&["only since"]);
        tab.flush(&mut device);
        let later = self.open(&mut device);
        for guard in [&tab.guard, &later.guard] {
            assert_eq!(guard.number(), number);
            assert_eq!(guard.pending(usize::MAX, self.now), ["only since"]);
            assert_eq!((guard.stats(self.now).remembered, guard.undelivered()), (1, 1));
        }
    }

    /// What is done from here on is stored, and found by the next visit.
    fn go_on(&self, input: &Input<'_>) {
        let mut device = self.device.clone();
        let mut tab = self.open(&mut device);
        if input.delivers {
            tab.guard.start_reporting();
            let batch = tab.guard.begin_batch(100, 4_096, self.now);
            tab.guard.end_batch(batch.number, true, self.now);
        }
        tab.record(&texts(&input.recorded.0));
        tab.unsee(&texts(&input.unseen.0));
        tab.flush(&mut device);
        // At the end of its 53 bits a counter can grow no more.
        if self.now.unix_ms() > MAX_NUMBER || self.table.highest_seq > MAX_NUMBER - 100 {
            return;
        }
        let later = self.open(&mut device);
        let has = |id: &Id| [&tab, &later].map(|tab| tab.guard.explain(id.text(), self.now).is_some());
        for id in &input.unseen.0 {
            assert_eq!(has(id), [false; 2], "{id:?} was made unseen");
        }
        let recorded = input.recorded.0.iter().filter(|id| !input.unseen.0.contains(id));
        for id in recorded.filter(|_| self.remember > 16) {
            assert_eq!(has(id), [true; 2], "a repeat: {id:?}");
        }
    }
}
