//! The pending impressions that are left out of a page.
//!
//! The list of the requesting device is read from its request, never from the store. A list of another device stops an
//! id unless the chain lists it as unseen.

use super::name::DeviceName;
use super::pending_list::{PendingList, listed};
use super::stored::{MAX_PENDING_DEVICES, PENDING_SECONDS, retain_latest, stored_lines, valid_since};
use crate::error::Error;
use crate::time::Time;

/// Pending impressions of a user's devices.
#[derive(Debug, Clone, Copy)]
pub struct Pending<'a> {
    /// The list in the device's request: [`Guard::pending_list`](crate::device::Guard::pending_list). It is untrusted.
    pub requesting: Option<&'a str>,
    /// The stored lists of the user's devices, one in each line:
    /// [`PendingUpdate::added_to`](crate::PendingUpdate::added_to).
    pub stored: &'a str,
    /// For how many seconds a stored list is valid; [`PENDING_SECONDS`].
    pub stored_seconds: u32,
    /// The namespace of the user, if the store knows it: lists of another one are ignored.
    pub namespace: Option<&'a str>,
}

/// No lists.
impl Default for Pending<'_> {
    fn default() -> Self {
        Pending {
            requesting: None,
            stored: "",
            stored_seconds: PENDING_SECONDS,
            namespace: None,
        }
    }
}

/// Only the requesting device's list.
impl<'a> From<Option<&'a str>> for Pending<'a> {
    fn from(requesting: Option<&'a str>) -> Self {
        Pending {
            requesting,
            ..Pending::default()
        }
    }
}

/// The ids of the valid lists, in the form of [`listed`], sorted.
pub(crate) struct PendingIds {
    requesting: Vec<u32>,
    others: Vec<u32>,
}

impl PendingIds {
    /// Reads the valid lists. Ignores a list that a device made before it knew of a deletion of the history.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn read(pending: Pending<'_>, forget_before: Option<u32>, now: Time) -> Result<Self, Error> {
        let is_of_user = |device: DeviceName| pending.namespace.is_none_or(|namespace| device.is_of(namespace));
        let forget_before = forget_before.unwrap_or(0);
        let counts = |list: &PendingList<'_>| {
            (list.is_unnamed() || list.forgotten >= forget_before) && list.device.is_none_or(is_of_user)
        };
        let (mut requesting, mut others) = (Vec::new(), Vec::new());
        let sent = pending.requesting.and_then(PendingList::parse);
        if let Some(list) = sent.filter(counts) {
            list.read_list(now, forget_before, &mut requesting)?;
        }
        let device = sent.and_then(|list| list.device);
        let mut lines: Vec<_> = stored_lines(pending.stored, valid_since(now, pending.stored_seconds))
            .filter(|line| Some(line.device) != device && counts(&line.text))
            .collect();
        retain_latest(&mut lines, MAX_PENDING_DEVICES, None);
        for line in lines {
            line.text.read_list(line.at, forget_before, &mut others)?;
        }
        requesting.sort_unstable();
        others.sort_unstable();
        Ok(PendingIds { requesting, others })
    }

    /// Whether the requesting device has shown an id of this hash.
    #[inline]
    pub(crate) fn requesting_contains(&self, hash: u64) -> bool {
        self.requesting.binary_search(&listed(hash)).is_ok()
    }

    /// Whether another device has shown an id of this hash.
    #[inline]
    pub(crate) fn others_contain(&self, hash: u64) -> bool {
        self.others.binary_search(&listed(hash)).is_ok()
    }
}
