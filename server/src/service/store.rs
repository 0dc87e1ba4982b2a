//! The store that the command line describes.

use std::sync::Arc;

use seenguard_server::{MemoryBackend, RedisBackend, RedisConnection, SeenStore, StoreOptions};

use crate::Failure;
use crate::cli::Common;
#[cfg(feature = "kafka")]
use crate::cli::Kafka;

/// Opens the store and its connection to Redis, if it has one.
pub fn open(common: &Common) -> Result<(SeenStore, Option<RedisConnection>), Failure> {
    let options = StoreOptions {
        chain: common.chain_options(),
        pending_seconds: common.pending_seconds,
        namespace_of: common.namespace_of().map(|namespace_of| Arc::new(namespace_of) as _),
        ..StoreOptions::default()
    };
    if common.redis_urls()?.is_empty() {
        tracing::info!("users' chains are in memory, and gone when this process ends");
        return Ok((SeenStore::new(MemoryBackend::default(), options)?, None));
    }
    let connection = connect(common)?;
    let kind = if connection.is_cluster() {
        "a Redis Cluster"
    } else {
        "Redis"
    };
    tracing::info!("users' chains are in {kind}");
    let backend = RedisBackend::new(connection.clone()).prefix(common.prefix.clone());
    Ok((SeenStore::new(backend, options)?, Some(connection)))
}

/// A separate connection, opened in the background.
pub fn connect(common: &Common) -> Result<RedisConnection, Failure> {
    let urls = common.redis_urls()?;
    if urls.is_empty() {
        return Err("a stream needs --redis: it is there, and the users' chains".into());
    }
    Ok(match (&*urls, common.cluster) {
        ([url], false) => RedisConnection::open(url.as_str())?,
        (urls, _) => RedisConnection::open_cluster(urls.iter().map(String::as_str))?,
    })
}

/// The Kafka topic of the options, if there is one.
#[cfg(feature = "kafka")]
pub fn topic(common: &Common, options: &Kafka) -> Result<Option<seenguard_server::Kafka>, Failure> {
    let Some(hosts) = &options.kafka else { return Ok(None) };
    if common.redis_urls()?.is_empty() {
        return Err("--kafka needs --redis, where the users' chains are".into());
    }
    let mut kafka = seenguard_server::Kafka::new(hosts, &options.kafka_topic);
    if let Some(file) = &options.kafka_properties {
        let failure = |error: std::io::Error| format!("--kafka-properties {}: {error}", file.display());
        let text = std::fs::read_to_string(file).map_err(failure)?;
        warn_of_readers(file, &text);
        kafka = kafka.properties(&text)?;
    }
    Ok(Some(kafka))
}

/// Warns of a file with a password that all users of this machine can read.
#[cfg(all(feature = "kafka", unix))]
fn warn_of_readers(file: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let may_all_read = std::fs::metadata(file).is_ok_and(|of| of.permissions().mode() & 0o004 != 0);
    if may_all_read && text.contains("password") {
        tracing::warn!(file = %file.display(), "it has a password, and everybody on this machine may read it");
    }
}

#[cfg(all(feature = "kafka", not(unix)))]
fn warn_of_readers(_: &std::path::Path, _: &str) {}
