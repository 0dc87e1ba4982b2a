//! Sorting that is small: the standard library's sorts are tuned for speed and cost a quarter of the Wasm module; what is sorted here is short or
//! rare.

use std::collections::BinaryHeap;

/// The indices of keys in ascending order of key, equal keys in their own order.
pub(crate) fn ascending(keys: impl IntoIterator<Item = u64>) -> Vec<usize> {
    let heap: BinaryHeap<(u64, usize)> = keys.into_iter().enumerate().map(|(index, key)| (key, index)).collect();
    heap.into_sorted_vec().into_iter().map(|(_, index)| index).collect()
}
