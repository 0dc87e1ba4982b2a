//! Users' chains in Redis: of each a list, and beside it two hashes.

mod connection;
mod failures;
mod script;
mod security;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use redis::Value;
use redis::aio::ConnectionLike;
use seenguard::{ListChange, PendingToKeep, StoreKeys, StoredChain, Time};

use self::script::{KEEP, LOAD, REPLACE, REPLACE_IN_FULL};
use crate::backend::{Backend, Loaded, Replacement};
use crate::error::{Error, ErrorKind};

pub use self::connection::RedisConnection;
#[cfg(feature = "consumer")]
pub(crate) use self::failures::error_of;
#[cfg(feature = "consumer")]
pub(crate) use self::script::{ACKNOWLEDGE, PREPARE, SET_ASIDE};

const DEFAULT_PREFIX: &str = "seen:";
/// The field of the hash that has the revision.
const REVISION: &str = "revision";

/// A backend in Redis 6.2 or newer, or a Redis Cluster, with the keys and the scripts of the npm package's `redisStore`:
/// servers in Node and in Rust serve the same users at the same time.
///
/// Of each user it has a list, `<prefix><user>` (one shard an element, newest first), and beside it two hashes:
/// `<prefix><user>:meta` for the revision, and for what is unseen and forgotten, which is changed together with the list
/// by one compare-and-set script and expires with it; and `<prefix><user>:pending` for what devices have pending. On a
/// cluster a user's keys share a slot: [`StoreKeys`].
///
/// Over a [`RedisConnection`], or any connection of the crate `redis`, whose settings are then the app's.
///
/// ```no_run
/// use seenguard::PageRequest;
/// use seenguard_server::{RedisConnection, RedisStore, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let backend = RedisStore::new(RedisConnection::open("redis://127.0.0.1/")?);
/// let store = SeenStore::new(backend, StoreOptions::new().namespace_of(|user| format!("home:{user}")))?;
/// let request = PageRequest { size: 10, ..PageRequest::default() };
/// let page = store.page("ada", &["article-1", "article-2"], &request).await?;
/// # Ok(())
/// # }
/// ```
pub struct RedisStore<C = RedisConnection> {
    connection: C,
    prefix: String,
    is_cluster: bool,
}

impl<C> RedisStore<C> {
    /// Behind a connection to a single Redis, or a [`RedisConnection`], which knows what it is to.
    pub fn new(connection: C) -> Self
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let is_cluster = ours(&connection).is_some_and(RedisConnection::is_cluster);
        RedisStore {
            connection,
            prefix: DEFAULT_PREFIX.to_owned(),
            is_cluster,
        }
    }

    /// What the names of all keys begin with; `seen:`.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        RedisStore { prefix, ..self }
    }

    /// The connection is to a cluster.
    pub fn cluster(self) -> Self {
        RedisStore {
            is_cluster: true,
            ..self
        }
    }

    fn keys_of(&self, user: &str) -> Result<StoreKeys, Error> {
        Ok(StoreKeys::of(&self.prefix, user, self.is_cluster)?)
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> RedisStore<C> {
    async fn store(&self, user: &str, replacement: &Replacement, forgets: bool) -> Result<bool, Error> {
        let Replacement { before, after, .. } = replacement;
        let StoreKeys {
            list, meta, pending, ..
        } = self.keys_of(user)?;
        let mut keys = vec![list, meta];
        keys.extend(forgets.then_some(pending));
        let ListChange { added, first, kept, .. } = ListChange::between(&before.shards, &after.shards);
        let last = (first + kept) as i64 - 1;
        let mut arguments = vec![
            replacement.revision.to_string(),
            first.to_string(),
            last.to_string(),
            changed_fields(before, after)?,
            replacement.life_seconds.to_string(),
        ];
        arguments.extend(after.shards[..added].iter().rev().cloned());
        let answer = REPLACE.run(&self.connection, &keys, &arguments).await;
        let answer = match answer {
            Err(error) if replacement.even_if_full && error.kind() == ErrorKind::OutOfMemory => {
                let answer = REPLACE_IN_FULL.run(&self.connection, &keys, &arguments).await;
                // Redis 6.2 does not know the flag.
                answer.map_err(|_| error)?
            }
            answer => answer?,
        };
        Ok(answer == Value::Int(1))
    }
}

#[async_trait]
impl<C: ConnectionLike + Clone + Send + Sync + 'static> Backend for RedisStore<C> {
    async fn load(&self, user: &str, told: Option<&PendingToKeep>) -> Result<Loaded, Error> {
        let StoreKeys {
            list, meta, pending, ..
        } = self.keys_of(user)?;
        let arguments = arguments_of(told);
        let loaded = loaded(LOAD.run(&self.connection, &[list, meta, pending], &arguments).await?)?;
        if let (Some(refusal), Some(ours)) = (&loaded.refusal, ours(&self.connection))
            && refusal.kind() == ErrorKind::ReadOnly
        {
            ours.renew();
        }
        Ok(loaded)
    }

    async fn keep(&self, user: &str, told: &PendingToKeep) -> Result<(), Error> {
        let keys = [self.keys_of(user)?.pending];
        let arguments = arguments_of(Some(told));
        KEEP.run(&self.connection, &keys, &arguments).await.map(drop)
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store(user, replacement, false).await
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store(user, replacement, true).await
    }

    fn is_connected(&self) -> bool {
        ours(&self.connection).is_none_or(RedisConnection::is_connected)
    }
}

