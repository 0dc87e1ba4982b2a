//! The one error of the crate, its kinds, and what fails by taking too long.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use tokio::time::timeout;

/// A cause, for the operator's log.
type Cause = Box<dyn StdError + Send + Sync>;

/// What went wrong. New ones may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The storage did not answer within the deadline. Whether it has done what it was asked for is not known.
    Timeout,
    /// The storage is away, or cannot do it now: it starts, a failover is under way.
    Unavailable,
    /// The storage takes no writes, as a replica.
    ReadOnly,
    /// There is no memory for it: of the storage, or of this process.
    OutOfMemory,
    /// What is stored under a user's name is something else.
    WrongType,
    /// The storage does not let this client do it.
    Denied,
    /// Others changed what is stored of this user until the deadline.
    Conflict,
    /// The body is not what a device posts.
    BadReport,
    /// The report is of another namespace than this user's.
    WrongNamespace,
    /// An option, a user or a size without meaning.
    BadOption,
}

impl ErrorKind {
    /// Whether the same may succeed a moment later.
    pub fn is_transient(self) -> bool {
        use ErrorKind::{Conflict, OutOfMemory, ReadOnly, Timeout, Unavailable};
        matches!(self, Timeout | Unavailable | ReadOnly | OutOfMemory | Conflict)
    }

    /// The stable code, as in the `ErrorCode` of the TypeScript declarations.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::BadReport => "bad-report",
            ErrorKind::WrongNamespace => "wrong-namespace",
            ErrorKind::BadOption => "bad-option",
            _ => "storage",
        }
    }

    /// What it means, for people.
    fn text(self) -> &'static str {
        match self {
            ErrorKind::Timeout => "the storage did not answer in time: try again",
            ErrorKind::Unavailable => "the storage is not available: try again",
            ErrorKind::ReadOnly => "the storage takes no writes, as a replica: try again when it is a master",
            ErrorKind::OutOfMemory => "there is no memory for it: free some, or wait until it is freed",
            ErrorKind::WrongType => {
                "something else is stored under this user's name: delete it, or take another prefix"
            }
            ErrorKind::Denied => "the storage does not let this client do it: look at its access rules",
            ErrorKind::Conflict => "others changed what is stored of this user all the time: try again",
            ErrorKind::BadReport => "the report is not what a device posts: pass it on as it arrived",
            ErrorKind::WrongNamespace => {
                "the report is of another namespace than this user's: it is of a session that is over"
            }
            ErrorKind::BadOption => "an option has no meaning",
        }
    }
}

/// Why a store could not do what it was asked for. [`Error::kind`] and [`Error::code`] are for programs; the text is for
/// people, names no user and may change.
///
/// `docs/errors.md` says of each code how it comes about and what to do.
///
/// ```
/// use seenguard::PageRequest;
/// use seenguard_server::{ErrorKind, MemoryStore, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let store = SeenStore::new(MemoryStore::default(), StoreOptions::new())?;
/// let too_large = PageRequest { size: 1_000_000, ..PageRequest::default() };
/// let refused = store.page("ada", &["article-1"], &too_large).await.unwrap_err();
/// assert_eq!((refused.kind(), refused.code()), (ErrorKind::BadOption, "bad-option"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    cause: Option<Cause>,
}

impl Error {
    /// An error of a backend, with what it met.
    pub fn new(kind: ErrorKind, cause: impl Into<Cause>) -> Self {
        let cause = Some(cause.into());
        Error { kind, cause }
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// The stable code, as in the `ErrorCode` of the TypeScript declarations.
    pub fn code(&self) -> &'static str {
        let cause = self.cause.as_deref();
        let core = cause.and_then(|cause| cause.downcast_ref::<seenguard::Error>());
        core.map_or(self.kind.code(), seenguard::Error::code)
    }
}

/// Fails with [`ErrorKind::Timeout`] if it takes longer than this.
pub(crate) async fn in_time<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(ErrorKind::Timeout.into()))
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.text())?;
        match &self.cause {
            Some(cause) => write!(formatter, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { kind, cause: None }
    }
}

/// What the core refuses: an option, a user or a size out of range; what cannot be taken back; or for want of memory.
impl From<seenguard::Error> for Error {
    fn from(error: seenguard::Error) -> Self {
        let kind = match error {
            seenguard::Error::OutOfMemory => ErrorKind::OutOfMemory,
            seenguard::Error::BadReport(_) => ErrorKind::BadReport,
            _ => ErrorKind::BadOption,
        };
        Error::new(kind, error)
    }
}
