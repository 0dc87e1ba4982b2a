//! Logs messages of librdkafka: each cause once, until it is over.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::counter;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// The failures that were logged and are not over: in an outage several of them alternate.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<Vec<Option<RDKafkaErrorCode>>>>);

impl Told {
    pub(super) fn note_failure(&self, error: &KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        let mut told = self.lock();
        if !told.contains(&code) {
            told.push(code);
            tracing::error!(%error, reason, "Kafka client error");
        }
    }

    pub(super) fn note_success(&self) {
        if !mem::take(&mut *self.lock()).is_empty() {
            tracing::info!("Kafka is back");
        }
    }

    /// A failure to read, which librdkafka retries.
    pub(super) fn note_reading_failure(&self, error: &KafkaError) {
        use RDKafkaErrorCode::{BrokerTransportFailure, PollExceeded, Resolve};
        match error.rdkafka_error_code() {
            Some(PollExceeded) => counter!("seenguard_kafka_lost_total").increment(1),
            // Of one broker.
            Some(BrokerTransportFailure | Resolve) => return,
            _ => {}
        }
        self.note_failure(error, "the topic cannot be read");
    }

    /// A failure that lasts until an operator removes it: a wrong topic, password or permission.
    pub(super) fn refusal(&self) -> Option<RDKafkaErrorCode> {
        use RDKafkaErrorCode::*;
        let told = self.lock();
        told.iter().flatten().copied().find(|code| {
            matches!(
                code,
                Authentication
                    | ClusterAuthorizationFailed
                    | GroupAuthorizationFailed
                    | SaslAuthenticationFailed
                    | TopicAuthorizationFailed
                    | UnknownTopicOrPartition
            )
        })
    }

    /// Whether no broker can be reached.
    pub(super) fn is_away(&self) -> bool {
        self.lock().contains(&Some(RDKafkaErrorCode::AllBrokersDown))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<RDKafkaErrorCode>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Told {
    fn error(&self, error: KafkaError, reason: &str) {
        use RDKafkaErrorCode::{AllBrokersDown, BrokerTransportFailure, PartitionEOF, Resolve};
        let code = error.rdkafka_error_code();
        if let Some(AllBrokersDown | BrokerTransportFailure | Resolve) = code {
            counter!("seenguard_kafka_broker_failures_total").increment(1);
        }
        match code {
            // Of one broker: while others do its work there is nothing to tell.
            Some(BrokerTransportFailure | Resolve) => tracing::debug!(%error, reason, "a broker cannot be reached"),
            // What reads is told, too, and it is no failure.
            Some(PartitionEOF) => {}
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
            _ => tracing::debug!(facility, message, "librdkafka"),
        }
    }
}
