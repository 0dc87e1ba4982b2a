//! What a deletion on the server leaves: a floor, below which no recording exists.

/// A history that the person has deleted on the server: what was recorded before does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The server's time of it, Unix seconds.
    pub(crate) deleted_at: u32,
    /// The device's time of it, Unix milliseconds.
    pub(crate) at: u64,
}
