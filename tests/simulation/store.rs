//! A device's storage: keys and texts, as IndexedDB or a storage of the app's own keeps them. Every call is one step,
//! between any two of which a tab may die.

use std::collections::BTreeMap;

/// The storage is full.
#[derive(Debug)]
pub struct Full;

#[derive(Debug, Default)]
pub struct Store {
    texts: BTreeMap<String, String>,
    bytes: usize,
    /// The segment that was removed last.
    removed: Option<(String, String)>,
    pub is_full: bool,
    /// Characters of all segments that were ever written.
    pub written: usize,
    /// Most bytes that there ever were.
    pub most_bytes: usize,
}

impl Store {
    pub fn read(&self, key: &str) -> Option<&String> {
        self.texts.get(key)
    }

    pub fn write(&mut self, key: &str, text: String) -> Result<(), Full> {
        if self.is_full {
            return Err(Full);
        }
        if key.starts_with("s/") {
            self.written += text.len();
            self.bytes += key.len() + text.len();
            self.most_bytes = self.most_bytes.max(self.bytes);
        }
        self.texts.insert(key.to_owned(), text);
        Ok(())
    }

    pub fn remove(&mut self, key: &str) {
        if let Some(text) = self.texts.remove(key).filter(|_| key.starts_with("s/")) {
            self.bytes -= key.len() + text.len();
            self.removed = Some((key.to_owned(), text));
        }
    }

    pub fn keys(&self) -> Vec<String> {
        self.texts.keys().cloned().collect()
    }

    /// A segment that was removed is there again, as after a write that was on its way.
    pub fn bring_back(&mut self) {
        if let Some((key, text)) = self.removed.take() {
            self.bytes += key.len() + text.len();
            self.texts.insert(key, text);
        }
    }

    /// Bytes of all segments, with their keys.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts another character in place of one of a segment's.
    pub fn damage(&mut self, key: &str, place: usize) {
        if let Some(text) = self.texts.get_mut(key).filter(|text| !text.is_empty()) {
            let place = place % text.len();
            let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
            text.replace_range(place..place + 1, other);
        }
    }
}
