//! The remembered items and the false positives of a structure over a sequence of traces.

use rand::SeedableRng;
use rand::rngs::StdRng;
use seenguard_lab::report::Result;
use serde::{Deserialize, Serialize};

use super::PERSONS;
use crate::structures::{CAPACITY, History};
use crate::trace::{LENGTH, Trace, draw_age};

/// From here on every structure has been full: what it remembers at least and at most is counted.
const WARM: usize = 2 * CAPACITY as usize;
/// Impressions from one look at the structure to the next.
pub const STEP: usize = 200;
/// Fresh items asked for at each look.
const FRESH_PROBES: usize = 5_000;
/// Seen items asked for at each look, as candidates of a feed bring them.
const SEEN_PROBES: usize = 100;
/// Seen items asked for right after a rotation.
const ROTATION_PROBES: usize = 400;
/// The share of a feed's candidates that the person has seen already; assumed.
const SEEN_CANDIDATES: f64 = 0.3;
/// Seen candidates are at most this many impressions old.
const OLDEST_CANDIDATE: usize = 2 * CAPACITY as usize;
/// The impressions among which one is looked for that was forgotten.
const WINDOW: usize = 16;
/// At the least so many are forgotten at once when a structure rotates.
const ROTATION: usize = 50;

/// Means are over persons and impressions. Rates are 0 to 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memory {
    /// The latest impressions that are all remembered.
    pub least_reach: usize,
    pub most_reach: usize,
    pub mean_reach: f64,
    /// Most impressions forgotten by one recording.
    pub forgotten_at_once: usize,
    pub false_positives: f64,
    /// The share remembered by age in impressions.
    pub remembered: Vec<(usize, f64)>,
    /// Of 1,000 items that are shown.
    pub repeats: f64,
    /// The same for the page right after a rotation.
    pub repeats_after_rotation: f64,
    /// At its largest.
    pub stored_bytes: usize,
}

/// Hits of a number of questions.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    hits: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, is_hit: bool) {
        self.hits += usize::from(is_hit);
        self.of += 1;
    }

    fn merge(&mut self, other: Share) {
        self.hits += other.hits;
        self.of += other.of;
    }

    fn rate(self) -> f64 {
        self.hits as f64 / self.of.max(1) as f64
    }
}

#[derive(Debug)]
pub struct Observer {
    least_reach: usize,
    most_reach: usize,
    reach_sum: usize,
    forgotten_at_once: usize,
    false_positives: Share,
    /// By age, in steps.
    remembered: Vec<Share>,
    candidates: Share,
    candidates_after_rotation: Share,
    stored_bytes: usize,
}

impl Default for Observer {
    fn default() -> Self {
        Observer {
            least_reach: usize::MAX,
            most_reach: 0,
            reach_sum: 0,
            forgotten_at_once: 0,
            false_positives: Share::default(),
            remembered: vec![Share::default(); WARM / STEP],
            candidates: Share::default(),
            candidates_after_rotation: Share::default(),
            stored_bytes: 0,
        }
    }
}

impl Observer {
    /// Lets one person's trace pass.
    pub fn observe(&mut self, history: &mut dyn History, seed: u64, person: u64) -> Result<()> {
        let trace = Trace::new(seed, person);
        let mut random = StdRng::seed_from_u64(seed.wrapping_add(person));
        // The oldest impression from which on all are remembered.
        let mut oldest = 0;
        for (now, id) in trace.ids().iter().enumerate() {
            history.record(id)?;
            let before = oldest;
            oldest = oldest_remembered(history, &trace, oldest, now);
            if now >= WARM && now % STEP == 0 {
                self.look(history, &trace, now, &mut random)?;
            }
            if now >= WARM {
                self.note_reach(now + 1 - oldest);
                self.forgotten_at_once = self.forgotten_at_once.max(oldest - before);
                if oldest - before >= ROTATION {
                    let answers = ask_seen(history, &trace, now, ROTATION_PROBES, &mut random);
                    self.candidates_after_rotation.merge(answers);
                }
            }
        }
        Ok(())
    }

    fn note_reach(&mut self, reach: usize) {
        self.least_reach = self.least_reach.min(reach);
        self.most_reach = self.most_reach.max(reach);
        self.reach_sum += reach;
    }

