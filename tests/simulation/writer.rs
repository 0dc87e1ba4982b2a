//! How a tab keeps its guard's impressions in storage: the protocol of `js/storage/persistence.ts`, one storage operation a step.
//!
//! A writer writes what is new under a key of its own and never rewrites one; whoever takes over what others left writes the union first and then
//! removes exactly the keys that it read. Between any two steps other tabs do theirs, or this one dies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seenguard::{Guard, Now, SegmentState};

use super::store::Store;

const GENERATION_KEY: &str = "g";
const SEGMENTS_A_CHECKPOINT: usize = 16;
const SET_ASIDE: usize = 4;

/// A segment's key, taken apart.
#[derive(Debug, Clone)]
struct SegmentKey {
    key: String,
    generation: u64,
    writer: String,
    number: u64,
    is_checkpoint: bool,
}

/// How many impressions a tab has recorded, and promised to deliver since.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub recorded: usize,
    pub promised: usize,
}

/// A text to be written, and how much of what the tab has made it and those before it hold.
#[derive(Debug, Clone)]
struct Segment {
    text: String,
    holds: Made,
}

/// What there is to do, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    Load,
    Flush,
    Pull,
    Clear,
}

/// The storage operation that comes next.
#[derive(Debug)]
enum Step {
    List(Listing),
    ReadGeneration(Listing, Vec<SegmentKey>),
    ReadTexts(Listing, Texts),
    SetAside(Vec<String>, TakeOver),
    WriteUnion(TakeOver),
    Remove(VecDeque<String>, Job),
    /// Whether one was written already.
    WriteSegment(bool),
    WriteCheckpoint(Segment, Vec<String>),
    ClearWrite(u64, Vec<String>),
}

/// For what keys are listed, and when that began.
#[derive(Debug)]
struct Listing {
    job: Job,
    began_ms: u64,
    /// What was read before a listed key vanished.
    read: Vec<(SegmentKey, String)>,
}

/// What is being read.
#[derive(Debug, Default)]
struct Texts {
    void: Vec<String>,
    wanted: VecDeque<SegmentKey>,
    read: Vec<(SegmentKey, String)>,
    vanished: bool,
}

#[derive(Debug)]
struct TakeOver {
    began_ms: u64,
    union: Option<Segment>,
    taken: Vec<String>,
    void: Vec<String>,
}

/// What a step came to, for whoever watches.
#[derive(Debug)]
pub enum Effect {
    /// This many of the tab's impressions are in storage from now on; by a checkpoint all of them, else those that are new.
    Stored { holds: Made, is_checkpoint: bool },
    /// Everything that was in storage when this began is known here.
    CaughtUp { began_ms: u64 },
    /// The same at an opening; from now on it is to be stored by this tab, which has done so if the union is written.
    TookOver { began_ms: u64, is_written: bool },
    /// What was read at an opening is known here, and nothing written yet.
    Taken,
    /// What was there is taken over, and compacted if it could be written.
    Opened,
    /// The writer goes on in this generation, and knows of nothing before it.
    Forgot,
    /// Before anything was known.
    FoundGeneration,
    /// Other tabs should look.
    Rang,
    /// For a reason that counts.
    Noticed(&'static str),
}

/// What a step works on.
pub struct Surroundings<'a> {
    pub store: &'a mut Store,
    pub guard: &'a mut Guard,
    pub now: Now,
    pub true_ms: u64,
    pub made: Made,
    /// Whether keys are read and removed one by one.
    pub piecewise: bool,
    pub effects: Vec<Effect>,
}

#[derive(Debug)]
pub struct Writer {
    pub name: String,
    pub generation: u64,
    next_number: u64,
    own: Vec<String>,
    /// Keys of others that were read, or need not be.
    seen: BTreeSet<String>,
    /// For each other writer the number of its next segment, as long as none was missed.
    next: BTreeMap<String, u64>,
    unwritten: VecDeque<Segment>,
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
            own: Vec::new(),
            seen: BTreeSet::new(),
            next: BTreeMap::new(),
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

    pub fn own_keys(&self) -> usize {
        self.own.len()
    }

