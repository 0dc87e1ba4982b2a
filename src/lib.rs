//! A feed must not show a person what that person has already seen. Servers remember it in a small chain of Bloom
//! filters per user, fed by a stream of impressions. The stream lags, and in that gap the item that was just on the
//! screen comes back. This crate closes the gap.
//!
//! A server stores a [`ShardChain`] for each user and sends it with the feed's items. The device has a
//! [`Guard`](device::Guard), which combines the server's shards with the impressions of this device and decides which
//! items are fresh. On the web, the npm package `seenguard` has the guard as WebAssembly, with storage, delivery and
//! the DOM around it; a server needs this crate alone.
//!
//! ```
//! use seenguard::device::{DEFAULT_REMEMBER, Guard};
//! use seenguard::{ChainOptions, ShardChain, Snapshot, Time};
//!
//! // On the server: the items that this user has seen.
//! let mut chain = ShardChain::new(ChainOptions::default())?;
//! chain.record(&["article-1", "article-2"], Time::from_unix_seconds(1_764_000_000))?;
//! let shipped = chain.snapshot(Time::from_unix_seconds(1_764_000_100), None)?;
//!
//! // On the device: the server's shards, and an impression of a moment ago.
//! let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
//! let now = Time::from_unix_seconds(1_764_000_100);
//! guard.apply(Snapshot::from(&shipped), now)?;
//! guard.record(&["article-3"], now);
//! assert_eq!(guard.filter(&["article-2", "article-3", "article-4"], now), [2]);
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! The core has no clock, no browser API and no I/O: the time is an argument, as [`Time`]. Lists of ids are of any type
//! that implements [`IdList`]; results are indices into them.
//!
//! # A tour
//!
//! ## Filters and shards
//!
//! A Bloom filter of m bits sets k of them for each id. It always contains an inserted id, and wrongly contains others
//! at a rate that follows from the share of set bits. [`Parameters`] computes sizes and rates, [`BloomFilter`] is a
//! filter, and a [`Shard`] is a filter with its epoch in a chain and its expiry, as it is stored and sent:
//!
//! ```
//! use seenguard::{BloomFilter, Parameters, Shard};
//!
//! let parameters = Parameters::for_capacity(1000, 0.001)?;
//! let mut shard = Shard::new(BloomFilter::new(parameters, 0), 1, 0);
//! shard.insert("article-1");
//! let text = shard.to_base64()?;
//! assert!(Shard::from_base64(&text)?.filter.contains("article-1"));
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! [`wire`] describes the bytes, and [`hash`] how the positions of an id are computed: enough to write the format in
//! any language. With the feature `formats`, [`wire::read`] reads the filters of Guava, bits-and-blooms, RedisBloom and
//! go-bloomfilter, too, and a chain may be stored in some of these [`Format`]s. [`inspect()`] describes a shard for
//! people.
//!
//! ## A user's chain
//!
//! A [`ShardChain`] inserts into its newest shard. When that has [`capacity`](ChainOptions::capacity) ids, a new one is
//! begun, and the oldest is dropped. A [`ChainSnapshot`] has the shards as a list of strings. A device that reports
//! which shards it [has](device::Guard::held) gets their references instead, 13 characters each:
//!
//! ```
//! use seenguard::device::{DEFAULT_REMEMBER, Guard};
//! use seenguard::{ChainOptions, ShardChain, Snapshot, Time};
//!
//! let now = Time::from_unix_seconds(1_764_000_000);
//! let options = ChainOptions { capacity: 2, ..ChainOptions::default() };
//! let mut chain = ShardChain::new(options)?;
//! chain.record(&["a", "b", "c"], now)?;
//! let stored = chain.snapshot(now, None)?.shards;
//!
//! let (mut chain, rejected) = ShardChain::from_shards(&stored, options)?;
//! assert!(rejected.is_empty());
//! let mut guard = Guard::new(30.0, DEFAULT_REMEMBER)?;
//! guard.apply(Snapshot::new(&stored), now)?;
//!
//! chain.record(&["d"], now)?;
//! let shipped = chain.snapshot(now, Some(&guard.held()))?;
//! assert_eq!(shipped.shards.len(), 2);
//! assert!(shipped.shards[1].starts_with('~'));
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! [`ShardChain::ingest`] applies a device's [`Report`]; [`ShardChain::unsee`] makes ids unseen, and
//! [`ShardChain::forget`] deletes a history. [`ShardChain::page`] makes a page of ranked candidates, less what the
//! person's devices have [`Pending`]. [`StoredChain`] is the form for a store, and [`StoreKeys`] makes the commands of
//! one in Redis. [`plan()`] computes the options for a feed, and their cost:
//!
//! ```
//! use seenguard::{PlanOptions, plan};
//!
//! // 150 impressions a day, nothing again for 30 days, at most 0.5% of fresh items stopped.
//! let plan = plan(&PlanOptions::new(150.0, 30.0, 0.005))?;
//! assert_eq!((plan.chain.shards, plan.chain.capacity), (20, 281));
//! # Ok::<(), seenguard::Error>(())
//! ```
//!
//! ## A device's guard
//!
//! A table without false positives has this device's impressions, by the hash of the id. An impression is pending until
//! a snapshot contains it; the time until then is the stream's lag. A [`Guard`](device::Guard) applies a whole
//! [`Snapshot`] or changes nothing and returns the reason. [`Guard::unsee`](device::Guard::unsee) makes ids unseen,
//! [`Guard::explain`](device::Guard::explain) returns why an id is stopped, and
//! [`Guard::begin_batch`](device::Guard::begin_batch) the impressions to deliver.
//!
//! Storage is a bag of rows. [`Guard::unsaved`](device::Guard::unsaved) writes changes as a row, and
//! [`Guard::merge_row`](device::Guard::merge_row) merges rows of earlier visits and other tabs, in any order, any
//! number of times, with the same result. [`Guard::rewrite`](device::Guard::rewrite) compacts many rows into a few. The
//! caller decides when to save, load and compact.
//!
//! ## Items that are nearly the same
//!
//! The module [`near_duplicates`] finds reposts and edited copies of an item, and gives all of them one id: that of the
//! first member of their group.
//!
//! # Errors and limits
//!
//! No input makes the crate panic. Unreadable input gives an [`Error`] with a stable [code](Error::code), and changes
//! nothing. Sizes that input states are checked before memory is allocated for them. A snapshot has at most
//! [`MAX_SNAPSHOT_SHARDS`] shards with [`MAX_SNAPSHOT_BITS`] bits together. `unsafe` is forbidden outside of wasm32.
//!
//! # Features
//!
//! - `formats`, by default: the filters of other libraries.
//! - `client` and `server`, by default: the classes that a build for wasm32 exports to JavaScript. In a native build
//!   `server` adds [`StoreCall`], the logic of stores of users' chains.

