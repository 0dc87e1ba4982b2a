//! Statistical tests of the false positive rates, and the situations that a run has met.
//!
//! A filter stops a fresh item wrongly at a rate that `stats()` reports. Each first question for an item that nobody
//! has seen is a draw of its own, whatever was queried before, so of the reported rates' sum E the chance to see x or
//! more is at most `exp(x − E − x · ln(x / E))` (Chernoff 1952; it holds for rates that differ from draw to draw, and
//! that depend on earlier draws). Below [`LEVEL`], shared out evenly between all tests of a run (Bonferroni 1936),
//! chance explains it no more.

use std::collections::BTreeMap;

/// The chance that a run in which nothing is wrong fails for statistics: one in a million.
const LEVEL: f64 = 1e-6;
/// Small filters lie a little above the formula for their rate, up to 1.2% where the format was measured: that much more
/// is not an error.
const TOLERANCE: f64 = 1.03;

/// What is tested of the server's shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Fresh items that the server's shards stop, against `server_false_positive_rate`.
    Stopped,
    /// Items that no device has shown and that a page leaves out, against the rates of what devices have pending.
    Elsewhere,
}

const QUESTIONS: f64 = 2.0;

/// The largest expected number of events, and their actual number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence {
    pub queries: u64,
    pub expected: f64,
    pub seen: u64,
}

impl Evidence {
    fn add(&mut self, other: Evidence) {
        self.queries += other.queries;
        self.expected += other.expected;
        self.seen += other.seen;
    }

    /// An upper bound on the chance of seeing `seen` or more.
    pub fn chance(&self) -> f64 {
        let (expected, seen) = (self.expected * TOLERANCE, self.seen as f64);
        if seen <= expected {
            return 1.0;
        }
        // An event that cannot happen did.
        if expected == 0.0 {
            return 0.0;
        }
        (seen - expected - seen * (seen / expected).ln()).exp()
    }
}

/// The counts of one user, or of all users of a run.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    evidence: BTreeMap<Question, Evidence>,
    /// How often each situation was met.
    pub reached: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// One question with its expected rate, and its answer.
    pub fn ask(&mut self, question: Question, rate: f64, seen: bool) {
        self.evidence.entry(question).or_default().add(Evidence {
            queries: 1,
            expected: rate,
            seen: u64::from(seen),
        });
    }

    pub fn reach(&mut self, what: &'static str) {
        *self.reached.entry(what).or_default() += 1;
    }

    pub fn add(&mut self, other: &Tally) {
        for (question, evidence) in &other.evidence {
            self.evidence.entry(*question).or_default().add(*evidence);
        }
        for (what, times) in &other.reached {
            *self.reached.entry(what).or_default() += times;
        }
    }

    /// The questions whose answers chance does not explain, where `users` users are tested each alone and all together.
    pub fn unexplained(&self, users: usize) -> Vec<(Question, Evidence)> {
        let level = LEVEL / (QUESTIONS * (users + 1) as f64);
        let unexplained = self.evidence.iter().filter(|(_, evidence)| evidence.chance() < level);
        unexplained.map(|(question, evidence)| (*question, *evidence)).collect()
    }

    /// A line for each question and each situation.
    pub fn report(&self) -> String {
        let lines = self
            .evidence
            .iter()
            .map(|(question, evidence)| format!("  {question:?}: {evidence:?} (chance {:.3})\n", evidence.chance()));
        let reached = self.reached.iter().map(|(what, times)| format!("  {what}: {times}\n"));
        lines.chain(reached).collect()
    }
}
