//! Times in shards and snapshots: whole seconds.

use crate::error::Error;
use crate::time::Time;

/// A time in a shard: Unix seconds, rounded down.
///
/// # Errors
/// [`Error::BadOption`] beyond the format's 32 bits.
pub(super) fn shard_seconds(time: Time) -> Result<u32, Error> {
    u32::try_from(time.unix_seconds())
        .map_err(|_| Error::BadOption("the time must be at most 2^32 - 1 Unix seconds; this one may be milliseconds"))
}

/// Unix seconds, rounded up: impressions within the second of the deletion are deleted, too.
///
/// # Errors
/// [`Error::BadOption`] beyond the format's 32 bits.
pub(super) fn rounded_up(time: Time) -> Result<u32, Error> {
    shard_seconds(Time::from_unix_seconds(time.unix_ms().div_ceil(1000)))
}
