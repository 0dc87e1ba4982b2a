//! What a snapshot covers: it is pending no longer, and nothing else changes.

use std::collections::BTreeSet;

use seenguard::device::Applied;

use super::device::Device;
use super::items::Item;
use super::ledger::{Ledger, Recording};
use super::scene::Scene;
use super::tab::Tab;

/// Exactly those that a live shard contains are settled, but for those that the server unsees, and those that leave
/// because the history was deleted. What it no longer unsees is pending again.
pub fn check_settled(
    device: &mut Device,
    tab: usize,
    (before, listed_before): (&[String], &BTreeSet<Item>),
    applied: &Applied,
    is_deleting: bool,
    scene: &mut Scene<'_>,
) {
    let time = device.time(scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let item_of = |text: &str| scene.items.of(text).expect("an item of this feed");
    let is_covered = |text: &str, item| !page.view.lists(item) && page.view.contains(text, time);
    let (covered, left): (Vec<&String>, Vec<&String>) = before.iter().partition(|text| is_covered(text, item_of(text)));
    // Pending, and made unseen by the snapshot before.
    let hidden = listed_before.iter().copied().filter(|&item| {
        let text = scene.items.text(item);
        let may_be_pending = |(index, recording): (usize, &Recording)| {
            let has_expired = time.unix_ms() >= recording.at + ledger.window_ms;
            // What was dropped may come back from a row that was written before it was covered.
            let is_settled = page.settled.contains(&index) && page.must_remember(ledger, index);
            !recording.unseen && !has_expired && !is_settled
        };
        let mut candidates = page.candidates(ledger, item);
        is_covered(text, item) && !before.iter().any(|pending| pending == text) && candidates.any(may_be_pending)
    });
    let hidden: Vec<Item> = hidden.collect();
    let after = page.guard.pending(usize::MAX, time);
    // What an unsee may hide or show is not compared here.
    let is_plain = |text: &str| {
        let item = item_of(text);
        !page.view.lists(item) && !listed_before.contains(&item)
    };
    let stays: Vec<&str> = left
        .iter()
        .map(|text| text.as_str())
        .filter(|text| is_plain(text))
        .collect();
    let there = after.iter().map(String::as_str).filter(|text| is_plain(text));
    let is_right = if is_deleting {
        let may_stay: BTreeSet<&str> = stays.into_iter().collect();
        there.clone().all(|text| may_stay.contains(text))
    } else {
        there.clone().eq(stays)
    };
    assert!(
        is_right,
        "settled by coverage: {} pending, {} of them covered, {} left",
        before.len(),
        covered.len(),
        after.len()
    );
    let counts = covered.len()..=covered.len() + hidden.len();
    assert!(
        counts.contains(&applied.covered) || is_deleting,
        "settled by coverage: {} are counted, {counts:?} were covered",
        applied.covered,
    );
    let mut of_before = before.iter();
    for covered in &applied.lags {
        let (item, lag_ms) = (item_of(&covered.id), covered.lag_ms);
        assert!(
            hidden.contains(&item) || of_before.any(|text| *text == covered.id),
            "lag: of what was not pending, or twice"
        );
        let is_right = |recording: &Recording| time.unix_ms().saturating_sub(recording.at) == lag_ms;
        assert!(
            ledger.of(item).any(|(_, recording)| is_right(recording)),
            "lag: {lag_ms} ms is the age of no impression"
        );
    }
    let covered: Vec<Item> = covered.into_iter().map(|text| item_of(text)).collect();
    for item in covered {
        settle(page, ledger, item, true, scene);
    }
    for item in hidden {
        settle(page, ledger, item, false, scene);
    }
}

/// Notes that a snapshot covered an item here that was pending, or that may have been.
fn settle(page: &mut Tab, ledger: &mut Ledger, item: Item, was_pending: bool, scene: &mut Scene<'_>) {
    ledger.covered.insert(item);
    if !page.is_reporting {
        ledger.text_dropped.insert(item);
    }
    let candidates: Vec<usize> = page.candidates(ledger, item).map(|(index, _)| index).collect();
    page.is_not_due(ledger, item);
    if let [index] = candidates[..] {
        let must_be_pending = page.must_keep_text(ledger, index);
        if was_pending || must_be_pending {
            page.unsaved.covered.insert(index);
        }
    }
    if !scene.server.ever.contains_key(&item) {
        scene.tally.reach("a false positive covers an impression");
    }
}
