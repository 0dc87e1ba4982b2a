//! The commands of a store in Redis, and the parsing of their responses. The stores of Rust and of JavaScript only
//! transfer them.
//!
//! Each user has three [`keys`]: a list of shards, newest first; a hash with the revision and the fields of a
//! [`StoredChain`](crate::StoredChain); and a hash from each device's name to `<unix seconds> <pending list>`.

mod answer;
mod command;
mod keys;
mod list_change;

pub use answer::{LoadedFromRedis, PendingFromRedis};
pub use command::{RedisCommand, RedisScript};
pub use keys::StoreKeys;
