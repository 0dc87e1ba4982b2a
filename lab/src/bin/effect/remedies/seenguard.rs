//! Seenguard: the server leaves out what the stream has brought and ships its shards; the device leaves out what they
//! contain and what it has shown itself. With `sends_pending` each request carries the pending shard.

use std::collections::HashSet;

use seenguard::{ChainSnapshot, Guard, Now, Snapshot, Time};
use seenguard_lab::report::Result;

use super::{Past, Remedy};
use crate::fill::Fill;
use crate::page::{Ask, Page, Seen, ServerFilter};
use crate::stream::Store;

/// A delivery, as the package's reporter has it.
const MAX_BATCH: usize = 200;
const MAX_BATCH_BYTES: usize = 60_000;

pub struct Seenguard {
    devices: Vec<Device>,
    sends_pending: bool,
}

struct Device {
    guard: Guard,
    /// What it has recorded and sent since its guard was asked what there is to deliver.
    sent: Vec<u32>,
}

impl Seenguard {
    pub fn new(past: &Past, sends_pending: bool) -> Self {
        let guards = past.guards.iter().cloned();
        let device = |guard| Device {
            guard,
            sent: Vec::new(),
        };
        Seenguard {
            devices: guards.map(device).collect(),
            sends_pending,
        }
    }
}

impl Remedy for Seenguard {
    fn page(&mut self, ask: &Ask<'_>, store: &mut Store<'_>) -> Result<Page> {
        let Device { guard, sent } = &mut self.devices[ask.refresh.device];
        deliver_again(guard, sent, ask.refresh.at, store);
        let mut fill = Fill::new(ask, store.ids());
        while let Some(cursor) = fill.next_request() {
            let held = guard.held();
            let pending = if self.sends_pending {
                pending_text(guard, ask.refresh.at)?
            } else {
                None
            };
            let filter = ServerFilter {
                ids: store.ids(),
                chain: store.read(),
                pending: pending.as_deref(),
                also: &|_| false,
            };
            let answer = match ask.seen {
                Seen::Drop => filter.next_fresh(ask, cursor)?,
                Seen::Last => filter.fresh_then_seen(ask)?.next(ask.refresh.size, cursor),
            };
            let snapshot = filter.chain.snapshot(ask.time(), Some(&held))?;
            let up = held.len() + pending.map_or(0, |pending| pending.len());
            fill.add_bytes(up, serde_json::to_string(&snapshot)?.len());
            apply(guard, &snapshot, ask.refresh.at)?;
            fill.take(answer, guard)?;
        }
        fill.finish(guard)
    }

    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        let id = store.ids().of(item);
        let device = &mut self.devices[device];
        device.guard.record(&[id], Now::at(Time::from_unix_ms(at)))?;
        device.sent.push(item);
        store.send(id, at);
        Ok(())
    }
}

/// Sends what the guard takes for lost. What it has to deliver for the first time is on its way: all remedies send an
/// impression at once, and the guard is asked once a page, because that takes it longer than anything else here.
fn deliver_again(guard: &mut Guard, sent: &mut Vec<u32>, at: u64, store: &mut Store<'_>) {
    let ids = store.ids();
    let sent: HashSet<&str> = sent.drain(..).map(|item| ids.of(item)).collect();
    deliver(guard, at, |id| {
        if !sent.contains(id) {
            store.send(id, at);
        }
    });
}

fn pending_text(guard: &Guard, at: u64) -> Result<Option<String>> {
    let pending = guard.pending_shard(usize::MAX, Now::at(Time::from_unix_ms(at)))?;
    Ok(pending.map(|shard| shard.to_base64()).transpose()?)
}

/// Gives a device what the server shipped.
pub fn apply(guard: &mut Guard, snapshot: &ChainSnapshot, at: u64) -> Result<()> {
    guard.apply(Snapshot::from(snapshot), Now::at(Time::from_unix_ms(at)))?;
    Ok(())
}

/// Delivers what the guard has to deliver, for the first time or again.
pub fn deliver(guard: &mut Guard, at: u64, mut send: impl FnMut(&str)) {
    loop {
        let batch = guard.begin_batch(MAX_BATCH, MAX_BATCH_BYTES, Now::at(Time::from_unix_ms(at)));
        if batch.number == 0 {
            return;
        }
        batch.impressions.iter().for_each(|impression| send(&impression.id));
        guard.end_batch(batch.number, true, Now::at(Time::from_unix_ms(at)));
    }
}
