//! The command `dead-letters`: lists dead letters by code.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use redis::AsyncCommands;
use redis::streams::{StreamId, StreamRangeReply};
use seenguard::Time;
use seenguard_server::Stream;
use tokio::time::sleep;

use crate::Failure;
use crate::cli::DeadLetters;
use crate::store::connect;

/// Most letters in a response of Redis.
const PAGE: usize = 1_000;
/// The interval of checks for the first connection, and their timeout.
const CONNECTING: Duration = Duration::from_millis(50);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the number of letters and the age of the oldest for each code, and with --ids the id of each letter.
pub async fn list(options: DeadLetters) -> Result<(), Failure> {
    let mut connection = connect(&options.common)?;
    let start = Instant::now();
    while !connection.was_connected() && start.elapsed() < CONNECTION_TIMEOUT {
        sleep(CONNECTING).await;
    }
    let letters = Stream::new(connection.clone(), &options.stream).dead_letters();
    let now = Time::from(SystemTime::now()).unix_ms();
    let mut codes = BTreeMap::<String, (u64, u64)>::new();
    let mut from = "-".to_owned();
    loop {
        let StreamRangeReply { ids } = connection.xrange_count(&letters, &from, "+", PAGE).await?;
        let Some(last) = ids.last() else { break };
        from = format!("({}", last.id);
        for letter in &ids {
            let code = letter.get("code").unwrap_or_else(|| "unknown".to_owned());
            if options.ids {
                println!("{code} {}", letter.get("entry").unwrap_or_else(|| letter.id.clone()));
            }
            let (count, oldest) = codes.entry(code).or_insert((0, u64::MAX));
            (*count, *oldest) = (*count + 1, (*oldest).min(written(letter)));
        }
    }
    for (code, (count, oldest)) in &codes {
        println!(
            "{code}: {count}, the oldest {} s old",
            now.saturating_sub(*oldest) / 1000
        );
    }
    if codes.is_empty() {
        println!("none in {letters}");
    }
    Ok(())
}

/// When a letter was written, in Unix ms.
fn written(letter: &StreamId) -> u64 {
    let at = letter.id.split('-').next().and_then(|at| at.parse().ok());
    at.unwrap_or_default()
}
