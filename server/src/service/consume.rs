//! The command `consume`: the consumer and its monitoring.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::middleware::from_fn_with_state;
use seenguard_server::{Consumer, ConsumerOptions, ErrorKind, ReportStream, Stream};
use tokio::task::JoinHandle;

use crate::auth::{Access, authorize};
use crate::cli::Consume;
use crate::monitoring::{self, Monitoring};
use crate::shutdown::{self, Stage};
#[cfg(feature = "kafka")]
use crate::store::topic;
use crate::store::{connect, open};
use crate::{Failure, Misconfigured, listen};

pub async fn consume(options: Consume) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    // A consumer needs no draining: other consumers continue.
    let mut stage = shutdown::requested(Duration::ZERO)?;
    let (store, connection) = open(&options.common)?;
    let mut consumer_options = ConsumerOptions::new(&options.name);
    consumer_options.group = options.group.clone();
    consumer_options.batch = options.batch as usize;
    consumer_options.until_end = options.until_end;
    consumer_options.set_aside_all = options.set_aside_all;
    consumer_options.claim_after = options.claim_seconds;
    consumer_options.shutdown_timeout = options.listening.shutdown_seconds;
    #[cfg(feature = "kafka")]
    {
        consumer_options.batch_bytes = options.batch_bytes as usize;
    }
    let stream = stream(&options)?;
    let consumer = Consumer::new(store, stream.clone(), consumer_options);
    let monitoring = Monitoring {
        recorder,
        storage: connection,
        consumer: Some(consumer.health()),
        ready_from: Instant::now(),
        stage: stage.clone(),
        stream: Some(stream.clone()),
    };
    let serving = serve(&options, monitoring).await?;
    tracing::info!(?stream, group = options.group, consumer = options.name, "consuming");
    let run = consumer.run(shutdown::wait(&mut stage, Stage::Stopping)).await;
    run.map_err(|error| -> Failure {
        match error.kind() {
            ErrorKind::BadOption => Misconfigured(error).into(),
            _ => error.into(),
        }
    })?;
    if let Some(serving) = serving.filter(|_| *stage.borrow() == Stage::Stopping) {
        serving.await??;
    }
    tracing::info!("ended");
    Ok(())
}

/// The stream of reports.
pub fn stream(options: &Consume) -> Result<Arc<dyn ReportStream>, Failure> {
    #[cfg(feature = "kafka")]
    if let Some(mut kafka) = topic(&options.common, &options.kafka)? {
        if let Some(dead_letters) = &options.kafka_dead_letters {
            kafka = kafka.dead_letters(dead_letters);
        }
        if let Some(file) = &options.kafka_event_mapping {
            kafka = kafka.event_mapping(crate::mapping::read(file)?);
        }
        return Ok(Arc::new(kafka));
    }
    let Some(name) = &options.stream else {
        return Err("no stream to consume: set --stream, or --kafka".into());
    };
    Ok(Arc::new(Stream::new(connect(&options.common)?, name)))
}

/// Serves the monitoring routes, if --listen is set.
async fn serve(options: &Consume, monitoring: Monitoring) -> Result<Option<JoinHandle<Result<(), Failure>>>, Failure> {
    let Some(address) = options.listen else { return Ok(None) };
    let access = Access::of(address, options.listening.token_file.as_deref(), None)?;
    let listener = listen::bind(address).await?;
    listen::announce(&listener)?;
    let stage = monitoring.stage.clone();
    let routes = monitoring::metrics(monitoring.clone())
        .layer(from_fn_with_state(access, authorize))
        .merge(monitoring::health(monitoring));
    let serving = listen::serve(listener, monitoring::observed(routes), stage, options.listening.clone());
    Ok(Some(tokio::spawn(serving)))
}
