//! Runs the scripts in Redis: those of the core, and that of streams.

use std::sync::LazyLock;

#[cfg(feature = "consumer")]
use redis::Cmd;
use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value, cmd};
#[cfg(feature = "consumer")]
use seenguard::StoreKeys;
use seenguard::{RedisCommand, RedisScript};

use super::connection::RedisConnection;
use super::failures::error_of;
use crate::error::Error;

/// The scripts of the core, by their numbers.
static CORE_SCRIPTS: LazyLock<[Script; RedisScript::ALL.len()]> =
    LazyLock::new(|| RedisScript::ALL.map(|script| Script::new(script.source().to_owned())));

#[cfg(feature = "consumer")]
static STREAM_SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new([RedisScript::BEGINNING, include_str!("../../lua/stream.lua")].concat()));

/// The name of an operation of `stream.lua`.
#[cfg(feature = "consumer")]
pub(crate) struct StreamOperation(&'static str);

#[cfg(feature = "consumer")]
pub(crate) const PREPARE: StreamOperation = StreamOperation("prepare");
#[cfg(feature = "consumer")]
pub(crate) const ACKNOWLEDGE: StreamOperation = StreamOperation("acknowledge");
#[cfg(feature = "consumer")]
pub(crate) const SET_ASIDE: StreamOperation = StreamOperation("set_aside");
#[cfg(feature = "consumer")]
pub(crate) const TIDY: StreamOperation = StreamOperation("tidy");

#[cfg(feature = "consumer")]
impl StreamOperation {
    pub(crate) async fn run(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        arguments: &[impl ToRedisArgs],
    ) -> Result<Value, Error> {
        STREAM_SCRIPT.run(connection, keys, Some(self.0), arguments).await
    }
}

/// Runs a command of the core.
pub(super) async fn run(connection: &RedisConnection, command: &RedisCommand) -> Result<Value, Error> {
    let script = &CORE_SCRIPTS[command.script as usize];
    script.run(connection, &command.keys, None, &command.arguments).await
}

/// Runs each script on test keys, and deletes these: for `seenguard-server check`.
///
/// # Errors
/// Errors of Redis, with the name of the script or command.
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
    let run = async |name: &'static str, script: &Script, keys: &[&String], arguments: &[&str]| -> Result<(), Error> {
        let keys: Vec<String> = keys.iter().copied().cloned().collect();
        let operation = std::ptr::eq(script, &*STREAM_SCRIPT).then_some(name);
        let answer = script.run(connection, &keys, operation, arguments).await;
        answer.map(drop).map_err(|error| named(name, error))
    };
    let core = |script: RedisScript| &CORE_SCRIPTS[script as usize];
    let all = [&keys.list, &keys.meta, &keys.pending];
    let delete = async || -> Result<(), Error> {
        // One by one: on a cluster they may be in several slots.
        for key in all.into_iter().chain([&stream, &letters]) {
            send(cmd("DEL").arg(key)).await?;
        }
        Ok(())
    };
    delete().await?;
    let device = [DEVICE, "1", LIST, "1", "60", "1"];
    run("load", core(RedisScript::Load), &all, &device).await?;
    run(
        "store_pending",
        core(RedisScript::StorePending),
        &[&keys.pending],
        &device,
    )
    .await?;
    run(
        "drop",
        core(RedisScript::Drop),
        &[&keys.pending],
        &[DEVICE, &format!("1 {LIST}")],
    )
    .await?;
    // A new chain without expiry, then its replacement.
    let new = ["0", "0", "-1", "0", "1", "check", "unseen:check", "1"];
    run("replace", core(RedisScript::Replace), &all[..2], &new).await?;
    let revision = send(cmd("HGET").arg(&keys.meta).arg("revision")).await?;
    let revision: String = redis::from_redis_value(revision).map_err(|_| super::unexpected_response())?;
    let other = [&revision, "1", "-1", "60", "1", "check", "unseen:check", ""];
    run("replace", core(RedisScript::Replace), &all, &other).await?;
    run("prepare", &STREAM_SCRIPT, &[&stream], &["check"]).await?;
    let entry = send(cmd("XADD").arg(&stream).arg(&["*", "check", "check"])).await?;
    let entry: String = redis::from_redis_value(entry).map_err(|_| super::unexpected_response())?;
    let group = ["GROUP", "check", "check", "COUNT", "1", "STREAMS", &stream, ">"];
    send(cmd("XREADGROUP").arg(&group)).await?;
    run(
        "set_aside",
        &STREAM_SCRIPT,
        &[&stream, &letters],
        &["check", &entry, "check"],
    )
    .await?;
    run("acknowledge", &STREAM_SCRIPT, &[&stream], &["check", &entry]).await?;
    run("tidy", &STREAM_SCRIPT, &[&stream, &letters], &["check", "check", "0"]).await?;
    delete().await
}

#[cfg(feature = "consumer")]
fn named(name: &str, error: Error) -> Error {
    Error::new(error.kind(), format!("{name}: {error}"))
}

/// A script and its hash, by which Redis identifies it.
struct Script {
    source: String,
    hash: String,
}

impl Script {
    fn new(source: String) -> Self {
        let hash = redis::Script::new(&source).get_hash().to_owned();
        Script { source, hash }
    }

    async fn run(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        operation: Option<&str>,
        arguments: &[impl ToRedisArgs],
    ) -> Result<Value, Error> {
        let mut connection = connection.clone();
        let call = |name: &str, which: &str| {
            let mut call = cmd(name);
            call.arg(which).arg(keys.len()).arg(keys).arg(operation).arg(arguments);
            call
        };
        let answer = match call("EVALSHA", &self.hash).query_async(&mut connection).await {
            // This node does not have the script. `SCRIPT LOAD` on all nodes of a cluster would fail if one does not
            // respond.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                call("EVAL", &self.source).query_async(&mut connection).await
            }
            answer => answer,
        };
        answer.map_err(error_of)
    }
}