#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]
#![cfg_attr(target_arch = "wasm32", deny(unsafe_code))]
#![warn(missing_docs)]

mod base36;
mod base64;
mod bit_sliced;
mod bloom;
mod chain;
mod devices;
mod error;
mod guard;
pub mod hash;
mod id_list;
mod id_map;
mod impression;
mod inspect;
pub mod near_duplicates;
mod params;
mod plan;
mod rank;
mod redis;
mod shard;
mod snapshot;
#[cfg(feature = "server")]
mod store_call;
mod table;
mod time;
#[cfg(all(target_arch = "wasm32", any(feature = "client", feature = "server")))]
#[doc(hidden)]
pub mod web;
pub mod wire;

/// The API for a user's device.
pub mod device {
    pub use crate::guard::{
        Applied, CoveredImpression, DeliveryBatch, Explanation, Guard, GuardStats, NotApplied, Recorded, Scope,
    };
    pub use crate::table::{DEFAULT_REMEMBER, Due, MAX_REMEMBER, Mark, Source};
}

pub use bloom::BloomFilter;
pub use chain::{
    ChainOptions, ChainSnapshot, MAX_ID_BYTES, MAX_PAGE_SIZE, Page, PageRequest, ReceivedReport, Rejected, Repeats,
    Report, ShardChain, StoredChain,
};
pub use devices::{MAX_PENDING_DEVICES, PENDING_SECONDS, Pending, PendingUpdate};
pub use error::Error;
pub use id_list::{IdList, Split};
pub use impression::Impression;
pub use inspect::{InspectedFilter, Inspection, inspect};
pub use params::{MAX_BITS, MAX_HASHES, MAX_SNAPSHOT_BITS, MAX_SNAPSHOT_SHARDS, Parameters};
pub use plan::{Plan, PlanJson, PlanOptions, plan};
pub use redis::{LoadedFromRedis, PendingFromRedis, RedisCommand, RedisScript, StoreKeys};
pub use shard::Shard;
pub use snapshot::Snapshot;
#[cfg(feature = "server")]
pub use store_call::{
    StoreCall, StoreClock, StoreFailure, StorePage, StoreReplacement, StoreStep, StoreUse, check_namespace,
};
pub use time::Time;
pub use wire::Format;
