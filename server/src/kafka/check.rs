//! Reads a topic for `seenguard-server check`.

use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::{Offset, TopicPartitionList};

use super::properties::Side;
use super::record::Record;
use super::{Kafka, error_of};
use crate::consumer::{ConsumerOptions, FirstEntry};
use crate::error::Error;

/// Timeout of a response of the brokers, and of reading records.
const TIMEOUT: Duration = Duration::from_secs(4);

impl Kafka {
    /// The topic's `min.insync.replicas`, with advice.
    pub(super) async fn durability(&self) -> Result<String, Error> {
        let admin: AdminClient<DefaultClientContext> = self.config(Side::Producer).create().map_err(error_of)?;
        let topic = ResourceSpecifier::Topic(&self.topic);
        let options = AdminOptions::new().request_timeout(Some(TIMEOUT));
        let described = admin.describe_configs([&topic], &options).await.map_err(error_of)?;
        let topic = described.into_iter().next().transpose();
        let topic = topic.map_err(|code| error_of(KafkaError::AdminOp(code)))?;
        let least = topic
            .as_ref()
            .and_then(|topic| topic.get("min.insync.replicas")?.value.clone());
        Ok(match least.as_deref() {
            Some("1") => "1: a lost broker may lose acknowledged reports, set it to 2 with 3 replicas".to_owned(),
            Some(least) => least.to_owned(),
            None => "unknown: the broker did not return it".to_owned(),
        })
    }

    /// Reads at most this many of the earliest records, as reports. Commits no offset.
    pub(super) fn earliest(&self, most: usize) -> Result<Vec<FirstEntry>, Error> {
        let mut config = self.consumer_config(&ConsumerOptions::new("check"));
        config.set("enable.auto.commit", "false");
        let consumer: BaseConsumer = config.create().map_err(error_of)?;
        let partitions = self.assign_from_start(&consumer).map_err(error_of)?;
        let (mut ended, mut reports) = (0, Vec::new());
        let deadline = Instant::now() + TIMEOUT;
        while reports.len() < most && ended < partitions && Instant::now() < deadline {
            match consumer.poll(Duration::from_millis(100)) {
                Some(Ok(message)) => reports.extend(Record::of(&message).content(self.mapping.as_deref()).transpose()),
                Some(Err(KafkaError::PartitionEOF(_))) => ended += 1,
                Some(Err(error)) => return Err(error_of(error)),
                None => {}
            }
        }
        Ok(reports)
    }

    /// Assigns all partitions, and returns their number.
    fn assign_from_start(&self, consumer: &BaseConsumer) -> KafkaResult<usize> {
        let metadata = consumer.fetch_metadata(Some(&self.topic), TIMEOUT)?;
        let mut list = TopicPartitionList::new();
        for partition in metadata.topics().iter().flat_map(|topic| topic.partitions()) {
            list.add_partition_offset(&self.topic, partition.id(), Offset::Beginning)?;
        }
        consumer.assign(&list)?;
        Ok(list.count())
    }
}
