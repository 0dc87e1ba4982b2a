//! What an instance of the module has one of.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

/// A thing that is lent to one call at a time. Nothing checks that, which would be code at each place: the module has one thread and imports nothing,
/// so that a call into it ends before the next one begins; and no call asks for a thing that it has.
pub(super) struct Single<T>(UnsafeCell<T>);

// SAFETY: the module has one thread.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    pub(super) const fn new(thing: T) -> Self {
        Single(UnsafeCell::new(thing))
    }

    /// Lends the thing to `run`, which must not ask for it again.
    pub(super) fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: nobody else has it meanwhile, as said above.
        unsafe { run(&mut *self.0.get()) }
    }
}
