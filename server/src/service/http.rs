//! The service: how its parts go together.

use std::sync::Arc;

use axum::middleware::{from_fn, from_fn_with_state};

use crate::auth::{Token, authorize};
use crate::cli::Serve;
use crate::monitoring::{self, Monitoring};
use crate::routes::{self, Service};
use crate::store::{Store, connect};
use crate::stream::Stream;
use crate::{Failure, listen, shutdown};

pub async fn serve(options: Serve) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    let stopping = shutdown::requested()?;
    let token = Token::of(options.listen, options.listening.token_file.as_deref())?;
    let listener = listen::bind(options.listen).await?;
    let store = Arc::new(Store::open(&options.common).await?);
    let stream = match &options.stream {
        Some(name) => Some(Stream::new(connect(&options.common).await?, name)),
        None => None,
    };
    let monitoring = Monitoring {
        recorder,
        store: Arc::clone(&store),
        stopping: stopping.clone(),
    };
    let service = Service {
        store,
        stream,
        max_ids: options.max_ids as usize,
    };
    let router = routes::router(service, options.max_body_bytes as usize)
        .merge(monitoring::numbers(monitoring.clone()))
        .layer(from_fn_with_state(options.timeout(), monitoring::give_up))
        .layer(from_fn_with_state(token, authorize))
        .merge(monitoring::health(monitoring))
        .layer(from_fn(monitoring::observe));
    listen::serve(listener, router, stopping, options.listening.shutdown_patience()).await?;
    tracing::info!("ended");
    Ok(())
}
