//! Tabs store through the bag: saves that fail, or are confirmed late and in any order; loads that read some of the
//! rows, in any order; compactions that die half-way; clears that tabs read late.

use std::collections::BTreeSet;

use seenguard::device::{Due, Mark, Source};

use super::bag::{Bag, Row};
use super::chance::Chance;
use super::device::Device;
use super::items::Item;
use super::ledger::Ledger;
use super::tab::{Change, Save, Tab, Urgency};
use super::world::Scene;

/// Most recordings of a row.
const ROW: usize = 1_000;

impl Device {
    fn written(&self, tab: usize, text: String, of: &BTreeSet<Item>, scene: &Scene<'_>) -> Row {
        Row::written(text, &self.tabs[tab], of.iter().copied(), &self.ledger, scene.items)
    }

    fn put(&mut self, generation: usize, row: Row) -> usize {
        self.rows += 1;
        self.bags[generation].rows.insert(self.rows, row);
        self.rows
    }

    /// A tab begins to write unsaved changes: all of them again, or those after the saves in progress.
    pub fn save(&mut self, tab: usize, due: Due, scene: &mut Scene<'_>) {
        let time = self.time(scene.now);
        let page = &self.tabs[tab];
        let latest = page.saves.last().filter(|_| scene.random.percent(50));
        let (mut mark, since) = latest.map_or((Mark::default(), 0), |save| (save.mark, save.changes));
        let is_due = |change: &&Change| {
            let is_in_time = match change.urgency {
                Urgency::Now => true,
                Urgency::Later => due == Due::All,
                Urgency::Maybe => false,
            };
            is_in_time && change.serial > since && page.must_have_change(&self.ledger, change)
        };
        let mut missing: BTreeSet<Item> = page.unsaved.iter().filter(is_due).map(|change| change.item).collect();
        let lacks_facts = latest.is_none() && due == Due::Facts && page.lacks_stored_facts();
        let of: BTreeSet<Item> = page.unsaved.iter().map(|change| change.item).collect();
        let mut rows = 0;
        while let Some((text, next)) = self.tabs[tab].guard.unsaved(mark, due, time) {
            assert!(next > mark, "saved: each mark is above the one before");
            let row = self.written(tab, text, &of, scene);
            let items = row.items(&self.ledger);
            assert!(items.len() <= ROW, "limits: {} recordings in a row", items.len());
            missing.retain(|item| items.binary_search(item).is_err());
            let is_in_bag = scene.random.percent(30);
            if is_in_bag {
                let generation = self.tabs[tab].generation;
                self.put(generation, row.clone());
            }
            let page = &mut self.tabs[tab];
            let changes = page.changes;
            page.saves.push(Save {
                mark: next,
                row,
                changes,
                is_in_bag,
            });
            (mark, rows) = (next, rows + 1);
        }
        let page = &self.tabs[tab];
        let details = |item: &Item| {
            let changes: Vec<_> = page.unsaved.iter().filter(|change| change.item == *item).collect();
            (changes, page.known_of(&self.ledger, *item).collect::<Vec<_>>())
        };
        assert!(
            missing.is_empty(),
            "saved: a save {due:?} after {since} leaves out {:?}",
            missing.iter().map(details).collect::<Vec<_>>()
        );
        assert!(rows > 0 || !lacks_facts, "saved: facts that are not stored are not due");
        if rows > 1 {
            scene.tally.reach("a save takes several rows");
        }
    }

