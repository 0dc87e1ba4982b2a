//! Bytes and text of shards: each format in a file of its own, with its documentation beside the code that reads it.

pub(crate) mod base64;
pub mod native;
mod rice;
