//! The scripts that run in Redis. `js/server/store/scripts.ts` explains their keys, their arguments and their answers.

use std::sync::LazyLock;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value, cmd};

use super::failures::error_of;
use crate::error::Error;

/// Loads a user, after keeping what a device has told.
pub(super) static LOAD: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/keep.lua"),
        include_str!("../../lua/load.lua"),
    ))
});

/// Keeps what a device has told.
pub(super) static KEEP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/keep.lua"),
        include_str!("../../lua/kept.lua"),
    ))
});

/// Replaces a user's list and hash, unless another process has changed either.
pub(super) static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/replace.lua"),
    ))
});

/// The same even where Redis is full.
pub(super) static REPLACE_IN_FULL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        "#!lua flags=allow-oom\n",
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/replace.lua"),
    ))
});

/// Makes a stream and a group of its consumers, unless they are there.
#[cfg(feature = "consumer")]
pub(crate) static PREPARE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/prepare.lua"),
    ))
});

/// Acknowledges entries of a stream, and deletes them.
#[cfg(feature = "consumer")]
pub(crate) static ACKNOWLEDGE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/acknowledge.lua"),
    ))
});

/// Acknowledges an entry that no chain takes, and sets it aside.
#[cfg(feature = "consumer")]
pub(crate) static SET_ASIDE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/run.lua"),
        include_str!("../../lua/set_aside.lua"),
    ))
});

/// A script, which Redis knows by its hash.
pub(crate) struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        let hash = redis::Script::new(text).get_hash().to_owned();
        Script { text, hash }
    }

    /// Whether a script has run whose connection was lost is not known: to load twice, or to replace what was replaced
    /// already, does no harm.
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
            // This node has not met the script yet, or has forgotten it. One of a cluster that does not answer must not
            // keep the others from it, as `SCRIPT LOAD` to all of them would.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                call("EVAL", self.text).query_async(&mut connection).await
            }
            answer => answer,
        };
        answer.map_err(error_of)
    }
}
