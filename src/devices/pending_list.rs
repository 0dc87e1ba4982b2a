//! The string with a device's pending impressions: `<device name>.<counter>.<forgotten>.<list>`.
//!
//! - The name is empty while the device has none: the string then applies to its request only.
//! - The counter is that of the device's impression table, in base 36. Requests may overtake each other: of two strings
//!   of a device, that with the lower counter is older.
//! - `forgotten` is the latest deletion of the history that the device has received: Unix seconds in base 36, 0 for
//!   none. A server with a later deletion ignores the list.
//! - The list is base64url without padding of 3 bytes for each id, the newest first: bits 23 to 0 of the XXH64 (seed 0)
//!   of the id, the highest byte first. It is empty if nothing is pending.
//!
//! So a server in any language needs one hash, and three lines to read the list.
//!
//! A store also has one string for the reports of a user that came without a usable list. Its name is
//! [`DeviceName::UNNAMED`], its counter and `forgotten` are 0, and in its list each id has 3 more bytes: bits 23 to 0
//! of the Unix seconds at which it was on the screen. So an impression from before a deletion of the history that is
//! reported after it is ignored, and only that one.

use std::fmt;

use super::name::DeviceName;
use crate::base36::{base36, from_base36};
use crate::base64;
use crate::error::Error;
use crate::time::Time;

/// Most characters of a device's string, enough for [`MAX_IDS`].
const MAX_TEXT_CHARACTERS: usize = 4_096;
/// Most ids of a list.
const MAX_IDS: usize = 1_000;
/// Bytes of an id, and of a time.
const BYTES: usize = 3;
/// Base64 characters of the same.
const CHARACTERS: usize = 4;

/// A parsed string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingList<'a> {
    pub(crate) device: Option<DeviceName>,
    pub(crate) counter: u64,
    /// Unix seconds; 0: no deletion is known.
    pub(crate) forgotten: u32,
    pub(super) list: &'a str,
}

impl<'a> PendingList<'a> {
    /// An empty list.
    pub(crate) fn new(device: Option<DeviceName>, counter: u64, forgotten: u32) -> Self {
        PendingList {
            device,
            counter,
            forgotten,
            list: "",
        }
    }

    /// Parses the string of a request; `None` if it is invalid.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let is_short = text.len() <= MAX_TEXT_CHARACTERS;
        PendingList::parse_stored(text).filter(|text| is_short && !text.is_unnamed())
    }

    /// Parses the string of a store, which may also be the unnamed one; `None` if it is invalid.
    pub(super) fn parse_stored(text: &'a str) -> Option<Self> {
        if text.len() > 2 * MAX_TEXT_CHARACTERS {
            return None;
        }
        let mut parts = text.splitn(4, '.');
        let (name, counter, forgotten, list) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let device = match name {
            "" => None,
            name => Some(DeviceName::parse(name)?),
        };
        let text = PendingList {
            device,
            counter: from_base36(counter.as_bytes())?,
            forgotten: from_base36(forgotten.as_bytes())?.try_into().ok()?,
            list,
        };
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_list = list.len().is_multiple_of(text.entry())
            && list.len() <= MAX_IDS * text.entry()
            && list.bytes().all(is_digit);
        is_list.then_some(text)
    }

    /// Whether it has the impressions of reports without a usable list.
    pub(super) fn is_unnamed(&self) -> bool {
        self.device == Some(DeviceName::UNNAMED)
    }

    /// Characters of an entry of the list.
    fn entry(&self) -> usize {
        if self.is_unnamed() { 2 * CHARACTERS } else { CHARACTERS }
    }

    /// Appends the older unnamed list to this one, up to [`MAX_IDS`].
    pub(super) fn joined(&self, older: &PendingList<'_>) -> String {
        let mut list = older.list.to_owned();
        // A repeated report is already in it.
        if !list.starts_with(self.list) {
            list.insert_str(0, self.list);
            list.truncate(MAX_IDS * self.entry());
        }
        PendingList { list: &list, ..*self }.text()
    }

    fn text(&self) -> String {
        let mut text = self.device.map(DeviceName::text).unwrap_or_default();
        for number in [self.counter, self.forgotten.into()] {
            text.push('.');
            text += &base36(number);
        }
        text.push('.');
        text + self.list
    }

    /// The string with a list of as many ids as fit into these characters. `numbers` are their hashes (XXH64, seed 0),
    /// the newest first; for the unnamed list each with its Unix seconds after it.
    pub(crate) fn with_list(self, numbers: impl Iterator<Item = u64>, max_characters: usize) -> String {
        let mut text = PendingList { list: "", ..self }.text();
        let ids = (max_characters.saturating_sub(text.len()) / self.entry()).min(MAX_IDS);
        let mut bytes = Vec::new();
        for number in numbers.take(ids * self.entry() / CHARACTERS) {
            let [.., high, middle, low] = number.to_be_bytes();
            bytes.extend_from_slice(&[high, middle, low]);
        }
        for character in base64::encode(&bytes).chars() {
            text.push(match character {
                '+' => '-',
                '/' => '_',
                other => other,
            });
        }
        text
    }

    /// Appends the listed ids, as [`listed`] returns them, to `into`. `at`: when the list arrived. Ids with a time
    /// before `forget_before` are left out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn read_list(&self, at: Time, forget_before: u32, into: &mut Vec<u32>) -> Result<(), Error> {
        let numbers = base64::decode(self.list.as_bytes())?;
        let mut numbers = numbers
            .chunks_exact(BYTES)
            .map(|number| u32::from_be_bytes([0, number[0], number[1], number[2]]));
        into.try_reserve(self.list.len() / self.entry())?;
        while let Some(id) = numbers.next() {
            let seconds = if self.is_unnamed() { numbers.next() } else { None };
            if seconds.is_none_or(|seconds| near(seconds, at) >= forget_before) {
                into.push(id);
            }
        }
        Ok(())
    }
}

