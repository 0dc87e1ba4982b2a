//! The consumer, and what an operator looks at.

use std::time::{Duration, Instant};

use axum::middleware::{from_fn, from_fn_with_state};
use seenguard_server::{Consumer, ConsumerOptions, Stream};
use tokio::task::JoinHandle;

use crate::auth::{Tokens, authorize};
use crate::cli::Consume;
use crate::monitoring::{self, Monitoring};
use crate::shutdown::{self, Stage};
use crate::store::{connect, open};
use crate::{Failure, listen};

pub async fn consume(options: Consume) -> Result<(), Failure> {
    let recorder = monitoring::start()?;
    // There is nothing to drain: other consumers take what this one does not.
    let mut stage = shutdown::requested(Duration::ZERO)?;
    let (store, connection) = open(&options.common)?;
    let stream = Stream::new(connect(&options.common)?, &options.stream);
    let consumer_options = ConsumerOptions::new(&options.name)
        .group(&options.group)
        .batch(options.batch as usize)
        .claim_after(options.claim_after());
    let consumer = Consumer::new(store, stream, consumer_options);
    let monitoring = Monitoring {
        recorder,
        storage: connection,
        consumer: Some(consumer.health()),
        ready_from: Instant::now(),
        stage: stage.clone(),
        stream: None,
    };
    let serving = serve(&options, monitoring).await?;
    tracing::info!(
        stream = options.stream,
        group = options.group,
        consumer = options.name,
        "consuming"
    );
    consumer.run(shutdown::wait(&mut stage, Stage::Stopping)).await;
    if let Some(serving) = serving {
        serving.await??;
    }
    tracing::info!("ended");
    Ok(())
}

/// Serves what an operator looks at, if that is wanted.
async fn serve(options: &Consume, monitoring: Monitoring) -> Result<Option<JoinHandle<Result<(), Failure>>>, Failure> {
    let Some(address) = options.listen else { return Ok(None) };
    let tokens = Tokens::of(address, options.listening.token_file.as_deref())?;
    let listener = listen::bind(address).await?;
    listen::announce(&listener)?;
    let stage = monitoring.stage.clone();
    let router = monitoring::numbers(monitoring.clone())
        .layer(from_fn_with_state(tokens, authorize))
        .merge(monitoring::health(monitoring))
        .layer(from_fn(monitoring::observe));
    let serving = listen::serve(listener, router, stage, options.listening.clone());
    Ok(Some(tokio::spawn(serving)))
}
