//! Seenguard on the server: users' chains in a store, pages of ranked candidates, and a service that does both for a
//! ranker in any language.
//!
//! A [`SeenStore`] has of each user a chain of Bloom shards, what is unseen, and what the person's devices have
//! pending. [`MemoryStore`] keeps them in this process, [`RedisStore`] in Redis or a Redis Cluster, with the keys and
//! the scripts of the npm package's `redisStore`: servers in Rust and in Node serve the same users at the same time.
//!
//! ```
//! use seenguard::{PageRequest, Time};
//! use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), seenguard_server::Error> {
//! let store = MemoryStore::new(StoreOptions::new().namespace_of(|user| format!("home:{user}")))?;
//! let now = Time::from_unix_seconds(1_764_000_000);
//!
//! // What a device posts, as it arrives; `report` may wait in a stream.
//! let body = br#"{ "namespace": "home:ada", "now": 1764000000000, "impressions": [{ "id": "a", "at": 1764000000000 }] }"#;
//! let report = store.accept("ada", body, now).await?;
//! store.ingest("ada", &report, now).await?;
//!
//! // A page of all candidates, the best first.
//! let request = PageRequest { size: 10, ..PageRequest::default() };
//! let page = store.page("ada", &["a", "b", "c"], &request, now).await?;
//! assert_eq!(page.items, [1, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `redis`, by default: `RedisStore`.
//! - `service`, by default: what the program `seenguard-server` needs.
//! - `formats`: chains in the formats of other libraries, as of the crate `seenguard`.
//!
//! Without them there are the trait and [`MemoryStore`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
pub mod json;
mod memory;
mod options;
#[cfg(feature = "redis")]
mod redis_store;
mod store;

pub use error::Error;
pub use memory::MemoryStore;
pub use options::{StoreEvent, StoreOptions};
#[cfg(feature = "redis")]
pub use redis_store::{RedisConnection, RedisStore};
pub use store::{Loaded, Replacement, SeenStore};
