//! Maps errors of Redis to [`ErrorKind`].

use redis::{ErrorKind as RedisErrorKind, RedisError};
use seenguard::StoreFailure;

use crate::error::{Error, ErrorKind};

/// Maps an error of the crate `redis`.
pub(crate) fn error_of(error: RedisError) -> Error {
    let kind = match error.code() {
        Some(code) => StoreFailure::of_redis(code).into(),
        None if error.is_timeout() => StoreFailure::Timeout.into(),
        None => match error.kind() {
            RedisErrorKind::InvalidClientConfig => ErrorKind::BadOption,
            RedisErrorKind::AuthenticationFailed => StoreFailure::Denied.into(),
            RedisErrorKind::UnexpectedReturnType | RedisErrorKind::Parse => StoreFailure::WrongType.into(),
            _ => StoreFailure::Unavailable.into(),
        },
    };
    Error::new(kind, error)
}

/// Maps the message of a script's refused write.
pub(super) fn refusal(text: String) -> Error {
    Error::new(StoreFailure::of_redis(&text), text)
}
