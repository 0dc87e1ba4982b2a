//! The device sends its shown ids with each request, and the server leaves them out together with those of the stream:
//! //! X's remedy.

use std::collections::{HashSet, VecDeque};

use seenguard_lab::Result;

use super::{Past, Remedy};
use crate::page::{Page, Request, page_of_server};
use crate::stream::Store;

/// The most ids of a request.
const MOST: usize = 10_000;

pub struct IdsUp {
    devices: Vec<Shown>,
}

/// The items that a device has shown, each once, the one shown longest ago first.
#[derive(Default)]
struct Shown {
    order: VecDeque<u32>,
    items: HashSet<u32>,
}

impl Shown {
    fn add(&mut self, item: u32) {
        if !self.items.insert(item) {
            self.order.retain(|&other| other != item);
        }
        self.order.push_back(item);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.items.remove(&oldest);
        }
    }
}

impl IdsUp {
    pub fn new(past: &Past) -> Self {
        let shown = past.seen.iter().map(|items| {
            let mut shown = Shown::default();
            items.iter().for_each(|&item| shown.add(item));
            shown
        });
        IdsUp {
            devices: shown.collect(),
        }
    }
}

impl Remedy for IdsUp {
    fn page(&mut self, request: &Request<'_>, store: &mut Store<'_>) -> Result<Page> {
        let shown = &self.devices[request.refresh.device];
        let page = page_of_server(request, store, &|item| shown.items.contains(&item))?;
        let ids = store.ids();
        Ok(Page {
            up: json_bytes(shown.order.iter().map(|&item| ids.of(item))),
            ..page
        })
    }

    fn record(&mut self, item: u32, device: usize, at: u64, store: &mut Store<'_>) -> Result<()> {
        self.devices[device].add(item);
        store.send(store.ids().of(item), at);
        Ok(())
    }
}

/// Bytes of a JSON array of ids without anything to escape.
fn json_bytes<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let quoted: Vec<usize> = ids.map(|id| id.len() + 2).collect();
    "[]".len() + quoted.iter().sum::<usize>() + quoted.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_json() {
        for ids in [&[][..], &["1"], &["1", "22", "333"]] {
            let text = serde_json::to_string(ids).expect("ids");
            assert_eq!(json_bytes(ids.iter().copied()), text.len());
        }
    }

    #[test]
    fn the_latest_10_000_items_are_kept_once_each() {
        let mut shown = Shown::default();
        (0..10_500).for_each(|item| shown.add(item));
        shown.add(600);
        assert_eq!((shown.order.len(), shown.items.len()), (MOST, MOST));
        assert_eq!((shown.order.front(), shown.order.back()), (Some(&500), Some(&600)));
    }
}
