//! The devices' pending impressions in a store: the latest list of each device.
//!
//! They are lines of `<unix seconds> <list>`, in Redis the values of a hash. An empty list is stored, too: by its
//! counter an older list that arrives later is recognized.

use std::cmp::Reverse;
use std::fmt::{self, Write};

use serde::Serialize;

use super::name::DeviceName;
use super::pending_list::PendingList;
use crate::base36::base36;
use crate::error::Error;
use crate::hash::hash_id;
use crate::impression::Impression;
use crate::time::{Time, as_unix_seconds};

/// Most devices of a user whose pending impressions a store has; the latest ones stay.
pub const MAX_PENDING_DEVICES: usize = 8;

/// The default time in seconds for which a list is stored after its last change: 2 days.
pub const PENDING_SECONDS: u32 = 2 * 86_400;

/// Time in seconds after which an unchanged list is written again.
const REWRITTEN_AFTER_SECONDS: u32 = 3_600;

/// A parsed line: the list of one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredLine<'a> {
    pub(super) device: DeviceName,
    /// When it was stored, in whole seconds.
    pub(super) at: Time,
    pub(super) text: PendingList<'a>,
}

/// Parses the lines that were stored at `since` or later. Unreadable lines are skipped.
pub(super) fn stored_lines(stored: &str, since: Time) -> impl Iterator<Item = StoredLine<'_>> {
    let read = |line| {
        let (at, text) = str::split_once(line, ' ')?;
        let text = PendingList::parse_stored(text)?;
        Some(StoredLine {
            device: text.device?,
            at: Time::from_unix_seconds(at.parse().ok()?),
            text,
        })
    };
    stored.lines().filter_map(read).filter(move |line| line.at >= since)
}

impl fmt::Display for StoredLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.at.unix_seconds(), self.text)
    }
}

/// Retains the lines of the latest `most` devices, those with ids first, and the unnamed one. Returns the others. Of
/// devices with the same second, `preferred` is retained.
pub(super) fn retain_latest<'a>(
    lines: &mut Vec<StoredLine<'a>>,
    most: usize,
    preferred: Option<DeviceName>,
) -> Vec<StoredLine<'a>> {
    let is_named = |line: &StoredLine<'_>| !line.text.is_unnamed();
    lines.sort_unstable_by_key(|line| {
        let is_preferred = Some(line.device) == preferred;
        (
            is_named(line),
            line.text.list.is_empty(),
            Reverse(line.at),
            !is_preferred,
        )
    });
    let unnamed = lines.iter().filter(|line| !is_named(line)).count();
    lines.split_off((most + unnamed).min(lines.len()))
}

/// The lines beyond [`MAX_PENDING_DEVICES`], each with its device's name before it. Of devices with the same second,
/// that of `latest` is retained.
pub(crate) fn dropped_devices(stored: &str, latest: Option<&PendingUpdate>) -> Vec<[String; 2]> {
    let mut lines: Vec<StoredLine<'_>> = stored_lines(stored, Time::from_unix_seconds(0)).collect();
    let dropped = retain_latest(&mut lines, MAX_PENDING_DEVICES, latest.map(|latest| latest.device));
    dropped
        .iter()
        .map(|line| [line.device.to_string(), line.to_string()])
        .collect()
}

/// A device's pending impressions, to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingUpdate {
    #[serde(skip)]
    device: DeviceName,
    #[serde(skip)]
    counter: u64,
    /// The list, with its numbers in their shortest form.
    text: String,
    /// When the server received it.
    #[serde(serialize_with = "as_unix_seconds")]
    at: Time,
    life_seconds: u32,
}

impl PendingUpdate {
    /// Parses the value of `Seen-Pending`, or of a report's `pending`, received at `now`, to be stored for
    /// `life_seconds`. `None` if it is invalid, has no device name, or is of another namespace than the user's, if that
    /// is known.
    pub fn of(text: &str, namespace: Option<&str>, now: Time, life_seconds: u32) -> Option<Self> {
        let device = PendingList::parse(text)?.device?;
        let is_of_user = namespace.is_none_or(|namespace| device.is_of(namespace));
        PendingUpdate::stored(text, now, life_seconds).filter(|_| is_of_user)
    }

