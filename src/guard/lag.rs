//! The stream's lag as this device sees it: from recording an impression to the first snapshot that covers it. An upper
//! bound, since it is sampled when snapshots come.

use std::collections::VecDeque;

use serde::Serialize;

/// Samples kept.
const SAMPLES: usize = 1_000;

/// The distribution of the latest lags, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
    by_age: VecDeque<u64>,
    by_size: Vec<u64>,
    count: u64,
}

impl LagSamples {
    pub(crate) fn add(&mut self, lag_ms: u64) {
        if self.by_age.len() == SAMPLES
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.by_size.remove(self.place_of(oldest));
        }
        self.by_age.push_back(lag_ms);
        self.by_size.insert(self.place_of(lag_ms), lag_ms);
        self.count += 1;
    }

    fn place_of(&self, lag_ms: u64) -> usize {
        self.by_size.partition_point(|&other| other < lag_ms)
    }

    pub(crate) fn summary(&self) -> Lag {
        // Nearest rank: the smallest sample that at least this share does not exceed.
        let percentile = |percent: usize| {
            let rank = (self.by_size.len() * percent).div_ceil(100);
            self.by_size.get(rank.saturating_sub(1)).copied()
        };
        Lag {
            count: self.count,
            last_ms: self.by_age.back().copied(),
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            p99_ms: percentile(99),
        }
    }
}
