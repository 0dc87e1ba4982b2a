//! The snapshot in use, read plainly: one filter after the other, and the unseen ids.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::Time;

use super::items::Item;
use super::server::Shipped;

/// The snapshot in use.
#[derive(Debug, Default)]
pub struct View {
    pub version: Option<u64>,
    /// The server's time of the latest deletion of the history in it, or that dropped it; 0: none.
    pub forget_before: u32,
    pub shards: Vec<Rc<Shipped>>,
    /// The server's clock less the device's, if the snapshot has it.
    pub server_ahead: Option<i128>,
    pub unseen: BTreeMap<Item, Unseen>,
}

/// An id that the snapshot in use unsees.
#[derive(Debug, Clone)]
pub struct Unseen {
    /// The server's time of it, as it stands.
    pub stated: u64,
    /// Recordings later than this by the device's clock are not unseen.
    pub reach: u64,
}

impl View {
    /// The shards that have not expired, each with its index.
    pub fn live(&self, now: Time) -> impl Iterator<Item = (usize, &Shipped)> {
        let seconds = (i128::from(now.unix_ms()) + self.server_ahead.unwrap_or(0)).max(0) as u64 / 1000;
        let is_live = move |expires: u32| expires == 0 || seconds < u64::from(expires);
        let shards = self.shards.iter().enumerate();
        shards.filter_map(move |(index, shipped)| is_live(shipped.shard.expires).then_some((index, &**shipped)))
    }

    /// The index of the first live shard that contains an id.
    pub fn find(&self, text: &str, now: Time) -> Option<usize> {
        let mut live = self.live(now);
        let found = live.find(|(_, shipped)| shipped.shard.filter.contains(text));
        found.map(|(index, _)| index)
    }

    pub fn contains(&self, text: &str, now: Time) -> bool {
        self.find(text, now).is_some()
    }

    pub fn lists(&self, item: Item) -> bool {
        self.unseen.contains_key(&item)
    }

    /// Whether a recording of this time is unseen.
    pub fn unsees(&self, item: Item, at: u64) -> bool {
        self.unseen.get(&item).is_some_and(|unseen| at <= unseen.reach)
    }

    /// The unseen ids of the next snapshot, if this one is in use: up to the earlier of the server's time unchanged and
    /// translated, and while it lists the same, never later than before.
    pub fn next_unseen(&self, listed: &[(Item, u64)], server_ms: Option<u64>, wall_ms: u64) -> BTreeMap<Item, Unseen> {
        let ahead = server_ms.map_or(0, |server_ms| i128::from(wall_ms) - i128::from(server_ms));
        let read = |&(item, stated): &(Item, u64)| {
            let translated = (i128::from(stated) + ahead).max(0) as u64;
            let reach = stated.min(translated).min(wall_ms);
            let known = self.unseen.get(&item).filter(|known| known.stated == stated);
            let reach = known.map_or(reach, |known| known.reach.min(reach));
            (item, Unseen { stated, reach })
        };
        listed.iter().map(read).collect()
    }

    /// The references of its shards, as a request names them.
    pub fn held(&self) -> String {
        let names: Vec<&str> = self.shards.iter().map(|shipped| shipped.reference.as_str()).collect();
        names.join(".")
    }
}