impl<C> fmt::Debug for RedisStore<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisStore")
            .field("prefix", &self.prefix)
            .field("is_cluster", &self.is_cluster)
            .finish_non_exhaustive()
    }
}

/// The connection, if it is one of this crate's.
fn ours<C: 'static>(connection: &C) -> Option<&RedisConnection> {
    let any: &dyn Any = connection;
    any.downcast_ref()
}

fn arguments_of(told: Option<&PendingToKeep>) -> Vec<String> {
    let arguments = told.map(PendingToKeep::arguments);
    arguments.map(Vec::from).unwrap_or_default()
}

/// JSON of the fields that are to be others: of each its value, or false if it goes; an empty text for none.
fn changed_fields(before: &StoredChain, after: &StoredChain) -> Result<String, Error> {
    let [known, wanted] = [before, after].map(|chain| {
        let fields = chain.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.collect::<HashMap<_, _>>()
    });
    let gone = known.keys().filter(|name| !wanted.contains_key(*name));
    let other = wanted.iter().filter(|(name, value)| known.get(*name) != Some(value));
    let changes: BTreeMap<&str, serde_json::Value> = gone
        .map(|&name| (name, false.into()))
        .chain(other.map(|(&name, &value)| (name, value.into())))
        .collect();
    if changes.is_empty() {
        return Ok(String::new());
    }
    serde_json::to_string(&changes).map_err(|error| Error::new(ErrorKind::OutOfMemory, error))
}

/// Reads the answer of the script: list, hash, revision, what is kept, why nothing could be kept, and the time.
fn loaded(answer: Value) -> Result<Loaded, Error> {
    let Value::Array(parts) = answer else {
        return Err(no_answer());
    };
    let [shards, fields, revision, kept, refused, now] = <[Value; 6]>::try_from(parts).map_err(|_| no_answer())?;
    let mut fields = pairs(texts(fields)?);
    fields.retain(|(name, _)| name != REVISION);
    let refused = text(refused)?;
    Ok(Loaded {
        stored: Arc::new(StoredChain {
            shards: texts(shards)?,
            fields,
        }),
        revision: number(revision)?,
        kept: texts(kept)?.join("\n"),
        now: Some(Time::from_unix_ms(number(now)?)),
        refusal: (!refused.is_empty()).then(|| Arc::new(failures::refusal(&refused))),
    })
}

/// Bytes that are no UTF-8 are no base64, either: the core will say that they are damaged.
fn text(value: Value) -> Result<String, Error> {
    match value {
        Value::BulkString(bytes) => {
            Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
        }
        _ => Err(no_answer()),
    }
}

fn number(value: Value) -> Result<u64, Error> {
    text(value)?.parse().map_err(|_| no_answer())
}

fn texts(value: Value) -> Result<Vec<String>, Error> {
    match value {
        Value::Array(values) => values.into_iter().map(text).collect(),
        _ => Err(no_answer()),
    }
}

/// A list of names, each followed by its value.
fn pairs(list: Vec<String>) -> Vec<(String, String)> {
    let mut list = list.into_iter();
    std::iter::from_fn(|| Some((list.next()?, list.next()?))).collect()
}

fn no_answer() -> Error {
    let what = "a script answers what it never does: something else is at the address of Redis";
    Error::new(ErrorKind::WrongType, what)
}
