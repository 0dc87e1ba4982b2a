//! The interface of storage backends.

use std::sync::Arc;

use async_trait::async_trait;
use seenguard::{PendingUpdate, StoreFailure, StoreReplacement, StoredChain, Time};

use crate::error::Error;

/// A user's data in a backend, read atomically.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The chain in its stored form.
    pub stored: Arc<StoredChain>,
    /// Differs after each change of the stored chain; 0 while there is none.
    pub revision: u64,
    /// The devices' pending impressions, in the lines of [`PendingUpdate::added_to`].
    pub pending: String,
    /// The time of the storage's clock, which all servers share. `None` if it has no clock: then this process's is
    /// used.
    pub now: Option<Time>,
    /// The error if the requesting device's pending impressions could not be stored. The page is made all the same.
    pub refusal: Option<Arc<Error>>,
}

impl Loaded {
    /// User data from the JSON of [`Replacement::json`], empty if nothing is stored, its revision, and the devices'
    /// pending impressions.
    ///
    /// # Errors
    /// [`StoreFailure::WrongType`] for any other string.
    pub fn from_json(json: &str, revision: u64, pending: impl Into<String>) -> Result<Self, Error> {
        let stored = match json {
            "" => StoredChain::default(),
            // serde's message would quote the JSON.
            json => serde_json::from_str(json).map_err(|_| StoreFailure::WrongType)?,
        };
        Ok(Loaded {
            stored: Arc::new(stored),
            revision,
            pending: pending.into(),
            ..Loaded::default()
        })
    }
}

/// A user's new chain, for a backend.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replacement {
    /// The revision of the chain that it replaces.
    pub revision: u64,
    /// The chain that it replaces.
    pub before: Arc<StoredChain>,
    /// The new chain.
    pub after: Arc<StoredChain>,
    /// How long to store it, in seconds; 0: without expiry.
    pub life_seconds: u64,
    /// Whether to store it even if the storage is full: a consumer's change frees more space in the stream than it
    /// uses.
    pub even_if_full: bool,
}

impl Replacement {
    pub(crate) fn of(replacement: StoreReplacement, even_if_full: bool) -> Self {
        Replacement {
            revision: replacement.revision,
            before: replacement.before,
            after: Arc::new(replacement.after),
            life_seconds: replacement.life_seconds,
            even_if_full,
        }
    }

    /// The new chain as JSON.
    ///
    /// # Errors
    /// [`StoreFailure::OutOfMemory`].
    pub fn json(&self) -> Result<String, Error> {
        serde_json::to_string(&*self.after).map_err(|error| Error::new(StoreFailure::OutOfMemory, error))
    }
}

/// The storage of users' chains: four methods over an opaque string with a revision, and the lines with the devices'
/// pending impressions.
///
/// Implementations are [`MemoryBackend`](crate::MemoryBackend) and `RedisBackend`; `testing::promises` has the tests
/// for others. A call may take any time: [`SeenStore`](crate::SeenStore) applies deadlines, retries after transient
/// failures, and repeats a change until no other one intervenes.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Stores a device's pending impressions, then loads the user's data.
    ///
    /// # Errors
    /// Errors of the backend. If the pending impressions cannot be stored, it succeeds with [`Loaded::refusal`].
    async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error>;

    /// Stores a device's pending impressions. Returns the time of the storage's clock, if it has one.
    ///
    /// # Errors
    /// Errors of the backend.
    async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error>;

    /// Stores a chain if the revision has not changed since it was loaded. Otherwise it changes nothing, and returns
    /// false.
    ///
    /// # Errors
    /// Errors of the backend.
    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error>;

    /// [`Backend::replace`] that also removes the pending impressions of the user's devices, atomically.
    ///
    /// # Errors
    /// Errors of the backend.
    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error>;

    /// Whether the backend was ever connected. A page waits longer for the first connection.
    fn is_connected(&self) -> bool {
        true
    }
}

#[async_trait]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
        (**self).load(user, reported).await
    }

    async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error> {
        (**self).store_pending(user, reported).await
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        (**self).replace(user, replacement).await
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        (**self).forget(user, replacement).await
    }

    fn is_connected(&self) -> bool {
        (**self).is_connected()
    }
}
