//! The options of a consumer.

use std::time::Duration;

/// The options of a consumer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsumerOptions {
    /// The name of the group of consumers that share the stream; `seenguard`.
    pub group: String,
    /// The consumer's name, which must be unique in the group.
    pub name: String,
    /// Most reports of a batch; 200. It shrinks while responses are slow. A batch from a Redis stream has at most about
    /// 16 MiB.
    pub batch: usize,
    /// Most bytes of a batch from Kafka, which has at least one report; 1 MiB.
    pub batch_bytes: usize,
    /// Whether to end when all reports that the stream had at the start are applied: for a rebuild next to the running
    /// consumers, with a group of its own; false.
    pub until_end: bool,
    /// Whether entries of another namespace or key become dead letters before the first entry was applied; with an
    /// event mapping, unreadable ones, too; false.
    pub set_aside_all: bool,
    /// Time after which this consumer claims an entry of a Redis stream that another consumer has neither acknowledged
    /// nor renewed; 30 s.
    pub claim_after: Duration,
    /// Time after which an idle consumer without entries is removed from the group of a Redis stream; 1 h.
    pub remove_idle_after: Duration,
    /// Timeout of waiting for entries; 500 ms, the most for a Redis stream.
    pub wait: Duration,
    /// Timeout of a response of the stream, after which the next batch is half as large; 5 s.
    pub response_timeout: Duration,
    /// Timeout of all attempts to apply a batch; 30 s.
    pub batch_timeout: Duration,
    /// Timeout of the batch in progress at a shutdown; 20 s. Unapplied entries stay in the stream.
    pub shutdown_timeout: Duration,
    /// How long [`ConsumerHealth::is_ready`](super::ConsumerHealth::is_ready) is true after a successful round; 60 s.
    pub ready_for: Duration,
    /// How long an entry that fails because of its user's data is retried, at least 5 times, before it becomes a dead
    /// letter; 10 s.
    pub retry_for: Duration,
}

impl ConsumerOptions {
    /// Options of a consumer with this name.
    pub fn new(name: impl Into<String>) -> Self {
        ConsumerOptions {
            group: "seenguard".to_owned(),
            name: name.into(),
            batch: 200,
            batch_bytes: 1 << 20,
            until_end: false,
            set_aside_all: false,
            claim_after: Duration::from_secs(30),
            remove_idle_after: Duration::from_secs(3_600),
            wait: Duration::from_millis(500),
            response_timeout: Duration::from_secs(5),
            batch_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(20),
            ready_for: Duration::from_secs(60),
            retry_for: Duration::from_secs(10),
        }
    }
}
