//! The trait of stores: three operations that a backend has, and the verbs that stand on them, which are those of the
//! npm package's stores.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use seenguard::{
    IdList, Page, PageRequest, Pending, PendingToKeep, ReceivedReport, Report, ShardChain, StoreKeys, StoredChain, Time,
};
use serde::de::Error as _;

use crate::error::Error;
use crate::json;
use crate::options::{StoreEvent, StoreOptions};

/// What a backend has of a user, all of one moment.
#[derive(Debug)]
pub struct Loaded<State> {
    /// The chain; empty if nothing is stored.
    pub stored: Arc<StoredChain>,
    /// What is kept of the user's devices, in the lines of [`PendingToKeep::into_lines`].
    pub kept: String,
    /// By what the backend knows whether the chain has changed since.
    pub state: State,
    /// Why what the asking device told could not be kept, if so: the page goes on without it.
    pub refusal: Option<Error>,
}

/// What a backend is to have of a user from now on.
#[derive(Debug)]
pub struct Replacement<'a, State> {
    /// As it was loaded.
    pub before: &'a Loaded<State>,
    /// The chain as it is to be.
    pub after: StoredChain,
    /// Whether the fields beside the shards are others than those that are stored.
    pub changes_fields: bool,
    /// For how many seconds to keep it; 0: for ever.
    pub life_seconds: u64,
    /// Whether to delete what is kept of devices.
    pub forgets: bool,
}

/// Users' chains in a store, and what their devices have pending.
///
/// [`MemoryStore`](crate::MemoryStore) and `RedisStore` are two. For another one, say how it loads, keeps and replaces;
/// the verbs stand on these. A change is made again until no other has come between, so that none is lost. A user is
/// a text that is not empty and does not end in `:meta` or `:pending`; `now` is the server's clock.
///
/// ```
/// use seenguard::Time;
/// use seenguard_server::{Error, SeenStore};
///
/// // For any store, in memory as in Redis.
/// async fn show_again(store: &impl SeenStore, user: &str, id: &str, now: Time) -> Result<(), Error> {
///     store.unsee(user, &[id], now).await
/// }
/// ```
pub trait SeenStore: Send + Sync {
    /// By what a backend knows whether a chain has changed since it was loaded.
    type State: Send + Sync;

    /// The options that the store was made with.
    fn options(&self) -> &StoreOptions;

    /// Of a backend: loads what is there of a user, after keeping what a device has told.
    ///
    /// # Errors
    /// [`Error::Storage`]. That what was told cannot be kept is none.
    fn load(
        &self,
        user: &str,
        told: Option<PendingToKeep<'_>>,
        now: Time,
    ) -> impl Future<Output = Result<Loaded<Self::State>, Error>> + Send;

