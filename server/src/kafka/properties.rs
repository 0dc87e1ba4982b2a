//! Settings of librdkafka: those of the service, and those of a properties file.

use rdkafka::ClientConfig;

use super::{DELIVERY_TIMEOUT, Kafka, error_of};
use crate::consumer::ConsumerOptions;
use crate::error::{Error, ErrorKind};

/// Settings that a properties file must not set.
const RESERVED: [&str; 13] = [
    "acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "bootstrap.servers",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "partition.assignment.strategy",
    "partitioner",
    "statistics.interval.ms",
];
/// One of the two clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Producer,
    Consumer,
}

/// The settings of a properties file, each for one client or for both.
#[derive(Clone, Default)]
pub(super) struct Properties(Vec<(Option<Side>, String, String)>);

impl Properties {
    /// # Errors
    /// [`ErrorKind::BadOption`], which names the key but never the value.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let refused = |what: String| Error::new(ErrorKind::BadOption, what);
        let mut all = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| {
                refused(format!(
                    "a line of the Kafka properties has no \"=\": it begins with {:?}",
                    &line.split(' ').next()
                ))
            })?;
            let (side, key) = match (
                key.trim().strip_prefix("producer."),
                key.trim().strip_prefix("consumer."),
            ) {
                (Some(key), _) => (Some(Side::Producer), key),
                (_, Some(key)) => (Some(Side::Consumer), key),
                _ => (None, key.trim()),
            };
            if RESERVED.contains(&key) {
                return Err(refused(format!("the Kafka property {key} is reserved: leave it out")));
            }
            all.push((side, key.to_owned(), value.trim().to_owned()));
        }
        let properties = Properties(all);
        for side in [Side::Producer, Side::Consumer] {
            let mut config = ClientConfig::new();
            properties.add_to(&mut config, side);
            config.create_native_config().map_err(|error| match error {
                rdkafka::error::KafkaError::ClientConfig(_, what, key, _) => {
                    refused(format!("the Kafka property {key}: {what}"))
                }
                error => error_of(error),
            })?;
        }
        Ok(properties)
    }

    fn add_to(&self, config: &mut ClientConfig, side: Side) {
        for (_, key, value) in self
            .0
            .iter()
            .filter(|(only, _, _)| only.is_none_or(|only| only == side))
        {
            config.set(key, value);
        }
    }
}

impl Kafka {
    pub(super) fn config(&self, side: Side) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.hosts)
            .set("client.id", "seenguard")
            .set("allow.auto.create.topics", "false")
            .set("socket.timeout.ms", "3000")
            // During a longer backoff a broker's thread does not notice timeouts: a 503 took 11 s.
            .set("reconnect.backoff.max.ms", "500");
        self.properties.add_to(&mut config, side);
        config
    }

    pub(super) fn producer_config(&self) -> ClientConfig {
        let mut config = self.config(Side::Producer);
        let delivery_timeout = DELIVERY_TIMEOUT.as_millis().to_string();
        for (key, value) in [
            ("acks", "all"),
            ("enable.idempotence", "true"),
            // Java's partitioner, so that all clients send a user to the same partition.
            ("partitioner", "murmur2_random"),
            ("delivery.timeout.ms", &delivery_timeout),
            ("statistics.interval.ms", "5000"),
        ] {
            config.set(key, value);
        }
        self.with_defaults(
            config,
            &[
                ("linger.ms", "2"),
                ("compression.codec", "lz4"),
                ("queue.buffering.max.messages", "100000"),
                ("queue.buffering.max.kbytes", "65536"),
            ],
        )
    }

    pub(super) fn consumer_config(&self, options: &ConsumerOptions) -> ClientConfig {
        let mut config = self.config(Side::Consumer);
        for (key, value) in [
            ("group.id", options.group.as_str()),
            ("enable.auto.offset.store", "false"),
            ("enable.auto.commit", "true"),
            // The error shows that records were deleted: `Shared::restart`.
            ("auto.offset.reset", "error"),
            ("enable.partition.eof", "true"),
            ("statistics.interval.ms", "5000"),
        ] {
            config.set(key, value);
        }
        let defaults = [
            ("auto.commit.interval.ms", "1000"),
            ("fetch.wait.max.ms", "100"),
            // Limits prefetched records, so that a consumer's memory is bounded.
            ("queued.max.messages.kbytes", "16384"),
            ("queued.min.messages", "10000"),
            ("max.poll.interval.ms", "60000"),
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("session.timeout.ms", "10000"),
            ("heartbeat.interval.ms", "2000"),
        ];
        // With the newer group protocol the brokers set the last three.
        let is_newer = config.get("group.protocol") == Some("consumer");
        self.with_defaults(config, &defaults[..if is_newer { 5 } else { 8 }])
    }

    /// Sets defaults that a file may override.
    fn with_defaults(&self, mut config: ClientConfig, defaults: &[(&str, &str)]) -> ClientConfig {
        for (key, value) in defaults {
            if config.get(key).is_none() {
                config.set(*key, *value);
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_setting_is_refused_by_its_name_and_never_by_its_value() {
        for (text, named) in [
            ("acks=1-secret", "acks"),
            ("producer.partitioner=secret", "partitioner"),
            ("no.such.setting=secret", "no.such.setting"),
            ("linger.ms=secret", "linger.ms"),
            ("sasl.jaas.config=secret", "JAAS"),
            ("ssl.truststore.location=secret", "ssl.ca.location"),
            ("linger.ms", "linger.ms"),
        ] {
            let Err(error) = Properties::parse(text) else {
                panic!("{text}")
            };
            assert_eq!(error.kind(), ErrorKind::BadOption);
            let message = error.to_string();
            assert!(
                message.contains(named) && !message.contains("secret"),
                "{text}: {message}"
            );
        }
    }

    #[test]
    fn a_setting_is_for_both_sides_or_one() {
        let text = "# of the team\n\n client.rack = a \nproducer.linger.ms=7\nconsumer.fetch.wait.max.ms=70\n";
        let kafka = Kafka::new("localhost:1", "reports").properties(text).unwrap();
        let producer = kafka.producer_config();
        let consumer = kafka.consumer_config(&ConsumerOptions::new("one"));
        assert_eq!(producer.get("client.rack"), consumer.get("client.rack"));
        assert_eq!(
            (producer.get("linger.ms"), consumer.get("linger.ms")),
            (Some("7"), None)
        );
        assert_eq!(
            (producer.get("fetch.wait.max.ms"), consumer.get("fetch.wait.max.ms")),
            (None, Some("70"))
        );
    }
}
