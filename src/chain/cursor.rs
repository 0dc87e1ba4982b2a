//! The cursor: where a page ended, as a short URL-safe string: `<position>.<id>`, or `<position>.<id>.<marks>`.
//!
//! It names the last candidate examined by its position and its first id. Where seen items fill up pages, it also lists
//! the ids of the pages so far: their impressions may have arrived by the next page, and then only this list
//! distinguishes them from items seen earlier.

use std::fmt::{self, Write};

use crate::base36::{base36, base36_of_length, from_base36};
use crate::error::Error;

/// With more ids, a cursor would become too long for a URL.
const MAX_RETURNED: usize = 500;
const MARK_DIGITS: usize = 4;
const MARKS: u64 = 36u64.pow(MARK_DIGITS as u32);
const MAX_POSITION_DIGITS: usize = 8;
const MAX_ID_DIGITS: usize = 7;

/// A parsed cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) position: usize,
    /// The fingerprint of the candidate's first id; `None` if it has no id.
    pub(super) id: Option<u32>,
    /// The ids of the pages so far; `None` if there are too many, or if seen items are left out.
    pub(super) returned: Option<ReturnedIds>,
}

impl Cursor {
    /// Parses a cursor of a request; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (position, id, marks) = (parts.next()?, parts.next()?, parts.next());
        if position.len() > MAX_POSITION_DIGITS || id.len() > MAX_ID_DIGITS || parts.next().is_some() {
            return None;
        }
        let id = match id {
            "" => None,
            id => Some(u32::try_from(from_base36(id.as_bytes())?).ok()?),
        };
        let returned = match marks {
            None => None,
            Some(marks) => Some(ReturnedIds::parse(marks)?),
        };
        Some(Cursor {
            position: usize::try_from(from_base36(position.as_bytes())?).unwrap_or(usize::MAX),
            id,
            returned,
        })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.map(|id| base36(id.into())).unwrap_or_default();
        write!(formatter, "{}.{id}", base36(self.position as u64))?;
        if let Some(returned) = self
            .returned
            .as_ref()
            .filter(|returned| returned.marks.len() <= MAX_RETURNED)
        {
            formatter.write_char('.')?;
            for &mark in &returned.marks {
                formatter.write_str(&base36_of_length(mark.into(), MARK_DIGITS))?;
            }
        }
        Ok(())
    }
}

/// The ids that pages have returned, each as a mark of 20 bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReturnedIds {
    marks: Vec<u32>,
    /// The marks of previous pages, in ascending order.
    known: Vec<u32>,
}

impl ReturnedIds {
    fn parse(marks: &str) -> Option<Self> {
        let marks = marks.as_bytes();
        if !marks.len().is_multiple_of(MARK_DIGITS) || marks.len() / MARK_DIGITS > MAX_RETURNED {
            return None;
        }
        let marks: Option<Vec<u32>> = marks
            .chunks(MARK_DIGITS)
            .map(|mark| u32::try_from(from_base36(mark)?).ok())
            .collect();
        let marks = marks?;
        let mut known = marks.clone();
        known.sort_unstable();
        Some(ReturnedIds { marks, known })
    }

    /// Whether a previous page returned an id, or one with the same mark.
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        self.known.binary_search(&mark_of(id)).is_ok()
    }

    /// Adds an id of a page, which later pages must leave out.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn add(&mut self, id: &[u8]) -> Result<(), Error> {
        self.marks.try_reserve(1)?;
        self.marks.push(mark_of(id));
        Ok(())
    }
}

/// A hash of an id in 32 bits (FNV-1a).
pub(super) fn fingerprint(id: &[u8]) -> u32 {
    id.iter().fold(0x811c_9dc5, |state: u32, &byte| {
        (state ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn mark_of(id: &[u8]) -> u32 {
    (u64::from(fingerprint(id)) % MARKS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_cursors_are_read_back() {
        for text in ["0.", "2s.1z141z3", "a.b.", "zzzzzzzz.1z141z3.0000abcdzzzz"] {
            assert_eq!(
                Cursor::parse(text).map(|cursor| cursor.to_string()).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn strings_that_are_not_cursors_are_refused() {
        let too_many = format!("1.a.{}", "0000".repeat(MAX_RETURNED + 1));
        for text in [
            "",
            "1",
            ".",
            "1.2.3",
            "1.a.b.c",
            "A.a",
            "-1.a",
            "123456789.a",
            "1.12345678",
            "1.a.0000-",
            &too_many,
        ] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_cursor_with_too_many_marks_is_written_without_them() {
        let mut returned = ReturnedIds::default();
        for id in 0..=MAX_RETURNED {
            returned.add(&id.to_le_bytes()).unwrap();
        }
        let cursor = Cursor {
            position: 35,
            id: None,
            returned: Some(returned),
        };
        assert_eq!(cursor.to_string(), "z.");
    }
}
