//! A Kafka topic as the stream of reports.

mod check;
mod intake;
mod mapping;
mod partitions;
mod producer;
mod properties;
mod record;
mod status;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use seenguard::{ReceivedReport, StoreFailure};
use tokio::task::spawn_blocking;

use self::intake::Reader;
pub use self::mapping::EventMapping;
use self::producer::Producer;
use self::properties::Properties;
use crate::consumer::{ConsumerOptions, FirstEntry, Intake, ReportStream};
use crate::error::{Error, ErrorKind};
use crate::received;

/// The header with a record's form.
const FORM_HEADER: &str = "seenguard";

/// A Kafka topic of reports, for consumers. The user is the record's key, and the partitioner is that of Java's
/// clients, so that a user's reports have one order with any writer. Topics must exist.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use seenguard_server::{Consumer, ConsumerOptions, Kafka, MemoryBackend, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let options = StoreOptions {
///     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
///     ..StoreOptions::default()
/// };
/// let store = SeenStore::new(MemoryBackend::default(), options)?;
/// let kafka = Kafka::new("localhost:9092", "seenguard-reports").properties("security.protocol=SSL")?;
/// let consumer = Consumer::new(store, Arc::new(kafka.dead_letters("seenguard-dead")), ConsumerOptions::new("first"));
/// let shutdown = std::future::pending();
/// consumer.run(shutdown).await
/// # }
/// ```
#[derive(Clone)]
pub struct Kafka {
    hosts: String,
    topic: String,
    dead_letters: Option<String>,
    mapping: Option<Arc<EventMapping>>,
    properties: Properties,
    producer: Arc<Producer>,
}

impl Kafka {
    /// An existing topic of the cluster with these brokers, `host:port,host:port`.
    pub fn new(hosts: impl Into<String>, topic: impl Into<String>) -> Self {
        Kafka {
            hosts: hosts.into(),
            topic: topic.into(),
            dead_letters: None,
            mapping: None,
            properties: Properties::default(),
            producer: Arc::default(),
        }
    }

    /// Sets settings of librdkafka, one `key=value` in each line. `#` begins a comment; the prefix `producer.` or
    /// `consumer.` limits a key to one client.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`] for an unknown or a reserved setting.
    pub fn properties(self, text: &str) -> Result<Self, Error> {
        let properties = Properties::parse(text)?;
        Ok(Kafka { properties, ..self })
    }

    /// Sets the topic of dead letters, the records that cannot be applied. Without one they are skipped and counted.
    pub fn dead_letters(self, topic: impl Into<String>) -> Self {
        let dead_letters = Some(topic.into());
        Kafka { dead_letters, ..self }
    }

    /// Reads records as a team's own tracking events, by this mapping.
    pub fn event_mapping(self, mapping: EventMapping) -> Self {
        let mapping = Some(Arc::new(mapping));
        Kafka { mapping, ..self }
    }

    /// Appends a report without the device's pending impressions, which are in the store. Returns when all in-sync
    /// replicas have it.
    ///
    /// # Errors
    /// [`StoreFailure::Timeout`] after 3 s: the report may be in the topic nevertheless. [`ErrorKind::BadReport`] if it
    /// exceeds the size limit of the topic's records. [`StoreFailure::OutOfMemory`] if the producer's queue is full,
    /// [`StoreFailure::Denied`], and other errors of Kafka.
    pub async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        for value in received::records_of(report)? {
            let at = report.received_at;
            self.producer.send_report(self, user, value.as_bytes(), at).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl ReportStream for Kafka {
    async fn append(&self, user: &str, report: &ReceivedReport) -> Result<(), Error> {
        Kafka::append(self, user, report).await
    }

    async fn ping(&self) -> Result<(), Error> {
        self.producer.ping(self).await
    }

    fn open(&self, options: &ConsumerOptions) -> Result<Box<dyn Intake>, Error> {
        Ok(Box::new(Reader::open(self.clone(), options.clone())?))
    }

    fn is_replayable(&self) -> bool {
        true
    }

    async fn first(&self, most: usize) -> Result<Vec<FirstEntry>, Error> {
        let kafka = self.clone();
        let read = spawn_blocking(move || kafka.earliest(most)).await;
        read.unwrap_or_else(|_| Err(ErrorKind::Internal.into()))
    }

    async fn min_insync_replicas(&self) -> Option<Result<String, Error>> {
        Some(self.durability().await)
    }
}

impl fmt::Debug for Kafka {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings may have a password.
        let Kafka { hosts, topic, .. } = self;
        formatter
            .debug_struct("Kafka")
            .field("hosts", hosts)
            .field("topic", topic)
            .finish_non_exhaustive()
    }
}

/// Maps an error of librdkafka. None is retried at once, since librdkafka has retried.
fn error_of(error: KafkaError) -> Error {
    use RDKafkaErrorCode::*;
    let kind = match error.rdkafka_error_code() {
        Some(MessageSizeTooLarge | InvalidMessageSize) => {
            let too_large = seenguard::Error::TooLarge("the report exceeds the size limit of the topic's records");
            return Error::new(ErrorKind::BadReport, too_large);
        }
        Some(QueueFull) => StoreFailure::OutOfMemory.into(),
        code if is_refusal(code) => StoreFailure::Denied.into(),
        _ => match error {
            KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) | KafkaError::Subscription(_) => {
                ErrorKind::BadOption
            }
            _ => StoreFailure::Timeout.into(),
        },
    };
    Error::new(kind, error)
}

/// Whether an error lasts until an operator removes the cause: a wrong topic, password or permission.
fn is_refusal(code: Option<RDKafkaErrorCode>) -> bool {
    use RDKafkaErrorCode::*;
    matches!(
        code,
        Some(
            Authentication
                | ClusterAuthorizationFailed
                | GroupAuthorizationFailed
                | SaslAuthenticationFailed
                | TopicAuthorizationFailed
                | UnknownTopic
                | UnknownTopicOrPartition
        )
    )
}

/// Timeout of delivering a record, including its acknowledgement.
const DELIVERY_TIMEOUT: Duration = Duration::from_millis(3_000);
