//! A person looks at a feed: snapshots are applied, items filtered, impressions recorded, and each answer is compared with what truly happened.

use std::collections::HashSet;

use seenguard::{BloomFilter, Explanation, Format, Guard, Now, Parameters, Shard, Snapshot};

use super::chance::Chance;
use super::conditions::{Conditions, Versions};
use super::device::Device;
use super::items::{Item, Items};
use super::ledger::{Impression, REMEMBERED};
use super::server::{Server, State};
use super::statistics::{Question, Tally};
use super::tab::View;
use super::writer::Job;
use crate::random::Random;

/// What a person's doings on a device need beside it.
pub struct Scene<'a> {
    pub now: u64,
    pub conditions: &'a Conditions,
    pub items: &'a mut Items,
    pub server: &'a mut Server,
    pub random: &'a mut Random,
    pub tally: &'a mut Tally,
}

impl Scene<'_> {
    fn window_ms(&self) -> u64 {
        self.conditions.window_ms()
    }
}

/// A list of candidates; those that nobody has ever seen or asked for come first.
struct Candidates {
    items: Vec<Item>,
    fresh: usize,
}

/// A refresh: a snapshot, a page of items, and some of them are looked at.
pub fn refresh(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let state = scene.server.ship(scene.now, scene.conditions, scene.random);
    match scene.random.below(60) {
        0 => apply_broken(device, tab, &state, scene),
        1 => {}
        _ => apply(device, tab, &state, scene),
    }
    let candidates = candidates(device, scene);
    let passed = filter(device, tab, &candidates, scene);
    check_pending(device, tab, scene);
    probe(device, tab, scene);
    if scene.random.percent(15) {
        probe_memory(device, tab, scene);
    }
    let seen = watched(device, &candidates, &passed, scene);
    if !seen.is_empty() {
        record(device, tab, &seen, scene);
    }
    check_limits(device, tab, scene);
}

/// Applies a state; what is covered leaves the pending ones, and nothing else does.
pub fn apply(device: &mut Device, tab: usize, state: &State, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let has_version = match scene.conditions.versions {
        Versions::Always => true,
        Versions::Never => false,
        Versions::Sometimes => scene.random.percent(50),
    };
    let version = has_version.then_some(state.version);
    let now_ms = scene.conditions.tells_clock.then_some(scene.now);
    let page = &mut device.tabs[tab];
    let before = page.guard.pending(usize::MAX);
    let texts: Vec<&String> = state.shards.iter().map(|shipped| &shipped.text).collect();
    let snapshot = Snapshot {
        version,
        shards: &texts,
        format: Format::Native,
        now_ms,
    };
    let applied = page
        .guard
        .apply(snapshot, clocks)
        .expect("snapshots: a whole one is taken");
    let is_older = version.is_some() && version < page.view.version;
    assert_eq!(
        applied.applied, !is_older,
        "snapshots: an older one is not taken, any other is"
    );
    if is_older {
        scene.tally.reach("an older snapshot is refused");
        assert_eq!(
            page.guard.pending(usize::MAX),
            before,
            "snapshots: an older one settles nothing"
        );
        return;
    }
    let reused = reused(&page.view, state);
    assert_eq!(
        applied.reused, reused,
        "snapshots: shards that are held are not read again"
    );
    page.view = View {
        version,
        shards: state.shards.clone(),
        server_ahead: now_ms.map(|now_ms| i128::from(now_ms) - i128::from(clocks.steady_ms)),
    };
    let live = page.view.live(clocks).count();
    assert_eq!(
        (applied.shards, applied.expired),
        (state.shards.len(), state.shards.len() - live),
        "snapshots: a shard past its expiry by the server's clock answers nothing"
    );
    if live < state.shards.len() {
        scene.tally.reach("a shipped shard is past its expiry");
    }
    check_settled(device, tab, &before, &applied.lags, scene);
}

fn reused(view: &View, state: &State) -> usize {
    let mut held: Vec<&String> = view.shards.iter().map(|shipped| &shipped.text).collect();
    let mut reused = 0;
    for shipped in &state.shards {
        if let Some(place) = held.iter().position(|text| **text == shipped.text) {
            held.swap_remove(place);
            reused += 1;
        }
    }
    reused
}