    /// Does the next storage operation, and what follows from it until the next one.
    pub fn step(&mut self, around: &mut Surroundings<'_>) {
        let step = match self.step.take() {
            Some(step) => step,
            None => match self.jobs.pop_front() {
                Some(job) => match self.begin(job, around) {
                    Some(step) => step,
                    None => return,
                },
                None => return,
            },
        };
        self.step = match step {
            Step::List(listing) => Some(self.list(listing, around)),
            Step::ReadGeneration(listing, segments) => self.read_generation(listing, segments, around),
            Step::ReadTexts(listing, texts) => self.read_texts(listing, texts, around),
            Step::SetAside(damaged, taking) => Some(set_aside(damaged, taking, around)),
            Step::WriteUnion(taking) => self.write_union(taking, around),
            Step::Remove(keys, job) => self.remove(keys, job, around),
            Step::WriteSegment(wrote) => self.write_segment(wrote, around),
            Step::WriteCheckpoint(checkpoint, before) => self.write_checkpoint(checkpoint, before, around),
            Step::ClearWrite(generation, present) => self.clear_write(generation, present, around),
        };
    }

    /// The first operation of a job; none if there is nothing to do.
    fn begin(&mut self, job: Job, around: &mut Surroundings<'_>) -> Option<Step> {
        if job != Job::Flush {
            let began_ms = around.true_ms;
            return Some(Step::List(Listing {
                job,
                began_ms,
                read: Vec::new(),
            }));
        }
        self.has_failed = false;
        if let Some(text) = around.guard.take_unsaved() {
            let holds = around.made;
            self.unwritten.push_back(Segment { text, holds });
        }
        (!self.unwritten.is_empty()).then_some(Step::WriteSegment(false))
    }

    fn list(&mut self, listing: Listing, around: &mut Surroundings<'_>) -> Step {
        let keys = around.store.keys();
        Step::ReadGeneration(listing, keys.iter().filter_map(|key| parse(key)).collect())
    }

    fn read_generation(
        &mut self,
        mut listing: Listing,
        segments: Vec<SegmentKey>,
        around: &mut Surroundings<'_>,
    ) -> Option<Step> {
        let stored = stored_generation(around.store);
        let highest = segments.iter().map(|segment| segment.generation).max().unwrap_or(0);
        let mut texts = Texts::default();
        match listing.job {
            Job::Clear => {
                let generation = stored.max(highest).max(self.generation) + 1;
                return Some(Step::ClearWrite(generation, around.store.keys()));
            }
            Job::Load => {
                self.generation = self.generation.max(stored).max(highest);
                around.effects.push(Effect::FoundGeneration);
                let (mut current, void): (Vec<_>, Vec<_>) = segments
                    .into_iter()
                    .partition(|segment| segment.generation == self.generation);
                texts.void = void.into_iter().map(|segment| segment.key).collect();
                texts.read = std::mem::take(&mut listing.read);
                texts.read.retain(|(segment, _)| segment.generation == self.generation);
                current.retain(|segment| texts.read.iter().all(|(read, _)| read.key != segment.key));
                texts.wanted = current.into();
            }
            Job::Pull | Job::Flush => {
                if stored > self.generation {
                    self.begin_generation(stored);
                    around.guard.forget();
                    around.effects.push(Effect::Forgot);
                    around.effects.push(Effect::Noticed("another tab's clear is noticed"));
                }
                texts.wanted = self.unread(segments).into();
            }
        }
        Some(Step::ReadTexts(listing, texts))
    }

    /// Segments of others that were not read, each writer's in order.
    fn unread(&mut self, segments: Vec<SegmentKey>) -> Vec<SegmentKey> {
        let mut others: Vec<SegmentKey> = segments
            .into_iter()
            .filter(|segment| segment.generation == self.generation && segment.writer != self.name)
            .collect();
        let there: BTreeSet<&String> = others.iter().map(|segment| &segment.key).collect();
        self.seen.retain(|key| there.contains(key));
        others.retain(|segment| !self.seen.contains(&segment.key));
        others.sort_by_key(|segment| segment.number);
        others
    }

