//! The one error of the crate. Every variant has a stable code, the same in Rust and in TypeScript.

/// What was wrong with the input. The text is for people and may change; [`Error::code`] is for programs and does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has no meaning, such as a capacity of 0.
    #[error("{0}")]
    BadOption(&'static str),
    /// A snapshot is of a kind that is not taken here, such as one of another format in a build without the feature `formats`.
    #[error("{0}")]
    BadSnapshot(&'static str),
    /// The text is not base64: standard or URL-safe alphabet, canonical or no padding, no white space.
    #[error("{}", self.text())]
    BadBase64,
    /// Shorter than the smallest shard.
    #[error("{length} bytes are less than a shard's smallest size")]
    Truncated {
        /// The bytes that were there.
        length: usize,
    },
    /// Not a shard of this format.
    #[error("{}", self.text())]
    BadMagic,
    /// The shard was damaged on its way.
    #[error("{}", self.text())]
    BadChecksum,
    /// An unknown encoding or way of hashing, or reserved bytes that are not 0.
    #[error("{}", self.text())]
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
    /// There is no memory for what the input needs.
    #[error("{}", self.text())]
    OutOfMemory,
    /// One of several shards is wrong.
    #[error("shard {index}: {error}")]
    InShard {
        /// The shard's place in the list, from 0.
        index: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },
}

impl Error {
    /// The stable code, as in the `ErrorCode` of the TypeScript declarations.
    pub fn code(&self) -> &'static str {
        self.told().0
    }

    /// What was wrong, in words that are there already: formatting would cost the Wasm module 1.5 KB.
    pub(crate) fn text(&self) -> &'static str {
        self.told().1
    }

    /// Its code and its text.
    pub(crate) fn told(&self) -> (&'static str, &'static str) {
        match self {
            Error::BadOption(text) => ("bad-option", text),
            Error::BadSnapshot(text) => ("bad-snapshot", text),
            Error::BadBase64 => ("bad-base64", "not base64 text of one alphabet without white space"),
            Error::Truncated { .. } => ("truncated", "fewer bytes than the smallest shard has"),
            Error::BadMagic => ("bad-magic", "the first bytes are not those of a shard of this format"),
            Error::BadChecksum => (
                "bad-checksum",
                "the checksum does not match: the shard was damaged on its way",
            ),
            Error::BadEncoding => (
                "bad-encoding",
                "unknown encoding of the bits or way of hashing, or reserved bytes that are not 0",
            ),
            Error::BadParameters(text) => ("bad-parameters", text),
            Error::BadPayload(text) => ("bad-payload", text),
            Error::TooLarge(text) => ("too-large", text),
            Error::OutOfMemory => ("out-of-memory", "there is not enough memory"),
            Error::InShard { error, .. } => error.told(),
        }
    }

    /// The place of the shard that is wrong, if it is one of several.

    /// The same error, said of the shard at `index` of a list.
    pub(crate) fn in_shard(self, index: usize) -> Self {
        Error::InShard {
            index,
            error: Box::new(self),
        }
    }
}
