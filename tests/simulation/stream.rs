//! The stream that carries what devices tell: late, now and then not at all, twice, or in another order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chance::Chance;
use super::conditions::{Conditions, HOUR, MINUTE, SECOND};
use super::items::Item;
use crate::random::Random;

/// What a device tells of an item. Times are milliseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    pub item: Item,
    pub is_unseen: bool,
    pub at: u64,
    /// When the request was made.
    pub sent_at: u64,
}

/// The same when it has arrived, by the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub told: Told,
    pub arrived_ms: u64,
}

#[derive(Debug, Default)]
pub struct Stream {
    /// What is under way, by the time at which it leaves the stream: `(ms, serial, event)`.
    under_way: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sent: u64,
    last_out: u64,
    /// It stands still until then.
    still_until: u64,
}

impl Stream {
    /// Takes what a device tells, which may be lost, sent twice, late and overtaken by others. Without conditions
    /// nothing goes wrong.
    pub fn send(&mut self, told: Told, now: u64, conditions: Option<&Conditions>, random: &mut Random) {
        if conditions.is_some_and(|conditions| random.percent(conditions.lost_percent)) {
            return;
        }
        let is_doubled = conditions.is_some_and(|conditions| random.percent(conditions.duplicated_percent));
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
            let event = Event { told, arrived_ms: now };
            self.under_way.push(Reverse((out, self.sent, event)));
        }
    }

    /// Nothing comes out for a while.
    pub fn stand_still(&mut self, now: u64, random: &mut Random) {
        let end = now + random.between(MINUTE, 8 * HOUR);
        self.still_until = self.still_until.max(end);
        let held: Vec<_> = std::mem::take(&mut self.under_way).into_vec();
        for Reverse((out, serial, event)) in held {
            self.under_way.push(Reverse((out.max(end), serial, event)));
        }
        self.last_out = self.last_out.max(end);
    }

    /// When the last event that is under way comes out.
    pub fn caught_up_at(&self) -> u64 {
        let outs = self.under_way.iter().map(|Reverse((out, _, _))| *out);
        outs.max().unwrap_or(0)
    }

    /// The next event that has come out by now, and when.
    pub fn next(&mut self, now: u64) -> Option<(u64, Event)> {
        let &Reverse((out, _, _)) = self.under_way.peek()?;
        if out > now {
            return None;
        }
        let Reverse((out, _, event)) = self.under_way.pop()?;
        Some((out, event))
    }
}
