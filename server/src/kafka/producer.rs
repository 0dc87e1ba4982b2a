//! Writes records to topics and waits for their acknowledgement.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{counter, histogram};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use seenguard::{StoreFailure, Time};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::status::ClientStatus;
use super::{DELIVERY_TIMEOUT, FORM_HEADER, Kafka, error_of};
use crate::error::Error;
use crate::log::may_log;
use crate::received::FORM;

/// Added to librdkafka's own timeouts, which may fire late.
const MARGIN: Duration = Duration::from_millis(500);
/// Timeout of a check of the brokers.
const METADATA_TIMEOUT: Duration = Duration::from_millis(1_500);

type Client = FutureProducer<ClientStatus>;
pub(super) type Record<'a> = FutureRecord<'a, [u8], [u8]>;

/// A client of librdkafka, which is created on first use and after a fatal error.
#[derive(Default)]
pub(super) struct Producer {
    client: Mutex<Option<Client>>,
    status: ClientStatus,
}

impl Producer {
    pub(super) async fn send_report(&self, kafka: &Kafka, user: &str, value: &[u8], at: Time) -> Result<(), Error> {
        let header = |key, value| Header {
            key,
            value: Some(value),
        };
        let headers = OwnedHeaders::new()
            .insert(header("content-type", "application/json"))
            .insert(header(FORM_HEADER, FORM));
        let record = FutureRecord::to(&kafka.topic)
            .key(user.as_bytes())
            .payload(value)
            .timestamp(at.unix_ms() as i64)
            .headers(headers);
        let start = Instant::now();
        self.send(kafka, record).await?;
        histogram!("seenguard_kafka_produce_seconds").record(start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Sends a record. Returns when all in-sync replicas have it.
    pub(super) async fn send(&self, kafka: &Kafka, record: Record<'_>) -> Result<(), Error> {
        let client = self.client(kafka)?;
        // `send_result` does not wait for space in the queue.
        let delivered = match client.send_result(record) {
            Ok(delivery) => timeout(DELIVERY_TIMEOUT + MARGIN, delivery).await,
            Err((error, _)) => return Err(self.failed(&client, error)),
        };
        match delivered {
            Ok(Ok(Ok(_))) => {
                self.status.note_success();
                Ok(())
            }
            Ok(Ok(Err((error, _)))) => Err(self.failed(&client, error)),
            Ok(Err(_)) => Err(self.failed(&client, KafkaError::Canceled)),
            Err(_) => Err(StoreFailure::Timeout.into()),
        }
    }

    /// Checks that a broker knows the topic.
    pub(super) async fn ping(&self, kafka: &Kafka) -> Result<(), Error> {
        let (client, topic) = (self.client(kafka)?, kafka.topic.clone());
        let metadata = spawn_blocking(move || {
            let metadata = client.client().fetch_metadata(Some(&topic), METADATA_TIMEOUT)?;
            let error = metadata.topics().first().and_then(|topic| topic.error());
            error.map_or(Ok(()), |error| Err(KafkaError::MetadataFetch(error.into())))
        });
        let answer = metadata.await.unwrap_or(Err(KafkaError::Canceled));
        answer.map_err(|error| {
            self.status.note_failure(&error, "cannot read the topic's metadata");
            error_of(error)
        })
    }

    fn client(&self, kafka: &Kafka) -> Result<Client, Error> {
        let mut client = self.lock();
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let made: Client = kafka
            .producer_config()
            .create_with_context(self.status.clone())
            .map_err(error_of)?;
        *client = Some(made.clone());
        Ok(made)
    }

    fn failed(&self, client: &Client, error: KafkaError) -> Error {
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::MessageSizeTooLarge) {
            self.status.note_failure(&error, "record not acknowledged");
        }
        if client.client().fatal_error().is_some() {
            let mut current = self.lock();
            // Concurrent calls may get the same error: only the first one replaces the client.
            if current
                .as_ref()
                .is_some_and(|current| current.client().fatal_error().is_some())
            {
                counter!("seenguard_kafka_producer_restarts_total").increment(1);
                if may_log("kafka producer", "") {
                    tracing::warn!("fatal error of the Kafka producer, creating another one");
                }
                *current = None;
            }
        }
        error_of(error)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
