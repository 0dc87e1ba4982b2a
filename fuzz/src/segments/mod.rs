//! Stored segments, loaded and merged in every order, against a plain model of the table.

mod input;
mod model;

use std::collections::HashSet;

use allocation_counter::measure;
use arbitrary::Arbitrary;
use seenguard::hash::hash_id;
use seenguard::{Guard, MAX_REMEMBER, Now, SegmentState};

use crate::pieces::{Few, Id, Time, texts};
use input::{Mark, SegmentInput};
use model::{Contents, MAX_CLEAR, MAX_NUMBER, Table};

const WINDOW_DAYS: f64 = 30.0;
const WINDOW_MS: u64 = 30 * 86_400_000;
/// What the table keeps at most beside its `remember` recordings.
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
    segments: Few<SegmentInput<'a>, 8>,
    recorded: Few<Id, 8>,
    taken_back: Few<Id, 4>,
    delivers: bool,
    /// Of the segments, in their order.
    marks: Few<Mark, 8>,
    clears: bool,
}

/// Segments, and what the model makes of them.
struct Stored {
    remember: usize,
    now: Now,
    texts: Vec<Vec<u8>>,
    contents: Vec<Contents>,
    table: Table,
}

/// Loads an input's segments in several ways.
///
/// # Panics
/// If a property does not hold.
pub fn check(input: &Input<'_>) {
    let marks = input.marks.0.iter().copied().chain(std::iter::repeat(Mark::default()));
    let texts: Vec<Vec<u8>> = input
        .segments
        .0
        .iter()
        .zip(marks)
        .map(|(segment, mark)| segment.text(mark))
        .collect();
    let contents: Vec<Contents> = texts.iter().map(|text| model::read(text)).collect();
    let now = Now::at(seenguard::Time::from_unix_ms(input.now.ms().min(1 << 54)));
    let stored = Stored {
        remember: usize::from(input.remember).clamp(1, MAX_REMEMBER),
        now,
        table: Table::of(&contents, now.wall_ms),
        texts,
        contents,
    };
    let guard = stored.load(&stored.texts);
    stored.check_states();
    stored.check_limits(&guard);
    if stored.drops_nothing() {
        stored.check_answers(&guard);
        stored.check_order();
        stored.check_grouping();
        stored.check_compaction();
    } else {
        stored.check_highest(&guard);
    }
    if input.clears {
        stored.check_clear(guard.clone());
    }
    stored.go_on(guard, input);
}

impl Stored {
    fn guard(&self) -> Guard {
        Guard::new(WINDOW_DAYS, self.remember).expect("the options are those of a guard")
    }

    /// Whether this time is within the window.
    fn is_live(&self, at: u64) -> bool {
        self.now.wall_ms < at.saturating_add(WINDOW_MS)
    }

    /// What is pending by the model.
    fn pending(&self) -> Vec<String> {
        self.table.pending(|at| self.is_live(at))
    }

    fn load(&self, texts: &[Vec<u8>]) -> Guard {
        let mut guard = self.guard();
        let memory = measure(|| drop(guard.load(texts, self.now).expect("there is memory"))).bytes_max as usize;
        guard.finish_loading();
        let text: usize = texts.iter().map(Vec::len).sum();
        assert!(memory <= 64 * text + LITTLE, "{memory} bytes for {text} of text");
        guard
    }

    fn check_states(&self) {
        let states = self.guard().load(&self.texts, self.now).expect("there is memory");
        let states: Vec<Option<SegmentState>> = states.into_iter().map(Some).collect();
        let expected: Vec<Option<SegmentState>> = self.contents.iter().map(|contents| contents.state).collect();
        assert_eq!(states, expected, "how the segments could be read");
    }

