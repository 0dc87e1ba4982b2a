//! A consumer of a topic: a thread polls, while the records are applied concurrently.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use metrics::{counter, gauge};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Header, Message, OwnedHeaders};
use rdkafka::producer::FutureRecord;
use rdkafka::{ClientContext, Offset, Statistics, TopicPartitionList};
use seenguard::{StoreFailure, Time};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::partitions::Partitions;
use super::record::Record;
use super::status::ClientStatus;
use super::{Kafka, error_of, is_refusal};
use crate::applying::{DeadLetter, Entry, EntryId};
use crate::consumer::{ConsumerOptions, Intake};
use crate::error::{Error, ErrorKind};
use crate::log::may_log;

/// Timeout of a request to the group's coordinator, or to a partition's leader.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// The interval of checks whether the end is reached.
const END_CHECK: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(100);
/// A batch is complete this long after its first record, or when it is full.
const LINGER: Duration = Duration::from_millis(20);
/// Time after which a full reader pauses. Pausing discards records that librdkafka has prefetched, so short waits do
/// not pause.
const PAUSE_AFTER: Duration = Duration::from_secs(1);
/// The interval at which partitions are restarted that an operator's mistake may have stopped.
const RESTART: Duration = Duration::from_secs(2);
/// How long a rebalance waits for the batch in progress. If it waited for much longer, the group would remove the
/// consumer.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long closing waits for the group and the last commit.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The bytes of a record in its dead letter, if the record is too large for the topic of dead letters.
const TRUNCATED_BYTES: usize = 64 << 10;

pub(super) struct Reader {
    kafka: Kafka,
    options: ConsumerOptions,
    shared: Arc<Shared>,
    /// The client, which the thread owns, since dropping it may take most of a minute.
    consumer: Weak<BaseConsumer<Context>>,
    /// Resolves when the thread ends.
    closed: oneshot::Receiver<()>,
    /// Whether it is known if the group had committed offsets at the start. It matters only with an event mapping.
    has_checked_group: bool,
    /// The ends of the topic's partitions at the start; `None` if they are not known yet.
    ends: Option<Arc<Vec<(i32, i64)>>>,
    next_end_check: Instant,
}

/// State shared by the polling thread and the consumer.
struct Shared {
    topic: String,
    partitions: Mutex<Partitions>,
    has_arrived: Notify,
    has_acknowledged: Condvar,
    is_ending: AtomicBool,
    status: ClientStatus,
}

struct Context(Arc<Shared>);

