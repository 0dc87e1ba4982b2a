//! Times as shards and snapshots have them: whole seconds.

use crate::error::Error;
use crate::time::Time;

/// A time as shards have it: Unix seconds, rounded down.
///
/// # Errors
/// [`Error::BadOption`] beyond the format's 32 bits.
pub(super) fn shard_seconds(time: Time) -> Result<u32, Error> {
    u32::try_from(time.unix_seconds())
        .map_err(|_| Error::BadOption("the time must be at most 2^32 - 1 Unix seconds; this one may be milliseconds"))
}

/// Unix seconds, rounded up: what came within a second of the deletion is deleted, too.
///
/// # Errors
/// [`Error::BadOption`] beyond the format's 32 bits.
pub(super) fn rounded_up(time: Time) -> Result<u32, Error> {
    shard_seconds(Time::from_unix_seconds(time.unix_ms().div_ceil(1000)))
}
