//! An id and a time: an impression, or an unseen id.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// An impression as it is delivered, or an unseen id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Impression {
    /// The item's id.
    pub id: String,
    /// The time: of the device's clock in a report, of the server's in a snapshot.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub at: Time,
}