impl Reader {
    pub(super) fn open(kafka: Kafka, options: ConsumerOptions) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            topic: kafka.topic.clone(),
            partitions: Mutex::new(Partitions::new(kafka.mapping.is_some())),
            has_arrived: Notify::new(),
            has_acknowledged: Condvar::new(),
            is_ending: AtomicBool::new(false),
            status: ClientStatus::default(),
        });
        let mut config = kafka.consumer_config(&options);
        config.set("client.id", &options.name);
        let consumer: BaseConsumer<Context> = config.create_with_context(Context(shared.clone())).map_err(error_of)?;
        consumer.subscribe(&[&kafka.topic]).map_err(error_of)?;
        let consumer = Arc::new(consumer);
        let reader = Arc::downgrade(&consumer);
        let (closing, closed) = oneshot::channel();
        let (polling, thread_options) = (shared.clone(), options.clone());
        thread::spawn(move || {
            polling.poll(&consumer, &thread_options);
            drop(consumer);
            drop(closing);
        });
        Ok(Reader {
            has_checked_group: kafka.mapping.is_none(),
            kafka,
            options,
            shared,
            consumer: reader,
            closed,
            ends: None,
            next_end_check: Instant::now(),
        })
    }

    fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        self.shared.has_acknowledged.notify_all();
    }

    /// Returns the next records, and the ids of those that the event mapping skips.
    fn take(&self, most: usize) -> Result<(Vec<Entry>, Vec<EntryId>), Error> {
        let mut partitions = self.shared.lock();
        if let Some(fatal) = &partitions.fatal {
            return Err(Error::new(ErrorKind::Internal, fatal.clone()));
        }
        let mapping = self.kafka.mapping.as_deref();
        let (mut entries, mut skipped) = (Vec::new(), Vec::new());
        for (id, record) in partitions.take(most, self.options.batch_bytes) {
            match record.content(mapping).transpose() {
                Some(content) => entries.push(Entry { id, content }),
                None => skipped.push(id),
            }
        }
        match self.shared.status.failure() {
            Some(failure) if entries.is_empty() => Err(failure),
            _ => Ok((entries, skipped)),
        }
    }

    /// Sends a blocking request to a broker.
    async fn request<T: Send + 'static>(
        &self,
        request: impl FnOnce(&BaseConsumer<Context>, &str) -> KafkaResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (consumer, topic) = (self.consumer.upgrade(), self.kafka.topic.clone());
        let consumer = consumer.ok_or_else(|| Error::new(StoreFailure::Unavailable, "the consumer has ended"))?;
        let response = spawn_blocking(move || request(&consumer, &topic)).await;
        response.unwrap_or(Err(KafkaError::Canceled)).map_err(error_of)
    }

    /// The ends of the topic's partitions, as of the first call.
    async fn ends(&mut self) -> Result<Arc<Vec<(i32, i64)>>, Error> {
        if let Some(ends) = &self.ends {
            return Ok(ends.clone());
        }
        let ends = self.request(ends_of).await?;
        Ok(self.ends.insert(Arc::new(ends)).clone())
    }

    /// The group's committed offset of each partition, with the partition's end.
    async fn committed(&mut self) -> Result<Vec<(i64, i64)>, Error> {
        let ends = self.ends().await?;
        self.request(move |consumer, topic| {
            let committed = committed_of(consumer, topic, ends.iter().map(|(partition, _)| *partition))?;
            Ok(committed.into_iter().zip(ends.iter().map(|(_, end)| *end)).collect())
        })
        .await
    }

    /// Acknowledges entries. Offsets are committed at the next interval or when the partition is revoked.
    fn acknowledge_ids(&self, ids: impl Iterator<Item = EntryId>) {
        let changed = self.shared.lock().acknowledge(ids);
        if let Some(consumer) = self.consumer.upgrade() {
            self.shared.store_offsets(&consumer, changed);
        }
        self.shared.has_acknowledged.notify_all();
    }

    /// Starts committing offsets, since the event mapping has proved to be right.
    fn start_committing(&self) {
        let assigned = {
            let mut partitions = self.shared.lock();
            partitions.is_mapping_unverified = false;
            partitions.assigned()
        };
        if let Some(consumer) = self.consumer.upgrade() {
            self.shared.store_offsets(&consumer, assigned);
        }
    }

    /// Writes a record to the topic of dead letters, if there is one, and waits for the acknowledgement. If the record
    /// is too large for it, the letter has the key, the id, the code and the first bytes.
    async fn set_aside(&self, id: EntryId, code: &str) -> Result<(), Error> {
        let (Some(topic), Some(record)) = (&self.kafka.dead_letters, self.shared.lock().get(id).cloned()) else {
            return Ok(());
        };
        let bytes = record.value.as_ref().map_or(0, Vec::len);
        let letter_headers = [
            ("seenguard-topic", self.kafka.topic.clone()),
            ("seenguard-partition", id.0.to_string()),
            ("seenguard-offset", id.1.to_string()),
            ("seenguard-timestamp", record.timestamp.to_string()),
            ("seenguard-bytes", bytes.to_string()),
            ("seenguard-code", code.to_owned()),
        ];
        let letter = |most: usize, headers: OwnedHeaders| {
            let headers = letter_headers.iter().fold(headers, |headers, &(key, ref value)| {
                let value = Some(value);
                headers.insert(Header { key, value })
            });
            let mut letter: FutureRecord<'_, [u8], [u8]> = FutureRecord::to(topic).headers(headers);
            letter.key = record.key.as_deref().filter(|key| key.len() <= most);
            letter.payload = record.value.as_deref().map(|value| &value[..value.len().min(most)]);
            letter
        };
        let producer = &self.kafka.producer;
        let whole = letter(usize::MAX, record.headers.clone().unwrap_or_default());
        match producer.send(&self.kafka, whole).await {
            Err(error) if error.code() == "too-large" => {
                producer
                    .send(&self.kafka, letter(TRUNCATED_BYTES, OwnedHeaders::new()))
                    .await
            }
            sent => sent,
        }
    }
}