/// Exactly those that a live shard contains are settled.
fn check_settled(device: &mut Device, tab: usize, before: &[String], lags: &[(String, u64)], scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
    let (covered, left): (Vec<&String>, Vec<&String>) =
        before.iter().partition(|text| page.view.contains(text, clocks));
    let after = page.guard.pending(usize::MAX);
    assert!(
        after.iter().eq(left),
        "settled by coverage: {} pending, {} of them covered, {} left",
        before.len(),
        covered.len(),
        after.len()
    );
    assert!(
        lags.iter().map(|(text, _)| text).eq(covered.iter().copied()),
        "settled by coverage: what is reported is what was covered"
    );
    for (text, lag) in lags {
        let item = scene.items.of(text).expect("an item of this feed");
        let is_right = |impression: &Impression| clocks.wall_ms.saturating_sub(impression.at) == *lag;
        assert!(
            ledger.of(item).any(|(_, impression)| is_right(impression)),
            "lag: {lag} ms is the age of no impression"
        );
        ledger.covered.insert(item);
        page.due.remove(&item);
        if let Some(&confirmed) = ledger.confirmed.get(&item) {
            page.covered_delivery = page.covered_delivery.max(confirmed);
        }
        if !scene.server.ever.contains_key(&item) {
            scene.tally.reach("a false positive covers an impression");
        }
        page.was_misled |= !is_covered_by_known_delivery(item, ledger, scene);
    }
}

/// Whether what covers an item is one of the deliveries that this device can know of: not another impression of the item, another device's, or
/// a delivery whose tab died before it could tell.
fn is_covered_by_known_delivery(item: Item, ledger: &super::ledger::Ledger, scene: &Scene<'_>) -> bool {
    let arrived = ledger.times_arrived(item);
    let only_here = scene.server.times_sent.get(&item) == Some(&arrived);
    let is_told = arrived == 1 || !scene.conditions.crashes;
    scene.server.ever.contains_key(&item) && only_here && is_told && ledger.of(item).count() == 1
}

/// A snapshot of which a part is damaged changes nothing.
fn apply_broken(device: &mut Device, tab: usize, state: &State, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let mut texts: Vec<String> = state.shards.iter().map(|shipped| shipped.text.clone()).collect();
    let Some(last) = texts.last_mut() else { return };
    last.replace_range(40..44, if &last[40..44] == "AAAA" { "BBBB" } else { "AAAA" });
    let before = (
        page.guard.pending(usize::MAX),
        page.guard.version(),
        page.guard.held(clocks),
    );
    let outcome = page.guard.apply(
        Snapshot {
            version: None,
            shards: &texts,
            format: Format::Native,
            now_ms: None,
        },
        clocks,
    );
    assert!(outcome.is_err(), "all or nothing: a damaged snapshot is refused");
    let after = (
        page.guard.pending(usize::MAX),
        page.guard.version(),
        page.guard.held(clocks),
    );
    assert_eq!(before, after, "all or nothing: a damaged snapshot changes nothing");
    scene.tally.reach("a damaged snapshot is refused");
}

fn candidates(device: &Device, scene: &mut Scene<'_>) -> Candidates {
    let fresh = scene.random.between(2, 20) as usize;
    let mut items: Vec<Item> = (0..fresh).map(|_| scene.items.publish(scene.random)).collect();
    let seen = &device.ledger.impressions;
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
    Candidates { items, fresh }
}

/// Filters, and judges each answer. Returns the fresh ones of the answer.
fn filter(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) -> Vec<Item> {
    let clocks = device.clocks(tab, scene.now);
    let page = &mut device.tabs[tab];
    let texts = scene.items.texts(&candidates.items);
    let answer = page.guard.filter(&texts, clocks);
    assert_eq!(
        answer,
        page.guard.filter(&texts, clocks),
        "pure filter: the same call, the same answer"
    );
    let mut passes = vec![false; texts.len()];
    for &index in &answer {
        passes[index as usize] = true;
    }
    for (index, &item) in candidates.items.iter().enumerate() {
        if candidates.items[..index].contains(&item) {
            assert!(!passes[index], "pure filter: a duplicate id passes once");
            continue;
        }
        if passes[index] {
            check_passed(device, tab, item, scene);
        } else {
            check_stopped(device, tab, item, scene);
        }
    }
    ask_fresh(device, tab, candidates, scene);
    answer.iter().map(|&index| candidates.items[index as usize]).collect()
}

