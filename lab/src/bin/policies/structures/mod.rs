//! What remembers one person's history. Each structure is made for the same 5,000 items, and, where it errs, for the
//! same false positive rate; one of the chains is as it is often configured instead.

mod chain;
mod counting;
mod cuckoo;
mod queue;
mod reset;
mod swap;

use seenguard_lab::report::Result;

/// Items that a structure is made for.
pub const CAPACITY: u32 = 5_000;
/// The rate that a structure is made for: that of five filters of 0.001 each.
const FALSE_POSITIVE_RATE: f64 = 0.005;

/// One user's history in a structure.
pub trait History {
    /// Notes an impression.
    ///
    /// # Errors
    /// If a filter cannot be made.
    fn record(&mut self, id: &str) -> Result<()>;

    /// Whether the item is remembered, truly or falsely.
    fn contains(&self, id: &str) -> bool;

    /// Bytes in the store.
    ///
    /// # Errors
    /// If a filter cannot be encoded.
    fn stored_bytes(&self) -> Result<usize>;

    /// Deletes one item. Returns false if the structure cannot delete.
    fn delete(&mut self, _id: &str) -> bool {
        false
    }
}

/// A way to make a structure, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Structure {
    pub name: &'static str,
    pub new: fn() -> Result<Box<dyn History>>,
}

/// All structures.
pub const STRUCTURES: [Structure; 7] = [
    Structure {
        name: "exact list",
        new: || Ok(Box::new(queue::ExactList::new())),
    },
    Structure {
        name: "one filter, reset",
        new: || Ok(Box::new(reset::ResetFilter::new()?)),
    },
    Structure {
        name: "two filters, swapped",
        new: || Ok(Box::new(swap::SwappedFilters::new()?)),
    },
    Structure {
        name: "chain of 10 × 500",
        new: || Ok(Box::new(chain::Chain::new(500, 10, 0.02)?)),
    },
    Structure {
        name: "chain of 5 × 1,000",
        new: || Ok(Box::new(chain::Chain::new(1000, 5, 0.001)?)),
    },
    Structure {
        name: "counting filter, reset",
        new: || Ok(Box::new(counting::CountingFilter::new())),
    },
    Structure {
        name: "cuckoo filter, reset",
        new: || Ok(Box::new(cuckoo::CuckooFilter::new())),
    },
];

#[cfg(test)]
mod tests {
    use super::super::trace::item_id;
    use super::*;

    #[test]
    fn every_structure_remembers_what_was_recorded_last() {
        for Structure { name, new } in STRUCTURES {
            let mut history = new().expect("a structure");
            for number in 0..3 * u64::from(CAPACITY) {
                history.record(&item_id(number)).expect("room");
                assert!(history.contains(&item_id(number)), "{name}: {number}");
            }
            let oldest_contained = (0..100).filter(|&number| history.contains(&item_id(number))).count();
            assert!(oldest_contained < 40, "{name}: {oldest_contained} of 100");
            assert!(history.stored_bytes().expect("a size") > 0, "{name}");
        }
    }

    #[test]
    fn what_can_delete_forgets_what_was_deleted_and_nothing_else_does() {
        for Structure { name, new } in STRUCTURES {
            let mut history = new().expect("a structure");
            history.record("a").expect("room");
            let is_deleted = history.delete("a");
            assert_eq!(history.contains("a"), !is_deleted, "{name}");
        }
    }
}
