//! The metrics, by the facade of the crate `metrics`.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};

const COUNTERS: [(&str, &str); 12] = [
    ("seenguard_reports_total", "Reports that were taken into a chain."),
    ("seenguard_impressions_total", "Impressions in them."),
    (
        "seenguard_short_pages_total",
        "Pages with fewer items than were asked for: the candidates ran out.",
    ),
    (
        "seenguard_degraded_pages_total",
        "Pages made without what is stored of their users, which did not come in time.",
    ),
    (
        "seenguard_conflicts_total",
        "Changes made again because another writer had changed the chain meanwhile.",
    ),
    (
        "seenguard_retries_total",
        "What was tried again after a failure that passes.",
    ),
    (
        "seenguard_pending_not_kept_total",
        "What devices had pending and could not be kept.",
    ),
    (
        "seenguard_ids_left_out_total",
        "Ids of reports that are longer than 4,096 bytes, or 256 if unseen, and were left out.",
    ),
    (
        "seenguard_ids_unfiltered_total",
        "Candidates whose ids are longer than 4,096 bytes: they pass.",
    ),
    (
        "seenguard_claimed_total",
        "Entries of the stream that were taken over from another consumer.",
    ),
    (
        "seenguard_users_forgotten_total",
        "Users whom a store in memory has forgotten to make room.",
    ),
    (
        "seenguard_failed_rounds_total",
        "Rounds of a consumer that ended because the stream or the storage failed.",
    ),
];

/// A counter with a label: name, description, the label and its values.
type Labelled = (&'static str, &'static str, &'static str, &'static [&'static str]);

const LABELLED: [Labelled; 2] = [
    (
        "seenguard_dead_letters_total",
        "Entries of the stream that no chain takes, by code: they are set aside.",
        "code",
        &["bad-option", "bad-report", "storage", "too-large", "wrong-namespace"],
    ),
    (
        "seenguard_damaged_total",
        "Stored shards and fields that cannot be read, by code.",
        "code",
        &[
            "bad-base64",
            "bad-checksum",
            "bad-encoding",
            "bad-magic",
            "bad-parameters",
            "bad-payload",
            "bad-snapshot",
            "too-large",
            "truncated",
        ],
    ),
];

/// Describes each metric to the recorder of `metrics`. Call it after the recorder is installed. Sets counters to 0, so
/// that the first event is visible as an increase.
pub fn describe_metrics() {
    describe_counters(&COUNTERS, &LABELLED);
    describe_histogram!(
        "seenguard_lag_seconds",
        "From when an item was on the screen, as the device reports it, until the user's chain has it."
    );
    #[cfg(feature = "kafka")]
    describe_kafka();
    describe_gauge!(
        "seenguard_stream_entries",
        "Entries of the stream that wait for a consumer, or are with one."
    );
}

fn describe_counters(plain: &[(&'static str, &'static str)], labelled: &[Labelled]) {
    for &(name, what) in plain {
        describe_counter!(name, what);
        counter!(name).increment(0);
    }
    for &(name, what, label, values) in labelled {
        describe_counter!(name, what);
        for &value in values {
            counter!(name, label => value).increment(0);
        }
    }
}

#[cfg(feature = "kafka")]
fn describe_kafka() {
    let counters = [
        (
            "seenguard_kafka_producer_restarts_total",
            "Producers that were made anew, after an error that one does not recover from.",
        ),
        (
            "seenguard_kafka_resets_total",
            "Partitions of which records were deleted before this group had read them: these are lost.",
        ),
        (
            "seenguard_kafka_lost_total",
            "How often this consumer was out of its group for being too slow.",
        ),
        (
            "seenguard_skipped_records_total",
            "Events that are no impressions by the event mapping.",
        ),
        (
            "seenguard_kafka_commit_errors_total",
            "Commits of offsets that have failed: the next one tells them, too.",
        ),
        (
            "seenguard_kafka_broker_failures_total",
            "How often a broker, or all of them, could not be reached.",
        ),
    ];
    let rebalances: Labelled = (
        "seenguard_kafka_rebalances_total",
        "Changes of this consumer's partitions, by kind.",
        "kind",
        &["assign", "lost", "revoke"],
    );
    describe_counters(&counters, &[rebalances]);
    describe_histogram!(
        "seenguard_kafka_produce_seconds",
        "How long a report took until all in-sync replicas had it."
    );
    describe_gauge!(
        "seenguard_kafka_producer_queue",
        "Records that wait for Kafka's acknowledgement."
    );
    metrics::gauge!("seenguard_kafka_producer_queue").set(0.0);
    describe_gauge!(
        "seenguard_kafka_lag_records",
        "Records of a partition that are not taken in yet, by partition."
    );
    describe_gauge!(
        "seenguard_kafka_lag_seconds",
        "How long ago the oldest record was written that was read and is not taken in yet."
    );
    describe_gauge!(
        "seenguard_kafka_newer_partitions",
        "Partitions that wait, since a newer version has written what comes next."
    );
    describe_gauge!(
        "seenguard_kafka_assigned_partitions",
        "Partitions that this consumer has now."
    );
    describe_gauge!(
        "seenguard_kafka_paused",
        "1 while this consumer reads nothing more, since it has enough to take in."
    );
}

/// Counts reports that were applied to their user's chain.
#[cfg(any(feature = "axum", feature = "consumer"))]
pub(crate) fn note_taken(reports: &[seenguard::ReceivedReport]) {
    let now = seenguard::Time::from(std::time::SystemTime::now());
    counter!("seenguard_reports_total").increment(reports.len() as u64);
    let lag = metrics::histogram!("seenguard_lag_seconds");
    for report in reports {
        counter!("seenguard_impressions_total").increment(report.impressions.len() as u64);
        for impression in &report.impressions {
            lag.record(now.unix_ms().saturating_sub(impression.at.unix_ms()) as f64 / 1000.0);
        }
    }
}
