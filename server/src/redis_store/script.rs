//! The scripts that run in Redis: the core's, and those of streams.

use std::sync::LazyLock;

#[cfg(feature = "consumer")]
use redis::Cmd;
use redis::aio::ConnectionLike;
use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value, cmd};
#[cfg(feature = "consumer")]
use seenguard::StoreKeys;
use seenguard::{RedisCommand, RedisScript};

#[cfg(feature = "consumer")]
use super::RedisConnection;
use super::failures::error_of;
use crate::error::Error;

/// The scripts of the core, in the order of their numbers.
static OF_THE_CORE: LazyLock<[Script; RedisScript::ALL.len()]> =
    LazyLock::new(|| RedisScript::ALL.map(|script| Script::new(script.text().to_owned())));

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident: $($file:literal)*;)*) => {$(
        $(#[$doc])*
        #[cfg(feature = "consumer")]
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new([RedisScript::BEGINNING, $(include_str!(concat!("../../lua/", $file))),*].concat())
        });
    )*};
}

scripts! {
    /// Creates a stream and a group of its consumers, unless they exist.
    PREPARE: "prepare.lua";
    /// Acknowledges entries of a stream, and deletes them.
    ACKNOWLEDGE: "acknowledge.lua";
    /// Acknowledges an entry that cannot be applied, and adds it to the dead letters, unless they are full.
    SET_ASIDE: "expire.lua" "set_aside.lua";
    /// Removes old dead letters, and consumers that are gone.
    TIDY: "expire.lua" "tidy.lua";
}

/// Sends a command of the core.
pub(super) async fn run<C: ConnectionLike + Clone>(connection: &C, command: &RedisCommand) -> Result<Value, Error> {
    let script = &OF_THE_CORE[command.script as usize];
    script.run(connection, &command.keys, &command.arguments).await
}

/// Runs each script on keys that no user has, and deletes them: for `seenguard-server check`.
///
/// # Errors
/// Those of Redis, with the name of the script or command.
#[cfg(feature = "consumer")]
#[doc(hidden)]
pub async fn check_scripts(connection: &RedisConnection, prefix: &str) -> Result<(), Error> {
    const DEVICE: &str = "checkcheckck";
    const LIST: &str = "checkcheckck.1.0.AAAA";
    let keys = StoreKeys::of(prefix, "seenguard-check", connection.is_cluster())?;
    let (stream, letters) = (format!("{}:stream", keys.list), format!("{}:dead", keys.list));
    let send = async |command: &Cmd| -> Result<Value, Error> {
        let answer = command.query_async(&mut connection.clone()).await;
        answer.map_err(|error| named("command", error_of(error)))
    };
    let run = async |name: &str, script: &Script, keys: &[&String], arguments: &[&str]| -> Result<(), Error> {
        let keys: Vec<String> = keys.iter().copied().cloned().collect();
        let answer = script.run(connection, &keys, arguments).await;
        answer.map(drop).map_err(|error| named(name, error))
    };
    let core = |script: RedisScript| &OF_THE_CORE[script as usize];
    let all = [&keys.list, &keys.meta, &keys.pending];
    let delete = async || -> Result<(), Error> {
        // One by one: on a cluster each is in a slot of its own for some prefixes.
        for key in all.into_iter().chain([&stream, &letters]) {
            send(cmd("DEL").arg(key)).await?;
        }
        Ok(())
    };
    delete().await?;
    let device = [DEVICE, "1", LIST, "1", "60", "1"];
    run("load", core(RedisScript::Load), &all, &device).await?;
    run("keep", core(RedisScript::Keep), &[&keys.pending], &device).await?;
    run(
        "drop",
        core(RedisScript::Drop),
        &[&keys.pending],
        &[DEVICE, &format!("1 {LIST}")],
    )
    .await?;
    // A new chain without expiry, then another one in its place.
    let new = ["0", "0", "-1", "0", "1", "check", "unseen:check", "1"];
    run("replace", core(RedisScript::Replace), &all[..2], &new).await?;
    let revision = send(cmd("HGET").arg(&keys.meta).arg("revision")).await?;
    let revision: String = redis::from_redis_value(revision).map_err(|_| super::strange())?;
    let other = [&revision, "1", "-1", "60", "1", "check", "unseen:check", ""];
    run("replace", core(RedisScript::Replace), &all, &other).await?;
    run("prepare", &PREPARE, &[&stream], &["check"]).await?;
    let entry = send(cmd("XADD").arg(&stream).arg(&["*", "check", "check"])).await?;
    let entry: String = redis::from_redis_value(entry).map_err(|_| super::strange())?;
    let group = ["GROUP", "check", "check", "COUNT", "1", "STREAMS", &stream, ">"];
    send(cmd("XREADGROUP").arg(&group)).await?;
    run(
        "set aside",
        &SET_ASIDE,
        &[&stream, &letters],
        &["check", &entry, "check"],
    )
    .await?;
    run("acknowledge", &ACKNOWLEDGE, &[&stream], &["check", &entry]).await?;
    run("tidy", &TIDY, &[&stream, &letters], &["check", "check", "0"]).await?;
    delete().await
}

#[cfg(feature = "consumer")]
fn named(name: &str, error: Error) -> Error {
    Error::new(error.kind(), format!("{name}: {error}"))
}

/// A script, which Redis identifies by its hash.
pub(crate) struct Script {
    text: String,
    hash: String,
}

impl Script {
    fn new(text: String) -> Self {
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Script { text, hash }
    }

    pub(crate) async fn run<C: ConnectionLike + Clone>(
        &self,
        connection: &C,
        keys: &[String],
        arguments: &[impl ToRedisArgs],
    ) -> Result<Value, Error> {
        let mut connection = connection.clone();
        let call = |name: &str, which: &str| {
            let mut call = cmd(name);
            call.arg(which).arg(keys.len()).arg(keys).arg(arguments);
            call
        };
        let answer = match call("EVALSHA", &self.hash).query_async(&mut connection).await {
            // This node has not loaded the script yet, or has dropped it. `SCRIPT LOAD` to all nodes of a cluster would
            // fail if one of them does not respond.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                call("EVAL", &self.text).query_async(&mut connection).await
            }
            answer => answer,
        };
        answer.map_err(error_of)
    }
}
