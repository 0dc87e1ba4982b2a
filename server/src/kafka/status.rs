//! The current failures of a client of librdkafka. Each is logged once until the client recovers, and at most once a
//! second.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{counter, gauge};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics};
use seenguard::StoreFailure;

use super::is_refusal;
use crate::error::Error;
use crate::log::may_log;

/// The codes of the current failures: in an outage several alternate.
#[derive(Clone, Default)]
pub(super) struct ClientStatus(Arc<Mutex<Vec<Option<RDKafkaErrorCode>>>>);

impl ClientStatus {
    pub(super) fn note_failure(&self, error: &KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        let mut failures = self.lock();
        if !failures.contains(&code) {
            failures.push(code);
            if may_log("kafka", format!("{code:?}")) {
                tracing::error!(%error, reason, "Kafka client error");
            }
        }
    }

    pub(super) fn note_success(&self) {
        if !mem::take(&mut *self.lock()).is_empty() && may_log("kafka recovered", "") {
            tracing::info!("Kafka client recovered");
        }
    }

    /// The failure because of which records cannot be read, if there is one.
    pub(super) fn failure(&self) -> Option<Error> {
        let refusal = self.lock().iter().copied().find(|&code| is_refusal(code)).flatten();
        let denied = refusal.map(|code| Error::new(StoreFailure::Denied, KafkaError::MessageConsumption(code)));
        denied.or_else(|| {
            let away = || Error::new(StoreFailure::Unavailable, "no broker is reachable");
            self.is_unreachable().then(away)
        })
    }

    /// Whether a failure lasts until an operator removes the cause.
    pub(super) fn is_refused(&self) -> bool {
        self.lock().iter().any(|&code| is_refusal(code))
    }

    /// Whether no broker can be reached.
    pub(super) fn is_unreachable(&self) -> bool {
        self.lock().contains(&Some(RDKafkaErrorCode::AllBrokersDown))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<RDKafkaErrorCode>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for ClientStatus {
    fn error(&self, error: KafkaError, reason: &str) {
        use RDKafkaErrorCode::{AllBrokersDown, AutoOffsetReset, BrokerTransportFailure, PartitionEOF, Resolve};
        let code = error.rdkafka_error_code();
        if let Some(AllBrokersDown | BrokerTransportFailure | Resolve) = code {
            counter!("seenguard_kafka_broker_failures_total").increment(1);
        }
        match code {
            // One broker failed; others may replace it.
            Some(BrokerTransportFailure | Resolve) => tracing::debug!(%error, reason, "broker unreachable"),
            // The consumer's polling thread handles them.
            Some(AutoOffsetReset | PartitionEOF) => {}
            _ => self.note_failure(&error, reason),
        }
    }

    /// Only producers have this context with statistics.
    fn stats(&self, statistics: Statistics) {
        gauge!("seenguard_kafka_producer_queue").set(statistics.msg_cnt as f64);
    }
}
