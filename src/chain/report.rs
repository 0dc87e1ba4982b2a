//! Reports of devices, which may arrive late.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::seconds::{rounded_up, shard_seconds};
use super::shard_chain::ShardChain;
use super::unseen::MAX_UNSEEN_ID_BYTES;
use crate::error::Error;
use crate::impression::Impression;
use crate::time::Time;

/// Most bytes of an id. A report's longer ids are left out, and a candidate with a longer id is never filtered.
pub const MAX_ID_BYTES: usize = 4_096;
/// Most entries of a report.
const MAX_ENTRIES: usize = 1_000;
/// Most bytes of a report's JSON.
const MAX_REPORT_BYTES: usize = 256 << 10;

/// A device's impressions and unseen ids, with times of its clock. Its JSON is the body that the npm package posts.
///
/// ```
/// use seenguard::{Report, Time};
/// let body = r#"{ "namespace": "home:ada", "now": 1764000000500, "impressions": [{ "id": "a", "at": 1764000000000 }] }"#;
/// let report: Report = serde_json::from_str(body)?;
/// assert_eq!(report.impressions[0].at, Time::from_unix_seconds(1_764_000_000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Report {
    /// The namespace of the device's guard: the signed-in user and the feed.
    pub namespace: String,
    /// The device's time when it was sent.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub now: Time,
    /// Items that were on the screen.
    pub impressions: Vec<Impression>,
    /// Ids that became unseen.
    #[serde(default)]
    pub unseen: Vec<Impression>,
    /// The device's pending impressions: see [`PendingUpdate`](crate::PendingUpdate). An invalid value does not
    /// invalidate the report.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub pending: Option<String>,
}

/// A report with its times translated to the server's clock, so that it may wait in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReceivedReport {
    /// As in the report.
    pub namespace: String,
    /// When the server received it.
    pub received_at: Time,
    /// Items that were on the screen.
    pub impressions: Vec<Impression>,
    /// Ids that became unseen.
    #[serde(default)]
    pub unseen: Vec<Impression>,
    /// Whether the history was deleted at `received_at`. Only a service sets it, never a device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// As in the report.
    #[serde(
        default,
        deserialize_with = "string_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub pending: Option<String>,
}

impl Report {
    /// An empty report.
    pub fn new(namespace: impl Into<String>, now: Time) -> Self {
        Report {
            namespace: namespace.into(),
            now,
            impressions: Vec::new(),
            unseen: Vec::new(),
            pending: None,
        }
    }

    /// Checks the length of a report's JSON, in bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for over 256 KB.
    pub fn check_size(bytes: usize) -> Result<(), Error> {
        match bytes {
            ..=MAX_REPORT_BYTES => Ok(()),
            _ => Err(Error::TooLarge("a report has at most 256 KB")),
        }
    }

    /// Translates the report's times to the server's clock, given the time of arrival. The device's clock may be wrong:
    /// the distance to the time of sending counts. A time in the future becomes the arrival.
    pub fn received(self, at: Time) -> ReceivedReport {
        let mut report = ReceivedReport {
            namespace: self.namespace,
            received_at: self.now,
            impressions: self.impressions,
            unseen: self.unseen,
            forgotten: false,
            pending: self.pending,
        };
        report.stamp(at);
        report
    }
}

impl ReceivedReport {
    /// Replaces the time of arrival by that of another clock, and moves all times with it. A time in the future becomes
    /// the arrival.
    pub fn stamp(&mut self, at: Time) {
        for impression in self.impressions.iter_mut().chain(&mut self.unseen) {
            impression.at = server_time(impression.at, self.received_at, at);
        }
        self.received_at = at;
    }

    /// Removes entries with ids of over [`MAX_ID_BYTES`], or of over 256 bytes if unseen. Returns how many.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for over 1,000 entries: a device then halves its report.
    pub fn limit(&mut self) -> Result<usize, Error> {
        let entries = self.impressions.len() + self.unseen.len();
        if entries > MAX_ENTRIES {
            return Err(Error::TooLarge("a report has at most 1,000 entries"));
        }
        self.impressions.retain(|entry| is_short(entry.id.as_bytes(), false));
        self.unseen.retain(|entry| is_short(entry.id.as_bytes(), true));
        Ok(entries - self.impressions.len() - self.unseen.len())
    }
}

/// Whether an id of a report is short enough to be recorded, or to become unseen.
fn is_short(id: &[u8], is_unseen: bool) -> bool {
    id.len() <= if is_unseen { MAX_UNSEEN_ID_BYTES } else { MAX_ID_BYTES }
}

/// Deserializes a string; any other value becomes `None`.
fn string_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Anything {
        String(String),
        Other(IgnoredAny),
    }
    Ok(match Anything::deserialize(deserializer)? {
        Anything::String(string) => Some(string),
        Anything::Other(_) => None,
    })
}

/// Translates a device's time to the server's clock.
pub(crate) fn server_time(at: Time, sent: Time, received: Time) -> Time {
    let [at, sent, received] = [at, sent, received].map(|time| i128::from(time.unix_ms()));
    let translated = (at + received - sent).clamp(0, received);
    Time::from_unix_ms(translated as u64)
}

impl ShardChain {
    /// Applies a device's report. Entries from before the deletion of the history, impressions from before their id
    /// became unseen, and known deletions change nothing. Returns how many ids no live shard contained.
    ///
    /// ```
    /// use std::time::Duration;
    /// use seenguard::{ChainOptions, Impression, Report, ShardChain, Time};
    ///
    /// let arrived = Time::from_unix_seconds(1_764_000_000);
    /// // This device's clock is an hour ahead.
    /// let sent = arrived + Duration::from_secs(3_600);
    /// let mut report = Report::new("home:ada", sent);
    /// report.impressions.push(Impression { id: "article-17".into(), at: sent });
    /// let report = report.received(arrived);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// assert_eq!(chain.ingest(&report)?, 1);
    ///
    /// // The stream delivers it again after the history was deleted.
    /// chain.forget(arrived + Duration::from_secs(60))?;
    /// assert_eq!(chain.ingest(&report)?, 0);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ShardChain::record`].
    pub fn ingest(&mut self, report: &ReceivedReport) -> Result<usize, Error> {
        self.ingest_at(report, report.received_at)
    }

    /// [`ShardChain::ingest`] of a report that counts as received at another time.
    pub(crate) fn ingest_at(&mut self, report: &ReceivedReport, received_at: Time) -> Result<usize, Error> {
        let now = shard_seconds(received_at)?;
        if report.forgotten && self.forget_before < Some(rounded_up(received_at)?) {
            self.forget(received_at)?;
        }
        let counts_from = self.counts_from();
        // A report that `Report::received` has not made may have times after its arrival.
        let at = |impression: &Impression| impression.at.min(received_at);
        for unseen in &report.unseen {
            if at(unseen) >= counts_from {
                self.unseen.insert(unseen.id.as_bytes(), at(unseen), false);
            }
        }
        let counts = |impression: &&Impression| {
            let unseen_since = self.unseen.since(impression.id.as_bytes());
            at(impression) >= counts_from && unseen_since.is_none_or(|since| at(impression) > since)
        };
        let mut counting = Vec::new();
        counting.try_reserve_exact(report.impressions.len())?;
        let each = report.impressions.iter().filter(counts);
        counting.extend(each.map(|impression| (impression.id.as_bytes(), at(impression))));
        let unknown = self.record_each(counting.into_iter(), now)?;
        if !report.unseen.is_empty() {
            self.drop_unneeded_unseen();
        }
        Ok(unknown)
    }
}
