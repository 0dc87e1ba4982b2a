//! Users' chains in Redis: of each a list, and beside it two hashes.

mod connection;
mod script;

use std::collections::HashMap;
use std::sync::Arc;

use redis::Value;
use seenguard::{ListChange, PendingToKeep, StoreKeys, StoredChain, Time};

use self::script::{KEEP, READ, REPLACE};
use crate::error::Error;
use crate::options::StoreOptions;
use crate::store::{Loaded, Replacement, SeenStore};

pub use self::connection::RedisConnection;

const DEFAULT_PREFIX: &str = "seen:";

/// A store in Redis 6.2 or newer, or a Redis Cluster, with the keys and the scripts of the npm package's `redisStore`:
/// servers in Node and in Rust serve the same users at the same time.
///
/// Of each user it has a list, `<prefix><user>` (one shard an element, newest first), and beside it two hashes, only if
/// there is something for them: `<prefix><user>:meta` for what is unseen and forgotten, which is changed together
/// with the list by one compare-and-set script and expires with it; and `<prefix><user>:pending` for what devices have
/// pending. On a cluster a user's keys share a slot: [`StoreKeys`]. What passes, such as a failover, is tried again for
/// about 5 seconds.
///
/// ```no_run
/// use seenguard::{PageRequest, Time};
/// use seenguard_server::{RedisConnection, RedisStore, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let connection = RedisConnection::open(&["redis://127.0.0.1/"]).await?;
/// let store = RedisStore::new(connection, StoreOptions::new().namespace_of(|user| format!("home:{user}")))?;
/// let now = Time::from(std::time::SystemTime::now());
/// let request = PageRequest { size: 10, ..PageRequest::default() };
/// let page = store.page("ada", &["article-1", "article-2"], &request, now).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RedisStore {
    connection: RedisConnection,
    options: StoreOptions,
    prefix: String,
}

impl RedisStore {
    /// A store behind this connection.
    ///
    /// # Errors
    /// [`Error::Core`] for options without meaning, as [`ShardChain::new`](seenguard::ShardChain::new).
    pub fn new(connection: impl Into<RedisConnection>, options: StoreOptions) -> Result<Self, Error> {
        Ok(RedisStore {
            connection: connection.into(),
            options: options.checked()?,
            prefix: DEFAULT_PREFIX.to_owned(),
        })
    }

    /// What the names of all keys begin with; `seen:`.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        RedisStore { prefix, ..self }
    }

    /// The connection, for other commands: a clone shares it.
    pub fn connection(&self) -> &RedisConnection {
        &self.connection
    }

    fn keys_of(&self, user: &str) -> Result<StoreKeys, Error> {
        Ok(StoreKeys::of(&self.prefix, user, self.connection.is_cluster())?)
    }
}

impl SeenStore for RedisStore {
    /// The name that the script gave it.
    type State = String;

    fn options(&self) -> &StoreOptions {
        &self.options
    }

    async fn load(&self, user: &str, told: Option<PendingToKeep<'_>>, now: Time) -> Result<Loaded<Self::State>, Error> {
        let StoreKeys {
            list, meta, pending, ..
        } = self.keys_of(user)?;
        let keys = [list, meta, pending];
        let arguments = told.map(|told| told.arguments(now, self.options.pending_seconds));
        let arguments = arguments.as_ref().map_or(&[][..], |arguments| arguments);
        match READ.run(&self.connection, &keys, arguments, &self.options).await {
            Ok(answer) => loaded(answer),
            Err(refusal) if !arguments.is_empty() && script::is_write_refused(&refusal) => {
                // The script as a whole: without arguments it writes nothing.
                let answer = READ.run(&self.connection, &keys, &[], &self.options).await?;
                Ok(Loaded {
                    refusal: Some(refusal.into()),
                    ..loaded(answer)?
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn keep(&self, user: &str, told: PendingToKeep<'_>, now: Time) -> Result<(), Error> {
        let keys = [self.keys_of(user)?.pending];
        let arguments = told.arguments(now, self.options.pending_seconds);
        let answer = KEEP.run(&self.connection, &keys, &arguments, &self.options).await?;
        refusal_of(&answer).map_or(Ok(()), Err)
    }

    async fn replace(&self, user: &str, replacement: Replacement<'_, Self::State>) -> Result<bool, Error> {
        let Replacement { before, after, .. } = &replacement;
        let StoreKeys {
            list, meta, pending, ..
        } = self.keys_of(user)?;
        let mut keys = vec![list, meta];
        keys.extend(replacement.forgets.then_some(pending));
        let ListChange { added, first, kept, .. } = ListChange::between(&before.stored.shards, &after.shards);
        let fields = if replacement.changes_fields {
            let fields: HashMap<&str, &str> = after.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            serde_json::to_string(&fields).map_err(storage)?
        } else {
            String::new()
        };
        let last = (first + kept) as i64 - 1;
        let life = replacement.life_seconds.to_string();
        let mut arguments = vec![before.state.clone(), first.to_string(), last.to_string(), fields, life];
        arguments.extend(after.shards[..added].iter().rev().cloned());
        let answer = REPLACE
            .change(&self.connection, &keys, &arguments, &self.options)
            .await?;
        Ok(answer == Value::Int(1))
    }
}

/// Reads the answer of the script: list, hash, state, what is kept, and why nothing could be kept.
fn loaded(answer: Value) -> Result<Loaded<String>, Error> {
    let Value::Array(parts) = answer else {
        return Err(no_answer());
    };
    let [shards, fields, state, kept, refused] = <[Value; 5]>::try_from(parts).map_err(|_| no_answer())?;
    Ok(Loaded {
        stored: Arc::new(StoredChain {
            shards: texts(shards)?,
            fields: pairs(texts(fields)?),
        }),
        state: text(state)?,
        kept: texts(kept)?.join("\n"),
        refusal: refusal_of(&refused),
    })
}

/// Why Redis refused to keep something.
fn refusal_of(refused: &Value) -> Option<Error> {
    match refused {
        Value::BulkString(reason) if !reason.is_empty() => Some(storage(String::from_utf8_lossy(reason).into_owned())),
        _ => None,
    }
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
    storage("a script answers what it never does: something else is at the address of Redis")
}

fn storage(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Storage(error.into())
}
