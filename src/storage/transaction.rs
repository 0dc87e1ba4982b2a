//! One transaction: the keys that it reads, writes and deletes, and its outcome.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::keys::{Letter, Meta};
use super::{FIRST_LOOK_MS, FIRST_RETRY_MS, LAST_RETRY_MS, LOOK_MS, MAX_LOCAL_ROW, MAX_LOCAL_ROWS};
use super::{LocalRow, Place, Row, Step, Storage, Timer, Transaction, Trouble};
use crate::devices::DeviceName;
use crate::guard::Guard;
use crate::table::{MAX_ROW, Rank, row};
use crate::time::Time;

/// A pass compacts small rows if there are more than this.
const MAX_SMALL_ROWS: usize = 12;
const LEAST_GROUP: usize = 8;

impl Storage {
    /// The number of the transaction that began last.
    pub fn transaction(&self) -> u32 {
        self.transactions
    }

    /// Whether a transaction is in progress.
    pub fn is_under_way(&self, id: u32) -> bool {
        self.transaction
            .as_ref()
            .is_some_and(|transaction| transaction.id == id)
    }

    /// The transaction begins in this storage: in localStorage while IndexedDB is not open.
    pub fn begin(&mut self, guard: &Guard, place: Place) {
        self.is_away = Some(place) != self.place;
        if let Some(transaction) = &mut self.transaction {
            (transaction.place, transaction.number) = (place, guard.number());
        }
    }

