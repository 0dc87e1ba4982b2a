//! Limits of concurrent requests and bodies: beyond them a request is refused before it uses resources.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

pub(super) const MAX_REQUESTS: usize = 4_096;
/// Most bytes of all bodies together.
const MAX_BYTES: usize = 64 << 20;
/// Timeout of receiving a body.
pub(super) const BODY_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Limits {
    /// One permit for each byte.
    bodies: Arc<Semaphore>,
    max_body_bytes: usize,
}

impl Limits {
    pub(super) fn new(max_body_bytes: usize) -> Self {
        Limits {
            bodies: Arc::new(Semaphore::new(MAX_BYTES)),
            max_body_bytes,
        }
    }

    /// Reserves memory for the body of a request: its stated length, or the limit if it states none.
    pub(super) fn room_for(&self, request: &Request) -> Result<OwnedSemaphorePermit, Problem> {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let bytes = length.unwrap_or(self.max_body_bytes).min(self.max_body_bytes);
        self.bodies
            .clone()
            .try_acquire_many_owned(bytes as u32)
            .map_err(|_| busy())
    }
}

/// Passes requests for which there is memory.
pub(super) async fn with_room(
    State(requests): State<Arc<Semaphore>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let _permit = requests.try_acquire().map_err(|_| busy())?;
    Ok(next.run(request).await)
}

fn busy() -> Problem {
    Problem::unavailable("busy", "there are too many requests at once: try again in a moment")
}
