//! The options of a consumer.

use std::time::Duration;

/// The options of a consumer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsumerOptions {
    /// The group of consumers that share the stream; `seenguard`.
    pub group: String,
    /// The consumer's name, which must be unique in the group.
    pub name: String,
    /// Most reports of a batch, 200. Fewer while responses are slow. A batch from a Redis stream has about 16 MiB at most.
    pub batch: usize,
    /// Most bytes of a batch from Kafka, which has one report at least. 1 MiB.
    pub batch_bytes: usize,
    /// Whether it ends when all reports that the stream had at the start are applied: for a rebuild next to the running
    /// consumers, with a group of its own.
    pub until_end: bool,
    /// Whether entries of another namespace or key become dead letters even if none was applied before; of an event
    /// mapping unreadable ones, too.
    pub set_aside_all: bool,
    /// How long another consumer of a Redis stream may have an entry without acknowledging it or renewing its claim,
    /// before this one takes it over. 30 s.
    pub claim_after: Duration,
    /// After how long without a sign of life another consumer of a Redis stream's group is removed from it, if it has no
    /// entries. 1 h.
    pub remove_idle_after: Duration,
    /// How long to wait for entries before other work is checked. 500 ms, the most of a Redis stream.
    pub wait: Duration,
    /// Timeout of a response of the stream, after which the next batch is half as large. 5 s.
    pub response_timeout: Duration,
    /// Timeout of all attempts to apply a batch. 30 s.
    pub batch_timeout: Duration,
    /// How long a shutdown waits for the batch in progress. 20 s. What is not done stays in the stream.
    pub shutdown_timeout: Duration,
    /// How long it is ready after a successful round. 60 s.
    pub ready_for: Duration,
    /// How long an entry that fails for a reason of its own is retried, 5 times at least, before it becomes a dead
    /// letter. 10 s.
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