/// What passes is in no live shard, and was not seen here as far as must be known.
fn check_passed(device: &Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, text) = (&device.tabs[tab], scene.items.text(item));
    assert!(!page.guard.has(text, clocks), "pure filter: what passes is not seen");
    assert!(
        !page.view.contains(text, clocks),
        "no repeat: {item:?} passes, and a live shard contains it"
    );
    if let Some(impression) = page.reason_to_stop(&device.ledger, item, clocks.wall_ms, scene.window_ms()) {
        panic!(
            "no repeat: {item:?} passes at {} by the device's clock, and was seen: {impression:?}",
            clocks.wall_ms
        );
    }
    for (index, impression) in device.ledger.of(item) {
        if page.knows(index) && impression.generation == page.writer.generation {
            let bound = if device.ledger.others_since(index) > REMEMBERED {
                "an impression is forgotten after 10,000 others"
            } else {
                "an impression is forgotten after the window"
            };
            scene.tally.reach(bound);
        }
    }
}

/// What is stopped is stopped for a reason that exists.
fn check_stopped(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let (page, text) = (&device.tabs[tab], scene.items.text(item));
    let window_ms = scene.window_ms();
    match page.guard.explain(text, clocks) {
        None => panic!("pure filter: {item:?} is stopped, and nothing explains it"),
        Some(Explanation::Server { shard, epoch }) => assert_eq!(
            page.view.find(text, clocks),
            epoch.map(|epoch| (shard, epoch)),
            "all or nothing: {item:?} is stopped by a shard of the snapshot in use"
        ),
        Some(Explanation::Pending { at }) => assert!(
            device.ledger.of(item).any(|(_, impression)| impression.at == at
                && impression.generation == page.writer.generation
                && clocks.wall_ms < at + window_ms),
            "known reasons: {item:?} is pending here since {at}, and was not seen then, or before a clear, or too long ago"
        ),
        Some(Explanation::Memory) => {}
    }
    ask_memory(device, tab, item, scene);
}

/// Whether the memory stops what it should have forgotten: after a clear, or half a window after its time. Each item is asked for once.
fn ask_memory(device: &mut Device, tab: usize, item: Item, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let page = &device.tabs[tab];
    if !device.ledger.has(item) || device.clock_jumped || !page.writer.is_loaded {
        return;
    }
    let is_known_as_old = device
        .ledger
        .of(item)
        .all(|(_, impression)| impression.generation < page.writer.generation);
    let longest = scene.window_ms() * 8 / 5;
    let is_overdue = device
        .ledger
        .of(item)
        .all(|(_, impression)| impression.at + longest < clocks.wall_ms);
    let (question, asked) = if is_known_as_old {
        (Question::StoppedAfterClear, &mut device.ledger.asked_cleared)
    } else if is_overdue {
        (Question::StoppedTooLong, &mut device.ledger.asked_overdue)
    } else {
        return;
    };
    if asked.insert(item) {
        let by_memory = page.guard.explain(scene.items.text(item), clocks) == Some(Explanation::Memory);
        let rate = page.guard.stats(clocks).memory_false_positive_rate;
        scene.tally.ask(question, rate, by_memory);
    }
}

/// How many of the fresh ones were stopped all the same.
fn ask_fresh(device: &mut Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let guard = &device.tabs[tab].guard;
    let stats = guard.stats(clocks);
    for &item in &candidates.items[..candidates.fresh] {
        let why = guard.explain(scene.items.text(item), clocks);
        assert!(
            !matches!(why, Some(Explanation::Pending { .. })),
            "known reasons: a fresh item is pending"
        );
        let tally = &mut *scene.tally;
        let by_memory = why == Some(Explanation::Memory);
        tally.ask(Question::StoppedByMemory, stats.memory_false_positive_rate, by_memory);
        // What the memory stops is not asked of the server.
        let by_server = matches!(why, Some(Explanation::Server { .. }));
        tally.ask(Question::StoppedByServer, stats.server_false_positive_rate, by_server);
    }
}

