//! What a person's devices have pending, as the server keeps it: a page leaves out what another device has shown.

use std::collections::{BTreeMap, BTreeSet};

use seenguard::hash::hash_id;
use seenguard::{MAX_PENDING_DEVICES, PENDING_SECONDS, Pending, PendingToKeep, Time};

use super::conditions::SECOND;
use super::device::Device;
use super::items::{Item, Items};
use super::lists::Candidates;
use super::scene::Scene;
use super::server::Server;
use super::statistics::Question;

/// So many of the newest pending ids are in what a device tells.
const MOST_TOLD: usize = 1_000;
/// A list has so many bits of an id's hash.
const BITS: u32 = 24;

/// What a device has told with a request or a report.
#[derive(Debug, Clone)]
pub struct DeviceTold {
    pub text: String,
    /// What was pending and is in it, and the bits by which it is.
    newest: BTreeSet<Item>,
    bits: BTreeSet<u64>,
    at_ms: u64,
    /// Whether a store must have kept it: there were not too many devices since.
    is_surely_kept: bool,
}

/// The bits of an id in a list.
fn bits_of(id: &str) -> u64 {
    hash_id(id.as_bytes(), 0) % (1 << BITS)
}

/// The parts of a text.
struct Parts<'a> {
    device: &'a str,
    counter: u64,
    forgotten: u64,
    list: &'a str,
}

impl DeviceTold {
    /// What a tab tells now.
    pub fn by(device: &Device, tab: usize, time: Time, now: u64, items: &Items) -> DeviceTold {
        let guard = &device.tabs[tab].guard;
        let pending = guard.pending(usize::MAX, time);
        let newest = &pending[pending.len().saturating_sub(MOST_TOLD)..];
        let item_of = |text: &String| items.of(text).expect("an item of this feed");
        let told = DeviceTold {
            text: guard.pending_list(usize::MAX, time),
            newest: newest.iter().map(item_of).collect(),
            bits: newest.iter().map(|text| bits_of(text)).collect(),
            at_ms: now,
            is_surely_kept: true,
        };
        assert_eq!(
            told.parts().list.len(),
            4 * newest.len(),
            "elsewhere: what is pending is told, 4 characters an id"
        );
        told
    }

    fn parts(&self) -> Parts<'_> {
        let parts: Vec<&str> = self.text.split('.').collect();
        let number = |text| u64::from_str_radix(text, 36).expect("numbers are to the base 36");
        Parts {
            device: parts[0],
            counter: number(parts[1]),
            forgotten: number(parts[2]),
            list: parts[3],
        }
    }

    /// Whether it counts for a server that knows of this deletion of the history; Unix seconds.
    fn counts(&self, forget_before: u32) -> bool {
        let Parts { forgotten, list, .. } = self.parts();
        !list.is_empty() && forgotten >= forget_before.into()
    }

    fn contains(&self, item: Item, items: &Items) -> bool {
        self.bits.contains(&bits_of(items.text(item)))
    }

    /// How often it contains an item that was not told.
    fn rate(&self) -> f64 {
        self.newest.len() as f64 / 2f64.powi(BITS as i32)
    }
}

/// What the store has, and what each device has told last.
#[derive(Debug, Default)]
pub struct Devices {
    lines: String,
    latest: BTreeMap<String, DeviceTold>,
}

impl Devices {
    /// A request or a report has come.
    pub fn accept(&mut self, told: &DeviceTold, now: u64) {
        let (at, since) = (Time::from_unix_ms(now), kept_since(now));
        if let Some(to_keep) = PendingToKeep::of(&told.text, None, at, PENDING_SECONDS)
            && let Some(lines) = to_keep.added_to(&self.lines).expect("there is memory")
        {
            self.lines = lines;
        }
        self.latest
            .retain(|_, told| told.at_ms / SECOND * SECOND >= since.unix_ms());
        let Parts {
            device, counter, list, ..
        } = told.parts();
        let known = self.latest.get(device);
        if device.is_empty() || known.is_some_and(|known| counter < known.parts().counter) {
            return;
        }
        // One that is kept stays, and with it its counter.
        if list.is_empty() && known.is_none() {
            return;
        }
        // What is told again changes nothing, and is kept no longer.
        let again = known.filter(|known| known.text == told.text);
        let at_ms = again.map_or(now, |known| known.at_ms);
        self.latest
            .insert(device.to_owned(), DeviceTold { at_ms, ..told.clone() });
        self.drop_oldest();
    }

