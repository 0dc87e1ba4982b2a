//! What a store keeps of devices' pending impressions: of each the latest text that it has told.
//!
//! In Redis it is a hash, from the device name to `<unix seconds> <text>`. Here it is these values, a line each.
//! `server/lua/keep.lua` does in Redis what [`PendingToKeep::into_lines`] does in memory. An empty list is kept, too, in
//! place of another one: its counter tells that what was overtaken is older.

use std::cmp::Reverse;
use std::fmt::Write;

use super::name::DeviceName;
use super::pending_list::PendingText;
use crate::base36::base36;
use crate::error::Error;
use crate::time::Time;

/// Of so many devices of a user, the latest, a store keeps what they have pending.
pub const MAX_PENDING_DEVICES: usize = 8;

/// For so many seconds after its last change a store keeps it by default: 2 days.
pub const PENDING_SECONDS: u32 = 2 * 86_400;

/// What is kept of one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptLine<'a> {
    pub(super) device: DeviceName,
    /// When it was kept, in whole seconds.
    pub(super) at: Time,
    pub(super) text: PendingText<'a>,
}

/// The lines that can be read, of what was not kept before `since`.
pub(super) fn kept_lines(kept: &str, since: Time) -> impl Iterator<Item = KeptLine<'_>> {
    let read = |line| {
        let (at, text) = str::split_once(line, ' ')?;
        let text = PendingText::parse(text)?;
        Some(KeptLine {
            device: text.device?,
            at: Time::from_unix_seconds(at.parse().ok()?),
            text,
        })
    };
    kept.lines().filter_map(read).filter(move |line| line.at >= since)
}

/// What a store is to keep of what a device told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingToKeep<'a> {
    device: DeviceName,
    text: PendingText<'a>,
}

impl<'a> PendingToKeep<'a> {
    /// Reads what came with a page's request, or a report. Nothing for what is not to be kept: what cannot be read, what
    /// tells no device name, and what is of another namespace than the user's, where that is known.
    pub fn of(text: &'a str, namespace: Option<&str>) -> Option<Self> {
        let text = PendingText::parse(text)?;
        let device = text.device?;
        let is_of_user = namespace.is_none_or(|namespace| device.is_of(namespace));
        is_of_user.then_some(PendingToKeep { device, text })
    }

    /// The arguments of `server/lua/keep.lua`: the device name, the counter, the text, the time in Unix seconds, for how
    /// many seconds after that it is kept, and of how many devices. Numbers of the text are in their shortest form: of
    /// two counters that differ in length, the longer one is higher.
    pub fn arguments(&self, now: Time, pending_seconds: u32) -> [String; 6] {
        [
            self.device.to_string(),
            base36(self.text.counter),
            self.text.to_string(),
            now.unix_seconds().to_string(),
            pending_seconds.to_string(),
            MAX_PENDING_DEVICES.to_string(),
        ]
    }

    /// What is kept from now on, in lines; nothing if nothing changes, or if what is kept has a higher counter. Of more
    /// than [`MAX_PENDING_DEVICES`] the latest stay, and of these first those that list anything; what was kept before
    /// `since` goes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn into_lines(self, kept: &str, now: Time, since: Time) -> Result<Option<String>, Error> {
        let mut lines: Vec<KeptLine<'_>> = kept_lines(kept, since).collect();
        let is_news = match lines.iter().find(|line| line.device == self.device) {
            Some(known) => self.text.counter >= known.text.counter && self.text != known.text,
            None => !self.text.list.is_empty(),
        };
        if !is_news {
            return Ok(None);
        }
        lines.retain(|line| line.device != self.device);
        lines.sort_by_key(|line| (line.text.list.is_empty(), Reverse(line.at)));
        lines.truncate(MAX_PENDING_DEVICES - 1);
        let PendingToKeep { device, text } = self;
        lines.insert(0, KeptLine { device, at: now, text });
        let mut after = String::new();
        after.try_reserve_exact(kept.len() + text.list.len() + 64)?;
        for KeptLine { at, text, .. } in &lines {
            // Writing to a text cannot fail.
            let _ = writeln!(after, "{} {text}", at.unix_seconds());
        }
        Ok(Some(after))
    }
}
