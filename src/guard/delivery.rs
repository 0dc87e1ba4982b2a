//! Delivery to the server: each impression once, covered or not; and again only if the stream runs and has lost it.
//!
//! A snapshot that covers an impression after its delivery shows that the stream has come as far as that delivery. One
//! such sign may be a false positive of the server's shards. So an impression is delivered again once three that were
//! first delivered after it have been covered, the third of them at least five minutes ago: a stream that is merely
//! late causes nothing.

use std::collections::VecDeque;

use super::impressions::Impressions;
use super::recording::{Kind, Recording, Unsettled};
use super::types::Now;
use crate::impression::Impression;
use crate::time::Time;

/// Before an impression is delivered again, and before a sign counts.
const REDELIVERY_WAIT_MS: u64 = 5 * 60 * 1000;
/// How often an impression is delivered again.
const MAX_REDELIVERIES: u8 = 3;
/// How many signs it takes.
const SIGNS: usize = 3;
/// Most signs that wait to count. Beyond it more of them tell nothing new.
const MAX_RECENT_SIGNS: usize = 1_000;
/// Bytes of `{"id":"","at":1764000000000},`.
const JSON_OVERHEAD: usize = 30;

/// How far the stream has come, by the counter at first deliveries.
#[derive(Debug, Clone, Default)]
struct StreamProgress {
    /// Signs of the last five minutes: when, by a clock that never jumps, and the counter.
    recent: VecDeque<(u64, u64)>,
    /// The highest of the others, highest first.
    settled: [u64; SIGNS],
}

impl StreamProgress {
    fn add(&mut self, first_delivery: u64, steady_ms: u64) {
        if self.recent.len() < MAX_RECENT_SIGNS {
            self.recent.push_back((steady_ms, first_delivery));
        }
    }

    /// The counter below which first deliveries have `SIGNS` later ones that were covered long enough ago.
    fn passed(&mut self, steady_ms: u64) -> u64 {
        while let Some(&(at, counter)) = self.recent.front() {
            if steady_ms.saturating_sub(at) < REDELIVERY_WAIT_MS {
                break;
            }
            self.recent.pop_front();
            let place = self.settled.partition_point(|&settled| settled >= counter);
            if place < SIGNS {
                self.settled[place..].rotate_right(1);
                self.settled[place] = counter;
            }
        }
        self.settled[SIGNS - 1]
    }
}

/// Impressions and takings back that are delivered together.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct DeliveryBatch {
    /// What [`crate::Guard::end_batch`] takes; 0 if there is nothing to deliver.
    #[serde(rename = "batch")]
    pub number: u32,
    /// What was shown, oldest first.
    pub impressions: Vec<Impression>,
    /// What was taken back, oldest first.
    pub unseen: Vec<Impression>,
}

/// The deliveries of one writer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deliveries {
    /// The number of the latest batch.
    batches: u32,
    progress: StreamProgress,
}

impl Deliveries {
    /// Notes that a snapshot has covered an impression for the first time.
    pub(crate) fn note_covered(&mut self, unsettled: &Unsettled, steady_ms: u64) {
        if unsettled.delivery.times > 0 && !unsettled.delivery.is_provisional() {
            self.progress.add(unsettled.delivery.first, steady_ms);
        }
    }

    /// The next to deliver, oldest first: at most `max_impressions`, of about `max_bytes` as JSON, but one
    /// at least.
    pub(crate) fn begin_batch(
        &mut self,
        impressions: &mut Impressions,
        max_impressions: usize,
        max_bytes: usize,
        now: Now,
    ) -> DeliveryBatch {
        let passed = self.progress.passed(now.steady_ms);
        let (mut hashes, mut bytes) = (Vec::new(), 0);
        let mut batch = DeliveryBatch {
            number: 0,
            impressions: Vec::new(),
            unseen: Vec::new(),
        };
        for (hash, recording, unsettled) in impressions.unsettled() {
            // What is past its window is covered no more: that no snapshot contains it tells nothing.
            let may_repeat = impressions.is_live(recording, now.wall_ms) && unsettled.delivery.first < passed;
            if !is_due(hash, recording, unsettled, may_repeat, now.wall_ms) {
                continue;
            }
            bytes += unsettled.id.len() + JSON_OVERHEAD;
            if hashes.len() == max_impressions || (bytes > max_bytes && !hashes.is_empty()) {
                break;
            }
            hashes.push(hash);
            let list = match recording.kind {
                Kind::Seen => &mut batch.impressions,
                Kind::Unseen => &mut batch.unseen,
            };
            list.push(Impression {
                id: unsettled.text(),
                at: Time::from_unix_ms(recording.at),
            });
        }
        if !hashes.is_empty() {
            self.batches = self.batches.wrapping_add(1).max(1);
            batch.number = self.batches;
        }
        for hash in hashes {
            impressions.change_unsettled(hash, |unsettled| unsettled.batch = batch.number);
        }
        batch
    }

    /// A batch has arrived, or has not and is due again.
    pub(crate) fn end_batch(&self, impressions: &mut Impressions, batch: u32, arrived: bool, now_ms: u64) {
        let in_batch = impressions
            .unsettled()
            .filter(|(_, _, unsettled)| batch != 0 && unsettled.batch == batch);
        let hashes: Vec<u64> = in_batch.map(|(hash, _, _)| hash).collect();
        for hash in hashes {
            impressions.change_unsettled(hash, |unsettled| unsettled.batch = 0);
            if arrived {
                impressions.set_delivered(hash, now_ms);
            }
        }
    }
}

/// Whether a recording is to be delivered now: never yet; or, of an impression, again. `may_repeat`: whether the stream
/// has come so far that it has lost it, unless it is covered.
fn is_due(hash: u64, recording: &Recording, unsettled: &Unsettled, may_repeat: bool, now_ms: u64) -> bool {
    if !unsettled.own || unsettled.batch != 0 {
        return false;
    }
    if !recording.delivered || recording.kind == Kind::Unseen {
        return !recording.delivered;
    }
    let delivery = unsettled.delivery;
    !recording.covered
        && may_repeat
        && (1..=MAX_REDELIVERIES).contains(&delivery.times)
        // A clock that has jumped back says nothing of how long ago it was.
        && now_ms.abs_diff(delivery.last) >= redelivery_wait_ms(hash, delivery.times)
}

/// Doubles with each delivery. Up to a quarter longer, by the id: not all devices deliver a lost impression again at
/// once.
fn redelivery_wait_ms(hash: u64, times: u8) -> u64 {
    let wait = REDELIVERY_WAIT_MS << (times - 1);
    wait + wait / 4 * (hash >> 32 & 0xFF) / 0xFF
}
