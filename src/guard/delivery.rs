//! Delivery to the server: each impression once, covered or not; and once more if it is still pending a day later.

use super::Guard;
use super::types::recorded_at;
use crate::impression::Impression;
use crate::table::{Kind, Recording, Undelivered};
use crate::time::Time;

/// After a delivery, before an impression that is still pending is delivered again.
const REDELIVERY_WAIT_MS: u64 = 24 * 60 * 60 * 1000;
/// Bytes of `{"id":"","at":1764000000000},`.
const JSON_OVERHEAD: usize = 30;

/// Impressions and unseen ids that are delivered together.
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

impl Guard {
    /// From now on impressions of this namespace are delivered, on this visit and later ones.
    pub fn start_reporting(&mut self) {
        self.table.set_reporting();
    }

    /// How many impressions were never delivered and are not under way.
    pub fn undelivered(&self) -> usize {
        self.table.undelivered_len()
    }

    /// The next impressions to deliver: at most so many, of about so many bytes as JSON, but one at least.
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, now: Time) -> DeliveryBatch {
        self.begin(max_impressions, max_bytes, false, now)
    }

    /// The same as the page hides: of what was found in storage, nothing.
    pub fn begin_last_batch(&mut self, max_impressions: usize, max_bytes: usize, now: Time) -> DeliveryBatch {
        self.begin(max_impressions, max_bytes, true, now)
    }

    fn begin(&mut self, max_impressions: usize, max_bytes: usize, is_last: bool, now: Time) -> DeliveryBatch {
        let (mut hashes, mut bytes) = (Vec::new(), 0);
        let mut batch = DeliveryBatch {
            number: 0,
            impressions: Vec::new(),
            unseen: Vec::new(),
        };
        for (hash, recording, undelivered) in self.table.undelivered() {
            // Nothing is ever covered without a snapshot on this visit, nor what is past its window: that no snapshot
            // contains it tells nothing.
            let may_repeat = self.has_applied && self.table.is_live(recording, now.unix_ms());
            let may_go = undelivered.is_recorded_here || !is_last;
            if !may_go || !is_due(hash, recording, undelivered, may_repeat, now.unix_ms()) {
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
            self.table.set_batch(hash, batch.number);
        }
        batch
    }

    /// A batch went out as the page hid, which may never read the answer. If a snapshot was taken on this visit, its
    /// impressions count as delivered unless [`Guard::end_batch`] tells that it failed: one that was lost is still
    /// pending a day later. What is unseen is never pending.
    pub fn leave_batch(&mut self, batch: u32, now: Time) {
        if !self.has_applied {
            return;
        }
        for (hash, kind) in self.recordings_of(batch) {
            if kind == Kind::Seen {
                self.table.set_delivered(hash, recorded_at(now));
            }
        }
        self.left_batches.push(batch);
    }

    /// What became of a batch: what has arrived is delivered; what has not is in the next batch again.
    pub fn end_batch(&mut self, batch: u32, arrived: bool, now: Time) {
        let was_left = self.left_batches.contains(&batch);
        self.left_batches.retain(|&left| left != batch);
        for (hash, kind) in self.recordings_of(batch) {
            let counts_already = was_left && kind == Kind::Seen;
            match (counts_already, arrived) {
                (false, true) => self.table.set_delivered(hash, recorded_at(now)),
                (true, false) => self.table.set_failed(hash),
                _ => {}
            }
            self.table.set_batch(hash, 0);
        }
    }

    /// What is under way in a batch.
    fn recordings_of(&self, batch: u32) -> Vec<(u64, Kind)> {
        let mut list = Vec::new();
        for (hash, recording, undelivered) in self.table.undelivered() {
            if batch != 0 && undelivered.batch == batch {
                list.push((hash, recording.kind));
            }
        }
        list
    }
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
