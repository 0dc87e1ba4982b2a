//! Logs, on standard error. They name no user and no id.

use std::io::stderr;

use crate::cli::{LogFormat, Logs};

pub fn start(logs: &Logs) {
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_max_level(logs.log)
        .with_target(false);
    match logs.log_format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init(),
    }
}
