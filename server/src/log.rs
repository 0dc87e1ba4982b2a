//! Rate limit of the log.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// Returns whether an event may be logged: once a second for each event and cause, since in an outage everything fails
/// for the same reason.
#[doc(hidden)]
pub fn may_log(event: &'static str, cause: impl Into<Cow<'static, str>>) -> bool {
    static LAST: Mutex<BTreeMap<(&str, Cow<'static, str>), Instant>> = Mutex::new(BTreeMap::new());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let (cause, now) = ((event, cause.into()), Instant::now());
    let is_due = last
        .get(&cause)
        .is_none_or(|&last| now.duration_since(last) >= INTERVAL);
    if is_due {
        last.insert(cause, now);
    }
    is_due
}
