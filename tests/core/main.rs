//! The core through its public API, in one program: a module for each of its parts.
#![cfg(not(target_arch = "wasm32"))]

#[path = "../common/mod.rs"]
mod common;

mod chain;
mod chain_texts;
mod chain_unseen;
mod delivery;
mod exchange;
mod formats;
mod guard;
mod inspect;
mod near_duplicates;
mod pending;
mod plan;
mod serde;
mod simhash;
mod storage;
mod vectors;
mod wire;