    /// Whether all that was read is within the limits of a table.
    fn drops_nothing(&self) -> bool {
        let all = || self.contents.iter().flat_map(|contents| &contents.recordings);
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
        assert!(stats.remembered <= with_slack(self.remember) && stats.unseen <= with_slack(MAX_UNSEEN));
        let pending = guard.pending(usize::MAX, self.now);
        assert!(stats.pending <= MAX_TEXTS && pending.len() == stats.pending);
        // What is not Unicode takes up to three bytes for one as text.
        assert!(pending.iter().map(String::len).sum::<usize>() <= 3 * MAX_TEXT_BYTES);
        let text: usize = self.texts.iter().map(Vec::len).sum();
        let most = 64 * text.min(4 * (with_slack(self.remember) + 1_000)) + 128 * MAX_TEXTS + MAX_TEXT_BYTES + LITTLE;
        assert!(stats.bytes <= most, "{} bytes are held, of {text} of text", stats.bytes);
    }

    /// The answers are the model's.
    fn check_answers(&self, guard: &Guard) {
        assert_eq!(guard.clear_number(), self.table.clear);
        let name = guard.device_name().map(|name| u64::from_str_radix(&name, 36));
        assert_eq!(name, self.table.device_name.map(Ok));
        assert_eq!(guard.pending(usize::MAX, self.now), self.pending());
        assert_eq!(guard.undelivered(), self.table.undelivered());
        let live = || {
            self.table
                .recordings
                .values()
                .filter(|recording| self.is_live(recording.at))
        };
        let stats = guard.stats(self.now);
        assert_eq!(stats.remembered, live().filter(|recording| recording.is_seen).count());
        assert_eq!(
            stats.unseen,
            live()
                .filter(|recording| !recording.is_seen && !recording.covered)
                .count()
        );
        for text in (0..=255).map(|number| Id(number).text()) {
            let recording = self.table.recordings.get(&hash_id(text.as_bytes(), 0));
            let is_stopped = recording.is_some_and(|recording| recording.is_seen && self.is_live(recording.at));
            assert_eq!(guard.has(&text, self.now), is_stopped, "{text:?}");
        }
    }

    /// What a table knows of all that was stored, as one segment.
    fn compacted(&self, mut guard: Guard) -> String {
        guard.compact(&self.texts, self.now).expect("there is memory").text
    }

    /// In which order segments are read, and how often, does not matter.
    fn check_order(&self) {
        let expected = self.compacted(self.load(&self.texts));
        let mut others = vec![self.texts.clone(), [self.texts.clone(), self.texts.clone()].concat()];
        others[0].reverse();
        others[1].rotate_left(self.texts.len() / 2);
        for texts in others {
            let mut guard = self.guard();
            guard.load(&texts, self.now).expect("there is memory");
            guard.finish_loading();
            assert_eq!(self.compacted(guard), expected, "the order of segments");
        }
    }

    /// Nor does it matter which are read together, if they say the same of the whole table. Of two recordings of one id
    /// the higher one stays until a clear is heard of that leaves the lower one alone; so with clears each has one.
    fn check_grouping(&self) {
        let header = |contents: &Contents| (contents.reporting, contents.forgotten);
        let is_uniform = self.contents.windows(2).all(|two| header(&two[0]) == header(&two[1]));
        let knows_same_clear = self.contents.windows(2).all(|two| two[0].clear == two[1].clear);
        let is_forgetful = self.contents.iter().any(|contents| contents.forgotten.is_some());
        if !is_uniform || !knows_same_clear && (is_forgetful || self.has_twice()) {
            return;
        }
        let mut one_by_one = self.guard();
        one_by_one.finish_loading();
        for text in &self.texts {
            one_by_one.merge(&[text], self.now).expect("there is memory");
        }
        assert_eq!(
            self.compacted(one_by_one),
            self.compacted(self.load(&self.texts)),
            "the grouping of segments"
        );
    }

    /// Whether an id has several recordings.
    fn has_twice(&self) -> bool {
        let mut hashes = HashSet::new();
        let mut all = self.contents.iter().flat_map(|contents| &contents.recordings);
        all.any(|(hash, _)| !hashes.insert(hash))
    }

