//! The backend in Redis: for each user a list and two hashes.

mod connection;
mod failures;
mod script;

use std::sync::Arc;

use async_trait::async_trait;
use redis::Value;
use seenguard::{
    LoadedFromRedis, PendingFromRedis, PendingUpdate, RedisCommand, RedisScript, StoreFailure, StoreKeys, Time,
};

use self::failures::refusal;
use self::script::run;
use crate::backend::{Backend, Loaded, Replacement};
use crate::error::Error;

pub use self::connection::{RedisConnection, RedisTarget};
#[cfg(feature = "consumer")]
pub(crate) use self::failures::error_of;
#[cfg(feature = "consumer")]
pub use self::script::check_scripts;
#[cfg(feature = "consumer")]
pub(crate) use self::script::{ACKNOWLEDGE, PREPARE, SET_ASIDE, TIDY};

const DEFAULT_PREFIX: &str = "seen:";

/// A backend in Redis 6.2 or newer, or a Redis Cluster, with the keys and the scripts of the npm package's
/// `redisStore`: servers in Node and in Rust can serve the same users at the same time.
///
/// Each user has a list, `<prefix><user>` (one shard in each element, newest first), and two hashes:
/// `<prefix><user>:meta` has the revision, the unseen ids and the deletion of the history; a compare-and-set script
/// changes it atomically with the list, and it expires with the list. `<prefix><user>:pending` has the devices' pending
/// impressions. On a cluster a user's keys share a slot: [`StoreKeys`].
///
/// ```no_run
/// use std::sync::Arc;
///
/// use seenguard::PageRequest;
/// use seenguard_server::{RedisConnection, RedisBackend, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let backend = RedisBackend::new(RedisConnection::open("redis://127.0.0.1/")?);
/// let options = StoreOptions {
///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
///     ..StoreOptions::default()
/// };
/// let store = SeenStore::new(backend, options)?;
/// let request = PageRequest { size: 10, ..PageRequest::default() };
/// let page = store.page("ada", &["article-1", "article-2"], &request).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RedisBackend {
    connection: RedisConnection,
    prefix: String,
}

impl RedisBackend {
    /// A backend over this connection.
    pub fn new(connection: RedisConnection) -> Self {
        RedisBackend {
            connection,
            prefix: DEFAULT_PREFIX.to_owned(),
        }
    }

    /// Sets the prefix of all keys; `seen:`.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        RedisBackend { prefix, ..self }
    }

    fn keys_of(&self, user: &str) -> Result<StoreKeys, Error> {
        Ok(StoreKeys::of(&self.prefix, user, self.connection.is_cluster())?)
    }

    /// Removes devices' lists beyond the limit. After a failure the next call removes them.
    async fn drop_devices(&self, command: Option<RedisCommand>) {
        if let Some(command) = command {
            let _ = run(&self.connection, &command).await;
        }
    }

    async fn store(&self, user: &str, replacement: &Replacement, forgets: bool) -> Result<bool, Error> {
        let Replacement {
            revision,
            before,
            after,
            life_seconds,
            even_if_full,
        } = replacement;
        let keys = self.keys_of(user)?;
        let mut command = keys.replace(*revision, before, after, *life_seconds, forgets);
        let answer = match run(&self.connection, &command).await {
            Err(error) if *even_if_full && error.kind() == StoreFailure::OutOfMemory.into() => {
                command.script = RedisScript::ReplaceInFull;
                // Redis 6.2 does not support the flag.
                run(&self.connection, &command).await.map_err(|_| error)?
            }
            answer => answer?,
        };
        Ok(answer == Value::Int(1))
    }
}

#[async_trait]
impl Backend for RedisBackend {
    async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
        let keys = self.keys_of(user)?;
        let loaded = loaded(run(&self.connection, &keys.clone().load(reported)).await?)?;
        self.drop_devices(keys.drop_devices(&loaded.pending, reported)).await;
        let is_read_only = |refusal: &Arc<Error>| refusal.to_string().contains("READONLY ");
        if loaded.refusal.as_ref().is_some_and(is_read_only) {
            self.connection.renew();
        }
        Ok(loaded)
    }

    async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error> {
        let keys = self.keys_of(user)?;
        let answer = run(&self.connection, &keys.clone().store_pending(reported)).await?;
        let answer = PendingFromRedis::read(strings_of(answer)).ok_or_else(unexpected_response)?;
        self.drop_devices(keys.drop_devices(&answer.pending, Some(reported)))
            .await;
        Ok(answer.now)
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store(user, replacement, false).await
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store(user, replacement, true).await
    }

    fn is_connected(&self) -> bool {
        self.connection.was_connected()
    }
}

fn unexpected_response() -> Error {
    let what = "unexpected response of a script: check that Redis is at the address";
    Error::new(StoreFailure::WrongType, what)
}

fn loaded(answer: Value) -> Result<Loaded, Error> {
    let loaded = LoadedFromRedis::read(strings_of(answer)).ok_or_else(unexpected_response)?;
    Ok(Loaded {
        stored: Arc::new(loaded.stored),
        revision: loaded.revision,
        pending: loaded.pending,
        now: loaded.now,
        refusal: loaded.refusal.map(|text| Arc::new(refusal(text))),
    })
}

fn strings_of(answer: Value) -> Vec<String> {
    let mut strings = Vec::new();
    flatten(answer, &mut strings);
    strings
}

/// Flattens a response to strings, each list with its length before it. Bytes that are not UTF-8 become damaged base64,
/// which the core reports.
fn flatten(answer: Value, strings: &mut Vec<String>) {
    match answer {
        Value::BulkString(bytes) => strings.push(
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        ),
        Value::Array(parts) => {
            for part in parts {
                if let Value::Array(list) = &part {
                    strings.push(list.len().to_string());
                }
                flatten(part, strings);
            }
        }
        _ => {}
    }
}
