//! What a store in Redis sends, and what the answers mean: the stores of Rust and of JavaScript only carry it.
//!
//! Of each user there are three [`keys`]: a list of shards, newest first; next to it a hash with the revision and the
//! fields of a [`StoredChain`](crate::StoredChain); and a hash from each device's name to `<unix seconds> <text>`, its
//! pending list.

mod answer;
mod command;
mod keys;
mod list_change;

pub use answer::{KeptInRedis, LoadedFromRedis};
pub use command::{RedisCommand, RedisScript};
pub use keys::StoreKeys;
