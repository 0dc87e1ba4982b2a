//! An id and a time: an item that was on the screen, or an id that is unseen again.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// An impression as it is delivered, or an unseen id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Impression {
    /// The item's id.
    pub id: String,
    /// By the device's clock in what it delivers, by the server's in a snapshot.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub at: Time,
}
