//! The error type of the crate. Every variant has a stable code, the same in Rust and in TypeScript.

use std::collections::TryReserveError;

/// An error of the input. The message is for people and may change; [`Error::code`] is for programs and is stable.
///
/// `docs/errors.md` has the cause and the remedy of each code, including those of the npm package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `bad-option`: an option or a time is out of range, such as a capacity of 0, or milliseconds instead of seconds.
    /// Change the call.
    #[error("{0}")]
    BadOption(&'static str),
    /// `bad-snapshot`: this build cannot read or write such a snapshot. Build with the feature `formats`, or choose
    /// another [`Format`](crate::Format).
    #[error("{0}")]
    BadSnapshot(&'static str),
    /// `bad-base64`: the string is not base64 (standard or URL-safe alphabet, canonical or no padding, no white space).
    /// It was changed in transit, for example by a store's client that decodes bytes as text.
    #[error("not base64: one alphabet, canonical or no padding, no white space")]
    BadBase64,
    /// `truncated`: shorter than the smallest shard, such as an empty element or a string that was cut.
    #[error("{length} bytes are fewer than the smallest shard has")]
    Truncated {
        /// The length in bytes.
        length: usize,
    },
    /// `bad-magic`: not a shard of this format. Pass its [`Format`](crate::Format).
    #[error("the first bytes are not those of a shard of this format")]
    BadMagic,
    /// `bad-checksum`: the shard was damaged after it was made, or its writer computes the checksum in another way.
    #[error("the checksum does not match: the shard was damaged on its way")]
    BadChecksum,
    /// `bad-encoding`: an unknown encoding or hash scheme, or reserved bytes that are not 0, as a newer version may
    /// write. Update readers before writers.
    #[error("unknown encoding or hash scheme, or reserved bytes that are not 0")]
    BadEncoding,
    /// `bad-parameters`: m or k is out of range. Of options: no filter has this capacity at this rate.
    #[error("{0}")]
    BadParameters(&'static str),
    /// `bad-payload`: the bits do not follow the format. In the native one a bug of the writer, since the checksum has
    /// matched.
    #[error("{0}")]
    BadPayload(&'static str),
    /// `too-large`: more shards or bits than a snapshot may have, [`MAX_SNAPSHOT_SHARDS`](crate::MAX_SNAPSHOT_SHARDS)
    /// and [`MAX_SNAPSHOT_BITS`](crate::MAX_SNAPSHOT_BITS).
    #[error("{0}")]
    TooLarge(&'static str),
    /// `bad-report`: an unseen id has over 256 bytes. Leave it out.
    #[error("{0}")]
    BadReport(&'static str),
    /// `wrong-namespace`: the report is of another namespace than this user's. The device stores it until its person is
    /// signed in again.
    #[error("the report is of another namespace than this user's: its session is over")]
    WrongNamespace,
    /// `out-of-memory`: there is not enough memory for the input. The call changed nothing.
    #[error("out of memory")]
    OutOfMemory,
    /// An error of one of several shards. The code is that of the shard's error.
    #[error("shard {index}: {error}")]
    InShard {
        /// The shard's index in the list.
        index: usize,
        /// The shard's error.
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
            Error::BadReport(_) => "bad-report",
            Error::WrongNamespace => "wrong-namespace",
            Error::OutOfMemory => "out-of-memory",
            Error::InShard { error, .. } => error.code(),
        }
    }

    /// The index of the invalid shard, if it is one of several.
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

/// The message of an error; empty in a page's module, which reports codes.
pub(crate) const fn message(text: &'static str) -> &'static str {
    if cfg!(all(target_arch = "wasm32", not(feature = "server"))) {
        ""
    } else {
        text
    }
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Self {
        Error::OutOfMemory
    }
}
