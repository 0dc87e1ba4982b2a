//! The store: its methods for apps, over any backend.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use metrics::counter;
use seenguard::{
    ChainSnapshot, IdList, Impression, PageRequest, Pending, PendingUpdate, ReceivedReport, Report, ShardChain,
    StoreCall, StoreClock, StoreFailure, StoreKeys, StoreStep, StoreUse, Time, check_namespace,
};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout, timeout_at};

use crate::backend::{Backend, Loaded, Replacement};
use crate::cpu_bound::{bytes_of, run_cpu_bound};
use crate::error::{Error, ErrorKind};
use crate::log::may_log;
use crate::options::{StoreEvent, StoreOptions};
use crate::received;

/// Users' chains and their devices' pending impressions, in a [`Backend`]. Clones share them.
///
/// Pages and snapshots wait for the backend for the patience of [`StoreOptions`]; other calls retry transient failures
/// until their deadline. A change is retried until no other one intervenes, so that none is lost. A user is a string of
/// 1 to 512 bytes that does not end in `:meta` or `:pending`. All times are of the backend's clock, which all servers
/// share; of this process's if it has none.
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
    clock: Arc<StoreClock>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The indices of the page's items, the fresh ones first.
    pub items: Vec<u32>,
    /// The cursor of the next page, short and URL-safe; `None` on the last page.
    pub next: Option<String>,
    /// The snapshot to send, with which the items were filtered; `None` if the page is degraded.
    pub snapshot: Option<ChainSnapshot>,
    /// Whether the backend did not respond in time, so that the page leaves out only the requesting device's pending
    /// impressions. Send it to the device, too: its guard stops the items that it knows.
    pub degraded: bool,
}

impl SeenStore {
    /// A store over this backend, which may be in an `Arc`.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for invalid options, as [`ShardChain::new`].
    pub fn new(backend: impl Backend, options: StoreOptions) -> Result<Self, Error> {
        options.check()?;
        Ok(SeenStore {
            backend: Arc::new(backend),
            reads: Arc::new(Semaphore::new(options.reads_at_once)),
            options: Arc::new(options),
            even_if_full: false,
            clock: Arc::default(),
        })
    }

    /// The store for a consumer, which also writes to a full storage, since that frees more space in the stream.
    #[cfg(feature = "consumer")]
    pub(crate) fn even_if_full(self) -> Self {
        SeenStore {
            even_if_full: true,
            ..self
        }
    }

    /// Loads a user's chain, for reading.
    ///
    /// ```
    /// # use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
    /// assert_eq!(store.read("ada").await?.shards().count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for an invalid user; errors of the backend, or [`StoreFailure::Timeout`].
    pub async fn read(&self, user: &str) -> Result<ShardChain, Error> {
        let loaded = self.loaded(user).await?;
        run_cpu_bound(bytes_of(&loaded.stored.shards), || {
            Ok(self.restored(&loaded)?.into_chain().ok_or(ErrorKind::Internal)?)
        })
    }

    /// Loads a user's data.
    pub(crate) async fn loaded(&self, user: &str) -> Result<Loaded, Error> {
        check_user(user)?;
        let load = || self.backend.load(user, None);
        self.within_deadline(StoreUse::Read, load).await
    }

    /// Makes a snapshot for a device, without a page. `held`: the value of `Seen-Held`.
    ///
    /// # Errors
    /// As [`SeenStore::read`], with the timeout [`StoreOptions::patience`].
    pub async fn snapshot(&self, user: &str, held: Option<&str>) -> Result<ChainSnapshot, Error> {
        check_user(user)?;
        let loaded = self.load(user, None).await?;
        run_cpu_bound(bytes_of(&loaded.stored.shards), || {
            let mut call = self.restored(&loaded)?;
            let (chain, now) = call.chain().ok_or(ErrorKind::Internal)?;
            Ok(chain.snapshot(now, held)?)
        })
    }

    /// Changes a user's chain and stores it. `change` gets the chain and the current time; it is called again with a
    /// new chain if another writer has stored one in between. Returns the result of its last call.
    ///
    /// ```
    /// # use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
    /// assert_eq!(store.update("ada", |chain, now| chain.record(&["a", "b"], now)).await?, 2);
    /// assert_eq!(store.update("ada", |chain, now| chain.record(&["b", "c"], now)).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of `change`; [`ErrorKind::BadOption`] for an invalid user; errors of the backend; at the deadline
    /// [`StoreFailure::Conflict`] if other writers intervened each time, or [`StoreFailure::Timeout`].
    pub async fn update<R: Send>(
        &self,
        user: &str,
        change: impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send,
    ) -> Result<R, Error> {
        self.change(user, change, StoreUse::Change, self.options.deadline).await
    }

