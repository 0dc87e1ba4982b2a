//! Logs, on standard error. They name no user and no id.

use std::io::{IsTerminal, stderr};

use crate::cli::Logs;

/// On a terminal, text for people; otherwise one JSON object in each line.
pub fn start(logs: &Logs) {
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_max_level(logs.log)
        .with_target(false);
    if stderr().is_terminal() {
        return builder.init();
    }
    builder
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .init();
}
