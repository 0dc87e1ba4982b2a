//! Reads the integers of a header one after the other.

use crate::error::Error;

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`], as for all other reads.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some(array) = self.bytes[self.at..].first_chunk() else {
            return Err(Error::Truncated {
                length: self.bytes.len(),
            });
        };
        self.at += N;
        Ok(*array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32_le(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64_le(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn u32_be(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64_be(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    /// The number of bytes that were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }
}
