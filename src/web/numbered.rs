//! Things that JavaScript holds by their numbers.

use std::cell::RefCell;
use std::thread::LocalKey;

use super::batch::{Ids, with_batch};

/// Each at its number; where one was removed there is room for another.
pub(super) struct Numbered<T>(Vec<Option<T>>);

impl<T> Numbered<T> {
    pub(super) const fn new() -> Self {
        Numbered(Vec::new())
    }

    /// Returns its number.
    pub(super) fn add(&mut self, thing: T) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(number) => {
                self.0[number] = Some(thing);
                number
            }
            None => {
                self.0.push(Some(thing));
                self.0.len() - 1
            }
        }
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Some(place) = self.0.get_mut(number) {
            *place = None;
        }
    }
}

/// Calls `run` with the thing of a number, the batch's ids and where the fresh ones' indices go. Without such a thing there is no result.
pub(super) fn with_numbered<T, R>(
    things: &'static LocalKey<RefCell<Numbered<T>>>,
    number: usize,
    run: impl FnOnce(&mut T, &Ids<'_>, &mut Vec<u32>) -> R,
) -> Option<R> {
    things.with_borrow_mut(|things| {
        let thing = things.0.get_mut(number)?.as_mut()?;
        with_batch(|ids, fresh| Some(run(thing, ids, fresh)))
    })
}
