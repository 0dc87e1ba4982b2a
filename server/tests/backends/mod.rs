//! The tests, as trials over the backends.

mod devices;
mod failures;
mod promises;

use std::future::Future;

use libtest_mimic::{Failed, Trial};
use seenguard_server::{MemoryStore, RedisConnection, RedisStore, SeenStore, StoreOptions};

use crate::redis_server::Servers;

/// What each test is given: makes a store over nothing, with these options.
pub trait Backend {
    type Store: SeenStore + 'static;

    fn store(&self, options: StoreOptions) -> impl Future<Output = Self::Store>;
}

/// In memory.
pub struct InMemory;

impl Backend for InMemory {
    type Store = MemoryStore;

    async fn store(&self, options: StoreOptions) -> MemoryStore {
        MemoryStore::new(options).unwrap()
    }
}

/// In Redis, each test under another prefix.
pub struct InRedis {
    urls: Vec<String>,
    prefix: String,
}

impl Backend for InRedis {
    type Store = RedisStore;

    async fn store(&self, options: StoreOptions) -> RedisStore {
        let connection = RedisConnection::open(&self.urls).await.unwrap();
        RedisStore::new(connection, options)
            .unwrap()
            .prefix(self.prefix.as_str())
    }
}

/// All tests. Without servers, which those who only list them need not have, none of those in Redis would pass.
pub fn trials(servers: Option<&Servers>) -> Vec<Trial> {
    let single: Vec<String> = servers.map(|servers| servers.single.url()).into_iter().collect();
    // Of a cluster one node tells of the others.
    let cluster: Vec<String> = servers.map(|servers| servers.cluster[1].url()).into_iter().collect();
    let mut trials = Vec::new();
    macro_rules! promises {
        ($($test:ident),* $(,)?) => {$(
            let name = stringify!($test);
            trials.push(trial("memory", name, async || promises::$test(&InMemory).await));
            for (backend, urls) in [("redis", &single), ("cluster", &cluster)] {
                let (urls, prefix) = (urls.clone(), format!("{name}:"));
                let redis = InRedis { urls, prefix };
                trials.push(trial(backend, name, async move || promises::$test(&redis).await));
            }
        )*};
    }
    promises!(
        what_is_recorded_is_left_out_of_pages,
        pages_go_on_where_the_one_before_ended,
        a_report_is_taken_once_however_often_it_comes,
        what_is_no_report_is_refused,
        a_report_of_another_namespace_is_refused_before_anything_is_kept,
        what_one_device_has_pending_is_left_out_of_the_pages_of_another,
        of_a_device_the_latest_counts,
        of_more_than_eight_devices_the_latest_stay,
        what_is_pending_counts_for_a_while,
        what_is_unseen_is_fresh,
        a_history_that_is_deleted_is_gone_from_chain_and_devices,
        many_writers_of_one_user_lose_nothing,
        a_store_holds_the_chain_that_the_same_calls_make_by_themselves,
        what_is_damaged_is_left_out_and_told,
        a_user_without_a_name_is_refused,
    );
    macro_rules! failures {
        ($($test:ident),* $(,)?) => {$(
            trials.push(trial("redis", stringify!($test), failures::$test));
        )*};
    }
    failures!(
        a_script_that_redis_has_forgotten_is_sent_again,
        a_redis_that_is_started_anew_is_waited_for,
        pages_go_on_in_a_full_redis,
        pages_go_on_over_a_replica_that_only_reads,
        what_is_stored_expires_with_the_chain,
        an_address_without_a_server_is_told,
    );
    trials
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
