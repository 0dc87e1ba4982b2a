//! What a device reports, whenever that arrives.

use super::seconds::shard_seconds;
use super::shard_chain::ShardChain;
use crate::error::Error;
use crate::impression::Impression;
use crate::time::Time;

/// What a device recorded, and which ids it made unseen.
///
/// The device's clock need not be right: its times are read by how long before the report was sent they were. So a
/// report keeps both the time at which it was sent and the one at which it arrived, however long it waits in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// When it was sent, by the device's clock.
    pub sent: Time,
    /// When it arrived, by this server's clock.
    pub arrived: Time,
    /// What was on the screen, by the device's clock.
    pub impressions: &'a [Impression],
    /// What became unseen, by the device's clock.
    pub unseen: &'a [Impression],
}

impl Report<'_> {
    /// A time of the device by the server's clock. One in the future counts as the report's arrival.
    fn server_time(&self, at: Time) -> Time {
        let [at, sent, arrived] = [at, self.sent, self.arrived].map(|time| i128::from(time.unix_ms()));
        let translated = (at + arrived - sent).clamp(0, arrived);
        Time::from_unix_ms(translated as u64)
    }
}

impl ShardChain {
    /// Takes in what a device reported. What is from before the history was deleted, and an impression from before its
    /// id became unseen, changes nothing. Returns how many ids no live shard contained.
    ///
    /// ```
    /// use std::time::Duration;
    /// use seenguard::{ChainOptions, Impression, Report, ShardChain, Time};
    ///
    /// let arrived = Time::from_unix_seconds(1_764_000_000);
    /// // This device's clock is an hour ahead.
    /// let sent = arrived + Duration::from_secs(3_600);
    /// let report = Report {
    ///     sent,
    ///     arrived,
    ///     impressions: &[Impression { id: "article-17".into(), at: sent }],
    ///     unseen: &[],
    /// };
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// assert_eq!(chain.take(&report)?, 1);
    ///
    /// // When the stream brings it again, the history was deleted.
    /// chain.forget(arrived + Duration::from_secs(60))?;
    /// assert_eq!(chain.take(&report)?, 0);
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ShardChain::record`].
    pub fn take(&mut self, report: &Report<'_>) -> Result<usize, Error> {
        shard_seconds(report.arrived)?;
        let mut ids = Vec::new();
        ids.try_reserve_exact(report.impressions.len())?;
        let counts_from = self.counts_from();
        for Impression { id, at } in report.unseen {
            let at = report.server_time(*at);
            if at >= counts_from {
                self.unseen.insert(id.as_bytes(), at);
            }
        }
        let counts = |impression: &&Impression| {
            let at = report.server_time(impression.at);
            let unseen_since = self.unseen.since(impression.id.as_bytes());
            at >= counts_from && unseen_since.is_none_or(|since| at > since)
        };
        let counting = report.impressions.iter().filter(counts);
        ids.extend(counting.map(|impression| impression.id.as_str()));
        let unknown = self.record(&ids, report.arrived)?;
        if !report.unseen.is_empty() {
            self.drop_needless_unseen();
        }
        Ok(unknown)
    }
}
