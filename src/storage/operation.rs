//! What the protocol asks of a storage, and what it hears of it.

/// The next operation on the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing until something happens, or until a time of the steady clock: not after now, as soon as others had their
    /// turn.
    Wait {
        /// Milliseconds; `u64::MAX`: until something happens.
        until_ms: u64,
    },
    /// List all keys with these prefixes.
    List(Vec<String>),
    /// Read the values of these keys.
    Read(Vec<String>),
    /// Write a value.
    Write {
        /// ASCII.
        key: String,
        /// ASCII, but for shards of formats that are not.
        text: String,
    },
    /// Remove these keys.
    Remove {
        /// Those that are not there are removed already.
        keys: Vec<String>,
        /// If given, the one key is removed only if it has this very value still.
        only_if: Option<String>,
    },
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Of listing: the keys.
    Keys(Vec<String>),
    /// Of reading: the keys that are there, each with its value.
    Texts(Vec<(String, String)>),
    /// Of writing and removing.
    Done,
    /// It failed, or has not come in [time](crate::Storage::OPERATION_MS). What it was to change may have been changed, or may be later.
    Failed {
        /// Whether for want of room.
        is_full: bool,
    },
}

/// What a page that hides has to do at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// What is to be put under the stash's key.
    pub stash: Option<String>,
    /// A write, to be answered as any other.
    pub write: Option<Operation>,
}

/// What whoever performs the protocol is told, once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notices {
    /// The storage is in [trouble](crate::Storage::trouble) since.
    pub trouble: bool,
    /// Stored segments were damaged: a part of them is set aside, and what can be read of them is kept.
    pub damaged: bool,
    /// Segments that a later version of this library wrote are left alone.
    pub newer: bool,
    /// The stored snapshot was damaged.
    pub damaged_snapshot: bool,
    /// Other tabs are to be told to look.
    pub signal: bool,
    /// An operation has failed. It is tried again.
    pub failed: bool,
}
