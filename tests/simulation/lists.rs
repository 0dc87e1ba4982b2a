//! Lists of items with several ids: what is asked of a guard as a list, and a list that a page shows and that decides
//! each item once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use seenguard::device::{Explanation, Guard};
use seenguard::{ItemIds, Split, Time};

use super::chance::Chance;
use super::conditions::Kind;
use super::device::Device;
use super::items::{Item, Items};
use super::scene::Scene;
use super::server::Server;

/// An item as a feed brings it: all its ids, its own first.
pub type Post = Vec<Item>;

/// Most verdicts of a list.
const MOST_VERDICTS: usize = 400;

/// A list of candidates; those come first whose own id nobody has ever seen or asked for.
pub struct Candidates {
    pub posts: Vec<Post>,
    pub fresh: usize,
}

impl Candidates {
    /// All ids, each once.
    pub fn ids(&self) -> Vec<Item> {
        let mut ids: Vec<Item> = self.posts.iter().flatten().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// What a feed brings: items that nobody has seen, and some that were seen, among them reposts of others.
pub fn candidates(device: &Device, scene: &mut Scene<'_>) -> Candidates {
    let fresh = scene.random.between(2, 20) as usize;
    let mut posts: Vec<Post> = (0..fresh).map(|_| vec![scene.items.publish(scene.random)]).collect();
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
        posts.push(vec![seen[from + scene.random.index(seen.len() - from)].item]);
    }
    posts.extend(scene.items.any(scene.random).map(|item| vec![item]));
    for index in 0..posts.len() {
        if scene.random.percent(80) || scene.conditions.kind == Kind::LongIds {
            continue;
        }
        // Of an item in the list, of any, or of one that comes alone nowhere.
        let other = match scene.random.below(3) {
            0 => scene.random.pick(&posts)[0],
            1 => scene.items.any(scene.random).unwrap_or(posts[index][0]),
            _ => scene.items.publish(scene.random),
        };
        posts[index].push(other);
    }
    Candidates { posts, fresh }
}

/// The posts as a guard and a chain take them.
pub fn ids_of<'a>(posts: &[Post], items: &'a Items) -> ItemIds<&'a str> {
    posts.iter().map(|post| items.texts(post)).collect()
}

/// A list in two, by what is stopped: the fresh posts, and the others in the order of the list.
pub fn divide(posts: &[Post], is_stopped: impl Fn(Item) -> bool) -> (Vec<u32>, Vec<u32>) {
    let (mut fresh, mut seen): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for (index, post) in posts.iter().enumerate() {
        let has_one_of = |kept: &[u32]| {
            let mut ids = kept.iter().flat_map(|&kept| &posts[kept as usize]);
            ids.any(|id| post.contains(id))
        };
        if !post.iter().any(|&id| is_stopped(id)) {
            if !has_one_of(&fresh) {
                fresh.push(index as u32);
            }
        } else if !has_one_of(&fresh) && !has_one_of(&seen) {
            seen.push(index as u32);
        }
    }
    (fresh, seen)
}

/// A list is answered as its ids are, one by one.
pub fn check_lists(guard: &mut Guard, posts: &[Post], answer: &[u32], time: Time, items: &Items) {
    let why: BTreeMap<Item, Explanation> = posts
        .iter()
        .flatten()
        .filter_map(|&id| Some((id, guard.explain(items.text(id), time)?)))
        .collect();
    let (fresh, mut seen) = divide(posts, |id| why.contains_key(&id));
    assert_eq!(
        answer, fresh,
        "lists: fresh is what has no id that is stopped, and none of one before it"
    );
    // What the shards alone know first, the oldest shard first; then by time. By the id seen latest.
    let rank = |&index: &u32| {
        let ids = posts[index as usize].iter().filter_map(|id| why.get(id));
        let ranks = ids.map(|why| match *why {
            Explanation::Server { shard, .. } => (0, u64::MAX - shard as u64),
            Explanation::Pending { at } | Explanation::Device { at } => (1, at),
        });
        ranks.max()
    };
    seen.sort_by_key(rank);
    let split = guard.split(&ids_of(posts, items), time);
    assert_eq!(split.fresh, fresh, "lists: a list in two has the same fresh ones");
    assert_eq!(split.seen, seen, "lists: what was seen longest ago comes first");
}

/// A server answers a list as its shards do, one by one, the oldest first.
pub fn check_server_list(server: &Server, posts: &[Post], now: u64, items: &Items) {
    let newest = |id| server.newest_shard(id, now, items);
    let (fresh, mut seen) = divide(posts, |id| newest(id).is_some());
    let rank = |&index: &u32| Reverse(posts[index as usize].iter().filter_map(|&id| newest(id)).min());
    seen.sort_by_key(rank);
    let split = server.split(posts, now, items);
    assert_eq!(
        split,
        Split { fresh, seen },
        "lists: the server's are in the order of its shards"
    );
}