    /// Some save of a tab ends: it is confirmed, or reported as failed although it may have been done.
    pub fn end_save(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        if page.saves.is_empty() {
            return;
        }
        // Half of the time the first: none waits for long.
        let index = if scene.random.percent(50) {
            0
        } else {
            scene.random.index(page.saves.len())
        };
        let save = page.saves.remove(index);
        if !scene.is_well && scene.random.percent(scene.conditions.failing_percent) {
            scene.tally.reach("a save fails");
            return self.abandon(tab, save, scene);
        }
        let Save {
            mark,
            row,
            changes,
            is_in_bag,
        } = save;
        page.guard.saved(mark);
        page.knows_stored(row.facts);
        let items = row.items(&self.ledger);
        let is_saved = |change: &Change| change.serial <= changes && items.binary_search(&change.item).is_ok();
        page.unsaved.retain(|change| !is_saved(change));
        if page
            .unsaved
            .iter()
            .any(|change| items.binary_search(&change.item).is_ok())
        {
            scene.tally.reach("a recording changes while it is saved");
        }
        if !is_in_bag {
            let generation = page.generation;
            let serial = self.put(generation, row);
            self.tabs[tab].rows.insert(serial);
        }
    }

    fn abandon(&mut self, tab: usize, save: Save, scene: &mut Scene<'_>) {
        if !save.is_in_bag && scene.random.percent(50) {
            self.put(self.tabs[tab].generation, save.row);
        }
    }

    /// Everything that a tab has is saved.
    pub fn flush(&mut self, tab: usize, scene: &mut Scene<'_>) {
        for due in [Due::All, Due::Facts] {
            self.save(tab, due, scene);
            while !self.tabs[tab].saves.is_empty() {
                self.end_save(tab, scene);
            }
        }
    }

    /// A tab writes its stash, which replaces the former one.
    pub fn stash(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let time = self.time(scene.now);
        let characters = *scene.random.pick(&[500, 5_000, 200_000]);
        let page = &mut self.tabs[tab];
        let text = page.guard.unsaved_within(characters, time);
        let page = &self.tabs[tab];
        let of: BTreeSet<Item> = page.unsaved.iter().map(|change| change.item).collect();
        let stash = text.map(|text| self.written(tab, text, &of, scene));
        let items = stash.as_ref().map(|row| row.items(&self.ledger)).unwrap_or_default();
        let length = stash.as_ref().map_or(0, |row| row.text.len());
        assert!(
            length <= characters,
            "limits: a stash of {length} characters, not {characters}"
        );
        let is_newest = |change: &&Change| {
            let is_last = change.recording + 1 == self.ledger.recordings.len();
            let is_own = self.ledger.recordings[change.recording].author == page.serial;
            is_last && is_own && change.urgency == Urgency::Now
        };
        let newest = page.unsaved.last().filter(is_newest);
        let newest = newest.filter(|change| page.must_have_change(&self.ledger, change));
        let has_room = |change: &&Change| 2 * scene.items.text(change.item).len() + 200 < characters;
        let left_out = newest.filter(has_room).filter(|change| !items.contains(&change.item));
        assert!(left_out.is_none(), "stash: the newest is left out, {left_out:?}");
        self.rows += 1;
        let stashes = &mut self.bags[page.generation].stashes;
        match stash {
            Some(row) => drop(stashes.insert(page.serial, (self.rows, row))),
            None => drop(stashes.remove(&page.serial)),
        }
    }

    /// A tab reads the stashes and the rows that it has not read before, or some of them; a few twice.
    pub fn load(&mut self, tab: usize, is_whole: bool, scene: &mut Scene<'_>) {
        if self.tabs[tab].generation < self.generation() {
            self.learn(tab, !self.tabs[tab].has_merged, scene);
        }
        let page = &self.tabs[tab];
        let (bag, is_first) = (&self.bags[page.generation], !page.is_loaded);
        let source = if is_first { Source::Found } else { Source::Row };
        let others = bag.stashes.iter().filter(|(tab, _)| **tab != page.serial);
        let stashes = others.map(|(_, (serial, row))| (serial, row, Source::Stash));
        let rows = stashes.chain(bag.rows.iter().map(|(serial, row)| (serial, row, source)));
        let twice = if scene.is_well { 0 } else { 5 };
        let rows = rows.filter(|(serial, ..)| !page.rows.contains(serial) || scene.random.percent(twice));
        let mut rows: Vec<(usize, Row, Source)> = rows
            .map(|(&serial, row, source)| (serial, row.clone(), source))
            .collect();
        while !rows.is_empty() {
            if !is_whole && scene.random.percent(10) {
                return;
            }
            let (serial, row, source) = rows.swap_remove(scene.random.index(rows.len()));
            self.merge(tab, &row, source, scene);
            self.tabs[tab].rows.insert(serial);
        }
        if is_first {
            self.tabs[tab].guard.loaded();
            self.tabs[tab].is_loaded = true;
        }
        self.remove_stashes(tab, scene);
    }

