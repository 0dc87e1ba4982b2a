//! The list of the backends' tests, each as a trial of `libtest_mimic`.

mod clock;
mod consumers;
mod failures;
mod odd;
mod routes;

use std::future::Future;

use libtest_mimic::{Failed, Trial};
use seenguard_server::testing::{Promise, promises};
use seenguard_server::{MemoryBackend, RedisBackend, RedisConnection};

use crate::redis_server::{RedisServer, Servers};

/// Returns all tests. Without servers they can only be listed.
pub fn trials(servers: Option<&Servers>) -> Vec<Trial> {
    let single = servers.map(|servers| servers.single.url()).unwrap_or_default();
    let cluster: Vec<String> = servers
        .iter()
        .flat_map(|servers| servers.cluster.iter().map(RedisServer::url))
        .collect();
    let in_memory = promises(|_| async { MemoryBackend::default() });
    // Each test has a prefix of its own.
    let in_redis = promises(move |name| {
        let url = single.clone();
        async move { RedisBackend::new(RedisConnection::open(url).unwrap()).prefix(format!("{name}:")) }
    });
    let on_cluster = promises(move |name| {
        let urls = cluster.clone();
        async move { RedisBackend::new(RedisConnection::open_cluster(urls).unwrap()).prefix(format!("{name}:")) }
    });
    let all = vec![("memory", in_memory), ("redis", in_redis), ("cluster", on_cluster)];
    let mut trials: Vec<Trial> = all
        .into_iter()
        .flat_map(|(backend, promises)| promises.into_iter().map(move |promise| promise_trial(backend, promise)))
        .collect();
    macro_rules! over {
        ($backend:literal, $module:ident: $($test:ident),* $(,)?) => {$(
            trials.push(trial($backend, stringify!($test), $module::$test));
        )*};
    }
    over!("redis", failures:
        a_script_that_redis_has_forgotten_is_sent_again,
        a_redis_that_is_started_again_is_waited_for,
        i5_pages_are_made_while_redis_is_full,
        i5_pages_are_made_over_a_replica_that_only_reads,
        i5_pages_are_made_while_redis_hangs_is_gone_or_was_never_there,
        a_connection_whose_other_end_is_gone_is_replaced,
        a_master_that_has_become_a_replica_is_left,
        a_slow_response_is_awaited,
        a_redis_that_refuses_writes_is_not_left,
        i5_pages_wait_no_longer_for_a_redis_that_was_there,
        i5_pages_of_an_outage_wait_no_longer_than_one,
        a_read_from_a_backend_that_never_responds_ends_at_its_deadline,
        a_master_that_hangs_delays_only_its_own_users,
        a_node_that_hangs_does_not_block_the_other_nodes,
        a_master_that_hangs_at_the_start_does_not_block_the_others,
        a_silent_connection_to_a_master_is_replaced_while_the_others_respond,
        the_stored_pending_lists_of_many_devices_are_bounded,
        an_unchanged_list_is_stored_again_before_it_expires,
        metadata_and_pending_lists_expire_with_the_chain,
        an_invalid_address_is_refused,
    );
    over!("redis", consumers:
        a_batch_that_times_out_is_halved,
        a_consumer_that_cannot_read_is_not_ready,
        an_entry_over_which_the_backend_panics_is_set_aside_alone,
        no_consumer_claims_entries_that_a_slow_one_is_processing,
        a_consumer_ends_in_time_while_its_chains_hang_and_acknowledges_nothing,
    );
    over!("memory", clock: a_server_whose_clock_is_ahead_loses_nothing);
    over!("memory", routes:
        a_panic_is_answered_and_the_next_request_too,
        pages_over_their_limit_are_refused_and_reports_have_a_limit_of_their_own,
    );
    over!("redis", routes:
        a_panic_is_a_mistake_of_the_program_however_large_the_chain,
        i5_reports_that_wait_in_an_outage_do_not_use_up_the_limit_of_pages,
    );
    trials
}

fn promise_trial(backend: &str, promise: Promise) -> Trial {
    let name = promise.name();
    trial(backend, name, async move || promise.check().await)
}

fn trial<F: Future<Output = ()>>(backend: &str, name: &str, test: impl FnOnce() -> F + Send + 'static) -> Trial {
    let name = format!("{backend}: {}", name.replace('_', " "));
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.map_err(Failed::from)?.block_on(test());
        Ok(())
    })
}
