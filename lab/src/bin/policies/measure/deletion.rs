//! The effect of deleting an item that was never inserted: other items are forgotten.

use seenguard_lab::report::Result;
use serde::{Deserialize, Serialize};

use crate::structures::{CAPACITY, History, Structure};
use crate::trace::item_id;

/// Deletions of any ids that were never inserted.
const BLIND: u64 = 20_000;
/// Deletions of ids that were never inserted and are claimed falsely.
const CLAIMED: usize = 100;

/// Inserted items that are forgotten by one such deletion, on average.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deletion {
    /// Of ids that were never inserted, whatever the structure says of them.
    pub blind: f64,
    /// Of ids that were never inserted, but that the structure claims.
    pub claimed: f64,
}

/// `None` for a structure that cannot delete.
///
/// # Errors
/// Of the structure.
pub fn measure(structure: Structure) -> Result<Option<Deletion>> {
    let fresh = || (u64::from(CAPACITY)..).map(item_id);
    if !(structure.new)()?.delete("") {
        return Ok(None);
    }
    let mut history = filled(structure)?;
    for id in fresh().take(BLIND as usize) {
        history.delete(&id);
    }
    let blind = forgotten(&*history) / BLIND as f64;

    let mut history = filled(structure)?;
    // An exact list claims none: the search ends.
    let claimed: Vec<String> = fresh()
        .take(1_000_000)
        .filter(|id| history.contains(id))
        .take(CLAIMED)
        .collect();
    for id in &claimed {
        history.delete(id);
    }
    let claimed = forgotten(&*history) / claimed.len().max(1) as f64;
    Ok(Some(Deletion { blind, claimed }))
}

fn filled(structure: Structure) -> Result<Box<dyn History>> {
    let mut history = (structure.new)()?;
    for id in inserted() {
        history.record(&id)?;
    }
    Ok(history)
}

/// Not so many that a structure is emptied.
fn inserted() -> impl Iterator<Item = String> {
    (0..u64::from(CAPACITY)).map(item_id)
}

fn forgotten(history: &dyn History) -> f64 {
    inserted().filter(|id| !history.contains(id)).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structures::STRUCTURES;

    #[test]
    fn only_structures_that_err_lose_items_by_deletions_of_others() {
        for structure in STRUCTURES {
            let Some(deletion) = measure(structure).expect("figures") else {
                continue;
            };
            let errs = structure.name != "exact list";
            assert_eq!(deletion.claimed > 0.0, errs, "{}: {deletion:?}", structure.name);
            assert!(deletion.blind <= deletion.claimed, "{}: {deletion:?}", structure.name);
        }
    }
}
