//! Maps errors of Redis to kinds of errors.

use redis::{ErrorKind as RedisErrorKind, RedisError};
use seenguard::StoreFailure;

use crate::error::{Error, ErrorKind};

/// Maps an error of the crate `redis`.
pub(crate) fn error_of(error: RedisError) -> Error {
    let kind = match error.code() {
        Some(code) => kind_of(code),
        None if error.is_timeout() => ErrorKind::Timeout,
        None => match error.kind() {
            RedisErrorKind::InvalidClientConfig => ErrorKind::BadOption,
            RedisErrorKind::AuthenticationFailed => ErrorKind::Denied,
            RedisErrorKind::UnexpectedReturnType | RedisErrorKind::Parse => ErrorKind::WrongType,
            _ => ErrorKind::Unavailable,
        },
    };
    Error::new(kind, error)
}

/// Maps a script's message about a write that Redis has refused.
pub(super) fn refusal(text: String) -> Error {
    Error::new(kind_of(&text), text)
}

fn kind_of(error: &str) -> ErrorKind {
    match StoreFailure::of_redis(error) {
        StoreFailure::ReadOnly => ErrorKind::ReadOnly,
        StoreFailure::OutOfMemory => ErrorKind::OutOfMemory,
        StoreFailure::WrongType => ErrorKind::WrongType,
        StoreFailure::Denied => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    }
}