/// What must be pending is, and what is pending was seen here.
fn check_pending(device: &mut Device, tab: usize, scene: &mut Scene<'_>) {
    let page = &device.tabs[tab];
    let pending: Vec<Item> = page
        .guard
        .pending(usize::MAX)
        .iter()
        .map(|text| scene.items.of(text).expect("an item of this feed"))
        .collect();
    let was_seen = |item: Item| {
        let mut impressions = device.ledger.of(item);
        impressions.any(|(_, impression)| impression.generation == page.writer.generation)
    };
    assert!(
        pending.iter().all(|&item| was_seen(item)),
        "known reasons: something is pending that was not seen here since the last clear"
    );
    let there: HashSet<Item> = pending.iter().copied().collect();
    assert_eq!(there.len(), pending.len(), "pending: an id is there once");
    let page = &mut device.tabs[tab];
    let (overflows, entered_now) = (page.may_have_overflowed(), page.entered);
    let ledger = &device.ledger;
    page.due.retain(|&item, &mut entered| {
        if there.contains(&item) {
            return true;
        }
        // Delivered ones leave first.
        let had_to_leave = entered.may_have_left(entered_now) || (overflows && ledger.times_arrived(item) > 0);
        assert!(
            had_to_leave,
            "pending until covered: {item:?} is not pending, and no snapshot covered it"
        );
        scene.tally.reach("an impression leaves the full journal");
        false
    });
}

/// Asks for a few items at other times of the device's clock: to the last millisecond of the window, and whatever the clock says before.
fn probe(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let ledger = &device.ledger;
    for _ in 0..6 {
        if ledger.impressions.is_empty() {
            return;
        }
        let last = ledger.impressions.len() - 1;
        let index = if scene.random.percent(20) {
            last.saturating_sub(REMEMBERED)
        } else {
            scene.random.index(last + 1)
        };
        check_remembered(device, tab, index, &device.tabs[tab].guard, scene);
    }
}

/// The same, as if the server had covered and then lost everything: of the memory alone.
fn probe_memory(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let guard = memory_alone(&device.tabs[tab].guard, device.clocks(tab, scene.now));
    let impressions = device.ledger.impressions.len();
    for _ in 0..35 {
        if impressions > 0 {
            let index = impressions - 1 - scene.random.index(impressions.min(REMEMBERED + 1));
            check_remembered(device, tab, index, &guard, scene);
        }
    }
}

/// A guard of which nothing is pending, and that has no snapshot.
pub fn memory_alone(guard: &Guard, clocks: Now) -> Guard {
    let mut guard = guard.clone();
    let mut everything = BloomFilter::new(Parameters::new(1, 1).expect("one bit is a filter"), 0);
    everything.insert("anything");
    let everything = Shard::new(everything, 0, 0).to_base64().unwrap();
    for shards in [&[everything][..], &[]] {
        let snapshot = Snapshot {
            version: None,
            shards,
            format: Format::Native,
            now_ms: None,
        };
        guard
            .apply(snapshot, clocks)
            .expect("snapshots: any that can be read is taken");
    }
    assert_eq!(
        guard.pending(1),
        [""; 0],
        "settled by coverage: something is pending still"
    );
    guard
}

fn check_remembered(device: &Device, tab: usize, index: usize, guard: &Guard, scene: &mut Scene<'_>) {
    let page = &device.tabs[tab];
    if !page.must_remember(&device.ledger, index) {
        return;
    }
    let impression = &device.ledger.impressions[index];
    let end = impression.at + scene.window_ms() - 1;
    let mut clocks = device.clocks(tab, scene.now);
    clocks.wall_ms = match scene.random.below(3) {
        0 => end,
        1 => impression.at,
        _ => scene.random.between(0, end),
    };
    assert!(
        guard.has(scene.items.text(impression.item), clocks),
        "no repeat: at {} by the device's clock, after {} others, this passes: {impression:?}",
        clocks.wall_ms,
        device.ledger.others_since(index)
    );
    if device.ledger.others_since(index) == REMEMBERED {
        scene
            .tally
            .reach("an impression is remembered after exactly 10,000 others");
    }
    if clocks.wall_ms == end {
        scene
            .tally
            .reach("an impression is remembered to the window's last millisecond");
    }
}

