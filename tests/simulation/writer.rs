//! How a tab keeps its guard's impressions in storage: the protocol of `js/storage`, one storage operation a step.
//!
//! A writer writes what is unsaved as a new segment under a key of its own, and never rewrites one. When it has
//! written, and finds several segments of that size, it waits, lists again, and compacts them: the union is written
//! first, then exactly the keys that were read are removed. Before each write it looks at the generation, which a clear
//! raises. Between any two steps other tabs do theirs, or this one dies.

use std::collections::{BTreeSet, VecDeque};

use seenguard::{Guard, Now, Segment, SegmentState};

use super::held::{HeldStore, Restored};
use super::items::Item;
use super::store::Store;
use crate::random::Random;

const GENERATION_KEY: &str = "g";
/// So many segments of one level are compacted, and so many of a level whose segments hold a quarter of the table.
const SEGMENTS_A_LEVEL: usize = 4;
const LARGE_SEGMENTS_A_LEVEL: usize = 2;
const SET_ASIDE: usize = 4;
/// Longest wait before a compaction, in steps.
const MOST_WAITING: u64 = 6;

/// A segment's key, taken apart.
#[derive(Debug, Clone)]
struct SegmentKey {
    key: String,
    generation: u64,
    level: u32,
    writer: String,
}

/// What a tab did that a segment holds.
#[derive(Debug, Clone, Default)]
pub struct Holds {
    /// Recordings, by place in the ledger.
    pub recordings: Vec<usize>,
    /// Recordings that a snapshot covered.
    pub covered: Vec<usize>,
    /// Deliveries that have arrived.
    pub delivered: Vec<(Item, u64)>,
    /// Recordings that the tab held pending when it began to deliver.
    pub promised: Vec<usize>,
    /// The deletion of the history that the tab took last; 0: none since the segment before.
    pub deletion: u32,
}

/// A segment that is written, and what it holds of its tab.
#[derive(Debug, Clone)]
struct Unwritten {
    segment: Segment,
    holds: Holds,
}

/// What there is to do, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    Load,
    Flush,
    /// The page hides: what only a snapshot has covered is written, too.
    Hide,
    Pull,
    /// With the device's time of the clear, Unix milliseconds.
    Clear(u64),
}

/// What keys are listed and read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Load,
    Pull,
    Clear(u64),
    Compact(u32),
}

/// The storage operation that comes next.
#[derive(Debug)]
enum Step {
    List(Reading),
    ReadGeneration(Reading, Vec<SegmentKey>),
    ReadTexts(Reading),
    SetAside(Reading, Vec<String>),
    /// Looks at the generation before what is unsaved is written.
    LookBeforeSegment(bool),
    WriteSegment(bool),
    /// Counts the segments of a level.
    Count(u32),
    Wait(u64, u32),
    LookBeforeUnion(Union),
    WriteUnion(Union),
    /// The level to be counted when they are removed, if there is one.
    Remove(VecDeque<String>, Option<u32>),
    ClearWrite(u64, u64, Vec<String>),
}

#[derive(Debug)]
struct Reading {
    purpose: Purpose,
    began_ms: u64,
    void: Vec<String>,
    wanted: VecDeque<SegmentKey>,
    read: Vec<(SegmentKey, String)>,
    has_missed: bool,
}

#[derive(Debug)]
struct Union {
    segment: Segment,
    replaced: Vec<String>,
    level: u32,
}

