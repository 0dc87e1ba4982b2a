//! The store that the command line asks for.

use std::sync::atomic::{AtomicBool, Ordering};

use metrics::counter;
use seenguard::{ChainSnapshot, IdList, Page, PageRequest, ReceivedReport, Time};
use seenguard_server::{Error, MemoryStore, RedisConnection, RedisStore, SeenStore, StoreEvent, StoreOptions};

use crate::Failure;
use crate::cli::Common;

/// One of both.
pub enum Store {
    Memory(MemoryStore),
    Redis(Box<RedisStore>),
}

/// Does the same with either.
macro_rules! with {
    ($self:expr, $store:ident => $result:expr) => {
        match $self {
            Store::Memory($store) => $result,
            Store::Redis($store) => $result,
        }
    };
}

impl Store {
    pub async fn open(common: &Common) -> Result<Self, Failure> {
        let mut options = StoreOptions::new()
            .chain(common.chain_options())
            .pending_seconds(common.pending_seconds)
            .on_event(listener());
        match common.namespace_of() {
            Some(namespace_of) => options = options.namespace_of(namespace_of),
            None => tracing::warn!(
                "no --namespace: what a tab sends whose person has signed out counts for the next person"
            ),
        }
        if common.redis.is_empty() {
            tracing::info!("users' chains are in memory, and gone when this process ends");
            return Ok(Store::Memory(MemoryStore::new(options)?));
        }
        let connection = connect(common).await?;
        let kind = if connection.is_cluster() {
            "a Redis Cluster"
        } else {
            "Redis"
        };
        tracing::info!("users' chains are in {kind}");
        let store = RedisStore::new(connection, options)?.prefix(common.prefix.clone());
        Ok(Store::Redis(Box::new(store)))
    }

    /// Fails if what holds the chains does not answer.
    pub async fn ping(&self) -> Result<(), Error> {
        match self {
            Store::Memory(_) => Ok(()),
            Store::Redis(store) => store.connection().ping().await,
        }
    }

    pub async fn page(
        &self,
        user: &str,
        ranked: &(impl IdList + Sync),
        request: &PageRequest<'_>,
        now: Time,
    ) -> Result<Page, Error> {
        with!(self, store => store.page(user, ranked, request, now).await)
    }

    pub async fn accept(&self, user: &str, body: &[u8], now: Time) -> Result<ReceivedReport, Error> {
        with!(self, store => store.accept(user, body, now).await)
    }

    /// The same, but fails if what the device has pending cannot be kept.
    pub async fn accept_for_stream(&self, user: &str, body: &[u8], now: Time) -> Result<ReceivedReport, Error> {
        with!(self, store => store.accept_for_stream(user, body, now).await)
    }

    /// Takes in reports of a user, which were received, in one change.
    pub async fn ingest_all(&self, user: &str, reports: &[ReceivedReport], now: Time) -> Result<(), Error> {
        let change =
            |chain: &mut seenguard::ShardChain| reports.iter().try_for_each(|report| chain.ingest(report).map(drop));
        with!(self, store => store.update(user, now, change).await)
    }

    pub async fn snapshot(&self, user: &str, held: Option<&str>, now: Time) -> Result<ChainSnapshot, Error> {
        let chain = with!(self, store => store.read(user, now).await)?;
        Ok(chain.snapshot(now, held)?)
    }

    pub async fn unsee(&self, user: &str, ids: &(impl IdList + Sync), now: Time) -> Result<(), Error> {
        with!(self, store => store.unsee(user, ids, now).await)
    }

    pub async fn forget(&self, user: &str, now: Time) -> Result<(), Error> {
        with!(self, store => store.forget(user, now).await)
    }
}

/// A new connection.
pub async fn connect(common: &Common) -> Result<RedisConnection, Failure> {
    let opened = RedisConnection::open(&common.redis).await;
    opened.map_err(|error| format!("Redis does not answer; is --redis right, and does it run? {error}").into())
}

/// Counts what a store tells, and logs what needs attention.
fn listener() -> impl Fn(&StoreEvent) + Send + Sync {
    let has_told_refusal = AtomicBool::new(false);
    move |event| match event {
        StoreEvent::Damaged(error) => {
            let code = error.code();
            counter!("seenguard_damaged_total", "code" => code).increment(1);
            tracing::warn!(code, "something stored cannot be read, and is left out");
        }
        StoreEvent::NotKept(error) => {
            counter!("seenguard_pending_not_kept_total").increment(1);
            // Once: a replica or a full Redis refuses every time.
            if !has_told_refusal.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "what devices have pending cannot be kept: pages go on without it");
            }
        }
        StoreEvent::Conflict => counter!("seenguard_conflicts_total").increment(1),
        StoreEvent::Retry => counter!("seenguard_retries_total").increment(1),
        _ => {}
    }
}
