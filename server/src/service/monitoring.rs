//! What an operator looks at: whether the process lives, whether it can do its work, and its numbers for Prometheus.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use seenguard::{ReceivedReport, Time};
use tokio::sync::watch;
use tokio::time::{interval, timeout};

use crate::Failure;
use crate::problem::{Problem, Reason};
use crate::store::Store;

const REQUEST_SECONDS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 20.0,
];
/// From a stream that is at once to one that stood still for a week.
const LAG_SECONDS: [f64; 12] = [
    0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0, 604_800.0,
];
/// How often the recorder puts what it was told into its buckets.
const UPKEEP: Duration = Duration::from_secs(5);
/// How long a sign of life may take.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Counts from now on.
pub fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("seenguard_request_seconds".into()), &REQUEST_SECONDS)?
        .set_buckets_for_metric(Matcher::Full("seenguard_lag_seconds".into()), &LAG_SECONDS)?
        .install_recorder()?;
    describe();
    let kept_up = recorder.clone();
    tokio::spawn(async move {
        let mut ticks = interval(UPKEEP);
        loop {
            ticks.tick().await;
            kept_up.run_upkeep();
        }
    });
    Ok(recorder)
}

fn describe() {
    describe_counter!("seenguard_requests_total", "Requests, by route, method and status.");
    describe_histogram!("seenguard_request_seconds", "How long requests took, by route.");
    describe_histogram!(
        "seenguard_lag_seconds",
        "From when an item was on the screen, as the device reports it, until the user's chain has it."
    );
    for (name, what) in [
        ("seenguard_reports_total", "Reports that were taken into a chain."),
        ("seenguard_impressions_total", "Impressions in them."),
        (
            "seenguard_short_pages_total",
            "Pages with fewer items than were asked for: the candidates ran out.",
        ),
        (
            "seenguard_conflicts_total",
            "Changes made again because another writer had changed the chain meanwhile.",
        ),
        (
            "seenguard_retries_total",
            "Commands sent to Redis again after a failure that passes.",
        ),
        (
            "seenguard_damaged_total",
            "Stored shards and fields that cannot be read, by code.",
        ),
        (
            "seenguard_pending_not_kept_total",
            "What devices had pending and could not be kept.",
        ),
        (
            "seenguard_claimed_total",
            "Entries of the stream that were taken over from another consumer.",
        ),
        (
            "seenguard_unreadable_entries_total",
            "Entries of the stream that are no reports: they stay in the stream.",
        ),
    ] {
        describe_counter!(name, what);
        counter!(name).increment(0);
    }
    describe_gauge!(
        "seenguard_stream_entries",
        "Entries of the stream that wait for a consumer, or are with one."
    );
}

/// Reports are in their user's chain.
pub fn note_taken(reports: &[ReceivedReport], now: Time) {
    counter!("seenguard_reports_total").increment(reports.len() as u64);
    let lag = histogram!("seenguard_lag_seconds");
    for report in reports {
        counter!("seenguard_impressions_total").increment(report.impressions.len() as u64);
        for impression in &report.impressions {
            lag.record(now.unix_ms().saturating_sub(impression.at.unix_ms()) as f64 / 1000.0);
        }
    }
}

/// So many entries wait in the stream.
pub fn note_backlog(entries: u64) {
    gauge!("seenguard_stream_entries").set(entries as f64);
}

/// What the routes need.
#[derive(Clone)]
pub struct Monitoring {
    pub recorder: PrometheusHandle,
    pub store: Arc<Store>,
    pub stopping: watch::Receiver<bool>,
}

/// Whether it lives and is ready: for supervisors and load balancers, which have no token.
pub fn health(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(monitoring)
}

/// Its numbers.
pub fn numbers(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/metrics", get(numbers_as_text))
        .with_state(monitoring)
}

async fn ready(State(monitoring): State<Monitoring>) -> Result<&'static str, Problem> {
    if *monitoring.stopping.borrow() {
        return Err(Problem::unavailable(
            "stopping",
            "this process is about to end: ask another one",
        ));
    }
    match timeout(READY_WITHIN, monitoring.store.ping()).await {
        Ok(Ok(())) => Ok("ready\n"),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Problem::unavailable(
            "storage",
            "the storage does not answer: try again in a moment",
        )),
    }
}

async fn numbers_as_text(State(monitoring): State<Monitoring>) -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, monitoring.recorder.render())
}

/// Counts a request and logs it: by its route, which names no user.
pub async fn observe(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    let method = request.method().as_str().to_owned();
    let response = next.run(request).await;
    let (status, seconds) = (response.status(), begun.elapsed().as_secs_f64());
    let Reason { code, cause } = response.extensions().get::<Reason>().cloned().unwrap_or_default();
    let labels = [
        ("route", route.clone()),
        ("method", method.clone()),
        ("status", status.as_str().to_owned()),
    ];
    counter!("seenguard_requests_total", &labels).increment(1);
    histogram!("seenguard_request_seconds", "route" => route.clone()).record(seconds);
    let (status_code, ms) = (status.as_u16(), (seconds * 1000.0).round());
    if status.is_server_error() {
        tracing::warn!(
            method,
            route,
            status = status_code,
            code,
            cause,
            ms,
            "a request has failed"
        );
    } else {
        tracing::debug!(method, route, status = status_code, code, ms, "a request");
    }
    response
}

/// Answers by 503 what takes too long.
pub async fn give_up(State(after): State<Duration>, request: Request, next: Next) -> Response {
    match timeout(after, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "timeout",
            "the request took too long and was given up, whether or not it was done: try again",
        )
        .into_response(),
    }
}
