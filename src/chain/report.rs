//! What a device reports, whenever that arrives.

use super::shard_chain::{ShardChain, seconds};
use super::unseen::first_ms_after;
use crate::error::Error;
use crate::impression::Impression;

/// What a device recorded and took back. All times are Unix milliseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// When the report was sent.
    pub now_ms: u64,
    /// What was on the screen.
    pub impressions: &'a [Impression],
    /// What was taken back.
    pub unseen: &'a [Impression],
}

impl Report<'_> {
    /// A time of the device by the server's clock, at which the report arrived at `now_ms`. A time in the future counts
    /// as now.
    fn server_time(&self, at_ms: u64, now_ms: u64) -> u64 {
        let translated = i128::from(at_ms) + i128::from(now_ms) - i128::from(self.now_ms);
        u64::try_from(translated.max(0)).unwrap_or(u64::MAX).min(now_ms)
    }
}

impl ShardChain {
    /// Takes in what a device reported. What is from before the history was deleted, and an impression from before its
    /// id was taken back, changes nothing. `now_ms` is when the report arrived, Unix milliseconds of this server's
    /// clock. Returns how many ids no live shard contained.
    ///
    /// # Errors
    /// As [`ShardChain::record`].
    pub fn take(&mut self, report: &Report<'_>, now_ms: u64) -> Result<usize, Error> {
        let now = seconds(now_ms / 1000)?;
        let since = first_ms_after(self.forget_before);
        for Impression { id, at } in report.unseen {
            let at = report.server_time(*at, now_ms);
            if at >= since {
                self.unseen.insert(id.as_bytes(), at);
            }
        }
        let counts = |impression: &&Impression| {
            let at = report.server_time(impression.at, now_ms);
            let taken_back = self.unseen.at(impression.id.as_bytes());
            at >= since && taken_back.is_none_or(|taken_back| at > taken_back)
        };
        let impressions = report.impressions.iter().filter(counts);
        let ids: Vec<&str> = impressions.map(|impression| impression.id.as_str()).collect();
        let unknown = self.record(&ids, now.into())?;
        if !report.unseen.is_empty() {
            self.drop_needless_unseen();
        }
        Ok(unknown)
    }
}
