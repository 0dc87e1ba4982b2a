//! Reports of many users, from a job that processes a stream.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use seenguard::{ReceivedReport, Time};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Problem, Service};
use crate::applying::{ApplyOptions, DeadLetter, Entry, EntryId, apply_all};
use crate::cpu_bound::run_cpu_bound;
use crate::error::ErrorKind;
use crate::received;

const MAX_USERS: usize = 500;
const MAX_IDS: usize = 10_000;

/// Applies reports of many users.
///
/// For a job that replaces the consumer. The body is NDJSON with one record of the stream in each line, `{"user":
/// "ada", "form": 1, "at": 1764000000000, "report": …}`, where `report` is the record's value. Set `form` to the
/// record's header `seenguard`, which shows that a server has written the report. Without it the report is a device's
/// own, received when the record was written, at `at`. Reports of a user are applied in their order.
#[utoipa::path(
    post,
    path = "/v1/impressions",
    request_body(content = String, content_type = "application/x-ndjson", description = "At most 1 MB, of 500 users, with 10,000 ids"),
    responses(
        (status = 200, description = "All reports are stored except the refused ones", body = BulkResponse),
        (status = 413, description = "The request exceeds a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Some reports may be stored: send all again in a moment. Code newer-form: a newer version has written a report, upgrade the service", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn impressions_of_many(State(service): State<Arc<Service>>, body: Bytes) -> Result<Response, Problem> {
    let store = &service.store;
    let arrived = store.now(None);
    let entries = run_cpu_bound(body.len(), || entries_of(&body, arrived))?;
    check_sizes(&entries)?;
    let lines = entries.len();
    let options = ApplyOptions {
        deadline: Instant::now() + store.deadline(),
        is_replay: false,
    };
    let outcome = apply_all(store, entries, options).await;
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let letters = outcome.dead.into_iter().chain(outcome.failed);
    let refused = letters.map(|DeadLetter { id, code }| Refused { line: id.1, code });
    let mut refused: Vec<Refused> = refused.collect();
    refused.sort_by_key(|refused| refused.line);
    let taken = lines - refused.len();
    Ok(Json(BulkResponse { taken, refused }).into_response())
}

/// The outcome of a bulk request.
#[derive(Serialize, ToSchema)]
struct BulkResponse {
    /// The number of stored reports.
    taken: usize,
    /// Reports that cannot be applied: do not send them again.
    refused: Vec<Refused>,
}

/// A line that cannot be applied.
#[derive(Serialize, ToSchema)]
struct Refused {
    /// The number of the line, from 0; empty lines are not counted.
    line: u64,
    /// The code of the problem.
    #[schema(example = "wrong-namespace")]
    code: &'static str,
}

#[derive(Deserialize)]
struct Line<'a> {
    user: String,
    #[serde(default)]
    form: Option<u32>,
    /// When the record was written, in Unix ms.
    #[serde(default)]
    at: Option<u64>,
    #[serde(borrow)]
    report: &'a RawValue,
}

fn entries_of(body: &[u8], arrived: Time) -> Result<Vec<Entry>, Problem> {
    let lines = body.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty()).enumerate();
    let entry = |(index, line)| {
        let (id, content) = (EntryId(0, index as u64), content_of(line, arrived)?);
        Ok(Entry { id, content })
    };
    lines.map(entry).collect()
}

type Content = Result<(String, ReceivedReport), &'static str>;

fn content_of(line: &[u8], arrived: Time) -> Result<Content, Problem> {
    let Ok(Line { user, form, at, report }) = serde_json::from_slice(line) else {
        return Ok(Err(ErrorKind::BadReport.code()));
    };
    match received::is_newer(form) {
        Ok(false) => {}
        Ok(true) => {
            let what =
                "a line has a form that only a newer version reads: upgrade the service, then send the lines again";
            return Err(Problem::unavailable("newer-form", what));
        }
        Err(error) => return Ok(Err(error.code())),
    }
    let arrived = at.map_or(arrived, |at| Time::from_unix_ms(at).min(arrived));
    let report = received::of_record(report.get().as_bytes(), form, arrived);
    Ok(report.map(|report| (user, report)).map_err(|error| error.code()))
}

fn check_sizes(entries: &[Entry]) -> Result<(), Problem> {
    let readable = || entries.iter().filter_map(|entry| entry.content.as_ref().ok());
    let users: BTreeSet<&str> = readable().map(|(user, _)| user.as_str()).collect();
    let ids: usize = readable()
        .map(|(_, report)| report.impressions.len() + report.unseen.len())
        .sum();
    match (users.len(), ids) {
        (..=MAX_USERS, ..=MAX_IDS) => Ok(()),
        (users, ids) => Err(Problem::too_large(format!(
            "the request has {ids} ids of {users} users, and the limit is {MAX_IDS} of {MAX_USERS}: send fewer lines"
        ))),
    }
}
