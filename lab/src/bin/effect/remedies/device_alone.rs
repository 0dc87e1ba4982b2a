//! A filter on the device alone, over a server that knows nothing of what was seen: Primal's remedy.

use seenguard::Time;
use seenguard::device::Guard;
use seenguard_lab::Result;

use super::{Past, Remedy};
use crate::fill::Fill;
use crate::page::{Answer, Ask, Page};
use crate::stream::Store;

pub struct DeviceAlone {
    /// Without snapshots a guard is its impression table.
    devices: Vec<Guard>,
}

impl DeviceAlone {
    pub fn new(past: &Past) -> Self {
        DeviceAlone {
            devices: past.tables.clone(),
        }
    }
}

impl Remedy for DeviceAlone {
    fn page(&mut self, ask: &Ask<'_>, store: &mut Store<'_>) -> Result<Page> {
        let mut fill = Fill::new(ask, store.ids());
        let guard = &mut self.devices[ask.refresh.device];
        let mut cursor = 0;
        while fill.wants_more() {
            fill.take(Answer::of_all(ask.ranked, cursor, ask.refresh.size), guard)?;
            cursor += ask.refresh.size;
        }
        fill.finish(guard)
    }

    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        self.devices[device].record(&[store.ids().of(item)], Time::from_unix_ms(at));
        Ok(())
    }
}
