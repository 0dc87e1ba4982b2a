//! The text with a device's pending impressions: `<device name>.<counter>.<forgotten>.<list>`.
//!
//! - The name is empty while the device has none: such a text is used for its request only.
//! - The counter is that of the device's impression table, to the base 36. Requests overtake each other, and of two
//!   texts of a device the one with the lower counter is older.
//! - `forgotten` is the latest deletion of the history that the device knows of: Unix seconds to the base 36, 0 for
//!   none. A server that knows of a later one leaves the list alone.
//! - The list is base64url without padding of 3 bytes for each id, the newest first: bits 23 to 0 of the XXH64 (seed 0)
//!   of the id, the highest byte first. It is empty if nothing is pending.
//!
//! So a server in any language needs one hash, and three lines to read the list.

use std::fmt;

use super::name::DeviceName;
use crate::base36::{base36, from_base36};
use crate::base64;
use crate::error::Error;

/// Most characters of a text: it has room for [`MAX_IDS`].
const MAX_TEXT_CHARACTERS: usize = 4_096;
/// Most ids of a list.
const MAX_IDS: usize = 1_000;
const BYTES_AN_ID: usize = 3;
const CHARACTERS_AN_ID: usize = 4;

/// A valid text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingText<'a> {
    pub(crate) device: Option<DeviceName>,
    pub(crate) counter: u64,
    /// Unix seconds; 0: no deletion is known.
    pub(crate) forgotten: u32,
    pub(super) list: &'a str,
}

impl<'a> PendingText<'a> {
    /// A text that lists nothing.
    pub(crate) fn new(device: Option<DeviceName>, counter: u64, forgotten: u32) -> Self {
        PendingText {
            device,
            counter,
            forgotten,
            list: "",
        }
    }

    /// Parses a text of a request; `None` if it is invalid.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        PendingText::parse_stored(text).filter(|text| text.device != Some(DeviceName::UNNAMED))
    }

    /// Parses a text of a store.
    pub(super) fn parse_stored(text: &'a str) -> Option<Self> {
        if text.len() > MAX_TEXT_CHARACTERS {
            return None;
        }
        let mut parts = text.splitn(4, '.');
        let (name, counter, forgotten, list) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let device = match name {
            "" => None,
            name => Some(DeviceName::parse(name)?),
        };
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_list = list.len().is_multiple_of(CHARACTERS_AN_ID)
            && list.len() <= MAX_IDS * CHARACTERS_AN_ID
            && list.bytes().all(is_digit);
        is_list.then_some(PendingText {
            device,
            counter: from_base36(counter.as_bytes())?,
            forgotten: from_base36(forgotten.as_bytes())?.try_into().ok()?,
            list,
        })
    }

    /// Both lists as one text: the newest ids, of which this list has the newer ones, and the earlier deletion.
    pub(super) fn joined(&self, older: &PendingText<'_>) -> String {
        let mut list = older.list.to_owned();
        if !list.starts_with(self.list) {
            list.insert_str(0, self.list);
            list.truncate(MAX_IDS * CHARACTERS_AN_ID);
        }
        let forgotten = self.forgotten.min(older.forgotten);
        PendingText {
            forgotten,
            list: &list,
            ..*self
        }
        .text()
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

    /// The same text with a list of as many of these ids as fit into `max_characters`, given by their hashes (XXH64,
    /// seed 0), the newest first.
    pub(crate) fn with_list(self, hashes: impl Iterator<Item = u64>, max_characters: usize) -> String {
        let mut text = PendingText { list: "", ..self }.text();
        let room = max_characters.min(MAX_TEXT_CHARACTERS).saturating_sub(text.len());
        let ids = (room / CHARACTERS_AN_ID).min(MAX_IDS);
        let mut bytes = Vec::new();
        for hash in hashes.take(ids) {
            let [.., high, middle, low] = hash.to_be_bytes();
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

    /// Adds the listed ids, each as [`listed`] has it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn read_list(&self, into: &mut Vec<u32>) -> Result<(), Error> {
        into.try_reserve(self.list.len() / CHARACTERS_AN_ID)?;
        for id in base64::decode(self.list.as_bytes())?.chunks_exact(BYTES_AN_ID) {
            into.push(u32::from_be_bytes([0, id[0], id[1], id[2]]));
        }
        Ok(())
    }
}

/// The form of an id in a list: the low 24 bits of its hash.
#[inline]
pub(super) fn listed(hash: u64) -> u32 {
    (hash & 0xFF_FFFF) as u32
}

impl fmt::Display for PendingText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed_in(text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        PendingText::parse(text).unwrap().read_list(&mut ids).unwrap();
        ids
    }

    #[test]
    fn what_is_written_is_read_again() {
        let device = Some(DeviceName::new("home:ada", 17));
        for (device, list) in [(device, "Dn4SjG5b"), (device, ""), (None, "__-_")] {
            let text = PendingText {
                device,
                counter: 1_295,
                forgotten: 1_764_000_000,
                list,
            };
            assert_eq!(PendingText::parse(&text.to_string()), Some(text));
        }
        assert_eq!(PendingText::parse(".0.0.").map(|text| text.list), Some(""));
    }

    #[test]
    fn a_list_has_the_low_24_bits_of_each_hash() {
        // The ids `1r8bq8r7q4izgx` and `a`, as the format's description has them.
        let hashes = [0x3fcb_4702_b20e_7e12, 0xd24e_c4f1_a98c_6e5b];
        let text = PendingText::new(None, 1, 0);
        let listed = text.with_list(hashes.into_iter(), usize::MAX);
        assert_eq!(listed, ".1.0.Dn4SjG5b");
        assert_eq!(listed_in(&listed), hashes.map(super::listed));
        assert_eq!(listed_in(".1.0.AAAA____"), [0, 0xFF_FFFF]);
    }

    #[test]
    fn a_list_has_as_many_ids_as_there_is_room_for_and_no_more_than_1000() {
        let text = PendingText::new(None, 0, 0);
        for (most, ids) in [
            (0, 0),
            (8, 0),
            (9, 1),
            (12, 1),
            (13, 2),
            (4_005, 1_000),
            (usize::MAX, 1_000),
        ] {
            let listed = text.with_list(0..2_000, most);
            assert_eq!(listed_in(&listed), Vec::from_iter(0..ids), "{most}");
        }
    }

    #[test]
    fn other_texts_are_not_read() {
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
            assert_eq!(PendingText::parse(text), None, "{text}");
        }
    }
}