    /// A look or pass has found these keys of the namespace in its storage, and in localStorage beside it.
    pub fn list<'a>(
        &mut self,
        guard: &mut Guard,
        keys: impl Iterator<Item = &'a str>,
        beside: impl Iterator<Item = &'a str>,
    ) {
        let Some(is_local) = self.transaction.as_ref().map(Transaction::is_local) else {
            return;
        };
        let listed = keys.map(|key| (key, is_local)).chain(beside.map(|key| (key, true)));
        let listed: Vec<(&str, bool)> = listed.collect();
        let numbers = listed.iter().filter_map(|(key, _)| Some(self.keys.parse(key)?.0));
        let highest = numbers.max().unwrap_or(0);
        self.learn(guard, highest, !guard.table.has_looked());
        let Some(mut transaction) = self.transaction.take() else {
            return;
        };
        transaction.number = guard.number();
        let is_elsewhere = |row: &Row| !row.is_local && is_local;
        self.rows
            .retain(|row| is_elsewhere(row) || listed.contains(&(row.key.as_str(), row.is_local)));
        // The rows are read after the meta: whether impressions are delivered decides which texts are kept. Of several
        // metas, that of the place comes after those that lie beside it.
        let mut metas = Vec::new();
        let is_missing =
            |&(key, is_beside): &(&str, bool)| is_beside != is_local || key != self.keys.meta(transaction.number);
        if listed.iter().all(is_missing) {
            self.meta = None;
        }
        if transaction.step == Step::Look {
            // A signal from now on requires another look.
            self.wants_look = false;
        }
        for (key, is_beside) in listed {
            let is_beside_local = is_beside && !is_local;
            match self.keys.parse(key) {
                Some((number, _)) if number < transaction.number => {
                    self.wants_pass = true;
                    match is_beside_local {
                        true => transaction.deletions.push((key.to_owned(), true)),
                        false => transaction.deletes_below = true,
                    }
                }
                Some((_, Letter::Row(_))) => {
                    let is_known = self.rows.iter().any(|row| row.key == key && row.is_local == is_beside);
                    let is_ours = self.local.as_ref().is_some_and(|local| local.key == key);
                    // Rows of earlier visits are moved at once; those that another tab may still write, later.
                    self.wants_pass |= is_beside_local && !is_ours && (is_known || !guard.table.has_looked());
                    if !is_known && !is_ours {
                        transaction.reads.push((key.to_owned(), is_beside));
                    }
                }
                Some((_, Letter::Meta)) => {
                    self.wants_pass |= is_beside_local;
                    metas.push((key.to_owned(), is_beside));
                }
                Some((_, Letter::Snapshot)) if !guard.table.has_looked() && !guard.has_applied() => {
                    transaction.reads.push((key.to_owned(), is_beside));
                }
                _ => {}
            }
        }
        transaction.reads.extend(metas);
        self.transaction = Some(transaction);
    }

    /// The next key to read, and whether it is in localStorage. Its text goes to [`Storage::read`], except the
    /// snapshot's, whose key ends with `/h`: the guard restores it.
    pub fn next_read(&mut self) -> Option<(String, bool)> {
        let transaction = self.transaction.as_mut()?;
        transaction.read = transaction.reads.pop();
        transaction.read.clone()
    }

    /// Reads the text of that key; `None` if it was deleted.
    pub fn read(&mut self, guard: &mut Guard, text: Option<&str>) {
        let Some(transaction) = &mut self.transaction else {
            return;
        };
        let Some((key, is_local)) = transaction.read.take() else {
            return;
        };
        let is_beside = is_local && !transaction.is_local();
        match (self.keys.parse(&key), text) {
            (Some((_, Letter::Row(_))), Some(text)) => {
                self.merge(guard, key, is_local, text);
            }
            (Some((_, Letter::Row(_))), None) => transaction.has_missed = true,
            (Some((_, Letter::Meta)), Some(text)) => {
                if is_beside {
                    transaction.deletions.push((key, true));
                }
                let Some(meta) = Meta::parse(text) else { return };
                if meta.reporting {
                    guard.table.set_reporting();
                }
                if let Some(floor) = meta.floor {
                    guard.merge_floor(floor);
                }
                match meta.device_name {
                    Some(name) if !is_beside || guard.table.device_name().is_none() => guard.table.name_device(name),
                    _ => {}
                }
                if !is_beside {
                    self.meta = Some(meta);
                }
            }
            _ => {}
        }
    }

    fn merge(&mut self, guard: &mut Guard, key: String, is_local: bool, text: &str) {
        let recordings = row::read(text, !guard.table.has_looked()).unwrap_or_default();
        self.has_damage |= recordings.is_empty();
        let hashes = recordings.iter().map(|(hash, _)| *hash).collect();
        for (hash, recording) in recordings {
            guard.table.merge(hash, recording);
        }
        let length = text.len();
        self.rows.push(Row {
            key,
            is_local,
            length,
            hashes,
        });
    }

    /// Another tab has written a row into localStorage.
    pub fn merge_local(&mut self, guard: &mut Guard, key: &str, text: &str) {
        let Some((number, Letter::Row(_))) = self.keys.parse(key) else {
            return;
        };
        if self.learn(guard, number, false) {
            self.abort();
        }
        let is_known = self.rows.iter().any(|row| row.is_local && row.key == key);
        if number == guard.number() && !is_known {
            self.merge(guard, key.to_owned(), true, text);
        }
    }

    /// The next key to write, and its text.
    pub fn next_write(&mut self, guard: &Guard, now: Time) -> Option<(String, String)> {
        let mut transaction = self.transaction.take()?;
        if !transaction.is_planned && transaction.step != Step::Look {
            self.plan(&mut transaction, guard, now);
        }
        transaction.is_planned = true;
        let written = match transaction.puts.pop() {
            Some(ranks) => {
                let key = self.keys.row(transaction.number, now.unix_ms());
                let text = row::write(&guard.table, &ranks);
                transaction.rows.push(Row {
                    key: key.clone(),
                    is_local: transaction.is_local(),
                    length: text.len(),
                    hashes: ranks.iter().map(|rank| rank.hash).collect(),
                });
                Some((key, text))
            }
            None if std::mem::take(&mut transaction.puts_meta) => transaction
                .meta
                .map(|meta| (self.keys.meta(transaction.number), meta.text())),
            None => None,
        };
        self.transaction = Some(transaction);
        written
    }

    fn plan(&mut self, transaction: &mut Transaction, guard: &Guard, now: Time) {
        let is_pass = transaction.step == Step::Pass;
        let most = if is_pass || self.is_hidden { usize::MAX } else { MAX_ROW };
        let (first, unsaved) = guard.table.latest_unsaved(true, most);
        (transaction.first, transaction.last) = (first, guard.table.changes());
        let mut hashes = unsaved;
        if is_pass {
            let is_local = transaction.is_local();
            // A pass that misses a listed row only puts unsaved changes, and deletes nothing.
            let compacted = match transaction.has_missed {
                true => Vec::new(),
                false => self.to_compact(guard, is_local),
            };
            for &place in &compacted {
                hashes.extend_from_slice(&self.rows[place].hashes);
                transaction
                    .deletions
                    .push((self.rows[place].key.clone(), self.rows[place].is_local));
            }
            let mut meta = Meta::of(&guard.table, now.unix_ms());
            if self.is_meta_due(meta) {
                let random = self.random.next();
                meta.device_name.get_or_insert(DeviceName::new(&self.namespace, random));
                transaction.meta = Some(meta);
                transaction.puts_meta = true;
            }
        }
        let ranks = guard.table.ranks_of(hashes);
        transaction.puts = ranks.chunks(MAX_ROW).map(<[Rank]>::to_vec).collect();
    }

    /// The indices of the rows that a pass compacts: rows in localStorage beside IndexedDB, damaged rows, small rows if
    /// there are too many, or all rows if they hold far more recordings than the table.
    fn to_compact(&self, guard: &Guard, is_local: bool) -> Vec<usize> {
        let (mut compacted, mut in_place, mut stored) = (Vec::new(), Vec::new(), 0);
        for (place, row) in self.rows.iter().enumerate() {
            if row.is_local == is_local && !row.hashes.is_empty() {
                stored += row.hashes.len();
                in_place.push((Reverse(row.hashes.len()), place));
            } else if row.is_local || !is_local {
                compacted.push(place);
            }
        }
        let table = guard.table.len().min(guard.table.remember());
        if self.compacts_all || stored > 2 * table + MAX_ROW {
            compacted.extend(in_place.into_iter().map(|(_, place)| place));
            return compacted;
        }
        in_place.retain(|&(Reverse(size), _)| size < MAX_ROW);
        if in_place.len() > MAX_SMALL_ROWS {
            let mut smallest = BinaryHeap::from(in_place);
            let (mut count, mut taken) = (0, 0);
            while let Some((Reverse(size), place)) = smallest.pop()
                && (count < LEAST_GROUP || size <= taken)
            {
                (count, taken) = (count + 1, taken + size);
                compacted.push(place);
            }
        }
        compacted
    }

    /// The keys that a pass deletes in its storage.
    pub fn deletions(&self) -> Vec<String> {
        let Some(transaction) = &self.transaction else {
            return Vec::new();
        };
        let is_local = transaction.is_local();
        let deleted = transaction
            .deletions
            .iter()
            .filter(|(_, is_in_local)| *is_in_local == is_local);
        deleted.map(|(key, _)| key.clone()).collect()
    }

    /// A pass also deletes every key of the namespace below this one.
    pub fn deletes_below(&self) -> Option<String> {
        let transaction = self
            .transaction
            .as_ref()
            .filter(|transaction| transaction.step == Step::Pass)?;
        transaction.deletes_below.then(|| self.keys.under(transaction.number))
    }

    /// The transaction has completed. Has no effect if it is no longer in progress.
    pub fn completed(&mut self, guard: &mut Guard, id: u32, now: Time) {
        let Some(transaction) = self.transaction.take_if(|transaction| transaction.id == id) else {
            return;
        };
        if transaction.step == Step::Look {
            let has_missed_before = std::mem::replace(&mut self.has_missed, transaction.has_missed);
            if transaction.has_missed && !has_missed_before {
                // Another tab has replaced rows that were listed.
                self.wants_look = true;
                return;
            }
        }
        let is_first = !guard.table.has_looked() && matches!(transaction.step, Step::Look | Step::Pass);
        if is_first {
            guard.table.finish_look();
            // A hidden page looks only once.
            self.wants_look &= !self.is_hidden;
            let today = Meta::of(&guard.table, now.unix_ms()).day;
            self.cleans_up = self.meta.is_none_or(|meta| meta.day != today);
            self.wants_idle = self.place != Some(Place::Custom);
            self.knows_number = true;
            self.wants_pass |= !self.to_compact(guard, transaction.is_local()).is_empty();
        }
        // Neither reading nor deleting shows that there is space.
        let is_well = match transaction.step {
            Step::Look => self.trouble != Some(Trouble::Full) && (is_first || self.failures == 0),
            Step::Keep => !self.drops_snapshot,
            _ => true,
        };
        if is_well {
            (self.failures, self.trouble) = (0, None);
        }
        self.waits_to_retry &= transaction.step == Step::Look && !is_first;
        // A storage that can be written can be read.
        self.wants_look |= !guard.table.has_looked();
        match transaction.step {
            // A custom store is read only on request.
            Step::Look if self.place == Some(Place::Custom) => {}
            Step::Look => self.set_timer(Timer::Look, LOOK_MS),
            Step::Keep if self.drops_snapshot => self.drops_snapshot = false,
            Step::Keep => {
                self.wants_keep = false;
                self.kept = Some(guard.snapshots());
            }
            _ if transaction.number == guard.number() => self.saved(guard, transaction),
            _ => {}
        }
    }

    fn saved(&mut self, guard: &mut Guard, transaction: Transaction) {
        guard.table.set_saved(transaction.first, transaction.last);
        let is_local = transaction.is_local();
        let has_changed =
            transaction.deletes_below || !transaction.rows.is_empty() || !transaction.deletions.is_empty();
        self.rows.extend(transaction.rows);
        if transaction.step == Step::Pass {
            (self.wants_pass, self.compacts_all, self.has_passed) = (false, false, true);
            self.has_compacted = false;
            // A pass that has missed a row is repeated once.
            self.wants_pass = transaction.has_missed && !self.has_missed;
            self.has_missed = transaction.has_missed;
            for (key, is_in_local) in transaction.deletions {
                self.rows.retain(|row| row.key != key || row.is_local != is_in_local);
                if is_in_local && !is_local {
                    self.remove_local(key);
                }
            }
            if let Some(meta) = transaction.meta {
                if let Some(name) = meta.device_name {
                    guard.table.name_device(name);
                }
                self.meta = Some(meta);
            }
        } else {
            self.wants_pass |= !self.to_compact(guard, is_local).is_empty();
        }
        if has_changed && self.place != Some(Place::Custom) {
            self.push(Step::Signal);
        }
        let is_saved = |local: &mut LocalRow| !guard.table.is_unsaved(false, local.first, local.last);
        if let Some(local) = self.local.take_if(is_saved) {
            self.remove_local(local.key);
        }
    }

    /// The transaction has failed; `is_full`: because the storage is full. Frees space if that can help; otherwise
    /// everything is retried after a delay.
    pub fn failed(&mut self, guard: &Guard, id: u32, is_full: bool) {
        let Some(transaction) = self.transaction.take_if(|transaction| transaction.id == id) else {
            return;
        };
        self.is_flushing = false;
        self.trouble = Some(if is_full { Trouble::Full } else { Trouble::Unavailable });
        let is_first = !guard.table.has_looked();
        if transaction.is_local() {
            // Rows that it has put already would use the space of the next attempt.
            for row in &transaction.rows {
                self.remove_local(row.key.clone());
            }
        }
        if transaction.step == Step::Look {
            self.wants_look = false;
            self.knows_number = true;
            let ms = match (is_first, self.is_open) {
                (true, false) => FIRST_LOOK_MS,
                (true, true) => self.back_off(),
                _ => LOOK_MS,
            };
            return self.set_timer(Timer::Look, ms);
        }
        self.compacts_all = false;
        // Rows are dropped only for new recordings: a compaction and metadata can wait.
        let is_new = guard.table.is_unsaved(false, 0, u64::MAX);
        if is_full && !self.has_no_room {
            (self.has_no_room, self.drops_snapshot) = (true, true);
        } else if is_full && !self.has_compacted && !self.is_hidden && self.may_pass && !is_first {
            (self.compacts_all, self.has_compacted) = (true, true);
        } else if !(is_full && is_new && transaction.is_local() && self.drop_oldest()) {
            (self.waits_to_retry, self.waits_to_hurry, self.is_hurried) = (true, true, false);
            (self.drops_snapshot, self.has_compacted) = (false, false);
            let ms = self.back_off();
            self.set_timer(Timer::Retry, ms);
            self.set_timer(Timer::Hurry, FIRST_RETRY_MS);
        }
    }

    /// The delay after another failure: it doubles each time, with jitter.
    fn back_off(&mut self) -> u32 {
        let wait = (FIRST_RETRY_MS << self.failures.min(6)).min(LAST_RETRY_MS);
        self.failures += 1;
        wait + self.random.below(u64::from(wait / 4)) as u32
    }

    /// Removes the oldest row of other writers in localStorage. Its recordings stay in the table.
    fn drop_oldest(&mut self) -> bool {
        let others = self.rows.iter().filter(|row| row.is_local);
        let oldest = others.min_by_key(|row| match self.keys.parse(&row.key) {
            Some((_, Letter::Row(n))) => n,
            _ => 0,
        });
        let Some(key) = oldest.map(|row| row.key.clone()) else {
            return false;
        };
        self.has_dropped_rows = true;
        self.remove_local(key);
        true
    }

    /// The row with the latest unsaved changes that goes into localStorage beside IndexedDB, with its key.
    pub fn local_row(&mut self, guard: &Guard, now: Time) -> Option<(String, String)> {
        let mut most = MAX_ROW;
        loop {
            let (first, unsaved) = guard.table.latest_unsaved(false, most);
            let ranks = guard.table.ranks_of(unsaved);
            let text = row::write(&guard.table, &ranks);
            if ranks.is_empty() {
                return None;
            }
            if text.len() <= MAX_LOCAL_ROW {
                let key = self.keys.row(guard.number(), now.unix_ms());
                self.next_local = Some(LocalRow {
                    key: key.clone(),
                    length: text.len(),
                    first,
                    last: guard.table.changes(),
                });
                return Some((key, text));
            }
            most /= 2;
        }
    }

    /// That row was written, or localStorage is full.
    pub fn local_written(&mut self, is_written: bool) {
        let Some(next) = self.next_local.take() else { return };
        if !is_written {
            if self.drop_oldest() {
                self.push(Step::LocalPut);
            }
            return;
        }
        if let Some(former) = self.local.replace(next) {
            self.remove_local(former.key);
        }
        // The first pass moves rows of earlier visits, unless writing fails.
        let may_drop = self.has_passed || self.failures > 0;
        while may_drop && !self.is_away && self.local_length() > MAX_LOCAL_ROWS && self.drop_oldest() {}
    }

    /// The length of the rows in localStorage, together.
    fn local_length(&self) -> usize {
        let others = self.rows.iter().filter(|row| row.is_local).map(|row| row.length);
        others.sum::<usize>() + self.local.as_ref().map_or(0, |local| local.length)
    }
}

