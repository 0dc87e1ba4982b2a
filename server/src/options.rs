//! The options of stores, and their events.

use std::sync::Arc;
use std::time::Duration;

use seenguard::{ChainOptions, PENDING_SECONDS, ShardChain, Time};

use crate::error::Error;

/// An event of a store, for its operator. It names no user. Events are also counted, as `docs/service.md` describes.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreEvent<'a> {
    /// Stored data of a user cannot be read, and is ignored. The next change drops damaged data; data of another
    /// version or library stays.
    Damaged(&'a seenguard::Error),
    /// A page was made without the user's stored chain, and may repeat items that another device has shown.
    Degraded(&'a Error),
    /// A device's pending impressions cannot be stored, as on a read-only replica or in a full Redis. Its page is made
    /// all the same.
    PendingNotStored(&'a Error),
    /// A change is retried because another process has changed the user's chain.
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
/// use std::sync::Arc;
///
/// use seenguard::{PlanOptions, plan};
/// use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
///
/// let plan = plan(&PlanOptions::new(300.0, 14.0, 0.005))?;
/// let options = StoreOptions {
///     chain: plan.chain,
///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
///     pending_seconds: 3_600,
///     on_event: Some(Arc::new(|event| eprintln!("{event:?}"))),
///     ..StoreOptions::default()
/// };
/// let store = SeenStore::new(MemoryBackend::default(), options)?;
/// # Ok::<(), seenguard_server::Error>(())
/// ```
#[derive(Clone)]
pub struct StoreOptions {
    /// The options of each user's chain; [`ChainOptions::RECOMMENDED`].
    pub chain: ChainOptions,
    /// The namespace of a user's devices, as the page opens its guard. **Always set it**: a tab of a user who has
    /// signed out still sends reports, in the session of the next user. Reports of another namespace are refused, and
    /// pending impressions of another one are ignored.
    pub namespace_of: Option<NamespaceOf>,
    /// How long a device's pending impressions are stored after their last change, in seconds, 1 to 2^31 − 1;
    /// [`PENDING_SECONDS`].
    pub pending_seconds: u32,
    /// A listener to events, in addition to the log of `tracing` and the counters of `metrics`.
    pub on_event: Option<Listener>,
    /// A clock for tests, instead of the backend's and this process's.
    pub clock: Option<Clock>,
    /// Time after which a page that waits for the backend is degraded, and a snapshot fails; 300 ms.
    pub patience: Duration,
    /// The same before the backend's first connection; 1 s.
    pub connecting_patience: Duration,
    /// Timeout of any other call, including its retries; 5 s.
    pub deadline: Duration,
    /// Most pages and snapshots that wait for the backend at the same time; further pages are degraded at once; 1,024.
    pub reads_at_once: usize,
}

impl StoreOptions {
    /// Refuses invalid options.
    pub(crate) fn check(&self) -> Result<(), Error> {
        ShardChain::new(self.chain)?;
        match self.pending_seconds {
            1..=0x7FFF_FFFF => Ok(()),
            _ => Err(seenguard::Error::BadOption("pending_seconds must be 1 to 2^31 - 1").into()),
        }
    }

    /// The namespace of a user, if `namespace_of` is set.
    pub(crate) fn namespace_for(&self, user: &str) -> Option<String> {
        self.namespace_of.as_ref().map(|namespace_of| namespace_of(user))
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            chain: ChainOptions::RECOMMENDED,
            namespace_of: None,
            pending_seconds: PENDING_SECONDS,
            on_event: None,
            clock: None,
            patience: Duration::from_millis(300),
            connecting_patience: Duration::from_secs(1),
            deadline: Duration::from_secs(5),
            reads_at_once: 1_024,
        }
    }
}
