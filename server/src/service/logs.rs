//! Logs on standard error. They contain no user and no id.

use std::io::{IsTerminal, stderr};

use seenguard_server::may_log;

use crate::cli::Logs;

/// Starts the log: text on a terminal, otherwise one JSON object in each line.
pub fn start(logs: &Logs) {
    // The message of a panic is not logged, since it may quote an id.
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        if may_log("panic", location.clone()) {
            tracing::error!(location, "panic, please report this bug");
        }
    }));
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
        .with_current_span(true)
        .with_span_list(false)
        .init();
}
