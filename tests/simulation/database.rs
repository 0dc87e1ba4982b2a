//! What is stored by keys: IndexedDB with its transactions, or a store of the app's own without them.

use std::collections::BTreeMap;

use super::tab::PREFIX;

/// A transaction: those that write are alone, in the order in which they were begun.
#[derive(Debug)]
struct Lock {
    number: u64,
    writes: bool,
}

#[derive(Debug, Default)]
pub struct Database {
    values: BTreeMap<String, String>,
    /// The transactions that are under way, in the order in which they were begun.
    locks: Vec<Lock>,
    begun: u64,
    pub is_full: bool,
    /// Characters that were ever written into rows.
    pub written: usize,
    /// The row that was deleted last.
    deleted: Option<(String, String)>,
}

pub fn is_row(key: &str) -> bool {
    key.contains("/r/")
}

impl Database {
    /// Begins a transaction.
    pub fn begin(&mut self, writes: bool) -> u64 {
        self.begun += 1;
        let number = self.begun;
        self.locks.push(Lock { number, writes });
        number
    }

    /// Whether the requests of a transaction are performed: no other one that was begun before it is in its way.
    pub fn may_run(&self, transaction: u64) -> bool {
        let mut before = self.locks.iter().take_while(|lock| lock.number != transaction);
        let own = self.locks.iter().find(|lock| lock.number == transaction);
        own.is_none_or(|own| before.all(|lock| !lock.writes && !own.writes))
    }

    /// Whether a transaction that writes could run at once.
    pub fn is_idle(&self) -> bool {
        self.locks.is_empty()
    }

    pub fn end(&mut self, transaction: u64) {
        self.locks.retain(|lock| lock.number != transaction);
    }

    pub fn keys(&self, prefix: &str) -> impl Iterator<Item = &String> {
        self.values.keys().filter(move |key| key.starts_with(prefix))
    }

    pub fn read(&self, key: &str) -> Option<&String> {
        self.values.get(key)
    }

    /// Puts or deletes a value. Returns what was there.
    pub fn set(&mut self, key: &str, text: Option<String>) -> Option<String> {
        match text {
            Some(text) => {
                if is_row(key) {
                    self.written += text.len();
                }
                self.values.insert(key.to_owned(), text)
            }
            None => {
                let before = self.values.remove(key);
                if let Some(text) = before.clone().filter(|_| is_row(key) && key.starts_with(PREFIX)) {
                    self.deleted = Some((key.to_owned(), text));
                }
                before
            }
        }
    }

    /// Characters of all rows, with their keys.
    pub fn bytes(&self) -> usize {
        let rows = self.values.iter().filter(|(key, _)| is_row(key));
        rows.map(|(key, text)| key.len() + text.len()).sum()
    }

    /// The row that was deleted last is there again, as after a put that was on its way.
    /// Returns its key.
    pub fn bring_back(&mut self) -> Option<String> {
        let (key, text) = self.deleted.take()?;
        self.values.insert(key.clone(), text);
        Some(key)
    }

    /// Puts another character in place of one of a text's.
    pub fn damage(&mut self, key: &str, place: usize) {
        if let Some(text) = self.values.get_mut(key).filter(|text| !text.is_empty()) {
            let place = place % text.len();
            let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
            text.replace_range(place..=place, other);
        }
    }
}
