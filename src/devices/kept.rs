//! The devices' pending impressions in a store: the latest text of each device.
//!
//! They are lines of `<unix seconds> <text>`, in Redis the values of a hash. An empty list is kept, too: its counter
//! shows that a list that arrives later is older.

use std::cmp::Reverse;
use std::fmt::{self, Write};

use super::name::DeviceName;
use super::pending_list::PendingText;
use crate::base36::base36;
use crate::error::Error;
use crate::time::Time;

/// The number of a user's devices, the latest ones, whose pending impressions a store keeps.
pub const MAX_PENDING_DEVICES: usize = 8;

/// How long a store keeps a text after its last change by default, in seconds: 2 days.
pub const PENDING_SECONDS: u32 = 2 * 86_400;

/// The line of one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptLine<'a> {
    pub(super) device: DeviceName,
    /// When it was kept, in whole seconds.
    pub(super) at: Time,
    pub(super) text: PendingText<'a>,
}

/// The readable lines that were not kept before `since`.
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

impl fmt::Display for KeptLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.at.unix_seconds(), self.text)
    }
}

/// Keeps the lines of the latest `most` devices, those with ids first. Returns the others.
pub(super) fn keep_latest<'a>(lines: &mut Vec<KeptLine<'a>>, most: usize) -> Vec<KeptLine<'a>> {
    lines.sort_by_key(|line| (line.text.list.is_empty(), Reverse(line.at)));
    lines.split_off(most.min(lines.len()))
}

/// The lines beyond the limit: each device's name and its line.
pub(crate) fn dropped_devices(kept: &str) -> Vec<[String; 2]> {
    let mut lines: Vec<KeptLine<'_>> = kept_lines(kept, Time::from_unix_seconds(0)).collect();
    let dropped = keep_latest(&mut lines, MAX_PENDING_DEVICES);
    dropped
        .iter()
        .map(|line| [line.device.to_string(), line.to_string()])
        .collect()
}

/// A device's pending impressions to keep in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingToKeep {
    device: DeviceName,
    counter: u64,
    /// The text, with its numbers in their shortest form.
    text: String,
    /// When it arrived.
    at: Time,
    life_seconds: u32,
}

impl PendingToKeep {
    /// Reads the value in a page's request or a report that arrives now, to keep for `life_seconds`. `None` for an
    /// invalid text, one without a device name, and one of another namespace than the user's, if that is known.
    pub fn of(text: &str, namespace: Option<&str>, now: Time, life_seconds: u32) -> Option<Self> {
        let text = PendingText::parse(text)?;
        let device = text.device?;
        let is_of_user = namespace.is_none_or(|namespace| device.is_of(namespace));
        is_of_user.then(|| PendingToKeep {
            device,
            counter: text.counter,
            text: text.to_string(),
            at: now,
            life_seconds,
        })
    }

    /// The device's text, with its numbers in their shortest form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When it arrived, in whole seconds.
    pub fn at(&self) -> Time {
        self.at
    }

    /// How many seconds after that it is kept.
    pub fn life_seconds(&self) -> u32 {
        self.life_seconds
    }

    /// The device name, and the counter in base 36: of two texts of a device the one with the lower counter is older.
    pub(crate) fn key(&self) -> (String, String) {
        (self.device.to_string(), base36(self.counter))
    }

    pub(crate) fn lists_any(&self) -> bool {
        !self.text.ends_with('.')
    }

    /// The new lines; `None` if nothing changes, or the kept text has a higher counter. Of more than
    /// [`MAX_PENDING_DEVICES`] devices the latest stay, those with ids first; expired lines are removed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn added_to(&self, kept: &str) -> Result<Option<String>, Error> {
        let since = kept_since(self.at, self.life_seconds);
        let mut lines: Vec<KeptLine<'_>> = kept_lines(kept, since).collect();
        // The text was parsed before, so it is valid.
        let Some(text) = PendingText::parse(&self.text) else {
            return Ok(None);
        };
        let is_news = match lines.iter().find(|line| line.device == self.device) {
            Some(known) => text.counter >= known.text.counter && text != known.text,
            None => !text.list.is_empty(),
        };
        if !is_news {
            return Ok(None);
        }
        lines.retain(|line| line.device != self.device);
        keep_latest(&mut lines, MAX_PENDING_DEVICES - 1);
        let (device, at) = (self.device, self.at);
        lines.insert(0, KeptLine { device, at, text });
        let mut after = String::new();
        after.try_reserve_exact(kept.len() + text.list.len() + 64)?;
        for line in &lines {
            // Writing to a text cannot fail.
            let _ = writeln!(after, "{line}");
        }
        Ok(Some(after))
    }
}

/// The earliest time of lines that are still valid.
pub(super) fn kept_since(now: Time, life_seconds: u32) -> Time {
    Time::from_unix_seconds(now.unix_seconds().saturating_sub(life_seconds.into()))
}
