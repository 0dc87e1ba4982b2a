//! The metrics, by the facade of the crate `metrics`.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};

/// One in each line: its kind, its name, the values of its label if it has one, and what it is.
const METRICS: &str = "\
counter seenguard_reports_total: Reports that were applied to a chain.
counter seenguard_impressions_total: Impressions in them.
counter seenguard_short_pages_total: Pages with fewer items than requested: the candidates ran out.
counter seenguard_degraded_pages_total: Pages made without their users' stored chains, which did not come in time.
counter seenguard_conflicts_total: Changes that were repeated because another writer had changed the chain meanwhile.
counter seenguard_retries_total: Calls that were repeated after a transient failure.
counter seenguard_pending_not_kept_total: Devices' pending impressions that could not be stored.
counter seenguard_ids_left_out_total: Ids of reports that were left out: over 4,096 bytes, or 256 if unseen.
counter seenguard_ids_unfiltered_total: Candidates whose ids are longer than 4,096 bytes: they pass.
counter seenguard_claimed_total: Entries of the stream that were claimed from another consumer.
counter seenguard_users_forgotten_total: Users whom a store in memory has forgotten to make room.
counter seenguard_failed_rounds_total: Rounds of a consumer that ended because the stream or the storage failed.
counter seenguard_dead_letters_total code=bad-option,bad-report,internal,storage,too-large,wrong-namespace: \
Entries of the stream that cannot be applied, by code: they are set aside.
counter seenguard_damaged_total code=bad-base64,bad-checksum,bad-encoding,bad-magic,bad-parameters,bad-payload,\
bad-snapshot,too-large,truncated: Stored shards and fields that cannot be read, by code.
histogram seenguard_lag_seconds: From when an item was on the screen, as the device reports it, until the user's chain \
has it; not of a replay.
gauge seenguard_stream_entries: Entries of the stream that wait for a consumer, or are with one.";

/// Those of Kafka.
#[cfg(feature = "kafka")]
const METRICS_OF_KAFKA: &str = "\
counter seenguard_kafka_producer_restarts_total: Producers that were replaced after a fatal error.
counter seenguard_kafka_resets_total: Partitions of which records were deleted before this group had read them: they are \
lost.
counter seenguard_skipped_records_total: Events that are not impressions by the event mapping.
counter seenguard_kafka_commit_errors_total: Commits of offsets that have failed: the next one includes them.
counter seenguard_kafka_broker_failures_total: How often a broker, or all of them, could not be reached.
counter seenguard_kafka_rebalances_total kind=assign,lost,revoke: Changes of this consumer's partitions, by kind.
histogram seenguard_kafka_produce_seconds: How long a report took until all in-sync replicas had it.
gauge seenguard_kafka_producer_queue: Records that wait for Kafka's acknowledgement.
gauge seenguard_kafka_lag_records: Records of a partition that are not applied yet, by partition.
gauge seenguard_kafka_lag_seconds: How long ago the oldest record was written that was read and is not applied yet.
gauge seenguard_kafka_newer_partitions: Partitions that wait, since a newer version has written their next record.
gauge seenguard_kafka_assigned_partitions: Partitions that this consumer has now.
gauge seenguard_kafka_paused: 1 while this consumer reads nothing more, since it has enough to apply.";

/// Describes each metric to the recorder of `metrics`. Call it after the recorder is installed. Sets counters to 0, so
/// that the first event is visible as an increase.
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
                let (label, values) = labels.split_once('=').unwrap_or((labels, ""));
                for value in values.split(',') {
                    counter!(name, label => value).increment(0);
                }
            }
            (Some("histogram"), Some(name), _) => describe_histogram!(name, what),
            (_, name, _) => describe_gauge!(name.unwrap_or_default(), what),
        }
    }
}

/// Counts reports that were applied to their user's chain, and their lag unless a replay has brought them.
#[cfg(any(feature = "axum", feature = "consumer"))]
pub(crate) fn note_taken(reports: &[seenguard::ReceivedReport], is_replay: bool) {
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
