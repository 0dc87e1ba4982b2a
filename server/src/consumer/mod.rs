//! The consumer of the stream: takes reports into their users' chains, and acknowledges them when they are stored.

mod stream;

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::iter;
use futures_util::{FutureExt, StreamExt};
use metrics::{counter, gauge};
use seenguard::ReceivedReport;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use self::stream::{DeadLetter, Entry};
use crate::error::{Error, ErrorKind, in_time};
use crate::metrics::note_taken;
use crate::seen_store::SeenStore;

pub use self::stream::Stream;

/// Pauses after a failure, the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// How often progress is logged.
const PROGRESS: Duration = Duration::from_secs(30);
/// How many users' chains are changed side by side.
const USERS_AT_ONCE: usize = 32;
/// An entry that has failed by itself so often is set aside.
const STRIKES: u32 = 5;
/// Of what this consumer was given, from the first on.
const BEGINNING: &str = "0";

/// What a consumer is told.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    group: String,
    name: String,
    batch: usize,
    claim_after: Duration,
    wait: Duration,
    call_within: Duration,
    batch_within: Duration,
    ready_within: Duration,
    mended_within: Duration,
}

impl ConsumerOptions {
    /// Of this name in the group, other than those that run beside it.
    pub fn new(name: impl Into<String>) -> Self {
        ConsumerOptions {
            group: "seenguard".to_owned(),
            name: name.into(),
            batch: 200,
            claim_after: Duration::from_secs(30),
            wait: Duration::from_millis(500),
            call_within: Duration::from_secs(5),
            batch_within: Duration::from_secs(30),
            ready_within: Duration::from_secs(60),
            mended_within: Duration::from_secs(10),
        }
    }

    /// The group of consumers that share the stream; `seenguard`.
    pub fn group(self, group: impl Into<String>) -> Self {
        let group = group.into();
        ConsumerOptions { group, ..self }
    }

    /// Most reports that are taken in at once, 200. They are fewer while an answer takes long.
    pub fn batch(self, batch: usize) -> Self {
        ConsumerOptions {
            batch: batch.max(1),
            ..self
        }
    }

    /// How long another consumer may have an entry and not acknowledge it, or say that it works on it, before this one
    /// takes it over. 30 s.
    pub fn claim_after(self, claim_after: Duration) -> Self {
        ConsumerOptions { claim_after, ..self }
    }

    /// How long to wait for entries before looking whether there is something else to do. 500 ms.
    pub fn wait(self, wait: Duration) -> Self {
        ConsumerOptions { wait, ..self }
    }

    /// For one answer of the stream. Beyond it the next batch is half as large. 5 s.
    pub fn call_within(self, call_within: Duration) -> Self {
        ConsumerOptions { call_within, ..self }
    }

    /// For all tries to take in the entries of one user. 30 s.
    pub fn batch_within(self, batch_within: Duration) -> Self {
        ConsumerOptions { batch_within, ..self }
    }

    /// It is not ready when no round has succeeded for so long. 60 s.
    pub fn ready_within(self, ready_within: Duration) -> Self {
        ConsumerOptions { ready_within, ..self }
    }

    /// For so long an entry that fails by itself is tried again, 5 times at least, before it is set aside. 10 s.
    pub fn mended_within(self, mended_within: Duration) -> Self {
        ConsumerOptions { mended_within, ..self }
    }
}

