//! A consumer of a topic: a thread polls, and its records are applied concurrently.

use std::collections::BTreeSet;
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
use rdkafka::message::{BorrowedMessage, Header, Message};
use rdkafka::producer::FutureRecord;
use rdkafka::{ClientContext, Offset, Statistics, TopicPartitionList};
use seenguard::{StoreFailure, Time};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::partitions::Partitions;
use super::record::Record;
use super::told::Told;
use super::{Kafka, error_of, is_refusal};
use crate::consumer::{ConsumerOptions, Intake};
use crate::error::{Error, ErrorKind};
use crate::taking::{DeadLetter, Entry, EntryId};

/// With this many unreadable events and no readable one, the mapping is wrong.
const MOST_UNREADABLE: usize = 100;
/// Timeout of a question to the group's coordinator, or to a partition's leader.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);
/// How often it is checked whether the end is reached.
const LOOK: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(100);
/// A batch ends this long after its first record, or when it is full.
const LINGER: Duration = Duration::from_millis(20);
/// Pausing discards records that librdkafka has prefetched, so only a longer batch pauses.
const PAUSE_AFTER: Duration = Duration::from_secs(1);
/// How long a rebalance waits for the batch in progress. The group removes a consumer that does not respond for longer.
const REVOKED_WITHIN: Duration = Duration::from_secs(5);
/// How long closing waits for the group and the last commit.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Reader {
    kafka: Kafka,
    options: ConsumerOptions,
    shared: Arc<Shared>,
    /// Owned by the thread: dropping it may take most of a minute.
    consumer: Weak<BaseConsumer<Context>>,
    /// Ends with the thread.
    closed: oneshot::Receiver<()>,
    /// Whether the event mapping has read an event, here or in an earlier consumer of the group, and how many it could
    /// not read before.
    has_read_one: bool,
    unreadable: usize,
    /// Where the topic's partitions ended when it began, without those that were empty; `None`: not known yet.
    ends: Option<Arc<Vec<(i32, i64)>>>,
    next_look: Instant,
}

/// State shared by the polling thread and the consumer.
#[derive(Default)]
struct Shared {
    partitions: Mutex<Partitions>,
    has_arrived: Notify,
    has_settled: Condvar,
    is_paused: AtomicBool,
    is_ending: AtomicBool,
    told: Told,
}

struct Context(Arc<Shared>);

impl Reader {
    pub(super) fn open(kafka: Kafka, options: ConsumerOptions) -> Result<Self, Error> {
        let shared = Arc::<Shared>::default();
        let mut config = kafka.consumer_config(&options);
        config.set("client.id", &options.name);
        let consumer: BaseConsumer<Context> = config.create_with_context(Context(shared.clone())).map_err(error_of)?;
        consumer.subscribe(&[&kafka.topic]).map_err(error_of)?;
        let consumer = Arc::new(consumer);
        let reader = Arc::downgrade(&consumer);
        let (closing, closed) = oneshot::channel();
        let (polling, told, topic) = (shared.clone(), options.clone(), kafka.topic.clone());
        thread::spawn(move || {
            polling.poll(&consumer, &topic, &told);
            drop(consumer);
            drop(closing);
        });
        Ok(Reader {
            kafka,
            options,
            shared,
            consumer: reader,
            closed,
            has_read_one: false,
            unreadable: 0,
            ends: None,
            next_look: Instant::now(),
        })
    }

    fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        self.shared.has_settled.notify_all();
    }

    /// The next records, and those that the event mapping skips.
    fn give(&self, most: usize) -> Result<(Vec<Entry>, Vec<EntryId>), Error> {
        let Shared { told, .. } = &*self.shared;
        let mut partitions = self.shared.lock();
        if let Some(failure) = &partitions.failure {
            return Err(Error::new(ErrorKind::BadOption, failure.clone()));
        }
        let mapping = self.kafka.mapping.as_deref();
        let (mut given, mut skipped) = (Vec::new(), Vec::new());
        for (id, record) in partitions.give(most, self.options.batch_bytes) {
            match record.content(mapping).transpose() {
                Some(content) => given.push(Entry { id, content }),
                None => skipped.push(id),
            }
        }
        if let (true, Some(code)) = (given.is_empty(), told.refusal()) {
            return Err(Error::new(StoreFailure::Denied, KafkaError::MessageConsumption(code)));
        }
        if given.is_empty() && told.is_away() {
            return Err(Error::new(StoreFailure::Unavailable, "no broker can be reached"));
        }
        Ok((given, skipped))
    }

    /// Asks a broker. An answer may take a while.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&BaseConsumer<Context>, &str) -> KafkaResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (consumer, topic) = (self.consumer.upgrade(), self.kafka.topic.clone());
        let consumer = consumer.ok_or_else(|| Error::new(StoreFailure::Unavailable, "the consumer has ended"))?;
        let answer = spawn_blocking(move || ask(&consumer, &topic)).await;
        answer.unwrap_or(Err(KafkaError::Canceled)).map_err(error_of)
    }

    /// Whether the group has committed offsets of the topic.
    async fn has_committed(&self) -> Result<bool, Error> {
        self.ask(|consumer, topic| {
            let partitions = ends_of(consumer, topic)?.into_iter().map(|(partition, _)| partition);
            let committed = committed_of(consumer, topic, partitions)?;
            Ok(committed.into_iter().any(|offset| offset >= 0))
        })
        .await
    }

    /// Holds unreadable events back until one could be read: the mapping may be wrong. A group that has committed
    /// offsets has read some.
    async fn checked(&mut self, given: Vec<Entry>) -> Result<Vec<Entry>, Error> {
        if self.kafka.mapping.is_none() || self.has_read_one || given.is_empty() {
            return Ok(given);
        }
        self.has_read_one = given.iter().any(|entry| entry.content.is_ok()) || self.has_committed().await?;
        if self.has_read_one {
            // The events held back are read again.
            self.shared.lock().give_again();
            return Ok(Vec::new());
        }
        self.unreadable += given.len();
        // Reading ends at this number of bytes.
        let is_full = self.shared.lock().bytes >= 2 * self.options.batch_bytes;
        match self.unreadable {
            ..MOST_UNREADABLE if !is_full => Ok(Vec::new()),
            _ => Err(Error::new(
                ErrorKind::BadOption,
                "none of the first events could be read by the event mapping: nothing was done with them",
            )),
        }
    }

    /// The offsets after these are committed, at the next interval or when the partition is revoked.
    fn settle_ids(&self, ids: impl Iterator<Item = EntryId>) {
        let settled = self.shared.lock().settle(ids);
        for (partition, offset) in settled {
            let consumer = self.consumer.upgrade();
            let stored = consumer.map(|consumer| consumer.store_offset(&self.kafka.topic, partition, offset));
            match stored {
                None | Some(Ok(())) => {}
                // The partition belongs to another consumer now.
                Some(Err(KafkaError::StoreOffset(RDKafkaErrorCode::State | RDKafkaErrorCode::UnknownPartition))) => {}
                Some(Err(error)) => self.shared.told.note_failure(&error, "an offset was not stored"),
            }
        }
        self.shared.has_settled.notify_all();
    }

    /// Returns when the topic of dead letters has the record, if there is one.
    async fn set_aside(&self, id: EntryId, code: &str) -> Result<(), Error> {
        let (Some(topic), Some(record)) = (&self.kafka.dead_letters, self.shared.lock().get(id).cloned()) else {
            return Ok(());
        };
        let mut headers = record.headers.unwrap_or_default();
        for (key, value) in [
            ("seenguard-topic", self.kafka.topic.clone()),
            ("seenguard-partition", id.0.to_string()),
            ("seenguard-offset", id.1.to_string()),
            ("seenguard-timestamp", record.timestamp.to_string()),
            ("seenguard-code", code.to_owned()),
        ] {
            let value = Some(&value);
            headers = headers.insert(Header { key, value });
        }
        let mut letter: FutureRecord<'_, [u8], [u8]> = FutureRecord::to(topic).headers(headers);
        letter.key = record.key.as_deref();
        letter.payload = record.value.as_deref();
        self.kafka.producer.send(&self.kafka, letter).await
    }
}

