//! A user's shards, newest first: the state that the server stores, sends and continues.
//!
//! `record` first seals the newest shard if it is due, then inserts an id unless the newest shard contains it: an id
//! that only an older shard contains is inserted again, so that seeing it again renews it and rotation does not forget
//! it early.
//!
//! When the newest shard has `capacity` items, it is full: it is sealed, and a new one is begun. With a ttl, a newest
//! shard older than a slice, `ttl / max(1, shards − 1)`, is sealed before it is full, and a shard expires a ttl and a
//! slice after its creation. When a shard is begun and more than `shards` are full or newest, the oldest full one is
//! dropped; shards sealed by time are dropped only when they expire. So an id stays for at least the ttl and at most a
//! slice longer, unless `(shards − 1) · capacity` others were inserted since.
//!
//! Servers may have different options at the same time, such as during a rollout. Each server's guarantees hold for the
//! impressions that it records, except that the smaller number of shards applies. A shard with other parameters is used
//! until it is full, one with another ttl if it expires late enough, and a shard that a server cannot read is stored
//! unchanged.
//!
//! Next to the shards a chain has the unseen ids, each with its time, and the time at which the history was deleted, so
//! that late reports undo neither.
//!
//! The devices' pending impressions are separate, in [`devices`](crate::devices).

mod cursor;
mod link;
mod live_shards;
mod options;
mod page;
mod report;
mod rotation;
mod seconds;
mod shard_chain;
mod snapshot;
mod stored;
mod union;
mod unseen;
mod verdict;

pub use options::ChainOptions;
pub(crate) use options::{MAX_SHARDS_WITH_TTL, MAX_TTL_SECONDS};
pub use page::{MAX_PAGE_SIZE, Page, PageRequest, Repeats};
#[cfg(all(target_arch = "wasm32", feature = "server"))]
pub(crate) use report::server_time;
pub use report::{MAX_ID_BYTES, ReceivedReport, Report};
pub use shard_chain::{Rejected, ShardChain};
pub use snapshot::ChainSnapshot;
pub use stored::StoredChain;