/// Takes the reports of a [`Stream`] into their users' chains. Run as many as you like: each has its part.
///
/// An entry is acknowledged when it is stored. One that no chain takes is set aside in
/// [`Stream::dead_letters`], in the step that acknowledges it: unreadable at once, of a user whose key is something else
/// after a while. Between consumers a Redis stream keeps no order: of an impression and a taking back of one id that
/// different consumers have at a time, either may come first. Each has its time, so a late impression makes nothing seen
/// that was taken back since; but what is taken back before its impression has come is not known yet, and stays seen.
///
/// ```no_run
/// use seenguard_server::{
///     Consumer, ConsumerOptions, RedisConnection, RedisStore, SeenStore, StoreOptions, Stream,
/// };
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let redis = || RedisConnection::open("redis://127.0.0.1/");
/// let options = StoreOptions::new().namespace_of(|user| format!("home:{user}"));
/// let store = SeenStore::new(RedisStore::new(redis()?), options)?;
/// let consumer = Consumer::new(store, Stream::new(redis()?, "reports"), ConsumerOptions::new("first"));
/// let asked_to_end = std::future::pending();
/// consumer.run(asked_to_end).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    store: SeenStore,
    stream: Stream,
    options: ConsumerOptions,
    health: ConsumerHealth,
}

/// Whether a consumer gets on. A clone is of the same one.
#[derive(Debug, Clone)]
pub struct ConsumerHealth {
    within: Duration,
    /// When a round has succeeded last.
    last: Arc<Mutex<Instant>>,
}

impl ConsumerHealth {
    /// Whether a round has succeeded lately.
    pub fn is_ready(&self) -> bool {
        self.last().elapsed() <= self.within
    }

    fn note_round(&self) {
        *self.last() = Instant::now();
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is due between the batches.
struct Rounds {
    is_prepared: bool,
    /// Entries of this consumer's own after this one are next, if any.
    own_after: Option<String>,
    next_own: Instant,
    next_claim: Instant,
    batch: usize,
    strikes: HashMap<String, (u32, Instant)>,
    taken: u64,
    next_progress: Instant,
}

/// Entries of one user in their order, and the report of each.
type Batch = (Vec<Entry>, Vec<ReceivedReport>);

/// What becomes of the entries of a user.
#[derive(Default)]
struct Outcome {
    done: Vec<String>,
    dead: Vec<DeadLetter>,
    /// They have failed by themselves, and are tried again.
    struck: Vec<Entry>,
    failure: Option<Error>,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.done.extend(other.done);
        self.dead.extend(other.dead);
        self.struck.extend(other.struck);
        self.failure = other.failure.or(self.failure.take());
    }
}

impl Consumer {
    /// Over a stream, into a store.
    pub fn new(store: SeenStore, stream: Stream, options: ConsumerOptions) -> Self {
        let health = ConsumerHealth {
            within: options.ready_within,
            last: Arc::new(Mutex::new(Instant::now())),
        };
        Consumer {
            store: store.even_if_full(),
            stream,
            options,
            health,
        }
    }

    /// For a probe of readiness.
    pub fn health(&self) -> ConsumerHealth {
        self.health.clone()
    }

    /// Runs until it is asked to end; a batch that has begun is finished first. It tries again after any failure.
    pub async fn run(self, asked_to_end: impl Future<Output = ()>) {
        let mut asked_to_end = std::pin::pin!(asked_to_end);
        let (is_ending, ending) = tokio::sync::watch::channel(false);
        let mut rounds = std::pin::pin!(self.rounds(ending));
        tokio::select! {
            () = &mut rounds => {}
            () = &mut asked_to_end => {
                is_ending.send_replace(true);
                rounds.await;
            }
        }
    }

    async fn rounds(&self, mut ending: tokio::sync::watch::Receiver<bool>) {
        let mut rounds = Rounds::new(self.options.batch);
        let mut pause = PAUSES[0];
        // The first connection is not there at once.
        let patience = Instant::now() + self.options.call_within;
        while !*ending.borrow() && !self.stream.is_connected() && Instant::now() < patience {
            sleep(PAUSES[0]).await;
        }
        while !*ending.borrow() {
            let Err(error) = self.round(&mut rounds).await else {
                self.health.note_round();
                pause = PAUSES[0];
                continue;
            };
            counter!("seenguard_failed_rounds_total").increment(1);
            tracing::warn!(%error, "entries are left in the stream, and taken again later");
            if error.kind() == ErrorKind::Timeout {
                rounds.batch = (rounds.batch / 2).max(1);
            }
            rounds.is_prepared = false;
            // It ends by the sender's end, too.
            let _ = timeout(pause, ending.wait_for(|&is_ending| is_ending)).await;
            pause = (2 * pause).min(PAUSES[1]);
        }
    }