/// What was decided of a post.
#[derive(Debug)]
struct Verdict {
    post: Post,
    /// Those of its ids that were stopped then, none of a fresh one. To take back one that passed changes nothing.
    stopped_by: Vec<Item>,
    /// Recordings of the device so far.
    recordings: usize,
}

/// The verdicts of a list that a page shows, by an item's own id.
#[derive(Debug, Default)]
pub struct Verdicts {
    of: BTreeMap<Item, Verdict>,
    unseen_revision: u64,
    /// What the snapshot in use took back when it was shown last.
    listed: BTreeMap<Item, u64>,
    /// Whether this page has learnt of a deletion of the history since.
    pub owes_deletion: bool,
}

/// Shows a list: what was decided stays, but for what has stopped and was taken back or forgotten since.
pub fn show(device: &mut Device, tab: usize, posts: &[Post], scene: &mut Scene<'_>) {
    let mut verdicts = std::mem::take(&mut device.tabs[tab].verdicts);
    let before = verdicts.of.len();
    forget_taken_back(&mut verdicts, device, tab, scene);
    if verdicts.of.len() < before {
        scene.tally.reach("a list decides anew what was taken back");
    }
    check_verdicts(&verdicts, device, tab, scene);
    let time = device.time(scene.now);
    let page = &device.tabs[tab];
    if verdicts.of.len() > MOST_VERDICTS {
        verdicts.of.clear();
    }
    for post in posts {
        verdicts.of.entry(post[0]).or_insert_with(|| {
            let is_stopped = |id: &Item| page.guard.explain(scene.items.text(*id), time).is_some();
            let stopped_by: Vec<Item> = post.iter().copied().filter(is_stopped).collect();
            Verdict {
                post: post.clone(),
                stopped_by,
                recordings: device.ledger.recordings.len(),
            }
        });
    }
    let listed = page.view.unseen.iter();
    verdicts.listed = listed.map(|(&item, taken_back)| (item, taken_back.stated)).collect();
    verdicts.owes_deletion = false;
    device.tabs[tab].verdicts = verdicts;
}

/// Asks which of the verdicts that stop are void, if any may be.
fn forget_taken_back(verdicts: &mut Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    if page.guard.unseen_revision() == verdicts.unseen_revision {
        return;
    }
    verdicts.unseen_revision = page.guard.unseen_revision();
    let is_fresh = |verdict: &Verdict| verdict.stopped_by.is_empty();
    let stopped = verdicts.of.values().filter(|verdict| !is_fresh(verdict));
    let ids: Vec<Item> = stopped.flat_map(|verdict| verdict.post.clone()).collect();
    let named = page.guard.taken_back(&scene.items.texts(&ids), time);
    let named: Vec<Item> = named.into_iter().map(|index| ids[index as usize]).collect();
    for &id in &named {
        assert!(
            !page.guard.explain(scene.items.text(id), time).is_some(),
            "lists: {id:?} is decided anew, and is stopped still"
        );
        assert!(
            page.may_know_deletion > 0 || page.may_be_taken_back(ledger, id, time.unix_ms()),
            "lists: {id:?} is decided anew, and was not taken back"
        );
    }
    let is_named = |verdict: &Verdict| verdict.post.iter().any(|id| named.contains(id));
    verdicts.of.retain(|_, verdict| is_fresh(verdict) || !is_named(verdict));
}

/// Nothing is stopped still that was taken back, or forgotten, since it was decided.
fn check_verdicts(verdicts: &Verdicts, device: &Device, tab: usize, scene: &Scene<'_>) {
    if device.clock_jumped {
        // What was past its window when the list was shown may be within it again.
        return;
    }
    let time = device.time(scene.now);
    let (page, ledger) = (&device.tabs[tab], &device.ledger);
    let must_pass = |id| page.must_pass(ledger, id, time.unix_ms());
    for verdict in verdicts.of.values() {
        for &id in &verdict.stopped_by {
            // One that its tab had not heard of may hide what was taken back, until it has expired.
            let own = ledger
                .of(id)
                .next_back()
                .filter(|(_, own)| own.missed_of_item.is_empty());
            let is_own_since = own.is_some_and(|(index, recording)| recording.unseen && index >= verdict.recordings);
            let listed = page.view.unseen.get(&id).map(|taken_back| taken_back.stated);
            let is_listed_since = listed.is_some() && verdicts.listed.get(&id).copied() != listed;
            let is_forgotten = verdicts.owes_deletion && !page.guard.explain(scene.items.text(id), time).is_some();
            assert!(
                !((is_own_since || is_listed_since) && must_pass(id)) && !is_forgotten,
                "lists: {id:?} was taken back or forgotten, and its verdict stays"
            );
        }
    }
}