/// Of the Unix seconds with these low 24 bits, those nearest to a time.
fn near(low_bits: u32, time: Time) -> u32 {
    let time = time.unix_seconds() as u32;
    let ahead = (low_bits.wrapping_sub(time) << 8).cast_signed() >> 8;
    time.wrapping_add_signed(ahead)
}

/// The form of an id in a list: the low 24 bits of its hash.
#[inline]
pub(super) fn listed(hash: u64) -> u32 {
    (hash & 0xFF_FFFF) as u32
}

impl fmt::Display for PendingList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed_in(text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let text = PendingList::parse_stored(text).unwrap();
        text.read_list(Time::from_unix_seconds(1_764_000_000), 1_763_999_000, &mut ids)
            .unwrap();
        ids
    }

    #[test]
    fn written_lists_are_read_back() {
        let device = Some(DeviceName::new("home:ada", 17));
        for (device, list) in [(device, "Dn4SjG5b"), (device, ""), (None, "__-_")] {
            let text = PendingList {
                device,
                counter: 1_295,
                forgotten: 1_764_000_000,
                list,
            };
            assert_eq!(PendingList::parse(&text.to_string()), Some(text));
        }
        assert_eq!(PendingList::parse(".0.0.").map(|text| text.list), Some(""));
    }

    #[test]
    fn a_list_has_the_low_24_bits_of_each_hash() {
        // The ids `1r8bq8r7q4izgx` and `a`, as the format's description has them.
        let hashes = [0x3fcb_4702_b20e_7e12, 0xd24e_c4f1_a98c_6e5b];
        let text = PendingList::new(None, 1, 0);
        let listing = text.with_list(hashes.into_iter(), usize::MAX);
        assert_eq!(listing, ".1.0.Dn4SjG5b");
        assert_eq!(listed_in(&listing), hashes.map(listed));
        assert_eq!(listed_in(".1.0.AAAA____"), [0, 0xFF_FFFF]);
    }

    #[test]
    fn a_list_has_as_many_ids_as_fit_and_at_most_1000() {
        let text = PendingList::new(None, 0, 0);
        for (most, ids) in [
            (0, 0),
            (8, 0),
            (9, 1),
            (12, 1),
            (13, 2),
            (4_005, 1_000),
            (usize::MAX, 1_000),
        ] {
            let listing = text.with_list(0..2_000, most);
            assert_eq!(listed_in(&listing), Vec::from_iter(0..ids), "{most}");
        }
    }

    #[test]
    fn the_unnamed_list_has_the_time_of_each_impression() {
        let text = PendingList::new(Some(DeviceName::UNNAMED), 0, 0);
        // One from before the deletion, and one of a server whose clock is ahead of the one that stores.
        let [late, new, ahead] = [1_763_998_999, 1_763_999_000, 1_764_000_900];
        let listing = text.with_list([1, new, 2, late, 3, ahead].into_iter(), usize::MAX);
        assert_eq!(listed_in(&listing), [1, 3]);
        assert_eq!(PendingList::parse(&listing), None, "no device sends it");
        let joined = |listing: &str, older: &str| {
            let [listing, older] = [listing, older].map(|text| PendingList::parse_stored(text).unwrap());
            listing.joined(&older)
        };
        assert_eq!(joined(&listing, &listing), listing);
        let many = |ids: std::ops::Range<u64>| text.with_list(ids.flat_map(|id| [id, new]), usize::MAX);
        let expected = Vec::from_iter((600..1_200).chain(0..400));
        assert_eq!(listed_in(&joined(&many(600..1_200), &many(0..600))), expected);
    }

    #[test]
    fn invalid_lists_are_refused() {
        let long = format!(".0.0.{}", "AAAA".repeat(1_001));
        let padded = format!(".{:0>4096}.0.", 0);
        for text in [
            "",
            ".",
            "..",
            "...",
            "0.0.",
            ".0.",
            ".0.0",
            ".0..",
            "..0.",
            "short.0.0.",
            "0123456789AB.0.0.",
            "0123456789ab.-1.0.",
            ".0.4294967296.1z141z4.",
            ".0.0.A",
            ".0.0.AAA",
            ".0.0.AAA=",
            ".0.0.AA+/",
            ".0.0.AAAA\n",
            ".0.0.AAAA.",
            &long,
            &padded,
        ] {
            assert_eq!(PendingList::parse(text), None, "{text}");
        }
    }
}
