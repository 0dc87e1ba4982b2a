//! The store: the methods that apps call, over any backend.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use metrics::counter;
use seenguard::{
    ChainSnapshot, IdList, Impression, MAX_ID_BYTES, PageRequest, Pending, PendingToKeep, ReceivedReport, Report,
    ShardChain, StoreKeys, StoredChain, Time,
};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::backend::{Backend, Loaded, Replacement};
use crate::error::{Error, ErrorKind, Retry, in_time};
use crate::heavy::{bytes_of, work_on};
use crate::log::may_log;
use crate::options::{StoreEvent, StoreOptions};
use crate::received;

/// Users' chains and their devices' pending impressions, in a [`Backend`]. A clone shares them.
///
/// Pages and snapshots wait for the backend for the patience of [`StoreOptions`]; other calls have a deadline, within
/// which they retry after transient failures. A change is repeated until no other one intervenes, so that none is lost.
/// A user is a text of 1 to 512 bytes that does not end in `:meta` or `:pending`. All times are of the backend's clock,
/// which all servers share; of this process's if it has none.
///
/// ```
/// use seenguard_server::{Error, SeenStore};
///
/// // Works with every backend.
/// async fn show_again(store: &SeenStore, user: &str, id: &str) -> Result<(), Error> {
///     store.unsee(user, &[id]).await
/// }
/// ```
#[derive(Clone)]
pub struct SeenStore {
    backend: Arc<dyn Backend>,
    options: Arc<StoreOptions>,
    /// A permit for each read in progress.
    reads: Arc<Semaphore>,
    even_if_full: bool,
    /// By how many milliseconds the backend's clock was ahead of this process's.
    ahead_ms: Arc<AtomicI64>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The indices of its items, the fresh ones first.
    pub items: Vec<u32>,
    /// The cursor of the next page: short, and safe in a URL. None: this is the last page.
    pub next: Option<String>,
    /// The snapshot to send: the state against which the items were filtered. `None` if the page is degraded.
    pub snapshot: Option<ChainSnapshot>,
    /// Whether the backend did not respond in time: the page leaves out only the requesting device's pending
    /// impressions. Send it to the device unchanged: its guard stops the items that it knows.
    pub degraded: bool,
}

impl SeenStore {
    /// A store over this backend; one in an `Arc` is shared.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for invalid options, as [`ShardChain::new`].
    pub fn new(backend: impl Backend, options: StoreOptions) -> Result<Self, Error> {
        let options = options.checked()?;
        Ok(SeenStore {
            backend: Arc::new(backend),
            reads: Arc::new(Semaphore::new(options.reads_at_once)),
            options: Arc::new(options),
            even_if_full: false,
            ahead_ms: Arc::default(),
        })
    }

    /// The same store for a consumer: it writes to a full storage, too, since that frees more space in the stream.
    #[cfg(feature = "consumer")]
    pub(crate) fn even_if_full(self) -> Self {
        SeenStore {
            even_if_full: true,
            ..self
        }
    }