    fn merge(&mut self, tab: usize, row: &Row, source: Source, scene: &mut Scene<'_>) {
        let page = &mut self.tabs[tab];
        if scene.random.percent(3) {
            let damaged = row.damaged(scene.random.next() as usize);
            assert!(
                page.guard.merge_row(&damaged, source).is_none(),
                "rows: damage is noticed"
            );
            scene.tally.reach("a damaged row is refused");
        }
        let items = row.items(&self.ledger);
        let count = page.guard.merge_row(&row.text, source);
        assert_eq!(count, Some(items.len()), "rows: all of it is read");
        let news: Vec<Item> = items
            .iter()
            .copied()
            .filter(|item| page.is_news(row, &self.ledger, *item))
            .collect();
        page.has_merged = true;
        page.learn(row);
        if source != Source::Stash {
            return page.knows_stored(row.facts);
        }
        for item in items {
            let urgency = if news.contains(&item) {
                Urgency::Now
            } else {
                Urgency::Maybe
            };
            page.changed(&self.ledger, item, urgency);
        }
        scene.tally.reach("a stash is read");
    }

    /// A tab removes the stashes of others of which it has nothing unsaved: then all of it is stored.
    fn remove_stashes(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let page = &self.tabs[tab];
        let bag = &self.bags[page.generation];
        let others = bag.stashes.iter().filter(|(serial, _)| **serial != page.serial);
        let stored: Vec<usize> = others
            .filter(|(_, (_, row))| !page.guard.has_unsaved(&row.text))
            .map(|(&serial, _)| serial)
            .collect();
        for serial in stored {
            let (_, stash) = &self.bags[page.generation].stashes[&serial];
            let deletion = page.stored.map_or(0, |stored| stored.floor.before);
            assert!(
                stash.facts.floor.before <= deletion,
                "stash: a deletion of the history is removed, and not saved"
            );
            for item in stash.items(&self.ledger) {
                let is_unsaved = |change: &&Change| change.item == item && change.urgency == Urgency::Now;
                let mut unsaved = page.unsaved.iter().filter(is_unsaved);
                let has_unsaved = unsaved.any(|change| page.must_have_change(&self.ledger, change));
                assert!(!has_unsaved, "stash: {item:?} is removed, and not saved");
            }
            self.bags[page.generation].stashes.remove(&serial);
            scene.tally.reach("a stash is removed");
        }
    }