/// Queries by the caller.
impl Storage {
    /// The key of the snapshot in use.
    pub fn snapshot_key(&self, guard: &Guard) -> String {
        self.keys.snapshot(guard.number())
    }

    /// Whether the stored snapshot is deleted to free space.
    pub fn drops_snapshot(&self) -> bool {
        self.drops_snapshot
    }

    /// The timer of a step, and its delay (ms).
    pub fn timer(&self) -> (Timer, u32) {
        (self.current.timer, self.current.ms)
    }

    /// The key of a step.
    pub fn local_key(&self) -> &str {
        &self.current.key
    }

    /// Whether idle namespaces are to be removed: on the first visit of a day.
    pub fn cleans_up(&self) -> bool {
        self.cleans_up
    }

    /// Whether the stored data has been read.
    pub fn has_looked(&self, guard: &Guard) -> bool {
        guard.table.has_looked()
    }

    /// Whether a look is due or in progress.
    pub fn is_looking(&self) -> bool {
        let is_under_way = |transaction: &Transaction| transaction.step == Step::Look;
        self.wants_look || self.transaction.as_ref().is_some_and(is_under_way)
    }

    /// Whether everything recorded before the latest [`Storage::flush`] is stored, or storing has failed since.
    pub fn is_settled(&self) -> bool {
        !self.is_flushing
    }

    /// The latest failure, until a transaction succeeds.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// Whether a row was damaged, and whether the oldest rows in localStorage were dropped, since the last call.
    pub fn take_notices(&mut self) -> (bool, bool) {
        (
            std::mem::take(&mut self.has_damage),
            std::mem::take(&mut self.has_dropped_rows),
        )
    }
}