#[async_trait]
impl Intake for Reader {
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let Shared { has_arrived, .. } = &*self.shared;
        let end = Instant::now() + self.options.wait;
        while self.shared.lock().queued() == 0 && Instant::now() < end {
            let _ = timeout(end.saturating_duration_since(Instant::now()), has_arrived.notified()).await;
        }
        let queued = self.shared.lock().queued();
        if !self.has_checked_group && queued > 0 {
            let committed = self.committed().await?;
            self.has_checked_group = true;
            self.shared.lock().is_mapping_unverified = committed.iter().all(|(offset, _)| *offset < 0);
        }
        if (1..most).contains(&queued) {
            sleep(LINGER).await;
        }
        let (entries, skipped) = self.take(most)?;
        if !skipped.is_empty() {
            counter!("seenguard_skipped_records_total").increment(skipped.len() as u64);
            self.acknowledge_ids(skipped.into_iter());
        }
        Ok(entries)
    }

    fn redeliver(&mut self) {
        self.shared.lock().redeliver();
    }

    /// Does nothing: other consumers cannot claim records of this consumer's partitions.
    async fn renew_claims(&self, _: &[EntryId]) -> Infallible {
        pending().await
    }

    async fn acknowledge(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error> {
        if self.may_misread() && !(done.is_empty() && dead.is_empty()) {
            self.start_committing();
        }
        self.acknowledge_ids(done.iter().copied());
        for DeadLetter { id, code } in dead {
            self.set_aside(*id, code).await?;
            self.acknowledge_ids([*id].into_iter());
        }
        Ok(())
    }

    fn is_healthy(&self) -> Option<bool> {
        self.shared.lock().are_read()
    }

    fn may_misread(&self) -> bool {
        self.shared.lock().is_mapping_unverified
    }

    fn is_full(&self) -> bool {
        let partitions = self.shared.lock();
        partitions.queued() == 0 && partitions.is_full(self.options.batch, self.options.batch_bytes)
    }

    /// Whether the group, including its other consumers, has committed all records that the topic had at the start.
    async fn is_at_end(&mut self) -> Result<bool, Error> {
        if Instant::now() < self.next_end_check {
            return Ok(false);
        }
        self.next_end_check = Instant::now() + END_CHECK;
        // Without an applied record, the mapping is right only if it has skipped all.
        let ends = self.ends().await?;
        if self.may_misread() && self.shared.lock().have_reached(&ends) {
            self.start_committing();
        }
        let committed = self.committed().await?;
        Ok(committed.iter().all(|(offset, end)| offset >= end))
    }

    async fn close(mut self: Box<Self>) {
        self.end();
        // Do not wait longer for the thread: no broker may be available for its last commit.
        if timeout(CLOSE_TIMEOUT, &mut self.closed).await.is_err() {
            tracing::warn!(
                "cannot leave the consumer group, other consumers get the partitions after the session timeout"
            );
        }
    }
}

/// The current ends of a topic's partitions; -1 for an empty one, to be comparable with the committed offset of a group
/// that has none.
fn ends_of(consumer: &BaseConsumer<Context>, topic: &str) -> KafkaResult<Vec<(i32, i64)>> {
    let metadata = consumer.fetch_metadata(Some(topic), RESPONSE_TIMEOUT)?;
    let partitions = metadata.topics().iter().flat_map(|topic| topic.partitions());
    partitions
        .map(|partition| {
            let (first, end) = consumer.fetch_watermarks(topic, partition.id(), RESPONSE_TIMEOUT)?;
            Ok((partition.id(), if end > first { end } else { -1 }))
        })
        .collect()
}

/// The committed offset of each of these partitions; negative if there is none.
fn committed_of(
    consumer: &BaseConsumer<Context>,
    topic: &str,
    partitions: impl Iterator<Item = i32> + Clone,
) -> KafkaResult<Vec<i64>> {
    let list = list_of(topic, partitions.clone());
    // librdkafka refuses an empty list.
    if list.count() == 0 {
        return Ok(Vec::new());
    }
    let committed = consumer.committed_offsets(list, RESPONSE_TIMEOUT)?;
    let offset = |partition| offset_in(&committed, topic, partition);
    Ok(partitions.map(|partition| offset(partition).unwrap_or(-1)).collect())
}

fn list_of(topic: &str, partitions: impl IntoIterator<Item = i32>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for partition in partitions {
        list.add_partition(topic, partition);
    }
    list
}