/// What a step came to, for whoever watches.
#[derive(Debug)]
pub enum Effect {
    /// This is in storage from now on, in this segment.
    Stored { holds: Holds, text: String },
    /// Stored segments were merged, whichever.
    Heard,
    /// Everything that was in storage when this began is known here.
    CaughtUp { began_ms: u64 },
    /// The same at an opening: what was recorded before is numbered.
    Loaded { began_ms: u64 },
    /// The stored snapshot was taken over, or refused.
    Restored(Restored),
    /// The namespace was cleared at this time of the device's clock, and the writer goes on in the next generation.
    Cleared(u64),
    /// Other tabs should look.
    Signalled,
    /// For a reason that counts.
    Noticed(&'static str),
}

/// What a step works on.
pub struct Surroundings<'a> {
    pub store: &'a mut Store,
    pub held: &'a HeldStore,
    pub guard: &'a mut Guard,
    pub random: &'a mut Random,
    pub now: Now,
    pub true_ms: u64,
    /// Recordings that the table keeps.
    pub remember: usize,
    /// What the tab has done that is in no segment yet.
    pub unsaved: &'a mut Holds,
    /// Whether keys are read and removed one by one.
    pub piecewise: bool,
    pub effects: Vec<Effect>,
}

impl Surroundings<'_> {
    fn notice(&mut self, what: &'static str) {
        self.effects.push(Effect::Noticed(what));
    }
}

#[derive(Debug)]
pub struct Writer {
    pub name: String,
    pub generation: u64,
    next_number: u64,
    /// Keys of others that were read, or need not be.
    seen: BTreeSet<String>,
    unwritten: VecDeque<Unwritten>,
    jobs: VecDeque<Job>,
    step: Option<Step>,
    pub is_loaded: bool,
    /// Whether a write failed, and is to be tried again.
    pub has_failed: bool,
}

impl Writer {
    pub fn new(name: String) -> Self {
        Writer {
            name,
            generation: 0,
            next_number: 0,
            seen: BTreeSet::new(),
            unwritten: VecDeque::new(),
            jobs: VecDeque::from([Job::Load]),
            step: None,
            is_loaded: false,
            has_failed: false,
        }
    }

