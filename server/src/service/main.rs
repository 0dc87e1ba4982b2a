//! The program `seenguard-server`: a service for a ranker in any language over HTTP and JSON, and the consumer of its
//! stream of reports.

#![forbid(unsafe_code)]

mod auth;
mod check;
mod cli;
mod consume;
mod dead_letters;
mod listen;
mod logs;
#[cfg(feature = "kafka")]
mod mapping;
mod monitoring;
mod serve;
mod shutdown;
mod store;

use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::cli::{Cli, Command};

/// The allocator of the static binary, since musl's own has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (_, logs) = cli.common();
    // `check` prints results instead of logs.
    if !matches!(cli.command, Some(Command::Check(_))) {
        logs::start(logs);
        if let Err(error) = cli.checked() {
            tracing::error!(error, "invalid options");
            return ExitCode::FAILURE;
        }
    }
    run(cli).unwrap_or_else(|error| {
        tracing::error!(%error, "exiting after an error");
        match error.is::<Misconfigured>() {
            true => ExitCode::from(78),
            false => ExitCode::FAILURE,
        }
    })
}

/// An error that ends the program, with a message for a person.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An error that shows that the options are wrong, so that a restart would not help (EX_CONFIG of sysexits.h).
#[derive(Debug)]
struct Misconfigured(seenguard_server::Error);

impl std::fmt::Display for Misconfigured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Misconfigured {}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let runtime = Runtime::new()?;
    let result = runtime.block_on(async {
        match cli.command {
            None => serve::serve(cli.serve).await?,
            Some(Command::Consume(options)) => consume::consume(*options).await?,
            Some(Command::Check(options)) => return Ok(check::check(*options).await),
            Some(Command::DeadLetters(options)) => dead_letters::list(*options).await?,
            #[cfg(feature = "kafka")]
            Some(Command::Mapping { file }) => mapping::try_events(&file)?,
        }
        Ok(ExitCode::SUCCESS)
    });
    // Do not wait for blocking calls in progress.
    runtime.shutdown_background();
    result
}
