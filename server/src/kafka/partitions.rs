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
    queued: VecDeque<EntryId>,
    bytes: usize,
    /// Whether the event mapping may be wrong, so that no offset is committed, not even of skipped events: the group
    /// had no committed offset at the start, and no record was applied since.
    pub(super) is_mapping_unverified: bool,
    /// The fatal error of the client.
    pub(super) fatal: Option<String>,
}

/// The state of a partition.
#[derive(Default)]
struct Partition {
    /// Unacknowledged records by offset.
    unacknowledged: BTreeMap<i64, Record>,
    /// Whether its leader has responded.
    has_responded: bool,
    /// The next offset to read; `None` if it is not known yet.
    position: Option<i64>,
    /// The first offset with a record of a newer version, at which the partition is stopped, and the record's time in
    /// Unix ms.
    newer_from: Option<(i64, u64)>,
}

impl Partition {
    /// The offset below which all records are acknowledged.
    fn next(&self) -> Option<i64> {
        self.unacknowledged.keys().next().copied().or(self.position)
    }
}

impl Partitions {
    pub(super) fn new(is_mapping_unverified: bool) -> Self {
        Partitions {
            is_mapping_unverified,
            ..Partitions::default()
        }
    }

    pub(super) fn add(&mut self, partition: i32) {
        self.all.insert(partition, Partition::default());
    }

    pub(super) fn remove(&mut self, partition: i32) {
        let removed = self.all.remove(&partition).unwrap_or_default();
        self.bytes -= removed.unacknowledged.values().map(Record::bytes).sum::<usize>();
        self.queued.retain(|id| id.0 != partition as u64);
    }

    pub(super) fn assigned(&self) -> Vec<i32> {
        self.all.keys().copied().collect()
    }

    /// The partitions that are stopped at a record of a newer version.
    pub(super) fn stopped(&self) -> impl Iterator<Item = i32> {
        self.filtered(true)
    }

    /// The partitions that are not stopped.
    pub(super) fn running(&self) -> impl Iterator<Item = i32> {
        self.filtered(false)
    }

    fn filtered(&self, is_stopped: bool) -> impl Iterator<Item = i32> {
        let filtered = self
            .all
            .iter()
            .filter(move |(_, state)| state.newer_from.is_some() == is_stopped);
        filtered.map(|(&partition, _)| partition)
    }

    /// Adds a record. Ignores records of a revoked partition.
    pub(super) fn push(&mut self, partition: i32, offset: i64, record: Record) {
        let Some(state) = self.all.get_mut(&partition) else {
            return;
        };
        if state.newer_from.is_some_and(|(newer_from, _)| offset >= newer_from) {
            return;
        }
        (state.has_responded, state.position) = (true, Some(offset + 1));
        self.bytes += record.bytes();
        state.unacknowledged.insert(offset, record);
        self.queued.push_back(EntryId(partition as u64, offset as u64));
    }

    /// Stops a partition at this record, which a newer version has written at this time, in Unix ms.
    pub(super) fn stop_at(&mut self, partition: i32, offset: i64, written: u64) {
        if let Some(state) = self.all.get_mut(&partition) {
            state.newer_from.get_or_insert((offset, written));
        }
    }

    /// Notes that a partition has no more records before this position, which may be after markers of transactions.
    pub(super) fn note_end(&mut self, partition: i32, position: Option<i64>) {
        if let Some(state) = self.all.get_mut(&partition) {
            state.has_responded = true;
            if state.newer_from.is_none() {
                state.position = position.or(state.position);
            }
        }
    }

    /// Whether all partitions are read: none is stopped, and each leader has responded. `None` if that is not known
    /// yet.
    pub(super) fn are_read(&self) -> Option<bool> {
        if self.stopped().next().is_some() {
            return Some(false);
        }
        (self.is_assigned && self.all.values().all(|state| state.has_responded)).then_some(true)
    }

    /// The next offset to read of a partition, if it is known.
    pub(super) fn position(&self, partition: i32) -> Option<i64> {
        self.all.get(&partition)?.position
    }

