//! The options of a consumer.

use std::time::Duration;

/// The options of a consumer.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) batch: usize,
    #[cfg(feature = "kafka")]
    pub(crate) batch_bytes: usize,
    pub(crate) until_end: bool,
    pub(crate) claim_after: Duration,
    pub(crate) wait: Duration,
    pub(crate) call_within: Duration,
    pub(crate) batch_within: Duration,
    pub(crate) ready_within: Duration,
    pub(crate) mended_within: Duration,
}

impl ConsumerOptions {
    /// Options of a consumer with this name, which must be unique in the group.
    pub fn new(name: impl Into<String>) -> Self {
        ConsumerOptions {
            group: "seenguard".to_owned(),
            name: name.into(),
            batch: 200,
            #[cfg(feature = "kafka")]
            batch_bytes: 1 << 20,
            until_end: false,
            claim_after: Duration::from_secs(30),
            wait: Duration::from_millis(500),
            call_within: Duration::from_secs(5),
            batch_within: Duration::from_secs(30),
            ready_within: Duration::from_secs(60),
            mended_within: Duration::from_secs(10),
        }
    }

    /// The group of consumers that share the stream; `seenguard`.
    pub fn group(self, group: impl Into<String>) -> Self {
        let group = group.into();
        ConsumerOptions { group, ..self }
    }

    /// Most reports of a batch, 200. Fewer while responses are slow.
    pub fn batch(self, batch: usize) -> Self {
        ConsumerOptions {
            batch: batch.max(1),
            ..self
        }
    }

    /// Most bytes of a batch from Kafka, which has one report at least. 1 MiB.
    #[cfg(feature = "kafka")]
    pub fn batch_bytes(self, batch_bytes: usize) -> Self {
        ConsumerOptions { batch_bytes, ..self }
    }

    /// Ends when all reports that the stream had at the start are applied: for a rebuild beside the running consumers,
    /// with a group of its own.
    pub fn until_end(self, until_end: bool) -> Self {
        ConsumerOptions { until_end, ..self }
    }

    /// How long another consumer of a Redis stream may hold an entry without acknowledging it or renewing its claim,
    /// before this one takes it over. 30 s.
    pub fn claim_after(self, claim_after: Duration) -> Self {
        ConsumerOptions { claim_after, ..self }
    }

    /// How long to wait for entries before other work is checked. 500 ms.
    pub fn wait(self, wait: Duration) -> Self {
        ConsumerOptions { wait, ..self }
    }

    /// Timeout of a response of the stream, after which the next batch is half as large. 5 s.
    pub fn call_within(self, call_within: Duration) -> Self {
        ConsumerOptions { call_within, ..self }
    }

    /// Timeout of all attempts to apply the entries of one user. 30 s.
    pub fn batch_within(self, batch_within: Duration) -> Self {
        ConsumerOptions { batch_within, ..self }
    }

    /// It is not ready if no round has succeeded for this long. 60 s.
    pub fn ready_within(self, ready_within: Duration) -> Self {
        ConsumerOptions { ready_within, ..self }
    }

    /// How long an entry that fails for a reason of its own is retried, 5 times at least, before it becomes a dead
    /// letter. 10 s.
    pub fn mended_within(self, mended_within: Duration) -> Self {
        ConsumerOptions { mended_within, ..self }
    }
}
