//! Limits of a group of routes. A request beyond them is refused at once, so that one group cannot exhaust the
//! resources of another.

use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::error_handling::HandleErrorLayer;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use utoipa_axum::router::OpenApiRouter;

use super::problem::Problem;

/// Timeout of receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of a group.
pub(super) struct Limits {
    /// Most requests at the same time.
    pub(super) requests: usize,
    /// Most bytes of all their bodies together.
    pub(super) bodies: usize,
    /// Most bytes of one.
    pub(super) body: usize,
}

impl Limits {
    /// Applies the limits to these routes.
    pub(super) fn around<S>(self, routes: OpenApiRouter<S>) -> OpenApiRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let bodies = Bodies {
            budget: Arc::new(Semaphore::new(self.bodies)),
            most: self.body,
        };
        let layers = ServiceBuilder::new()
            .layer(HandleErrorLayer::new(shed))
            .layer(LoadShedLayer::new())
            .layer(GlobalConcurrencyLimitLayer::new(self.requests))
            .layer(from_fn_with_state(bodies, received));
        routes.route_layer(layers)
    }
}

async fn shed(_: BoxError) -> Problem {
    busy()
}

fn busy() -> Problem {
    Problem::unavailable(
        "busy",
        "too many concurrent requests: send it again in a moment, or start more services",
    )
}

#[derive(Clone)]
struct Bodies {
    /// One permit for each byte.
    budget: Arc<Semaphore>,
    most: usize,
}

/// Receives the body before the route gets the request. Its memory stays reserved until the response.
async fn received(State(bodies): State<Bodies>, request: Request, next: Next) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let received = timeout(BODY_TIMEOUT, bodies.receive(body)).await;
    let (body, _permit) = received
        .map_err(|_| Problem::unavailable("timeout", "the body did not arrive within 5 s: send it again"))??;
    Ok(next.run(Request::from_parts(parts, body.into())).await)
}

impl Bodies {
    /// Receives a body, and reserves memory for each frame as it arrives. It never waits for memory, since incomplete
    /// bodies would wait for each other.
    async fn receive(&self, body: Body) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Problem> {
        let mut frames = body.into_data_stream();
        let (mut bytes, mut permit) = (Vec::new(), None::<OwnedSemaphorePermit>);
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| Problem::bad_request("the body is incomplete: send it again"))?;
            if frame.len() > self.most - bytes.len() {
                return Err(Problem::too_large(format!(
                    "the body exceeds {} bytes: send fewer ids, or raise --max-body-bytes for a page",
                    self.most
                )));
            }
            let more = self.budget.clone().try_acquire_many_owned(frame.len() as u32);
            let more = more.map_err(|_| busy())?;
            match &mut permit {
                Some(permit) => permit.merge(more),
                None => permit = Some(more),
            }
            bytes.extend_from_slice(&frame);
        }
        Ok((bytes, permit))
    }
}
