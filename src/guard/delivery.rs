//! Delivery to the server: each impression once, covered or not; and once more if it is still pending a day later.

use crate::impression::Impression;
use crate::table::{Kind, Recording, Table, Undelivered};
use crate::time::Time;

/// After a delivery, before an impression that is still pending is delivered again.
const REDELIVERY_WAIT_MS: u64 = 24 * 60 * 60 * 1000;
/// Bytes of `{"id":"","at":1764000000000},`.
const JSON_OVERHEAD: usize = 30;

/// Impressions and takings back that are delivered together.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct DeliveryBatch {
    /// What [`crate::device::Guard::end_batch`] takes; 0 if there is nothing to deliver.
    #[serde(rename = "batch")]
    pub number: u32,
    /// What was shown, oldest first.
    pub impressions: Vec<Impression>,
    /// What is unseen, oldest first.
    pub unseen: Vec<Impression>,
}

/// The deliveries of one tab.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deliveries {
    /// The number of the latest batch.
    batches: u32,
    /// The batches whose impressions count as delivered, though no answer has come.
    left: Vec<u32>,
}

/// What a batch is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchOptions {
    pub(crate) max_impressions: usize,
    /// About so many, as JSON.
    pub(crate) max_bytes: usize,
    /// Whether a snapshot was taken on this visit, without which nothing is ever covered.
    pub(crate) may_repeat: bool,
    /// Whether it has only what this tab recorded.
    pub(crate) is_last: bool,
}

impl Deliveries {
    /// The next to deliver, oldest first, but one at least.
    pub(crate) fn begin_batch(&mut self, table: &mut Table, options: BatchOptions, now: Time) -> DeliveryBatch {
        let BatchOptions {
            max_impressions,
            max_bytes,
            may_repeat,
            is_last,
        } = options;
        let (mut hashes, mut bytes) = (Vec::new(), 0);
        let mut batch = DeliveryBatch {
            number: 0,
            impressions: Vec::new(),
            unseen: Vec::new(),
        };
        for (hash, recording, undelivered) in table.undelivered() {
            // What is past its window is covered no more: that no snapshot contains it tells nothing.
            let may_repeat = may_repeat && table.is_live(recording, now.unix_ms());
            if is_last && !undelivered.is_recorded_here
                || !is_due(hash, recording, undelivered, may_repeat, now.unix_ms())
            {
                continue;
            }
            bytes += undelivered.id.len() + JSON_OVERHEAD;
            if hashes.len() == max_impressions || (bytes > max_bytes && !hashes.is_empty()) {
                break;
            }
            hashes.push(hash);
            let list = match recording.kind {
                Kind::Seen => &mut batch.impressions,
                Kind::Unseen => &mut batch.unseen,
            };
            list.push(Impression {
                id: undelivered.text(),
                at: Time::from_unix_ms(recording.at),
            });
        }
        if !hashes.is_empty() {
            self.batches = self.batches.wrapping_add(1).max(1);
            batch.number = self.batches;
        }
        for hash in hashes {
            table.set_batch(hash, batch.number);
        }
        batch
    }

    /// A batch has gone out, and its answer may never be read: its impressions count as delivered until one comes. One
    /// that was lost is still pending a day later. What is unseen is never pending.
    pub(crate) fn leave_batch(&mut self, table: &mut Table, batch: u32, now_ms: u64) {
        for (hash, kind) in recordings_of(table, batch) {
            if kind == Kind::Seen {
                table.set_delivered(hash, now_ms);
            }
        }
        self.left.push(batch);
    }

    /// A batch has arrived, or has not and is due again.
    pub(crate) fn end_batch(&mut self, table: &mut Table, batch: u32, arrived: bool, now_ms: u64) {
        let was_left = self.left.contains(&batch);
        self.left.retain(|&left| left != batch);
        for (hash, kind) in recordings_of(table, batch) {
            let counts_already = was_left && kind == Kind::Seen;
            match (counts_already, arrived) {
                (false, true) => table.set_delivered(hash, now_ms),
                (true, false) => table.set_failed(hash),
                _ => {}
            }
            table.set_batch(hash, 0);
        }
    }
}

/// What is under way in a batch.
fn recordings_of(table: &Table, batch: u32) -> Vec<(u64, Kind)> {
    let mut list = Vec::new();
    for (hash, recording, undelivered) in table.undelivered() {
        if batch != 0 && undelivered.batch == batch {
            list.push((hash, recording.kind));
        }
    }
    list
}

/// Whether a recording is to be delivered now: never yet; or, of an impression, once more.
fn is_due(hash: u64, recording: &Recording, undelivered: &Undelivered, may_repeat: bool, now_ms: u64) -> bool {
    if !undelivered.is_for_us || undelivered.batch != 0 {
        return false;
    }
    // Up to a quarter longer, by the id: not all devices deliver a lost impression again at once.
    let wait_ms = REDELIVERY_WAIT_MS + REDELIVERY_WAIT_MS / 4 * (hash >> 32 & 0xFF) / 0xFF;
    // A clock that has jumped back says nothing of how long ago it was.
    let is_long_ago = now_ms.abs_diff(undelivered.delivered_at) >= wait_ms;
    match recording.deliveries {
        0 => true,
        1 => may_repeat && recording.is_pending() && is_long_ago,
        _ => false,
    }
}