    fn read_texts(&mut self, listing: Listing, mut texts: Texts, around: &mut Surroundings<'_>) -> Option<Step> {
        while let Some(segment) = texts.wanted.pop_front() {
            match around.store.read(&segment.key) {
                Some(text) => texts.read.push((segment, text.clone())),
                // Somebody has taken it over since it was listed.
                None => texts.vanished = true,
            }
            if around.piecewise && !texts.wanted.is_empty() {
                return Some(Step::ReadTexts(listing, texts));
            }
        }
        if texts.vanished {
            around
                .effects
                .push(Effect::Noticed("a key vanishes between listing and reading"));
        }
        match listing.job {
            // What it held is under another key by now.
            Job::Load if texts.vanished => Some(Step::List(Listing {
                read: texts.read,
                ..listing
            })),
            Job::Load => Some(self.take_over(listing, texts, around)),
            _ => self.merge(listing, texts, around),
        }
    }

    fn take_over(&mut self, listing: Listing, texts: Texts, around: &mut Surroundings<'_>) -> Step {
        let segments: Vec<(&str, &str)> = texts
            .read
            .iter()
            .map(|(segment, text)| (segment.writer.as_str(), text.as_str()))
            .collect();
        let states = around.guard.take_over(&segments, around.now);
        around.effects.push(Effect::Taken);
        let damaged = states.iter().zip(&texts.read);
        let damaged: Vec<String> = damaged
            .filter(|(state, _)| **state == SegmentState::Damaged)
            .map(|(_, (_, text))| text.clone())
            .take(SET_ASIDE)
            .collect();
        for (segment, _) in &texts.read {
            self.seen.insert(segment.key.clone());
        }
        let taken: Vec<String> = texts.read.into_iter().map(|(segment, _)| segment.key).collect();
        let union = (!taken.is_empty()).then(|| self.checkpoint(around));
        let taking = TakeOver {
            began_ms: listing.began_ms,
            union,
            taken,
            void: texts.void,
        };
        if damaged.is_empty() {
            Step::WriteUnion(taking)
        } else {
            Step::SetAside(damaged, taking)
        }
    }

    fn checkpoint(&self, around: &Surroundings<'_>) -> Segment {
        Segment {
            text: around.guard.checkpoint(),
            holds: around.made,
        }
    }

    fn write_union(&mut self, taking: TakeOver, around: &mut Surroundings<'_>) -> Option<Step> {
        let mut remove = taking.void;
        let is_written = taking.union.is_some_and(|union| self.write(union, true, around));
        if is_written {
            remove.extend(taking.taken);
            around.effects.push(Effect::Noticed("a union is written"));
        }
        self.is_loaded = true;
        around.effects.push(Effect::TookOver {
            began_ms: taking.began_ms,
            is_written,
        });
        if remove.is_empty() {
            around.effects.push(Effect::Opened);
            return None;
        }
        Some(Step::Remove(remove.into(), Job::Load))
    }

    fn merge(&mut self, listing: Listing, texts: Texts, around: &mut Surroundings<'_>) -> Option<Step> {
        for (segment, text) in &texts.read {
            self.seen.insert(segment.key.clone());
            let is_next = self.next.get(&segment.writer) == Some(&segment.number);
            if is_next || segment.number == 0 || segment.is_checkpoint {
                self.next.insert(segment.writer.clone(), segment.number + 1);
            } else {
                self.next.remove(&segment.writer);
            }
            // A checkpoint whose writer's segments were all read holds nothing new.
            let is_whole =
                segment.is_checkpoint && is_next || around.guard.merge(text, around.now) == SegmentState::Whole;
            if !is_whole {
                // Its writer's next checkpoint brings back what could not be read.
                self.next.remove(&segment.writer);
            }
        }
        if texts.vanished {
            self.enqueue(Job::Pull);
            return None;
        }
        around.effects.push(Effect::CaughtUp {
            began_ms: listing.began_ms,
        });
        None
    }

