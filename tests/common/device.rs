//! A device whose store is a bag of rows: tabs add rows, and every tab reads all of them.

use std::cell::Cell;

use seenguard::device::{DEFAULT_REMEMBER, Due, Guard, Mark, Source};

use super::{START, at};

#[derive(Debug, Default, Clone)]
pub struct Device {
    pub rows: Vec<String>,
}

thread_local! {
    /// Each guard has a seed of its own.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// A guard that has read nothing.
pub fn stored_guard() -> Guard {
    SEED.set(SEED.get() + 1);
    Guard::with_storage("home", SEED.get(), 30.0, DEFAULT_REMEMBER).unwrap()
}

impl Device {
    /// A tab merges all rows.
    pub fn load(&self, guard: &mut Guard, source: Source) {
        for row in &self.rows {
            guard.merge_row(row, source);
        }
        guard.loaded();
    }

    /// A guard of the next visit, which has loaded the stored rows.
    pub fn next_visit(&self) -> Guard {
        let mut guard = stored_guard();
        self.load(&mut guard, Source::Found);
        guard
    }
}

/// Stores the guard's unsaved rows, and confirms them to the guard.
pub fn save(guard: &mut Guard, device: &mut Device) {
    while let Some((row, mark)) = guard.unsaved(Mark::default(), Due::All, at(START)) {
        device.rows.push(row);
        guard.saved(mark);
    }
    device.load(guard, Source::Row);
}

/// The guard of the next visit, after the unsaved rows of this one were stored.
pub fn next_visit(guard: &mut Guard) -> Guard {
    let mut device = Device::default();
    save(guard, &mut device);
    device.next_visit()
}
