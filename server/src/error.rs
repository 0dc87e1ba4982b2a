//! The error type of the crate, its kinds, and timeouts.

use std::error::Error as StdError;
use std::fmt;
#[cfg(feature = "redis")]
use std::time::Duration;

use seenguard::StoreFailure;
#[cfg(feature = "redis")]
use tokio::time::timeout;

/// A cause, for the operator's log.
type Cause = Box<dyn StdError + Send + Sync>;

/// The kind of an error. More kinds may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A failure of the storage. `OutOfMemory` may also be one of this process.
    Storage(StoreFailure),
    /// The body is not a valid report of a device.
    BadReport,
    /// The report is of another namespace than this user's.
    WrongNamespace,
    /// An option, a user or a size is invalid.
    BadOption,
    /// A panic: a bug of this program, of a backend or of a listener.
    Internal,
}

impl From<StoreFailure> for ErrorKind {
    fn from(failure: StoreFailure) -> Self {
        ErrorKind::Storage(failure)
    }
}

/// How a failed call is retried, beyond the retries of the call itself, for which see [`StoreFailure`].
#[cfg(any(feature = "axum", feature = "consumer"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The caller retries it a moment later. An entry stays in its stream.
    Caller,
    /// The same, but only an operator can remove the cause, so a consumer is not ready.
    Operator,
    /// A retry probably fails. An entry is retried a few times, since its user's data may be repaired, and then becomes
    /// a dead letter.
    Entry,
    /// It is not retried. An entry becomes a dead letter at once.
    Never,
}

impl ErrorKind {
    #[cfg(any(feature = "axum", feature = "consumer"))]
    pub(crate) fn retry(self) -> Retry {
        match self {
            ErrorKind::Storage(StoreFailure::Denied | StoreFailure::OutOfMemory) => Retry::Operator,
            ErrorKind::Storage(failure) if failure.is_transient() => Retry::Caller,
            ErrorKind::Storage(_) | ErrorKind::Internal => Retry::Entry,
            _ => Retry::Never,
        }
    }

    /// Whether the same call may succeed later: the cause is the storage, not the call or its user's data.
    pub fn is_transient(self) -> bool {
        matches!(self, ErrorKind::Storage(failure) if failure.is_transient())
    }

    /// The stable code, as in the `ErrorCode` of the TypeScript declarations, or `internal`.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::BadReport => "bad-report",
            ErrorKind::WrongNamespace => "wrong-namespace",
            ErrorKind::BadOption => "bad-option",
            ErrorKind::Internal => "internal",
            ErrorKind::Storage(_) => "storage",
        }
    }

    /// The message, with the remedy.
    fn text(self) -> &'static str {
        match self {
            ErrorKind::Storage(failure) => match failure {
                StoreFailure::Timeout => "the storage did not respond in time: try again",
                StoreFailure::ReadOnly => "the storage accepts no writes, as a replica: try again when it is a master",
                StoreFailure::OutOfMemory => "out of memory: free some, or wait until some is freed",
                StoreFailure::WrongType => {
                    "the user's key has data of another program: delete it, or use another prefix"
                }
                StoreFailure::Denied => "the storage denies this client the permission: check its access rules",
                StoreFailure::Conflict => "other writers kept changing this user's data: try again",
                _ => "the storage is not available: try again",
            },
            ErrorKind::BadReport => "the body is not a device's report: forward the device's body unchanged",
            ErrorKind::WrongNamespace => "the report is of another namespace than this user's: its session is over",
            ErrorKind::BadOption => "invalid option",
            ErrorKind::Internal => "internal error: see the log",
        }
    }
}

/// An error of a store's call. [`Error::kind`] and [`Error::code`] are for programs; the message is for people, names
/// no user and may change.
///
/// `docs/errors.md` has the cause and the remedy of each code.
///
/// ```
/// use seenguard::PageRequest;
/// use seenguard_server::{ErrorKind, MemoryBackend, SeenStore, StoreOptions};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// let store = SeenStore::new(MemoryBackend::default(), StoreOptions::default())?;
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
    /// An error of a backend, with its cause.
    pub fn new(kind: impl Into<ErrorKind>, cause: impl Into<Cause>) -> Self {
        Error {
            kind: kind.into(),
            cause: Some(cause.into()),
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later: the cause is the storage, not the call or its user's data.
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

/// Fails with [`StoreFailure::Timeout`] after this limit.
#[cfg(feature = "redis")]
pub(crate) async fn in_time<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(StoreFailure::Timeout.into()))
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

impl From<StoreFailure> for Error {
    fn from(failure: StoreFailure) -> Self {
        ErrorKind::Storage(failure).into()
    }
}

/// Errors of the core: an option, a user or a size out of range, an id that cannot become unseen, or no memory.
impl From<seenguard::Error> for Error {
    fn from(error: seenguard::Error) -> Self {
        let kind = match error {
            seenguard::Error::OutOfMemory => StoreFailure::OutOfMemory.into(),
            seenguard::Error::BadReport(_) => ErrorKind::BadReport,
            seenguard::Error::WrongNamespace => ErrorKind::WrongNamespace,
            _ => ErrorKind::BadOption,
        };
        Error::new(kind, error)
    }
}