    /// Of a backend: keeps what a device has told, and no more.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot.
    fn keep(&self, user: &str, told: PendingToKeep<'_>, now: Time) -> impl Future<Output = Result<(), Error>> + Send;

    /// Of a backend: stores a chain if the stored one is still the one that was loaded. Else it changes nothing, and
    /// returns false.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn replace(
        &self,
        user: &str,
        replacement: Replacement<'_, Self::State>,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// A user's chain as of now, for reading.
    ///
    /// ```
    /// # use seenguard::Time;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// # let now = Time::from_unix_seconds(1_764_000_000);
    /// let store = MemoryStore::new(StoreOptions::new())?;
    /// assert_eq!(store.read("ada", now).await?.shards().count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Core`] for what is no user; [`Error::Storage`].
    fn read(&self, user: &str, now: Time) -> impl Future<Output = Result<ShardChain, Error>> + Send {
        async move {
            check_user(user)?;
            let loaded = self.load(user, None, now).await?;
            Ok(restore(&loaded.stored, self.options())?.chain)
        }
    }

    /// Changes a user's chain and stores it. `change` runs again on what another writer has stored meanwhile. Returns
    /// what it returned last.
    ///
    /// ```
    /// # use seenguard::Time;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// # let now = Time::from_unix_seconds(1_764_000_000);
    /// let store = MemoryStore::new(StoreOptions::new())?;
    /// assert_eq!(store.update("ada", now, |chain| chain.record(&["a", "b"], now)).await?, 2);
    /// assert!(store.read("ada", now).await?.contains("a", now)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `change` returns; [`Error::Core`] for what is no user; [`Error::Conflict`] if others were quicker for about
    /// 5 seconds; [`Error::Storage`].
    fn update<R: Send>(
        &self,
        user: &str,
        now: Time,
        change: impl FnMut(&mut ShardChain) -> Result<R, seenguard::Error> + Send,
    ) -> impl Future<Output = Result<R, Error>> + Send {
        make_change(self, user, now, change, false)
    }

    /// Keeps what the device has pending, and makes a page of `ranked` as [`ShardChain::page`] does; what the person's
    /// other devices have pending is left out, too, unless it is unseen. Of the request's `pending` only `asking` is
    /// read: the store knows the rest.
    ///
    /// ```
    /// # use seenguard::Time;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// use seenguard::PageRequest;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// # let now = Time::from_unix_seconds(1_764_000_000);
    /// let store = MemoryStore::new(StoreOptions::new())?;
    /// store.update("ada", now, |chain| chain.record(&["b"], now)).await?;
    /// // What came as `Seen-Held` and `Seen-Pending`.
    /// let (held, pending): (Option<&str>, Option<&str>) = (None, None);
    /// let request = PageRequest { size: 2, held, pending: pending.into(), ..PageRequest::default() };
    /// let page = store.page("ada", &["a", "b", "c"], &request, now).await?;
    /// assert_eq!((page.items, page.next), (vec![0, 2], None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Core`] for what is no user or no size; [`Error::Storage`].
    fn page(
        &self,
        user: &str,
        ranked: &(impl IdList + Sync + ?Sized),
        request: &PageRequest<'_>,
        now: Time,
    ) -> impl Future<Output = Result<Page, Error>> + Send {
        async move {
            check_user(user)?;
            let options = self.options();
            let namespace = options.namespace_for(user);
            let asking = request.pending.asking;
            let told = asking.and_then(|text| PendingToKeep::of(text, namespace.as_deref()));
            let loaded = self.load(user, told, now).await?;
            if let Some(refusal) = loaded.refusal {
                options.tell(StoreEvent::NotKept(refusal));
            }
            let pending = Pending {
                asking,
                kept: &loaded.kept,
                kept_since: options.kept_since(now),
                namespace: namespace.as_deref(),
            };
            let chain = restore(&loaded.stored, options)?.chain;
            Ok(chain.page(ranked, &PageRequest { pending, ..*request }, now)?)
        }
    }

    /// Checks what a device posted, keeps what it has pending, and returns the report in the server's time: for
    /// [`SeenStore::ingest`]. That what is pending cannot be kept does not lose the impressions.
    ///
    /// ```
    /// # use seenguard::Time;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// # let now = Time::from_unix_seconds(1_764_000_000);
    /// let store = MemoryStore::new(StoreOptions::new().namespace_of(|user| format!("home:{user}")))?;
    /// let body = br#"{ "namespace": "home:bob", "now": 1764000000000, "impressions": [] }"#;
    /// let refused = store.accept("ada", body, now).await;
    /// assert_eq!(refused.map_err(|error| error.code()), Err("wrong-namespace"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BadReport`]; [`Error::WrongNamespace`] before anything is kept; [`Error::Core`] for what is no user.
    fn accept(&self, user: &str, body: &[u8], now: Time) -> impl Future<Output = Result<ReceivedReport, Error>> + Send {
        async move {
            let (report, kept) = check_and_keep(self, user, body, now).await?;
            if let Err(refusal) = kept {
                self.options().tell(StoreEvent::NotKept(refusal));
            }
            Ok(report)
        }
    }

    /// The same for a stream, which may be late: it fails if what is pending cannot be kept, for nothing else would keep
    /// it from the person's other devices until the stream has brought it. The device sends the report again.
    ///
    /// ```
    /// use seenguard_server::{Error, SeenStore};
    /// # use seenguard::Time;
    ///
    /// // The front door; a consumer takes the entry from the stream, and gives the report to `ingest`.
    /// async fn entry_of(store: &impl SeenStore, user: &str, body: &[u8], now: Time) -> Result<String, Error> {
    ///     let report = store.accept_for_stream(user, body, now).await?;
    ///     serde_json::to_string(&report).map_err(|error| Error::Storage(error.into()))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`SeenStore::accept`], and [`Error::Storage`].
    fn accept_for_stream(
        &self,
        user: &str,
        body: &[u8],
        now: Time,
    ) -> impl Future<Output = Result<ReceivedReport, Error>> + Send {
        async move {
            let (report, kept) = check_and_keep(self, user, body, now).await?;
            kept.map(|()| report)
        }
    }

    /// Takes a report into the chain, however late, as [`ShardChain::ingest`]. Returns how many ids no live shard
    /// contained.
    ///
    /// # Errors
    /// As [`SeenStore::update`], and [`Error::WrongNamespace`].
    fn ingest(
        &self,
        user: &str,
        report: &ReceivedReport,
        now: Time,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        async move {
            refuse_another(&report.namespace, self.options().namespace_for(user).as_deref())?;
            self.update(user, now, |chain| chain.ingest(report)).await
        }
    }

    /// Makes ids unseen, as [`ShardChain::unsee`].
    ///
    /// # Errors
    /// As [`SeenStore::update`].
    fn unsee(
        &self,
        user: &str,
        ids: &(impl IdList + Sync + ?Sized),
        now: Time,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.update(user, now, move |chain| chain.unsee(ids, now))
    }

    /// Deletes the history, as [`ShardChain::forget`], and what is kept of devices.
    ///
    /// ```
    /// # use seenguard::Time;
    /// # use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seenguard_server::Error> {
    /// # let now = Time::from_unix_seconds(1_764_000_000);
    /// let store = MemoryStore::new(StoreOptions::new())?;
    /// store.update("ada", now, |chain| chain.record(&["a", "b"], now)).await?;
    /// store.unsee("ada", &["b"], now).await?;
    /// assert_eq!(store.read("ada", now).await?.filter(&["a", "b"], None, now)?, [1]);
    /// store.forget("ada", now).await?;
    /// assert_eq!(store.read("ada", now).await?.filter(&["a", "b"], None, now)?, [0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`SeenStore::update`].
    fn forget(&self, user: &str, now: Time) -> impl Future<Output = Result<(), Error>> + Send {
        make_change(self, user, now, move |chain| chain.forget(now), true)
    }
}

/// For how long to try again what passes. An attempt may take a while itself, as to a Redis that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pauses between attempts, random, longer and longer, until about 5 seconds have passed: of those who contend, each has
/// its turn.
pub(crate) fn pauses() -> impl Iterator<Item = Duration> + Send {
    let begun = Instant::now();
    let pauses = ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(100))
        .without_max_times()
        .build();
    pauses.take_while(move |_| begun.elapsed() < PATIENCE)
}

