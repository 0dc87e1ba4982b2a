//! Pending impressions of a user's devices, which the chain does not have yet.
//!
//! A device sends them with each request and report, as a [`PendingText`]. A server stores the latest list of each
//! device next to the user's chain ([`PendingToKeep`]), and leaves the listed ids out of pages ([`Pending`]). They are
//! never in the chain nor in a snapshot, so a listed id is not covered.

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
