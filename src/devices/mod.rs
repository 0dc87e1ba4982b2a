//! Pending impressions of a user's devices, which the chain does not have yet.
//!
//! A device sends them with each request and report, as a [`PendingList`]. A server stores the latest list of each
//! device next to the user's chain ([`PendingUpdate`]), and leaves the listed ids out of pages ([`Pending`]). They are
//! never in the chain nor in a snapshot, so a listed id is not covered.

mod name;
mod pending;
mod pending_list;
mod stored;

pub(crate) use name::DeviceName;
pub use pending::Pending;
pub(crate) use pending::PendingIds;
pub(crate) use pending_list::PendingList;
pub(crate) use stored::dropped_devices;
pub use stored::{MAX_PENDING_DEVICES, PENDING_SECONDS, PendingUpdate};
