//! What a person's devices have shown and the stream has not brought yet.
//!
//! A device tells it with each request and report, as a [`PendingText`]. A server keeps the latest text of each device
//! beside the user's chain ([`PendingToKeep`]), and leaves out of a page what any of them lists ([`Pending`]). It never
//! enters the chain, nor a snapshot: what it lists is not covered.

mod kept;
mod name;
mod pending;
mod pending_list;

pub(crate) use kept::dropped_devices;
pub use kept::{MAX_PENDING_DEVICES, PENDING_SECONDS, PendingToKeep};
pub(crate) use name::DeviceName;
pub use pending::Pending;
pub(crate) use pending::PendingLists;
pub(crate) use pending_list::PendingText;