    /// A tab replaces some rows by new ones; it may die before it has removed the former ones, or has written any.
    pub fn compact(&mut self, tab: usize, scene: &mut Scene<'_>) {
        let generation = self.tabs[tab].generation;
        let mut read: Vec<usize> = self.bags[generation].rows.keys().copied().collect();
        read.retain(|_| scene.random.percent(60));
        if read.is_empty() || !self.tabs[tab].is_loaded {
            return;
        }
        let rows: Vec<Row> = read
            .iter()
            .map(|serial| self.bags[generation].rows[serial].clone())
            .collect();
        let of: BTreeSet<Item> = rows.iter().flat_map(|row| row.items(&self.ledger)).collect();
        let page = &mut self.tabs[tab];
        let texts = page.guard.rewrite(rows.iter().map(|row| row.text.as_str()));
        for row in &rows {
            page.learn(row);
            page.knows_stored(row.facts);
        }
        let mut missing = of.clone();
        let mut written = Vec::new();
        for text in texts {
            let row = self.written(tab, text, &of, scene);
            let items = row.items(&self.ledger);
            assert!(items.len() <= ROW, "limits: {} recordings in a row", items.len());
            missing.retain(|item| items.binary_search(item).is_err());
            written.push(row);
        }
        let page = &self.tabs[tab];
        missing.retain(|&item| page.must_have(&self.ledger, item));
        assert!(missing.is_empty(), "lost: a compaction leaves out {missing:?}");
        assert!(
            written.len() <= 1 + of.len().div_ceil(ROW),
            "limits: {} rows",
            written.len()
        );
        scene.tally.reach("rows are compacted");
        if scene.random.percent(10) {
            return;
        }
        for row in written {
            let serial = self.put(generation, row);
            self.tabs[tab].rows.insert(serial);
        }
        if scene.random.percent(85) {
            read.iter()
                .for_each(|serial| drop(self.bags[generation].rows.remove(serial)));
        }
    }

    /// A tab clears the namespace; others read that later.
    pub fn clear(&mut self, tab: usize, scene: &mut Scene<'_>) {
        self.bags.push(Bag::default());
        self.learn(tab, false, scene);
        scene.tally.reach("a namespace is cleared");
    }

    /// A tab reads a clear: its data is dropped. `keeps`: in its first load, its own recordings stay.
    pub fn learn(&mut self, tab: usize, keeps: bool, scene: &mut Scene<'_>) {
        let generation = self.generation();
        let mut page = self.tabs.swap_remove(tab);
        let known: Vec<usize> = page.known.keys().copied().collect();
        page.guard.reset(keeps);
        let mut page = page.reset(generation, self.ledger.recordings.len());
        if keeps {
            scene
                .tally
                .reach("what a tab recorded before its first load outlives a clear");
            page.since = known.first().copied().unwrap_or(page.since);
            page.flights
                .iter_mut()
                .for_each(|flight| flight.generation = generation);
            for index in known {
                page.known.insert(index, Default::default());
                page.changed(&self.ledger, self.ledger.recordings[index].item, Urgency::Now);
            }
        } else if self.opened > 1 {
            scene.tally.reach("a tab learns of a clear");
        }
        self.tabs.push(page);
        let last = self.tabs.len() - 1;
        self.tabs.swap(tab, last);
    }

    /// A page ends: after it has saved everything, while it hides, or in the midst of whatever it did.
    pub fn close(&mut self, tab: usize, is_in_peace: bool, scene: &mut Scene<'_>) {
        if is_in_peace {
            self.flush(tab, scene);
            self.bags[self.tabs[tab].generation]
                .stashes
                .remove(&self.tabs[tab].serial);
        } else if scene.random.percent(50) {
            self.stash(tab, scene);
            self.save(tab, Due::All, scene);
        }
        let saves = std::mem::take(&mut self.tabs[tab].saves);
        if !saves.is_empty() {
            scene.tally.reach("a tab dies while it saves");
        }
        for save in saves {
            self.abandon(tab, save, scene);
        }
        self.tabs.remove(tab);
    }
}

impl Tab {
    /// Whether a row has a later recording of an item than any that this tab knows.
    fn is_news(&self, row: &Row, ledger: &Ledger, item: Item) -> bool {
        let all = || ledger.of(item).map(|(index, _)| index);
        let mut known = all().filter(|index| self.known.contains_key(index) || row.contains.contains_key(index));
        let latest = all().rfind(|index| row.contains.contains_key(index) && !self.known.contains_key(index));
        latest.is_some_and(|latest| known.all(|index| index == latest || ledger.replaces(latest, index)))
    }

    /// Whether the store is not known to have a fact that this tab knows.
    fn lacks_stored_facts(&self) -> bool {
        self.stored.is_none_or(|stored| {
            stored.floor.before < self.facts.floor.before || (self.facts.reports && !stored.reports)
        })
    }
}
