//! The snapshot in use as a tab stores it for the next visit, and what a page that opens must make of it.

use std::collections::BTreeSet;
use std::rc::Rc;

use seenguard::{Format, Impression, Snapshot, Time};

use super::coverage;
use super::device::Device;
use super::items::Item;
use super::scene::Scene;
use super::shipment::Shipped;
use super::snapshots;
use super::tab::number_of;
use super::view::View;

/// A snapshot that was stored.
#[derive(Debug)]
pub struct Kept {
    /// As the guard gives them.
    texts: Vec<String>,
    shards: Vec<Rc<Shipped>>,
    unseen: Vec<(Item, u64)>,
    forget_before: u32,
    /// By how much the device's clock was ahead of the server's.
    ahead_ms: Option<i128>,
}

/// What a tab stores of the snapshot in use.
pub fn text_of(device: &mut Device, tab: usize, scene: &mut Scene<'_>) -> Option<String> {
    let page = &device.tabs[tab];
    let texts = page.guard.shard_texts().expect("those of one user are short enough");
    let texts: Vec<String> = texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    assert!(
        texts.iter().eq(page.view.shards.iter().map(|shipped| &shipped.text)),
        "restored: the shards in use are those that are stored"
    );
    let unseen = page.view.unseen.iter().map(|(&item, unseen)| (item, unseen.stated));
    let kept = Kept {
        texts,
        shards: page.view.shards.clone(),
        unseen: unseen.collect(),
        forget_before: page.view.forget_before,
        ahead_ms: page.view.server_ahead,
    };
    let text = format!("snapshot {}", device.snapshots.len());
    device.snapshots.insert(text.clone(), Rc::new(kept));
    scene.tally.reach("a snapshot is stored");
    Some(text)
}

/// A page that looks for the first time takes what is stored, unless it has taken a snapshot already, or knows of a later
/// deletion; nothing of a text that is damaged.
pub fn restore(device: &mut Device, tab: usize, key: &str, text: &str, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let Some(kept) = device.snapshots.get(text).map(Rc::clone) else {
        scene.tally.reach("a damaged stored snapshot is refused");
        return;
    };
    let page = &mut device.tabs[tab];
    assert_eq!(
        number_of(key),
        page.number,
        "restored: nothing cleared comes back from storage"
    );
    let server_ms = kept
        .ahead_ms
        .map(|ahead| (i128::from(time.unix_ms()) + ahead).max(0) as u64);
    let impression = |&(item, at): &(Item, u64)| Impression {
        id: scene.items.text(item).to_owned(),
        at: Time::from_unix_ms(at),
    };
    let unseen: Vec<Impression> = kept.unseen.iter().map(impression).collect();
    let snapshot = Snapshot {
        version: None,
        shards: &kept.texts,
        format: Format::Native,
        now_ms: server_ms,
        unseen: &unseen,
        forget_before: (kept.forget_before > 0).then_some(kept.forget_before),
    };
    let references: Vec<&str> = kept.shards.iter().map(|shipped| shipped.reference.as_str()).collect();
    let before = page.guard.pending(usize::MAX, time);
    let listed_before: BTreeSet<Item> = page.view.unseen.keys().copied().collect();
    let restored = page.guard.restore(snapshot, time).expect("what was in use can be read");
    let must_be_refused = page.has_applied || kept.forget_before < page.knows_deletion;
    let may_be_refused = must_be_refused || kept.forget_before < page.may_know_deletion;
    // After a snapshot with a reference to what it lacks a page names nothing until it has taken one.
    let is_held = match page.is_missing_shard {
        true => snapshots::shards_in_use(&page.guard) == references.len(),
        false => page.guard.held() == references.join("."),
    };
    let is_refused = page.has_applied || !is_held;
    // Whether one without shards is in use does not show.
    if is_refused || (kept.shards.is_empty() && may_be_refused) {
        assert!(may_be_refused, "restored: what is not older is taken over");
        scene.tally.reach("a stored snapshot is refused");
        return;
    }
    assert!(!must_be_refused, "restored: nothing forgotten comes back from storage");
    assert_eq!(
        snapshots::shards_in_use(&page.guard),
        kept.shards.len(),
        "restored: the shards are held"
    );
    scene.tally.reach("a stored snapshot is taken over");
    let next = View {
        version: None,
        forget_before: kept.forget_before,
        may_forget_before: kept.forget_before,
        shards: kept.shards.clone(),
        server_ahead: server_ms.map(|server_ms| i128::from(server_ms) - i128::from(time.unix_ms())),
        unseen: page.view.next_unseen(&kept.unseen, server_ms, time.unix_ms()),
    };
    page.view = next;
    snapshots::check_reach(device, tab, server_ms, scene);
    // What is recorded only to be counted is no item of a feed.
    if before.iter().all(|text| scene.items.of(text).is_some()) {
        coverage::check_settled(device, tab, (&before, &listed_before), &restored, false, scene);
    }
}