    /// Stores the device's pending impressions, and makes a page of `ranked`, as [`ShardChain::page`]. Pending
    /// impressions of the user's other devices are left out, too, unless they are unseen. Only `requesting` of the
    /// request's `pending` is read, since the store has the rest. If the backend fails, the page is degraded.
    ///
    /// ```
    /// # use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
    /// use seenguard::PageRequest;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
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
    /// [`ErrorKind::BadOption`] for an invalid user or size; [`StoreFailure::OutOfMemory`] of this process.
    pub async fn page(
        &self,
        user: &str,
        ranked: &(impl IdList + Sync + ?Sized),
        request: &PageRequest<'_>,
    ) -> Result<Page, Error> {
        check_user(user)?;
        let namespace = self.options.namespace_for(user);
        let namespace = namespace.as_deref();
        let requesting = request.pending.requesting;
        let life_seconds = self.options.pending_seconds;
        let reported = requesting.and_then(|text| PendingUpdate::of(text, namespace, self.now(None), life_seconds));
        let loaded = match self.load(user, reported).await {
            Ok(loaded) => {
                if let Some(refusal) = &loaded.refusal {
                    self.note(&StoreEvent::PendingNotStored(refusal));
                }
                Some(loaded)
            }
            Err(error) => {
                self.note(&StoreEvent::Degraded(&error));
                None
            }
        };
        let pending = Pending {
            requesting,
            stored: loaded.as_ref().map_or("", |loaded| &loaded.pending),
            stored_seconds: life_seconds,
            namespace,
        };
        let bytes = loaded.as_ref().map_or(0, |loaded| bytes_of(&loaded.stored.shards));
        let made = run_cpu_bound(bytes, || {
            let call = match &loaded {
                Some(loaded) => self.restored(loaded)?,
                None => self.call(StoreUse::Read, Duration::ZERO),
            };
            let made = call.page(ranked, &PageRequest { pending, ..*request }, self.now(None));
            made.map_err(Error::from)
        })?;
        counter!("seenguard_ids_unfiltered_total").increment(made.unfiltered as u64);
        Ok(Page {
            items: made.page.items,
            next: made.page.next,
            snapshot: (!made.is_degraded).then_some(made.page.snapshot),
            degraded: made.is_degraded,
        })
    }

    /// Checks a device's report, stores its pending impressions, and returns it in the server's time, for
    /// [`SeenStore::ingest`], at once or through a stream. **Acknowledge it to the device only when it is in the chain
    /// or in the stream**: until then the device stores it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let options = StoreOptions {
    ///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
    ///     ..StoreOptions::default()
    /// };
    /// let store = SeenStore::new(MemoryBackend::default(), options)?;
    /// let body = br#"{ "namespace": "home:ada", "now": 1764000000000, "impressions": [{ "id": "a", "at": 1764000000000 }] }"#;
    /// let report = store.accept("ada", body).await?;
    /// assert_eq!(store.ingest("ada", &report).await?, 1);
    /// assert_eq!(store.accept("bob", body).await.unwrap_err().code(), "wrong-namespace");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Before anything is stored: [`ErrorKind::BadReport`], with the code `too-large` for more than 1,000 entries or
    /// 256 KB; [`ErrorKind::WrongNamespace`]; [`ErrorKind::BadOption`] for an invalid user. Then errors of the backend,
    /// or [`StoreFailure::Timeout`].
    pub async fn accept(&self, user: &str, body: &[u8]) -> Result<ReceivedReport, Error> {
        let mut report = self.check(user, body)?;
        let namespace = self.options.namespace_for(user);
        let reported = PendingUpdate::of_report(
            report.pending.as_deref(),
            &report.impressions,
            namespace.as_deref(),
            report.received_at,
            self.options.pending_seconds,
        );
        if let Some(now) = self.store_pending(user, reported).await? {
            report.stamp(self.now(Some(now)));
        }
        Ok(report)
    }

    /// Checks a report, and returns it in the server's time, as this process knows it.
    pub(crate) fn check(&self, user: &str, body: &[u8]) -> Result<ReceivedReport, Error> {
        check_user(user)?;
        let report: Report = received::read(body)?;
        if report.namespace.is_empty() {
            return Err(Error::new(ErrorKind::BadReport, "the report's namespace is empty"));
        }
        check_namespace(self.options.namespace_for(user).as_deref(), &report.namespace)?;
        received::limited(report.received(self.now(None)))
    }

