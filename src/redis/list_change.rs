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
    pub(super) unchanged: usize,
}

impl ListChange {
    /// The change from one list to another.
    pub(super) fn between(before: &(impl IdList + ?Sized), after: &(impl IdList + ?Sized)) -> Self {
        let index_of = |text| (0..before.len()).find(|&index| before.get(index) == text);
        let stays = |added: usize, first: usize| {
            let unchanged = after.len() - added;
            first + unchanged <= before.len()
                && (0..unchanged).all(|index| after.get(added + index) == before.get(first + index))
        };
        let change = (0..after.len()).find_map(|added| {
            let first = index_of(after.get(added)).filter(|&first| stays(added, first))?;
            Some(ListChange {
                added,
                first,
                unchanged: after.len() - added,
            })
        });
        change.unwrap_or(ListChange {
            added: after.len(),
            first: before.len(),
            unchanged: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_turns_the_old_list_into_the_new_one() {
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
                let ListChange {
                    added,
                    first,
                    unchanged,
                } = ListChange::between(before, after);
                let made = [&after[..added], &before[first..first + unchanged]].concat();
                assert_eq!(made, after, "{before:?} to {after:?}: {added}, {first}, {unchanged}");
            }
        }
    }
}
