//! References, which stand for shards that the device already has.
//!
//! In a snapshot a reference is `~` and a name of 12 lowercase hexadecimal digits: the first 12 of the 16 digits of the
//! XXH64 (seed 0) of the shard as it was sent; for RedisBloom's chunks, of the chunks without the commas. The device's
//! request has the names of all its shards, newest first, joined by `.`.

use std::fmt;

use super::Format;
use crate::hash::hash_id;
use crate::params::MAX_SNAPSHOT_SHARDS;

/// The mark of a reference in a snapshot, which is not a base64 character.
const MARK: u8 = b'~';
/// The separator of names in a request.
const SEPARATOR: u8 = b'.';
/// Hexadecimal digits of a name.
const DIGITS: usize = 12;
/// The bits of a hash that the name omits.
const UNUSED_BITS: u32 = u64::BITS - 4 * DIGITS as u32;
/// The length of the names of as many shards as a snapshot may have.
const MAX_HELD_LENGTH: usize = Reference::joined_len(MAX_SNAPSHOT_SHARDS);

/// The name of a shard, by its content. Two of 64 shards have the same name with a probability of 2^-37.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference(u64);

impl Reference {
    /// The length of a reference as an element of a snapshot.
    pub(crate) const ELEMENT_LENGTH: usize = 1 + DIGITS;

    /// The reference of a shard as it is sent; of a RedisBloom key, of its chunks joined by commas.
    pub fn of(format: Format, text: &[u8]) -> Reference {
        let hash = match format.chunk_separator() {
            Some(separator) => {
                let joined: Vec<u8> = text.iter().copied().filter(|&byte| byte != separator).collect();
                hash_id(&joined, 0)
            }
            None => hash_id(text, 0),
        };
        Reference(hash >> UNUSED_BITS)
    }

    /// Parses an element of a snapshot; `None` if it is not a reference.
    pub fn from_element(text: &[u8]) -> Option<Reference> {
        Reference::from_name(text.strip_prefix(&[MARK])?)
    }

    /// Reads a name: 12 lowercase hexadecimal digits.
    pub fn from_name(name: &[u8]) -> Option<Reference> {
        if name.len() != DIGITS {
            return None;
        }
        let mut number = 0;
        for &digit in name {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            number = number << 4 | u64::from(value);
        }
        Some(Reference(number))
    }

    /// The reference as an element of a snapshot.
    pub fn to_element(self) -> String {
        format!("{}{self}", char::from(MARK))
    }

    /// The name, without a mark.
    fn name(self) -> String {
        let mut name = String::with_capacity(DIGITS);
        for digit in (0..DIGITS).rev() {
            name.push(char::from(b"0123456789abcdef"[(self.0 >> (4 * digit) & 0xF) as usize]));
        }
        name
    }

    /// The names of several references, for a request.
    pub fn join(references: impl Iterator<Item = Reference>) -> String {
        let mut names = String::new();
        for reference in references {
            if !names.is_empty() {
                names.push(char::from(SEPARATOR));
            }
            names += &reference.name();
        }
        names
    }

    /// The length of this many names, joined.
    pub(crate) const fn joined_len(count: usize) -> usize {
        (count * (DIGITS + 1)).saturating_sub(1)
    }

    /// Parses the names in a request. Invalid names are left out; a string with more names than a snapshot has shards
    /// is ignored.
    pub fn split(held: &str) -> Vec<Reference> {
        if held.len() > MAX_HELD_LENGTH {
            return Vec::new();
        }
        let names = held.as_bytes().split(|&byte| byte == SEPARATOR);
        names.filter_map(Reference::from_name).collect()
    }
}

/// The name, without a mark.
impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"U0dTMQ==";

    #[test]
    fn a_reference_is_the_beginning_of_the_texts_hash() {
        let hash = format!("{:016x}", hash_id(TEXT, 0));
        let reference = Reference::of(Format::Native, TEXT);
        assert_eq!(reference.to_string(), hash[..DIGITS]);
        assert_eq!(reference.to_element(), format!("~{}", &hash[..DIGITS]));
        assert_eq!(
            Reference::from_element(reference.to_element().as_bytes()),
            Some(reference)
        );
    }

    #[cfg(feature = "formats")]
    #[test]
    fn the_reference_of_chunks_ignores_the_commas() {
        let chunks = Reference::of(Format::RedisBloom, b"AAAA,BBBB");
        assert_eq!(chunks, Reference::of(Format::Native, b"AAAABBBB"));
    }

    #[test]
    fn invalid_names_are_left_out() {
        let reference = Reference::of(Format::Native, TEXT);
        for element in [
            "",
            "~",
            "~0123456789AB",
            "~0123456789",
            "~0123456789abc",
            "0123456789ab",
            "~01234567é9a",
        ] {
            assert_eq!(Reference::from_element(element.as_bytes()), None, "{element}");
        }
        let held = format!("..x.{reference}.0123456789AB.");
        assert_eq!(Reference::split(&held), [reference]);
        assert_eq!(
            Reference::split(&Reference::join([reference; 64].into_iter())).len(),
            64
        );
        assert_eq!(Reference::split(&Reference::join([reference; 65].into_iter())), []);
    }
}
