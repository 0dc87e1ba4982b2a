//! The world of one user, and the exact record of its events.

pub mod bag;
pub mod chance;
pub mod conditions;
pub mod delivery;
pub mod device;
pub mod elsewhere;
pub mod ending;
pub mod exceptions;
pub mod feeds;
pub mod items;
pub mod ledger;
pub mod lists;
pub mod recording;
pub mod server;
pub mod snapshots;
pub mod statistics;
pub mod storing;
pub mod stream;
pub mod tab;
pub mod view;
pub mod world;
