//! The records of a consumer's partitions that are read and not settled.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::record::Record;
use crate::taking::EntryId;

/// The partitions that this consumer has now.
#[derive(Default)]
pub(super) struct Partitions {
    all: BTreeMap<i32, Partition>,
    /// Whether the group has given this consumer its partitions.
    pub(super) is_assigned: bool,
    /// Records that were not returned yet, in the order of arrival.
    fresh: VecDeque<EntryId>,
    pub(super) bytes: usize,
    /// Why no more records can be read.
    pub(super) failure: Option<String>,
}

/// A partition.
#[derive(Default)]
struct Partition {
    /// Unsettled records by offset.
    unsettled: BTreeMap<i64, Record>,
    /// Whether its leader has answered.
    has_answered: bool,
    /// The next offset to read; `None`: not known yet.
    read_to: Option<i64>,
    /// The first offset with a record of a newer version, and its time in Unix ms.
    newer_from: Option<(i64, u64)>,
}

impl Partitions {
    pub(super) fn add(&mut self, partition: i32) {
        self.all.insert(partition, Partition::default());
    }

    pub(super) fn remove(&mut self, partition: i32) {
        let removed = self.all.remove(&partition).unwrap_or_default();
        self.bytes -= removed.unsettled.values().map(Record::bytes).sum::<usize>();
        self.fresh.retain(|id| id.0 != partition as u64);
    }

    pub(super) fn assigned(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    pub(super) fn newer(&self) -> impl Iterator<Item = i32> {
        let newer = self.all.iter().filter(|(_, of)| of.newer_from.is_some());
        newer.map(|(&partition, _)| partition)
    }

    /// Adds a record. Ignores records of a revoked partition.
    pub(super) fn push(&mut self, partition: i32, offset: i64, record: Record) {
        let Some(of) = self.all.get_mut(&partition) else { return };
        if of.newer_from.is_some_and(|(newer_from, _)| offset >= newer_from) {
            return;
        }
        (of.has_answered, of.read_to) = (true, Some(offset + 1));
        self.bytes += record.bytes();
        of.unsettled.insert(offset, record);
        self.fresh.push_back(EntryId(partition as u64, offset as u64));
    }

    /// Stops a partition at this record.
    pub(super) fn stop_at(&mut self, partition: i32, offset: i64, written: u64) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.newer_from.get_or_insert((offset, written));
        }
    }

    /// The leader of a partition has answered that it has no more records.
    pub(super) fn note_end(&mut self, partition: i32) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.has_answered = true;
        }
    }

    /// Whether all of them are read: none waits for a newer version, and each leader has answered.
    pub(super) fn are_read(&self) -> Option<bool> {
        if self.newer().next().is_some() {
            return Some(false);
        }
        (self.is_assigned && self.all.values().all(|of| of.has_answered)).then_some(true)
    }

    /// The next offset to read of a partition, if it is known.
    pub(super) fn read_to(&self, partition: i32) -> Option<i64> {
        self.all.get(&partition)?.read_to
    }

    /// A partition is read from this offset on.
    pub(super) fn start_at(&mut self, partition: i32, offset: i64) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.read_to = Some(offset);
        }
    }

    /// The number of records that were not returned yet.
    pub(super) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Returns new records, up to these numbers of records and bytes.
    pub(super) fn give(&mut self, most: usize, most_bytes: usize) -> Vec<(EntryId, &Record)> {
        let (mut count, mut bytes) = (0, 0);
        for id in self.fresh.iter().take(most) {
            bytes += self.get(*id).map_or(0, Record::bytes);
            if count > 0 && bytes > most_bytes {
                break;
            }
            count += 1;
        }
        let ids: Vec<EntryId> = self.fresh.drain(..count).collect();
        ids.into_iter().filter_map(|id| Some((id, self.get(id)?))).collect()
    }

    pub(super) fn get(&self, EntryId(partition, offset): EntryId) -> Option<&Record> {
        self.all.get(&(partition as i32))?.unsettled.get(&(offset as i64))
    }

    /// Marks all unsettled records as new.
    pub(super) fn give_again(&mut self) {
        self.fresh = self
            .all
            .iter()
            .flat_map(|(&partition, of)| {
                of.unsettled
                    .keys()
                    .map(move |&offset| EntryId(partition as u64, offset as u64))
            })
            .collect();
    }

    /// Settles records. Returns for each of their partitions the offset before which all records are settled.
    pub(super) fn settle(&mut self, ids: impl Iterator<Item = EntryId>) -> Vec<(i32, i64)> {
        let mut touched = BTreeSet::new();
        for EntryId(partition, offset) in ids {
            let partition = partition as i32;
            let Some(of) = self.all.get_mut(&partition) else {
                continue;
            };
            if let Some(record) = of.unsettled.remove(&(offset as i64)) {
                self.bytes -= record.bytes();
            }
            touched.insert(partition);
        }
        let last = |partition| Some((partition, self.next(partition)? - 1));
        touched.into_iter().filter_map(last).collect()
    }

    /// Whether records of these partitions are in progress.
    pub(super) fn has_given(&self, partitions: &[i32]) -> bool {
        let unsettled = |partition| self.all.get(partition).map_or(0, |of| of.unsettled.len());
        let fresh = |partition: i32| self.fresh.iter().filter(|id| id.0 == partition as u64).count();
        partitions
            .iter()
            .any(|partition| unsettled(partition) > fresh(*partition))
    }

    /// The time of the oldest unsettled record, in Unix ms.
    pub(super) fn oldest(&self) -> Option<u64> {
        let first = |of: &Partition| {
            let record = of.unsettled.values().next().map(|record| record.timestamp);
            record.or(of.newer_from.map(|(_, written)| written))
        };
        self.all.values().filter_map(first).min()
    }

    /// The offset of a partition before which all records read are settled.
    pub(super) fn next(&self, partition: i32) -> Option<i64> {
        let of = self.all.get(&partition)?;
        of.unsettled.keys().next().copied().or(of.read_to)
    }
}
