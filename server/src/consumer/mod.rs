//! The consumer of the stream: applies reports to their users' chains, and acknowledges them when they are stored.

mod intake;
mod options;
mod stream;

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::counter;
use seenguard::StoreFailure;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::applying::{ApplyOptions, DeadLetter, EntryId, Outcome, apply_all};
use crate::error::{Error, ErrorKind, Retry};
use crate::log::may_log;
use crate::seen_store::SeenStore;

#[cfg(feature = "kafka")]
pub(crate) use self::intake::FirstEntry;
pub(crate) use self::intake::Intake;
pub use self::intake::ReportStream;
pub use self::options::ConsumerOptions;
pub use self::stream::Stream;

/// Pauses after a failure, the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// The error codes of all entries if an option is wrong: another namespace, or a key of another type.
const WRONG_OPTION_CODES: [&str; 2] = ["wrong-namespace", "storage"];
/// The number of held entries, with none applied, from which on the options are wrong.
const MAX_HELD: usize = 100;
/// If over half of this many latest entries have one of the codes of [`WRONG_OPTION_CODES`], the consumer pauses for
/// [`THROTTLE_PAUSE`] after each batch.
const LATEST_ENTRIES: usize = 1_000;
const THROTTLE_PAUSE: Duration = Duration::from_secs(60);
/// How often progress is logged.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(30);
/// The least number of attempts before an entry that fails because of its user's data becomes a dead letter.
const MIN_ATTEMPTS: u32 = 5;

/// Applies the reports of a [`Stream`] to their users' chains. Any number of consumers can share the stream.
///
/// An entry is acknowledged when it is stored. One that cannot be applied moves to [`Stream::dead_letters`], atomically
/// with its acknowledgement: an unreadable one at once, one whose user's key has another type after several attempts.
/// Before the first entry was applied, those of another namespace or key are held, since the options may be wrong.
/// Consumers of a Redis stream have no common order: if two process an impression and an `unsee` of one id at the same
/// time, either may be applied first. A late impression has its time, so it does not make an id seen that became unseen
/// later. But an `unsee` that is applied before its impression has no effect, because the id is not known yet.
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
/// let shutdown = std::future::pending();
/// consumer.run(shutdown).await
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    store: SeenStore,
    stream: Arc<dyn ReportStream>,
    options: ConsumerOptions,
    health: ConsumerHealth,
}

/// Shows whether a consumer makes progress. Clones share the state.
#[derive(Debug, Clone)]
pub struct ConsumerHealth {
    ready_for: Duration,
    /// The time of the latest successful round; `None` if the latest failed for a reason that only an operator can
    /// remove.
    last: Arc<Mutex<Option<Instant>>>,
}

impl ConsumerHealth {
    /// Whether a round has succeeded recently.
    pub fn is_ready(&self) -> bool {
        self.last().is_some_and(|last| last.elapsed() <= self.ready_for)
    }

