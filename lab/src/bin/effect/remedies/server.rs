//! Remedies on the server alone: its filter leaves out what the stream has brought, and perhaps what it served last.

use std::collections::VecDeque;

use seenguard_lab::Result;

use super::Remedy;
use crate::page::{Ask, Page, page_of_server};
use crate::stream::Store;

/// The filter alone.
pub struct ServerAlone;

impl Remedy for ServerAlone {
    fn page(&mut self, ask: &Ask<'_>, store: &mut Store<'_>) -> Result<Page> {
        page_of_server(ask, store, &|_| false)
    }

    fn record(&mut self, item: u32, _device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        store.send(store.ids().of(item), at);
        Ok(())
    }
}

/// Most ids of a person.
const KEPT: usize = 100;

/// The server stores the ids that it served last, and leaves them out, too: vivo's remedy.
#[derive(Default)]
pub struct LastServed {
    served: VecDeque<u32>,
}

impl Remedy for LastServed {
    fn page(&mut self, ask: &Ask<'_>, store: &mut Store<'_>) -> Result<Page> {
        let page = page_of_server(ask, store, &|item| self.served.contains(&item))?;
        self.served.retain(|item| !page.shown.contains(item));
        self.served.extend(&page.shown);
        let too_many = self.served.len().saturating_sub(KEPT);
        self.served.drain(..too_many);
        Ok(page)
    }

    fn record(&mut self, item: u32, _device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        store.send(store.ids().of(item), at);
        Ok(())
    }

    fn flush(&mut self) {
        self.served.clear();
    }
}
