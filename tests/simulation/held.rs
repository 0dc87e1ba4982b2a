//! The snapshot in use as a device stores it for the next visit: the protocol of `js/storage/held-shards.ts`, with each
//! shard under its reference and an index that names them.
//!
//! Shards are written before the index, and removed after it. Tabs with different shards take away each other's.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::{Applied, Format, Guard, Impression, Now, Snapshot};

use super::chance::Chance;
use super::server::Shipped;
use crate::random::Random;

/// What is stored of a snapshot beside its shards.
#[derive(Debug, Clone)]
pub struct Index {
    pub generation: u64,
    pub held: String,
    pub unseen: Vec<Impression>,
    pub forget_before: u32,
    /// By how much the device's clock was ahead of the server's.
    pub ahead_ms: Option<i64>,
}

/// A snapshot that a tab has to store.
#[derive(Debug, Clone)]
pub struct Unstored {
    pub index: Index,
    pub shards: Vec<Rc<Shipped>>,
}

#[derive(Debug, Default)]
pub struct HeldStore {
    index: Option<Index>,
    /// What was the index before.
    older: Option<Index>,
    texts: BTreeMap<String, Rc<Shipped>>,
}

/// What a page took over when it opened, or did not.
#[derive(Debug)]
pub struct Restored {
    pub applied: Applied,
    pub index: Index,
    pub shards: Vec<Rc<Shipped>>,
    pub server_ms: Option<u64>,
}

impl HeldStore {
    /// A tab stores its snapshot; it may die after each step.
    pub fn write(&mut self, Unstored { index, shards }: Unstored, random: &mut Random, crashes: bool) {
        let dies = |random: &mut Random| crashes && random.percent(5);
        let new = shards.iter().map(|shard| (shard.reference.clone(), Rc::clone(shard)));
        self.texts.extend(new);
        if dies(random) {
            return;
        }
        self.older = self.index.replace(index);
        if dies(random) {
            return;
        }
        self.texts
            .retain(|name, _| shards.iter().any(|shard| shard.reference == *name));
    }

    /// Some of what is stored is lost, or an older index comes back.
    pub fn lose(&mut self, random: &mut Random) {
        self.texts.retain(|_, _| random.percent(60));
        if random.percent(30) && self.older.is_some() {
            self.index = self.older.take();
        }
    }

    /// Lets a guard that opens take over what is stored.
    pub fn restore(&self, generation: u64, guard: &mut Guard, now: Now) -> Option<Restored> {
        let index = self.index.clone().filter(|index| index.generation == generation)?;
        let names = index.held.split('.');
        let shards: Vec<Rc<Shipped>> = names.filter_map(|name| self.texts.get(name).cloned()).collect();
        // Those of other tabs among them.
        let texts: Vec<&String> = self.texts.values().map(|shipped| &shipped.text).collect();
        let server_ms = index.ahead_ms.map(|ahead| now.wall_ms.saturating_add_signed(-ahead));
        let snapshot = Snapshot {
            version: None,
            shards: &texts,
            format: Format::Native,
            now_ms: server_ms,
            unseen: &index.unseen,
            forget_before: Some(index.forget_before).filter(|&before| before > 0),
        };
        let applied = guard
            .restore(snapshot, &index.held, now)
            .expect("snapshots: a stored one can be read");
        Some(Restored {
            applied,
            index,
            shards,
            server_ms,
        })
    }
}