    /// Something is to be done, unless it is waiting to be done already.
    pub fn enqueue(&mut self, job: Job) {
        if !self.jobs.contains(&job) {
            self.jobs.push_back(job);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.step.is_none() && self.jobs.is_empty()
    }

    /// Whether the union has been written, and what it stands for not yet removed.
    pub fn is_between_write_and_remove(&self) -> bool {
        matches!(self.step, Some(Step::Remove(..)))
    }

    /// Whether it will compact after the wait.
    pub fn is_waiting(&self) -> bool {
        matches!(self.step, Some(Step::Wait(..)))
    }

    /// Does the next storage operation, and what follows from it until the next one.
    pub fn step(&mut self, around: &mut Surroundings<'_>) {
        let Some(step) = self.step.take().or_else(|| self.begin(around)) else {
            return;
        };
        self.step = match step {
            Step::List(reading) => Some(self.list(reading, around)),
            Step::ReadGeneration(reading, segments) => self.read_generation(reading, segments, around),
            Step::ReadTexts(reading) => self.read_texts(reading, around),
            Step::SetAside(reading, damaged) => Some(self.set_aside(reading, damaged, around)),
            Step::LookBeforeSegment(everything) => Some(self.look_before_segment(everything, around)),
            Step::WriteSegment(everything) => self.write_segment(everything, around),
            Step::Count(level) => self.count(level, around),
            Step::Wait(0, level) => Some(self.list(Reading::new(Purpose::Compact(level), around.true_ms), around)),
            Step::Wait(left, level) => Some(Step::Wait(left - 1, level)),
            Step::LookBeforeUnion(union) => self.look_before_union(union, around),
            Step::WriteUnion(union) => self.write_union(union, around),
            Step::Remove(keys, then) => self.remove(keys, then, around),
            Step::ClearWrite(generation, at_ms, present) => Some(self.clear_write(generation, at_ms, present, around)),
        };
    }

    /// The first operation of the next job.
    fn begin(&mut self, around: &Surroundings<'_>) -> Option<Step> {
        let list = |purpose| Some(Step::List(Reading::new(purpose, around.true_ms)));
        match self.jobs.pop_front()? {
            // Without having read the generation, what is written might be void.
            Job::Load | Job::Flush | Job::Hide | Job::Pull if !self.is_loaded => {
                self.jobs.retain(|&job| job != Job::Load);
                list(Purpose::Load)
            }
            Job::Load => None,
            Job::Flush => Some(Step::LookBeforeSegment(false)),
            Job::Hide => Some(Step::LookBeforeSegment(true)),
            Job::Pull => list(Purpose::Pull),
            Job::Clear(at_ms) => list(Purpose::Clear(at_ms)),
        }
    }

    fn list(&mut self, reading: Reading, around: &mut Surroundings<'_>) -> Step {
        Step::ReadGeneration(reading, segments_in(around.store))
    }

    fn read_generation(
        &mut self,
        mut reading: Reading,
        mut segments: Vec<SegmentKey>,
        around: &mut Surroundings<'_>,
    ) -> Option<Step> {
        if let Purpose::Clear(at_ms) = reading.purpose {
            let generation = stored_generation(around.store).0.max(self.generation) + 1;
            return Some(Step::ClearWrite(generation, at_ms, around.store.keys()));
        }
        let has_changed = self.look(around);
        if has_changed && matches!(reading.purpose, Purpose::Compact(_)) {
            self.enqueue(Job::Flush);
            return None;
        }
        let (current, void): (Vec<_>, Vec<_>) = segments
            .drain(..)
            .partition(|segment| segment.generation == self.generation);
        reading.void = void.into_iter().map(|segment| segment.key).collect();
        reading.has_missed = false;
        reading
            .read
            .retain(|(segment, _)| segment.generation == self.generation);
        self.seen
            .retain(|key| current.iter().any(|segment| segment.key == *key));
        let is_wanted = |segment: &SegmentKey| match reading.purpose {
            Purpose::Compact(level) => segment.level == level,
            _ => segment.writer != self.name && !self.seen.contains(&segment.key),
        };
        let is_read = |segment: &SegmentKey| reading.read.iter().any(|(read, _)| read.key == segment.key);
        let wanted = current
            .into_iter()
            .filter(|segment| is_wanted(segment) && !is_read(segment));
        reading.wanted = wanted.collect();
        Some(Step::ReadTexts(reading))
    }

    fn read_texts(&mut self, mut reading: Reading, around: &mut Surroundings<'_>) -> Option<Step> {
        while let Some(segment) = reading.wanted.pop_front() {
            match around.store.read(&segment.key) {
                Some(text) => reading.read.push((segment, text.clone())),
                // Somebody has compacted it since it was listed.
                None => reading.has_missed = true,
            }
            if around.piecewise && !reading.wanted.is_empty() {
                return Some(Step::ReadTexts(reading));
            }
        }
        if reading.has_missed {
            around.notice("a key vanishes between listing and reading");
            // What it held is under another key by now.
            if let Purpose::Compact(_) = reading.purpose {
                reading.read.clear();
            }
            return Some(Step::List(reading));
        }
        match reading.purpose {
            Purpose::Load => Some(self.load(reading, around)),
            Purpose::Compact(level) => self.compact(&reading.read, Some(level), around),
            _ => {
                self.merge(&reading, around);
                None
            }
        }
    }

    fn load(&mut self, reading: Reading, around: &mut Surroundings<'_>) -> Step {
        let states = around.guard.load(&reading.texts()).expect("there is memory");
        let restored = around.held.restore(self.generation, around.guard, around.now);
        around.guard.finish_loading();
        self.is_loaded = true;
        around.effects.push(Effect::Heard);
        around.effects.push(Effect::Loaded {
            began_ms: reading.began_ms,
        });
        around.effects.extend(restored.map(Effect::Restored));
        self.seen.extend(reading.keys());
        self.enqueue(Job::Flush);
        let damaged = states.iter().zip(&reading.read);
        let damaged = damaged.filter(|(state, _)| **state == SegmentState::Damaged);
        let damaged: Vec<String> = damaged.map(|(_, (segment, _))| segment.key.clone()).collect();
        if damaged.is_empty() {
            Step::Remove(reading.void.into(), None)
        } else {
            Step::SetAside(reading, damaged)
        }
    }

    /// Keeps what is damaged for whoever wants to look at it, and writes what can be read of it anew.
    fn set_aside(&mut self, mut reading: Reading, damaged: Vec<String>, around: &mut Surroundings<'_>) -> Step {
        around.notice("damaged text is set aside");
        reading.read.retain(|(segment, _)| damaged.contains(&segment.key));
        for (place, (_, text)) in reading.read.iter().take(SET_ASIDE).enumerate() {
            // What cannot be set aside for want of room is lost.
            let _ = around.store.write(&format!("x/{place}"), text.clone());
        }
        match self.compact(&reading.read, None, around) {
            Some(step) => step,
            None => Step::Remove(reading.void.into(), None),
        }
    }

    fn merge(&mut self, reading: &Reading, around: &mut Surroundings<'_>) {
        around.guard.merge(&reading.texts()).expect("there is memory");
        self.seen.extend(reading.keys());
        around.effects.push(Effect::Heard);
        around.effects.push(Effect::CaughtUp {
            began_ms: reading.began_ms,
        });
    }

    /// Makes one segment of those that were read, if there still are enough of a level.
    fn compact(
        &mut self,
        read: &[(SegmentKey, String)],
        level: Option<u32>,
        around: &mut Surroundings<'_>,
    ) -> Option<Step> {
        if level.is_some_and(|level| read.len() < enough(level, around.remember)) {
            around.notice("a compaction finds that another was quicker");
            return None;
        }
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        let segment = around.guard.compact(&texts).expect("there is memory");
        around.effects.push(Effect::Heard);
        let next = level.map_or(0, |level| level + 1);
        Some(Step::LookBeforeUnion(Union {
            level: segment.level.max(next),
            segment,
            replaced: read.iter().map(|(segment, _)| segment.key.clone()).collect(),
        }))
    }

    fn look_before_union(&mut self, union: Union, around: &mut Surroundings<'_>) -> Option<Step> {
        if self.look(around) {
            // What it read is void.
            self.enqueue(Job::Flush);
            return None;
        }
        Some(Step::WriteUnion(union))
    }

    fn write_union(&mut self, union: Union, around: &mut Surroundings<'_>) -> Option<Step> {
        if !self.write(union.level, &union.segment.text, around) {
            return None;
        }
        around.notice("a union is written");
        Some(Step::Remove(union.replaced.into(), Some(union.level)))
    }

    fn remove(&mut self, mut keys: VecDeque<String>, then: Option<u32>, around: &mut Surroundings<'_>) -> Option<Step> {
        while let Some(key) = keys.pop_front() {
            around.store.remove(&key);
            if around.piecewise && !keys.is_empty() {
                return Some(Step::Remove(keys, then));
            }
        }
        then.map(Step::Count)
    }

    fn look_before_segment(&mut self, everything: bool, around: &mut Surroundings<'_>) -> Step {
        self.look(around);
        Step::WriteSegment(everything)
    }

    fn write_segment(&mut self, everything: bool, around: &mut Surroundings<'_>) -> Option<Step> {
        self.has_failed = false;
        if let Some(segment) = around.guard.take_unsaved(everything) {
            let holds = std::mem::take(around.unsaved);
            self.unwritten.push_back(Unwritten { segment, holds });
        }
        let unwritten = self.unwritten.pop_front()?;
        let level = unwritten.segment.level;
        if !self.write(level, &unwritten.segment.text, around) {
            self.unwritten.push_front(unwritten);
            return None;
        }
        around.effects.push(Effect::Stored {
            holds: unwritten.holds,
            text: unwritten.segment.text,
        });
        around.effects.push(Effect::Signalled);
        if !self.unwritten.is_empty() {
            self.enqueue(Job::Flush);
        }
        Some(Step::Count(level))
    }

    /// Whether so many segments are of one level that they are to be compacted.
    fn count(&mut self, level: u32, around: &mut Surroundings<'_>) -> Option<Step> {
        let segments = segments_in(around.store);
        let of_level = segments
            .iter()
            .filter(|segment| segment.generation == self.generation && segment.level == level);
        if of_level.count() < enough(level, around.remember) {
            return None;
        }
        Some(Step::Wait(around.random.below(MOST_WAITING), level))
    }

    fn write(&mut self, level: u32, text: &str, around: &mut Surroundings<'_>) -> bool {
        let key = format!("s/{}/{level}/{}/{}", self.generation, self.name, self.next_number);
        self.next_number += 1;
        if around.store.write(&key, text.to_owned()).is_err() {
            self.has_failed = true;
            around.notice("a write fails");
            return false;
        }
        true
    }

    /// Looks at the generation: whether another tab has cleared the namespace. Then what is held from before that
    /// leaves.
    fn look(&mut self, around: &mut Surroundings<'_>) -> bool {
        let (generation, cleared_at_ms) = stored_generation(around.store);
        if generation <= self.generation {
            return false;
        }
        if self.is_loaded {
            around.notice("another tab's clear is noticed");
        }
        self.begin_generation(generation, cleared_at_ms, around);
        true
    }

    fn clear_write(
        &mut self,
        generation: u64,
        at_ms: u64,
        present: Vec<String>,
        around: &mut Surroundings<'_>,
    ) -> Step {
        // First the new generation, so that what a late writer still writes is void. This one key is always written: it
        // is a few bytes.
        let was_full = std::mem::take(&mut around.store.is_full);
        let written = around.store.write(GENERATION_KEY, format!("{generation}/{at_ms}"));
        around.store.is_full = was_full;
        written.expect("there is room for the generation");
        self.begin_generation(generation, at_ms, around);
        self.enqueue(Job::Flush);
        let remove = present.into_iter().filter(|key| key != GENERATION_KEY);
        Step::Remove(remove.collect(), None)
    }

    fn begin_generation(&mut self, generation: u64, cleared_at_ms: u64, around: &mut Surroundings<'_>) {
        self.generation = generation;
        self.unwritten.clear();
        self.seen.clear();
        around.guard.clear_before(cleared_at_ms, around.now);
        around.effects.push(Effect::Cleared(cleared_at_ms));
    }
}

impl Reading {
    fn new(purpose: Purpose, began_ms: u64) -> Self {
        Reading {
            purpose,
            began_ms,
            void: Vec::new(),
            wanted: VecDeque::new(),
            read: Vec::new(),
            has_missed: false,
        }
    }

