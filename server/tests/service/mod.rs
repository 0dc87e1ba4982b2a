//! The list of the service's tests, each as a trial of `libtest_mimic`.

#[cfg(feature = "kafka")]
mod kafka;
mod operation;
mod program;
mod routes;
mod streams;

use libtest_mimic::Trial;

use crate::redis_server::Servers;

/// The storage of the users' chains in a test.
#[derive(Clone)]
pub struct Storage {
    /// The program's arguments for it.
    pub arguments: Vec<String>,
    /// The URL of Redis; empty in memory.
    pub url: String,
}

impl Storage {
    fn in_redis(url: String, prefix: &str) -> Self {
        let arguments = ["--redis", &url, "--prefix", prefix].map(str::to_owned).to_vec();
        Storage { arguments, url }
    }

    fn on_cluster(url: String, prefix: &str) -> Self {
        let mut storage = Storage::in_redis(url, prefix);
        storage.arguments.push("--cluster".to_owned());
        storage
    }
}

/// Returns all tests. Without servers they can only be listed.
pub fn trials(servers: Option<&Servers>) -> Vec<Trial> {
    let single = servers.map(|servers| servers.single.url()).unwrap_or_default();
    // One node of a cluster is enough to find the others.
    let cluster = servers.map(|servers| servers.cluster[1].url()).unwrap_or_default();
    let mut trials = Vec::new();
    macro_rules! each {
        ($module:ident: $($test:ident),* $(,)?) => {$(
            let prefix = concat!(stringify!($test), ":");
            let storages = [
                ("redis", Storage::in_redis(single.clone(), prefix)),
                ("cluster", Storage::on_cluster(cluster.clone(), prefix)),
            ];
            for (name, storage) in storages {
                trials.push(trial(name, stringify!($test), move || $module::$test(&storage)));
            }
        )*};
    }
    macro_rules! in_memory {
        ($module:ident: $($test:ident),* $(,)?) => {$(
            let storage = Storage { arguments: Vec::new(), url: String::new() };
            trials.push(trial("memory", stringify!($test), move || $module::$test(&storage)));
        )*};
    }
    macro_rules! once {
        ($module:ident: $($test:ident),* $(,)?) => {$(
            trials.push(trial("program", stringify!($test), $module::$test));
        )*};
    }
    macro_rules! everywhere {
        ($module:ident: $($test:ident),* $(,)?) => {
            in_memory!($module: $($test),*);
            each!($module: $($test),*);
        };
    }
    everywhere!(routes:
        reported_items_are_left_out_of_pages,
        reports_of_many_are_applied_at_once,
    );
    // `testing::promises` tests the store's part of these over each backend.
    in_memory!(routes:
        a_page_continues_at_the_cursor_of_the_previous_one,
        shards_that_a_device_has_are_sent_as_references,
        i1_an_item_pending_on_one_device_does_not_come_on_another,
        unseen_ids_and_deleted_histories_are_fresh_again,
    );
    once!(routes:
        a_device_cannot_set_the_arrival_of_a_report_or_delete_a_history,
        many_reports_at_once_are_limited,
        seen_items_fill_up_pages_if_they_may,
        a_wrong_request_gets_its_code,
        a_request_may_have_so_much_and_no_more,
        a_chain_is_planned_as_the_crate_plans_it,
        responses_match_the_openapi_description,
    );
    once!(operation:
        beyond_the_loopback_the_service_needs_a_token,
        administration_needs_a_token_of_its_own,
        wrong_options_end_the_service_with_a_message,
        a_request_that_takes_too_long_is_cancelled,
        requests_in_progress_are_completed_before_the_service_ends,
        the_service_drains_at_a_signal_and_ends_at_once_at_a_second_one,
        methods_that_a_client_makes_up_are_one_series,
        requests_beyond_the_limits_are_refused,
        bodies_of_unknown_length_reserve_only_the_memory_that_they_need,
        a_connection_over_the_limit_waits_for_another_one_to_end,
        i5_pages_of_an_outage_take_little_memory,
        repeated_refusals_are_logged_once_a_second,
        metrics_and_health_may_listen_elsewhere,
        i5_without_redis_the_service_makes_degraded_pages,
        a_service_started_without_redis_is_ready_after_a_while,
        redis_over_tls_has_to_show_a_trusted_certificate,
        credentials_and_certificates_are_read_for_each_connection,
        commands_and_reconnects_of_redis_are_counted,
        each_metric_has_a_description_with_advice,
        the_log_has_the_trace_of_a_request,
        several_feeds_are_served_by_one_process,
        check_has_a_line_for_each_step,
        the_docs_have_each_option_with_its_default,
        a_connection_without_a_request_is_closed,
        a_header_that_drips_is_cut_and_an_idle_connection_is_not,
        the_metrics_count_requests_and_their_results,
        the_log_names_no_user,
    );
    each!(streams:
        reports_reach_the_chains_through_the_stream,
        a_consumer_claims_the_entries_of_a_dead_one,
        a_consumer_that_is_started_again_first_applies_its_own_entries,
        i6_consumers_that_are_killed_lose_nothing,
        a_consumer_that_was_stopped_loses_nothing_to_the_one_that_overtakes_it,
        a_stream_that_is_too_large_leaves_memory_for_the_chains,
    );
    once!(streams:
        entries_that_cannot_be_applied_become_dead_letters_and_block_nothing,
        a_device_forges_nothing_by_a_producer_that_copies_its_report,
        damaged_shards_and_dead_letters_are_logged_once_a_second,
        the_commands_that_the_docs_list_are_all_that_redis_must_let_it_run,
        nothing_is_acknowledged_that_another_device_may_show,
        nothing_is_acknowledged_that_is_not_stored,
        a_stream_that_has_filled_redis_drains,
        dead_letters_are_never_dropped_by_their_number,
        an_entry_of_another_program_blocks_nothing,
        a_batch_is_bounded_in_bytes,
        a_report_that_is_too_long_for_an_entry_becomes_two,
        a_consumer_that_is_gone_leaves_the_group,
        a_rebuild_from_a_stream_in_use_ends_and_reports_no_lag,
        a_consumer_with_a_wrong_namespace_or_prefix_acknowledges_nothing,
        entries_of_another_namespace_are_held_until_one_is_applied,
        held_entries_that_an_operator_removes_no_longer_count,
        many_entries_of_another_namespace_slow_a_consumer_down,
    );
    #[cfg(feature = "kafka")]
    {
        each!(kafka: reports_reach_the_chains_through_kafka);
        once!(kafka:
            without_a_broker_reports_are_refused_and_pages_are_served,
            brokers_that_are_away_are_logged_once_and_counted,
            an_acknowledgement_is_of_all_replicas,
            after_a_fatal_error_a_new_producer_replaces_the_old_one,
            records_that_cannot_be_applied_move_to_the_topic_of_dead_letters,
            dead_letters_come_back_by_a_consumer_of_their_topic,
            a_record_too_large_for_the_topic_of_dead_letters_is_truncated,
            records_that_cannot_become_dead_letters_stay_in_the_topic,
            a_partition_waits_for_a_version_that_reads_it,
            an_outage_of_redis_moves_no_offset,
            brokers_that_change_their_minds_cost_nothing,
            all_codecs_are_read,
            a_consumer_without_brokers_ends_at_sigterm,
            a_topic_is_replayed_to_its_end_next_to_the_running_consumer,
            wrong_settings_of_kafka_end_the_service_with_a_message,
            a_teams_own_events_are_applied_and_a_wrong_mapping_acknowledges_nothing,
            unreadable_events_after_readable_ones_end_no_consumer,
            events_of_a_wrong_mapping_are_held_also_after_others_were_skipped,
            large_reports_of_another_namespace_end_the_consumer,
            large_events_that_a_wrong_mapping_cannot_read_end_the_consumer,
            a_rebuild_from_a_topic_in_use_ends,
            a_consumer_of_a_wrong_topic_is_not_ready,
            a_consumer_that_may_not_read_is_not_ready,
            a_consumer_with_a_wrong_password_is_not_ready,
            a_fatal_error_of_the_client_ends_the_consumer_with_status_1,
            an_idle_topic_is_ready_again_once_a_permission_is_back,
            an_idle_topic_is_healthy_once_the_leader_of_each_partition_has_responded,
            records_that_are_deleted_before_they_are_read_are_counted,
            a_device_forges_nothing_by_a_collector_that_copies_its_report,
            a_consumer_ends_in_time_while_redis_hangs_and_commits_nothing,
            check_reads_the_topic_and_its_namespaces,
        );
    }
    trials
}

fn trial(storage: &str, name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(format!("{storage}: {}", name.replace('_', " ")), move || {
        test();
        Ok(())
    })
}
