//! Remedies on the server only: its filter leaves out the ids of the stream, and perhaps those that it served last.

use std::collections::VecDeque;

use seenguard_lab::Result;

use super::Remedy;
use crate::page::{Page, Request, page_of_server};
use crate::stream::Store;

/// The filter only.
pub struct ServerAlone;

impl Remedy for ServerAlone {
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page> {
        page_of_server(request, store, &|_| false)
    }

    fn record(&mut self, item: u32, _device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        store.send(store.ids().of(item), at);
        Ok(())
    }
}

/// The most served ids that are stored of a person.
const KEPT: usize = 100;

/// Stores the ids that the server served last, and leaves them out, too: vivo's remedy.
#[derive(Default)]
pub struct LastServed {
    served: VecDeque<u32>,
}

impl Remedy for LastServed {
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page> {
        let page = page_of_server(request, store, &|item| self.served.contains(&item))?;
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
