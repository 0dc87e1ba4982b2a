//! The scripts that run in Redis: the core's, and those of streams.

use std::sync::LazyLock;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value, cmd};
use seenguard::{RedisCommand, RedisScript};

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
