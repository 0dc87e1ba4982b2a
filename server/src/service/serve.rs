//! The service: assembles its parts.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::middleware::from_fn_with_state;
use seenguard_server::{ReportStream, RouterOptions, Stream, router};

use crate::auth::{Access, authorize};
use crate::cli::Serve;
use crate::monitoring::{self, Monitoring};
#[cfg(feature = "kafka")]
use crate::store::topic;
use crate::store::{connect, open};
use crate::{Failure, listen, shutdown};

/// The stream of reports, if the options have one.
pub fn stream(options: &Serve) -> Result<Option<Arc<dyn ReportStream>>, Failure> {
    #[cfg(feature = "kafka")]
    if let Some(kafka) = topic(&options.common, &options.kafka)? {
        let stream: Arc<dyn ReportStream> = Arc::new(kafka);
        let warmed = stream.clone();
        // Connect before the first record, and log errors of the configuration now.
        tokio::spawn(async move { warmed.ping().await });
        return Ok(Some(stream));
    }
    let Some(name) = &options.stream else { return Ok(None) };
    let stream = Stream::new(connect(&options.common)?, name).max_bytes(options.stream_max_bytes);
    Ok(Some(Arc::new(stream)))
}

/// The tokens of the options.
pub fn access(options: &Serve) -> Result<Access, Failure> {
    let (tokens, admin_tokens) = (&options.listening.token_file, &options.admin_token_file);
    Access::of(options.listen, tokens.as_deref(), admin_tokens.as_deref())
}

pub async fn serve(options: Serve) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    let stage = shutdown::requested(options.drain_seconds)?;
    let access = access(&options)?;
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
    let authorized = |routes: Router| routes.layer(from_fn_with_state(access, authorize));
    let routes = router(store, router_options).layer(from_fn_with_state(options.timeout_seconds, monitoring::time_out));
    let health = monitoring::health(monitoring.clone());
    let metrics = monitoring::metrics(monitoring);
    let (routes, admin) = match options.admin_listen {
        Some(address) => {
            let admin_routes = monitoring::observed(health.merge(metrics));
            let listener = listen::bind(address).await?;
            tracing::info!(address = %listener.local_addr()?, "serving health and metrics");
            let admin = listen::serve(listener, admin_routes, stage.clone(), listening.clone());
            (authorized(routes), Some(tokio::spawn(admin)))
        }
        None => (authorized(routes.merge(metrics)).merge(health), None),
    };
    listen::announce(&listener)?;
    listen::serve(listener, monitoring::observed(routes), stage, listening).await?;
    if let Some(admin) = admin {
        admin.await??;
    }
    tracing::info!("ended");
    Ok(())
}
