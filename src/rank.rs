//! The sort key of a device, and its sort. One type and one sort, since each further one adds to the page's module.

use std::collections::BinaryHeap;

/// A sort key, compared field by field.
pub(crate) type Rank = (u64, u64, u64);

/// Sorts in ascending order, by heap sort, which compiles to far less code than the other sorts.
pub(crate) fn sorted(ranks: Vec<Rank>) -> Vec<Rank> {
    BinaryHeap::from(ranks).into_sorted_vec()
}
