//! The backend in the memory of this process.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lru::LruCache;
use metrics::counter;
use seenguard::{PendingUpdate, StoredChain, Time};

use crate::backend::{Backend, Loaded, Replacement};
use crate::error::Error;

/// The default number of users.
const MAX_USERS: NonZeroUsize = NonZeroUsize::new(100_000).expect("it is not 0");

/// A backend in the memory of this process, for development and tests, and for a service that may lose its data at a
/// restart. Above 100,000 users the least recently used ones are evicted, and counted as
/// `seenguard_users_forgotten_total`.
///
/// ```
/// use seenguard_server::{MemoryBackend, SeenStore, StoreOptions};
/// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
/// # Ok::<(), seenguard_server::Error>(())
/// ```
pub struct MemoryBackend {
    users: Mutex<Users>,
}

struct Users {
    all: LruCache<String, User>,
    /// Shared by all users, so that a removed user does not get an earlier revision again.
    last_revision: u64,
}

#[derive(Default, Clone)]
struct User {
    stored: Arc<StoredChain>,
    revision: u64,
    pending: String,
}

impl MemoryBackend {
    /// A backend for at most this many users.
    pub fn with_users(most: NonZeroUsize) -> Self {
        MemoryBackend {
            users: Mutex::new(Users {
                all: LruCache::new(most),
                last_revision: 0,
            }),
        }
    }

    /// The content is consistent, even if a thread has panicked while it held the lock.
    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, name: &str, replacement: &Replacement, forgets: bool) -> bool {
        let mut users = self.users();
        let is_current = users.all.peek(name).map_or(0, |user| user.revision) == replacement.revision;
        if is_current {
            users.last_revision += 1;
            let revision = users.last_revision;
            let user = users.get(name);
            user.stored = replacement.after.clone();
            user.revision = revision;
            if forgets {
                user.pending.clear();
            }
        }
        is_current
    }
}

impl Users {
    /// The user of this name, inserted if absent.
    fn get(&mut self, name: &str) -> &mut User {
        if !self.all.contains(name) && self.all.push(name.to_owned(), User::default()).is_some() {
            counter!("seenguard_users_forgotten_total").increment(1);
        }
        self.all.get_or_insert_mut_ref(name, User::default)
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        MemoryBackend::with_users(MAX_USERS)
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
        if let Some(reported) = reported {
            self.store_pending(user, reported).await?;
        }
        let User {
            stored,
            revision,
            pending,
        } = self.users().all.get(user).cloned().unwrap_or_default();
        Ok(Loaded {
            stored,
            revision,
            pending,
            ..Loaded::default()
        })
    }

    async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error> {
        let mut users = self.users();
        let pending = users.all.peek(user).map_or("", |user| &user.pending);
        if let Some(lines) = reported.added_to(pending)? {
            users.get(user).pending = lines;
        }
        Ok(None)
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        Ok(self.store(user, replacement, false))
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        Ok(self.store(user, replacement, true))
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryBackend")
            .field("users", &self.users().all.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StoreOptions;
    use crate::seen_store::SeenStore;

    #[tokio::test]
    async fn the_least_recently_used_users_are_evicted() {
        let backend = Arc::new(MemoryBackend::with_users(NonZeroUsize::new(2).unwrap()));
        let store = SeenStore::new(backend.clone(), StoreOptions::default()).unwrap();
        let is_known = async |user: &str| store.read(user).await.unwrap().shards().count() > 0;
        for user in ["ada", "bob"] {
            store
                .update(user, |chain, now| chain.record(&["a"], now))
                .await
                .unwrap();
        }
        assert!(is_known("ada").await);
        let before = backend.load("bob", None).await.unwrap();
        assert!(is_known("ada").await);
        store
            .update("eve", |chain, now| chain.record(&["a"], now))
            .await
            .unwrap();
        assert!(is_known("ada").await && is_known("eve").await && !is_known("bob").await);
        // A change that was computed from an earlier state does not overwrite a newer one.
        store
            .update("bob", |chain, now| chain.record(&["b"], now))
            .await
            .unwrap();
        let late = Replacement {
            revision: before.revision,
            before: before.stored.clone(),
            after: before.stored,
            life_seconds: 0,
            even_if_full: false,
        };
        assert!(!backend.replace("bob", &late).await.unwrap());
    }
}
