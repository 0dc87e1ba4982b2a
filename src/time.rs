//! Points in time. The crate has no clock: the caller passes the time, with its unit.

use std::fmt;
use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, to the millisecond. Its methods name seconds or milliseconds, so that they are not confused. It is
/// serialized as Unix milliseconds; a reader also accepts a fraction of them, as of JavaScript's clocks, and rounds it
/// down.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use seenguard::Time;
///
/// let now = Time::from_unix_seconds(1_764_000_000);
/// assert_eq!(now, Time::from_unix_ms(1_764_000_000_000));
/// let later = now + Duration::from_millis(1_500);
/// assert_eq!((later.unix_ms(), later.unix_seconds()), (1_764_000_001_500, 1_764_000_001));
///
/// // The clock of a server.
/// assert!(Time::from(SystemTime::now()) > now);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Time {
    unix_ms: u64,
}

impl Time {
    /// From milliseconds since the beginning of 1970, UTC.
    pub const fn from_unix_ms(unix_ms: u64) -> Self {
        Time { unix_ms }
    }

    /// From seconds since the beginning of 1970, UTC.
    pub const fn from_unix_seconds(unix_seconds: u64) -> Self {
        Time::from_unix_ms(unix_seconds.saturating_mul(1000))
    }

    /// Unix milliseconds.
    pub const fn unix_ms(self) -> u64 {
        self.unix_ms
    }

    /// Unix seconds, rounded down.
    pub const fn unix_seconds(self) -> u64 {
        self.unix_ms / 1000
    }
}

/// A time of a server's clock. A time before 1970 becomes 1970.
impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        Time::from_unix_ms(0) + time.duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// Adds a duration in whole milliseconds.
impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Time::from_unix_ms(self.unix_ms.saturating_add(ms))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number).map(Time::from_unix_ms)
    }
}

/// Reads a number that is not negative, and rounds it down.
struct Number;

impl Visitor<'_> for Number {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time, as a number that is not negative")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<u64, E> {
        if number >= 0.0 && number.is_finite() {
            Ok(number as u64)
        } else {
            Err(E::invalid_value(Unexpected::Float(number), &self))
        }
    }
}

/// Serializes an optional time as whole Unix seconds, as in snapshots.
pub(crate) fn as_unix_seconds<T: Copy + Into<Option<Time>>, S: Serializer>(
    time: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let time: Option<Time> = (*time).into();
    time.map(Time::unix_seconds).serialize(serializer)
}

/// Deserializes a time written by [`as_unix_seconds`].
pub(crate) fn from_unix_seconds<'de, D: Deserializer<'de>, T: From<Time>>(deserializer: D) -> Result<T, D::Error> {
    let seconds = deserializer.deserialize_any(Number)?;
    Ok(Time::from_unix_seconds(seconds).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_saturate_at_the_largest() {
        let last = Time::from_unix_ms(u64::MAX);
        assert_eq!(Time::from_unix_seconds(u64::MAX), last);
        assert_eq!(last + Duration::from_millis(1), last);
        assert_eq!(Time::from_unix_ms(0) + Duration::MAX, last);
    }

    #[test]
    fn a_time_before_1970_becomes_1970() {
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Time::from(before), Time::from_unix_ms(0));
        assert_eq!(
            Time::from(UNIX_EPOCH + Duration::from_micros(1_999)),
            Time::from_unix_ms(1)
        );
    }
}