    /// The pending impressions of a report that goes into a stream: the device's list or, without a usable one, the ids
    /// of the report's impressions, which are added to one list of all such reports of the user.
    pub fn of_report(
        pending: Option<&str>,
        impressions: &[Impression],
        namespace: Option<&str>,
        now: Time,
        life_seconds: u32,
    ) -> Option<Self> {
        let listed = pending.and_then(|text| PendingUpdate::of(text, namespace, now, life_seconds));
        listed.or_else(|| {
            let mut newest: Vec<(Reverse<Time>, usize)> = (0..)
                .zip(impressions)
                .map(|(index, impression)| (Reverse(impression.at), index))
                .collect();
            newest.sort_unstable();
            let numbers = newest.iter().flat_map(|&(Reverse(at), index)| {
                let hash = hash_id(impressions[index].id.as_bytes(), 0);
                [hash, at.unix_seconds()]
            });
            let text = PendingList::new(Some(DeviceName::UNNAMED), 0, 0).with_list(numbers, usize::MAX);
            PendingUpdate::stored(&text, now, life_seconds).filter(PendingUpdate::lists_any)
        })
    }

    /// Parses [`PendingUpdate::text`].
    pub fn stored(text: &str, at: Time, life_seconds: u32) -> Option<Self> {
        let text = PendingList::parse_stored(text)?;
        Some(PendingUpdate {
            device: text.device?,
            counter: text.counter,
            text: text.to_string(),
            at,
            life_seconds,
        })
    }

    /// The device's list as a string, with its numbers in their shortest form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When the server received it, in whole seconds.
    pub fn at(&self) -> Time {
        self.at
    }

    /// For how many seconds after that it is stored.
    pub fn life_seconds(&self) -> u32 {
        self.life_seconds
    }

    /// The device name, and the counter in base 36. Of two lists of a device, that with the lower counter is older.
    pub(crate) fn key(&self) -> (String, String) {
        (self.device.to_string(), base36(self.counter))
    }

    pub(crate) fn lists_any(&self) -> bool {
        !self.text.ends_with('.')
    }

    fn parsed(&self) -> Option<PendingList<'_>> {
        PendingList::parse_stored(&self.text)
    }

    /// Returns the user's stored lines with this list in them; `None` if nothing changes, or the stored list has a
    /// higher counter. Of more than [`MAX_PENDING_DEVICES`] devices the latest stay, those with ids first; expired
    /// lines are removed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn added_to(&self, stored: &str) -> Result<Option<String>, Error> {
        let since = valid_since(self.at, self.life_seconds);
        let mut lines: Vec<StoredLine<'_>> = stored_lines(stored, since).collect();
        let known = lines.iter().find(|line| line.device == self.device).copied();
        let joined = match known {
            Some(known) if self.device == DeviceName::UNNAMED => self.parsed().map(|text| text.joined(&known.text)),
            _ => None,
        };
        // It was parsed before, so it is valid.
        let Some(text) = joined
            .as_deref()
            .map_or_else(|| self.parsed(), PendingList::parse_stored)
        else {
            return Ok(None);
        };
        let is_news = match known {
            // An unchanged list is written again after an hour: it would expire while its device still sends it.
            Some(known) if text == known.text => valid_since(self.at, REWRITTEN_AFTER_SECONDS) > known.at,
            Some(known) => text.counter >= known.text.counter,
            None => !text.list.is_empty(),
        };
        if !is_news {
            return Ok(None);
        }
        lines.retain(|line| line.device != self.device);
        retain_latest(
            &mut lines,
            MAX_PENDING_DEVICES - usize::from(self.device != DeviceName::UNNAMED),
            None,
        );
        let (device, at) = (self.device, self.at);
        lines.insert(0, StoredLine { device, at, text });
        let mut after = String::new();
        after.try_reserve_exact(stored.len() + text.list.len() + 64)?;
        for line in &lines {
            // Writing to a string cannot fail.
            let _ = writeln!(after, "{line}");
        }
        Ok(Some(after))
    }
}

/// The earliest time of lines that are still valid.
pub(super) fn valid_since(now: Time, life_seconds: u32) -> Time {
    Time::from_unix_seconds(now.unix_seconds().saturating_sub(life_seconds.into()))
}
