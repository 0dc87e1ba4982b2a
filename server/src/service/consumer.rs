//! The consumer of the stream: takes reports into their users' chains, and acknowledges them when they are stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::middleware::{from_fn, from_fn_with_state};
use futures_util::StreamExt;
use futures_util::stream::iter;
use metrics::counter;
use seenguard::{ReceivedReport, Time};
use seenguard_server::Error;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::auth::{Token, authorize};
use crate::cli::Consume;
use crate::monitoring::{self, Monitoring, note_backlog, note_taken};
use crate::store::{Store, connect};
use crate::stream::{Entry, Stream};
use crate::{Failure, listen, shutdown};

/// How long to wait for entries before looking whether there is something else to do.
const WAIT: Duration = Duration::from_millis(500);
/// How many users' chains are changed side by side.
const USERS_AT_ONCE: usize = 32;
/// Pauses after a failure, the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// How often progress is logged.
const PROGRESS: Duration = Duration::from_secs(30);

pub async fn consume(options: Consume) -> Result<(), Failure> {
    if options.common.redis.is_empty() {
        return Err("consume needs --redis: the stream is there, and the users' chains".into());
    }
    let recorder = monitoring::start()?;
    let stopping = shutdown::requested()?;
    let store = Arc::new(Store::open(&options.common).await?);
    let stream = Stream::new(connect(&options.common).await?, &options.stream);
    let monitoring = Monitoring {
        recorder,
        store: Arc::clone(&store),
        stopping: stopping.clone(),
    };
    let serving = serve(&options, monitoring).await?;
    tracing::info!(
        stream = options.stream,
        group = options.group,
        consumer = options.name,
        "consuming"
    );
    let consumer = Consumer { store, stream, options };
    consumer.run(stopping).await;
    if let Some(serving) = serving {
        serving.await??;
    }
    tracing::info!("ended");
    Ok(())
}

/// Serves what an operator looks at, if that is wanted.
async fn serve(
    options: &Consume,
    monitoring: Monitoring,
) -> Result<Option<tokio::task::JoinHandle<Result<(), Failure>>>, Failure> {
    let Some(address) = options.listen else { return Ok(None) };
    let token = Token::of(address, options.listening.token_file.as_deref())?;
    let listener = listen::bind(address).await?;
    let stopping = monitoring.stopping.clone();
    let router = monitoring::numbers(monitoring.clone())
        .layer(from_fn_with_state(token, authorize))
        .merge(monitoring::health(monitoring))
        .layer(from_fn(monitoring::observe));
    let patience = options.listening.shutdown_patience();
    Ok(Some(tokio::spawn(listen::serve(listener, router, stopping, patience))))
}

struct Consumer {
    store: Arc<Store>,
    stream: Stream,
    options: Consume,
}

/// What entries of one user have in common.
#[derive(Default)]
struct Batch {
    entries: Vec<String>,
    reports: Vec<ReceivedReport>,
}

impl Consumer {
    /// Until the program is to end. It tries again after any failure: nothing is acknowledged that is not stored.
    async fn run(&self, mut stopping: watch::Receiver<bool>) {
        let mut pause = PAUSES[0];
        let mut rounds = Rounds::new(self.options.claim_after());
        while !*stopping.borrow() {
            match self.round(&mut rounds).await {
                Ok(()) => pause = PAUSES[0],
                Err(error) => {
                    tracing::warn!(%error, "entries are left in the stream, and taken again later");
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = shutdown::wait(&mut stopping) => {}
                    }
                    pause = (2 * pause).min(PAUSES[1]);
                    rounds.is_prepared = false;
                }
            }
        }
    }

    async fn round(&self, rounds: &mut Rounds) -> Result<(), Error> {
        let Consume { group, name, batch, .. } = &self.options;
        if !rounds.is_prepared {
            self.stream.prepare(group).await?;
            rounds.is_prepared = true;
        }
        let mut entries = Vec::new();
        if rounds.may_claim() {
            entries = self
                .stream
                .claim(group, name, *batch, self.options.claim_after())
                .await?;
            counter!("seenguard_claimed_total").increment(entries.len() as u64);
            // While there are some, there may be more.
            rounds.note_claim(entries.is_empty());
            note_backlog(self.stream.len().await?);
        }
        if entries.is_empty() {
            entries = self.stream.read(group, name, *batch, WAIT).await?;
        }
        let taken = entries.len() as u64;
        self.ingest(entries).await?;
        rounds.note_progress(taken);
        Ok(())
    }

    /// Takes entries into their users' chains, one change a user, and acknowledges those that are stored.
    async fn ingest(&self, entries: Vec<Entry>) -> Result<(), Error> {
        let (batches, mut unreadable) = by_user(entries);
        let now = Time::from(SystemTime::now());
        let mut results = iter(batches)
            .map(async |(user, batch)| (self.store.ingest_all(&user, &batch.reports, now).await, batch))
            .buffer_unordered(USERS_AT_ONCE);
        let (mut done, mut failure) = (Vec::new(), None);
        while let Some((result, batch)) = results.next().await {
            match result {
                Ok(()) => {
                    note_taken(&batch.reports, now);
                    done.extend(batch.entries);
                }
                // A user or a time that no store takes: it would fail for ever.
                Err(Error::Core(seenguard::Error::BadOption(_))) => unreadable.extend(batch.entries),
                Err(error) => failure = Some(error),
            }
        }
        for entry in &unreadable {
            counter!("seenguard_unreadable_entries_total").increment(1);
            tracing::error!(
                entry,
                "an entry of the stream is no report: it stays there, and does not come again"
            );
        }
        self.stream.acknowledge(&self.options.group, &done, &unreadable).await?;
        failure.map_or(Ok(()), Err)
    }
}

/// The reports of each user in their order, and what is no report.
fn by_user(entries: Vec<Entry>) -> (HashMap<String, Batch>, Vec<String>) {
    let mut batches: HashMap<String, Batch> = HashMap::new();
    let mut unreadable = Vec::new();
    for Entry { id, content } in entries {
        match content {
            Some((user, report)) => {
                let batch = batches.entry(user).or_default();
                batch.entries.push(id);
                batch.reports.push(report);
            }
            None => unreadable.push(id),
        }
    }
    (batches, unreadable)
}

/// What is due between the batches.
struct Rounds {
    is_prepared: bool,
    claim_every: Duration,
    next_claim: Instant,
    taken: u64,
    next_progress: Instant,
}

impl Rounds {
    fn new(claim_after: Duration) -> Self {
        Rounds {
            is_prepared: false,
            claim_every: claim_after / 2,
            next_claim: Instant::now(),
            taken: 0,
            next_progress: Instant::now() + PROGRESS,
        }
    }

    fn may_claim(&self) -> bool {
        Instant::now() >= self.next_claim
    }

    fn note_claim(&mut self, was_last: bool) {
        if was_last {
            self.next_claim = Instant::now() + self.claim_every;
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