/// The offset of a partition in a list, if it is known.
fn offset_in(list: &TopicPartitionList, topic: &str, partition: i32) -> Option<i64> {
    let offset = list.find_partition(topic, partition)?.offset().to_raw();
    offset.filter(|&offset| offset >= 0)
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Partitions> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    fn poll(&self, consumer: &BaseConsumer<Context>, options: &ConsumerOptions) {
        let mut full_since = None;
        let mut has_stopped = false;
        let (mut counted, mut restarted) = (Instant::now(), Instant::now());
        while !self.is_ending() {
            let (is_full, is_paused) = {
                let partitions = self.lock();
                (
                    partitions.is_full(options.batch, options.batch_bytes),
                    partitions.is_paused,
                )
            };
            if !is_full {
                full_since = None;
            } else if full_since.get_or_insert_with(Instant::now).elapsed() < PAUSE_AFTER {
                thread::sleep(LINGER);
                continue;
            }
            if is_full != is_paused {
                self.pause(consumer, is_full);
            }
            match consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => self.push(consumer, &message),
                Some(Err(KafkaError::PartitionEOF(partition))) => self.note_end(consumer, partition),
                Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::AutoOffsetReset))) => has_stopped = true,
                Some(Err(error @ KafkaError::MessageConsumptionFatal(_))) => {
                    self.lock().fatal = Some(error.to_string());
                    self.has_arrived.notify_one();
                    return;
                }
                // `ClientContext::error` has logged it, and librdkafka retries.
                Some(Err(_)) => {}
            }
            // At intervals, not for each record.
            if counted.elapsed() >= POLL {
                // An idle partition notices a permission that was granted again only when it is restarted.
                let is_refused = self.status.is_refused() && restarted.elapsed() >= RESTART;
                if has_stopped || is_refused {
                    let result = self.restart(consumer);
                    has_stopped &= result.is_err();
                    restarted = Instant::now();
                    self.note_result(result, "cannot restart partitions");
                }
                self.update_gauges();
                counted = Instant::now();
            }
        }
    }

    /// Restarts all partitions, since librdkafka does not report which it has stopped. Partitions without a committed
    /// offset, or whose next record was deleted, start at their first record, the others at their position.
    fn restart(&self, consumer: &BaseConsumer<Context>) -> KafkaResult<()> {
        let assigned = self.lock().assigned();
        let committed = committed_of(consumer, &self.topic, assigned.iter().copied())?;
        let (mut starts, mut list) = (Vec::new(), TopicPartitionList::new());
        for (partition, committed) in assigned.into_iter().zip(committed) {
            let next = self.lock().position(partition).unwrap_or(committed);
            let (first, end) = consumer.fetch_watermarks(&self.topic, partition, RESPONSE_TIMEOUT)?;
            let start = if (first..=end).contains(&next) { next } else { first };
            list.add_partition_offset(&self.topic, partition, Offset::Offset(start))?;
            starts.push((partition, next, start));
        }
        if starts.is_empty() {
            return Ok(());
        }
        // librdkafka does not seek in a stopped partition.
        let _ = consumer.incremental_unassign(&list);
        consumer.incremental_assign(&list)?;
        if self.lock().is_paused {
            self.pause(consumer, true);
        }
        for (partition, next, start) in starts {
            self.lock().start_at(partition, start);
            if next >= 0 && next != start {
                counter!("seenguard_kafka_resets_total").increment(1);
                if may_log("deleted", partition.to_string()) {
                    tracing::error!(
                        partition,
                        next,
                        start,
                        "records were deleted before they were read, and are lost"
                    );
                }
            }
        }
        Ok(())
    }

    fn update_gauges(&self) {
        let partitions = self.lock();
        let now = Time::from(SystemTime::now()).unix_ms();
        let lag = partitions.oldest().map_or(0, |oldest| now.saturating_sub(oldest));
        gauge!("seenguard_kafka_lag_seconds").set(lag as f64 / 1000.0);
        gauge!("seenguard_kafka_assigned_partitions").set(partitions.assigned().len() as f64);
        gauge!("seenguard_kafka_newer_partitions").set(partitions.stopped().count() as f64);
        gauge!("seenguard_kafka_paused").set(f64::from(partitions.is_paused));
    }

    fn push(&self, consumer: &BaseConsumer<Context>, message: &BorrowedMessage<'_>) {
        self.status.note_success();
        let (partition, offset) = (message.partition(), message.offset());
        let record = Record::of(message);
        if record.is_newer().unwrap_or(false) {
            if may_log("newer", partition.to_string()) {
                tracing::error!(
                    partition,
                    offset,
                    "record of a newer version, its partition waits until this consumer is upgraded"
                );
            }
            self.lock().stop_at(partition, offset, record.timestamp);
            let paused = consumer.pause(&list_of(&self.topic, [partition]));
            return self.note_result(paused, "cannot pause a partition");
        }
        self.lock().push(partition, offset, record);
        self.has_arrived.notify_one();
    }

    /// Handles the end of a partition. Markers of transactions may follow the last record: librdkafka's position is
    /// after them.
    fn note_end(&self, consumer: &BaseConsumer<Context>, partition: i32) {
        self.status.note_success();
        let positions = consumer.position().unwrap_or_default();
        let position = offset_in(&positions, &self.topic, partition);
        self.lock().note_end(partition, position);
        self.store_offsets(consumer, [partition]);
    }

    /// Passes the offsets below which all records are acknowledged to librdkafka, which commits them at the next
    /// interval.
    fn store_offsets(&self, consumer: &BaseConsumer<Context>, partitions: impl IntoIterator<Item = i32>) {
        for partition in partitions {
            let Some(next) = self.lock().to_commit(partition) else {
                continue;
            };
            match consumer.store_offset(&self.topic, partition, next - 1) {
                Ok(()) => {}
                // Another consumer has the partition now.
                Err(KafkaError::StoreOffset(RDKafkaErrorCode::State | RDKafkaErrorCode::UnknownPartition)) => {}
                Err(error) => self.status.note_failure(&error, "cannot store an offset"),
            }
        }
    }

    /// Pauses or resumes this consumer's partitions, except those that are stopped at a record of a newer version.
    fn pause(&self, consumer: &BaseConsumer<Context>, is_paused: bool) {
        let list = {
            let mut partitions = self.lock();
            partitions.is_paused = is_paused;
            list_of(&self.topic, partitions.running())
        };
        let result = match is_paused {
            true => consumer.pause(&list),
            false => consumer.resume(&list),
        };
        self.note_result(result, "cannot pause or resume the partitions");
    }

    fn note_result(&self, result: KafkaResult<()>, reason: &str) {
        if let Err(error) = result {
            self.status.note_failure(&error, reason);
        }
    }

    /// Waits until the records in progress of these partitions are acknowledged, up to [`REVOKE_TIMEOUT`].
    fn wait_for(&self, partitions: &[i32]) {
        let is_waiting = |all: &mut Partitions| all.are_in_progress(partitions) && !self.is_ending();
        let waited = self
            .has_acknowledged
            .wait_timeout_while(self.lock(), REVOKE_TIMEOUT, is_waiting);
        drop(waited);
    }
}

