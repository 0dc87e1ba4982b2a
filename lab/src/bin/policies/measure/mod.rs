//! What a structure does: what it remembers, what it claims falsely, what a deletion does to it, what it takes.

mod deletion;
mod memory;
mod size;

use seenguard_lab::report::Result;
use serde::{Deserialize, Serialize};

use crate::structures::Structure;

pub use deletion::Deletion;
pub use memory::{Memory, STEP};
pub use size::Size;

/// Persons whose traces each structure lives through.
pub const PERSONS: u64 = 24;

/// All that is the same in each run of a seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figures {
    pub name: String,
    pub memory: Memory,
    pub size: Size,
    /// `None` for a structure that cannot delete.
    pub deletion: Option<Deletion>,
}

/// Measures one structure; `on_person` is called after each trace.
///
/// # Errors
/// Of the structure.
pub fn measure(structure: Structure, seed: u64, on_person: impl Fn()) -> Result<Figures> {
    let mut memory = memory::Observer::default();
    for person in 0..PERSONS {
        memory.observe(&mut *(structure.new)()?, seed, person)?;
        on_person();
    }
    let memory = memory.finish();
    Ok(Figures {
        name: structure.name.into(),
        size: size::measure(structure, memory.stored_bytes, memory.mean_reach)?,
        deletion: deletion::measure(structure)?,
        memory,
    })
}
