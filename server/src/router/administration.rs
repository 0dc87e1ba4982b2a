//! Export and deletion of people's data, for administrators.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::iter;
use seenguard::{Impression, Time};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use super::{Body, Problem, Service, User, check_count, private};

/// Most people of a request.
const MAX_PEOPLE: usize = 1_000;
/// The number of histories that are deleted concurrently.
const AT_ONCE: usize = 32;

/// Exports a person's data.
///
/// The ids in the shards cannot be listed, since the shards are Bloom filters.
#[utoipa::path(
    get,
    path = "/v1/users/{user}/export",
    params(("user" = String, Path, description = "The person who has requested it")),
    responses(
        (status = 200, description = "The stored data", body = Export),
        (status = 503, description = "Try again in a moment", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn export(State(service): State<Arc<Service>>, User(user): User) -> Result<Response, Problem> {
    let loaded = service.store.loaded(&user).await?;
    let of_kind = |kind: &str| -> Vec<Impression> {
        let entry = |(name, at): &(String, String)| {
            let (of, id) = name.split_once(':')?;
            let (id, at) = (id.to_owned(), Time::from_unix_ms(at.parse().ok()?));
            (of == kind).then_some(Impression { id, at })
        };
        loaded.stored.fields.iter().filter_map(entry).collect()
    };
    let forget_before = loaded.stored.fields.iter().find(|(name, _)| name == "forgetBefore");
    let export = Export {
        unseen: of_kind("unseen"),
        seen: of_kind("seen"),
        forget_before: forget_before.and_then(|(_, at)| at.parse().ok()),
        pending: loaded.pending.lines().map(str::to_owned).collect(),
        shard_bytes: loaded.stored.shards.iter().map(String::len).collect(),
    };
    Ok(private(None, &export))
}

/// A person's stored data.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Export {
    /// Unseen ids, each with its time.
    unseen: Vec<Impression>,
    /// Ids that were unseen and have been seen again, each with its time.
    seen: Vec<Impression>,
    /// When the history was deleted, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    forget_before: Option<u64>,
    /// The pending impressions of each device, as hashes.
    pending: Vec<String>,
    /// Bytes of each shard, the newest first.
    shard_bytes: Vec<usize>,
}

/// Deletes the histories of many people.
///
/// Equals `DELETE /v1/users/{user}/history` for each person. The request may be repeated.
#[utoipa::path(
    post,
    path = "/v1/users/forget",
    request_body = ForgetBody,
    responses(
        (status = 200, description = "The result for each person", body = ForgetResponse),
        (status = 400, description = "The body has another form", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The request exceeds a limit", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn forget_many(
    State(service): State<Arc<Service>>,
    Body(ForgetBody { users }): Body<ForgetBody>,
) -> Result<Json<ForgetResponse>, Problem> {
    check_count(users.len(), MAX_PEOPLE)?;
    let deadline = Instant::now() + service.store.deadline();
    let forget = async |user: String| {
        let forgotten = timeout_at(deadline, service.forget(&user)).await;
        let code = match forgotten {
            Ok(Ok(())) => None,
            Ok(Err(problem)) => Some(problem.code()),
            Err(_) => Some("timeout"),
        };
        Status { code }
    };
    let results = iter(users).map(forget).buffered(AT_ONCE).collect().await;
    Ok(Json(ForgetResponse { results }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgetBody {
    /// At most 1,000 people.
    users: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ForgetResponse {
    /// One result for each person, in their order.
    results: Vec<Status>,
}

#[derive(Serialize, ToSchema)]
struct Status {
    /// The code of the problem; absent if the history is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}
