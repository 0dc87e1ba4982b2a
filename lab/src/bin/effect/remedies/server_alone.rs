//! The server's filter alone: it leaves out what the stream has brought.

use seenguard_lab::report::Result;

use super::Remedy;
use crate::page::{Ask, Page, page_of_server};
use crate::stream::Store;

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
