//! Monitoring: liveness, readiness, and metrics for Prometheus.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, RawQuery, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use seenguard_server::{
    ConsumerHealth, Error, Problem, Reason, RedisConnection, ReportStream, describe_metrics, may_log,
};
use tokio::sync::watch;
use tokio::time::{interval, timeout};
use tower_http::trace::TraceLayer;
use tracing::Span;

use crate::Failure;
use crate::shutdown::Stage;

/// Buckets of all histograms except the lag.
const SECONDS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 20.0,
];
/// Buckets of the lag, up to that of a stream that has stopped for a week.
const LAG_SECONDS: [f64; 12] = [
    0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0, 604_800.0,
];
/// The interval of the recorder's upkeep.
const UPKEEP: Duration = Duration::from_secs(5);
/// Timeout of a check of the storage or the stream.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Installs the recorder of the metrics.
pub fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&SECONDS)?
        .set_buckets_for_metric(Matcher::Full("seenguard_lag_seconds".into()), &LAG_SECONDS)?
        .install_recorder()?;
    describe_metrics();
    let maintained = recorder.clone();
    tokio::spawn(async move {
        let mut ticks = interval(UPKEEP);
        loop {
            ticks.tick().await;
            maintained.run_upkeep();
        }
    });
    Ok(recorder)
}

/// The state of the routes.
#[derive(Clone)]
pub struct Monitoring {
    pub recorder: PrometheusHandle,
    pub stage: watch::Receiver<Stage>,
    /// The time from which on it is ready even if it was never connected.
    pub ready_from: Instant,
    /// The connection to Redis; `None` if chains are in memory.
    pub storage: Option<RedisConnection>,
    pub stream: Option<Arc<dyn ReportStream>>,
    pub consumer: Option<ConsumerHealth>,
}

/// The routes of liveness and readiness, for supervisors and load balancers, which have no token.
pub fn health(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(monitoring)
}

/// The route of the metrics.
pub fn metrics(monitoring: Monitoring) -> Router {
    Router::new().route("/metrics", get(render)).with_state(monitoring)
}

/// Ready once it was connected, or after --ready-seconds, since a process that starts in an outage makes degraded
/// pages. `?storage` and `?stream` check whether these respond now.
async fn ready(State(monitoring): State<Monitoring>, RawQuery(query): RawQuery) -> Result<&'static str, Problem> {
    if *monitoring.stage.borrow() > Stage::Running {
        let detail = "shutting down: send requests to another process";
        return Err(Problem::unavailable("stopping", detail));
    }
    if monitoring.consumer.as_ref().is_some_and(|health| !health.is_ready()) {
        let detail = "the consumer makes no progress: see its log";
        return Err(Problem::unavailable("storage", detail));
    }
    let is_connected = || monitoring.storage.as_ref().is_none_or(RedisConnection::was_connected);
    match query.as_deref() {
        Some("storage") => monitoring.storage_answers().await?,
        Some("stream") => monitoring.stream_answers().await?,
        _ if !is_connected() && Instant::now() < monitoring.ready_from => {
            let detail = "not connected to Redis yet: wait, or see the log";
            return Err(Problem::unavailable("storage", detail));
        }
        _ => {}
    }
    Ok("ready\n")
}

impl Monitoring {
    async fn storage_answers(&self) -> Result<(), Problem> {
        let Some(storage) = &self.storage else { return Ok(()) };
        answers("storage", storage.ping()).await
    }

    async fn stream_answers(&self) -> Result<(), Problem> {
        let Some(stream) = &self.stream else { return Ok(()) };
        answers("stream", stream.ping()).await
    }
}

async fn answers(code: &'static str, ping: impl Future<Output = Result<(), Error>>) -> Result<(), Problem> {
    match timeout(CHECK_TIMEOUT, ping).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Problem::unavailable(code, "no response: see the log")),
    }
}

async fn render(State(monitoring): State<Monitoring>) -> impl IntoResponse {
    let (storage, stream) = tokio::join!(monitoring.storage_answers(), monitoring.stream_answers());
    gauge!("seenguard_storage_answers").set(f64::from(storage.is_ok()));
    gauge!("seenguard_stream_answers").set(f64::from(stream.is_ok()));
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, monitoring.recorder.render())
}

/// Counts and logs requests to these routes. Log events of a request have the trace id of its `traceparent`.
pub fn observed(routes: Router) -> Router {
    let trace = TraceLayer::new_for_http()
        .make_span_with(span_of)
        .on_request(())
        .on_response(())
        .on_failure(());
    routes.layer(from_fn(observe)).layer(trace)
}

/// The span of a request with a trace id, by W3C Trace Context: version, trace id, parent id and flags in hexadecimal
/// digits.
fn span_of<B>(request: &axum::http::Request<B>) -> Span {
    let parent = request
        .headers()
        .get("traceparent")
        .and_then(|parent| parent.to_str().ok());
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match parent
        .map(|parent| parent.splitn(4, '-').collect::<Vec<_>>())
        .as_deref()
    {
        Some([version, trace_id, parent_id, _])
            if version.len() == 2 && trace_id.len() == 32 && parent_id.len() == 16 && is_hex(trace_id) =>
        {
            tracing::error_span!("request", trace_id)
        }
        _ => Span::none(),
    }
}

/// Counts and logs a request by its route, which contains no user.
async fn observe(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    let method = method_label(request.method());
    let response = next.run(request).await;
    let (status, seconds) = (response.status(), start.elapsed().as_secs_f64());
    let Reason { code, cause } = response.extensions().get::<Reason>().cloned().unwrap_or_default();
    // Clients without a token must not create time series.
    if status != StatusCode::UNAUTHORIZED {
        let status = status.as_str().to_owned();
        counter!("seenguard_requests_total", "route" => route.clone(), "method" => method, "status" => status)
            .increment(1);
        histogram!("seenguard_request_seconds", "route" => route.clone()).record(seconds);
    }
    let is_error = status.is_server_error() || status.is_client_error();
    let is_due = is_error && may_log("request", code);
    let (status_code, ms) = (status.as_u16(), (seconds * 1000.0).round());
    macro_rules! log {
        ($level:ident, $message:literal) => {
            tracing::$level!(method, route, status = status_code, code, cause, ms, $message)
        };
    }
    match is_due {
        true if status.is_server_error() => log!(warn, "request failed"),
        true => log!(info, "request refused"),
        false => log!(debug, "request"),
    }
    response
}

/// Limits the values of the label, since clients can send any method.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// Responds with 503 after a timeout.
pub async fn time_out(State(after): State<Duration>, request: Request, next: Next) -> Response {
    match timeout(after, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "the request exceeded its timeout, and may have been carried out: send it again";
            Problem::unavailable("timeout", detail).into_response()
        }
    }
}
