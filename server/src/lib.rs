//! Seenguard on the server: users' chains in a store, pages of ranked candidates, and a service with both for a ranker
//! in any language.
//!
//! A [`SeenStore`] has for each user a chain of Bloom shards, the unseen ids, and the pending impressions of the user's
//! devices, in a [`Backend`]. [`MemoryBackend`] stores them in this process, [`RedisBackend`] in Redis or a Redis
//! Cluster, with the keys and the scripts of the npm package's `redisStore`: servers in Rust and in Node can serve the
//! same users at the same time. A custom backend has four methods over a string with a revision:
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::{Arc, Mutex};
//!
//! use seenguard::{PageRequest, PendingUpdate, Time};
//! use seenguard_server::{Backend, Error, Loaded, Replacement, SeenStore, StoreOptions, async_trait};
//!
//! #[derive(Clone, Default)]
//! struct Row {
//!     text: String,
//!     revision: u64,
//!     pending: String,
//! }
//!
//! #[derive(Default)]
//! struct Table(Mutex<HashMap<String, Row>>);
//!
//! impl Table {
//!     fn change<R>(&self, user: &str, change: impl FnOnce(&mut Row) -> R) -> R {
//!         change(self.0.lock().unwrap().entry(user.to_owned()).or_default())
//!     }
//!
//!     fn store(&self, user: &str, replacement: &Replacement, forgets: bool) -> Result<bool, Error> {
//!         let text = replacement.json()?;
//!         Ok(self.change(user, |row| {
//!             let is_current = row.revision == replacement.revision;
//!             if is_current {
//!                 let pending = if forgets { String::new() } else { row.pending.clone() };
//!                 *row = Row { text, revision: row.revision + 1, pending };
//!             }
//!             is_current
//!         }))
//!     }
//! }
//!
//! #[async_trait]
//! impl Backend for Table {
//!     async fn load(&self, user: &str, reported: Option<&PendingUpdate>) -> Result<Loaded, Error> {
//!         if let Some(reported) = reported {
//!             self.store_pending(user, reported).await?;
//!         }
//!         let row = self.change(user, |row| row.clone());
//!         Loaded::from_json(&row.text, row.revision, row.pending)
//!     }
//!
//!     async fn store_pending(&self, user: &str, reported: &PendingUpdate) -> Result<Option<Time>, Error> {
//!         self.change(user, |row| {
//!             if let Some(pending) = reported.added_to(&row.pending)? {
//!                 row.pending = pending;
//!             }
//!             Ok(None) // this storage has no clock
//!         })
//!     }
//!
//!     async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
//!         self.store(user, replacement, false)
//!     }
//!
//!     async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
//!         self.store(user, replacement, true)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let options = StoreOptions {
//!     namespace_of: Some(Arc::new(|user| format!("home:{user}"))),
//!     ..StoreOptions::default()
//! };
//! let store = SeenStore::new(Table::default(), options)?;
//! // The body of a device's request. `report` may go through a stream.
//! let body = br#"{ "namespace": "home:ada", "now": 1764000000000, "impressions": [{ "id": "a", "at": 1764000000000 }] }"#;
//! let report = store.accept("ada", body).await?;
//! store.ingest("ada", &report).await?;
//!
//! // A page of the candidates, the best first.
//! let request = PageRequest { size: 10, ..PageRequest::default() };
//! let page = store.page("ada", &["a", "b", "c"], &request).await?;
//! assert_eq!(page.items, [1, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `redis`, by default: `RedisBackend`.
//! - `tls`, by default: Redis over TLS, at `rediss://`.
//! - `axum`, by default: `router`, the routes of the service for your own app.
//! - `consumer`, by default: `Consumer`, which applies a stream of reports to the chains.
//! - `kafka`, `kafka-ssl`, `kafka-ssl-vendored`: `Kafka`, a topic instead of the stream, also over TLS.
//! - `service`, by default: what the program `seenguard-server` needs.
//! - `testing`: the tests that every backend must pass.
//! - `formats`: chains in the formats of other libraries, as the crate `seenguard` supports them.
//!
//! Without features the crate has [`SeenStore`], [`Backend`] and [`MemoryBackend`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(any(feature = "axum", feature = "consumer"))]
mod applying;
mod backend;
#[cfg(feature = "consumer")]
mod consumer;
mod cpu_bound;
mod error;
pub mod json;
#[cfg(feature = "kafka")]
mod kafka;
mod log;
mod memory;
mod metrics;
mod options;
mod received;
#[cfg(feature = "redis")]
mod redis_store;
#[cfg(feature = "axum")]
mod router;
mod seen_store;
#[cfg(feature = "testing")]
pub mod testing;

pub use async_trait::async_trait;
pub use seenguard::StoreFailure;

pub use self::backend::{Backend, Loaded, Replacement};
#[cfg(feature = "consumer")]
pub use self::consumer::{Consumer, ConsumerHealth, ConsumerOptions, ReportStream, Stream};
pub use self::error::{Error, ErrorKind};
#[cfg(feature = "kafka")]
pub use self::kafka::{EventMapping, Kafka};
#[doc(hidden)]
pub use self::log::may_log;
pub use self::memory::MemoryBackend;
pub use self::metrics::describe_metrics;
pub use self::options::{StoreEvent, StoreOptions};
#[cfg(feature = "consumer")]
#[doc(hidden)]
pub use self::redis_store::check_scripts;
#[cfg(feature = "redis")]
pub use self::redis_store::{RedisBackend, RedisConnection, RedisTarget};
#[cfg(feature = "axum")]
pub use self::router::{Problem, Reason, RouterOptions, router};
pub use self::seen_store::{Page, SeenStore};
