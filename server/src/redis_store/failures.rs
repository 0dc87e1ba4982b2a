//! What an error of Redis means: by its code, never by words of its text.

use redis::{ErrorKind as RedisErrorKind, RedisError};

use crate::error::{Error, ErrorKind};

/// What the crate `redis` reports.
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

/// What a script says of a write that Redis has refused: a code, and words.
pub(super) fn refusal(text: &str) -> Error {
    let code = text.trim_start_matches('-').split(' ').next().unwrap_or_default();
    Error::new(kind_of(code), text)
}

/// What is not named here may pass: a slot that moves, a start, a failover.
fn kind_of(code: &str) -> ErrorKind {
    match code {
        "READONLY" | "NOREPLICAS" | "MISCONF" => ErrorKind::ReadOnly,
        "OOM" => ErrorKind::OutOfMemory,
        "WRONGTYPE" => ErrorKind::WrongType,
        "NOPERM" | "NOAUTH" | "WRONGPASS" | "DENIED" => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    }
}
