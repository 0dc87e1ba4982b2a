//! Devices' pending lists in the server's store: a page leaves out ids of other devices.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::hash::hash_id;
use seenguard::{MAX_PENDING_DEVICES, PENDING_SECONDS, Pending, PendingUpdate, Time};

use super::conditions::SECOND;
use super::device::Device;
use super::items::{Item, Items};
use super::lists::Candidates;
use super::server::Server;
use super::statistics::Question;
use super::world::Scene;

/// Most ids of a pending list, the newest.
const MOST_LISTED: usize = 1_000;
/// After this number of seconds a repeated list counts as new.
const REWRITTEN_AFTER_SECONDS: u64 = 3_600;
/// Bits of an id's hash in a list.
const BITS: u32 = 24;

/// The pending list of a request or a report.
#[derive(Debug, Clone)]
pub struct PendingList {
    text: String,
    /// Its name, empty: none; its counter, and when the history was deleted.
    device: String,
    counter: u64,
    forgotten: u64,
    /// Its items, and their bits in the list.
    items: BTreeSet<Item>,
    bits: BTreeSet<u64>,
    at_ms: u64,
}

fn bits_of(id: &str) -> u64 {
    hash_id(id.as_bytes(), 0) % (1 << BITS)
}

impl PendingList {
    /// A tab's list now. It has a name if the tab knows that the store has it.
    pub fn by(device: &Device, tab: usize, time: Time, now: u64, items: &Items) -> PendingList {
        let page = &device.tabs[tab];
        let pending = page.guard.pending(usize::MAX, time);
        let newest = &pending[pending.len().saturating_sub(MOST_LISTED)..];
        let text = page.guard.pending_list(usize::MAX, time);
        let parts: Vec<&str> = text.split('.').collect();
        let number = |text| u64::from_str_radix(text, 36).expect("numbers are to the base 36");
        assert_eq!(
            parts[3].len(),
            4 * newest.len(),
            "elsewhere: what is pending is listed, 4 characters an id"
        );
        assert_eq!(
            !parts[0].is_empty(),
            page.stored.is_some(),
            "elsewhere: a name is sent once it is stored"
        );
        PendingList {
            device: parts[0].to_owned(),
            counter: number(parts[1]),
            forgotten: number(parts[2]),
            items: newest
                .iter()
                .map(|text| items.of(text).expect("an item of this feed"))
                .collect(),
            bits: newest.iter().map(|text| bits_of(text)).collect(),
            at_ms: now,
            text,
        }
    }

    /// Whether it counts for a server that knows of this deletion of the history; Unix seconds.
    fn counts(&self, forget_before: u32) -> bool {
        !self.items.is_empty() && self.forgotten >= forget_before.into()
    }

    /// The rate at which it contains other items.
    fn rate(&self) -> f64 {
        self.items.len() as f64 / 2f64.powi(BITS as i32)
    }
}

/// The store's lists, and the latest list of each device.
#[derive(Debug, Default)]
pub struct Devices {
    lines: String,
    latest: BTreeMap<String, PendingList>,
    /// Whether there ever were more devices than it stores.
    has_dropped: bool,
}

impl Devices {
    /// A request or a report has come.
    pub fn accept(&mut self, list: &PendingList, now: u64) {
        let at = Time::from_unix_ms(now);
        if let Some(to_keep) = PendingUpdate::of(&list.text, None, at, PENDING_SECONDS)
            && let Some(lines) = to_keep.added_to(&self.lines).expect("there is memory")
        {
            self.lines = lines;
        }
        let since = now.saturating_sub(u64::from(PENDING_SECONDS) * SECOND);
        self.latest.retain(|_, list| list.at_ms / SECOND * SECOND >= since);
        let known = self.latest.get(&list.device);
        // A list repeated within an hour changes nothing, and does not extend the expiry.
        let is_old = |known: &PendingList| now / SECOND - known.at_ms / SECOND > REWRITTEN_AFTER_SECONDS;
        let is_news =
            known.is_none_or(|known| list.counter >= known.counter && (list.text != known.text || is_old(known)));
        if !list.device.is_empty() && is_news && (known.is_some() || !list.items.is_empty()) {
            let list = PendingList {
                at_ms: now,
                ..list.clone()
            };
            self.latest.insert(list.device.clone(), list);
            self.has_dropped |= self.latest.len() > MAX_PENDING_DEVICES;
        }
    }

    /// The lists of other devices, which count in the store if there are not too many.
    fn others<'a>(&'a self, requesting: &'a PendingList, forget_before: u32) -> impl Iterator<Item = &'a PendingList> {
        let others = self.latest.values().filter(|list| list.device != requesting.device);
        others.filter(move |list| list.counts(forget_before))
    }
}

/// A device requests a page of these candidates.
pub fn check_page(device: &Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) {
    let (now, items) = (scene.now, &*scene.items);
    let requesting = PendingList::by(device, tab, device.time(now), now, items);
    scene.server.devices.accept(&requesting, now);
    let server = &*scene.server;
    let pending = Pending {
        requesting: Some(&requesting.text),
        stored: &server.devices.lines,
        ..Pending::default()
    };
    let passed = server.filter(&candidates.distinct(), pending, now, items);
    for item in candidates.distinct() {
        let passes = passed.contains(&item);
        let why = why(server, &requesting, item, now, items);
        assert!(
            !passes || !why.must_be_left_out(),
            "elsewhere: {item:?} is on the page, and a device has shown it"
        );
        assert!(
            passes || why.may_be_left_out,
            "elsewhere: {item:?} is left out for no reason"
        );
        if why.is_elsewhere && !why.is_own && !why.is_in_chain {
            scene.tally.reach("a page leaves out what another device has shown");
        }
        if why.is_fresh {
            scene.tally.ask(Question::Elsewhere, why.rate, !passes);
        }
    }
}

struct Why {
    is_in_chain: bool,
    is_own: bool,
    is_elsewhere: bool,
    may_be_left_out: bool,
    /// Whether neither the chain nor any device has it.
    is_fresh: bool,
    /// The rate at which devices' lists leave such an item out.
    rate: f64,
}

impl Why {
    fn must_be_left_out(&self) -> bool {
        self.is_in_chain || self.is_own || self.is_elsewhere
    }
}

fn why(server: &Server, requesting: &PendingList, item: Item, now: u64, items: &Items) -> Why {
    let forget_before = server.exceptions.forget_before;
    let is_unseen = server.exceptions.contains(item);
    let is_in_chain = server.newest_shard(item, now, items).is_some();
    let own = Some(requesting).filter(|list| list.counts(forget_before));
    // Another device's list yields to what the server made unseen.
    let others: Vec<&PendingList> = server
        .devices
        .others(requesting, forget_before)
        .filter(|_| !is_unseen)
        .collect();
    let are_all_stored = !server.devices.has_dropped;
    let counting = || own.iter().copied().chain(others.iter().copied());
    let bits = bits_of(items.text(item));
    Why {
        is_in_chain,
        is_own: own.is_some_and(|own| own.items.contains(&item)),
        is_elsewhere: are_all_stored && others.iter().any(|list| list.items.contains(&item)),
        may_be_left_out: is_in_chain || counting().any(|list| list.bits.contains(&bits)),
        is_fresh: !is_in_chain && counting().all(|list| !list.items.contains(&item)),
        rate: counting().map(PendingList::rate).sum(),
    }
}
