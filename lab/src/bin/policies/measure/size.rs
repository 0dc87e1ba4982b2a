//! Bytes of one person's history.

use allocation_counter::measure as count_allocations;
use seenguard_lab::report::Result;
use serde::{Deserialize, Serialize};

use crate::structures::{CAPACITY, Structure};
use crate::trace::item_id;

/// Items with which every structure is nearly at its largest.
const ITEMS: u64 = 2 * CAPACITY as u64 - 10;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Size {
    /// At its largest; filters as native shards.
    pub stored_bytes: usize,
    /// What the structure had allocated when it was nearly at its largest.
    pub memory_bytes: u64,
    /// Stored, of each impression that is remembered on average.
    pub bits_an_impression: f64,
}

/// # Errors
/// Of the structure.
pub fn measure(structure: Structure, stored_bytes: usize, mean_reach: f64) -> Result<Size> {
    let ids: Vec<String> = (0..ITEMS).map(item_id).collect();
    let mut kept = None;
    let allocated = count_allocations(|| {
        kept = Some((structure.new)().and_then(|mut history| {
            for id in &ids {
                history.record(id)?;
            }
            Ok(history)
        }));
    });
    // Until here it lives.
    kept.transpose()?;
    Ok(Size {
        stored_bytes,
        memory_bytes: allocated.bytes_current.unsigned_abs(),
        bits_an_impression: stored_bytes as f64 * 8.0 / mean_reach,
    })
}
