//! What a store keeps of devices' pending impressions: of each the latest text that it has told.
//!
//! It is lines of `<unix seconds> <text>`, in Redis the values of a hash. An empty list is kept, too, in place of another
//! one: its counter tells that what was overtaken is older.

use std::cmp::Reverse;
use std::fmt::{self, Write};

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

impl fmt::Display for KeptLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.at.unix_seconds(), self.text)
    }
}

/// Of so many devices the latest stay, and of these first those that list anything. Returns the others.
pub(super) fn keep_latest<'a>(lines: &mut Vec<KeptLine<'a>>, most: usize) -> Vec<KeptLine<'a>> {
    lines.sort_by_key(|line| (line.text.list.is_empty(), Reverse(line.at)));
    lines.split_off(most.min(lines.len()))
}

/// Of what is kept, what is too many: each device's name and its line.
pub(crate) fn dropped_devices(kept: &str) -> Vec<[String; 2]> {
    let mut lines: Vec<KeptLine<'_>> = kept_lines(kept, Time::from_unix_seconds(0)).collect();
    let dropped = keep_latest(&mut lines, MAX_PENDING_DEVICES);
    dropped
        .iter()
        .map(|line| [line.device.to_string(), line.to_string()])
        .collect()
}

/// What a store is to keep of what a device told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingToKeep {
    device: DeviceName,
    counter: u64,
    /// With its numbers in their shortest form.
    text: String,
    /// When it was told.
    at: Time,
    life_seconds: u32,
}

impl PendingToKeep {
    /// Reads what came with a page's request, or a report, now: to keep for so many seconds. Nothing for what is not to be
    /// kept: what cannot be read, what tells no device name, and what is of another namespace than the user's, where that
    /// is known.
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

    /// The text that the device told, with its numbers in their shortest form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When it was told, in whole seconds.
    pub fn at(&self) -> Time {
        self.at
    }

    /// For how many seconds after that it is kept.
    pub fn life_seconds(&self) -> u32 {
        self.life_seconds
    }

    /// The device name, and the counter to the base 36: of two texts of a device the one with the lower counter is older.
    pub(crate) fn key(&self) -> (String, String) {
        (self.device.to_string(), base36(self.counter))
    }

    pub(crate) fn lists_any(&self) -> bool {
        !self.text.ends_with('.')
    }

    /// What is kept from now on, in lines; nothing if nothing changes, or if what is kept has a higher counter. Of more
    /// than [`MAX_PENDING_DEVICES`] the latest stay, and of these first those that list anything; what has expired goes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn added_to(&self, kept: &str) -> Result<Option<String>, Error> {
        let since = kept_since(self.at, self.life_seconds);
        let mut lines: Vec<KeptLine<'_>> = kept_lines(kept, since).collect();
        // It was read, and is written as it is read.
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

/// When what counts yet was kept at the earliest.
pub(super) fn kept_since(now: Time, life_seconds: u32) -> Time {
    Time::from_unix_seconds(now.unix_seconds().saturating_sub(life_seconds.into()))
}
