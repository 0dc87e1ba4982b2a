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
