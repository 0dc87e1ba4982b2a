//! How criterion takes the turns of a benchmark.

use std::time::Duration;

use criterion::Criterion;

/// Only the medians are read: how sure they are shows in the turns.
pub fn short_turns() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .nresamples(1_001)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .without_plots()
}
