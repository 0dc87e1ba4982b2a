//! The unacknowledged records of a consumer's partitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::record::Record;
use crate::applying::EntryId;

/// The partitions that are assigned to this consumer.
#[derive(Default)]
pub(super) struct Partitions {
    all: BTreeMap<i32, Partition>,
    /// Whether the group has assigned partitions to this consumer.
    pub(super) is_assigned: bool,
    /// Whether reading is paused.
    pub(super) is_paused: bool,
    /// Records that [`Partitions::take`] has not returned yet, in the order of arrival.
    fresh: VecDeque<EntryId>,
    bytes: usize,
    /// Whether the event mapping may be wrong, so that no offset is committed, not even of skipped events: the group
    /// had no committed offset at the start, and no record was applied since.
    pub(super) is_unproven: bool,
    /// The fatal error of the client.
    pub(super) fatal: Option<String>,
}

/// The state of a partition.
#[derive(Default)]
struct Partition {
    /// Unacknowledged records by offset.
    unacknowledged: BTreeMap<i64, Record>,
    /// Whether its leader has responded.
    has_answered: bool,
    /// The next offset to read; `None` if it is not known yet.
    read_to: Option<i64>,
    /// The first offset with a record of a newer version, at which the partition is stopped, and the record's time in
    /// Unix ms.
    newer_from: Option<(i64, u64)>,
}

impl Partition {
    /// The offset below which all records are acknowledged.
    fn next(&self) -> Option<i64> {
        self.unacknowledged.keys().next().copied().or(self.read_to)
    }
}

impl Partitions {
    pub(super) fn new(is_unproven: bool) -> Self {
        Partitions {
            is_unproven,
            ..Partitions::default()
        }
    }

    pub(super) fn add(&mut self, partition: i32) {
        self.all.insert(partition, Partition::default());
    }

    pub(super) fn remove(&mut self, partition: i32) {
        let removed = self.all.remove(&partition).unwrap_or_default();
        self.bytes -= removed.unacknowledged.values().map(Record::bytes).sum::<usize>();
        self.fresh.retain(|id| id.0 != partition as u64);
    }

    pub(super) fn assigned(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    /// The partitions that are stopped at a record of a newer version, or all others.
    pub(super) fn that_wait(&self, wait: bool) -> impl Iterator<Item = i32> {
        let those = self.all.iter().filter(move |(_, of)| of.newer_from.is_some() == wait);
        those.map(|(&partition, _)| partition)
    }

    /// Adds a record. Ignores records of a revoked partition.
    pub(super) fn push(&mut self, partition: i32, offset: i64, record: Record) {
        let Some(of) = self.all.get_mut(&partition) else { return };
        if of.newer_from.is_some_and(|(newer_from, _)| offset >= newer_from) {
            return;
        }
        (of.has_answered, of.read_to) = (true, Some(offset + 1));
        self.bytes += record.bytes();
        of.unacknowledged.insert(offset, record);
        self.fresh.push_back(EntryId(partition as u64, offset as u64));
    }

    /// Stops a partition at this record, which a newer version has written at this time, in Unix ms.
    pub(super) fn stop_at(&mut self, partition: i32, offset: i64, written: u64) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.newer_from.get_or_insert((offset, written));
        }
    }

    /// Notes that a partition has no more records before this position, which may be after markers of transactions.
    pub(super) fn note_end(&mut self, partition: i32, position: Option<i64>) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.has_answered = true;
            if of.newer_from.is_none() {
                of.read_to = position.or(of.read_to);
            }
        }
    }

    /// Whether all partitions are read: none is stopped, and each leader has responded. `None` if that is not known
    /// yet.
    pub(super) fn are_read(&self) -> Option<bool> {
        if self.that_wait(true).next().is_some() {
            return Some(false);
        }
        (self.is_assigned && self.all.values().all(|of| of.has_answered)).then_some(true)
    }

    /// The next offset to read of a partition, if it is known.
    pub(super) fn read_to(&self, partition: i32) -> Option<i64> {
        self.all.get(&partition)?.read_to
    }

    /// Sets the next offset to read of a partition.
    pub(super) fn start_at(&mut self, partition: i32, offset: i64) {
        if let Some(of) = self.all.get_mut(&partition) {
            of.read_to = Some(offset);
        }
    }

    /// The number of records that [`Partitions::take`] has not returned yet.
    pub(super) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Whether there are records of two batches of these sizes: one in progress and one queued.
    pub(super) fn is_full(&self, batch: usize, batch_bytes: usize) -> bool {
        self.fresh.len() >= batch || self.bytes >= 2 * batch_bytes
    }

    /// Returns new records, up to these numbers of records and bytes.
    pub(super) fn take(&mut self, most: usize, most_bytes: usize) -> Vec<(EntryId, &Record)> {
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
        self.all.get(&(partition as i32))?.unacknowledged.get(&(offset as i64))
    }

    /// Queues all unacknowledged records again.
    pub(super) fn redeliver(&mut self) {
        let ids = |(&partition, of): (&i32, &Partition)| -> Vec<EntryId> {
            let offsets = of.unacknowledged.keys();
            offsets
                .map(|&offset| EntryId(partition as u64, offset as u64))
                .collect()
        };
        self.fresh = self.all.iter().flat_map(ids).collect();
    }

    /// Acknowledges records. Returns their partitions.
    pub(super) fn acknowledge(&mut self, ids: impl Iterator<Item = EntryId>) -> BTreeSet<i32> {
        let mut touched = BTreeSet::new();
        for EntryId(partition, offset) in ids {
            let partition = partition as i32;
            let of = self.all.get_mut(&partition);
            if let Some(record) = of.and_then(|of| of.unacknowledged.remove(&(offset as i64))) {
                self.bytes -= record.bytes();
                touched.insert(partition);
            }
        }
        touched
    }

    /// Whether records of these partitions are in progress.
    pub(super) fn are_in_progress(&self, partitions: &[i32]) -> bool {
        let unacknowledged = |partition| self.all.get(partition).map_or(0, |of| of.unacknowledged.len());
        let fresh = |partition: i32| self.fresh.iter().filter(|id| id.0 == partition as u64).count();
        partitions
            .iter()
            .any(|partition| unacknowledged(partition) > fresh(*partition))
    }

    /// The time of the oldest unacknowledged record, in Unix ms.
    pub(super) fn oldest(&self) -> Option<u64> {
        let first = |of: &Partition| {
            let record = of.unacknowledged.values().next().map(|record| record.timestamp);
            record.or(of.newer_from.map(|(_, written)| written))
        };
        self.all.values().filter_map(first).min()
    }

    /// The offset of a partition below which all records are acknowledged, if it is known.
    pub(super) fn next(&self, partition: i32) -> Option<i64> {
        self.all.get(&partition)?.next()
    }

    /// The offset of a partition to commit.
    pub(super) fn to_commit(&self, partition: i32) -> Option<i64> {
        self.next(partition).filter(|&next| next > 0 && !self.is_unproven)
    }

    /// Whether all records below these ends are acknowledged, in the partitions that are assigned to this consumer.
    pub(super) fn have_reached(&self, ends: &[(i32, i64)]) -> bool {
        let next = |partition| self.all.get(partition).map(|of| of.next().unwrap_or(-1));
        ends.iter()
            .all(|(partition, end)| next(partition).is_none_or(|next| next >= *end))
    }
}
