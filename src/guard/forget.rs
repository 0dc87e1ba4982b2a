//! Deletion: a clear deletes everything; a deletion of the history on the server, all impressions before it.

use super::Guard;
use super::server_view::ServerView;
use super::types::recorded_at;
use super::unseen::Unseen;
use crate::table::Floor;
use crate::time::Time;

impl Guard {
    /// The number of the latest clear that is known; 0: none.
    pub fn number(&self) -> u64 {
        self.table.number()
    }

    /// Deletes all impressions and the snapshot in use: the clear of a caller without a
    /// [`Storage`](crate::device::Storage).
    pub fn clear(&mut self, now: Time) {
        let number = recorded_at(now).max(self.number() + 1);
        self.learn(number, false);
    }

    /// Applies a clear. `keeps`: the table holds only recordings made since. Returns whether the clear was new.
    pub(crate) fn learn(&mut self, number: u64, keeps: bool) -> bool {
        let is_new = self.table.learn(number, keeps);
        if is_new {
            self.forget_snapshot();
            self.has_applied = false;
        }
        is_new
    }

    /// Applies a deletion of the history that another tab, or an earlier visit, has received.
    pub(crate) fn merge_floor(&mut self, floor: Floor) {
        self.table.merge_floor(floor);
        let is_in_use = self.has_applied || !self.server.is_empty();
        if is_in_use && floor.deleted_at > self.forget_before {
            let version = self.version.map(|_| 0);
            self.forget_snapshot();
            (self.forget_before, self.version) = (floor.deleted_at, version);
        }
    }

    /// When the history was deleted, Unix seconds of the server's clock; 0: never.
    pub(super) fn latest_deletion(&self) -> u32 {
        self.table.floor().map_or(0, |floor| floor.deleted_at)
    }

    fn forget_snapshot(&mut self) {
        self.server = ServerView::default();
        self.unseen = Unseen::default();
        self.version = None;
        self.forget_before = 0;
        self.server_ahead_ms = None;
        self.is_missing_shard = false;
        self.snapshots += 1;
    }
}
