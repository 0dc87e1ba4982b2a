//! Opens the store and the stream by the options.

#[cfg(feature = "kafka")]
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "kafka")]
use seenguard_server::Kafka;
use seenguard_server::{Error, ErrorKind, MemoryBackend, RedisBackend, RedisConnection, SeenStore, StoreOptions};

use crate::Failure;
#[cfg(feature = "kafka")]
use crate::cli;
use crate::cli::Common;

const NEEDS_REDIS: &str = "a stream or topic needs --redis, for the users' chains";

/// Opens the store and its connection to Redis, if it has one.
pub fn open(common: &Common) -> Result<(SeenStore, Option<RedisConnection>), Failure> {
    let options = StoreOptions {
        chain: common.chain_options(),
        pending_seconds: common.pending_seconds,
        namespace_of: common.namespace_of().map(|namespace_of| Arc::new(namespace_of) as _),
        ..StoreOptions::default()
    };
    if !common.redis.is_given() {
        tracing::info!("storing chains in memory, until this process ends");
        return Ok((SeenStore::new(MemoryBackend::default(), options)?, None));
    }
    let connection = connect(common)?;
    tracing::info!(is_cluster = connection.is_cluster(), "storing chains in Redis");
    let backend = RedisBackend::new(connection.clone()).prefix(common.prefix.clone());
    Ok((SeenStore::new(backend, options)?, Some(connection)))
}

/// Opens a separate connection in the background. Its credentials and certificates are read for each attempt.
pub fn connect(common: &Common) -> Result<RedisConnection, Failure> {
    if !common.redis.is_given() {
        return Err(NEEDS_REDIS.into());
    }
    let redis = common.redis.clone();
    let read = move || redis.target().map_err(|what| Error::new(ErrorKind::BadOption, what));
    Ok(RedisConnection::reading(read)?)
}

/// The Kafka topic of the options, if there is one. Its settings are read once.
#[cfg(feature = "kafka")]
pub fn topic(common: &Common, options: &cli::Kafka) -> Result<Option<Kafka>, Failure> {
    let Some(hosts) = &options.kafka else { return Ok(None) };
    if !common.redis.is_given() {
        return Err(NEEDS_REDIS.into());
    }
    let mut kafka = Kafka::new(hosts, &options.kafka_topic);
    if let Some(file) = &options.kafka_properties {
        let text = cli::read("--kafka-properties", file)?;
        warn_of_readers(file, &text);
        kafka = kafka.properties(&text)?;
    }
    Ok(Some(kafka))
}

/// Warns of a file with a password that all users of this machine can read.
#[cfg(all(feature = "kafka", unix))]
fn warn_of_readers(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let may_all_read = std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0);
    if may_all_read && text.contains("password") {
        tracing::warn!(file = %file.display(), "file with a password is readable by all users of this machine");
    }
}

#[cfg(all(feature = "kafka", not(unix)))]
fn warn_of_readers(_: &Path, _: &str) {}
