//! Waits for other processes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The timeout of [`eventually`]: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Calls a function until it returns a value. Panics after [`PATIENCE`].
pub fn eventually<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Twice the time in the row `what` of the table in docs/service.md: the machine may be busy.
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
