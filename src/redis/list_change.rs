//! The change from one list of shards to another, of which most shards are unchanged.

use crate::id_list::IdList;

/// A change of a list: new elements are added before the unchanged ones, and all others are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListChange {
    /// The number of new elements, which come first.
    pub(super) added: usize,
    /// The index in the old list of the first unchanged element; its length if there is none.
    pub(super) first: usize,
    /// The number of unchanged elements.
    pub(super) kept: usize,
}

impl ListChange {
    /// The change from one list to another.
    pub(super) fn between(before: &(impl IdList + ?Sized), after: &(impl IdList + ?Sized)) -> Self {
        let place_of = |text| (0..before.len()).find(|&index| before.get(index) == text);
        let stays = |added: usize, first: usize| {
            let kept = after.len() - added;
            first + kept <= before.len() && (0..kept).all(|index| after.get(added + index) == before.get(first + index))
        };
        let change = (0..after.len()).find_map(|added| {
            let first = place_of(after.get(added)).filter(|&first| stays(added, first))?;
            Some(ListChange {
                added,
                first,
                kept: after.len() - added,
            })
        });
        change.unwrap_or(ListChange {
            added: after.len(),
            first: before.len(),
            kept: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_makes_the_new_list_of_the_old_one() {
        let lists: [&[&str]; 8] = [
            &[],
            &["a"],
            &["b", "a"],
            &["c", "b", "a"],
            &["c", "b"],
            &["d", "b", "a"],
            &["d", "c"],
            &["x", "y"],
        ];
        for before in lists {
            for after in lists {
                let ListChange { added, first, kept } = ListChange::between(before, after);
                let made = [&after[..added], &before[first..first + kept]].concat();
                assert_eq!(made, after, "{before:?} to {after:?}: {added}, {first}, {kept}");
            }
        }
    }
}