#[async_trait]
impl Intake for Reader {
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let Shared { has_arrived, .. } = &*self.shared;
        let end = Instant::now() + self.options.wait;
        while self.shared.lock().fresh() == 0 && Instant::now() < end {
            let _ = timeout(end.saturating_duration_since(Instant::now()), has_arrived.notified()).await;
        }
        if (1..most).contains(&self.shared.lock().fresh()) {
            sleep(LINGER).await;
        }
        let (given, skipped) = self.give(most)?;
        if !skipped.is_empty() {
            counter!("seenguard_skipped_records_total").increment(skipped.len() as u64);
            self.settle_ids(skipped.into_iter());
        }
        self.checked(given).await
    }

    fn give_again(&mut self) {
        self.shared.lock().give_again();
    }

    /// No other consumer takes over records of this consumer's partitions.
    async fn hold(&self, _: &[EntryId]) -> Infallible {
        pending().await
    }

    async fn settle(&mut self, done: &[EntryId], dead: &[DeadLetter]) -> Result<(), Error> {
        self.settle_ids(done.iter().copied());
        for DeadLetter { id, code } in dead {
            self.set_aside(*id, code).await?;
            self.settle_ids([*id].into_iter());
        }
        Ok(())
    }

    fn is_well(&self) -> Option<bool> {
        self.shared.lock().are_read()
    }

    /// Whether the group has committed all that the topic had when it began: also what other consumers of it have.
    async fn is_at_end(&mut self) -> Result<bool, Error> {
        if Instant::now() < self.next_look {
            return Ok(false);
        }
        self.next_look = Instant::now() + LOOK;
        let ends = match &self.ends {
            Some(ends) => ends.clone(),
            None => {
                let ends = self.ask(ends_of).await?;
                self.ends.insert(Arc::new(ends)).clone()
            }
        };
        self.ask(move |consumer, topic| {
            let committed = committed_of(consumer, topic, ends.iter().map(|(partition, _)| *partition))?;
            Ok(committed
                .into_iter()
                .zip(&*ends)
                .all(|(offset, (_, end))| offset >= *end))
        })
        .await
    }

    async fn close(mut self: Box<Self>) {
        self.end();
        // Do not wait for the thread for longer: its last commit may find no broker.
        if timeout(CLOSED_WITHIN, &mut self.closed).await.is_err() {
            tracing::warn!(
                "the group was not told in time: it gives the partitions to others after its session's timeout"
            );
        }
    }
}

/// Where the partitions of a topic end now, without empty ones.
fn ends_of(consumer: &BaseConsumer<Context>, topic: &str) -> KafkaResult<Vec<(i32, i64)>> {
    let metadata = consumer.fetch_metadata(Some(topic), ANSWERED_WITHIN)?;
    let mut ends = Vec::new();
    for partition in metadata.topics().iter().flat_map(|topic| topic.partitions()) {
        let (first, end) = consumer.fetch_watermarks(topic, partition.id(), ANSWERED_WITHIN)?;
        if end > first {
            ends.push((partition.id(), end));
        }
    }
    Ok(ends)
}