    fn remove(&mut self, mut keys: VecDeque<String>, job: Job, around: &mut Surroundings<'_>) -> Option<Step> {
        while let Some(key) = keys.pop_front() {
            around.store.remove(&key);
            self.own.retain(|own| *own != key);
            if around.piecewise && !keys.is_empty() {
                return Some(Step::Remove(keys, job));
            }
        }
        around
            .effects
            .push(if job == Job::Load { Effect::Opened } else { Effect::Rang });
        None
    }

    fn write_segment(&mut self, wrote: bool, around: &mut Surroundings<'_>) -> Option<Step> {
        let segment = self.unwritten.pop_front()?;
        if !self.write(segment.clone(), false, around) {
            self.unwritten.push_front(segment);
            around.effects.extend(wrote.then_some(Effect::Rang));
            return None;
        }
        if !self.unwritten.is_empty() {
            return Some(Step::WriteSegment(true));
        }
        if self.own.len() > SEGMENTS_A_CHECKPOINT {
            return Some(Step::WriteCheckpoint(self.checkpoint(around), self.own.clone()));
        }
        around.effects.push(Effect::Rang);
        None
    }

    fn write_checkpoint(
        &mut self,
        checkpoint: Segment,
        before: Vec<String>,
        around: &mut Surroundings<'_>,
    ) -> Option<Step> {
        if !self.write(checkpoint, true, around) {
            around.effects.push(Effect::Rang);
            return None;
        }
        around.effects.push(Effect::Noticed("a checkpoint is written"));
        Some(Step::Remove(before.into(), Job::Flush))
    }

    fn write(&mut self, segment: Segment, is_checkpoint: bool, around: &mut Surroundings<'_>) -> bool {
        let suffix = if is_checkpoint { "/c" } else { "" };
        let number = base36(self.next_number);
        let key = format!("s/{}/{}/{number}{suffix}", base36(self.generation), self.name);
        if around.store.write(&key, segment.text).is_err() {
            self.has_failed = true;
            around.effects.push(Effect::Noticed("a write fails"));
            return false;
        }
        self.next_number += 1;
        self.own.push(key);
        around.effects.push(Effect::Stored {
            holds: segment.holds,
            is_checkpoint,
        });
        true
    }

    fn clear_write(&mut self, generation: u64, present: Vec<String>, around: &mut Surroundings<'_>) -> Option<Step> {
        // First the new generation, so that what a late writer still writes is void. This one key is always written: it is a few bytes.
        let was_full = std::mem::take(&mut around.store.is_full);
        let written = around.store.write(GENERATION_KEY, base36(generation));
        around.store.is_full = was_full;
        written.expect("there is room for the generation");
        self.begin_generation(generation);
        // Again: a pull that was waiting may have brought back what was forgotten when this was asked for.
        around.guard.forget();
        around.effects.push(Effect::Forgot);
        let remove = present.into_iter().filter(|key| key != GENERATION_KEY);
        Some(Step::Remove(remove.collect(), Job::Clear))
    }

    fn begin_generation(&mut self, generation: u64) {
        self.generation = generation;
        self.own.clear();
        self.unwritten.clear();
        self.seen.clear();
        self.next.clear();
    }
}

fn set_aside(damaged: Vec<String>, taking: TakeOver, around: &mut Surroundings<'_>) -> Step {
    around.effects.push(Effect::Noticed("damaged text is set aside"));
    for (place, text) in damaged.into_iter().enumerate() {
        // What cannot be set aside for want of room is lost.
        let _ = around.store.write(&format!("x/{place}"), text);
    }
    Step::WriteUnion(taking)
}

/// The generation that the storage is in.
pub fn stored_generation(store: &Store) -> u64 {
    store
        .read(GENERATION_KEY)
        .and_then(|text| u64::from_str_radix(text, 36).ok())
        .unwrap_or(0)
}

fn parse(key: &str) -> Option<SegmentKey> {
    let mut parts = key.strip_prefix("s/")?.split('/');
    Some(SegmentKey {
        key: key.to_owned(),
        generation: u64::from_str_radix(parts.next()?, 36).ok()?,
        writer: parts.next()?.to_owned(),
        number: u64::from_str_radix(parts.next()?, 36).ok()?,
        is_checkpoint: parts.next() == Some("c"),
    })
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
