//! The descriptions of the metrics.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};

/// A metric in each line: its kind, its name, its labels with their values if these are known, what it measures, and
/// what to do when it changes.
const METRICS: &str = "\
counter seenguard_reports_total: Reports that were applied to a chain. If it stops, see the log for refused reports.
counter seenguard_impressions_total: Impressions in applied reports. If it stops, see the log for refused reports.
counter seenguard_short_pages_total: Pages with fewer items than requested. If it grows, rank more candidates.
counter seenguard_degraded_pages_total: Pages made without the user's stored chain, after 300 ms. If it grows, check \
/readyz?storage, and the memory, slowlog and network of Redis.
counter seenguard_conflicts_total: Changes retried because another process has changed the chain. Harmless.
counter seenguard_retries_total: Calls retried after a transient failure. If it keeps growing, check Redis.
counter seenguard_pending_not_stored_total: Pending impressions that could not be stored. If it grows, free memory in \
Redis, or connect to the master.
counter seenguard_ids_left_out_total: Ids of over 4,096 bytes in reports, or of over 256 if unseen. If it grows, use \
shorter ids.
counter seenguard_ids_unfiltered_total: Candidates with ids of over 4,096 bytes, which are never filtered. If it grows, \
use shorter ids.
counter seenguard_claimed_total: Entries claimed from another consumer. If it grows, check whether consumers restart.
counter seenguard_users_forgotten_total: Users evicted from a store in memory. If it grows, use Redis.
counter seenguard_failed_rounds_total: Failed batches of a consumer, which are retried. If it grows, see its log.
counter seenguard_dead_letters_total code=bad-option,bad-report,internal,storage,too-large,wrong-namespace: \
Entries that cannot be applied, by code. If it grows, find their producer, then consume the dead letters.
counter seenguard_damaged_total code=bad-base64,bad-checksum,bad-encoding,bad-magic,bad-parameters,bad-payload,\
bad-snapshot,too-large,truncated: Stored data that cannot be read, by code. If it grows, find what else writes under \
the prefix.
counter seenguard_redis_reconnects_total: Reconnections to Redis. If it keeps growing, check Redis and the network.
histogram seenguard_redis_command_seconds: Time from a command to Redis's response. If it grows, check Redis's slowlog, \
CPU and network.
histogram seenguard_lag_seconds: Time from the impression, by the device's clock, until the chain has it, without \
replays. If it grows, start more consumers.
histogram seenguard_request_seconds: Duration of requests, by route. If it grows, check the CPU, and start more \
services.
counter seenguard_requests_total route,method,status: Requests, by route, method and status. If 5xx grow, see the log.
gauge seenguard_stream_entries: Entries in the Redis stream. If it grows, start more consumers.
gauge seenguard_storage_answers: 1 if Redis responds, else 0. If it is 0, check Redis and the network.
gauge seenguard_stream_answers: 1 if the stream or topic responds, else 0. If it is 0, check Redis or Kafka.";

/// The metrics of Kafka.
#[cfg(feature = "kafka")]
const METRICS_OF_KAFKA: &str = "\
counter seenguard_kafka_producer_restarts_total: Producers replaced after a fatal error. If it grows, see the log.
counter seenguard_kafka_resets_total: Partitions whose next records were deleted before they were read. If it grows, \
reports are lost: raise retention.ms, and start more consumers.
counter seenguard_skipped_records_total: Events that match no condition of the event mapping. If it counts all events, \
check the mapping.
counter seenguard_kafka_commit_errors_total: Failed commits of offsets; the next one includes them. If it keeps \
growing, check the group's permissions.
counter seenguard_kafka_broker_failures_total: Failures to reach a broker. If it keeps growing, check the brokers.
counter seenguard_kafka_rebalances_total kind=assign,lost,revoke: Changes of this consumer's partitions, by kind. If \
lost grows, lower --batch, or give the consumer more CPU.
histogram seenguard_kafka_produce_seconds: Time until all in-sync replicas have a report. If it grows, check the \
brokers.
gauge seenguard_kafka_producer_queue: Records that wait for an acknowledgement. If it grows, check the brokers.
gauge seenguard_kafka_lag_records: Records that are not applied yet, by partition. If it grows, start more consumers.
gauge seenguard_kafka_lag_seconds: Age of the oldest record that was read and is not applied yet. If it grows, start \
more consumers, up to one for each partition.
gauge seenguard_kafka_newer_partitions: Partitions that wait because a newer version wrote their next record. If it is \
not 0, upgrade the consumers.
gauge seenguard_kafka_assigned_partitions: Partitions of this consumer. If it is 0, there are more consumers than \
partitions.
gauge seenguard_kafka_paused: 1 while this consumer is paused because it has enough to apply. If it stays 1, check \
Redis.";

/// Describes each metric to the installed recorder of the crate `metrics`. Sets counters to 0, so that the first event
/// is visible as an increase.
pub fn describe_metrics() {
    describe(METRICS);
    #[cfg(feature = "kafka")]
    {
        describe(METRICS_OF_KAFKA);
        metrics::gauge!("seenguard_kafka_producer_queue").set(0.0);
    }
}

fn describe(table: &'static str) {
    for line in table.lines() {
        let (head, what) = line.split_once(": ").unwrap_or((line, ""));
        let mut words = head.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("counter"), Some(name), None) => {
                describe_counter!(name, what);
                counter!(name).increment(0);
            }
            (Some("counter"), Some(name), Some(labels)) => {
                describe_counter!(name, what);
                if let Some((label, values)) = labels.split_once('=') {
                    values
                        .split(',')
                        .for_each(|value| counter!(name, label => value).increment(0));
                }
            }
            (Some("histogram"), Some(name), _) => describe_histogram!(name, what),
            (_, name, _) => describe_gauge!(name.unwrap_or_default(), what),
        }
    }
}

/// Counts applied reports, and records their lag unless they were replayed.
#[cfg(any(feature = "axum", feature = "consumer"))]
pub(crate) fn count_applied(reports: &[seenguard::ReceivedReport], is_replay: bool) {
    let now = seenguard::Time::from(std::time::SystemTime::now());
    counter!("seenguard_reports_total").increment(reports.len() as u64);
    let lag = metrics::histogram!("seenguard_lag_seconds");
    for report in reports {
        counter!("seenguard_impressions_total").increment(report.impressions.len() as u64);
        for impression in report.impressions.iter().filter(|_| !is_replay) {
            lag.record(now.unix_ms().saturating_sub(impression.at.unix_ms()) as f64 / 1000.0);
        }
    }
}
