//! The one error of the crate.

use std::error::Error as StdError;

/// Why a store could not do what it was asked for. The text is for people, names no user and may change;
/// [`Error::code`] is for programs and does not.
///
/// `docs/errors.md` says of each code how it comes about and what to do.
///
/// ```
/// use seenguard::{PageRequest, Time};
/// use seenguard_server::{MemoryStore, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let store = MemoryStore::new(StoreOptions::new())?;
/// let too_large = PageRequest { size: 1_000_000, ..PageRequest::default() };
/// let refused = store.page("ada", &["article-1"], &too_large, Time::from_unix_seconds(1_764_000_000)).await;
/// assert_eq!(refused.map_err(|error| error.code()), Err("bad-option"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the core refuses, with its code: an option, a user or a size out of range.
    #[error(transparent)]
    Core(#[from] seenguard::Error),
    /// `bad-report`: the body is not what a device posts. Pass it on as it arrived.
    #[error("the report is not what a device posts: {0}")]
    BadReport(#[source] serde_json::Error),
    /// `wrong-namespace`: a report of another namespace than this user's, as of a tab of a person who has signed out.
    /// Nothing of it was kept. Answer 403 or 409, and the tab keeps its impressions.
    #[error("the report is of another namespace than this user's: it is of a session that is over")]
    WrongNamespace,
    /// `storage`: for seconds, others changed what is stored of this user between each reading and writing. Try again.
    #[error("others changed what is stored of this user all the time: try again")]
    Conflict,
    /// `storage`: what holds the users' chains does not answer, or refuses. Nothing is known to be stored: try again.
    #[error("the storage does not do what it is asked for: {0}")]
    Storage(#[source] Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// The stable code, as in the `ErrorCode` of the TypeScript declarations.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Core(error) => error.code(),
            Error::BadReport(_) => "bad-report",
            Error::WrongNamespace => "wrong-namespace",
            Error::Conflict | Error::Storage(_) => "storage",
        }
    }
}
