//! What librdkafka says, in the service's log: a cause once, until it is over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::counter;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// The last failure that was told, if it is not over.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<Option<RDKafkaErrorCode>>>);

impl Told {
    pub(super) fn note_failure(&self, error: &KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        let mut last = self.last();
        if *last != code || code.is_none() {
            *last = code;
            tracing::error!(%error, reason, "Kafka does not do what it is asked for");
        }
    }

    pub(super) fn note_success(&self) {
        if self.last().take().is_some() {
            tracing::info!("Kafka is back");
        }
    }

    /// Whether no broker can be reached.
    pub(super) fn is_away(&self) -> bool {
        *self.last() == Some(RDKafkaErrorCode::AllBrokersDown)
    }

    fn last(&self) -> MutexGuard<'_, Option<RDKafkaErrorCode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Told {
    fn error(&self, error: KafkaError, reason: &str) {
        // Of the others come dozens a second in an outage, and each broker's.
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve) => {
                tracing::debug!(%error, reason, "a broker cannot be reached");
            }
            // What reads is told, too, and it is no failure.
            Some(RDKafkaErrorCode::PartitionEOF) => {}
            _ => self.note_failure(&error, reason),
        }
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match (facility, level) {
            // Retention has overtaken this group.
            ("OFFSET", RDKafkaLogLevel::Warning) => {
                counter!("seenguard_kafka_resets_total").increment(1);
                tracing::error!(message, "records are lost that the topic has deleted");
            }
            ("MAXPOLL", _) => {
                counter!("seenguard_kafka_lost_total").increment(1);
                tracing::error!(message, "this consumer was too slow, and is out of its group");
            }
            _ => tracing::debug!(facility, message, "librdkafka"),
        }
    }
}
