//! The scripts that run in Redis: the core's, and those of streams.

use std::sync::LazyLock;

use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value, cmd};
use seenguard::{RedisCommand, RedisScript};

use super::connection::RedisConnection;
use super::failures::error_of;
use crate::error::Error;

/// The scripts of the core, in the order of their numbers.
static OF_THE_CORE: LazyLock<[Script; RedisScript::ALL.len()]> =
    LazyLock::new(|| RedisScript::ALL.map(|script| Script::new(script.text().to_owned())));

#[cfg(feature = "consumer")]
static OF_STREAMS: LazyLock<Script> =
    LazyLock::new(|| Script::new([RedisScript::BEGINNING, include_str!("../../lua/stream.lua")].concat()));

/// An operation of `stream.lua`, which describes them.
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
        OF_STREAMS.run(connection, keys, Some(self.0), arguments).await
    }
}

/// Sends a command of the core.
pub(super) async fn run(connection: &RedisConnection, command: &RedisCommand) -> Result<Value, Error> {
    let script = &OF_THE_CORE[command.script as usize];
    script.run(connection, &command.keys, None, &command.arguments).await
}

/// A script, which Redis identifies by its hash.
struct Script {
    text: String,
    hash: String,
}

impl Script {
    fn new(text: String) -> Self {
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Script { text, hash }
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
