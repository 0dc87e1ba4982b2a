//! A filter on the device only, with a server that stores no impressions: Primal's remedy.

use seenguard::Time;
use seenguard::device::Guard;
use seenguard_lab::Result;

use super::{Past, Remedy};
use crate::fill::Fill;
use crate::page::{Answer, Page, Request};
use crate::stream::Store;

pub struct DeviceAlone {
    /// Guards without snapshots: only their impression tables.
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
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page> {
        let mut fill = Fill::new(request, store.ids());
        let guard = &mut self.devices[request.refresh.device];
        let mut cursor = 0;
        while fill.wants_more() {
            fill.take(Answer::of_all(request.ranked, cursor, request.refresh.size), guard)?;
            cursor += request.refresh.size;
        }
        fill.finish(guard)
    }

    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        self.devices[device].record(&[store.ids().of(item)], Time::from_unix_ms(at));
        Ok(())
    }
}
