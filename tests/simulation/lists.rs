//! Lists of items: a guard's result for a list, and a list on a page, which decides each item once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use seenguard::device::{Explanation, Guard};
use seenguard::{Split, Time};

use super::chance::Chance;
use super::device::Device;
use super::items::{Item, Items};
use super::ledger::What;
use super::server::Server;
use super::view::View;
use super::world::Scene;

/// Most verdicts of a list.
const MAX_VERDICTS: usize = 400;

/// A list of candidates, some of them twice; those come first that nobody has ever seen or queried.
pub struct Candidates {
    pub items: Vec<Item>,
    pub fresh: usize,
}

impl Candidates {
    /// Each once.
    pub fn distinct(&self) -> Vec<Item> {
        let mut items = self.items.clone();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// The candidates of a feed: items that nobody has seen, and some seen ones, half of them recently seen.
pub fn candidates(device: &Device, scene: &mut Scene<'_>) -> Candidates {
    let fresh = scene.random.between(2, 20) as usize;
    let mut items: Vec<Item> = (0..fresh).map(|_| scene.items.publish(scene.random)).collect();
    let seen = &device.ledger.recordings;
    for _ in 0..12.min(seen.len()) {
        let from = if scene.random.percent(50) {
            seen.len().saturating_sub(50)
        } else {
            0
        };
        items.push(seen[from + scene.random.index(seen.len() - from)].item);
    }
    items.extend(scene.items.any(scene.random));
    if scene.random.percent(20) {
        items.push(*scene.random.pick(&items));
    }
    Candidates { items, fresh }
}

/// The expected split of a list. `seen`: the time at which an item was seen; `None`: it is fresh.
fn divide<T: Ord>(items: &[Item], seen: impl Fn(Item) -> Option<T>) -> Split {
    let is_first = |&index: &u32| !items[..index as usize].contains(&items[index as usize]);
    let rank = |&index: &u32| seen(items[index as usize]);
    let each_once = (0..items.len() as u32).filter(is_first);
    let (mut seen, fresh): (Vec<u32>, Vec<u32>) = each_once.partition(|index| rank(index).is_some());
    seen.sort_by_key(rank);
    Split { fresh, seen }
}

/// The result for a list agrees with those for its items: items of the shards alone first, the oldest shard first; then
/// items of this device, by time.
pub fn check_lists(guard: &mut Guard, view: &View, list: &[Item], answer: &[u32], time: Time, items: &Items) {
    let seen = |item| {
        let text = items.text(item);
        Some(match guard.explain(text, time)? {
            Explanation::Server => (0, u64::MAX - view.find(text, time)? as u64),
            Explanation::Pending { at } | Explanation::Device { at } => (1, at),
        })
    };
    let expected = divide(list, seen);
    assert_eq!(answer, expected.fresh, "lists: fresh is what is not stopped, each once");
    let split = guard.split(&items.texts(list), time);
    assert_eq!(split, expected, "lists: what was seen longest ago comes first");
}

/// A server's result for a list agrees with those of its shards, the oldest first.
pub fn check_server_list(server: &Server, list: &[Item], now: u64, items: &Items) {
    assert_eq!(
        server.split(list, now, items),
        divide(list, |item| server.newest_shard(item, now, items).map(Reverse)),
        "lists: the server's are in the order of its shards"
    );
}

/// The verdicts of a list that a page shows.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// The items that were stopped, and how many recordings the device had then.
    stopped: BTreeMap<Item, usize>,
    unseen_revision: u64,
    /// The unseen items of the snapshot in use when it was shown last.
    listed: BTreeMap<Item, u64>,
    /// Whether this page has applied a deletion of the history since.
    pub owes_deletion: bool,
}

/// Shows a list: verdicts stay, except of items that were made unseen or deleted since.
pub fn show(device: &mut Device, tab: usize, items: &[Item], scene: &mut Scene<'_>) {
    let mut verdicts = std::mem::take(&mut device.tabs[tab].verdicts);
    let before = verdicts.stopped.len();
    drop_unseen(&mut verdicts, device, tab, scene);
    if verdicts.stopped.len() < before {
        scene.tally.reach("a list decides again what was made unseen");
    }
    check_verdicts(&verdicts, device, tab, scene);
    let time = device.time(scene.now);
    let page = &device.tabs[tab];
    if verdicts.stopped.len() > MAX_VERDICTS {
        verdicts.stopped.clear();
    }
    for &item in items
        .iter()
        .filter(|item| page.guard.explain(scene.items.text(**item), time).is_some())
    {
        verdicts.stopped.entry(item).or_insert(device.ledger.recordings.len());
    }
    let listed = page.view.unseen.iter();
    verdicts.listed = listed.map(|(&item, unseen)| (item, unseen.stated)).collect();
    verdicts.owes_deletion = false;
    device.tabs[tab].verdicts = verdicts;
}

/// Drops invalid verdicts, if there may be any.
fn drop_unseen(verdicts: &mut Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    if page.guard.unseen_revision() == verdicts.unseen_revision {
        return;
    }
    verdicts.unseen_revision = page.guard.unseen_revision();
    let ids: Vec<Item> = verdicts.stopped.keys().copied().collect();
    for index in page.guard.unseen(&scene.items.texts(&ids), time) {
        let id = ids[index as usize];
        assert!(
            page.guard.explain(scene.items.text(id), time).is_none(),
            "lists: {id:?} is decided again, and is stopped still"
        );
        assert!(
            page.facts.floor.before > 0 || page.may_be_unseen(ledger, id, time.unix_ms()),
            "lists: {id:?} is decided again, and was not made unseen"
        );
        verdicts.stopped.remove(&id);
    }
}

/// No item is still stopped that was made unseen or deleted since it was decided.
fn check_verdicts(verdicts: &Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    if device.clock_jumped {
        // An item past its window when the list was shown may be within it again.
        return;
    }
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    for (&id, &recordings) in &verdicts.stopped {
        // One that its tab did not know may hide what was made unseen, until it has expired.
        let last = page
            .known_of(ledger, id)
            .last()
            .filter(|(_, own)| own.missed_of_item.is_empty());
        let is_unseen_since = last.is_some_and(|(index, one)| one.what == What::Unseen && index >= recordings);
        let listed = page.view.unseen.get(&id).map(|unseen| unseen.stated);
        let is_listed_since = listed.is_some() && verdicts.listed.get(&id).copied() != listed;
        let must_pass = (is_unseen_since || is_listed_since) && page.must_pass(ledger, id, time.unix_ms());
        let is_deleted = verdicts.owes_deletion && page.guard.explain(scene.items.text(id), time).is_none();
        assert!(
            !must_pass && !is_deleted,
            "lists: {id:?} was made unseen or deleted, and its verdict stays"
        );
    }
}
