//! Monitoring: liveness, readiness, and metrics for Prometheus.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, RawQuery, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use seenguard_server::{
    ConsumerHealth, Error, Problem, Reason, RedisConnection, ReportStream, describe_metrics, may_log,
};
use tokio::sync::watch;
use tokio::time::{interval, timeout};

use crate::Failure;
use crate::shutdown::Stage;

const REQUEST_SECONDS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 20.0,
];
/// Buckets from no lag to a stream that has stopped for a week.
const LAG_SECONDS: [f64; 12] = [
    0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0, 604_800.0,
];
/// How often the recorder updates its buckets.
const UPKEEP: Duration = Duration::from_secs(5);
/// Timeout of a check of the storage or the stream.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Starts counting.
pub fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("seenguard_request_seconds".into()), &REQUEST_SECONDS)?
        .set_buckets_for_metric(Matcher::Full("seenguard_lag_seconds".into()), &LAG_SECONDS)?
        .set_buckets_for_metric(
            Matcher::Full("seenguard_kafka_produce_seconds".into()),
            &REQUEST_SECONDS,
        )?
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
    describe_metrics();
    describe_counter!("seenguard_requests_total", "Requests, by route, method and status.");
    describe_histogram!("seenguard_request_seconds", "How long requests took, by route.");
    describe_gauge!("seenguard_storage_answers", "1 if the storage answers now, else 0.");
    describe_gauge!("seenguard_stream_answers", "1 if the stream answers now, else 0.");
}

/// The state of the routes.
#[derive(Clone)]
pub struct Monitoring {
    pub recorder: PrometheusHandle,
    pub stage: watch::Receiver<Stage>,
    /// From this time on it is ready, even if it was never connected.
    pub ready_from: Instant,
    /// The connection to the chains; none in memory.
    pub storage: Option<RedisConnection>,
    pub stream: Option<Arc<dyn ReportStream>>,
    pub consumer: Option<ConsumerHealth>,
}

/// Liveness and readiness: for supervisors and load balancers, which have no token.
pub fn health(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(monitoring)
}

/// The metrics.
pub fn numbers(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/metrics", get(numbers_as_text))
        .with_state(monitoring)
}

/// It is ready once it was connected, or after a while: a process that starts in an outage makes pages, too. `?storage`
/// and `?stream` check whether these respond now.
async fn ready(State(monitoring): State<Monitoring>, RawQuery(query): RawQuery) -> Result<&'static str, Problem> {
    if *monitoring.stage.borrow() > Stage::Running {
        return Err(Problem::unavailable(
            "stopping",
            "this process is about to end: ask another one",
        ));
    }
    if monitoring.consumer.as_ref().is_some_and(|health| !health.is_ready()) {
        return Err(Problem::unavailable(
            "storage",
            "this consumer has not got on for a while: look at its log",
        ));
    }
    match query.as_deref() {
        Some("storage") => return monitoring.storage_answers().await.map(|()| "ready\n"),
        Some("stream") => return monitoring.stream_answers().await.map(|()| "ready\n"),
        _ => {}
    }
    let waits = monitoring
        .storage
        .as_ref()
        .is_some_and(|storage| !storage.was_connected());
    match waits && Instant::now() < monitoring.ready_from {
        true => Err(Problem::unavailable(
            "storage",
            "it is not connected to its storage yet",
        )),
        false => Ok("ready\n"),
    }
}

impl Monitoring {
    async fn storage_answers(&self) -> Result<(), Problem> {
        let Some(storage) = &self.storage else { return Ok(()) };
        sign_of_life("storage", storage.ping()).await
    }

    async fn stream_answers(&self) -> Result<(), Problem> {
        let Some(stream) = &self.stream else { return Ok(()) };
        sign_of_life("stream", stream.ping()).await
    }
}

async fn sign_of_life(code: &'static str, ping: impl Future<Output = Result<(), Error>>) -> Result<(), Problem> {
    match timeout(ANSWER_WITHIN, ping).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Problem::unavailable(code, "it does not answer: try again in a moment")),
    }
}

async fn numbers_as_text(State(monitoring): State<Monitoring>) -> impl IntoResponse {
    let (storage, stream) = tokio::join!(monitoring.storage_answers(), monitoring.stream_answers());
    gauge!("seenguard_storage_answers").set(f64::from(storage.is_ok()));
    gauge!("seenguard_stream_answers").set(f64::from(stream.is_ok()));
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, monitoring.recorder.render())
}

/// Counts a request and logs it: by its route, which names no user.
pub async fn observe(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    let method = method_label(request.method());
    let response = next.run(request).await;
    let (status, seconds) = (response.status(), begun.elapsed().as_secs_f64());
    let Reason { code, cause } = response.extensions().get::<Reason>().cloned().unwrap_or_default();
    let labels = [
        ("route", route.clone()),
        ("method", method.to_owned()),
        ("status", status.as_str().to_owned()),
    ];
    // Clients without a token must not create series.
    if status != StatusCode::UNAUTHORIZED {
        counter!("seenguard_requests_total", &labels).increment(1);
        histogram!("seenguard_request_seconds", "route" => route.clone()).record(seconds);
    }
    let (status_code, ms) = (status.as_u16(), (seconds * 1000.0).round());
    let is_due = (status.is_server_error() || status.is_client_error()) && may_log("request", code);
    if is_due && status.is_server_error() {
        tracing::warn!(
            method,
            route,
            status = status_code,
            code,
            cause,
            ms,
            "a request has failed"
        );
    } else if is_due {
        tracing::info!(method, route, status = status_code, code, ms, "a request was refused");
    } else {
        tracing::debug!(method, route, status = status_code, code, ms, "a request");
    }
    response
}

/// Limits the label: clients can invent any number of methods.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// Responds with 503 after a timeout.
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