    fn note_round(&self, is_healthy: Option<bool>) {
        if let Some(is_healthy) = is_healthy {
            *self.last() = is_healthy.then(Instant::now);
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
    /// Entries that failed and are retried.
    retried: HashMap<EntryId, Attempts>,
    last_retry: Instant,
    /// Whether any entry was applied, so that the options are right.
    has_applied: bool,
    /// Whether each of the latest entries had one of the codes of [`WRONG_OPTION_CODES`].
    latest: VecDeque<bool>,
    applied: usize,
    next_progress: Instant,
}

/// The attempts to apply an entry.
struct Attempts {
    count: u32,
    first: Instant,
    last: Instant,
    /// Whether it is retried without limit, since the options may be wrong.
    is_held: bool,
}

impl Consumer {
    /// A consumer that applies this stream to this store.
    pub fn new(store: SeenStore, stream: Arc<dyn ReportStream>, mut options: ConsumerOptions) -> Self {
        options.batch = options.batch.max(1);
        let health = ConsumerHealth {
            ready_for: options.ready_for,
            last: Arc::new(Mutex::new(Some(Instant::now()))),
        };
        Consumer {
            store: match stream.frees_store_memory() {
                true => store.even_if_full(),
                false => store,
            },
            stream,
            options,
            health,
        }
    }

    /// The health of the consumer, for a readiness probe.
    pub fn health(&self) -> ConsumerHealth {
        self.health.clone()
    }

    /// Runs until `shutdown` resolves, or to the stream's end if the options say so; a batch in progress is completed
    /// first, if that takes no longer than [`ConsumerOptions::shutdown_timeout`]. Retries after transient failures.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for a stream that cannot be read at all, or if none of the first 100 entries can be
    /// applied because of its namespace or key; [`ErrorKind::Internal`] after a fatal error of the stream's client.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let mut shutdown = std::pin::pin!(shutdown);
        let (is_ending, ending) = watch::channel(false);
        let mut rounds = std::pin::pin!(self.rounds(ending));
        tokio::select! {
            ended = &mut rounds => ended,
            () = &mut shutdown => {
                is_ending.send_replace(true);
                rounds.await
            }
        }
    }

    async fn rounds(&self, mut ending: watch::Receiver<bool>) -> Result<(), Error> {
        let mut intake = self.stream.open(&self.options)?;
        let mut rounds = Rounds::new(self.options.batch);
        let mut pause = PAUSES[0];
        let mut ended = Ok(());
        while !*ending.borrow() {
            let late = async {
                let _ = ending.wait_for(|&is_ending| is_ending).await;
                sleep(self.options.shutdown_timeout).await;
            };
            let round = tokio::select! {
                round = self.round(&mut *intake, &mut rounds) => round,
                () = late => break,
            };
            let delay = match round {
                Ok(true) => break,
                Ok(false) => {
                    let is_held = rounds.held() > 0;
                    self.health
                        .note_round(if is_held { Some(false) } else { intake.is_healthy() });
                    pause = PAUSES[0];
                    rounds.throttle()
                }
                // A permanent error.
                Err(error) if matches!(error.kind(), ErrorKind::BadOption | ErrorKind::Internal) => {
                    ended = Err(error);
                    break;
                }
                Err(error) => {
                    self.note_failure(&error);
                    if error.kind() == StoreFailure::Timeout.into() {
                        rounds.batch = (rounds.batch / 2).max(1);
                    }
                    intake.redeliver();
                    let delay = pause;
                    pause = (2 * pause).min(PAUSES[1]);
                    Some(delay)
                }
            };
            if let Some(delay) = delay {
                // The wait also ends when the sender is dropped.
                let _ = timeout(delay, ending.wait_for(|&is_ending| is_ending)).await;
            }
        }
        intake.close().await;
        ended
    }

    fn note_failure(&self, error: &Error) {
        counter!("seenguard_failed_rounds_total").increment(1);
        self.health.note_failure(error);
        if may_log("round", error.code()) {
            tracing::warn!(%error, "batch failed, its entries stay in the stream and are retried");
        }
    }

    /// Reads, applies and acknowledges a batch. Returns whether it was the last one.
    async fn round(&self, intake: &mut dyn Intake, rounds: &mut Rounds) -> Result<bool, Error> {
        let options = &self.options;
        if rounds.is_retry_due(options.retry_for) {
            intake.redeliver();
        }
        let entries = intake.next(rounds.batch).await?;
        let ids: Vec<EntryId> = entries.iter().map(|entry| entry.id).collect();
        let apply = ApplyOptions {
            deadline: Instant::now() + options.batch_timeout,
            is_replay: options.until_end,
        };
        let mut outcome = tokio::select! {
            outcome = apply_all(&self.store, entries, apply) => outcome,
            never = intake.renew_claims(&ids) => match never {},
        };
        let are_released = rounds.sort(&mut outcome, options, intake.may_misread());
        intake.acknowledge(&outcome.done, &outcome.dead).await?;
        for DeadLetter { id, code } in &outcome.dead {
            counter!("seenguard_dead_letters_total", "code" => *code).increment(1);
            if may_log("dead letter", *code) {
                tracing::error!(entry = %id, code, "entry moved to the dead letters");
            }
        }
        if let Some(failure) = outcome.failure {
            return Err(failure);
        }
        rounds.check_held(intake.is_full())?;
        if are_released {
            intake.redeliver();
        }
        rounds.batch = (2 * rounds.batch).min(options.batch);
        rounds.note_progress(outcome.done.len());
        // A round without entries is not the end: others may append.
        Ok(options.until_end && rounds.retried.is_empty() && intake.is_at_end().await?)
    }
}

impl Rounds {
    fn new(batch: usize) -> Self {
        let now = Instant::now();
        Rounds {
            batch,
            retried: HashMap::new(),
            last_retry: now,
            has_applied: false,
            latest: VecDeque::new(),
            applied: 0,
            next_progress: now + PROGRESS_INTERVAL,
        }
    }

    /// Whether it is time to redeliver failed entries, so that each is tried at least [`MIN_ATTEMPTS`] times within
    /// `retry_for`. Drops entries that were not redelivered last time, since other consumers have claimed or deleted
    /// them.
    fn is_retry_due(&mut self, retry_for: Duration) -> bool {
        let is_due = !self.retried.is_empty() && self.last_retry.elapsed() >= retry_for / (MIN_ATTEMPTS - 1);
        if is_due {
            self.retried.retain(|_, attempts| attempts.last >= self.last_retry);
            self.last_retry = Instant::now();
        }
        is_due
    }