/// The report of a body, in the server's time, and whether what is pending could be kept.
async fn check_and_keep<S: SeenStore + ?Sized>(
    store: &S,
    user: &str,
    body: &[u8],
    now: Time,
) -> Result<(ReceivedReport, Result<(), Error>), Error> {
    check_user(user)?;
    let report: Report = json::from_slice(body).map_err(Error::BadReport)?;
    if report.namespace.is_empty() {
        return Err(Error::BadReport(serde_json::Error::custom("its namespace is empty")));
    }
    let namespace = store.options().namespace_for(user);
    refuse_another(&report.namespace, namespace.as_deref())?;
    let told = report.pending.as_deref();
    let kept = match told.and_then(|text| PendingToKeep::of(text, namespace.as_deref())) {
        Some(told) => store.keep(user, told, now).await,
        None => Ok(()),
    };
    Ok((report.received(now), kept))
}

async fn make_change<S: SeenStore + ?Sized, R>(
    store: &S,
    user: &str,
    now: Time,
    mut change: impl FnMut(&mut ShardChain) -> Result<R, seenguard::Error>,
    forgets: bool,
) -> Result<R, Error> {
    check_user(user)?;
    for pause in pauses() {
        let before = store.load(user, None, now).await?;
        let (result, replacement) = try_change(&before, store.options(), now, &mut change, forgets)?;
        let is_done = match replacement {
            Some(replacement) => store.replace(user, replacement).await?,
            None => true,
        };
        if is_done {
            return Ok(result);
        }
        store.options().tell(StoreEvent::Conflict);
        tokio::time::sleep(pause).await;
    }
    Err(Error::Conflict)
}

/// What a change makes of what was loaded; nothing to store if that is what is stored.
fn try_change<'a, State, R>(
    before: &'a Loaded<State>,
    options: &StoreOptions,
    now: Time,
    change: &mut impl FnMut(&mut ShardChain) -> Result<R, seenguard::Error>,
    forgets: bool,
) -> Result<(R, Option<Replacement<'a, State>>), Error> {
    let Restored { mut chain, is_damaged } = restore(&before.stored, options)?;
    // As they are written now, for what has expired, or was written in another form, is no change.
    let fields_before = match before.stored.fields.is_empty() {
        true => Vec::new(),
        false => chain.stored(now)?.fields,
    };
    let result = change(&mut chain)?;
    let after = chain.stored(now)?;
    let changes_fields = is_damaged || fields_before != after.fields;
    if !forgets && !changes_fields && before.stored.shards == after.shards {
        return Ok((result, None));
    }
    let replacement = Replacement {
        before,
        after,
        changes_fields,
        life_seconds: chain.life_seconds(),
        forgets,
    };
    Ok((result, Some(replacement)))
}

struct Restored {
    chain: ShardChain,
    /// Whether some of the fields beside the shards were left out.
    is_damaged: bool,
}

/// The chain of what is stored. It leaves out and tells what it cannot read.
fn restore(stored: &StoredChain, options: &StoreOptions) -> Result<Restored, Error> {
    let (mut chain, rejected) = ShardChain::from_shards(&stored.shards, options.chain)?;
    let fields = stored.fields.iter();
    let fields: Vec<&str> = fields.flat_map(|(name, value)| [name.as_str(), value]).collect();
    let is_damaged = chain.restore_fields(&fields)? > 0;
    if is_damaged {
        let error = seenguard::Error::BadSnapshot("fields that are stored beside a user's shards cannot be read");
        options.tell(StoreEvent::Damaged(error));
    }
    for shard in rejected {
        options.tell(StoreEvent::Damaged(shard.error));
    }
    Ok(Restored { chain, is_damaged })
}

/// A person's session must not leave anything with the next one.
fn refuse_another(reported: &str, wanted: Option<&str>) -> Result<(), Error> {
    match wanted {
        Some(wanted) if wanted != reported => Err(Error::WrongNamespace),
        _ => Ok(()),
    }
}

/// In every store, so that users may move from one to another.
fn check_user(user: &str) -> Result<(), Error> {
    Ok(StoreKeys::of("", user, false).map(drop)?)
}