    /// Stores the pending list of a report that is ingested at once.
    #[cfg(feature = "axum")]
    pub(crate) async fn store_list(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        let namespace = self.options.namespace_for(user);
        let reported = report.pending.as_deref().and_then(|text| {
            let at = report.received_at;
            PendingUpdate::of(text, namespace.as_deref(), at, self.options.pending_seconds)
        });
        self.store_pending(user, reported).await.map(drop)
    }

    /// Stores a pending list. Returns the backend's time, if it has a clock.
    async fn store_pending(&self, user: &str, reported: Option<PendingUpdate>) -> Result<Option<Time>, Error> {
        let Some(reported) = reported else { return Ok(None) };
        let store = || self.backend.store_pending(user, &reported);
        self.within_deadline(StoreUse::Append, store).await
    }

    #[cfg(feature = "axum")]
    pub(crate) fn deadline(&self) -> Duration {
        self.options.deadline
    }

    /// Retries after transient failures until the deadline.
    pub(crate) async fn within_deadline<R, F: Future<Output = Result<R, Error>>>(
        &self,
        kind: StoreUse,
        mut attempt: impl FnMut() -> F,
    ) -> Result<R, Error> {
        let mut attempts = self.attempts(kind, self.options.deadline);
        let done = timeout(self.options.deadline, async {
            loop {
                attempts.call.begin();
                match attempt().await {
                    Err(error) => attempts.failed(error).await?,
                    done => return done,
                }
            }
        });
        let done = done.await;
        done.unwrap_or_else(|_| Err(attempts.expired()))
    }

    /// Applies a report, which may be late, to the chain, as [`ShardChain::ingest`]. Returns how many ids no live shard
    /// contained.
    ///
    /// # Errors
    /// As [`SeenStore::update`], and [`ErrorKind::WrongNamespace`].
    pub async fn ingest(&self, user: &str, report: &ReceivedReport) -> Result<usize, Error> {
        self.ingest_all(user, std::slice::from_ref(report), self.options.deadline)
            .await
    }

    /// Applies several reports as one change.
    pub(crate) async fn ingest_all(
        &self,
        user: &str,
        reports: &[ReceivedReport],
        deadline: Duration,
    ) -> Result<usize, Error> {
        check_user(user)?;
        let namespace = self.options.namespace_for(user);
        for report in reports {
            check_namespace(namespace.as_deref(), &report.namespace)?;
        }
        let ingest = |chain: &mut ShardChain, now| chain.ingest_all(reports, now);
        self.change(user, ingest, StoreUse::Change, deadline).await
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
    /// # use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
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

    /// [`SeenStore::unsee`] that returns a report with the same effect, for chains that are rebuilt from the stream.
    pub(crate) async fn unsee_as_report(
        &self,
        user: &str,
        ids: &(impl IdList + Sync + ?Sized),
    ) -> Result<ReceivedReport, Error> {
        let unsee = |chain: &mut ShardChain, now| chain.unsee(ids, now);
        let at = self.change_at(user, unsee, StoreUse::Change).await?;
        let mut report = self.report_of(user, at);
        let id = |index| String::from_utf8_lossy(ids.get(index)).into_owned();
        report.unseen = (0..ids.len()).map(|index| Impression { id: id(index), at }).collect();
        Ok(report)
    }

    /// [`SeenStore::forget`] that returns a report with the same effect, for chains that are rebuilt from the stream.
    pub(crate) async fn forget_as_report(&self, user: &str) -> Result<ReceivedReport, Error> {
        let at = self.change_at(user, ShardChain::forget, StoreUse::Forget).await?;
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
        kind: StoreUse,
    ) -> Result<Time, Error> {
        let change = |chain: &mut ShardChain, now| change(chain, now).map(|()| now);
        self.change(user, change, kind, self.options.deadline).await
    }

    /// Loads within the patience. After that the load continues in the background until the deadline, and holds its
    /// permit.
    async fn load(&self, user: &str, reported: Option<PendingUpdate>) -> Result<Loaded, Error> {
        let Ok(permit) = self.reads.clone().try_acquire_owned() else {
            return Err(Error::new(StoreFailure::Unavailable, "too many concurrent reads"));
        };
        let patience = match self.backend.is_connected() {
            true => self.options.patience,
            false => self.options.connecting_patience,
        };
        let mut attempts = self.attempts(StoreUse::Read, patience);
        let subject = Arc::new((user.to_owned(), reported));
        loop {
            attempts.call.begin();
            let (backend, subject) = (self.backend.clone(), subject.clone());
            let mut loading = Box::pin(async move { backend.load(&subject.0, subject.1.as_ref()).await });
            match timeout_at((attempts.started + patience).into(), &mut loading).await {
                Ok(Ok(loaded)) => return Ok(loaded),
                Ok(Err(error)) => attempts.failed(error).await?,
                Err(_) => {
                    let late = timeout(self.options.deadline, loading);
                    tokio::spawn(async move {
                        let _permit = permit;
                        late.await
                    });
                    return Err(attempts.expired());
                }
            }
        }
    }

    /// Retries a change of a user's chain until no other writer intervenes.
    async fn change<R: Send>(
        &self,
        user: &str,
        mut change: impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send,
        kind: StoreUse,
        deadline: Duration,
    ) -> Result<R, Error> {
        check_user(user)?;
        let mut attempts = self.attempts(kind, deadline);
        let changed = timeout(deadline, async {
            loop {
                attempts.call.begin();
                match self.try_change(user, &mut attempts.call, &mut change).await {
                    Err(error) => attempts.failed(error).await?,
                    done => return done,
                }
            }
        });
        let changed = changed.await;
        changed.unwrap_or_else(|_| Err(attempts.expired()))
    }

    /// Attempts a change. Fails with [`StoreFailure::Conflict`] if another writer has intervened.
    async fn try_change<R: Send>(
        &self,
        user: &str,
        call: &mut StoreCall,
        change: &mut (impl FnMut(&mut ShardChain, Time) -> Result<R, seenguard::Error> + Send),
    ) -> Result<R, Error> {
        let loaded = self.backend.load(user, None).await?;
        let (result, step) = run_cpu_bound(bytes_of(&loaded.stored.shards), || {
            self.restore(call, &loaded)?;
            let (chain, now) = call.chain().ok_or(ErrorKind::Internal)?;
            let result = change(chain, now)?;
            Ok::<_, Error>((result, call.changed()?))
        })?;
        let is_stored = match step {
            StoreStep::Replace(replacement) => {
                let replacement = Replacement::of(replacement, self.even_if_full);
                self.backend.replace(user, &replacement).await?
            }
            StoreStep::Forget(replacement) => {
                let replacement = Replacement::of(replacement, self.even_if_full);
                self.backend.forget(user, &replacement).await?
            }
            _ => true,
        };
        match is_stored {
            true => Ok(result),
            false => Err(StoreFailure::Conflict.into()),
        }
    }

    fn call(&self, kind: StoreUse, limit: Duration) -> StoreCall {
        StoreCall::new(self.options.chain, kind, limit.as_millis() as u64, fastrand::u64(..))
    }

    fn attempts(&self, kind: StoreUse, limit: Duration) -> Attempts<'_> {
        Attempts {
            store: self,
            call: self.call(kind, limit),
            started: Instant::now(),
            retried: None,
        }
    }

