//! Lists of items: what is asked of a guard as a list, and a list that a page shows and that decides each item once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use seenguard::device::{Explanation, Guard};
use seenguard::{Split, Time};

use super::chance::Chance;
use super::device::Device;
use super::items::{Item, Items};
use super::scene::Scene;
use super::server::Server;
use super::view::View;

/// Most verdicts of a list.
const MOST_VERDICTS: usize = 400;

/// A list of candidates, some of them twice; those come first that nobody has ever seen or asked for.
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

/// What a feed brings: items that nobody has seen, and some that were seen.
pub fn candidates(device: &Device, scene: &mut Scene<'_>) -> Candidates {
    let fresh = scene.random.between(2, 20) as usize;
    let mut items: Vec<Item> = (0..fresh).map(|_| scene.items.publish(scene.random)).collect();
    let seen = &device.ledger.recordings;
    for _ in 0..12 {
        if seen.is_empty() {
            break;
        }
        // Half of them are of the latest.
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

/// A list in two, as it must be answered. `seen` is when an item was seen, and nothing for a fresh one.
fn divide<T: Ord>(items: &[Item], seen: impl Fn(Item) -> Option<T>) -> Split {
    let is_first = |&index: &u32| !items[..index as usize].contains(&items[index as usize]);
    let rank = |&index: &u32| seen(items[index as usize]);
    let each_once = (0..items.len() as u32).filter(is_first);
    let (mut seen, fresh): (Vec<u32>, Vec<u32>) = each_once.partition(|index| rank(index).is_some());
    seen.sort_by_key(rank);
    Split { fresh, seen }
}

/// A list is answered as its items are, one by one: what the shards alone know first, the oldest shard first; then what
/// this device showed, by time.
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

/// A server answers a list as its shards do, one by one, the oldest first.
pub fn check_server_list(server: &Server, list: &[Item], now: u64, items: &Items) {
    assert_eq!(
        server.split(list, now, items),
        divide(list, |item| server.newest_shard(item, now, items).map(Reverse)),
        "lists: the server's are in the order of its shards"
    );
}

/// What was decided of an item. To unsee one that passed changes nothing.
#[derive(Debug)]
struct Verdict {
    is_stopped: bool,
    /// Recordings of the device so far.
    recordings: usize,
}

/// The verdicts of a list that a page shows.
#[derive(Debug, Default)]
pub struct Verdicts {
    of: BTreeMap<Item, Verdict>,
    unseen_revision: u64,
    /// What the snapshot in use made unseen when it was shown last.
    listed: BTreeMap<Item, u64>,
    /// Whether this page has learnt of a deletion of the history since.
    pub owes_deletion: bool,
}

/// Shows a list: what was decided stays, but for what has stopped and was made unseen or forgotten since.
pub fn show(device: &mut Device, tab: usize, items: &[Item], scene: &mut Scene<'_>) {
    let mut verdicts = std::mem::take(&mut device.tabs[tab].verdicts);
    let before = verdicts.of.len();
    forget_unseen(&mut verdicts, device, tab, scene);
    if verdicts.of.len() < before {
        scene.tally.reach("a list decides anew what was made unseen");
    }
    check_verdicts(&verdicts, device, tab, scene);
    let time = device.time(scene.now);
    let page = &device.tabs[tab];
    if verdicts.of.len() > MOST_VERDICTS {
        verdicts.of.clear();
    }
    for &item in items {
        verdicts.of.entry(item).or_insert_with(|| Verdict {
            is_stopped: page.guard.explain(scene.items.text(item), time).is_some(),
            recordings: device.ledger.recordings.len(),
        });
    }
    let listed = page.view.unseen.iter();
    verdicts.listed = listed.map(|(&item, unseen)| (item, unseen.stated)).collect();
    verdicts.owes_deletion = false;
    device.tabs[tab].verdicts = verdicts;
}

/// Asks which of the verdicts that stop are void, if any may be.
fn forget_unseen(verdicts: &mut Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    if page.guard.unseen_revision() == verdicts.unseen_revision {
        return;
    }
    verdicts.unseen_revision = page.guard.unseen_revision();
    let stopped = verdicts.of.iter().filter(|(_, verdict)| verdict.is_stopped);
    let ids: Vec<Item> = stopped.map(|(&item, _)| item).collect();
    let named = page.guard.unseen(&scene.items.texts(&ids), time);
    let named: Vec<Item> = named.into_iter().map(|index| ids[index as usize]).collect();
    for &id in &named {
        assert!(
            page.guard.explain(scene.items.text(id), time).is_none(),
            "lists: {id:?} is decided anew, and is stopped still"
        );
        assert!(
            page.may_know_deletion > 0 || page.may_be_made_unseen(ledger, id, time.unix_ms()),
            "lists: {id:?} is decided anew, and was not made unseen"
        );
    }
    verdicts.of.retain(|item, _| !named.contains(item));
}

/// Nothing is stopped still that was made unseen, or forgotten, since it was decided.
fn check_verdicts(verdicts: &Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    if device.clock_jumped {
        // What was past its window when the list was shown may be within it again.
        return;
    }
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let must_pass = |id| page.must_pass(ledger, id, time.unix_ms());
    for (&id, verdict) in verdicts.of.iter().filter(|(_, verdict)| verdict.is_stopped) {
        // One that its tab had not heard of may hide what was made unseen, until it has expired.
        let own = ledger
            .of(id)
            .next_back()
            .filter(|(_, own)| own.missed_of_item.is_empty());
        let is_own_since = own.is_some_and(|(index, recording)| recording.unseen && index >= verdict.recordings);
        let listed = page.view.unseen.get(&id).map(|unseen| unseen.stated);
        let is_listed_since = listed.is_some() && verdicts.listed.get(&id).copied() != listed;
        let is_forgotten = verdicts.owes_deletion && page.guard.explain(scene.items.text(id), time).is_none();
        assert!(
            !((is_own_since || is_listed_since) && must_pass(id)) && !is_forgotten,
            "lists: {id:?} was made unseen or forgotten, and its verdict stays"
        );
    }
}
