//! A tab records and makes items unseen; the ledger has each recording, with its tab's knowledge.

use seenguard::device::Explanation;

use super::device::Device;
use super::items::Item;
use super::ledger::{Recording, What};
use super::stream::Entry;
use super::tab::{State, Urgency};
use super::world::Scene;

/// Records impressions: each is known, pending unless covered, and delivered by whoever delivers.
pub fn record(device: &mut Device, tab: usize, seen: &[Item], scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let recorded = device.tabs[tab].guard.record(&scene.items.texts(seen), time);
    let (mut most_unknown, mut never_seen) = (0, 0);
    for &item in seen {
        let (page, ledger) = (&device.tabs[tab], &device.ledger);
        most_unknown += usize::from(!page.table_must_stop(ledger, item, time.unix_ms()));
        never_seen += usize::from(!ledger.has(item));
        let is_covered = !page.view.lists(item) && page.view.contains(scene.items.text(item), time);
        note(device, tab, item, What::Seen, scene);
        let (page, ledger) = (&device.tabs[tab], &mut device.ledger);
        if is_covered {
            ledger.covered.insert(item);
        }
        if is_covered && !page.facts.reports {
            ledger.text_dropped.insert(item);
        }
        if !scene.conditions.reports {
            report(item, false, scene);
        }
    }
    let unknown = recorded.unknown;
    assert!(
        (never_seen..=most_unknown).contains(&unknown),
        "record: {unknown} were counted as unknown, of which {never_seen} to {most_unknown} are"
    );
}

/// Records an item that the person has met elsewhere in the app: it is stopped from then on, or nothing changes if it was.
pub fn record_local(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let text = scene.items.text(item);
    let page = &mut device.tabs[tab];
    let before = page.guard.explain(text, time);
    let pending = page.guard.stats(time).pending;
    page.guard.record_local(&[text], time);
    let after = page.guard.explain(text, time);
    assert!(
        page.guard.stats(time).pending <= pending,
        "local: nothing is pending for it"
    );
    if before.is_some() {
        assert_eq!(before, after, "local: what is stopped stays as it is");
        return;
    }
    let is_remembered = matches!(after, Some(Explanation::Device { .. }));
    assert!(is_remembered, "local: {item:?} is remembered, not {after:?}");
    note(device, tab, item, What::Local, scene);
    device.ledger.covered.insert(item);
    device.ledger.text_dropped.insert(item);
    scene.tally.reach("an item is recorded that no server learns of");
}

/// The app reports it to the server itself, by the server's clock.
fn report(item: Item, is_unseen: bool, scene: &mut Scene<'_>) {
    let entry = Entry {
        item,
        is_unseen,
        at: scene.now,
        sent_at: scene.now,
    };
    scene.server.send(entry, scene.now, scene.conditions, scene.random);
}

/// Unsees a recently seen item: it passes.
pub fn unsee(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let recordings = &device.ledger.recordings;
    if recordings.is_empty() {
        return;
    }
    let from = recordings.len().saturating_sub(30);
    let item = recordings[from + scene.random.index(recordings.len() - from)].item;
    let time = device.time(scene.now);
    let guard = &mut device.tabs[tab].guard;
    let text = scene.items.text(item);
    let was_stopped = guard.explain(text, time).is_some();
    let unseen = guard.unsee(&[text], time);
    assert_eq!(unseen, usize::from(was_stopped), "unseen: it counts what was stopped");
    assert!(guard.explain(text, time).is_none(), "unseen: {item:?} passes");
    note(device, tab, item, What::Unseen, scene);
    if !scene.conditions.reports {
        report(item, true, scene);
    }
    scene.tally.reach("an item is unseen");
}

/// Enters a recording into the ledger. Its time is now, but after the server made the item unseen, a millisecond ahead
/// at most, and not before a deletion that its tab knows of.
fn note(device: &mut Device, tab: usize, item: Item, what: What, scene: &Scene<'_>) {
    let wall_ms = device.wall(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let unseen = page.view.unseen.get(&item).filter(|_| what != What::Unseen);
    let earliest = unseen.map_or(0, |unseen| unseen.reach + 1);
    let at = wall_ms.max(earliest).min(wall_ms + 1).max(page.facts.floor.at);
    let index = ledger.recordings.len();
    let is_missed = |index: &usize| !page.known.contains_key(index);
    let missed_of_item: Vec<usize> = ledger.of(item).map(|(index, _)| index).filter(is_missed).collect();
    ledger.push(Recording {
        item,
        what,
        at,
        true_ms: scene.now,
        author: page.serial,
        known: page.known.len(),
        missed: index - page.known.len(),
        missed_of_item,
        bytes_before: ledger.bytes,
        to_deliver: page.facts.reports && what == What::Seen,
    });
    ledger.bytes += scene.items.text(item).len();
    page.known.insert(index, State::default());
    page.changed(ledger, item, Urgency::Now);
}
