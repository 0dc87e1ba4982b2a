//! Delivery to the server: each impression once, covered or not, and a second time if it is still pending a day later.

use super::Guard;
use super::types::recorded_at;
use crate::impression::Impression;
use crate::table::{Kind, Origin, Recording, Undelivered};
use crate::time::Time;

/// Time after which an impression that is still pending is delivered again.
const REDELIVERY_WAIT_MS: u64 = 24 * 60 * 60 * 1000;
/// Bytes of `{"id":"","at":1764000000000},`.
const JSON_OVERHEAD: usize = 30;

/// Impressions and unseen ids that are delivered together.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct DeliveryBatch {
    /// The number of the batch, for [`crate::device::Guard::end_batch`]; 0 if there is nothing to deliver.
    #[serde(rename = "batch")]
    pub number: u32,
    /// The impressions, oldest first.
    pub impressions: Vec<Impression>,
    /// The unseen ids, oldest first.
    pub unseen: Vec<Impression>,
}

/// Selects the impressions and unseen ids of a batch.
#[cfg_attr(target_arch = "wasm32", wasm_bindgen::prelude::wasm_bindgen)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that this tab has recorded, the oldest first.
    Own,
    /// These and those that were found in storage, the oldest first.
    All,
    /// Those that this tab has recorded, the newest first: for a page that hides.
    Hiding,
}

impl Guard {
    /// Marks this namespace as delivering impressions, on this visit and later ones.
    pub fn start_reporting(&mut self) {
        self.table.set_reporting();
    }

    /// The number of impressions that were never delivered and are not in a batch.
    pub fn undelivered(&self) -> usize {
        self.table.undelivered_len()
    }

    /// Begins a batch of at most `max_impressions` entries and about `max_bytes` as JSON, but at least one entry.
    pub fn begin_batch(&mut self, max_impressions: usize, max_bytes: usize, scope: Scope, now: Time) -> DeliveryBatch {
        let (mut hashes, mut bytes) = (Vec::new(), 0);
        let mut batch = DeliveryBatch {
            number: 0,
            impressions: Vec::new(),
            unseen: Vec::new(),
        };
        let mut candidates = self.table.undelivered();
        if scope == Scope::Hiding {
            candidates.reverse();
        }
        for (hash, recording, undelivered) in candidates {
            // A pending impression indicates a lost delivery only if a snapshot was applied on this visit, and within
            // the window: other impressions are never covered.
            let may_repeat = self.has_applied && self.table.is_live(recording, now.unix_ms());
            let is_in_scope = undelivered.origin == Origin::Own || scope == Scope::All;
            if !is_in_scope || !is_due(hash, recording, undelivered, may_repeat, now.unix_ms()) {
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
                id: String::from(&*undelivered.id),
                at: Time::from_unix_ms(recording.at),
            });
        }
        if scope == Scope::Hiding {
            batch.impressions.reverse();
            batch.unseen.reverse();
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

    /// Marks a batch that was sent as the page hid, so that the page may never read the response. If a snapshot was
    /// applied on this visit, its impressions count as delivered unless [`Guard::end_batch`] reports a failure: a lost
    /// impression is still pending a day later, and delivered again. Unseen ids do not count as delivered, since they
    /// are never pending.
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

    /// Ends a batch. If it `arrived`, its entries are delivered; otherwise the next batch has them again.
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

    /// The recordings in a batch.
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

/// Whether a recording is due for delivery: for the first time, or an impression for the second.
fn is_due(hash: u64, recording: &Recording, undelivered: &Undelivered, may_repeat: bool, now_ms: u64) -> bool {
    if undelivered.origin == Origin::Other || undelivered.batch != 0 {
        return false;
    }
    // Jitter of up to a quarter, from the id: devices do not repeat the deliveries of an outage at the same time.
    let wait_ms = REDELIVERY_WAIT_MS + REDELIVERY_WAIT_MS / 4 * (hash >> 32 & 0xFF) / 0xFF;
    // The absolute difference: the clock may have jumped back.
    let is_long_ago = now_ms.abs_diff(undelivered.delivered_at) >= wait_ms;
    match recording.deliveries {
        0 => true,
        1 => may_repeat && recording.is_pending() && is_long_ago,
        _ => false,
    }
}
