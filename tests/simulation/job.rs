//! A transaction of a tab's storage while it is performed: request by request, late, in vain or never.

use std::collections::{BTreeSet, VecDeque};

use seenguard::device::{Place, Step};

use super::chance::Chance;
use super::scene::Scene;
use super::tab::Holds;

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// IndexedDB is being opened.
    Open,
    List,
    Read,
    Write,
    Delete,
    Commit,
    /// It is done, and the page is yet to hear of it.
    Told,
}

#[derive(Debug)]
pub struct Job {
    pub id: u32,
    pub step: Step,
    pub place: Place,
    pub stage: Stage,
    /// Its number in the database, if that has transactions.
    pub lock: Option<u64>,
    /// What is to be written and deleted, as far as it is known.
    pub puts: VecDeque<(String, String)>,
    pub deletions: VecDeque<String>,
    pub below: Option<String>,
    /// What was there before, last first.
    pub undo: Vec<(String, Option<String>)>,
    /// The keys of the namespace that it has found, and those that were gone when they were to be read.
    pub listed: BTreeSet<String>,
    pub missed: BTreeSet<String>,
    /// What its tab had not saved when it was planned.
    pub unsaved: Option<Holds>,
    /// What it may say of the whole then: the deletion that its tab knew, and whether impressions are delivered.
    pub meta: (u32, bool),
    pub meta_key: Option<(String, String)>,
    /// The rows that it has put, by their keys, and what of its tab's they hold.
    pub rows: Vec<(String, String)>,
    pub holds: Holds,
    /// After so many requests it fails, for want of room or otherwise; or does not answer.
    fails_after: Option<usize>,
    hangs_after: Option<usize>,
    requests: usize,
    pub begun_at: u64,
    /// When it tells that it is complete.
    pub tells_at: u64,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    Done,
    Fails,
    Hangs,
}

impl Job {
    /// Decides what becomes of a transaction.
    pub fn new(id: u32, step: Step, place: Place, scene: &mut Scene<'_>) -> Self {
        let (conditions, random) = (scene.conditions, &mut *scene.random);
        let is_well = scene.server.is_well || place == Place::Local;
        let mut after = |per_mille: u64| (!is_well && random.per_mille(per_mille)).then(|| random.index(6));
        let fails_after = after(conditions.fails_per_mille);
        let hangs_after = after(conditions.hangs_per_mille);
        let is_late = !is_well && random.per_mille(conditions.hangs_per_mille);
        Job {
            id,
            step,
            place,
            stage: Stage::Open,
            lock: None,
            puts: VecDeque::new(),
            deletions: VecDeque::new(),
            below: None,
            undo: Vec::new(),
            listed: BTreeSet::new(),
            missed: BTreeSet::new(),
            unsaved: None,
            meta: (0, false),
            meta_key: None,
            rows: Vec::new(),
            holds: Holds::default(),
            fails_after,
            hangs_after,
            requests: 0,
            begun_at: scene.now,
            tells_at: if is_late { scene.now + 15_000 } else { 0 },
        }
    }

    /// What becomes of the next request.
    pub fn next_fate(&mut self) -> Fate {
        if self.hangs_after.is_some_and(|after| self.requests >= after) {
            return Fate::Hangs;
        }
        self.requests += 1;
        match self.fails_after {
            Some(after) if self.requests > after => Fate::Fails,
            _ => Fate::Done,
        }
    }

    /// From now on each of its requests is answered.
    pub fn answers(&mut self) {
        (self.fails_after, self.hangs_after) = (None, None);
    }

    pub fn hangs(&self) -> bool {
        self.hangs_after.is_some_and(|after| self.requests >= after) && self.stage != Stage::Told
    }
}

/// A clear of the namespace while it is performed: in IndexedDB or the app's own store, and in localStorage.
#[derive(Debug)]
pub struct ClearJob {
    /// Its number, and what the signal says.
    pub number: u64,
    pub stage: Stage,
    pub lock: Option<u64>,
    /// Of a store without transactions.
    pub deletions: VecDeque<String>,
}
