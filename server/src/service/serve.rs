//! The service: how its parts go together.

use std::time::Instant;

use axum::middleware::{from_fn, from_fn_with_state};
use seenguard_server::{RouterOptions, Stream, router};

use crate::auth::{Tokens, authorize};
use crate::cli::Serve;
use crate::monitoring::{self, Monitoring};
use crate::store::{connect, open};
use crate::{Failure, listen, shutdown};

pub async fn serve(options: Serve) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    let stage = shutdown::requested(options.drain())?;
    let tokens = Tokens::of(options.listen, options.listening.token_file.as_deref())?;
    let listener = listen::bind(options.listen).await?;
    let (store, connection) = open(&options.common)?;
    let mut router_options = RouterOptions::new().max_body_bytes(options.max_body_bytes as usize);
    let mut stream_connection = None;
    if let Some(name) = &options.stream {
        let connection = connect(&options.common)?;
        stream_connection = Some(connection.clone());
        router_options = router_options.stream(Stream::new(connection, name));
    }
    let monitoring = Monitoring {
        recorder,
        storage: connection,
        stream: stream_connection,
        begun: Instant::now(),
        stage: stage.clone(),
        consumer: None,
    };
    let router = router(store, router_options)
        .merge(monitoring::numbers(monitoring.clone()))
        .layer(from_fn_with_state(options.timeout(), monitoring::give_up))
        .layer(from_fn_with_state(tokens, authorize))
        .merge(monitoring::health(monitoring))
        .layer(from_fn(monitoring::observe));
    listen::serve(listener, router, stage, options.listening.shutdown_patience()).await?;
    tracing::info!("ended");
    Ok(())
}
