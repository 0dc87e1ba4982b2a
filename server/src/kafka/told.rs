//! Failures of librdkafka: each is logged once until it is over, and then at most once a second.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{counter, gauge};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics};

use super::is_refusal;
use crate::log::may_log;

/// The failures that were logged and are not over: in an outage several of them alternate.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<Vec<Option<RDKafkaErrorCode>>>>);

impl Told {
    pub(super) fn note_failure(&self, error: &KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        let mut told = self.lock();
        if !told.contains(&code) {
            told.push(code);
            if may_log("kafka", format!("{code:?}")) {
                tracing::error!(%error, reason, "Kafka client error");
            }
        }
    }

    pub(super) fn note_success(&self) {
        if !mem::take(&mut *self.lock()).is_empty() && may_log("kafka is back", "") {
            tracing::info!("Kafka is back");
        }
    }

    /// A failure to read, which librdkafka retries.
    pub(super) fn note_reading_failure(&self, error: &KafkaError) {
        use RDKafkaErrorCode::{BrokerTransportFailure, Resolve};
        match error.rdkafka_error_code() {
            // Of one broker.
            Some(BrokerTransportFailure | Resolve) => {}
            _ => self.note_failure(error, "the topic cannot be read"),
        }
    }

    pub(super) fn refusal(&self) -> Option<RDKafkaErrorCode> {
        let told = self.lock();
        told.iter().flatten().copied().find(|&code| is_refusal(Some(code)))
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
        use RDKafkaErrorCode::{AllBrokersDown, AutoOffsetReset, BrokerTransportFailure, PartitionEOF, Resolve};
        let code = error.rdkafka_error_code();
        if let Some(AllBrokersDown | BrokerTransportFailure | Resolve) = code {
            counter!("seenguard_kafka_broker_failures_total").increment(1);
        }
        match code {
            // Of one broker: while others do its work there is nothing to tell.
            Some(BrokerTransportFailure | Resolve) => tracing::debug!(%error, reason, "a broker cannot be reached"),
            // What polls handles them.
            Some(AutoOffsetReset | PartitionEOF) => {}
            _ => self.note_failure(&error, reason),
        }
    }

    /// Of a producer.
    fn stats(&self, statistics: Statistics) {
        gauge!("seenguard_kafka_producer_queue").set(statistics.msg_cnt as f64);
    }
}