/// What a person looks at: some of what passed, and now and then something seen before, as another list still shows it.
fn watched(device: &Device, candidates: &Candidates, passed: &[Item], scene: &mut Scene<'_>) -> Vec<Item> {
    let most = scene.random.between(0, scene.conditions.most_recorded) as usize;
    let mut watched: Vec<Item> = passed.iter().copied().take(most).collect();
    while watched.len() < most && scene.conditions.most_recorded > 40 {
        watched.push(scene.items.publish(scene.random));
    }
    for _ in 0..2 {
        if scene.random.percent(12) {
            watched.push(candidates.items[scene.random.index(candidates.items.len())]);
        }
        if scene.random.percent(6) && !device.ledger.impressions.is_empty() {
            let impressions = &device.ledger.impressions;
            watched.push(impressions[scene.random.index(impressions.len())].item);
        }
    }
    watched
}

/// Records impressions: each is known, pending unless covered, and delivered by whoever delivers.
pub fn record(device: &mut Device, tab: usize, seen: &[Item], scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let window_ms = scene.window_ms();
    let texts = scene.items.texts(seen);
    let recorded = device.tabs[tab].guard.record(&texts, clocks);
    let (mut most_unknown, mut never_seen) = (0, 0);
    for &item in seen {
        let (page, ledger) = (&mut device.tabs[tab], &mut device.ledger);
        most_unknown += usize::from(page.reason_to_stop(ledger, item, clocks.wall_ms, window_ms).is_none());
        never_seen += usize::from(!ledger.has(item));
        let index = ledger.push(Impression {
            item,
            at: clocks.wall_ms,
            true_ms: scene.now,
            generation: page.writer.generation,
            stored_ms: None,
            told_ms: None,
            author: page.serial,
            to_deliver: page.delivering,
            promised: false,
        });
        page.own.push(index);
        page.learn(index);
        page.entered.entries += 1;
        page.entered.bytes += scene.items.text(item).len();
        if page.view.contains(scene.items.text(item), clocks) {
            ledger.covered.insert(item);
            page.due.remove(&item);
        } else {
            page.due.insert(item, page.entered);
        }
        if !scene.conditions.reports {
            scene.server.send(item, scene.now, scene.conditions, scene.random);
        }
    }
    assert!(
        recorded.unknown <= most_unknown,
        "record: {} were counted as unknown, of which at most {most_unknown} are",
        recorded.unknown
    );
    let page = &mut device.tabs[tab];
    let rate = page.guard.stats(clocks).memory_false_positive_rate;
    for place in 0..never_seen {
        let as_known = place < never_seen.saturating_sub(recorded.unknown);
        scene.tally.ask(Question::CountedAsKnown, rate, as_known);
    }
    page.ask(Job::Flush, scene.now);
}

/// Nothing is past its limits.
fn check_limits(device: &Device, tab: usize, scene: &mut Scene<'_>) {
    let clocks = device.clocks(tab, scene.now);
    let guard = &device.tabs[tab].guard;
    let stats = guard.stats(clocks);
    assert!(
        stats.pending <= super::device::MOST_ENTRIES,
        "limits: {} are pending",
        stats.pending
    );
    assert!(
        stats.remembered <= REMEMBERED as u64,
        "limits: {} are remembered",
        stats.remembered
    );
    if stats.pending > 1_000 {
        let bytes: usize = guard.pending(usize::MAX).iter().map(String::len).sum();
        assert!(
            bytes <= super::device::MOST_ID_BYTES,
            "limits: {bytes} bytes of ids are pending"
        );
    }
    if stats.pending == super::device::MOST_ENTRIES {
        scene.tally.reach("5,000 impressions are pending");
    }
    let server: usize = device.tabs[tab]
        .view
        .shards
        .iter()
        .map(|shipped| shipped.shard.filter.parameters().bits() as usize)
        .sum();
    // Sixty-four lanes of the memory, a journal with its table, and lanes of a server's bank that are free.
    let most = 64 * 38_341 / 8 + 512 * 1024 + 1024 * 1024 + server + 64 * 1024;
    assert!(stats.bytes <= most, "limits: {} bytes are held", stats.bytes);
    if scene.random.percent(5) {
        let lanes = lanes_of(&guard.checkpoint());
        assert!(lanes <= 64, "limits: the memory has {lanes} lanes");
        if lanes > 16 {
            scene.tally.reach("the memory has over 16 lanes");
        }
    }
}

/// How many shards of the memory a segment holds: its records of the kind `m`, which base64 begins with `b`.
fn lanes_of(segment: &str) -> usize {
    segment.lines().skip(1).filter(|line| line.starts_with('b')).count()
}
