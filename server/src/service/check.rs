//! The command `check`: tests the options, their files, Redis, the stream and the namespace.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use seenguard_server::{RedisConnection, ReportStream, check_scripts};
use tokio::time::timeout;

use crate::auth::Access;
use crate::cli::{Check, CheckCommand, Common};
use crate::store::open;
use crate::{Failure, consume, serve};

/// Timeout of each step.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The number of entries that are checked.
const ENTRIES: usize = 100;

/// Runs the steps, and prints one line for each. The exit code is 1 if a step has failed.
pub async fn check(options: Check) -> ExitCode {
    let mut steps = Steps { has_failed: false };
    let (connection, stream) = match read(&options) {
        Ok(read) => {
            steps.print("options", Ok("all options and files are readable".to_owned()));
            read
        }
        Err(error) => {
            steps.print("options", Err(error.to_string()));
            return steps.code();
        }
    };
    let common = options.common();
    if let Some(connection) = connection
        && steps.run("Redis", redis(common)).await
    {
        steps.run("scripts", scripts(common, &connection)).await;
    }
    if let Some(stream) = stream
        && steps.run("stream", answers(&*stream)).await
    {
        if let Some(least) = stream.min_insync_replicas().await {
            steps.print(
                "min.insync.replicas",
                Ok(least.unwrap_or_else(|error| format!("unknown: {error}"))),
            );
        }
        steps.run("namespace", namespace(common, &*stream)).await;
    }
    steps.code()
}

struct Steps {
    has_failed: bool,
}

impl Steps {
    fn print(&mut self, step: &str, outcome: Result<String, String>) {
        match outcome {
            Ok(text) => println!("ok     {step}: {text}"),
            Err(text) => {
                println!("wrong  {step}: {text}");
                self.has_failed = true;
            }
        }
    }

    /// Runs and prints a step. Returns whether it has succeeded.
    async fn run(&mut self, name: &str, step: impl Future<Output = Result<String, Failure>>) -> bool {
        let outcome = match timeout(TIMEOUT, step).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(format!(
                "no response within {TIMEOUT:?}: check the address and the network"
            )),
        };
        let has_succeeded = outcome.is_ok();
        self.print(name, outcome);
        has_succeeded
    }

    fn code(&self) -> ExitCode {
        ExitCode::from(u8::from(self.has_failed))
    }
}

type Opened = (Option<RedisConnection>, Option<Arc<dyn ReportStream>>);

/// Reads all options and files. Connections open in the background.
fn read(options: &Check) -> Result<Opened, Failure> {
    options.common().checked()?;
    let (_, connection) = open(options.common())?;
    let stream = match &options.command {
        None => {
            serve::access(&options.serve)?;
            serve::stream(&options.serve)?
        }
        Some(CheckCommand::Consume(consume)) => {
            if let Some(address) = consume.listen {
                Access::of(address, consume.listening.token_file.as_deref(), None)?;
            }
            Some(consume::stream(consume)?)
        }
    };
    Ok((connection, stream))
}

async fn redis(common: &Common) -> Result<String, Failure> {
    common.redis.target()?.check().await?;
    Ok("connected".to_owned())
}

async fn scripts(common: &Common, connection: &RedisConnection) -> Result<String, Failure> {
    connection.opened().await;
    check_scripts(connection, &common.prefix).await?;
    Ok("all scripts have run on test keys".to_owned())
}

async fn answers(stream: &dyn ReportStream) -> Result<String, Failure> {
    stream.ping().await?;
    Ok("responds".to_owned())
}

async fn namespace(common: &Common, stream: &dyn ReportStream) -> Result<String, Failure> {
    let Some(namespace_of) = common.namespace_of() else {
        return Ok("no --namespace is set".to_owned());
    };
    let entries = stream.first(ENTRIES).await?;
    let all = entries.len();
    let readable = || entries.iter().filter_map(|entry| entry.as_ref().ok());
    let same = readable()
        .filter(|(user, report)| report.namespace == namespace_of(user))
        .count();
    let unreadable = all - readable().count();
    match (all, same) {
        (0, _) => Ok("no entries to check".to_owned()),
        _ if 2 * same >= all => Ok(format!("{same} of the first {all} entries have this namespace")),
        _ if 2 * unreadable > all => Err(format!(
            "{unreadable} of the first {all} entries cannot be read as reports: check the name of the stream or topic, \
             and the event mapping"
        )
        .into()),
        _ => Err(format!(
            "{} of the first {all} entries have another namespace: set --namespace as the page opens its guard",
            all - same - unreadable
        )
        .into()),
    }
}