/// The committed offset of each of these partitions; a negative one for none.
fn committed_of(
    consumer: &BaseConsumer<Context>,
    topic: &str,
    partitions: impl Iterator<Item = i32> + Clone,
) -> KafkaResult<Vec<i64>> {
    let mut list = TopicPartitionList::new();
    for partition in partitions.clone() {
        list.add_partition(topic, partition);
    }
    // librdkafka refuses an empty list.
    if list.count() == 0 {
        return Ok(Vec::new());
    }
    let committed = consumer.committed_offsets(list, ANSWERED_WITHIN)?;
    let offset = |partition| committed.find_partition(topic, partition)?.offset().to_raw();
    Ok(partitions.map(|partition| offset(partition).unwrap_or(-1)).collect())
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

    fn poll(&self, consumer: &BaseConsumer<Context>, topic: &str, options: &ConsumerOptions) {
        let mut full_since = None;
        let mut has_stopped = false;
        let mut counted = Instant::now();
        while !self.is_ending() {
            let (fresh, bytes) = {
                let partitions = self.lock();
                (partitions.fresh(), partitions.bytes)
            };
            // One batch in progress, and one more.
            let is_full = fresh >= options.batch || bytes >= 2 * options.batch_bytes;
            if !is_full {
                full_since = None;
            } else if full_since.get_or_insert_with(Instant::now).elapsed() < PAUSE_AFTER {
                thread::sleep(LINGER);
                continue;
            }
            if is_full != self.is_paused.load(Ordering::Relaxed) {
                self.pause(consumer, is_full);
            }
            match consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => self.push(consumer, &message),
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    self.told.note_success();
                    self.lock().note_end(partition);
                }
                Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::AutoOffsetReset))) => has_stopped = true,
                Some(Err(error @ KafkaError::MessageConsumptionFatal(_))) => {
                    self.lock().failure = Some(error.to_string());
                    self.has_arrived.notify_one();
                    return;
                }
                Some(Err(error)) => self.told.note_reading_failure(&error),
            }
            // At an interval, not for each record.
            if counted.elapsed() >= POLL {
                if has_stopped {
                    let restarted = self.restart(consumer, topic);
                    has_stopped = restarted.is_err();
                    self.note_result(restarted, "a partition was not started at its first record");
                }
                self.count();
                counted = Instant::now();
            }
        }
    }

    /// librdkafka has stopped partitions, and does not say which: the group has no offset there, or the record at it was
    /// deleted. These start at their first record, the others where they are.
    fn restart(&self, consumer: &BaseConsumer<Context>, topic: &str) -> KafkaResult<()> {
        let assigned = self.lock().assigned();
        let committed = committed_of(consumer, topic, assigned.iter().copied())?;
        let (mut starts, mut list) = (Vec::new(), TopicPartitionList::new());
        for (partition, committed) in assigned.into_iter().zip(committed) {
            let next = self.lock().read_to(partition).unwrap_or(committed);
            let (first, end) = consumer.fetch_watermarks(topic, partition, ANSWERED_WITHIN)?;
            let start = if (first..=end).contains(&next) { next } else { first };
            list.add_partition_offset(topic, partition, Offset::Offset(start))?;
            starts.push((partition, next, start));
        }
        if starts.is_empty() {
            return Ok(());
        }
        // It seeks in no partition that it has stopped.
        let _ = consumer.incremental_unassign(&list);
        consumer.incremental_assign(&list)?;
        if self.is_paused.load(Ordering::Relaxed) {
            self.pause(consumer, true);
        }
        for (partition, next, start) in starts {
            self.lock().start_at(partition, start);
            if next >= 0 && next != start {
                counter!("seenguard_kafka_resets_total").increment(1);
                tracing::error!(partition, next, start, "records were deleted before they were read");
            }
        }
        Ok(())
    }

    fn count(&self) {
        let partitions = self.lock();
        let now = Time::from(SystemTime::now()).unix_ms();
        let lag = partitions.oldest().map_or(0, |oldest| now.saturating_sub(oldest));
        gauge!("seenguard_kafka_lag_seconds").set(lag as f64 / 1000.0);
        gauge!("seenguard_kafka_assigned_partitions").set(partitions.assigned().len() as f64);
        gauge!("seenguard_kafka_newer_partitions").set(partitions.newer().count() as f64);
        gauge!("seenguard_kafka_paused").set(f64::from(self.is_paused.load(Ordering::Relaxed)));
    }

    fn push(&self, consumer: &BaseConsumer<Context>, message: &BorrowedMessage<'_>) {
        self.told.note_success();
        let (partition, offset) = (message.partition(), message.offset());
        let record = Record::of(message);
        let mut partitions = self.lock();
        if record.is_newer().unwrap_or(false) {
            tracing::error!(
                partition,
                offset,
                "a newer version has written it: this partition waits for one"
            );
            partitions.stop_at(partition, offset, record.timestamp);
            drop(partitions);
            let mut list = TopicPartitionList::new();
            list.add_partition(message.topic(), partition);
            self.note_result(consumer.pause(&list), "a partition was not paused");
            return;
        }
        partitions.push(partition, offset, record);
        drop(partitions);
        self.has_arrived.notify_one();
    }

    /// Pauses or resumes this consumer's partitions, except those that wait for a newer version.
    fn pause(&self, consumer: &BaseConsumer<Context>, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
        let newer: BTreeSet<i32> = self.lock().newer().collect();
        let result = consumer.assignment().and_then(|assigned| {
            let mut list = TopicPartitionList::new();
            for element in assigned.elements().iter().filter(|of| !newer.contains(&of.partition())) {
                list.add_partition(element.topic(), element.partition());
            }
            match is_paused {
                true => consumer.pause(&list),
                false => consumer.resume(&list),
            }
        });
        self.note_result(result, "the partitions were not paused, or not resumed");
    }

    fn note_result(&self, result: KafkaResult<()>, what: &str) {
        if let Err(error) = result {
            self.told.note_failure(&error, what);
        }
    }

    /// Waits until the records in progress of these partitions are settled, or the time is over.
    fn wait_for(&self, partitions: &[i32]) {
        let end = Instant::now() + REVOKED_WITHIN;
        let mut guard = self.lock();
        while guard.has_given(partitions) && !self.is_ending() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            guard = self
                .has_settled
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
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
                // Other consumers may have the partitions already, and commit them.
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
            Rebalance::Error(error) => shared.told.note_failure(error, "a rebalance has failed"),
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let (Rebalance::Assign(_), true) = (rebalance, self.0.is_paused.load(Ordering::Relaxed)) {
            self.0.pause(consumer, true);
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        match result {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => {}
            Err(error) => {
                counter!("seenguard_kafka_commit_errors_total").increment(1);
                if is_refusal(error.rdkafka_error_code()) {
                    self.0.told.note_failure(&error, "offsets are not committed");
                }
                tracing::debug!(%error, "what was not committed is committed with what comes next");
            }
        }
    }
}

impl ClientContext for Context {
    fn error(&self, error: KafkaError, reason: &str) {
        self.0.told.error(error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        let Context(shared) = self;
        if shared.told.is_away() && statistics.brokers.values().any(|broker| broker.state == "UP") {
            shared.told.note_success();
        }
        let partitions = shared.lock();
        let assigned = partitions.assigned();
        for of in statistics.topics.values().flat_map(|topic| topic.partitions.values()) {
            // librdkafka's own lag is missing until the first record is settled, such as in an outage.
            let next = [
                partitions.next(of.partition),
                Some(of.committed_offset),
                Some(of.lo_offset),
            ];
            let next = next.into_iter().flatten().find(|&offset| offset >= 0);
            // Before the first fetch there is no end.
            if let (true, Some(next), 0..) = (assigned.contains(&of.partition), next, of.hi_offset) {
                let lag = (of.hi_offset - next).max(0);
                gauge!("seenguard_kafka_lag_records", "partition" => of.partition.to_string()).set(lag as f64);
            }
        }
    }
}
