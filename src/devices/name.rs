//! The device name, by which a server distinguishes a user's devices.

use std::fmt;

use crate::base36::{base36_of_length, from_base36};
use crate::hash::hash_id;

const DIGITS: usize = 12;
/// The number of namespace hashes, which are the first 4 digits.
const NAMESPACES: u64 = 36u64.pow(4);
/// The number of names of one namespace.
const NAMES: u64 = 36u64.pow(8);

/// A name of 12 characters `0-9a-z` for one namespace on one device: 4 from the XXH64 of the namespace, which a server
/// can check, and 8 at random. After a clear the device gets another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceName(u64);

impl DeviceName {
    /// The name of the list of impressions that a user's devices reported without a usable list. No device has it.
    pub(super) const UNNAMED: DeviceName = DeviceName(0);

    pub(crate) fn new(namespace: &str, random: u64) -> Self {
        DeviceName(hash_id(namespace.as_bytes(), 0) % NAMESPACES * NAMES + random % NAMES)
    }

    /// Whether it was made for this namespace.
    pub(crate) fn is_of(self, namespace: &str) -> bool {
        self == DeviceName::UNNAMED || self.0 / NAMES == hash_id(namespace.as_bytes(), 0) % NAMESPACES
    }

    /// Another name of the same namespace.
    pub(crate) fn with_random(self, random: u64) -> Self {
        DeviceName(self.0 / NAMES * NAMES + random % NAMES)
    }

    /// The name as a number, for rows.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The inverse of [`DeviceName::number`]; `None` if it is out of range.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        (1..NAMESPACES * NAMES).contains(&number).then_some(DeviceName(number))
    }

    /// The 12 characters.
    pub(crate) fn text(self) -> String {
        base36_of_length(self.0, DIGITS)
    }

    /// Parses a name. In a store it may also be [`DeviceName::UNNAMED`].
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number = from_base36(text.as_bytes()).filter(|_| text.len() == DIGITS)?;
        (number < NAMESPACES * NAMES).then_some(DeviceName(number))
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_its_namespace_only() {
        let name = DeviceName::new("home:ada", u64::MAX);
        assert!(name.is_of("home:ada") && !name.is_of("home:bob"));
    }
}