    async fn round(&self, rounds: &mut Rounds) -> Result<(), Error> {
        let ConsumerOptions { group, .. } = &self.options;
        if !rounds.is_prepared {
            self.within(self.stream.prepare(group)).await?;
            rounds.is_prepared = true;
            rounds.own_after = Some(BEGINNING.to_owned());
        }
        let entries = self.entries(rounds).await?;
        let taken = entries.len() as u64;
        self.take_in(entries, rounds).await?;
        rounds.batch = (2 * rounds.batch).min(self.options.batch);
        rounds.note_progress(taken);
        Ok(())
    }

    /// The next ones: this consumer's own that are not done, then what others have left, then new ones.
    async fn entries(&self, rounds: &mut Rounds) -> Result<Vec<Entry>, Error> {
        let ConsumerOptions {
            group,
            name,
            wait,
            claim_after,
            ..
        } = &self.options;
        if rounds.own_after.is_none() && Instant::now() >= rounds.next_own && !rounds.strikes.is_empty() {
            rounds.own_after = Some(BEGINNING.to_owned());
        }
        if let Some(after) = rounds.own_after.take() {
            let own = self
                .within(self.stream.read_own(group, name, rounds.batch, &after))
                .await?;
            rounds.own_after = own.last().map(|entry| entry.id.clone());
            rounds.next_own = Instant::now() + self.options.mended_within / (STRIKES - 1);
            if !own.is_empty() {
                return Ok(own);
            }
            if after == BEGINNING {
                // Others have taken over what has failed here.
                rounds.strikes.clear();
            }
        }
        if Instant::now() >= rounds.next_claim {
            let claimed = self
                .within(self.stream.claim(group, name, rounds.batch, *claim_after))
                .await?;
            counter!("seenguard_claimed_total").increment(claimed.len() as u64);
            gauge!("seenguard_stream_entries").set(self.within(self.stream.len()).await? as f64);
            // While there are some, there may be more.
            if !claimed.is_empty() {
                return Ok(claimed);
            }
            rounds.next_claim = Instant::now() + *claim_after / 2;
        }
        let read = self.stream.read(group, name, rounds.batch, *wait);
        in_time(*wait + self.options.call_within, read).await
    }

    /// One answer of the stream.
    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        in_time(self.options.call_within, call).await
    }

    /// Takes entries into their users' chains, and acknowledges those that are stored.
    async fn take_in(&self, entries: Vec<Entry>, rounds: &mut Rounds) -> Result<(), Error> {
        let ids: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
        let (batches, unreadable) = by_user(entries);
        let outcomes = iter(batches)
            .map(async |(user, (entries, reports))| self.take_in_user(&user, entries, &reports).await)
            .buffer_unordered(USERS_AT_ONCE)
            .collect::<Vec<_>>();
        let mut all = Outcome::default();
        for outcome in self.while_renewing(&ids, outcomes).await {
            all.add(outcome);
        }
        all.dead.extend(unreadable.into_iter().map(|entry| DeadLetter {
            entry,
            code: ErrorKind::BadReport.code(),
        }));
        rounds.strike(all.struck, self.options.mended_within, &mut all.dead);
        let ConsumerOptions { group, .. } = &self.options;
        self.within(self.stream.acknowledge(group, &all.done)).await?;
        for id in &all.done {
            rounds.strikes.remove(id);
        }
        for letter in &all.dead {
            self.within(self.stream.set_aside(group, letter)).await?;
            let DeadLetter { entry, code } = letter;
            rounds.strikes.remove(&entry.id);
            counter!("seenguard_dead_letters_total").increment(1);
            tracing::error!(entry = entry.id, code, "an entry that no chain takes is set aside");
        }
        all.failure.map_or(Ok(()), Err)
    }

