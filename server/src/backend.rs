//! What a store of one's own has to do.

use std::sync::Arc;

use async_trait::async_trait;
use seenguard::{PendingToKeep, StoredChain, Time};

use crate::error::{Error, ErrorKind};

/// What a backend has of a user, all of one moment.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The chain as it is stored.
    pub stored: Arc<StoredChain>,
    /// Another one for each change of what is stored; 0 while nothing is.
    pub revision: u64,
    /// What is kept of the user's devices, in the lines of [`PendingToKeep::added_to`].
    pub kept: String,
    /// The storage's clock, which all servers share; nothing if it has none: then this process's counts.
    pub now: Option<Time>,
    /// Why what the asking device told could not be kept, if so: the page goes on without it.
    pub refusal: Option<Arc<Error>>,
}

impl Loaded {
    /// What [`Replacement::text`] wrote, or an empty text if nothing is stored; its revision; and what is kept of devices.
    ///
    /// # Errors
    /// [`ErrorKind::WrongType`] for a text that none of these has written.
    pub fn of_text(text: &str, revision: u64, kept: impl Into<String>) -> Result<Self, Error> {
        let stored = match text {
            "" => StoredChain::default(),
            text => serde_json::from_str(text).map_err(|error| Error::new(ErrorKind::WrongType, error))?,
        };
        Ok(Loaded {
            stored: Arc::new(stored),
            revision,
            kept: kept.into(),
            ..Loaded::default()
        })
    }
}

/// What a backend is to have of a user from now on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replacement {
    /// The revision of what it replaces.
    pub revision: u64,
    /// What it replaces.
    pub before: Arc<StoredChain>,
    /// The chain as it is to be.
    pub after: Arc<StoredChain>,
    /// For how many seconds to keep it; 0: for ever.
    pub life_seconds: u64,
    /// Whether to store it even where the storage is full: a consumer's frees more in the stream than it takes.
    pub even_if_full: bool,
}

impl Replacement {
    /// The chain as it is to be, as one text.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub fn text(&self) -> Result<String, Error> {
        serde_json::to_string(&*self.after).map_err(|error| Error::new(ErrorKind::OutOfMemory, error))
    }
}

/// Where users' chains are: four verbs over an opaque text with a revision, and the lines that are kept of devices.
///
/// [`MemoryStore`](crate::MemoryStore) and `RedisStore` are two. `testing::promises` tells whether another one does
/// what it must. A call may take as long as it likes: [`SeenStore`](crate::SeenStore) has the deadlines,
/// makes transient failures good, and makes a change again until no other has come between.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Loads what is there of a user, after keeping what a device has told.
    ///
    /// # Errors
    /// What the backend meets. That what was told cannot be kept is none: it is [`Loaded::refusal`].
    async fn load(&self, user: &str, told: Option<&PendingToKeep>) -> Result<Loaded, Error>;

    /// Keeps what a device has told, and no more.
    ///
    /// # Errors
    /// What the backend meets.
    async fn keep(&self, user: &str, told: &PendingToKeep) -> Result<(), Error>;

    /// Stores a chain if the revision is still the one that was loaded. Else it changes nothing, and returns false.
    ///
    /// # Errors
    /// What the backend meets.
    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error>;

    /// The same, and removes what is kept of the user's devices in the same step.
    ///
    /// # Errors
    /// What the backend meets.
    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error>;

    /// Whether it has a connection: a page waits a little longer for the first one.
    fn is_connected(&self) -> bool {
        true
    }
}

#[async_trait]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    async fn load(&self, user: &str, told: Option<&PendingToKeep>) -> Result<Loaded, Error> {
        (**self).load(user, told).await
    }

    async fn keep(&self, user: &str, told: &PendingToKeep) -> Result<(), Error> {
        (**self).keep(user, told).await
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
