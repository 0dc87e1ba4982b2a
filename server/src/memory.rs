//! Users' chains in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seenguard::{PendingToKeep, StoredChain, Time};

use crate::error::Error;
use crate::options::StoreOptions;
use crate::store::{Loaded, Replacement, SeenStore};

/// A store in this process, gone with it: for development and tests, and for a service that need not remember. Nothing
/// in it goes by itself.
///
/// ```
/// use seenguard_server::{MemoryStore, StoreOptions};
/// let store = MemoryStore::new(StoreOptions::new())?;
/// # Ok::<(), seenguard_server::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    options: StoreOptions,
    users: Mutex<HashMap<String, User>>,
}

#[derive(Debug, Clone, Default)]
struct User {
    stored: Arc<StoredChain>,
    /// What devices have pending, in lines.
    kept: String,
}

impl MemoryStore {
    /// An empty store.
    ///
    /// # Errors
    /// [`Error::Core`] for options without meaning, as [`ShardChain::new`](seenguard::ShardChain::new).
    pub fn new(options: StoreOptions) -> Result<Self, Error> {
        Ok(MemoryStore {
            options: options.checked()?,
            users: Mutex::default(),
        })
    }

    /// The content is whole, even if a thread has panicked that held it.
    fn users(&self) -> MutexGuard<'_, HashMap<String, User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenStore for MemoryStore {
    /// The chain itself.
    type State = Arc<StoredChain>;

    fn options(&self) -> &StoreOptions {
        &self.options
    }

    async fn load(&self, user: &str, told: Option<PendingToKeep<'_>>, now: Time) -> Result<Loaded<Self::State>, Error> {
        if let Some(told) = told {
            self.keep(user, told, now).await?;
        }
        let User { stored, kept } = self.users().get(user).cloned().unwrap_or_default();
        Ok(Loaded {
            state: stored.clone(),
            stored,
            kept,
            refusal: None,
        })
    }

    async fn keep(&self, user: &str, told: PendingToKeep<'_>, now: Time) -> Result<(), Error> {
        let mut users = self.users();
        let kept = users.get(user).map_or("", |user| &user.kept);
        if let Some(lines) = told.into_lines(kept, now, self.options.kept_since(now))? {
            users.entry(user.to_owned()).or_default().kept = lines;
        }
        Ok(())
    }

    async fn replace(&self, user: &str, replacement: Replacement<'_, Self::State>) -> Result<bool, Error> {
        let mut users = self.users();
        let stored = users.get(user).map(|user| user.stored.clone()).unwrap_or_default();
        let is_current = stored == replacement.before.state;
        if is_current {
            let user = users.entry(user.to_owned()).or_default();
            user.stored = Arc::new(replacement.after);
            if replacement.forgets {
                user.kept.clear();
            }
        }
        Ok(is_current)
    }
}
