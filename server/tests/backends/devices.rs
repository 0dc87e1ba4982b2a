//! Devices, and what they send.

use seenguard::device::Guard;
use seenguard::{Impression, Report, Time};

use crate::recall_server::new_device;

/// Seconds since 1970: when a test begins. Redis keeps nothing by this clock.
pub const START: Time = Time::from_unix_seconds(1_764_000_000);

pub fn after(seconds: u64) -> Time {
    Time::from_unix_seconds(START.unix_seconds() + seconds)
}

pub fn namespace_of(user: &str) -> String {
    format!("home:{user}")
}

/// A device of a user, with its name.
pub fn device(user: &str, number: u64) -> Guard {
    new_device(&namespace_of(user), number, START).unwrap()
}

/// What it sends as `Seen-Pending`, once it has shown these.
pub fn shows(device: &mut Guard, ids: &[&str], now: Time) -> String {
    device.record(ids, now);
    device.pending_list(4_000, now)
}

/// What a device posts.
pub fn body(user: &str, ids: &[&str], at: Time, pending: Option<String>) -> Vec<u8> {
    let mut report = Report::new(namespace_of(user), at);
    report.impressions = ids.iter().map(|&id| Impression { id: id.into(), at }).collect();
    report.pending = pending;
    serde_json::to_vec(&report).unwrap()
}
