//! The server keeps the ids that it served last, and leaves them out beside what the stream has brought: vivo's remedy.

use std::collections::VecDeque;

use seenguard_lab::report::Result;

use super::Remedy;
use crate::page::{Ask, Page, page_of_server};
use crate::stream::Store;

/// How many are kept of a person.
const KEPT: usize = 100;

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
