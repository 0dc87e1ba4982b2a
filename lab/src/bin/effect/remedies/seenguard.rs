//! Seenguard: each request and each report of a device sends its pending list, and the server stores the latest list of
//! //! each device. The server leaves out the ids of these lists and of the chain, and ships its shards; the device
//! leaves //! out the ids of the shards and its own impressions.

use std::collections::HashSet;

use seenguard::device::{Guard, Scope};
use seenguard::{ChainSnapshot, PageRequest, Pending, Repeats, Snapshot, Time};
use seenguard_lab::Result;

use super::{Past, Remedy};
use crate::fill::Fill;
use crate::page::{Answer, Page, Request, Seen};
use crate::people::SECOND_MS;
use crate::stream::{NAMESPACE, Store};

/// The most ids of a report, as in the package's reporter.
const MAX_BATCH: usize = 200;
const MAX_BATCH_BYTES: usize = 60_000;
const REPORT_INTERVAL_MS: u64 = 5 * SECOND_MS;
/// The most characters of `Seen-Held` and `Seen-Pending` together in a request. A report has no limit.
const MAX_HEADER_CHARACTERS: usize = 4_000;

pub struct Seenguard {
    devices: Vec<Device>,
    /// The bytes of reports since the latest page.
    reported: usize,
}

struct Device {
    guard: Guard,
    /// Items recorded and sent since the guard last returned its undelivered impressions.
    sent: Vec<u32>,
    /// The time of its next report, if there is anything to report.
    report_at: Option<u64>,
}

impl Seenguard {
    pub fn new(past: &Past) -> Self {
        let guards = past.guards.iter().cloned();
        let device = |guard| Device {
            guard,
            sent: Vec::new(),
            report_at: None,
        };
        Seenguard {
            devices: guards.map(device).collect(),
            reported: 0,
        }
    }

    /// Sends the report of a device, when it is due or the page is hidden.
    fn report(&mut self, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        let device = &mut self.devices[device];
        device.report_at = None;
        let pending = device.guard.pending_list(usize::MAX, now(at));
        self.reported += pending.len();
        store.store_pending(&pending, at)
    }
}

impl Remedy for Seenguard {
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page> {
        let at = request.refresh.at;
        for device in 0..self.devices.len() {
            if let Some(due) = self.devices[device].report_at {
                self.report(device, due.min(at), store)?;
            }
        }
        let Device { guard, sent, .. } = &mut self.devices[request.refresh.device];
        deliver_again(guard, sent, at, store);
        let ids = store.ids().all(request.ranked);
        let mut fill = Fill::new(request, store.ids());
        fill.add_bytes(std::mem::take(&mut self.reported), 0);
        let mut cursor = None;
        while fill.wants_more() {
            let held = guard.held();
            let requesting = guard.pending_list(MAX_HEADER_CHARACTERS.saturating_sub(held.len()), now(at));
            let (chain, stored) = store.store_and_read(&requesting, at)?;
            let page_request = PageRequest {
                size: request.refresh.size,
                cursor: cursor.as_deref(),
                repeats: match request.seen {
                    Seen::Drop => Repeats::Drop,
                    Seen::Last => Repeats::Last,
                },
                held: Some(&held),
                pending: Pending {
                    requesting: Some(&requesting),
                    stored,
                    namespace: Some(NAMESPACE),
                    ..Pending::default()
                },
            };
            let page = chain.page(&ids, &page_request, request.time())?;
            fill.add_bytes(
                held.len() + requesting.len(),
                serde_json::to_string(&page.snapshot)?.len(),
            );
            apply(guard, &page.snapshot, at)?;
            let answer = Answer {
                indices: page.items.into_iter().map(|item| item as usize).collect(),
                is_last: page.next.is_none(),
            };
            fill.take(answer, guard)?;
            cursor = page.next;
        }
        fill.finish(guard)
    }

    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        if let Some(due) = self.devices[device].report_at.filter(|&due| due <= at) {
            self.report(device, due, store)?;
        }
        let id = store.ids().of(item);
        let device = &mut self.devices[device];
        device.guard.record(&[id], now(at));
        device.sent.push(item);
        device.report_at.get_or_insert(at + REPORT_INTERVAL_MS);
        store.send(id, at);
        Ok(())
    }
}

/// Sends the impressions that the guard considers lost. First deliveries are in transit already: all remedies send an
/// /// impression at once, and the guard is called once per page, because that call takes the most time of the
/// simulation.
fn deliver_again(guard: &mut Guard, sent: &mut Vec<u32>, at: u64, store: &mut Store<'_>) {
    let ids = store.ids();
    let sent: HashSet<&str> = sent.drain(..).map(|item| ids.of(item)).collect();
    deliver(guard, at, |id| {
        if !sent.contains(id) {
            store.send(id, at);
        }
    });
}

/// Applies the server's snapshot on a device.
pub fn apply(guard: &mut Guard, snapshot: &ChainSnapshot, at: u64) -> Result<()> {
    guard.apply(Snapshot::from(snapshot), now(at))?;
    Ok(())
}

/// Delivers the guard's undelivered and lost impressions.
pub fn deliver(guard: &mut Guard, at: u64, mut send: impl FnMut(&str)) {
    loop {
        let batch = guard.begin_batch(MAX_BATCH, MAX_BATCH_BYTES, Scope::Own, now(at));
        if batch.number == 0 {
            return;
        }
        batch.impressions.iter().for_each(|impression| send(&impression.id));
        guard.end_batch(batch.number, true, now(at));
    }
}

fn now(unix_ms: u64) -> Time {
    Time::from_unix_ms(unix_ms)
}
