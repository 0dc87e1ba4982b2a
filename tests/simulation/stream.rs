//! The stream of devices' reports: late, sometimes lost, doubled or reordered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chance::Chance;
use super::conditions::{Conditions, HOUR, MINUTE, SECOND};
use super::items::Item;
use crate::random::Random;

/// A device's report of an item. Times are milliseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub item: Item,
    pub is_unseen: bool,
    pub at: u64,
    /// When the request was made.
    pub sent_at: u64,
}

/// The same when it has arrived, by the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub entry: Entry,
    pub arrived_ms: u64,
}

#[derive(Debug, Default)]
pub struct Stream {
    /// The events in the stream, by the time at which they leave it: `(ms, serial, event)`.
    under_way: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sent: u64,
    last_out: u64,
    /// The stream is stopped until then.
    still_until: u64,
}

impl Stream {
    /// Without conditions nothing goes wrong.
    pub fn send(&mut self, entry: Entry, now: u64, conditions: Option<&Conditions>, random: &mut Random) {
        let percent = |percent: fn(&Conditions) -> u64| conditions.map_or(0, percent);
        if random.percent(percent(|conditions| conditions.lost_percent)) {
            return;
        }
        let is_doubled = random.percent(percent(|conditions| conditions.duplicated_percent));
        for _ in 0..1 + u64::from(is_doubled) {
            let lag = conditions.map_or(SECOND, |conditions| {
                random.heavy_tailed(conditions.least_lag_ms, conditions.lag_has_mean)
            });
            let mut out = (now + lag).max(self.still_until);
            if conditions.is_some_and(|conditions| !conditions.reorders) {
                out = out.max(self.last_out);
            }
            self.last_out = self.last_out.max(out);
            self.sent += 1;
            let event = Event { entry, arrived_ms: now };
            self.under_way.push(Reverse((out, self.sent, event)));
        }
    }

    /// Stops the stream for a while.
    pub fn stand_still(&mut self, now: u64, random: &mut Random) {
        self.still_until = self.still_until.max(now + random.between(MINUTE, 8 * HOUR));
        for Reverse((out, serial, event)) in std::mem::take(&mut self.under_way) {
            self.under_way.push(Reverse((out.max(self.still_until), serial, event)));
        }
        self.last_out = self.last_out.max(self.still_until);
    }

    /// The time at which the last event leaves the stream.
    pub fn caught_up_at(&self) -> u64 {
        let outs = self.under_way.iter().map(|Reverse((out, _, _))| *out);
        outs.max().unwrap_or(0)
    }

    /// The next event that has left the stream by now, and when.
    pub fn next(&mut self, now: u64) -> Option<(u64, Event)> {
        self.under_way.peek().filter(|Reverse((out, _, _))| *out <= now)?;
        let Reverse((out, _, event)) = self.under_way.pop()?;
        Some((out, event))
    }
}
