//! The consumer of the stream: applies reports to their users' chains, and acknowledges them when they are stored.

mod intake;
mod options;
mod stream;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::counter;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::error::{Error, ErrorKind, Retry};
use crate::log::may_log;
use crate::seen_store::SeenStore;
use crate::taking::{DeadLetter, EntryId, Outcome, Taking, apply_all};
use seenguard::StoreFailure;

#[cfg(feature = "kafka")]
pub(crate) use self::intake::FirstEntry;
pub(crate) use self::intake::Intake;
pub use self::intake::ReportStream;
pub use self::options::ConsumerOptions;
pub use self::stream::Stream;

/// Pauses after a failure, the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// The codes of entries that a wrong option makes of all: another namespace, or a key of another type.
const MISTAKES: [&str; 2] = ["wrong-namespace", "storage"];
/// With this many of them and none applied the options are wrong.
const MOST_HELD: usize = 100;
/// Of how many entries most may not be such, and the pause between batches if they are.
const LATEST: usize = 1_000;
const WARY: Duration = Duration::from_secs(60);
/// How often progress is logged.
const PROGRESS: Duration = Duration::from_secs(30);
/// After this many failures of its own an entry becomes a dead letter.
const STRIKES: u32 = 5;

/// Applies the reports of a [`Stream`] to their users' chains. Any number of consumers can share the stream.
///
/// An entry is acknowledged when it is stored. One that cannot be applied moves to [`Stream::dead_letters`], atomically
/// with its acknowledgement: an unreadable one at once, one whose user's key has another type after several attempts. Until
/// one entry was applied, those of another namespace or key are held: the options may be wrong. A
/// Redis stream has no order between consumers: if different ones process an impression and an `unsee` of one id at the
/// same time, either may be applied first. A late impression has its time, so it does not make an id seen that became
/// unseen later; but an `unsee` that is applied before its impression has no effect, because the id is not known yet.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use seenguard_server::{
///     Consumer, ConsumerOptions, RedisConnection, RedisBackend, SeenStore, StoreOptions, Stream,
/// };
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let redis = || RedisConnection::open("redis://127.0.0.1/");
/// let options = StoreOptions {
///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
///     ..StoreOptions::default()
/// };
/// let store = SeenStore::new(RedisBackend::new(redis()?), options)?;
/// let consumer = Consumer::new(store, Arc::new(Stream::new(redis()?, "reports")), ConsumerOptions::new("first"));
/// let asked_to_end = std::future::pending();
/// consumer.run(asked_to_end).await
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    store: SeenStore,
    stream: Arc<dyn ReportStream>,
    options: ConsumerOptions,
    health: ConsumerHealth,
}

/// Whether a consumer makes progress. A clone is of the same consumer.
#[derive(Debug, Clone)]
pub struct ConsumerHealth {
    within: Duration,
    /// The time of the latest successful round; `None`: it fails for a reason that only an operator can remove.
    last: Arc<Mutex<Option<Instant>>>,
}

impl ConsumerHealth {
    /// Whether a round has succeeded recently.
    pub fn is_ready(&self) -> bool {
        self.last().is_some_and(|last| last.elapsed() <= self.within)
    }

    fn note_round(&self, is_well: Option<bool>) {
        if let Some(is_well) = is_well {
            *self.last() = is_well.then(Instant::now);
        }
    }

