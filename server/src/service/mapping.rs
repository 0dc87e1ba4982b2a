//! The command `mapping`: applies an event mapping to events on the standard input, to try it.

use std::io::{BufRead, stdin};
use std::path::Path;
use std::time::SystemTime;

use seenguard::Time;
use seenguard_server::EventMapping;

use crate::Failure;

pub fn read(file: &Path) -> Result<EventMapping, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(EventMapping::parse(&text)?)
}

/// Prints the report of each line of the standard input, as of a record that is written now with the key "key".
pub fn try_events(file: &Path) -> Result<(), Failure> {
    let mapping = read(file)?;
    for line in stdin().lock().lines() {
        let written = Time::from(SystemTime::now());
        match mapping.report(Some(b"key"), line?.as_bytes(), written) {
            Ok(Some((user, report))) => println!("{user} {}", serde_json::to_string(&report)?),
            Ok(None) => println!("skipped"),
            Err(code) => println!("unreadable: {code}"),
        }
    }
    Ok(())
}
