//! Whether the storage works: what is wrong is told once until it works again, and is tried again meanwhile.

use super::random::Random;

const FIRST_RETRY_MS: u64 = 1_000;
const LAST_RETRY_MS: u64 = 60_000;

/// What is wrong with a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It does not answer, or answers with errors.
    Unavailable,
    /// There is no room.
    Full,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    trouble: Option<Trouble>,
    /// In a row.
    failures: u32,
    /// Nothing is tried before this time of the steady clock, unless it is hurried.
    retry_ms: u64,
    is_hurried: bool,
}

impl Health {
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    pub(super) fn retry_ms(&self) -> u64 {
        if self.is_hurried { 0 } else { self.retry_ms }
    }

    /// Notes what is wrong. Returns whether that is to be told.
    pub(super) fn note(&mut self, trouble: Trouble) -> bool {
        self.trouble.replace(trouble) != Some(trouble)
    }

    /// Waits before the next attempt: twice as long after each failure, with jitter. An attempt that was hurried changes
    /// nothing about the next.
    pub(super) fn back_off(&mut self, now_ms: u64, random: &mut Random) {
        if std::mem::take(&mut self.is_hurried) && now_ms < self.retry_ms {
            return;
        }
        let wait = (FIRST_RETRY_MS << self.failures.min(16)).min(LAST_RETRY_MS);
        self.failures += 1;
        self.retry_ms = now_ms + wait / 2 + random.below(wait / 2);
    }

    /// What is new is tried at once.
    pub(super) fn try_now(&mut self) {
        self.is_hurried = true;
    }

    /// An operation succeeded.
    pub(super) fn succeed(&mut self, shows_room: bool) {
        if shows_room || self.trouble != Some(Trouble::Full) {
            *self = Health::default();
        }
    }
}
