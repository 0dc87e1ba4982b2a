//! What there may be at once: beyond it a request is refused before it costs anything.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::RouterOptions;
use super::problem::Problem;

pub(super) struct Limits {
    pub(super) requests: Arc<Semaphore>,
    pub(super) body_within: Duration,
    /// A permit a byte.
    bodies: Arc<Semaphore>,
    max_body_bytes: usize,
}

impl Limits {
    pub(super) fn new(options: &RouterOptions) -> Self {
        Limits {
            requests: Arc::new(Semaphore::new(options.requests_at_once)),
            body_within: options.body_within,
            bodies: Arc::new(Semaphore::new(options.bodies_bytes as usize)),
            max_body_bytes: options.max_body_bytes,
        }
    }

    /// Room for the body of a request: as much as it says, or may have if it does not say.
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

/// Lets pass what there is room for.
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
