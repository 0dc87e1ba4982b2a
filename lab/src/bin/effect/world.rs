//! Runs many simulations on all processors: each cell is one remedy under one condition.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use seenguard_lab::Result;

use crate::life::Life;
use crate::measure::{Counts, Figures};
use crate::page::Seen;
use crate::people::Habits;
use crate::recall::{Supply, mix};
use crate::remedies::Kind;
use crate::stream::Condition;

/// A remedy under a condition.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub condition: Condition,
    pub kind: Kind,
    pub seen: Seen,
}

/// The people's habits and their supply of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct World {
    pub habits: Habits,
    pub supply: Supply,
}

impl World {
    /// Measures each cell with this number of people. All cells have the same people with the same days.
    pub fn measure(&self, cells: &[Cell], people: usize, seed: u64) -> Result<Vec<Figures>> {
        let next = AtomicUsize::new(0);
        let live = || -> Result<Vec<(usize, Vec<Counts>)>> {
            let mut lived = Vec::new();
            loop {
                let person = next.fetch_add(1, Ordering::Relaxed);
                if person >= people {
                    return Ok(lived);
                }
                let life = Life::new(&self.habits, &self.supply, mix(seed).wrapping_add(person as u64))?;
                let counts = cells.iter().map(|cell| life.live(cell.condition, cell.kind, cell.seen));
                lived.push((person, counts.collect::<Result<_>>()?));
            }
        };
        let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let lived: Result<Vec<_>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(live)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().map_err(|_| "a thread panicked")?)
                .collect()
        });
        let mut lived: Vec<(usize, Vec<Counts>)> = lived?.into_iter().flatten().collect();
        lived.sort_by_key(|(person, _)| *person);
        let of_cell = |cell: usize| lived.iter().map(|(_, counts)| counts[cell].clone()).collect::<Vec<_>>();
        Ok((0..cells.len()).map(|cell| Figures::of(&of_cell(cell))).collect())
    }
}
