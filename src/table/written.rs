//! Rows that were written: as strings, and what of them is not confirmed yet.

use super::facts::Facts;

/// A row that is to be stored.
#[derive(Debug)]
pub(crate) struct WrittenText {
    pub(crate) text: String,
    /// How many recordings it has. Only the page's class reports it.
    #[cfg_attr(not(all(target_arch = "wasm32", feature = "client")), allow(dead_code))]
    pub(crate) recordings: usize,
}

/// A row that is not known to be saved.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenRow {
    pub(super) mark: u32,
    /// It has the changes above this number, to the last.
    pub(super) after: u32,
    pub(super) last: u32,
    pub(super) facts: Facts,
}
