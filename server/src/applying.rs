//! Applies entries of a stream to their users' chains.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::time::Instant;

use futures_util::stream::iter;
use futures_util::{FutureExt, StreamExt};
use seenguard::{ReceivedReport, StoreFailure};

use crate::error::{Error, ErrorKind, Retry};
use crate::metrics::count_applied;
use crate::seen_store::SeenStore;

/// The number of users' chains that are changed concurrently.
const USERS_AT_ONCE: usize = 32;

/// The id of an entry: in Redis a time and a sequence number, in Kafka a partition and an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u64, pub u64);

/// An entry of a stream.
#[derive(Debug)]
pub struct Entry {
    pub id: EntryId,
    /// The user and the report, or an error's code if the entry is unreadable.
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

/// The outcome of applying entries.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) done: Vec<EntryId>,
    pub(crate) dead: Vec<DeadLetter>,
    /// Entries that have failed because of their user's data, and may succeed later.
    pub(crate) failed: Vec<DeadLetter>,
    /// The failure of the storage, if any, because of which all other entries were not applied.
    pub(crate) failure: Option<Error>,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.done.extend(other.done);
        self.dead.extend(other.dead);
        self.failed.extend(other.failed);
        self.failure = other.failure.or(self.failure.take());
    }
}

/// Options of applying entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApplyOptions {
    /// The deadline of all attempts, for all users together.
    pub(crate) deadline: Instant,
    /// Whether the entries are replayed for a rebuild: their lag is then not recorded.
    pub(crate) is_replay: bool,
}

/// Applies entries, those of a user in their order as one change.
pub(crate) async fn apply_all(store: &SeenStore, entries: Vec<Entry>, options: ApplyOptions) -> Outcome {
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
        .map(async |(user, (ids, reports))| apply_for_user(store, &user, &ids, &reports, options).await)
        .buffer_unordered(USERS_AT_ONCE);
    while let Some(outcome) = outcomes.next().await {
        all.add(outcome);
    }
    all
}

/// Applies a user's reports as one change; one by one if that fails because of one of them.
async fn apply_for_user(
    store: &SeenStore,
    user: &str,
    ids: &[EntryId],
    reports: &[ReceivedReport],
    options: ApplyOptions,
) -> Outcome {
    let mut outcome = Outcome::default();
    let left = options.deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        outcome.failure = Some(StoreFailure::Timeout.into());
        return outcome;
    }
    // A panic fails the entry, not the consumer.
    let ingested = AssertUnwindSafe(store.ingest_all(user, reports, left)).catch_unwind();
    match ingested.await.unwrap_or_else(|_| Err(ErrorKind::Internal.into())) {
        Ok(_) => {
            count_applied(reports, options.is_replay);
            outcome.done.extend(ids);
        }
        Err(error) if matches!(error.kind().retry(), Retry::Caller | Retry::Operator) => outcome.failure = Some(error),
        Err(_) if reports.len() > 1 => {
            for (id, report) in ids.chunks(1).zip(reports.chunks(1)) {
                outcome.add(Box::pin(apply_for_user(store, user, id, report, options)).await);
            }
        }
        Err(error) => {
            let code = error.code();
            let letters = match error.kind().retry() {
                Retry::Entry => &mut outcome.failed,
                _ => &mut outcome.dead,
            };
            letters.extend(ids.iter().map(|&id| DeadLetter { id, code }));
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use async_trait::async_trait;
    use seenguard::{PendingUpdate, Report, Time};

    use super::*;
    use crate::backend::{Backend, Loaded, Replacement};
    use crate::options::StoreOptions;

    /// A backend that never answers.
    struct Hung;

    #[async_trait]
    impl Backend for Hung {
        async fn load(&self, _: &str, _: Option<&PendingUpdate>) -> Result<Loaded, Error> {
            pending().await
        }

        async fn store_pending(&self, _: &str, _: &PendingUpdate) -> Result<Option<Time>, Error> {
            pending().await
        }

        async fn replace(&self, _: &str, _: &Replacement) -> Result<bool, Error> {
            pending().await
        }

        async fn forget(&self, _: &str, _: &Replacement) -> Result<bool, Error> {
            pending().await
        }
    }

    #[tokio::test]
    async fn a_batch_of_many_users_has_one_deadline() {
        const WITHIN: Duration = Duration::from_millis(500);
        let store = SeenStore::new(Hung, StoreOptions::default()).unwrap();
        let at = Time::from_unix_seconds(1_764_000_000);
        let entry = |number: usize| Entry {
            id: EntryId(0, number as u64),
            content: Ok((format!("user-{number}"), Report::new("home", at).received(at))),
        };
        let start = Instant::now();
        let options = ApplyOptions {
            deadline: start + WITHIN,
            is_replay: false,
        };
        let outcome = apply_all(&store, (0..10 * USERS_AT_ONCE).map(entry).collect(), options).await;
        assert!(start.elapsed() < 4 * WITHIN, "{:?}", start.elapsed());
        assert_eq!(outcome.failure.unwrap().kind(), StoreFailure::Timeout.into());
        assert!(outcome.done.is_empty() && outcome.dead.is_empty() && outcome.failed.is_empty());
    }
}