    pub fn clear(&mut self) {
        *self = Devices::default();
    }

    /// Of too many devices, those leave that have nothing pending, and then those that have told something least lately:
    /// of several in one second, it is not known which.
    fn drop_oldest(&mut self) {
        let kept: Vec<&DeviceTold> = self.latest.values().filter(|told| told.is_surely_kept).collect();
        let too_many = kept.len().saturating_sub(MAX_PENDING_DEVICES);
        let rank = |told: &DeviceTold| (!told.newest.is_empty(), told.at_ms / SECOND);
        let Some(oldest) = kept.iter().map(|told| rank(told)).min().filter(|_| too_many > 0) else {
            return;
        };
        let is_known = kept.iter().filter(|told| rank(told) == oldest).count() == too_many;
        let is_oldest = |told: &DeviceTold| told.is_surely_kept && rank(told) == oldest;
        if is_known {
            return self.latest.retain(|_, told| !is_oldest(told));
        }
        for told in self.latest.values_mut().filter(|told| is_oldest(told)) {
            told.is_surely_kept = false;
        }
    }
}

fn kept_since(now: u64) -> Time {
    Time::from_unix_ms(now.saturating_sub(u64::from(PENDING_SECONDS) * SECOND))
}

/// A device asks for a page of these candidates.
pub fn check_page(device: &Device, tab: usize, candidates: &Candidates, scene: &mut Scene<'_>) {
    let time = device.time(scene.now);
    let asking = DeviceTold::by(device, tab, time, scene.now, scene.items);
    let Scene { server, items, now, .. } = scene;
    let now = *now;
    server.devices.accept(&asking, now);
    let ids = candidates.distinct();
    let pending = Pending {
        asking: Some(&asking.text),
        kept: &server.devices.lines,
        ..Pending::default()
    };
    let passed: BTreeSet<Item> = server.filter(&ids, pending, now, items);
    for item in ids {
        let why = why(server, &asking, item, now, items);
        let passes = passed.contains(&item);
        assert!(
            !passes || !why.must_be_left_out,
            "elsewhere: {item:?} is on the page, and a device has shown it"
        );
        if why.must_be_left_out && !why.is_own && !why.is_in_chain {
            scene.tally.reach("a page leaves out what another device has shown");
        }
        assert!(
            passes || why.may_be_left_out,
            "elsewhere: {item:?} is left out for no reason"
        );
        if why.is_fresh {
            scene.tally.ask(Question::Elsewhere, why.rate, !passes);
        }
    }
}

struct Why {
    must_be_left_out: bool,
    may_be_left_out: bool,
    is_own: bool,
    is_in_chain: bool,
    /// Whether neither the chain nor any device has it.
    is_fresh: bool,
    /// The rate at which devices' lists leave such an item out.
    rate: f64,
}

fn why(server: &Server, asking: &DeviceTold, item: Item, now: u64, items: &Items) -> Why {
    let forget_before = server.exceptions.forget_before;
    let device = asking.parts().device.to_owned();
    let is_unseen = server.exceptions.contains(item);
    let is_in_chain = server.newest_shard(item, now, items).is_some();
    let is_own = asking.counts(forget_before) && asking.newest.contains(&item);
    let others = || {
        let others = server.devices.latest.iter().filter(|&(name, _)| *name != device);
        others.map(|(_, told)| told).filter(|told| told.counts(forget_before))
    };
    let is_elsewhere = others().any(|told| told.is_surely_kept && told.newest.contains(&item));
    let counting = || {
        others()
            .filter(|_| !is_unseen)
            .chain(Some(asking).filter(|asking| asking.counts(forget_before)))
    };
    let is_in_any = counting().any(|told| told.contains(item, items));
    Why {
        must_be_left_out: is_in_chain || is_own || (is_elsewhere && !is_unseen),
        may_be_left_out: is_in_chain || is_in_any,
        is_own,
        is_in_chain,
        is_fresh: !is_in_chain && counting().all(|told| !told.newest.contains(&item)),
        rate: counting().map(DeviceTold::rate).sum(),
    }
}