    /// A call for reading, with the loaded data.
    fn restored(&self, loaded: &Loaded) -> Result<StoreCall, Error> {
        let mut call = self.call(StoreUse::Read, Duration::ZERO);
        self.restore(&mut call, loaded)?;
        Ok(call)
    }

    /// Continues a call with the loaded data.
    fn restore(&self, call: &mut StoreCall, loaded: &Loaded) -> Result<(), Error> {
        call.loaded(loaded.stored.clone(), loaded.revision, self.now(loaded.now))?;
        for error in call.damage() {
            self.note(&StoreEvent::Damaged(error));
        }
        Ok(())
    }

    /// The backend's time: `answered`, if it has just returned it, else derived from this process's clock.
    pub(crate) fn now(&self, answered: Option<Time>) -> Time {
        match &self.options.clock {
            Some(clock) => clock(),
            None => self.clock.now(Time::from(SystemTime::now()), answered),
        }
    }

    /// Reports an event to the listener, the counters and the log.
    fn note(&self, event: &StoreEvent<'_>) {
        if let Some(listener) = &self.options.on_event {
            listener(event);
        }
        match event {
            StoreEvent::Damaged(error) => {
                counter!("seenguard_damaged_total", "code" => error.code()).increment(1);
                if may_log("damaged", error.code()) {
                    tracing::warn!(code = error.code(), %error, "stored data cannot be read and is ignored");
                }
            }
            StoreEvent::Degraded(error) => {
                counter!("seenguard_degraded_pages_total").increment(1);
                if may_log("degraded", error.code()) {
                    tracing::warn!(%error, "degraded page, made without the user's stored chain");
                }
            }
            StoreEvent::PendingNotStored(error) => {
                counter!("seenguard_pending_not_stored_total").increment(1);
                if may_log("pending", error.code()) {
                    tracing::warn!(%error, "cannot store pending impressions, pages are made without them");
                }
            }
            StoreEvent::Conflict => counter!("seenguard_conflicts_total").increment(1),
            StoreEvent::Retry(error) => {
                counter!("seenguard_retries_total").increment(1);
                tracing::debug!(%error, "retrying a call");
            }
        }
    }
}

