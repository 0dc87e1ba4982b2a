//! Applies entries of a stream to their users' chains.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::time::Duration;

use futures_util::stream::iter;
use futures_util::{FutureExt, StreamExt};
use seenguard::ReceivedReport;

use crate::error::{Error, ErrorKind};
use crate::metrics::note_taken;
use crate::seen_store::SeenStore;

/// How many users' chains are changed concurrently.
const USERS_AT_ONCE: usize = 32;

/// The id of an entry in its stream: in Redis a time and a number, in Kafka a partition and an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u64, pub u64);

/// A report in the stream.
#[derive(Debug)]
pub struct Entry {
    pub id: EntryId,
    /// The user and the report, or the code of an error.
    pub content: Result<(String, ReceivedReport), &'static str>,
}

/// An entry that cannot be applied.
#[derive(Debug)]
pub struct DeadLetter {
    pub id: EntryId,
    pub code: &'static str,
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.0, self.1)
    }
}

impl FromStr for EntryId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, second) = text.split_once('-').unwrap_or((text, "0"));
        Ok(EntryId(first.parse()?, second.parse()?))
    }
}

/// The outcome of entries.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) done: Vec<EntryId>,
    pub(crate) dead: Vec<DeadLetter>,
    /// Entries that have failed for a reason of their own, which may be removed.
    pub(crate) struck: Vec<DeadLetter>,
    /// The failure of all other entries.
    pub(crate) failure: Option<Error>,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.done.extend(other.done);
        self.dead.extend(other.dead);
        self.struck.extend(other.struck);
        self.failure = other.failure.or(self.failure.take());
    }
}

/// How entries are applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taking {
    /// Timeout of all attempts for a user.
    pub(crate) within: Duration,
    /// Whether a rebuild reads them, long after they were new: then their lag says nothing.
    pub(crate) is_replay: bool,
}

/// Applies entries: those of a user in their order in one change.
pub(crate) async fn take_in(store: &SeenStore, entries: Vec<Entry>, taking: Taking) -> Outcome {
    let mut all = Outcome::default();
    let mut users: BTreeMap<String, (Vec<EntryId>, Vec<ReceivedReport>)> = BTreeMap::new();
    for Entry { id, content } in entries {
        match content {
            Ok((user, report)) => {
                let (ids, reports) = users.entry(user).or_default();
                ids.push(id);
                reports.push(report);
            }
            Err(code) => all.dead.push(DeadLetter { id, code }),
        }
    }
    let mut outcomes = iter(users)
        .map(async |(user, (ids, reports))| take_in_user(store, &user, &ids, &reports, taking).await)
        .buffer_unordered(USERS_AT_ONCE);
    while let Some(outcome) = outcomes.next().await {
        all.add(outcome);
    }
    all
}

/// All at once; one by one if that fails because of one entry.
async fn take_in_user(
    store: &SeenStore,
    user: &str,
    ids: &[EntryId],
    reports: &[ReceivedReport],
    taking: Taking,
) -> Outcome {
    let mut outcome = Outcome::default();
    // A panic fails the entry, not the consumer.
    let ingested = AssertUnwindSafe(store.ingest_all(user, reports, taking.within)).catch_unwind();
    match ingested.await.unwrap_or_else(|_| Err(ErrorKind::Internal.into())) {
        Ok(_) => {
            note_taken(reports, taking.is_replay);
            outcome.done.extend(ids);
        }
        Err(error) if error.is_transient() || error.kind() == ErrorKind::Denied => outcome.failure = Some(error),
        Err(_) if reports.len() > 1 => {
            for (id, report) in ids.chunks(1).zip(reports.chunks(1)) {
                outcome.add(Box::pin(take_in_user(store, user, id, report, taking)).await);
            }
        }
        Err(error) => {
            let code = error.code();
            // The key has another type, or it panicked: the cause may be removed.
            let may_pass = matches!(error.kind(), ErrorKind::WrongType | ErrorKind::Internal);
            let letters = if may_pass {
                &mut outcome.struck
            } else {
                &mut outcome.dead
            };
            letters.extend(ids.iter().map(|&id| DeadLetter { id, code }));
        }
    }
    outcome
}