    /// Decides which failed entries are held, retried or dead letters. Before the first entry was applied, entries that
    /// fail perhaps because of a wrong option are held. Others that may succeed later are retried for a while; the rest
    /// become dead letters. Returns whether held entries were released, because the options have proved to be right.
    fn sort(&mut self, outcome: &mut Outcome, options: &ConsumerOptions, may_misread: bool) -> bool {
        let held = self.held();
        let are_released = held > 0 && !outcome.done.is_empty();
        self.has_applied |= !outcome.done.is_empty();
        let may_hold = !self.has_applied && !options.set_aside_all;
        let now = Instant::now();
        for attempts in self.retried.values_mut() {
            attempts.is_held &= may_hold;
        }
        let dead = mem::take(&mut outcome.dead).into_iter().map(|letter| (letter, true));
        for (letter, is_final) in dead.chain(outcome.failed.drain(..).map(|letter| (letter, false))) {
            let has_wrong_option_code = WRONG_OPTION_CODES.contains(&letter.code);
            let attempts = self.retried.entry(letter.id).or_insert(Attempts {
                count: 0,
                first: now,
                last: now,
                is_held: false,
            });
            if attempts.count == 0 {
                self.latest.push_back(has_wrong_option_code);
            }
            attempts.count += 1;
            attempts.last = now;
            attempts.is_held = may_hold && (has_wrong_option_code || may_misread);
            let is_given_up = attempts.count >= MIN_ATTEMPTS && attempts.first.elapsed() >= options.retry_for;
            if !attempts.is_held && (is_final || is_given_up) {
                outcome.dead.push(letter);
            }
        }
        for id in outcome.done.iter().chain(outcome.dead.iter().map(|letter| &letter.id)) {
            self.retried.remove(id);
        }
        self.latest.extend(outcome.done.iter().map(|_| false));
        self.latest.drain(..self.latest.len().saturating_sub(LATEST_ENTRIES));
        if self.held() > held && may_log("held", "") {
            tracing::warn!(
                held = self.held(),
                "holding entries of another namespace or key, or unreadable events, until one is applied"
            );
        }
        are_released
    }

    fn held(&self) -> usize {
        self.retried.values().filter(|attempts| attempts.is_held).count()
    }

    /// Returns an error if the options are wrong: [`MAX_HELD`] entries are held, or all that the reader can read.
    fn check_held(&self, is_full: bool) -> Result<(), Error> {
        let held = self.held();
        if held < MAX_HELD && !(is_full && held > 0 && held == self.retried.len()) {
            return Ok(());
        }
        let what = "none of the first entries could be applied, and all stay in the stream: --namespace, --prefix or the \
                    event mapping is probably wrong; --set-aside-all makes them dead letters";
        Err(Error::new(ErrorKind::BadOption, what))
    }

    /// The pause before the next batch if most of the latest entries have the codes of a wrong option.
    fn throttle(&self) -> Option<Duration> {
        let wrong = self.latest.iter().filter(|&&is_wrong| is_wrong).count();
        let is_due = self.latest.len() == LATEST_ENTRIES && wrong > LATEST_ENTRIES / 2;
        if is_due && may_log("throttled", "") {
            let pause_seconds = THROTTLE_PAUSE.as_secs();
            let latest = LATEST_ENTRIES;
            tracing::error!(
                wrong,
                latest,
                pause_seconds,
                "most entries are of another namespace or key, consuming slowly"
            );
        }
        is_due.then_some(THROTTLE_PAUSE)
    }

    fn note_progress(&mut self, applied: usize) {
        self.applied += applied;
        if Instant::now() >= self.next_progress {
            let retried = self.retried.len();
            tracing::info!(reports = self.applied, retried, held = self.held(), "progress");
            self.next_progress = Instant::now() + PROGRESS_INTERVAL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the outcome of a batch with this many applied reports, and reports of another namespace.
    fn add(rounds: &mut Rounds, applied: u64, wrong: u64) {
        let ids = |count| (0..count).map(|offset| EntryId(0, offset));
        let code = "wrong-namespace";
        let mut outcome = Outcome {
            done: ids(applied).collect(),
            dead: ids(wrong).map(|id| DeadLetter { id, code }).collect(),
            ..Outcome::default()
        };
        rounds.sort(&mut outcome, &ConsumerOptions::new("one"), false);
    }

    #[test]
    fn batches_are_a_minute_apart_while_most_of_the_latest_entries_are_of_another_namespace() {
        let mut rounds = Rounds::new(1);
        for (applied, wrong, pause) in [
            (500, 0, None),
            (0, 499, None),
            // Half of them are not most.
            (0, 1, None),
            (0, 1, Some(Duration::from_secs(60))),
            (0, 900, Some(Duration::from_secs(60))),
            (501, 0, None),
        ] {
            add(&mut rounds, applied, wrong);
            assert_eq!(rounds.throttle(), pause, "after {applied} and {wrong}");
        }
    }
}