    fn note_failure(&self, error: &Error) {
        if error.kind().retry() == Retry::Operator {
            *self.last() = None;
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State between batches.
struct Rounds {
    batch: usize,
    /// Entries that have failed for a reason of their own: how often, and the first and the last time.
    strikes: HashMap<EntryId, (u32, Instant, Instant)>,
    next_strike: Instant,
    /// Whether one entry was applied: then the options are right.
    has_applied: bool,
    /// Entries that no chain takes while the options may be wrong.
    held: HashSet<EntryId>,
    /// Whether each of the latest entries was of such a kind.
    latest: VecDeque<bool>,
    taken: u64,
    next_progress: Instant,
}

impl Consumer {
    /// A consumer of this stream that writes to this store.
    pub fn new(store: SeenStore, stream: Arc<dyn ReportStream>, mut options: ConsumerOptions) -> Self {
        options.batch = options.batch.max(1);
        let health = ConsumerHealth {
            within: options.ready_within,
            last: Arc::new(Mutex::new(Some(Instant::now()))),
        };
        Consumer {
            store: match stream.is_with_the_chains() {
                true => store.even_if_full(),
                false => store,
            },
            stream,
            options,
            health,
        }
    }

    /// For a probe of readiness.
    pub fn health(&self) -> ConsumerHealth {
        self.health.clone()
    }

    /// Runs until `asked_to_end` resolves, or to the stream's end if the options say so; a batch in progress is
    /// completed first, if that takes no longer than [`ConsumerOptions::ended_within`]. Retries after transient failures.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for a stream that cannot be read at all, or if the first 100 entries are of another
    /// namespace or key.
    pub async fn run(self, asked_to_end: impl Future<Output = ()>) -> Result<(), Error> {
        let mut asked_to_end = std::pin::pin!(asked_to_end);
        let (is_ending, ending) = watch::channel(false);
        let mut rounds = std::pin::pin!(self.rounds(ending));
        tokio::select! {
            ended = &mut rounds => ended,
            () = &mut asked_to_end => {
                is_ending.send_replace(true);
                rounds.await
            }
        }
    }

    async fn rounds(&self, mut ending: watch::Receiver<bool>) -> Result<(), Error> {
        let mut intake = self.stream.open(&self.options)?;
        let mut rounds = Rounds::new(self.options.batch);
        let mut pause = PAUSES[0];
        while !*ending.borrow() {
            let late = async {
                let _ = ending.wait_for(|&is_ending| is_ending).await;
                sleep(self.options.ended_within).await;
            };
            let round = tokio::select! {
                round = self.round(&mut *intake, &mut rounds) => round,
                () = late => break,
            };
            let error = match round {
                Ok(is_at_end) => {
                    let is_well = if rounds.held.is_empty() {
                        intake.is_well()
                    } else {
                        Some(false)
                    };
                    self.health.note_round(is_well);
                    pause = PAUSES[0];
                    if is_at_end {
                        break;
                    }
                    if rounds.are_mostly_wrong() {
                        let _ = timeout(WARY, ending.wait_for(|&is_ending| is_ending)).await;
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::BadOption => return Err(error),
                Err(error) => error,
            };
            counter!("seenguard_failed_rounds_total").increment(1);
            self.health.note_failure(&error);
            if may_log("round", error.code()) {
                tracing::warn!(%error, "entries stay in the stream, and are retried");
            }
            if error.kind() == StoreFailure::Timeout.into() {
                rounds.batch = (rounds.batch / 2).max(1);
            }
            intake.give_again();
            // The end of the sender ends the wait, too.
            let _ = timeout(pause, ending.wait_for(|&is_ending| is_ending)).await;
            pause = (2 * pause).min(PAUSES[1]);
        }
        intake.close().await;
        Ok(())
    }

    /// Returns whether this was the last round.
    async fn round(&self, intake: &mut dyn Intake, rounds: &mut Rounds) -> Result<bool, Error> {
        let ConsumerOptions {
            batch,
            until_end,
            mended_within,
            batch_within,
            set_aside_all,
            ..
        } = self.options;
        if rounds.is_strike_due() {
            rounds.next_strike = Instant::now() + mended_within / (STRIKES - 1);
            intake.give_again();
        }
        let entries = intake.next(rounds.batch).await?;
        let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id).collect();
        let taking = Taking {
            deadline: Instant::now() + batch_within,
            is_replay: until_end,
        };
        let mut outcome = tokio::select! {
            outcome = apply_all(&self.store, entries, taking) => outcome,
            never = intake.hold(&ids) => match never {},
        };
        if !set_aside_all {
            rounds.hold(&mut outcome)?;
        }
        rounds.strike(outcome.struck, mended_within, &mut outcome.dead);
        intake.settle(&outcome.done, &outcome.dead).await?;
        for DeadLetter { id, code } in &outcome.dead {
            counter!("seenguard_dead_letters_total", "code" => *code).increment(1);
            if may_log("dead letter", *code) {
                tracing::error!(entry = %id, code, "an entry that cannot be applied is set aside");
            }
        }
        for id in outcome.done.iter().chain(outcome.dead.iter().map(|letter| &letter.id)) {
            rounds.strikes.remove(id);
        }
        if let Some(failure) = outcome.failure {
            return Err(failure);
        }
        if rounds.has_applied && !rounds.held.is_empty() {
            // They are wrong, and not the options.
            rounds.held.clear();
            intake.give_again();
        }
        rounds.batch = (2 * rounds.batch).min(batch);
        rounds.note_progress(ids.len() as u64);
        // Others may append all the time: that a round had nothing to do is no sign of the end.
        Ok(until_end && rounds.strikes.is_empty() && rounds.held.is_empty() && intake.is_at_end().await?)
    }
}

impl Rounds {
    fn new(batch: usize) -> Self {
        let now = Instant::now();
        Rounds {
            batch,
            strikes: HashMap::new(),
            next_strike: now,
            has_applied: false,
            held: HashSet::new(),
            latest: VecDeque::new(),
            taken: 0,
            next_progress: now + PROGRESS,
        }
    }

    /// Whether failed entries are due for a retry.
    fn is_strike_due(&mut self) -> bool {
        !self.strikes.is_empty() && Instant::now() >= self.next_strike
    }

    /// Removes from the outcome what no chain accepts, as long as nothing was applied: with a wrong namespace or prefix
    /// all entries are such.
    fn hold(&mut self, outcome: &mut Outcome) -> Result<(), Error> {
        let is_odd = |letter: &DeadLetter| MISTAKES.contains(&letter.code);
        let letters = outcome.dead.iter().chain(&outcome.struck);
        let odd: Vec<EntryId> = letters
            .filter(|letter| is_odd(letter))
            .map(|letter| letter.id)
            .collect();
        self.latest.extend(odd.iter().map(|_| true));
        self.latest.extend(outcome.done.iter().map(|_| false));
        self.latest.drain(..self.latest.len().saturating_sub(LATEST));
        self.has_applied |= !outcome.done.is_empty();
        if self.has_applied {
            return Ok(());
        }
        self.held.extend(odd);
        outcome.dead.retain(|letter| !is_odd(letter));
        outcome.struck.retain(|letter| !is_odd(letter));
        if self.held.len() < MOST_HELD {
            return Ok(());
        }
        let what = "none of the first 100 entries could be applied, and nothing was done with them: --namespace or \
                    --prefix is probably not the service's; --set-aside-all sets them aside";
        Err(Error::new(ErrorKind::BadOption, what))
    }

    /// Whether most of many entries were such: something has changed.
    fn are_mostly_wrong(&self) -> bool {
        let wrong = self.latest.iter().filter(|&&is_odd| is_odd).count();
        self.latest.len() == LATEST && wrong > LATEST / 2
    }

    /// Counts failures of these entries; those that have failed often and for long are dead.
    fn strike(&mut self, entries: Vec<DeadLetter>, over: Duration, dead: &mut Vec<DeadLetter>) {
        let now = Instant::now();
        for DeadLetter { id, code } in entries {
            let (count, since, last) = self.strikes.entry(id).or_insert((0, now, now));
            *count += 1;
            *last = now;
            if *count >= STRIKES && since.elapsed() >= over {
                dead.push(DeadLetter { id, code });
            }
        }
        // Entries that do not return were taken over by another consumer.
        self.strikes.retain(|_, (_, _, last)| last.elapsed() < over);
    }

    fn note_progress(&mut self, taken: u64) {
        self.taken += taken;
        if Instant::now() >= self.next_progress {
            tracing::info!(reports = self.taken, "taken in so far");
            self.next_progress = Instant::now() + PROGRESS;
        }
    }
}
