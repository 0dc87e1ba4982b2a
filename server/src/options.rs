//! The options of stores, and what a store tells of its work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seenguard::{ChainOptions, PENDING_SECONDS, ShardChain, Time};

use crate::error::Error;

/// What a store tells its operator: for logs and counters. No user is named.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreEvent {
    /// Something that is stored of a user cannot be read, and is left out.
    Damaged(seenguard::Error),
    /// What a device has pending cannot be kept, as on a read-only replica or in a full Redis: pages go on without it.
    NotKept(Error),
    /// Another process has changed a user's chain meanwhile: the change is made again.
    Conflict,
    /// A command is sent again after a failure that passes, such as a failover.
    Retry,
}

type NamespaceOf = Arc<dyn Fn(&str) -> String + Send + Sync>;
type Listener = Arc<dyn Fn(&StoreEvent) + Send + Sync>;

/// What every store is told.
///
/// ```
/// use seenguard::{PlanOptions, plan};
/// use seenguard_server::{MemoryStore, StoreOptions};
///
/// let plan = plan(&PlanOptions::new(300.0, 14.0, 0.005))?;
/// let options = StoreOptions::new()
///     .chain(plan.chain)
///     .namespace_of(|user| format!("home:{user}"))
///     .pending_seconds(3_600)
///     .on_event(|event| eprintln!("{event:?}"));
/// let store = MemoryStore::new(options)?;
/// # Ok::<(), seenguard_server::Error>(())
/// ```
#[derive(Clone)]
pub struct StoreOptions {
    pub(crate) chain: ChainOptions,
    namespace_of: Option<NamespaceOf>,
    pub(crate) pending_seconds: u32,
    listener: Listener,
}

impl StoreOptions {
    /// [`ChainOptions::RECOMMENDED`], and [`PENDING_SECONDS`]. Events are logged by `tracing`: damage as warnings, the
    /// first refusal to keep what is pending, too, the others for debugging.
    pub fn new() -> Self {
        StoreOptions {
            chain: ChainOptions::RECOMMENDED,
            namespace_of: None,
            pending_seconds: PENDING_SECONDS,
            listener: log(),
        }
    }

    /// Of each user's chain.
    pub fn chain(self, chain: ChainOptions) -> Self {
        StoreOptions { chain, ..self }
    }

    /// The namespace of a user's devices, as the page opens its guard. **Always give it**: a tab of a person who has
    /// signed out still sends under the session of the next person. Reports of another namespace are refused, and what
    /// devices of another one have pending counts for nothing.
    pub fn namespace_of(self, namespace_of: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let namespace_of: Option<NamespaceOf> = Some(Arc::new(namespace_of));
        StoreOptions { namespace_of, ..self }
    }

    /// For so many seconds after its last change what a device has pending is kept: 1 to 2^31 − 1.
    pub fn pending_seconds(self, pending_seconds: u32) -> Self {
        StoreOptions {
            pending_seconds,
            ..self
        }
    }

    /// The listener to what the store does, in place of the log.
    pub fn on_event(self, listener: impl Fn(&StoreEvent) + Send + Sync + 'static) -> Self {
        let listener = Arc::new(listener);
        StoreOptions { listener, ..self }
    }

    /// Refuses what no store can work with.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        ShardChain::new(self.chain)?;
        match self.pending_seconds {
            1..=0x7FFF_FFFF => Ok(self),
            _ => Err(seenguard::Error::BadOption("pending_seconds must be 1 to 2^31 - 1").into()),
        }
    }

    pub(crate) fn tell(&self, event: StoreEvent) {
        (self.listener)(&event);
    }

    /// The namespace of a user, where it is known.
    pub(crate) fn namespace_for(&self, user: &str) -> Option<String> {
        self.namespace_of.as_ref().map(|namespace_of| namespace_of(user))
    }

    /// What devices had pending before counts no more.
    pub(crate) fn kept_since(&self, now: Time) -> Time {
        Time::from_unix_seconds(now.unix_seconds().saturating_sub(self.pending_seconds.into()))
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
            .finish_non_exhaustive()
    }
}

fn log() -> Listener {
    let has_told_refusal = AtomicBool::new(false);
    Arc::new(move |event| match event {
        StoreEvent::Damaged(error) => {
            tracing::warn!(code = error.code(), %error, "something stored cannot be read, and is left out");
        }
        // Once: a replica or a full Redis refuses every time.
        StoreEvent::NotKept(error) if !has_told_refusal.swap(true, Ordering::Relaxed) => {
            tracing::warn!(%error, "what devices have pending cannot be kept: pages go on without it");
        }
        StoreEvent::NotKept(_) => {}
        StoreEvent::Conflict => tracing::debug!("another writer was quicker: the change is made again"),
        StoreEvent::Retry => tracing::debug!("a command that failed is sent again"),
    })
}
