//! The stream's lag as this device sees it: from recording an impression to the first snapshot that covers it. An upper bound, since it is
//! sampled when snapshots come.

use serde::Serialize;

use crate::order::ascending;

/// Samples kept.
const SAMPLES: u64 = 1_000;

/// The distribution of the latest lags, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lag {
    /// How many impressions were covered in this visit.
    pub count: u64,
    /// The latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<u64>,
    /// The median of the last 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// The 95th percentile of the last 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<u64>,
    /// The 99th percentile of the last 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<u64>,
}

/// The latest lags, milliseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct LagSamples {
    /// The latest, at the place of its number modulo so many as are kept.
    samples: Vec<u64>,
    count: u64,
}

impl LagSamples {
    pub(crate) fn add(&mut self, lag_ms: u64) {
        match self.samples.get_mut((self.count % SAMPLES) as usize) {
            Some(oldest) => *oldest = lag_ms,
            None => self.samples.push(lag_ms),
        }
        self.count += 1;
    }

    pub(crate) fn summary(&self) -> Lag {
        let order = ascending(&self.samples);
        let [p50_ms, p95_ms, p99_ms] = [50, 95, 99].map(|percent| self.percentile(&order, percent));
        let latest = self.count.wrapping_sub(1) % SAMPLES;
        Lag {
            count: self.count,
            last_ms: self.samples.get(latest as usize).copied(),
            p50_ms,
            p95_ms,
            p99_ms,
        }
    }

    /// Nearest rank: the smallest sample that at least this share does not exceed. `order` is that of the samples.
    fn percentile(&self, order: &[usize], percent: usize) -> Option<u64> {
        let rank = (order.len() * percent).div_ceil(100);
        order.get(rank.saturating_sub(1)).map(|&index| self.samples[index])
    }
}
