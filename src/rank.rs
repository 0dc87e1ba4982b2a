//! What is sorted on a device. One type and one sort, since each further one adds to the page's module.

use std::collections::BinaryHeap;

/// Compared field by field.
pub(crate) type Rank = (u64, u64, u64);

/// Lowest first. Heap sort, which compiles to far less code than the other sorts.
pub(crate) fn sorted(ranks: Vec<Rank>) -> Vec<Rank> {
    BinaryHeap::from(ranks).into_sorted_vec()
}
