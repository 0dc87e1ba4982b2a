//! The functions behind `SeenGuard`.
//!
//! Ids and other texts come in as the batch. What goes out is numbers, and ids with a time each or a text: names, which would cost more than all of it,
//! are given to them by `js/core.ts`. Guards go by numbers, and what they answer lies in memory where JavaScript reads it, so nothing that crosses
//! this boundary needs glue. All questions but one come in by one function and all answers go out in one form, so that each way over it is compiled
//! once, checks and all.

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use super::answer::Answer;
use super::batch::Ids;
use super::numbered::{Numbered, with_numbered};
use super::{format, now};
use crate::id_list::IdList;
use crate::journal::Entry;
use crate::{Explanation, Guard, Now};

/// What there is to ask, as `js/asked.ts` numbers it.
#[allow(missing_docs)]
pub mod asked {
    pub const RECORD: u8 = 0;
    pub const EXPLAIN: u8 = 1;
    pub const APPLY: u8 = 2;
    pub const STATS: u8 = 3;
    pub const PENDING: u8 = 4;
    pub const PENDING_SHARD: u8 = 5;
    pub const SET_DELIVERING: u8 = 6;
    pub const BEGIN_BATCH: u8 = 7;
    pub const END_BATCH: u8 = 8;
    pub const TAKE_UNSAVED: u8 = 9;
    pub const CHECKPOINT: u8 = 10;
    pub const TAKE_IN: u8 = 11;
    pub const FORGET: u8 = 12;
}

thread_local! {
    static GUARDS: RefCell<Numbered<Box<Guard>>> = const { RefCell::new(Numbered::new()) };
}

/// Makes a guard for one namespace. Returns its number. A window without meaning, which JavaScript refuses, would stop nothing for long.
#[wasm_bindgen(js_name = newGuard)]
pub fn new_guard(window_days: f64) -> usize {
    GUARDS.with_borrow_mut(|guards| guards.add(Box::new(Guard::of_window(window_days))))
}

/// Gives a guard's memory back.
#[wasm_bindgen(js_name = freeGuard)]
pub fn free_guard(number: usize) {
    GUARDS.with_borrow_mut(|guards| guards.remove(number));
}

/// Puts the indices of the batch's fresh ids where `fresh` tells. Returns how many they are. Times are `Date.now()` and `performance.now()`.
#[wasm_bindgen]
pub fn filter(guard: usize, wall_ms: f64, steady_ms: f64) -> usize {
    with_numbered(&GUARDS, guard, |guard, ids, fresh| {
        guard.filter_into(ids, now(wall_ms, steady_ms), fresh);
        fresh.len()
    })
    .unwrap_or_default()
}

/// Asks a guard anything else, by its number in [`asked`]: with the batch, and with as many of the other arguments as it takes. Returns where the
/// answer lies, in the form of [`Answer::place`].
// Plain arguments are what crosses this boundary most cheaply.
#[allow(clippy::too_many_arguments)]
#[wasm_bindgen]
pub fn ask(
    guard: usize,
    wall_ms: f64,
    steady_ms: f64,
    question: u8,
    first: f64,
    second: f64,
    third: f64,
    fourth: f64,
    fifth: f64,
    sixth: f64,
) -> *const f64 {
    let mut answer = Answer::default();
    with_numbered(&GUARDS, guard, |guard, ids, _| {
        let now = now(wall_ms, steady_ms);
        let asked = Asked {
            guard,
            ids,
            now,
            answer: &mut answer,
        };
        asked.answer(question, [first, second, third, fourth, fifth, sixth]);
    });
    answer.place()
}

/// A question on its way to its answer.
struct Asked<'a> {
    guard: &'a mut Guard,
    ids: &'a Ids<'a>,
    now: Now,
    answer: &'a mut Answer,
}

impl Asked<'_> {
    fn answer(mut self, question: u8, [first, second, third, fourth, fifth, sixth]: [f64; 6]) {
        match question {
            asked::RECORD => self.record(),
            asked::EXPLAIN => self.explain(),
            asked::APPLY => self.apply((first as u8, second as u32, third), fourth, fifth, sixth > 0.0),
            asked::STATS => self.stats(),
            asked::PENDING => self.pending(first as usize),
            asked::PENDING_SHARD => self.answer.tell_text(&self.guard.pending_shard().to_base64()),
            asked::SET_DELIVERING => self.guard.set_delivering(first > 0.0),
            asked::BEGIN_BATCH => self.begin_batch(first as usize, second as usize),
            asked::END_BATCH => self.guard.end_batch(first as u32, second > 0.0, self.now),
            asked::TAKE_UNSAVED => self.answer.tell_text(&self.guard.take_unsaved().unwrap_or_default()),
            asked::CHECKPOINT => self.answer.tell_text(&self.guard.checkpoint()),
            asked::TAKE_IN => self.take_in(first > 0.0),
            asked::FORGET => self.guard.forget(),
            _ => {}
        }
    }
}

