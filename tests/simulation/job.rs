//! An operation of a tab's storage protocol while it is performed: in parts, late, in vain or never.

use std::collections::VecDeque;

use seenguard::{Operation, Outcome};

use super::chance::Chance;
use super::scene::Scene;
use super::store::Store;
use super::tab::Holds;

#[derive(Debug)]
pub struct Job {
    pub number: u32,
    pub operation: Operation,
    /// What of it is not performed yet, and will be.
    parts: VecDeque<Operation>,
    outcome: Outcome,
    /// Whether it fails for want of room, or otherwise.
    fails: Option<bool>,
    /// Whether its outcome does not come.
    pub hangs: bool,
    /// By the steady clock: what has not come by then does not count.
    pub deadline_ms: u64,
    /// When it was performed, counted by the store.
    pub tick: u64,
    /// What its tab did that it writes; nothing of what only stands for other segments.
    pub holds: Option<Holds>,
}

impl Job {
    /// Decides what becomes of an operation: one that fails is performed in part, or wholly.
    pub fn new(number: u32, operation: Operation, holds: Option<Holds>, store: &Store, scene: &mut Scene<'_>) -> Self {
        let (conditions, random) = (scene.conditions, &mut *scene.random);
        let (mut fails_per_mille, mut hangs_per_mille) = (conditions.fails_per_mille, conditions.hangs_per_mille);
        if scene.server.is_well {
            (fails_per_mille, hangs_per_mille) = (0, 0);
        }
        let is_too_much = store.is_full && matches!(operation, Operation::Write { .. });
        let fails = is_too_much
            .then_some(true)
            .or(random.per_mille(fails_per_mille).then_some(false));
        let mut parts = parts_of(&operation, conditions.piecewise);
        match fails {
            Some(true) => parts.clear(),
            Some(false) => parts.truncate(random.index(parts.len() + 1)),
            None => {}
        }
        Job {
            number,
            operation,
            parts,
            outcome: Outcome::Done,
            fails,
            hangs: random.per_mille(hangs_per_mille),
            deadline_ms: u64::MAX,
            tick: 0,
            holds,
        }
    }

    /// Performs the next part of it, if there is one.
    pub fn perform(&mut self, store: &mut Store) -> bool {
        let Some(part) = self.parts.pop_front() else {
            return false;
        };
        match (&mut self.outcome, store.perform(&part)) {
            (Outcome::Texts(texts), Outcome::Texts(more)) => texts.extend(more),
            (outcome, first) => *outcome = first,
        }
        self.tick = store.tick;
        true
    }

    pub fn outcome(&self) -> Outcome {
        match self.fails {
            Some(is_full) => Outcome::Failed { is_full },
            None => self.outcome.clone(),
        }
    }
}

/// Some storages read and remove several keys one by one: others act in between.
fn parts_of(operation: &Operation, piecewise: bool) -> VecDeque<Operation> {
    match operation {
        Operation::Read(keys) if piecewise => keys.iter().map(|key| Operation::Read(vec![key.clone()])).collect(),
        Operation::Remove { keys, only_if } if piecewise => {
            let remove = |key: &String| Operation::Remove {
                keys: vec![key.clone()],
                only_if: only_if.clone(),
            };
            keys.iter().map(remove).collect()
        }
        _ => VecDeque::from([operation.clone()]),
    }
}
