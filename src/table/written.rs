//! Written rows: as strings, and as marks that wait for confirmation.

use super::facts::Facts;

/// A row as a string.
#[derive(Debug)]
pub(crate) struct EncodedRow {
    pub(crate) text: String,
    /// The number of its recordings. Only the page's class returns it.
    #[cfg_attr(not(all(target_arch = "wasm32", feature = "client")), allow(dead_code))]
    pub(crate) recordings: usize,
}

/// A row that is not known to be saved.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenRow {
    pub(super) mark: u32,
    /// The row has the changes above this number, up to `last`.
    pub(super) after: u32,
    pub(super) last: u32,
    pub(super) facts: Facts,
}
