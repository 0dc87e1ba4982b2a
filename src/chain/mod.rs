//! A user's shards, newest first: what the server keeps, ships and goes on from.
//!
//! `record` first seals the newest shard if it is due, then inserts an id unless the newest shard contains it: an id
//! that only an older shard contains is inserted again, so that seeing it again renews it and rotation does not forget
//! it early.
//!
//! A newest shard that holds `capacity` items is full: it is sealed and a new one begun. With a ttl, a newest shard
//! older than a slice, `ttl / max(1, shards − 1)`, is sealed though not full, and a shard expires a ttl and a slice
//! after its creation. While more than `shards` shards are full or newest, the oldest full one is dropped; what was
//! sealed by time goes by its expiry alone. So an id is kept for at least the ttl and at most a slice longer, unless
//! `(shards − 1) · capacity` others were inserted since.
//!
//! Beside the shards a chain keeps the unseen ids, each with its time, and when the history was deleted: a report that
//! comes late changes nothing of either.

mod link;
mod live_shards;
mod options;
mod report;
mod rotation;
mod seconds;
mod shard_chain;
mod snapshot;
mod union;
mod unsee;
mod unseen;
mod verdict;

pub use options::ChainOptions;
pub(crate) use options::{MAX_SHARDS_WITH_TTL, MAX_TTL_SECONDS};
pub use report::Report;
pub use shard_chain::{Rejected, ShardChain};
pub use snapshot::ChainSnapshot;
