//! A device's storage: keys and texts, as IndexedDB, localStorage or a storage of the app's own keeps them.

use std::collections::BTreeMap;

use seenguard::{Operation, Outcome};

/// A text, and when it was written, counted by the store.
#[derive(Debug)]
struct Value {
    text: String,
    tick: u64,
    /// What it was before it was damaged, while a page is open that may have read that.
    undamaged: Option<String>,
}

impl Value {
    fn as_written(&self) -> &str {
        self.undamaged.as_ref().unwrap_or(&self.text)
    }
}

#[derive(Debug, Default)]
pub struct Store {
    values: BTreeMap<String, Value>,
    /// Counts what was done: what has a higher tick was done later.
    pub tick: u64,
    /// Bytes of all segments, with their keys, and the most that there ever were.
    pub bytes: usize,
    pub most_bytes: usize,
    /// The segment that was removed last, and the snapshot that another one took the place of.
    removed: Option<(String, String)>,
    replaced: Option<(String, String)>,
    pub is_full: bool,
}

pub fn is_segment(key: &str) -> bool {
    key.contains("/s/")
}

pub fn is_snapshot(key: &str) -> bool {
    key.contains("/h/")
}

pub fn is_stash(key: &str) -> bool {
    key.starts_with("seenguard-stash/")
}

/// The level of a segment, as its key has it.
pub fn level_of(key: &str) -> Option<&str> {
    key.split_once("/s/")?.1.split('/').next()
}

impl Store {
    /// Performs an operation at once.
    pub fn perform(&mut self, operation: &Operation) -> Outcome {
        self.tick += 1;
        match operation {
            Operation::Wait { .. } => panic!("storage: there is nothing to perform"),
            Operation::List(prefixes) => {
                let is_meant = |key: &&String| prefixes.iter().any(|prefix| key.starts_with(prefix));
                Outcome::Keys(self.values.keys().filter(is_meant).cloned().collect())
            }
            Operation::Read(keys) => {
                let text_of = |key: &String| Some((key.clone(), self.read(key)?.to_owned()));
                Outcome::Texts(keys.iter().filter_map(text_of).collect())
            }
            Operation::Write { key, text } => {
                self.put(key, text.clone());
                Outcome::Done
            }
            Operation::Remove { keys, only_if } => {
                for key in keys {
                    if only_if.is_none() || self.read(key) == only_if.as_deref() {
                        self.remove(key);
                    }
                }
                Outcome::Done
            }
        }
    }

    pub fn read(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|value| value.text.as_str())
    }

    /// What was written under a key, if it was damaged while a page was open that may have read it before.
    pub fn read_undamaged(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(Value::as_written)
    }

    /// No page is open that has read anything.
    pub fn forget_undamaged(&mut self) {
        self.values.values_mut().for_each(|value| value.undamaged = None);
    }

    pub fn put(&mut self, key: &str, text: String) {
        self.tick += 1;
        let tick = self.tick;
        let size = key.len() + text.len();
        let undamaged = None;
        let before = self.values.insert(key.to_owned(), Value { text, tick, undamaged });
        if is_snapshot(key) {
            self.replaced = before.map(|before| (key.to_owned(), before.text));
        } else if is_segment(key) {
            self.bytes += size - before.as_ref().map_or(0, |before| key.len() + before.text.len());
            self.most_bytes = self.most_bytes.max(self.bytes);
            let is_the_same = before.is_none_or(|before| Some(before.as_written()) == self.read(key));
            assert!(is_the_same, "storage: a segment is written once");
        }
    }

    fn remove(&mut self, key: &str) {
        let Some(Value { text, .. }) = self.values.remove(key) else {
            return;
        };
        if is_segment(key) {
            self.bytes -= key.len() + text.len();
            self.removed = Some((key.to_owned(), text));
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.values.keys()
    }

    /// What was written by then and is still there.
    pub fn written_by(&self, tick: u64) -> impl Iterator<Item = (&str, &str)> {
        let old = self.values.iter().filter(move |(_, value)| value.tick <= tick);
        old.map(|(key, value)| (key.as_str(), value.text.as_str()))
    }

    /// How many segments there are of the level of this one.
    pub fn segments_like(&self, key: &str) -> usize {
        self.keys().filter(|other| level_of(other) == level_of(key)).count()
    }

    /// A segment that was removed is there again, as after a write that was on its way.
    pub fn bring_back(&mut self) {
        if let Some((key, text)) = self.removed.take() {
            self.put(&key, text);
        }
    }

    /// A snapshot that another one took the place of is there again.
    pub fn roll_back(&mut self) {
        if let Some((key, text)) = self.replaced.take() {
            self.put(&key, text);
        }
    }

    pub fn lose(&mut self, key: &str) {
        self.values.remove(key);
    }

    /// Puts another character in place of one of a text's, or has it be of a newer version.
    pub fn damage(&mut self, key: &str, place: Option<usize>) {
        let Some(Value { text, undamaged, .. }) = self.values.get_mut(key) else {
            return;
        };
        undamaged.get_or_insert_with(|| text.clone());
        let Some(place) = place.map(|place| place % text.len()) else {
            *text = text.replacen("SGI1", "SGI2", 1);
            return;
        };
        let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
        text.replace_range(place..=place, other);
    }
}