    /// A compacted segment stands for those that it was made of.
    fn check_compaction(&self) {
        let text = self.compacted(self.load(&self.texts));
        let contents = model::read(text.as_bytes());
        assert_eq!(contents.state, Some(SegmentState::Whole));
        let mut table = Table::of(&[contents], self.now.wall_ms);
        table.highest_seq = self.table.highest_seq;
        for (hash, known) in &self.table.recordings {
            let written = table.recordings.get_mut(hash).expect("each recording is written");
            written.deliveries.clone_from(&known.deliveries);
        }
        assert_eq!(table, self.table, "what is written of what was read");
        let again = self.load(&[text.into_bytes()]);
        assert_eq!(again.pending(usize::MAX, self.now), self.pending());
    }

    /// Where more is stored than a table keeps, it keeps the highest.
    fn check_highest(&self, guard: &Guard) {
        let kept = self.table.in_order().into_iter().rev().take(self.remember);
        let stopped: Vec<u64> = kept.filter(|(_, one)| one.is_seen).map(|(hash, _)| hash).collect();
        for text in (0..=255).map(|number| Id(number).text()) {
            let hash = hash_id(text.as_bytes(), 0);
            if stopped.contains(&hash) && self.is_live(self.table.recordings[&hash].at) {
                assert!(guard.has(&text, self.now), "{text:?} is among the highest");
            }
        }
    }

    /// After a clear nothing is known but what is recorded then, here and on the next visit.
    fn check_clear(&self, mut guard: Guard) {
        if self.now.wall_ms.max(self.table.clear) >= MAX_CLEAR {
            return;
        }
        guard.clear(self.now);
        let number = guard.clear_number();
        assert_eq!(number, self.now.wall_ms.max(self.table.clear) + 1);
        let only = "only since";
        guard.record(&[only], self.now).expect("there is memory");
        let unsaved = guard.take_unsaved(false).map(|segment| segment.text.into_bytes());
        let next = self.load(&[self.texts.clone(), unsaved.into_iter().collect()].concat());
        for guard in [&guard, &next] {
            assert_eq!((guard.clear_number(), guard.device_name()), (number, None));
            assert_eq!(guard.pending(usize::MAX, self.now), [only]);
            let stats = guard.stats(self.now);
            assert_eq!((stats.remembered, stats.unseen, guard.undelivered()), (1, 0, 1));
        }
    }

    /// What is done from here on is written, and found by the next visit.
    fn go_on(&self, mut guard: Guard, input: &Input<'_>) {
        if input.delivers {
            guard.start_reporting();
            let batch = guard.begin_batch(100, 4_096, self.now);
            guard.end_batch(batch.number, true, self.now);
        }
        guard
            .record(&texts(&input.recorded.0), self.now)
            .expect("there is memory");
        guard
            .unsee(&texts(&input.taken_back.0), self.now)
            .expect("there is memory");
        let forgets_now = self.now.wall_ms > MAX_NUMBER;
        // At the end of its 53 bits a counter can grow no more.
        if forgets_now || self.table.highest_seq > MAX_NUMBER - 100 || self.table.forgotten.is_some() {
            return;
        }
        let unsaved = guard.take_unsaved(true).map(|segment| segment.text.into_bytes());
        let next = self.load(&[self.texts.clone(), unsaved.into_iter().collect()].concat());
        for id in &input.taken_back.0 {
            assert!(
                !guard.has(id.text(), self.now) && !next.has(id.text(), self.now),
                "{id:?} was taken back"
            );
        }
        let recorded = input.recorded.0.iter().filter(|id| !input.taken_back.0.contains(id));
        for id in recorded.filter(|_| self.remember > 16) {
            assert!(
                guard.has(id.text(), self.now) && next.has(id.text(), self.now),
                "a repeat: {id:?}"
            );
        }
    }
}
