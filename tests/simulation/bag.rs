//! Storage from the core's view: a bag of rows, which reach other tabs in any order, late and twice.

use std::collections::BTreeMap;

use seenguard::Time;
use seenguard::device::{Explanation, Source};

use super::device::new_guard;
use super::items::{Item, Items};
use super::ledger::{Ledger, What};
use super::tab::{Facts, Known, Tab};

/// A row, and the recordings that a tab must have after merging it.
#[derive(Debug, Clone)]
pub struct Row {
    pub text: String,
    pub contains: Known,
    pub facts: Facts,
}

impl Row {
    /// Reads a row that a tab has written: it contains all that the tab knows of each id in it. `of`: the items that may
    /// be in it.
    pub fn written(text: String, page: &Tab, of: impl Iterator<Item = Item>, ledger: &Ledger, items: &Items) -> Row {
        let mut reader = new_guard(36_500.0, 50_000, 0);
        let count = reader
            .merge_row(&text, Source::Row)
            .expect("rows: what was written can be read");
        let mut found = 0;
        let mut contains = Known::new();
        for item in of {
            let id = items.text(item);
            let is_seen = matches!(
                reader.explain(id, Time::default()),
                Some(Explanation::Pending { .. } | Explanation::Device { .. })
            );
            let mut known = page.known_of(ledger, item);
            let may_be_unseen = known.any(|(_, recording)| recording.what == What::Unseen);
            if is_seen || (may_be_unseen && has_id(&text, id)) {
                found += 1;
                contains.extend(
                    page.known_of(ledger, item)
                        .map(|(index, _)| (index, page.known[&index])),
                );
            }
        }
        assert_eq!(count, found, "rows: only what has changed is in one");
        let facts = page.facts;
        Row { text, contains, facts }
    }

    /// The items in it, each once.
    pub fn items(&self, ledger: &Ledger) -> Vec<Item> {
        let mut items: Vec<Item> = self
            .contains
            .keys()
            .map(|&index| ledger.recordings[index].item)
            .collect();
        items.sort_unstable();
        items.dedup();
        items
    }

    /// With one character replaced.
    pub fn damaged(&self, index: usize) -> String {
        let mut text = self.text.clone();
        let index = index % text.trim_end_matches('=').len();
        let other = if text.as_bytes()[index] == b'A' { "B" } else { "A" };
        text.replace_range(index..=index, other);
        text
    }
}

/// Whether a row has an id, seen or unseen: to a guard that has merged it, only a change of the id is unsaved.
fn has_id(row: &str, id: &str) -> bool {
    let mut guard = new_guard(36_500.0, 50_000, 0);
    guard.merge_row(row, Source::Row);
    guard.record(&[id], Time::default());
    guard.has_unsaved(row)
}

/// The rows of one generation.
#[derive(Debug, Default)]
pub struct Bag {
    /// By their serial number.
    pub rows: BTreeMap<usize, Row>,
    /// The tabs' stashes, by their serial numbers: they outlive the tabs.
    pub stashes: BTreeMap<usize, (usize, Row)>,
}
