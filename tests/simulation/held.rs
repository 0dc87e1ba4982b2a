//! The snapshot in use as a device stores it for the next visit: the protocol of `js/storage/held-shards.ts`, with each
//! shard under its reference and an index that names them.
//!
//! Shards are written before the index, and removed after it. Tabs with different shards take away each other's.

use std::collections::BTreeMap;
use std::rc::Rc;

use seenguard::{Applied, Format, Guard, Impression, Now, Snapshot};

use super::chance::Chance;
use super::device::Device;
use super::exceptions::listed;
use super::scene::Scene;
use super::shipment::{Shipped, State};
use super::snapshots;
use super::view::View;
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

/// Stores the snapshot in use for the next visit, unless the page has no time for it.
pub fn store(device: &mut Device, tab: usize, state: &State, server_ms: Option<u64>, scene: &mut Scene<'_>) {
    let wall_ms = device.wall(scene.now);
    let page = &device.tabs[tab];
    if !page.writer.is_loaded || device.store.is_full || scene.random.percent(15) {
        return;
    }
    let unstored = Unstored {
        index: Index {
            generation: page.writer.generation,
            held: page.view.held(),
            unseen: state.unseen.clone(),
            forget_before: state.forget_before,
            ahead_ms: server_ms.map(|server_ms| wall_ms as i64 - server_ms as i64),
        },
        shards: page.view.shards.clone(),
    };
    device.held.write(unstored, scene.random, scene.conditions.crashes);
}

/// A page that opens takes over what was stored, unless it has taken a snapshot already, or knows of a later deletion.
pub fn restored(device: &mut Device, tab: usize, restored: Restored, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let Restored {
        applied,
        index,
        shards,
        server_ms,
    } = restored;
    let must_be_refused = page.has_applied || index.forget_before < page.knows_deletion;
    let may_be_refused = page.has_applied || index.forget_before < page.may_know_deletion;
    if applied.reason.is_some() {
        assert!(may_be_refused, "restored: what is not older is taken over");
        scene.tally.reach("a stored snapshot is refused");
        return;
    }
    assert!(!must_be_refused, "restored: nothing forgotten comes back from storage");
    assert_eq!(
        applied.shards,
        shards.len(),
        "restored: exactly the shards that are found are held"
    );
    let names = index.held.split('.').filter(|name| !name.is_empty()).count();
    scene.tally.reach(if shards.len() < names {
        "a stored snapshot lacks shards"
    } else {
        "a stored snapshot is taken over"
    });
    let next = View {
        version: None,
        forget_before: index.forget_before,
        may_forget_before: index.forget_before,
        shards,
        server_ahead: server_ms.map(|server_ms| i128::from(server_ms) - i128::from(clocks.steady_ms)),
        unseen: page
            .view
            .next_unseen(&listed(&index.unseen, scene.items), server_ms, clocks.wall_ms),
    };
    snapshots::use_view(device, tab, next, scene);
    snapshots::check_reach(device, tab, server_ms, scene);
}