    /// Says again and again that this consumer works on these, so that no other one takes them over.
    async fn while_renewing<T>(&self, ids: &[String], work: impl Future<Output = T>) -> T {
        let ConsumerOptions {
            group,
            name,
            claim_after,
            ..
        } = &self.options;
        let mut work = std::pin::pin!(work);
        let mut ticks = interval((*claim_after / 3).max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first comes at once.
        ticks.tick().await;
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = ticks.tick(), if !ids.is_empty() => {
                    if let Err(error) = self.within(self.stream.renew(group, name, ids)).await {
                        tracing::debug!(%error, "another consumer may take over what this one works on");
                    }
                }
            }
        }
    }

    /// All at once; one by one where that fails for an entry's own sake.
    async fn take_in_user(&self, user: &str, entries: Vec<Entry>, reports: &[ReceivedReport]) -> Outcome {
        let mut outcome = Outcome::default();
        match self.ingest(user, reports).await {
            Ok(()) => outcome.done.extend(entries.into_iter().map(|entry| entry.id)),
            Err(error) if error.is_transient() || error.kind() == ErrorKind::Denied => outcome.failure = Some(error),
            Err(_) if reports.len() > 1 => {
                for (entry, report) in entries.into_iter().zip(reports) {
                    let one = self.take_in_user(user, vec![entry], std::slice::from_ref(report));
                    outcome.add(Box::pin(one).await);
                }
            }
            // A key of something else, or a panic: the cause may be mended.
            Err(error) if error.kind() == ErrorKind::WrongType => outcome.struck = entries,
            Err(error) => {
                let code = error.code();
                outcome
                    .dead
                    .extend(entries.into_iter().map(|entry| DeadLetter { entry, code }));
            }
        }
        outcome
    }

    async fn ingest(&self, user: &str, reports: &[ReceivedReport]) -> Result<(), Error> {
        let taking = self.store.ingest_all(user, reports, self.options.batch_within);
        // A panic is that entry's matter, not the consumer's.
        let taken = AssertUnwindSafe(taking).catch_unwind().await;
        taken.unwrap_or_else(|_| Err(Error::new(ErrorKind::WrongType, "what takes it in panics")))?;
        note_taken(reports);
        Ok(())
    }
}

/// The reports of each user in their order, and what is no report.
fn by_user(entries: Vec<Entry>) -> (BTreeMap<String, Batch>, Vec<Entry>) {
    let mut batches: BTreeMap<String, Batch> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for entry in entries {
        match entry.content() {
            Some((user, report)) => {
                let (entries, reports) = batches.entry(user).or_default();
                entries.push(entry);
                reports.push(report);
            }
            None => unreadable.push(entry),
        }
    }
    (batches, unreadable)
}

impl Rounds {
    fn new(batch: usize) -> Self {
        let now = Instant::now();
        Rounds {
            is_prepared: false,
            own_after: None,
            next_own: now,
            next_claim: now,
            batch,
            strikes: HashMap::new(),
            taken: 0,
            next_progress: now + PROGRESS,
        }
    }

    /// Notes that these have failed by themselves; those that have for long are dead.
    fn strike(&mut self, entries: Vec<Entry>, over: Duration, dead: &mut Vec<DeadLetter>) {
        for entry in entries {
            let (count, since) = self.strikes.entry(entry.id.clone()).or_insert((0, Instant::now()));
            *count += 1;
            if *count >= STRIKES && since.elapsed() >= over {
                let code = ErrorKind::WrongType.code();
                dead.push(DeadLetter { entry, code });
            }
        }
    }

    fn note_progress(&mut self, taken: u64) {
        self.taken += taken;
        if Instant::now() >= self.next_progress {
            tracing::info!(reports = self.taken, "taken in so far");
            self.next_progress = Instant::now() + PROGRESS;
        }
    }
}
