//! localStorage: each process has a copy, which hears of what others change late and in order.

use std::collections::BTreeMap;

#[derive(Debug)]
struct Change {
    key: String,
    before: Option<String>,
    after: Option<String>,
    process: usize,
    /// When it reaches other processes.
    due_ms: u64,
}

/// What a `storage` event tells: the key, what was there, and what is.
pub struct StorageEvent {
    pub key: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Default)]
pub struct LocalStorage {
    values: BTreeMap<String, String>,
    changes: Vec<Change>,
    pub is_full: bool,
}

/// What one process has of it.
#[derive(Debug, Clone)]
pub struct Copy {
    pub values: BTreeMap<String, String>,
    process: usize,
    /// How many changes have reached it.
    heard: usize,
}

impl Copy {
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let keys = self.values.keys().filter(|key| key.starts_with(prefix));
        keys.cloned().collect()
    }
}

impl LocalStorage {
    /// The copy of a process that begins.
    pub fn copy(&self, process: usize) -> Copy {
        Copy {
            values: self.values.clone(),
            process,
            heard: self.changes.len(),
        }
    }

    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    /// A process sets a value or removes it; others hear of it at `due_ms`. Whether there was room.
    pub fn set(&mut self, copy: &mut Copy, key: &str, after: Option<String>, due_ms: u64) -> bool {
        if after.is_some() && self.is_full {
            return false;
        }
        let before = put(&mut copy.values, key, after.clone());
        put(&mut self.values, key, after.clone());
        if before != after {
            self.changes.push(Change {
                key: key.to_owned(),
                before,
                after,
                process: copy.process,
                due_ms,
            });
        }
        true
    }

    /// When the next change reaches a process.
    pub fn next_ms(&self, copy: &Copy) -> Option<u64> {
        let mut changes = self.changes[copy.heard..].iter();
        changes
            .find(|change| change.process != copy.process)
            .map(|change| change.due_ms)
    }

    /// The next change reaches a process. Of a key that it has changed itself since, it sees no other value.
    pub fn hear(&self, copy: &mut Copy) -> Option<StorageEvent> {
        loop {
            let change = self.changes.get(copy.heard)?;
            copy.heard += 1;
            if change.process == copy.process {
                continue;
            }
            let mut later = self.changes[copy.heard..].iter();
            if !later.any(|later| later.process == copy.process && later.key == change.key) {
                put(&mut copy.values, &change.key, change.after.clone());
            }
            return Some(StorageEvent {
                key: change.key.clone(),
                before: change.before.clone(),
                after: change.after.clone(),
            });
        }
    }

    /// A page that was frozen sees what is there now, and heard of nothing.
    pub fn catch_up(&self, copy: &mut Copy) {
        *copy = self.copy(copy.process);
    }
}

fn put(values: &mut BTreeMap<String, String>, key: &str, text: Option<String>) -> Option<String> {
    match text {
        Some(text) => values.insert(key.to_owned(), text),
        None => values.remove(key),
    }
}