    /// A user's chain, for reading.
    ///
    /// ```
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryStore::default(), StoreOptions::new())?;
    /// assert_eq!(store.read("ada").await?.shards().count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for an invalid user; errors of the backend, or [`ErrorKind::Timeout`].
    pub async fn read(&self, user: &str) -> Result<ShardChain, Error> {
        check_user(user)?;
        let loaded = self.load(user, None).await?;
        work_on(bytes_of(&loaded.stored.shards), || {
            Ok(self.restore(&loaded.stored)?.chain)
        })
    }

    /// What is stored of a user.
    #[cfg(feature = "axum")]
    pub(crate) async fn loaded(&self, user: &str) -> Result<Loaded, Error> {
        check_user(user)?;
        self.load(user, None).await
    }

    /// The snapshot to send to a device without a page. `held`: the value of `Seen-Held`.
    ///
    /// # Errors
    /// As [`SeenStore::read`].
    pub async fn snapshot(&self, user: &str, held: Option<&str>) -> Result<ChainSnapshot, Error> {
        check_user(user)?;
        let loaded = self.load(user, None).await?;
        work_on(bytes_of(&loaded.stored.shards), || {
            let chain = self.restore(&loaded.stored)?.chain;
            Ok(chain.snapshot(self.now(Some(&loaded)), held)?)
        })
    }

    /// Changes a user's chain and stores it. `change` gets the current time; it runs again on the new chain if another
    /// writer has stored one meanwhile. Returns the result of its last run.
    ///
    /// ```
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryStore::default(), StoreOptions::new())?;
    /// assert_eq!(store.update("ada", |chain, now| chain.record(&["a", "b"], now)).await?, 2);
    /// assert_eq!(store.update("ada", |chain, now| chain.record(&["b", "c"], now)).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of `change`; [`ErrorKind::BadOption`] for an invalid user; errors of the backend; at the deadline
    /// [`ErrorKind::Conflict`] if other writers always intervened, or [`ErrorKind::Timeout`].
    pub async fn update<R: Send>(
        &self,
        user: &str,
        change: impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send,
    ) -> Result<R, Error> {
        self.change(user, change, false, self.options.deadline).await
    }

    /// Keeps the device's pending impressions, and makes a page of `ranked` as [`ShardChain::page`] does. Pending
    /// impressions of the user's other devices are left out, too, unless they are unseen. Only `asking` of the
    /// request's `pending` is read: the store has the rest. If the backend fails, the page is degraded.
    ///
    /// ```
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// use seenguard::PageRequest;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryStore::default(), StoreOptions::new())?;
    /// store.update("ada", |chain, now| chain.record(&["b"], now)).await?;
    /// // The values of `Seen-Held` and `Seen-Pending`.
    /// let (held, pending): (Option<&str>, Option<&str>) = (None, None);
    /// let request = PageRequest { size: 2, held, pending: pending.into(), ..PageRequest::default() };
    /// let page = store.page("ada", &["a", "b", "c"], &request).await?;
    /// assert_eq!((page.items, page.next, page.degraded), (vec![0, 2], None, false));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for an invalid user or size; [`ErrorKind::OutOfMemory`] of this process.
    pub async fn page(
        &self,
        user: &str,
        ranked: &(impl IdList + Sync + ?Sized),
        request: &PageRequest<'_>,
    ) -> Result<Page, Error> {
        check_user(user)?;
        let namespace = self.options.namespace_for(user);
        let namespace = namespace.as_deref();
        let asking = request.pending.asking;
        let told = asking.and_then(|text| self.to_keep(text, namespace));
        let loaded = self.load(user, told).await;
        match &loaded {
            Ok(loaded) => self.note_read(loaded),
            Err(error) => self.note_degraded(error),
        }
        let pending = Pending {
            asking,
            kept: loaded.as_ref().map_or("", |loaded| &loaded.kept),
            kept_seconds: self.options.pending_seconds,
            namespace,
        };
        let now = self.now(loaded.as_ref().ok());
        let bytes = loaded.as_ref().map_or(0, |loaded| bytes_of(&loaded.stored.shards));
        let page = work_on(bytes, || {
            let chain = match &loaded {
                Ok(loaded) => self.restore(&loaded.stored)?.chain,
                Err(_) => ShardChain::new(self.options.chain)?,
            };
            let too_long = (0..ranked.len()).filter(|&index| ranked.get(index).len() > MAX_ID_BYTES);
            counter!("seenguard_ids_unfiltered_total").increment(too_long.count() as u64);
            chain
                .page(ranked, &PageRequest { pending, ..*request }, now)
                .map_err(Error::from)
        })?;
        Ok(Page {
            items: page.items,
            next: page.next,
            snapshot: loaded.is_ok().then_some(page.snapshot),
            degraded: loaded.is_err(),
        })
    }

    /// Checks a device's report, keeps its pending impressions, and returns it in the server's time: for
    /// [`SeenStore::ingest`], now or later from a stream. **Acknowledge it only when it is in the chain, or in the
    /// stream**: the device keeps it until then.
    ///
    /// ```
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let options = StoreOptions::new().namespace_of(|user| format!("home:{user}"));
    /// let store = SeenStore::new(MemoryStore::default(), options)?;
    /// let body = br#"{ "namespace": "home:ada", "now": 1764000000000, "impressions": [{ "id": "a", "at": 1764000000000 }] }"#;
    /// let report = store.accept("ada", body).await?;
    /// assert_eq!(store.ingest("ada", &report).await?, 1);
    /// assert_eq!(store.accept("bob", body).await.unwrap_err().code(), "wrong-namespace");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Before anything is kept: [`ErrorKind::BadReport`], with the code `too-large` for more than 1,000 entries or 256
    /// KB; [`ErrorKind::WrongNamespace`]; [`ErrorKind::BadOption`] for an invalid user. Then errors of the backend, or
    /// [`ErrorKind::Timeout`].
    pub async fn accept(&self, user: &str, body: &[u8]) -> Result<ReceivedReport, Error> {
        let report = self.check(user, body)?;
        self.keep(user, &report).await?;
        Ok(report)
    }

    /// The first half of [`SeenStore::accept`].
    pub(crate) fn check(&self, user: &str, body: &[u8]) -> Result<ReceivedReport, Error> {
        check_user(user)?;
        let report: Report = received::read(body)?;
        if report.namespace.is_empty() {
            return Err(Error::new(ErrorKind::BadReport, "its namespace is empty"));
        }
        self.refuse_another(user, &report.namespace)?;
        received::limited(report.received(self.now(None)))
    }

    /// The second half: keeps the device's pending impressions.
    pub(crate) async fn keep(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        let namespace = self.options.namespace_for(user);
        let told = report
            .pending
            .as_deref()
            .and_then(|text| self.to_keep(text, namespace.as_deref()));
        match told {
            Some(told) => self.within_deadline(|| self.backend.keep(user, &told)).await,
            None => Ok(()),
        }
    }

    #[cfg(feature = "axum")]
    pub(crate) fn deadline(&self) -> Duration {
        self.options.deadline
    }

    /// Retries after transient failures until the deadline.
    pub(crate) async fn within_deadline<R, F: Future<Output = Result<R, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<R, Error> {
        let deadline = self.options.deadline;
        let mut attempts = self.attempts(deadline);
        in_time(deadline, async {
            loop {
                match attempt().await {
                    Err(error) => attempts.again(error).await?,
                    done => return done,
                }
            }
        })
        .await
    }

    /// Applies a report to the chain, as [`ShardChain::ingest`]; it may be late. Returns how many ids no live shard
    /// contained.
    ///
    /// # Errors
    /// As [`SeenStore::update`], and [`ErrorKind::WrongNamespace`].
    pub async fn ingest(&self, user: &str, report: &ReceivedReport) -> Result<usize, Error> {
        self.ingest_all(user, std::slice::from_ref(report), self.options.deadline)
            .await
    }

    /// The same for several reports in one change.
    pub(crate) async fn ingest_all(
        &self,
        user: &str,
        reports: &[ReceivedReport],
        deadline: Duration,
    ) -> Result<usize, Error> {
        check_user(user)?;
        for report in reports {
            self.refuse_another(user, &report.namespace)?;
        }
        let ingest = |chain: &mut ShardChain, now| {
            reports.iter().try_fold(0, |sum, report| {
                // A server whose clock is ahead has received it after now.
                let mut report = Cow::Borrowed(report);
                if report.received_at > now {
                    report.to_mut().received_at = now;
                }
                Ok(sum + chain.ingest(&report)?)
            })
        };
        self.change(user, ingest, false, deadline).await
    }

    /// Makes ids unseen, as [`ShardChain::unsee`].
    ///
    /// # Errors
    /// As [`SeenStore::update`], and [`ErrorKind::BadReport`] for an id of over 256 bytes.
    pub async fn unsee(&self, user: &str, ids: &(impl IdList + Sync + ?Sized)) -> Result<(), Error> {
        self.unsee_as_report(user, ids).await.map(drop)
    }

    /// Deletes the history, as [`ShardChain::forget`], and the devices' pending impressions.
    ///
    /// ```
    /// # use seenguard::PageRequest;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryStore::default(), StoreOptions::new())?;
    /// let request = PageRequest { size: 10, ..PageRequest::default() };
    /// store.update("ada", |chain, now| chain.record(&["a", "b"], now)).await?;
    /// store.unsee("ada", &["b"]).await?;
    /// assert_eq!(store.page("ada", &["a", "b"], &request).await?.items, [1]);
    /// store.forget("ada").await?;
    /// assert_eq!(store.page("ada", &["a", "b"], &request).await?.items, [0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`SeenStore::update`].
    pub async fn forget(&self, user: &str) -> Result<(), Error> {
        self.forget_as_report(user).await.map(drop)
    }

    /// [`SeenStore::unsee`]; returns a report with the same effect, for chains that are rebuilt from the stream.
    pub(crate) async fn unsee_as_report(
        &self,
        user: &str,
        ids: &(impl IdList + Sync + ?Sized),
    ) -> Result<ReceivedReport, Error> {
        let unsee = |chain: &mut ShardChain, now| chain.unsee(ids, now);
        let at = self.change_at(user, unsee, false).await?;
        let mut report = self.report_of(user, at);
        let id = |index| String::from_utf8_lossy(ids.get(index)).into_owned();
        report.unseen = (0..ids.len()).map(|index| Impression { id: id(index), at }).collect();
        Ok(report)
    }

    /// [`SeenStore::forget`]; returns a report with the same effect, for chains that are rebuilt from the stream.
    pub(crate) async fn forget_as_report(&self, user: &str) -> Result<ReceivedReport, Error> {
        let at = self.change_at(user, ShardChain::forget, true).await?;
        let mut report = self.report_of(user, at);
        report.forgotten = true;
        Ok(report)
    }

    fn report_of(&self, user: &str, at: Time) -> ReceivedReport {
        Report::new(self.options.namespace_for(user).unwrap_or_default(), at).received(at)
    }

    /// Changes a user's chain, and returns the time of the change.
    async fn change_at(
        &self,
        user: &str,
        mut change: impl FnMut(&mut ShardChain, Time) -> Result<(), seenguard::Error> + Send,
        forgets: bool,
    ) -> Result<Time, Error> {
        let change = |chain: &mut ShardChain, now| change(chain, now).map(|()| now);
        self.change(user, change, forgets, self.options.deadline).await
    }

    /// Loads within the patience. A later response is awaited in the background until the deadline, and holds its
    /// permit until then.
    async fn load(&self, user: &str, told: Option<PendingToKeep>) -> Result<Loaded, Error> {
        let Ok(permit) = self.reads.clone().try_acquire_owned() else {
            return Err(Error::new(ErrorKind::Unavailable, "too many reads wait for it"));
        };
        let patience = match self.backend.is_connected() {
            true => self.options.patience,
            false => self.options.connecting_patience,
        };
        let (store, user) = (self.clone(), user.to_owned());
        let mut loading = Box::pin(async move {
            let mut attempts = store.attempts(patience);
            // Held until the backend has responded, even if the caller has stopped waiting.
            let _permit = permit;
            loop {
                match store.backend.load(&user, told.as_ref()).await {
                    Err(error) => attempts.again(error).await?,
                    loaded => return loaded,
                }
            }
        });
        let loaded = timeout(patience, &mut loading).await;
        loaded.unwrap_or_else(|_| {
            tokio::spawn(timeout(self.options.deadline, loading));
            Err(ErrorKind::Timeout.into())
        })
    }

    /// Repeats the change of a user's chain until no other writer intervenes.
    async fn change<R: Send>(
        &self,
        user: &str,
        mut change: impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send,
        forgets: bool,
        deadline: Duration,
    ) -> Result<R, Error> {
        check_user(user)?;
        let mut attempts = self.attempts(deadline);
        in_time(deadline, async {
            loop {
                match self.try_change(user, &mut change, forgets).await {
                    Err(error) => attempts.again(error).await?,
                    done => return done,
                }
            }
        })
        .await
    }

    /// Fails with [`ErrorKind::Conflict`] if another writer has intervened.
    async fn try_change<R: Send>(
        &self,
        user: &str,
        change: &mut (impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send),
        forgets: bool,
    ) -> Result<R, Error> {
        let loaded = self.backend.load(user, None).await?;
        let (result, after) = work_on(bytes_of(&loaded.stored.shards), || {
            self.changed(&loaded, self.restore(&loaded.stored)?, change, forgets)
        })?;
        let Some((after, life_seconds)) = after else {
            return Ok(result);
        };
        let replacement = Replacement {
            revision: loaded.revision,
            before: loaded.stored,
            after: Arc::new(after),
            life_seconds,
            even_if_full: self.even_if_full,
        };
        let is_stored = match forgets {
            true => self.backend.forget(user, &replacement).await?,
            false => self.backend.replace(user, &replacement).await?,
        };
        match is_stored {
            true => Ok(result),
            false => Err(ErrorKind::Conflict.into()),
        }
    }

    /// Applies a change to the loaded chain. Returns the new chain and its lifetime in seconds; no chain if nothing has
    /// changed.
    fn changed<R>(
        &self,
        loaded: &Loaded,
        Restored { mut chain, is_damaged }: Restored,
        change: &mut impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error>,
        forgets: bool,
    ) -> Result<(R, Option<(StoredChain, u64)>), Error> {
        let now = self.now(Some(loaded));
        // Compare the form written now: an expired entry, or one in another form, is no change.
        let fields_before = match loaded.stored.fields.is_empty() {
            true => Vec::new(),
            false => chain.stored(now)?.fields,
        };
        let result = change(&mut chain, now)?;
        let after = chain.stored(now)?;
        let is_same = !is_damaged && fields_before == after.fields && loaded.stored.shards == after.shards;
        let life_seconds = chain.life_seconds(now)?;
        Ok((result, (forgets || !is_same).then_some((after, life_seconds))))
    }

    fn attempts(&self, time: Duration) -> Attempts<'_> {
        let pauses = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(1))
            .with_max_delay(Duration::from_millis(100))
            .without_max_times()
            .build();
        Attempts {
            store: self,
            begun: Instant::now(),
            time,
            pauses,
        }
    }

    /// Reads a stored chain. Ignores and reports data that cannot be read.
    fn restore(&self, stored: &StoredChain) -> Result<Restored, Error> {
        let (mut chain, rejected) = ShardChain::from_shards(&stored.shards, self.options.chain)?;
        let fields = stored.fields.iter();
        let fields: Vec<&str> = fields.flat_map(|(name, value)| [name.as_str(), value]).collect();
        let is_damaged = chain.restore_fields(&fields)? > 0;
        if is_damaged {
            self.note_damaged(&seenguard::Error::BadSnapshot(
                "fields that are stored beside a user's shards cannot be read",
            ));
        }
        for shard in rejected {
            self.note_damaged(&shard.error);
        }
        Ok(Restored { chain, is_damaged })
    }

    fn to_keep(&self, text: &str, namespace: Option<&str>) -> Option<PendingToKeep> {
        PendingToKeep::of(text, namespace, self.now(None), self.options.pending_seconds)
    }

    /// Refuses a report of another user's session.
    fn refuse_another(&self, user: &str, reported: &str) -> Result<(), Error> {
        match self.options.namespace_for(user) {
            Some(wanted) if wanted != reported => Err(ErrorKind::WrongNamespace.into()),
            _ => Ok(()),
        }
    }

    /// The backend's time: as loaded, or derived from this process's clock.
    pub(crate) fn now(&self, loaded: Option<&Loaded>) -> Time {
        if let Some(clock) = &self.options.clock {
            return clock();
        }
        let own = Time::from(SystemTime::now()).unix_ms();
        match loaded.and_then(|loaded| loaded.now) {
            Some(now) => {
                self.ahead_ms
                    .store(now.unix_ms() as i64 - own as i64, Ordering::Relaxed);
                now
            }
            None => Time::from_unix_ms(own.saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed))),
        }
    }

    fn note_read(&self, loaded: &Loaded) {
        if let Some(refusal) = &loaded.refusal {
            self.options.tell(&StoreEvent::NotKept(refusal));
            counter!("seenguard_pending_not_kept_total").increment(1);
            if may_log("pending", refusal.code()) {
                tracing::warn!(error = %refusal, "pending impressions cannot be stored: pages are made without them");
            }
        }
    }

    fn note_degraded(&self, error: &Error) {
        self.options.tell(&StoreEvent::Degraded(error));
        counter!("seenguard_degraded_pages_total").increment(1);
        if may_log("degraded", error.code()) {
            tracing::warn!(%error, "pages are made without the users' stored chains");
        }
    }

    fn note_damaged(&self, error: &seenguard::Error) {
        self.options.tell(&StoreEvent::Damaged(error));
        counter!("seenguard_damaged_total", "code" => error.code()).increment(1);
        if may_log("damaged", error.code()) {
            tracing::warn!(code = error.code(), %error, "stored data cannot be read, and is ignored");
        }
    }

    fn note_conflict(&self) {
        self.options.tell(&StoreEvent::Conflict);
        counter!("seenguard_conflicts_total").increment(1);
    }

    fn note_retry(&self, error: &Error) {
        self.options.tell(&StoreEvent::Retry(error));
        counter!("seenguard_retries_total").increment(1);
        tracing::debug!(%error, "it is tried again");
    }
}

