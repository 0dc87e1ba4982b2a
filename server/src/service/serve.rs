//! The service: connects its parts.

use std::sync::Arc;
use std::time::Instant;

use axum::middleware::{from_fn, from_fn_with_state};
use seenguard_server::{ReportStream, RouterOptions, Stream, router};

use crate::auth::{Access, authorize};
use crate::cli::Serve;
use crate::monitoring::{self, Monitoring};
#[cfg(feature = "kafka")]
use crate::store::topic;
use crate::store::{connect, open};
use crate::{Failure, listen, shutdown};

/// The stream in which reports wait for consumers, if there is one.
fn stream(options: &Serve) -> Result<Option<Arc<dyn ReportStream>>, Failure> {
    #[cfg(feature = "kafka")]
    if let Some(kafka) = topic(&options.common, &options.kafka)? {
        let stream: Arc<dyn ReportStream> = Arc::new(kafka);
        let warmed = stream.clone();
        // Connect before the first record, and report errors of the configuration now.
        tokio::spawn(async move { warmed.ping().await });
        return Ok(Some(stream));
    }
    let Some(name) = &options.stream else { return Ok(None) };
    let stream = Stream::new(connect(&options.common)?, name).max_bytes(options.stream_max_bytes);
    Ok(Some(Arc::new(stream)))
}

pub async fn serve(options: Serve) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    let stage = shutdown::requested(options.drain_seconds)?;
    let (tokens, of_administration) = (&options.listening.token_file, &options.admin_token_file);
    let access = Access::of(options.listen, tokens.as_deref(), of_administration.as_deref())?;
    let listener = listen::bind(options.listen).await?;
    let (store, connection) = open(&options.common)?;
    let mut router_options = RouterOptions::new().max_body_bytes(options.max_body_bytes as usize);
    let stream = stream(&options)?;
    if let Some(stream) = &stream {
        router_options = router_options.stream(stream.clone());
    }
    let monitoring = Monitoring {
        recorder,
        storage: connection,
        stream,
        ready_from: Instant::now() + options.ready_seconds,
        stage: stage.clone(),
        consumer: None,
    };
    let listening = options.listening.clone();
    let mut routes =
        router(store, router_options).layer(from_fn_with_state(options.timeout_seconds, monitoring::give_up));
    let health = monitoring::health(monitoring.clone());
    let numbers = monitoring::numbers(monitoring);
    let admin = match options.admin_listen {
        Some(address) => {
            let admin = health.merge(numbers).layer(from_fn(monitoring::observe));
            let listener = listen::bind(address).await?;
            tracing::info!("monitored at http://{}", listener.local_addr()?);
            routes = routes.layer(from_fn_with_state(access, authorize));
            Some(tokio::spawn(listen::serve(
                listener,
                admin,
                stage.clone(),
                listening.clone(),
            )))
        }
        None => {
            routes = routes
                .merge(numbers)
                .layer(from_fn_with_state(access, authorize))
                .merge(health);
            None
        }
    };
    listen::announce(&listener)?;
    listen::serve(listener, routes.layer(from_fn(monitoring::observe)), stage, listening).await?;
    if let Some(admin) = admin {
        admin.await??;
    }
    tracing::info!("ended");
    Ok(())
}
