//! The one error of the crate. Every variant has a stable code, the same in Rust and in TypeScript.

use std::collections::TryReserveError;

/// What is wrong with the input. The text is for people and may change; [`Error::code`] is for programs and does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option or a time is out of range, such as a capacity of 0.
    #[error("{0}")]
    BadOption(&'static str),
    /// This build cannot read or write such a snapshot.
    #[error("{0}")]
    BadSnapshot(&'static str),
    /// The text is not base64: standard or URL-safe alphabet, canonical or no padding, no white space.
    #[error("not base64: one alphabet, canonical or no padding, no white space")]
    BadBase64,
    /// Shorter than the smallest shard.
    #[error("{length} bytes are fewer than the smallest shard has")]
    Truncated {
        /// The bytes that were there.
        length: usize,
    },
    /// Not a shard of this format.
    #[error("the first bytes are not those of a shard of this format")]
    BadMagic,
    /// The shard was damaged on its way.
    #[error("the checksum does not match: the shard was damaged on its way")]
    BadChecksum,
    /// An unknown encoding or hash scheme, or reserved bytes that are not 0.
    #[error("unknown encoding or hash scheme, or reserved bytes that are not 0")]
    BadEncoding,
    /// m or k out of range.
    #[error("{0}")]
    BadParameters(&'static str),
    /// The bits do not follow the format.
    #[error("{0}")]
    BadPayload(&'static str),
    /// More shards or bits than a snapshot may have.
    #[error("{0}")]
    TooLarge(&'static str),
    /// There is no memory for what the input asks for.
    #[error("out of memory")]
    OutOfMemory,
    /// One of several shards is wrong.
    #[error("shard {index}: {error}")]
    InShard {
        /// The shard's index in the list.
        index: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },
}

impl Error {
    /// The stable code, as in the `ErrorCode` of the TypeScript declarations.
    pub fn code(&self) -> &'static str {
        match self {
            Error::BadOption(_) => "bad-option",
            Error::BadSnapshot(_) => "bad-snapshot",
            Error::BadBase64 => "bad-base64",
            Error::Truncated { .. } => "truncated",
            Error::BadMagic => "bad-magic",
            Error::BadChecksum => "bad-checksum",
            Error::BadEncoding => "bad-encoding",
            Error::BadParameters(_) => "bad-parameters",
            Error::BadPayload(_) => "bad-payload",
            Error::TooLarge(_) => "too-large",
            Error::OutOfMemory => "out-of-memory",
            Error::InShard { error, .. } => error.code(),
        }
    }

    /// The index of the shard that is wrong, if it is one of several.
    pub fn shard(&self) -> Option<usize> {
        match self {
            Error::InShard { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// This error, as one of the shard at `index` of a list.
    pub(crate) fn in_shard(self, index: usize) -> Self {
        Error::InShard {
            index,
            error: Box::new(self),
        }
    }
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Self {
        Error::OutOfMemory
    }
}