    fn texts(&self) -> Vec<&str> {
        self.read.iter().map(|(_, text)| text.as_str()).collect()
    }

    fn keys(&self) -> impl Iterator<Item = String> {
        self.read.iter().map(|(segment, _)| segment.key.clone())
    }
}

/// How many segments of a level are compacted.
fn enough(level: u32, remember: usize) -> usize {
    if 4usize.saturating_pow(level) >= remember / 4 {
        LARGE_SEGMENTS_A_LEVEL
    } else {
        SEGMENTS_A_LEVEL
    }
}

/// The generation that the storage is in, and the device's time of the clear that began it.
pub fn stored_generation(store: &Store) -> (u64, u64) {
    let text = store.read(GENERATION_KEY).and_then(|text| text.split_once('/'));
    text.and_then(|(generation, at_ms)| Some((generation.parse().ok()?, at_ms.parse().ok()?)))
        .unwrap_or((0, 0))
}

fn segments_in(store: &Store) -> Vec<SegmentKey> {
    store.keys().iter().filter_map(|key| parse(key)).collect()
}

fn parse(key: &str) -> Option<SegmentKey> {
    let mut parts = key.strip_prefix("s/")?.split('/');
    Some(SegmentKey {
        key: key.to_owned(),
        generation: parts.next()?.parse().ok()?,
        level: parts.next()?.parse().ok()?,
        writer: parts.next()?.to_owned(),
    })
}
