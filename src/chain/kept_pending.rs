//! What a store keeps of devices' pending impressions: of each the latest that it has told.
//!
//! In Redis it is a hash, from the device name to `<unix seconds> <counter> <shard>`. Here it is lines, each of a name
//! and this. `server/lua/keep.lua` does in Redis what [`PendingToKeep::into_lines`] does in memory.

use std::cmp::Reverse;
use std::fmt::Write;

use crate::base36::{base36, from_base36};
use crate::device_name::DeviceName;
use crate::device_pending::{DevicePending, MAX_DEVICE_PENDING_CHARACTERS};
use crate::error::Error;
use crate::shard::Shard;
use crate::time::Time;
use crate::wire::{self, Format};

/// Of so many devices of a user, the latest, a store keeps what they have pending.
pub const MAX_PENDING_DEVICES: usize = 8;

/// For so many seconds after its last change a store keeps it by default: 2 days.
pub const PENDING_SECONDS: u32 = 2 * 86_400;

/// Most bits of a shard in a device's text. One that was made for what it holds has no more than fit into the text; a
/// few characters may claim many more, and a store would keep them for every page to come.
const MAX_DEVICE_BITS: u64 = 8 * MAX_DEVICE_PENDING_CHARACTERS as u64;

/// Reads the shard of a device's text.
pub(super) fn read_device_shard(text: &str) -> Option<Shard> {
    let encoded = wire::decode(Format::Native, text.as_bytes()).ok()?;
    (encoded.bits() <= MAX_DEVICE_BITS).then_some(())?;
    encoded.read_shard(encoded.filters().first()?).ok()
}

/// What is kept of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeptLine<'a> {
    pub(super) device: DeviceName,
    /// When it was kept, in whole seconds.
    pub(super) at: Time,
    counter: u64,
    pub(super) shard: &'a str,
}

/// The lines that can be read.
pub(super) fn kept_lines(kept: &str) -> impl Iterator<Item = KeptLine<'_>> {
    kept.lines().filter_map(|line| {
        let mut parts = line.splitn(4, ' ');
        let (device, at, counter, shard) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(KeptLine {
            device: DeviceName::parse(device)?,
            at: Time::from_unix_seconds(at.parse().ok()?),
            counter: from_base36(counter.as_bytes())?,
            shard,
        })
    })
}

/// What a store is to keep of what a device told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingToKeep<'a> {
    device: DeviceName,
    counter: u64,
    shard: &'a str,
}

impl<'a> PendingToKeep<'a> {
    /// Reads what came with a page's request, or a report. Nothing for what is not to be kept: what cannot be read, what
    /// tells no device name, and what is of another namespace than the user's, where that is known.
    pub fn of(text: &'a str, namespace: Option<&str>) -> Option<Self> {
        let DevicePending { device, counter, shard } = DevicePending::parse(text)?;
        let device = device?;
        let is_of_user = namespace.is_none_or(|namespace| device.is_of(namespace));
        let is_readable = shard.is_empty() || read_device_shard(shard).is_some();
        (is_of_user && is_readable).then_some(PendingToKeep { device, counter, shard })
    }

    /// The device name: the field of the hash in Redis.
    pub fn device(&self) -> String {
        self.device.to_string()
    }

    /// The counter in its shortest form: of two that differ in length, the longer one is higher.
    pub fn counter(&self) -> String {
        base36(self.counter)
    }

    /// The shard as base64; empty: what was kept is to go.
    pub fn shard(&self) -> &'a str {
        self.shard
    }

    /// What is kept from now on, in lines; nothing if nothing changes, or if what is kept has a higher counter. Of more
    /// than [`MAX_PENDING_DEVICES`] the latest stay, and what was kept before `since` goes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn into_lines(self, kept: &str, now: Time, since: Time) -> Result<Option<String>, Error> {
        let mut lines: Vec<KeptLine<'_>> = kept_lines(kept).filter(|line| line.at >= since).collect();
        let known = lines.iter().position(|line| line.device == self.device);
        let is_news = match known.map(|known| lines[known]) {
            Some(known) if self.counter < known.counter => false,
            Some(known) => (known.counter, known.shard) != (self.counter, self.shard),
            None => !self.shard.is_empty(),
        };
        if !is_news {
            return Ok(None);
        }
        if let Some(known) = known {
            lines.remove(known);
        }
        lines.sort_by_key(|line| Reverse(line.at));
        if !self.shard.is_empty() {
            lines.truncate(MAX_PENDING_DEVICES - 1);
            lines.insert(
                0,
                KeptLine {
                    device: self.device,
                    at: now,
                    counter: self.counter,
                    shard: self.shard,
                },
            );
        }
        let mut text = String::new();
        text.try_reserve_exact(kept.len() + self.shard.len() + 64)?;
        for line in &lines {
            let (at, counter) = (line.at.unix_seconds(), base36(line.counter));
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{} {at} {counter} {}", line.device, line.shard);
        }
        Ok(Some(text))
    }
}
