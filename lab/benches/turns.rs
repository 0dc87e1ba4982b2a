//! The configuration of criterion for short turns.

use std::time::Duration;

use criterion::Criterion;

/// Minimal sampling, since only the median of each turn is read; the turns show its spread.
pub fn short_turns() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .nresamples(1_001)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .without_plots()
}
