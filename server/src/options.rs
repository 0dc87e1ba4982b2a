//! The options of stores, and their events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use seenguard::{ChainOptions, PENDING_SECONDS, ShardChain, Time};

use crate::error::Error;

/// An event of a store, for its operator. It names no user. Each is also counted, as `docs/service.md` describes.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreEvent<'a> {
    /// Stored data of a user cannot be read, and is ignored: damaged data, which the next change drops, or data of
    /// another version or library, which stays.
    Damaged(&'a seenguard::Error),
    /// A page was made without the user's stored chain: it may repeat items that another device has shown.
    Degraded(&'a Error),
    /// A device's pending impressions cannot be kept, as on a read-only replica or in a full Redis. Its page is made.
    NotKept(&'a Error),
    /// Another process has changed the user's chain meanwhile: the change is repeated.
    Conflict,
    /// A call is retried after a transient failure, such as a failover.
    Retry(&'a Error),
}

type NamespaceOf = Arc<dyn Fn(&str) -> String + Send + Sync>;
type Listener = Arc<dyn Fn(&StoreEvent<'_>) + Send + Sync>;
type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

/// The options of a store.
///
/// ```
/// use seenguard::{PlanOptions, plan};
/// use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
///
/// let plan = plan(&PlanOptions::new(300.0, 14.0, 0.005))?;
/// let options = StoreOptions::new()
///     .chain(plan.chain)
///     .namespace_of(|user| format!("home:{user}"))
///     .pending_seconds(3_600)
///     .on_event(|event| eprintln!("{event:?}"));
/// let store = SeenStore::new(MemoryBackend::default(), options)?;
/// # Ok::<(), seenguard_server::Error>(())
/// ```
#[derive(Clone)]
pub struct StoreOptions {
    pub(crate) chain: ChainOptions,
    namespace_of: Option<NamespaceOf>,
    pub(crate) pending_seconds: u32,
    listener: Option<Listener>,
    pub(crate) clock: Option<Clock>,
    pub(crate) patience: Duration,
    pub(crate) connecting_patience: Duration,
    pub(crate) deadline: Duration,
    pub(crate) reads_at_once: usize,
}

impl StoreOptions {
    /// [`ChainOptions::RECOMMENDED`], and [`PENDING_SECONDS`].
    pub fn new() -> Self {
        StoreOptions {
            chain: ChainOptions::RECOMMENDED,
            namespace_of: None,
            pending_seconds: PENDING_SECONDS,
            listener: None,
            clock: None,
            patience: Duration::from_millis(300),
            connecting_patience: Duration::from_secs(1),
            deadline: Duration::from_secs(5),
            reads_at_once: 1_024,
        }
    }

    /// The options of each user's chain.
    pub fn chain(self, chain: ChainOptions) -> Self {
        StoreOptions { chain, ..self }
    }

    /// The namespace of a user's devices, as the page opens its guard. **Always set it**: a tab of a user who has
    /// signed out still sends reports with the session of the next user. Reports of another namespace are refused, and
    /// pending impressions of another one are ignored.
    pub fn namespace_of(self, namespace_of: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let namespace_of: Option<NamespaceOf> = Some(Arc::new(namespace_of));
        StoreOptions { namespace_of, ..self }
    }

    /// How many seconds a device's pending impressions are kept after their last change: 1 to 2^31 − 1.
    pub fn pending_seconds(self, pending_seconds: u32) -> Self {
        StoreOptions {
            pending_seconds,
            ..self
        }
    }

    /// How long a page waits for the backend before it is degraded, and a snapshot before it fails. 300 ms.
    pub fn patience(self, patience: Duration) -> Self {
        StoreOptions { patience, ..self }
    }

    /// The same until the backend was connected once. 1 s.
    pub fn connecting_patience(self, connecting_patience: Duration) -> Self {
        StoreOptions {
            connecting_patience,
            ..self
        }
    }

    /// How long any other call may take in total, including retries after transient failures. 5 s.
    pub fn deadline(self, deadline: Duration) -> Self {
        StoreOptions { deadline, ..self }
    }

    /// How many pages and snapshots wait for the backend at the same time; further pages are degraded at once. 1,024.
    pub fn reads_at_once(self, reads_at_once: usize) -> Self {
        StoreOptions { reads_at_once, ..self }
    }

    /// A clock that replaces the backend's and this process's: for tests.
    pub fn clock(self, clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        let clock: Option<Clock> = Some(Arc::new(clock));
        StoreOptions { clock, ..self }
    }

    /// A listener to events, in addition to the log of `tracing` and the counters of `metrics`.
    pub fn on_event(self, listener: impl Fn(&StoreEvent<'_>) + Send + Sync + 'static) -> Self {
        let listener: Option<Listener> = Some(Arc::new(listener));
        StoreOptions { listener, ..self }
    }

    /// Refuses invalid options.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        ShardChain::new(self.chain)?;
        match self.pending_seconds {
            1..=0x7FFF_FFFF => Ok(self),
            _ => Err(seenguard::Error::BadOption("pending_seconds must be 1 to 2^31 - 1").into()),
        }
    }

    pub(crate) fn tell(&self, event: &StoreEvent<'_>) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }

    /// The namespace of a user, if `namespace_of` is set.
    pub(crate) fn namespace_for(&self, user: &str) -> Option<String> {
        self.namespace_of.as_ref().map(|namespace_of| namespace_of(user))
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions::new()
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreOptions")
            .field("chain", &self.chain)
            .field("has_namespaces", &self.namespace_of.is_some())
            .field("pending_seconds", &self.pending_seconds)
            .field("patience", &self.patience)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