fn partitions_of(list: &TopicPartitionList) -> Vec<i32> {
    // A cooperative rebalance may revoke or assign none.
    match list.count() {
        0 => Vec::new(),
        _ => list.elements().iter().map(|element| element.partition()).collect(),
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Context(shared) = self;
        match rebalance {
            Rebalance::Assign(list) => {
                counter!("seenguard_kafka_rebalances_total", "kind" => "assign").increment(1);
                let mut partitions = shared.lock();
                partitions.is_assigned = true;
                for partition in partitions_of(list) {
                    partitions.add(partition);
                }
            }
            Rebalance::Revoke(list) => {
                let revoked = partitions_of(list);
                let is_lost = consumer.assignment_lost();
                let kind = if is_lost { "lost" } else { "revoke" };
                counter!("seenguard_kafka_rebalances_total", "kind" => kind).increment(1);
                // Of lost partitions other consumers may already commit offsets.
                if !is_lost {
                    shared.wait_for(&revoked);
                }
                let mut partitions = shared.lock();
                partitions.is_assigned &= !is_lost;
                for partition in revoked {
                    partitions.remove(partition);
                    gauge!("seenguard_kafka_lag_records", "partition" => partition.to_string()).set(0.0);
                }
            }
            Rebalance::Error(error) => shared.status.note_failure(error, "rebalance failed"),
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let is_paused = self.0.lock().is_paused;
        if let (Rebalance::Assign(_), true) = (rebalance, is_paused) {
            self.0.pause(consumer, true);
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        match result {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => {}
            Err(error) => {
                counter!("seenguard_kafka_commit_errors_total").increment(1);
                if is_refusal(error.rdkafka_error_code()) {
                    self.0.status.note_failure(&error, "cannot commit offsets");
                }
                tracing::debug!(%error, "commit of offsets failed, the next one includes them");
            }
        }
    }
}

impl ClientContext for Context {
    fn error(&self, error: KafkaError, reason: &str) {
        self.0.status.error(error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        let Context(shared) = self;
        if shared.status.is_unreachable() && statistics.brokers.values().any(|broker| broker.state == "UP") {
            shared.status.note_success();
        }
        let partitions = shared.lock();
        let assigned = partitions.assigned();
        for stats in statistics.topics.values().flat_map(|topic| topic.partitions.values()) {
            // librdkafka's own lag is missing until the first record is acknowledged, as in an outage.
            let next = [
                partitions.next(stats.partition),
                Some(stats.committed_offset),
                Some(stats.lo_offset),
            ];
            let next = next.into_iter().flatten().find(|&offset| offset >= 0);
            // Before the first fetch there is no end.
            if let (true, Some(next), 0..) = (assigned.contains(&stats.partition), next, stats.hi_offset) {
                let lag = (stats.hi_offset - next).max(0);
                gauge!("seenguard_kafka_lag_records", "partition" => stats.partition.to_string()).set(lag as f64);
            }
        }
    }
}
