//! How far a program is, on stderr: stdout has the tables alone.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `steps` steps. Where stderr is not a terminal, one line says what begins.
pub fn progress_bar(steps: u64, what: &'static str) -> ProgressBar {
    if !stderr().is_terminal() {
        eprintln!("{what} …");
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:28} {bar:40} {pos}/{len} {elapsed}");
    let bar = ProgressBar::new(steps).with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
