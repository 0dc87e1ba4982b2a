//! The scripts that run in Redis, and when one is run again. `js/server/store/scripts.ts` explains their keys, their
//! arguments and their answers.

use std::sync::LazyLock;

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, cmd};

use super::RedisConnection;
use crate::options::{StoreEvent, StoreOptions};
use crate::store::pauses;

/// Reads a user, after keeping what a device has told.
pub(super) static READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/state.lua"),
        include_str!("../../lua/keep.lua"),
        include_str!("../../lua/read.lua"),
    ))
});

/// Keeps what a device has told.
pub(super) static KEEP: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("../../lua/keep.lua"), "return refused\n")));

/// Replaces a user's list and hash, unless another process has changed either.
pub(super) static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../../lua/state.lua"),
        include_str!("../../lua/replace.lua"),
    ))
});

/// What passes: the keys' slot is on its way to another node; Redis loads what it had before it was started anew; a
/// failover is under way.
const PASSING: [&str; 4] = ["TRYAGAIN", "LOADING", "MASTERDOWN", "CLUSTERDOWN"];
/// The same where only a write is refused: for a replica, or for good.
const NO_MASTER: [&str; 2] = ["READONLY", "NOREPLICAS"];
/// A write is refused.
const REFUSED: [&str; 5] = ["READONLY", "NOREPLICAS", "OOM", "MISCONF", "NOPERM"];

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

    /// Runs a script that reads, or keeps what is pending.
    pub(super) async fn run(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        arguments: &[String],
        options: &StoreOptions,
    ) -> RedisResult<Value> {
        self.run_until(connection, keys, arguments, options, does_pass).await
    }

    /// The same of a script that must write: one that a node refuses because it is no master any more is run again.
    pub(super) async fn change(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        arguments: &[String],
        options: &StoreOptions,
    ) -> RedisResult<Value> {
        let passes = |error: &RedisError| does_pass(error) || says(error, &NO_MASTER);
        self.run_until(connection, keys, arguments, options, passes).await
    }

    /// Whether a script has run whose connection was lost is not known: to read twice, or to replace what was replaced
    /// already, does no harm.
    async fn run_until(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        arguments: &[String],
        options: &StoreOptions,
        passes: impl Fn(&RedisError) -> bool,
    ) -> RedisResult<Value> {
        let mut pauses = pauses();
        loop {
            let error = match self.run_once(connection, keys, arguments).await {
                Err(error) if passes(&error) => error,
                answer => return answer,
            };
            let Some(pause) = pauses.next() else {
                return Err(error);
            };
            options.tell(StoreEvent::Retry);
            tokio::time::sleep(pause).await;
        }
    }

    async fn run_once(
        &self,
        connection: &RedisConnection,
        keys: &[String],
        arguments: &[String],
    ) -> RedisResult<Value> {
        let mut connection = connection.clone();
        let call = |name: &str, which: &str| {
            let mut call = cmd(name);
            call.arg(which).arg(keys.len()).arg(keys).arg(arguments);
            call
        };
        match call("EVALSHA", &self.hash).query_async(&mut connection).await {
            // This node has not met the script yet, or has forgotten it.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                call("EVAL", self.text).query_async(&mut connection).await
            }
            answer => answer,
        }
    }
}

/// Whether a script was refused for its writes.
pub(super) fn is_write_refused(error: &RedisError) -> bool {
    says(error, &REFUSED)
}

fn does_pass(error: &RedisError) -> bool {
    let is_lost = error.is_io_error() && !error.is_timeout() || error.kind() == ErrorKind::ClusterConnectionNotFound;
    is_lost || says(error, &PASSING)
}

/// Whether the error has one of these codes: an older Redis has what went wrong in a script in the midst of its text.
fn says(error: &RedisError, codes: &[&str]) -> bool {
    let text = error.to_string();
    let code = error.code().unwrap_or_default();
    codes.iter().any(|&known| known == code || text.contains(known))
}
