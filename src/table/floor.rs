//! The floor that a deletion of the history on the server sets: no recording exists below it.

/// A deletion of the history on the server: recordings made before it do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The server's time of the deletion, Unix seconds.
    pub(crate) deleted_at: u32,
    /// The device's time of the deletion, Unix milliseconds.
    pub(crate) at: u64,
}
