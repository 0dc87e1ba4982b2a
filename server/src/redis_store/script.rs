//! The scripts that run in Redis. `js/server/store/scripts.ts` explains their keys, their arguments and their answers.

use std::sync::LazyLock;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, ServerErrorKind, Value, cmd};

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

/// A script, which Redis knows by its hash.
pub(super) struct Script {
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
    pub(super) async fn run<C: ConnectionLike + Clone>(
        &self,
        connection: &C,
        keys: &[String],
        arguments: &[String],
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
