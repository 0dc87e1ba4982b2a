//! The snapshot in use as a tab stores it for the next visit, and what a page that opens must make of it.

use std::rc::Rc;

use seenguard::Now;

use super::device::Device;
use super::items::Item;
use super::scene::Scene;
use super::shipment::Shipped;
use super::snapshots;
use super::view::View;

/// A snapshot that was stored.
#[derive(Debug)]
pub struct Kept {
    shards: Vec<Rc<Shipped>>,
    unseen: Vec<(Item, u64)>,
    forget_before: u32,
    /// By how much the device's clock was ahead of the server's.
    ahead_ms: Option<i128>,
}

impl Kept {
    pub fn of(view: &View, now: Now) -> Self {
        let unseen = view.unseen.iter().map(|(&item, taken_back)| (item, taken_back.stated));
        let to_steady = i128::from(now.wall_ms) - i128::from(now.steady_ms);
        Kept {
            shards: view.shards.clone(),
            unseen: unseen.collect(),
            forget_before: view.forget_before,
            ahead_ms: view.server_ahead.map(|ahead| to_steady - ahead),
        }
    }
}

/// The number of a clear, as a key ends with it or has it before another one.
pub fn clear_of(key: &str) -> u64 {
    let number = key.split('/').nth(3).unwrap_or_default();
    u64::from_str_radix(number, 36).expect("numbers are to the base 36")
}

/// A page has loaded: it has taken over what was stored, unless it has taken a snapshot already, knows of a later
/// deletion or clear, or the text was damaged. Of damaged shards the others are held.
pub fn restored(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let Some((clear, text)) = page.found_snapshot.take() else {
        return;
    };
    let kept = Rc::clone(&device.snapshots[&text]);
    let shards: Vec<Rc<Shipped>> = kept
        .shards
        .iter()
        .filter(|shard| text.contains(&shard.text))
        .cloned()
        .collect();
    let is_outdated = page.has_applied || clear < page.guard.clear_number();
    let must_be_refused = is_outdated || kept.forget_before < page.knows_deletion;
    let may_be_refused = is_outdated || kept.forget_before < page.may_know_deletion || page.notices.damaged_snapshot;
    let is_refused = page.has_applied || page.notices.damaged_snapshot || page.guard.shards() < shards.len();
    if is_refused || (shards.is_empty() && must_be_refused) {
        assert!(may_be_refused, "restored: what is not older is taken over");
        scene.tally.reach("a stored snapshot is refused");
        return;
    }
    assert!(
        !must_be_refused,
        "restored: nothing forgotten or cleared comes back from storage"
    );
    assert_eq!(
        page.guard.shards(),
        shards.len(),
        "restored: exactly the shards that are not damaged are held"
    );
    scene.tally.reach(if shards.len() < kept.shards.len() {
        "a stored snapshot lacks shards"
    } else {
        "a stored snapshot is taken over"
    });
    let server_ms = kept
        .ahead_ms
        .map(|ahead| (i128::from(clocks.wall_ms) - ahead).max(0) as u64);
    let next = View {
        version: None,
        forget_before: kept.forget_before,
        may_forget_before: kept.forget_before,
        shards,
        server_ahead: server_ms.map(|server_ms| i128::from(server_ms) - i128::from(clocks.steady_ms)),
        unseen: page.view.next_unseen(&kept.unseen, server_ms, clocks.wall_ms),
    };
    snapshots::use_view(device, tab, next, scene);
    snapshots::check_reach(device, tab, server_ms, scene);
}