/// The attempts of a call.
struct Attempts<'a> {
    store: &'a SeenStore,
    call: StoreCall,
    started: Instant,
    /// The error of the last attempt.
    retried: Option<Error>,
}

impl Attempts<'_> {
    /// Waits for the next attempt after a failure. Returns the error if there is none.
    async fn failed(&mut self, error: Error) -> Result<(), Error> {
        let elapsed_ms = self.started.elapsed().as_millis() as u64;
        let ErrorKind::Storage(failure) = error.kind() else {
            return Err(error);
        };
        let StoreStep::Wait(ms) = self.call.failed(failure, elapsed_ms) else {
            return Err(error);
        };
        self.store.note(&match failure {
            StoreFailure::Conflict => StoreEvent::Conflict,
            _ => StoreEvent::Retry(&error),
        });
        self.retried = Some(error);
        sleep(Duration::from_millis(ms)).await;
        Ok(())
    }

    /// The error at the call's limit.
    fn expired(self) -> Error {
        let failure = self.call.expired();
        let retried = self.retried.filter(|error| error.kind() == failure.into());
        retried.unwrap_or_else(|| failure.into())
    }
}

impl fmt::Debug for SeenStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SeenStore")
            .field("chain", &self.options.chain)
            .finish_non_exhaustive()
    }
}

/// Checks a user. All backends have the same rule, so that users can be moved between them.
fn check_user(user: &str) -> Result<(), Error> {
    Ok(StoreKeys::of("", user, false).map(drop)?)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use seenguard::ChainOptions;
    use tokio::task::yield_now;

    use super::*;
    use crate::memory::MemoryBackend;

    /// A list that records how often another task has run when its ids are first and last read.
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

    /// A backend that refuses the first list and the first replacement, and then hangs on loads or on writes.
    struct Refusing {
        memory: MemoryBackend,
        refused: AtomicUsize,
        hangs_as_it_loads: bool,
    }

    impl Refusing {
        async fn write(&self) -> Result<(), Error> {
            match self.refused.fetch_add(1, Ordering::SeqCst) {
                0 => Err(StoreFailure::ReadOnly.into()),
                _ => pending().await,
            }
        }
    }

    #[async_trait]
    impl Backend for Refusing {
        async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
            match self.hangs_as_it_loads && self.refused.load(Ordering::SeqCst) > 0 {
                true => pending().await,
                false => self.memory.load(user, reported).await,
            }
        }

        async fn store_pending(&self, _: &str, _: &PendingUpdate) -> Result<Option<Time>, Error> {
            self.write().await.map(|()| None)
        }

        async fn replace(&self, _: &str, _: &Replacement) -> Result<bool, Error> {
            self.write().await.map(|()| true)
        }

        async fn forget(&self, _: &str, _: &Replacement) -> Result<bool, Error> {
            self.write().await.map(|()| true)
        }
    }

    #[tokio::test]
    async fn a_call_that_reaches_its_deadline_returns_the_refusal_unless_a_write_may_have_succeeded() {
        let failure = async |hangs_as_it_loads, reports: bool| {
            let backend = Refusing {
                memory: MemoryBackend::default(),
                refused: AtomicUsize::new(0),
                hangs_as_it_loads,
            };
            let options = StoreOptions {
                deadline: Duration::from_secs(1),
                ..StoreOptions::default()
            };
            let store = SeenStore::new(backend, options).unwrap();
            let body = br#"{ "namespace": "home", "now": 1, "impressions": [{ "id": "a", "at": 1 }] }"#;
            let failed = match reports {
                true => store.accept("ada", body).await.map(drop),
                false => store.forget("ada").await,
            };
            failed.unwrap_err().kind()
        };
        let failures = tokio::join!(failure(true, false), failure(false, false), failure(false, true));
        let [refused, silent] = [StoreFailure::ReadOnly, StoreFailure::Timeout].map(ErrorKind::Storage);
        assert_eq!(failures, (refused, silent, silent));
    }

    /// The only worker runs the page and the other task.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_page_of_a_large_chain_does_not_block_other_requests() {
        let chain = ChainOptions {
            capacity: 50_000,
            shards: 18,
            ..ChainOptions::default()
        };
        let store = SeenStore::new(
            MemoryBackend::default(),
            StoreOptions {
                chain,
                ..StoreOptions::default()
            },
        )
        .unwrap();
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
            // On a busy machine the other thread may not run.
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
