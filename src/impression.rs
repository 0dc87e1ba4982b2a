//! An id and a time: an item that was on the screen, or was taken back.

use serde::Serialize;

/// An impression as it is delivered, or what was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Impression {
    /// The item's id.
    pub id: String,
    /// Unix milliseconds: of the device's clock in what it delivers, of the server's in a snapshot.
    pub at: u64,
}
