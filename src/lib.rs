//! A feed must not show a person what that person has already seen. Servers remember it in a small chain of Bloom
//! filters per user, fed by a stream of impressions. The stream lags, and in that gap the item that was just on the
//! screen comes back. This crate closes the gap.
//!
//! A server keeps a [`ShardChain`] for each user and ships it beside the feed's items. The device holds a [`Guard`],
//! which merges the shipped shards with the impressions of this device and says which items are fresh:
//!
//! ```
//! use seenguard::{ChainOptions, DEFAULT_REMEMBER, Guard, Now, ShardChain, Snapshot};
//!
//! // On the server: what this user is known to have seen.
//! let mut chain = ShardChain::new(ChainOptions::default())?;
//! chain.record(&["article-1", "article-2"], 1_764_000_000)?;
//! let shipped = chain.snapshot(1_764_000_100, None)?;
//!
//! // On the device: the server's shards, and what was shown here a moment ago.
//! let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
//! guard.finish_loading();
//! let now = Now::at(1_764_000_100_000);
//! let snapshot = Snapshot {
//!     version: shipped.version,
//!     shards: &shipped.shards,
//!     format: shipped.format,
//!     now_ms: None,
//!     unseen: &[],
//!     forget_before: None,
//! };
//! guard.apply(snapshot, now)?;
//! guard.record(&["article-3"], now)?;
//! assert_eq!(guard.filter(&["article-2", "article-3", "article-4"], now)?, [2]);
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! The core knows no clock, no browser and no I/O: time comes in as an argument. Where things are:
//!
//! - [`Parameters`]: how large a filter must be, and what its fill says about its contents.
//! - [`hash`]: from an id to its bit positions.
//! - [`BloomFilter`], [`Shard`]: one filter; one filter as it is shipped.
//! - [`wire`]: the bytes of a shard, in the native format and in those of other libraries.
//! - [`ShardChain`]: rotation by count and by time, expiry, union.
//! - [`Guard`]: which items are fresh; the impression table of this device, its delivery, and how it is stored.
//! - [`inspect()`]: what a shard holds, for people.
//! - [`Error`]: what is wrong with an input, with a stable code.

#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]
#![cfg_attr(target_arch = "wasm32", deny(unsafe_code))]
#![warn(missing_docs)]

mod bit_sliced;
mod bloom;
mod chain;
mod error;
mod guard;
pub mod hash;
mod id_list;
mod id_map;
mod impression;
mod inspect;
mod params;
mod shard;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod web;
pub mod wire;

pub use bloom::BloomFilter;
pub use chain::{ChainOptions, ChainSnapshot, Rejected, Report, ShardChain};
pub use error::Error;
pub use guard::{
    Applied, CoveredImpression, DEFAULT_REMEMBER, DeliveryBatch, Explanation, Filtered, Guard, GuardStats, Lag,
    MAX_REMEMBER, NotApplied, Now, Received, Recorded, Segment, SegmentState, Snapshot,
};
pub use id_list::{IdList, ItemIds, Split};
pub use impression::Impression;
pub use inspect::{InspectedFilter, Inspection, inspect};
pub use params::{MAX_BITS, MAX_HASHES, MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, Parameters};
pub use shard::Shard;
pub use wire::Format;
