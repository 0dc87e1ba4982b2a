//! Code shared by the fuzz targets. See README.md.

pub mod choices;
pub mod pieces;
pub mod shards;
pub mod snapshots;

#[path = "../../../tests/common/mod.rs"]
pub mod common;