    /// Sets the next offset to read of a partition.
    pub(super) fn start_at(&mut self, partition: i32, offset: i64) {
        if let Some(state) = self.all.get_mut(&partition) {
            state.position = Some(offset);
        }
    }

    /// The number of records that [`Partitions::take`] has not returned yet.
    pub(super) fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Whether there are records of two batches of these sizes: one in progress and one queued.
    pub(super) fn is_full(&self, batch: usize, batch_bytes: usize) -> bool {
        self.queued.len() >= batch || self.bytes >= 2 * batch_bytes
    }

    /// Returns new records, up to these numbers of records and bytes.
    pub(super) fn take(&mut self, most: usize, most_bytes: usize) -> Vec<(EntryId, &Record)> {
        let (mut count, mut bytes) = (0, 0);
        for id in self.queued.iter().take(most) {
            bytes += self.get(*id).map_or(0, Record::bytes);
            if count > 0 && bytes > most_bytes {
                break;
            }
            count += 1;
        }
        let ids: Vec<EntryId> = self.queued.drain(..count).collect();
        ids.into_iter().filter_map(|id| Some((id, self.get(id)?))).collect()
    }

    pub(super) fn get(&self, EntryId(partition, offset): EntryId) -> Option<&Record> {
        self.all.get(&(partition as i32))?.unacknowledged.get(&(offset as i64))
    }

    /// Queues all unacknowledged records again.
    pub(super) fn redeliver(&mut self) {
        let ids = |(&partition, state): (&i32, &Partition)| -> Vec<EntryId> {
            let offsets = state.unacknowledged.keys();
            offsets
                .map(|&offset| EntryId(partition as u64, offset as u64))
                .collect()
        };
        self.queued = self.all.iter().flat_map(ids).collect();
    }

    /// Acknowledges records. Returns their partitions.
    pub(super) fn acknowledge(&mut self, ids: impl Iterator<Item = EntryId>) -> BTreeSet<i32> {
        let mut changed = BTreeSet::new();
        for EntryId(partition, offset) in ids {
            let partition = partition as i32;
            let state = self.all.get_mut(&partition);
            if let Some(record) = state.and_then(|state| state.unacknowledged.remove(&(offset as i64))) {
                self.bytes -= record.bytes();
                changed.insert(partition);
            }
        }
        changed
    }

    /// Whether records of these partitions are in progress.
    pub(super) fn are_in_progress(&self, partitions: &[i32]) -> bool {
        let unacknowledged = |partition| self.all.get(partition).map_or(0, |state| state.unacknowledged.len());
        let queued = |partition: i32| self.queued.iter().filter(|id| id.0 == partition as u64).count();
        partitions
            .iter()
            .any(|partition| unacknowledged(partition) > queued(*partition))
    }

    /// The time of the oldest unacknowledged record, in Unix ms.
    pub(super) fn oldest(&self) -> Option<u64> {
        let first = |state: &Partition| {
            let record = state.unacknowledged.values().next().map(|record| record.timestamp);
            record.or(state.newer_from.map(|(_, written)| written))
        };
        self.all.values().filter_map(first).min()
    }

    /// The offset of a partition below which all records are acknowledged, if it is known.
    pub(super) fn next(&self, partition: i32) -> Option<i64> {
        self.all.get(&partition)?.next()
    }

    /// The offset of a partition to commit.
    pub(super) fn to_commit(&self, partition: i32) -> Option<i64> {
        self.next(partition)
            .filter(|&next| next > 0 && !self.is_mapping_unverified)
    }

    /// Whether all records below these ends are acknowledged, in the partitions that are assigned to this consumer.
    pub(super) fn have_reached(&self, ends: &[(i32, i64)]) -> bool {
        let next = |partition| self.all.get(partition).map(|state| state.next().unwrap_or(-1));
        ends.iter()
            .all(|(partition, end)| next(partition).is_none_or(|next| next >= *end))
    }
}
