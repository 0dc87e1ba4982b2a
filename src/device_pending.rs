//! What a device tells of its pending impressions, with each request for a page and each report:
//! `<device name>.<counter>.<shard>`.
//!
//! The counter is that of the device's impression table, to the base 36: requests overtake each other, and of two texts
//! of a device the one with the lower counter is older. The shard is the base64 of one that was made for as many ids as
//! it holds, and empty if nothing is pending. A device that has no name leaves it out: such a text counts for its
//! request alone.

use std::fmt;

use crate::base36::{base36, from_base36};
use crate::device_name::DeviceName;

/// Most characters of such a text.
pub const MAX_DEVICE_PENDING_CHARACTERS: usize = 4_096;

/// Such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DevicePending<'a> {
    pub(crate) device: Option<DeviceName>,
    pub(crate) counter: u64,
    /// Base64; empty: nothing is pending.
    pub(crate) shard: &'a str,
}

impl<'a> DevicePending<'a> {
    /// Reads a text; nothing for what is none, since it comes with a request and may be anything. The shard is not read.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (name, counter, shard) = (parts.next()?, parts.next()?, parts.next()?);
        let device = match name {
            "" => None,
            name => Some(DeviceName::parse(name)?),
        };
        Some(DevicePending {
            device,
            counter: from_base36(counter.as_bytes())?,
            shard,
        })
        .filter(|_| text.len() <= MAX_DEVICE_PENDING_CHARACTERS)
    }
}

impl fmt::Display for DevicePending<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.device.map(|device| device.to_string()).unwrap_or_default();
        write!(formatter, "{name}.{}.{}", base36(self.counter), self.shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let device = Some(DeviceName::new("home:ada", 17));
        for (device, shard) in [(device, "U0dTMQ=="), (device, ""), (None, "U0dTMQ==")] {
            let pending = DevicePending {
                device,
                counter: 1_295,
                shard,
            };
            assert_eq!(DevicePending::parse(&pending.to_string()), Some(pending));
        }
        assert_eq!(DevicePending::parse("..").map(|pending| pending.counter), None);
        assert_eq!(DevicePending::parse(".0.").map(|pending| pending.shard), Some(""));
    }

    #[test]
    fn what_is_no_such_text_is_not_read() {
        let long = format!(".0.{}", "A".repeat(MAX_DEVICE_PENDING_CHARACTERS));
        for text in ["", ".", "0.", "short.0.", "0123456789AB.0.", "0123456789ab.-1.", &long] {
            assert_eq!(DevicePending::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_of_its_namespace_alone() {
        let name = DeviceName::new("home:ada", u64::MAX);
        assert!(name.is_of("home:ada") && !name.is_of("home:bob"));
    }
}