/// What needs more words. Of what else there is to ask, `TAKE_UNSAVED` and `CHECKPOINT` answer a segment, empty if there is nothing in it, and
/// `PENDING_SHARD` a base64 shard; `END_BATCH` takes a batch's number and whether it arrived.
impl Asked<'_> {
    /// Records the batch's ids. Answers how many were not known on this device, how many others are no longer pending for want of room, and how many
    /// wait to be delivered.
    fn record(&mut self) {
        let recorded = self.guard.record_list(self.ids, self.now);
        let counts = [recorded.unknown, recorded.displaced, self.guard.undelivered()];
        self.answer.tell(&counts.map(|count| count as f64));
    }

    /// Why the batch's first id is stopped: `0, at` because it is pending, `1` by the memory, `2, shard, epoch` by the server, the epoch only where
    /// there is one; nothing if it is not.
    fn explain(&mut self) {
        match self.guard.explain(self.ids.get(0), self.now) {
            None => {}
            Some(Explanation::Pending { at }) => self.answer.tell(&[0.0, at as f64]),
            Some(Explanation::Memory) => self.answer.tell(&[1.0]),
            Some(Explanation::Server { shard, epoch }) => {
                self.answer.tell(&[2.0, shard as f64]);
                if let Some(epoch) = epoch {
                    self.answer.tell(&[f64::from(epoch)]);
                }
            }
        }
    }

    /// Takes a snapshot of the batch's shards, whose format is told as [`format`] takes it. `version` and `server_now_ms` are NaN where the
    /// snapshot has none. Answers how many shards are held and how many of them are expired; then whether it was applied, how many shards were held
    /// before, and how many impressions it covers, with their lags if `wants_lags`. Or, if it is wrong: in which shard, -1 where it is none of them
    /// alone, with the code of what is wrong and what is wrong, a space between them.
    fn apply(&mut self, (kind, number, rate): (u8, u32, f64), version: f64, server_now_ms: f64, wants_lags: bool) {
        let given = |value: f64| (value >= 0.0).then_some(value as u64);
        let mut covered = 0.0;
        let tell = |entry: &Entry, lag: u64| {
            covered += 1.0;
            if wants_lags {
                self.answer.tell_text_at(&entry.id, lag);
            }
        };
        let (version, server_ms) = (given(version), given(server_now_ms));
        let applied = format(kind, number, rate).and_then(|format| {
            self.guard
                .apply_list(self.ids, format, version, server_ms, self.now, tell)
        });
        let (shards, expired) = self.guard.held(self.now);
        self.answer.tell(&[shards as f64, expired as f64]);
        match applied {
            Ok(reused) => {
                let applied = f64::from(u8::from(reused.is_some()));
                self.answer.tell(&[applied, reused.unwrap_or(0) as f64, covered]);
            }
            Err(error) => {
                self.answer.tell(&[error.shard().map_or(-1.0, |shard| shard as f64)]);
                self.answer.tell_error(&error);
            }
        }
    }

    /// Answers the version of the snapshot in use, -1 where there is none; then what is held and was done, in the order of the `GuardStats` of
    /// JavaScript. The times of lags are 0 where there were none.
    fn stats(&mut self) {
        let stats = self.guard.stats(self.now);
        let (filtered, lag) = (stats.filtered, stats.lag);
        let ms = |lag: Option<u64>| lag.unwrap_or(0) as f64;
        self.answer.tell(&[
            self.guard.version().map_or(-1.0, |version| version as f64),
            stats.shards as f64,
            stats.server_false_positive_rate,
            stats.memory_false_positive_rate,
            stats.pending as f64,
            stats.remembered as f64,
            stats.bytes as f64,
            filtered.passed as f64,
            filtered.pending as f64,
            filtered.memory as f64,
            filtered.server as f64,
            filtered.duplicate as f64,
            lag.count as f64,
            ms(lag.last_ms),
            ms(lag.p50_ms),
            ms(lag.p95_ms),
            ms(lag.p99_ms),
        ]);
    }

    /// Answers the pending ids with their times, oldest first.
    fn pending(&mut self, limit: usize) {
        for entry in self.guard.pending_entries().take(limit) {
            self.answer.tell_text_at(&entry.id, entry.at);
        }
    }

    /// Answers the next batch to deliver: its number, 0 if there is nothing to deliver, and the ids with their times.
    fn begin_batch(&mut self, impressions: usize, bytes: usize) {
        let take = |entry: &Entry| self.answer.tell_text_at(&entry.id, entry.at);
        let batch = self.guard.begin_batch_with(impressions, bytes, self.now, take);
        self.answer.tell(&[f64::from(batch)]);
    }

    /// Takes in the batch's segments, each preceded by its writer: those that others have left behind as this writer's own, or those of a writer that
    /// is alive. Answers the state of each, as [`crate::SegmentState`] orders them.
    fn take_in(&mut self, own: bool) {
        for state in self.guard.take_in(self.ids, own, self.now) {
            self.answer.tell(&[f64::from(state as u8)]);
        }
    }
}