impl fmt::Debug for SeenStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SeenStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

struct Restored {
    chain: ShardChain,
    /// Whether some of the fields beside the shards were left out.
    is_damaged: bool,
}

/// Attempts with random pauses of growing length, so that each contending writer succeeds.
struct Attempts<'a> {
    store: &'a SeenStore,
    begun: Instant,
    time: Duration,
    pauses: ExponentialBackoff,
}

impl Attempts<'_> {
    /// Waits for the next attempt after a transient failure. Fails for another one, and when the time is over.
    async fn again(&mut self, error: Error) -> Result<(), Error> {
        let pause = self.pauses.next().unwrap_or_default();
        let is_over = self.begun.elapsed() + pause >= self.time;
        match error.kind() {
            kind if is_over || kind.retry() != Retry::Call => return Err(error),
            ErrorKind::Conflict => self.store.note_conflict(),
            _ => self.store.note_retry(&error),
        }
        sleep(pause).await;
        Ok(())
    }
}

/// Checks a user. The rule is the same for all backends, so that users can be moved between them.
fn check_user(user: &str) -> Result<(), Error> {
    Ok(StoreKeys::of("", user, false).map(drop)?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use seenguard::ChainOptions;
    use tokio::task::yield_now;

    use super::*;
    use crate::memory::MemoryStore;

    /// Candidates that count the turns of another task between the first and the last time that one is read.
    struct Watched<'a> {
        turns: &'a AtomicUsize,
        first: AtomicUsize,
        last: AtomicUsize,
    }

    impl IdList for Watched<'_> {
        fn len(&self) -> usize {
            20_000
        }

        fn get(&self, index: usize) -> &[u8] {
            let turns = self.turns.load(Ordering::SeqCst);
            self.first.fetch_min(turns, Ordering::SeqCst);
            self.last.fetch_max(turns, Ordering::SeqCst);
            match index % 2 {
                0 => b"article-17-0",
                _ => b"article-17-49999",
            }
        }
    }

    /// Its only worker runs the page and the other task.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_page_of_a_large_chain_holds_up_nothing_else() {
        let chain = ChainOptions {
            capacity: 50_000,
            shards: 18,
            ..ChainOptions::default()
        };
        let store = SeenStore::new(MemoryStore::default(), StoreOptions::new().chain(chain)).unwrap();
        for shard in 0..18 {
            let ids: Vec<String> = (0..50_000).map(|id| format!("article-{shard}-{id}")).collect();
            store.update("ada", |chain, now| chain.record(&ids, now)).await.unwrap();
        }
        let page = tokio::spawn(async move {
            static TURNS: AtomicUsize = AtomicUsize::new(0);
            tokio::spawn(async {
                loop {
                    TURNS.fetch_add(1, Ordering::SeqCst);
                    yield_now().await;
                }
            });
            let request = PageRequest {
                size: 10,
                ..PageRequest::default()
            };
            let mut most = 0;
            // A busy machine may give the other thread no time.
            for _ in 0..10 {
                let watched = Watched {
                    turns: &TURNS,
                    first: AtomicUsize::new(usize::MAX),
                    last: AtomicUsize::new(0),
                };
                assert_eq!(store.page("ada", &watched, &request).await.unwrap().items, [0; 0]);
                most = most.max(watched.last.into_inner() - watched.first.into_inner());
            }
            most
        });
        let turns = page.await.unwrap();
        assert!(turns > 10, "{turns}");
    }
}
