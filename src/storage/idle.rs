//! Removing namespaces that nobody uses any more, such as those of people who have signed out: one that was found idle
//! for its window on two openings of any namespace at least a day apart. An opening by a clock that has jumped does not
//! count: the last opening of any namespace must be less than the window ago, and the clock must agree with the time
//! that has passed since the document began.
//!
//! The note of a namespace's last use is `<day>/<window in days>`, in days since 1970; once it was found idle, with
//! `/<day>` of that. Numbers are to the base 36.

use super::names::{LAST_OPENED, last_use_of, namespace_of, signal_of};
use super::operation::Operation;
use crate::base36::{base36, from_base36};

const DAY_MS: u64 = 86_400_000;
/// Clocks that are set right move by less.
const JUMP_MS: u64 = 3_600_000;

/// The note that a namespace is used today.
pub(super) fn use_note(wall_ms: u64, window_ms: u64) -> String {
    join(&[wall_ms / DAY_MS, window_ms.div_ceil(DAY_MS)])
}

fn join(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(|&number| base36(number)).collect();
    texts.join("/")
}

/// The numbers in a note; 0 for what is none.
fn numbers_in(note: &str) -> Vec<u64> {
    let parts = note.as_bytes().split(|&byte| byte == b'/');
    parts.map(|part| from_base36(part).unwrap_or(0)).collect()
}

/// The namespaces in a listing of all keys, but for one's own, as keys have them.
fn others_in<'a>(keys: &'a [String], own: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in keys.iter().filter_map(|key| namespace_of(key)) {
        if name != own && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What an opening reads of the other namespaces; nothing on a device with one, which has nothing to compare.
pub(super) fn to_read(keys: &[String], own: &str) -> Vec<String> {
    let mut to_read: Vec<String> = others_in(keys, own).into_iter().map(last_use_of).collect();
    if !to_read.is_empty() || keys.iter().any(|key| key == LAST_OPENED) {
        to_read.push(LAST_OPENED.to_owned());
    }
    to_read
}

/// What an opening knows of the time.
pub(super) struct Today {
    pub(super) wall_ms: u64,
    /// Of the namespace that is opened.
    pub(super) window_ms: u64,
    /// Whether the clock was set since the document began.
    pub(super) has_jumped: bool,
}

impl Today {
    /// `undisturbed_ms`: what the clock would say had nobody set it.
    pub(super) fn new(wall_ms: u64, window_ms: u64, undisturbed_ms: Option<u64>) -> Self {
        Today {
            wall_ms,
            window_ms,
            has_jumped: undisturbed_ms.is_some_and(|undisturbed| wall_ms.abs_diff(undisturbed) > JUMP_MS),
        }
    }

    /// What is to be done with the other namespaces, by what was read: those that are idle are marked, and those that
    /// were marked a day ago or earlier removed.
    pub(super) fn clean_up(&self, keys: &[String], own: &str, read: &[(String, String)]) -> Vec<Operation> {
        let text_of = |key: &str| {
            read.iter()
                .find(|(found, _)| found == key)
                .map(|(_, text)| text.as_str())
        };
        let opened_ms = text_of(LAST_OPENED).and_then(|text| from_base36(text.as_bytes()));
        let since_ms = opened_ms.and_then(|opened| self.wall_ms.checked_sub(opened));
        let mut operations = Vec::new();
        if since_ms.is_none_or(|since| since >= JUMP_MS) {
            operations.push(write(LAST_OPENED.to_owned(), base36(self.wall_ms)));
        }
        let counts = since_ms.is_some_and(|since| since < self.window_ms) && !self.has_jumped;
        for name in others_in(keys, own) {
            let note = text_of(&last_use_of(name)).unwrap_or_default();
            operations.extend(self.judge(name, note, counts, keys));
        }
        operations
    }

    /// Marks or removes one namespace if it is idle. `counts`: whether the clock can be believed.
    fn judge(&self, name: &str, note: &str, counts: bool, keys: &[String]) -> Option<Operation> {
        let today = self.wall_ms / DAY_MS;
        let note_key = last_use_of(name);
        let (day, window_days, found_idle) = match numbers_in(note)[..] {
            [day, window_days] => (day, window_days, None),
            [day, window_days, found] => (day, window_days, Some(found)),
            // Nothing tells how old it is: its time begins now.
            _ => return Some(write(note_key, use_note(self.wall_ms, self.window_ms))),
        };
        if today <= day.saturating_add(window_days) {
            return found_idle.map(|_| write(note_key, join(&[day, window_days])));
        }
        if !counts {
            return None;
        }
        match found_idle.filter(|&found| found <= today) {
            None => Some(write(note_key, join(&[day, window_days, today]))),
            // Two days with one between them: at least a day has passed, whatever hours they were.
            Some(found) if today > found + 1 => {
                let its_own = keys.iter().filter(|key| namespace_of(key) == Some(name));
                let keys = its_own.cloned().chain([signal_of(name)]).collect();
                Some(Operation::Remove { keys, only_if: None })
            }
            Some(_) => None,
        }
    }
}

fn write(key: String, text: String) -> Operation {
    Operation::Write { key, text }
}
