//! The routes, their requests and their responses.

mod administration;
mod bulk;
mod ids;
mod limits;
mod problem;
mod schema;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use metrics::counter;
use seenguard::{ChainSnapshot, IdList, PageRequest, PlanJson, PlanOptions, ReceivedReport, Report, plan};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::{IntoParams, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::ids::{Ids, IdsAt};
use self::limits::Limits;
use self::schema::Description;
#[cfg(feature = "consumer")]
use crate::consumer::ReportStream;
use crate::cpu_bound::{bytes_of, run_cpu_bound};
use crate::error::{Error, ErrorKind};
use crate::metrics::count_applied;
use crate::seen_store::SeenStore;

pub use self::problem::{Problem, Reason};

/// Most candidates of a page.
const MAX_RANKED: usize = 20_000;
/// Most ids of a request that become unseen, which is also the most that a chain stores.
const MAX_UNSEEN: usize = 1_000;
/// Most bytes of any body except a page's.
const MAX_BODY: usize = 1 << 20;

/// The options of the routes.
#[derive(Debug, Clone)]
pub struct RouterOptions {
    #[cfg(feature = "consumer")]
    stream: Option<Arc<dyn ReportStream>>,
    max_body_bytes: usize,
}

impl RouterOptions {
    /// The largest value of [`RouterOptions::max_body_bytes`], in bytes: 64 MiB, the memory for the bodies of all pages.
    pub const MAX_BODY_BYTES: usize = 64 << 20;

    /// The defaults: reports are applied at once, and the body of a page has at most 2 MiB.
    pub fn new() -> Self {
        RouterOptions {
            #[cfg(feature = "consumer")]
            stream: None,
            max_body_bytes: 2 << 20,
        }
    }

    /// Appends reports to this stream, for a [`Consumer`](crate::Consumer), instead of applying them at once.
    #[cfg(feature = "consumer")]
    pub fn stream(mut self, stream: Arc<dyn ReportStream>) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Sets the most bytes of the body of a page, up to [`RouterOptions::MAX_BODY_BYTES`]. Other bodies have at most 1
    /// MiB.
    pub fn max_body_bytes(mut self, max_body_bytes: usize) -> Self {
        self.max_body_bytes = max_body_bytes.min(Self::MAX_BODY_BYTES);
        self
    }
}

impl Default for RouterOptions {
    fn default() -> Self {
        RouterOptions::new()
    }
}

/// The state of the routes.
struct Service {
    store: SeenStore,
    #[cfg(feature = "consumer")]
    stream: Option<Arc<dyn ReportStream>>,
}

impl Service {
    /// Deletes a user's history.
    async fn forget(&self, user: &str) -> Result<(), Problem> {
        let done = self.store.forget_as_report(user).await?;
        self.log(user, &done).await
    }

    /// Appends a change of a chain to the stream, if chains can be rebuilt from it.
    #[cfg_attr(not(feature = "consumer"), expect(unused_variables, clippy::unused_async))]
    async fn log(&self, user: &str, done: &ReceivedReport) -> Result<(), Problem> {
        #[cfg(feature = "consumer")]
        if let Some(stream) = self.stream.as_ref().filter(|stream| stream.is_replayable()) {
            let append = self
                .store
                .within_deadline(seenguard::StoreUse::Append, || stream.append(user, done));
            append.await.map_err(Problem::of_stream)?;
        }
        Ok(())
    }
}

/// The routes of the service, for an axum app: pages, reports, snapshots, plans, and `/openapi.json`, which describes
/// them. The app must authorize requests for a user, in a layer before these routes.
///
/// ```
/// use std::sync::Arc;
///
/// use seenguard_server::{MemoryBackend, RouterOptions, SeenStore, StoreOptions, router};
///
/// let options = StoreOptions {
///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
///     ..StoreOptions::default()
/// };
/// let store = SeenStore::new(MemoryBackend::default(), options)?;
/// let app: axum::Router = axum::Router::new().nest("/seen", router(store, RouterOptions::new()));
/// # Ok::<(), seenguard_server::Error>(())
/// ```
pub fn router(store: SeenStore, options: RouterOptions) -> Router {
    let service = Service {
        store,
        #[cfg(feature = "consumer")]
        stream: options.stream,
    };
    let group = |requests, bodies, body, routes| Limits { requests, bodies, body }.around(routes);
    let routes = OpenApiRouter::new;
    let pages = routes().routes(routes!(page)).routes(routes!(snapshot));
    let reports = routes()
        .routes(routes!(impressions))
        .routes(routes!(unsee))
        .routes(routes!(forget));
    let bulk = routes().routes(routes!(bulk::impressions_of_many));
    let administration = routes()
        .routes(routes!(plan_chain))
        .routes(routes!(administration::export))
        .routes(routes!(administration::forget_many));
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .merge(group(
            4_096,
            RouterOptions::MAX_BODY_BYTES,
            options.max_body_bytes,
            pages,
        ))
        .merge(group(2_048, 32 << 20, MAX_BODY, reports))
        .merge(group(64, 32 << 20, MAX_BODY, bulk))
        .merge(group(64, 1 << 20, MAX_BODY, administration))
        .with_state(Arc::new(service))
        .split_for_parts();
    let description = Json(description);
    router
        .route("/openapi.json", axum::routing::get(async move || description.clone()))
        .method_not_allowed_fallback(async || {
            let detail = "the route does not support this method: see /openapi.json";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
        })
        .fallback(async || {
            let detail = "no such route: see /openapi.json";
            Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
        })
        .layer(CatchPanicLayer::custom(|_| {
            Problem::from(Error::from(ErrorKind::Internal)).into_response()
        }))
        // The groups have their own limits.
        .layer(DefaultBodyLimit::disable())
}

/// Makes a page of ranked ids.
///
/// `ranked` has all candidates, the best first, including the seen ones. Send `next` as the `cursor` of the next page,
/// and `snapshot` unchanged to the device.
#[utoipa::path(
    post,
    path = "/v1/users/{user}/page",
    params(
        ("user" = String, Path, description = "The user of the page"),
        ("Seen-Held" = Option<String>, Header, description = "Forwarded from the device: the shards that it has"),
        ("Seen-Pending" = Option<String>, Header, description = "Forwarded from the device: the impressions that it has recorded recently"),
    ),
    request_body = PageBody,
    responses(
        (status = 200, description = "The page", body = PageResponse),
        (status = 400, description = "The body has another form, or an option is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request exceeds a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn page(
    State(service): State<Arc<Service>>,
    User(user): User,
    device: Device,
    Body(body): Body<PageBody>,
) -> Result<Response, Problem> {
    check_count(body.ranked.len(), MAX_RANKED)?;
    let request = PageRequest {
        size: body.size,
        cursor: body.cursor.as_deref(),
        repeats: match body.repeats {
            Repeats::Drop => seenguard::Repeats::Drop,
            Repeats::Last => seenguard::Repeats::Last,
        },
        held: device.held.as_deref(),
        pending: device.pending.as_deref().into(),
    };
    let page = service.store.page(&user, &body.ranked, &request).await?;
    if page.items.len() < body.size {
        counter!("seenguard_short_pages_total").increment(1);
    }
    let answer = PageResponse {
        items: IdsAt {
            ids: &body.ranked,
            indices: &page.items,
        },
        next: page.next.as_deref(),
        snapshot: page.snapshot.as_ref(),
        degraded: page.degraded,
    };
    Ok(private(page.snapshot.as_ref(), &answer))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PageBody {
    /// The ids of all candidates, the best first.
    #[schema(value_type = Vec<String>)]
    ranked: Ids,
    /// The number of items.
    #[schema(minimum = 1, maximum = 10_000)]
    size: usize,
    /// `next` of the previous page. Any other string requests the first page.
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    repeats: Repeats,
}

/// The treatment of candidates that the user has seen: "drop" leaves them out; with "last" they follow if there are too
/// few fresh ones, those seen longest ago first.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Repeats {
    #[default]
    Drop,
    Last,
}

/// A page.
#[derive(Serialize, ToSchema)]
#[schema(as = Page)]
struct PageResponse<'a> {
    /// The items of the page, by their ids.
    #[schema(value_type = Vec<String>)]
    items: IdsAt<'a>,
    /// The cursor of the next page, short and URL-safe; null on the last page.
    next: Option<&'a str>,
    /// The snapshot with which the items were filtered. Send it to the device, which passes it to `guard.apply`. Absent
    /// if the page is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ChainSnapshot>)]
    snapshot: Option<&'a ChainSnapshot>,
    /// Whether the page was made without the user's stored chain, because the storage did not respond. Send it to the
    /// device, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
}

/// Stores a device's report.
///
/// Forward the device's body unchanged, regardless of its content type. The response is sent when the report is in the
/// user's chain; with a stream, when it is in the stream and its impressions are among the pending ones.
#[utoipa::path(
    post,
    path = "/v1/users/{user}/impressions",
    params(("user" = String, Path, description = "The user of the device")),
    request_body = Report,
    responses(
        (status = 204, description = "The report is stored"),
        (status = 400, description = "The body is not a report", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The report is of another namespace: respond to the device with 409, too", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request exceeds a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn impressions(
    State(service): State<Arc<Service>>,
    User(user): User,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    let store = &service.store;
    #[cfg(feature = "consumer")]
    if let Some(stream) = &service.stream {
        let report = store.accept(&user, &body).await?;
        let append = store.within_deadline(seenguard::StoreUse::Append, || stream.append(&user, &report));
        append.await.map_err(Problem::of_stream)?;
        return Ok(StatusCode::NO_CONTENT);
    }
    let report = store.check(&user, &body)?;
    let (ingested, stored) = tokio::join!(store.ingest(&user, &report), store.store_list(&user, &report));
    ingested?;
    stored?;
    count_applied(&[report], false);
    Ok(StatusCode::NO_CONTENT)
}

/// Returns a snapshot for a device, without a page.
#[utoipa::path(
    get,
    path = "/v1/users/{user}/snapshot",
    params(
        ("user" = String, Path, description = "The user of the device"),
        ("Seen-Held" = Option<String>, Header, description = "Forwarded from the device: the shards that it has"),
    ),
    responses(
        (status = 200, description = "The snapshot", body = ChainSnapshot),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn snapshot(State(service): State<Arc<Service>>, User(user): User, device: Device) -> Result<Response, Problem> {
    let snapshot = service.store.snapshot(&user, device.held.as_deref()).await?;
    Ok(private(Some(&snapshot), &snapshot))
}

/// Makes ids unseen.
///
/// Unseen ids are fresh until they are recorded again. At most 1,000 in a request; the newest 1,000 of a user are
/// stored.
#[utoipa::path(
    post,
    path = "/v1/users/{user}/unsee",
    params(("user" = String, Path, description = "The user who wants to see them again")),
    request_body = UnseeBody,
    responses(
        (status = 204, description = "The ids are fresh"),
        (status = 400, description = "The body has another form", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request exceeds a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn unsee(
    State(service): State<Arc<Service>>,
    User(user): User,
    Body(body): Body<UnseeBody>,
) -> Result<StatusCode, Problem> {
    check_count(body.ids.len(), MAX_UNSEEN)?;
    let done = service.store.unsee_as_report(&user, &body.ids).await?;
    service.log(&user, &done).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UnseeBody {
    /// The ids.
    #[schema(value_type = Vec<String>)]
    ids: Ids,
}

/// Deletes a user's history.
///
/// The user's devices delete their impressions with their next page. Earlier impressions that are reported later are
/// ignored.
#[utoipa::path(
    delete,
    path = "/v1/users/{user}/history",
    params(("user" = String, Path, description = "The user of the history")),
    responses(
        (status = 204, description = "The history is deleted"),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn forget(State(service): State<Arc<Service>>, User(user): User) -> Result<StatusCode, Problem> {
    service.forget(&user).await.map(|()| StatusCode::NO_CONTENT)
}

/// Plans the size of chains.
///
/// Returns the options of a chain for the impressions of a feed's user, as flags of this program, and its cost in
/// bytes.
#[utoipa::path(
    get,
    path = "/v1/plan",
    params(PlanQuery),
    responses(
        (status = 200, description = "The plan", body = PlanJson),
        (status = 400, description = "An option is wrong, or no chain is large enough", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn plan_chain(
    query: Result<Query<PlanQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<PlanJson>, Problem> {
    let Query(query) = query?;
    let mut options = PlanOptions::new(query.per_day, query.window_days, query.false_positive_rate);
    options.per_refresh = query.per_refresh.unwrap_or(options.per_refresh);
    let plan = plan(&options).map_err(Error::from)?;
    Ok(Json(plan.into()))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PlanQuery {
    /// The average number of impressions of one user a day.
    per_day: f64,
    /// The number of days for which an item must not be shown again.
    window_days: f64,
    /// The share of fresh items that all shards together may stop wrongly when they are full, 0 to 1.
    false_positive_rate: f64,
    /// Impressions between two refreshes; 10.
    per_refresh: Option<f64>,
}

fn check_count(ids: usize, most: usize) -> Result<(), Problem> {
    match ids <= most {
        true => Ok(()),
        false => Err(Problem::too_large(format!(
            "the request has {ids} entries, and the limit is {most}: send fewer"
        ))),
    }
}

/// A response for one user, which caches must not store.
fn private(snapshot: Option<&ChainSnapshot>, answer: &impl Serialize) -> Response {
    let bytes = snapshot.map_or(0, |snapshot| bytes_of(&snapshot.shards));
    let answer = run_cpu_bound(bytes, || Json(answer).into_response());
    ([(header::CACHE_CONTROL, "private, no-store")], answer).into_response()
}

/// The user in the address.
struct User(String);

impl<S: Send + Sync> FromRequestParts<S> for User {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(user) = Path::from_request_parts(parts, state).await?;
        Ok(User(user))
    }
}

/// The device's `Seen-Held` and `Seen-Pending`; `None` for an invalid field.
struct Device {
    held: Option<String>,
    pending: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Device {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let text = |name: &str| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        Ok(Device {
            held: text("seen-held"),
            pending: text("seen-pending"),
        })
    }
}

/// A JSON body, regardless of its content type.
struct Body<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let refused = |error: String| Problem::bad_request(format!("the body does not match /openapi.json: {error}"));
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|rejection| refused(rejection.body_text()))?;
        let parsed = run_cpu_bound(bytes.len(), || crate::json::from_slice(&bytes));
        Ok(Body(parsed.map_err(|error| refused(error.to_string()))?))
    }
}