    fn look(&mut self, history: &dyn History, trace: &Trace, now: usize, random: &mut StdRng) -> Result<()> {
        for _ in 0..FRESH_PROBES {
            self.false_positives.add(history.contains(&trace.fresh_id(random)));
        }
        self.stored_bytes = self.stored_bytes.max(history.stored_bytes()?);
        for (step, remembered) in self.remembered.iter_mut().enumerate() {
            let index = now - step * STEP;
            if trace.is_latest(index, now) {
                remembered.add(history.contains(&trace.ids()[index]));
            }
        }
        self.candidates
            .merge(ask_seen(history, trace, now, SEEN_PROBES, random));
        Ok(())
    }

    pub fn finish(self) -> Memory {
        let remembered = self.remembered.iter().enumerate();
        let false_positives = self.false_positives.rate();
        // Without a rotation there is no page after one.
        let after_rotation = Some(self.candidates_after_rotation).filter(|share| share.of > 0);
        Memory {
            least_reach: self.least_reach,
            most_reach: self.most_reach,
            mean_reach: self.reach_sum as f64 / (PERSONS as usize * (LENGTH - WARM)) as f64,
            forgotten_at_once: self.forgotten_at_once,
            false_positives,
            remembered: remembered.map(|(step, share)| (step * STEP, share.rate())).collect(),
            repeats: repeats(self.candidates, false_positives),
            repeats_after_rotation: repeats(after_rotation.unwrap_or(self.candidates), false_positives),
            stored_bytes: self.stored_bytes,
        }
    }
}

/// Advances the oldest impression from which on all are remembered. Structures forget the oldest first, so that one is
/// looked for near it; a few that are claimed falsely do not hide it.
fn oldest_remembered(history: &dyn History, trace: &Trace, mut oldest: usize, now: usize) -> usize {
    loop {
        let window = oldest..(oldest + WINDOW).min(now + 1);
        let is_forgotten = |&index: &usize| trace.is_latest(index, now) && !history.contains(&trace.ids()[index]);
        match window.rev().find(is_forgotten) {
            Some(forgotten) => oldest = forgotten + 1,
            None => return oldest,
        }
    }
}

/// Asks for seen items of random ages; a hit is one that is remembered.
fn ask_seen(history: &dyn History, trace: &Trace, now: usize, count: usize, random: &mut StdRng) -> Share {
    let mut answers = Share::default();
    for _ in 0..count {
        let index = now + 1 - draw_age(random, OLDEST_CANDIDATE.min(now + 1));
        answers.add(history.contains(&trace.ids()[index]));
    }
    answers
}

/// Repeats of 1,000 items shown, when all candidates that are not stopped are.
fn repeats(remembered: Share, false_positives: f64) -> f64 {
    let repeated = SEEN_CANDIDATES * (1.0 - remembered.rate());
    let fresh = (1.0 - SEEN_CANDIDATES) * (1.0 - false_positives);
    1000.0 * repeated / (repeated + fresh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structures::STRUCTURES;

    fn memory_of(name: &str) -> Memory {
        let structure = STRUCTURES.iter().find(|structure| structure.name == name);
        let mut history = (structure.expect("a structure").new)().expect("a structure");
        let mut observer = Observer::default();
        observer.observe(&mut *history, 1, 0).expect("observations");
        observer.finish()
    }

    #[test]
    fn an_exact_list_remembers_as_many_as_it_holds_and_errs_never() {
        let memory = memory_of("exact list");
        assert_eq!(memory.least_reach, 5_000);
        // What was viewed anew is remembered although its first recording has left.
        assert!(memory.most_reach < 5_010, "{}", memory.most_reach);
        assert_eq!(memory.false_positives, 0.0);
        assert!(memory.forgotten_at_once < 10);
    }

    #[test]
    fn a_filter_that_is_reset_forgets_all_at_once() {
        let memory = memory_of("one filter, reset");
        assert_eq!(memory.least_reach, 1);
        // Views anew are recorded without filling the filter.
        assert!((5_000..5_500).contains(&memory.most_reach), "{}", memory.most_reach);
        assert!(memory.forgotten_at_once >= 5_000);
    }

    #[test]
    fn a_chain_forgets_one_filter_at_a_time() {
        let memory = memory_of("chain of 5 × 1,000");
        assert!((4_000..4_300).contains(&memory.least_reach), "{}", memory.least_reach);
        assert!((5_000..5_500).contains(&memory.most_reach), "{}", memory.most_reach);
        assert!((900..1_200).contains(&memory.forgotten_at_once));
        assert!((0.001..0.006).contains(&memory.false_positives));
    }
}
