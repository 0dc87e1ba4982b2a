//! Sorting that is small: the standard library's sorts are tuned for speed and cost a quarter of the Wasm module; what is sorted here is short or
//! rare.

/// The indices of keys in ascending order of key, equal keys in their own order (Shell 1959, with gaps as Tokuda 1992 has them).
pub(crate) fn ascending(keys: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let mut gap = keys.len();
    while gap > 1 {
        gap = (gap * 4 / 9).max(1);
        for end in gap..order.len() {
            let (moving, mut place) = (order[end], end);
            while place >= gap && (keys[moving], moving) < (keys[order[place - gap]], order[place - gap]) {
                order[place] = order[place - gap];
                place -= gap;
            }
            order[place] = moving;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_ascending_order_and_equal_ones_in_their_own() {
        let mut state = 1u64;
        for length in [0, 1, 2, 3, 10, 1_000, 20_000] {
            let keys: Vec<u64> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) % 500
                })
                .collect();
            let mut expected: Vec<usize> = (0..keys.len()).collect();
            expected.sort_by_key(|&index| keys[index]);
            assert_eq!(ascending(&keys), expected);
        }
    }
}
