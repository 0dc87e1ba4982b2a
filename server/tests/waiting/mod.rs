//! Waiting for what other processes do.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// On a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for an answer.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Twice the time that the table of docs/service.md promises: a machine may be busy.
pub fn promised(what: &str) -> Duration {
    let docs = include_str!("../../../docs/service.md");
    let (_, row) = docs
        .split_once(&format!("\n| {what} | "))
        .unwrap_or_else(|| panic!("docs/service.md has no row for: {what}"));
    let time = row.split(" |").next().unwrap();
    let (number, unit) = time.split_once(' ').unwrap();
    let number: u64 = number.parse().unwrap();
    2 * match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        _ => panic!("{time} is not a time"),
    }
}
