//! One simulated user: devices, tabs, a server, and what happens to them, drawn from one seed.

use super::chance::Chance;
use super::conditions::{Conditions, DAY, HOUR, Kind, MINUTE, Pace, SECOND};
use super::delivery;
use super::device::Device;
use super::ending;
use super::events::{EVENTS, Event};
use super::feeds;
use super::items::Items;
use super::scene::Scene;
use super::server::Server;
use super::statistics::Tally;
use crate::random::Random;
use seenguard::device::{Place, Step};

/// Unix milliseconds at which every life begins.
const BEGINNING: u64 = 1_764_000_000_000;
/// What happened last, for whoever looks into a failure.
const REMEMBERED_EVENTS: usize = 30;
/// Longer than a storage waits twice before it tries again, after transactions that did not answer.
const REST_MS: u64 = 3 * MINUTE;
/// Most steps after which a tab dies that clears.
const CLEARING_STEPS: u64 = 12;
/// Refreshes of the second page where two are far apart: it sees some 15,000 items, and then the first one goes on as
/// if nothing had been.
const SECOND_PAGES_TURN: std::ops::Range<usize> = 10..70;

pub struct World {
    pub conditions: Conditions,
    pub random: Random,
    pub now: u64,
    pub items: Items,
    pub server: Server,
    pub devices: Vec<Device>,
    pub tally: Tally,
    refreshes: usize,
    events: Vec<String>,
    traces: bool,
}

impl World {
    /// `random` decides all that happens; `seed` names the items.
    pub fn new(seed: u64, mut random: Random, traces: bool) -> Self {
        let conditions = Conditions::draw(&mut random);
        let most_off = conditions.clock_off_ms;
        let devices = (0..conditions.devices)
            .map(|_| Device::new(random.between(0, 2 * most_off) as i64 - most_off as i64, &conditions))
            .collect();
        World {
            server: Server::new(conditions.chain),
            items: Items::new(seed, conditions.kind == Kind::LongIds),
            devices,
            conditions,
            random,
            now: BEGINNING,
            tally: Tally::default(),
            refreshes: 0,
            events: Vec::new(),
            traces,
        }
    }

    /// Lives through so many refreshes, and brings everything to its end.
    pub fn live(&mut self, refreshes: usize) {
        while self.refreshes < refreshes {
            let before = self.now;
            self.pass_time();
            if self.now - before > SECOND && self.random.percent(95) {
                self.settle_soon(before);
            }
            self.server.run(self.now, &self.items, &mut self.tally);
            if self.conditions.kind == Kind::Plain {
                self.settle_soon(self.now);
            }
            let event = self.draw();
            let device = self.random.index(self.devices.len());
            self.happen(event, device);
        }
        ending::end(self);
    }

    /// What waits is done at this time; a storage that takes seconds is rare.
    fn settle_soon(&mut self, now: u64) {
        let later = std::mem::replace(&mut self.now, now);
        for device in 0..self.devices.len() {
            let (place, mut scene) = self.on(device);
            place.work(&mut scene);
        }
        self.now = later;
    }

    /// Lets time pass until the storage of a device's tabs has nothing more to do for a while.
    pub fn rest(&mut self, device: usize) {
        let end = self.now + REST_MS;
        loop {
            let (place, mut scene) = self.on(device);
            place.work(&mut scene);
            let awake = (0..place.tabs.len()).filter(|&tab| !place.tabs[tab].frozen);
            let next = awake.map(|tab| place.next_at(tab, scene.now)).min().unwrap_or(u64::MAX);
            if next > end {
                return;
            }
            self.now = self.now.max(next);
        }
    }

    /// Everything else a device's doings need.
    pub fn on(&mut self, device: usize) -> (&mut Device, Scene<'_>) {
        let scene = Scene {
            now: self.now,
            conditions: &self.conditions,
            items: &mut self.items,
            server: &mut self.server,
            random: &mut self.random,
            tally: &mut self.tally,
            traces: self.traces,
        };
        (&mut self.devices[device], scene)
    }

    fn pass_time(&mut self) {
        let random = &mut self.random;
        let much = random.below(100);
        self.now += match self.conditions.pace {
            Pace::Lively if much < 70 => random.between(1, 800),
            Pace::Lively if much < 97 => random.between(SECOND, 30 * SECOND),
            Pace::Lively => random.between(MINUTE, 5 * HOUR),
            Pace::Slow if much < 60 => random.between(1, 30 * SECOND),
            Pace::Slow if much < 90 => random.between(10 * MINUTE, 8 * HOUR),
            Pace::Slow => random.between(8 * HOUR, 2 * DAY),
        };
    }

    fn draw(&mut self) -> Event {
        let total = EVENTS.iter().map(|(weight, _)| weight).sum();
        let mut left = self.random.below(total);
        for (weight, event) in EVENTS {
            if left < weight {
                return event;
            }
            left -= weight;
        }
        Event::Refresh
    }

    fn note(&mut self, event: Event, device: usize, tab: Option<usize>) {
        let line = format!(
            "{:>14} ms  {event:?}, device {device}, tab {tab:?}",
            self.now - BEGINNING
        );
        if self.traces {
            println!("{line}");
        }
        if self.events.len() == REMEMBERED_EVENTS {
            self.events.remove(0);
        }
        self.events.push(line);
    }

    /// The last things that happened.
    pub fn last_events(&self) -> String {
        self.events.join("\n  ")
    }

    fn happen(&mut self, event: Event, device: usize) {
        let tab = self.any_tab(device, event != Event::Thaw);
        self.note(event, device, tab);
        let is_apart = self.conditions.kind == Kind::Apart && self.devices[device].tabs.len() == 2;
        let crashes = self.conditions.crashes;
        match (event, tab) {
            (Event::Refresh, Some(tab)) => self.refresh(device, tab),
            (Event::Clear, Some(tab)) if self.conditions.clears => self.clear(device, tab),
            // Their two pages stay.
            (Event::Open | Event::Reload | Event::Close | Event::KillTab | Event::KillBrowser, _) if is_apart => {}
            (Event::Open, _) | (Event::Refresh, None) => self.open(device),
            (Event::Reload, Some(tab)) => {
                self.close(device, tab, !crashes);
                self.open(device);
            }
            (Event::Close, Some(tab)) => self.close(device, tab, true),
            (Event::KillTab, Some(tab)) if crashes => self.close(device, tab, false),
            (Event::KillBrowser, _) if crashes => {
                while !self.devices[device].tabs.is_empty() {
                    self.close(device, 0, false);
                }
            }
            (_, Some(tab)) => self.happen_to_page(event, device, tab),
            _ => {}
        }
        self.trouble(event, device);
    }

    fn happen_to_page(&mut self, event: Event, device: usize, tab: usize) {
        let (place, mut scene) = self.on(device);
        let conditions = scene.conditions;
        match event {
            Event::StorageStep => {
                for _ in 0..scene.random.between(1, 5) {
                    place.step(tab, &mut scene);
                }
            }
            Event::Delivery => delivery::advance(place, tab, &mut scene),
            Event::StartReport if conditions.reports && !place.tabs[tab].delivering => {
                delivery::start(place, tab, &mut scene);
            }
            Event::Hide => place.hide(tab, &mut scene),
            Event::Show => place.show(tab, &mut scene),
            Event::Unsee if conditions.unsees => feeds::unsee(place, tab, &mut scene),
            Event::Freeze => {
                let hides = scene.random.percent(70);
                place.freeze(tab, hides, &mut scene);
            }
            Event::Thaw => place.thaw(tab, &mut scene),
            _ => {}
        }
    }

    /// Trouble with a device's clock and storage, and with the server.
    fn trouble(&mut self, event: Event, device: usize) {
        let (conditions, random) = (&self.conditions, &mut self.random);
        let (place, server) = (&mut self.devices[device], &mut self.server);
        match event {
            Event::ClockJump if conditions.clock_jumps => place.jump_clock(random),
            Event::FillStorage if conditions.fills_up => {
                place.database.is_full = !place.database.is_full;
                place.locals[0].is_full = place.database.is_full && random.percent(50);
            }
            Event::Damage if conditions.damages => place.damage(random),
            Event::LoseSnapshot => place.lose_snapshot(random),
            Event::BringBackRow if place.database.is_idle() => {
                place
                    .database
                    .bring_back()
                    .inspect(|key| place.is_stored(key, self.now));
            }
            Event::BreakDatabase if conditions.fails_per_mille > 0 => {
                place.is_broken = !place.is_broken;
                place
                    .tabs
                    .iter_mut()
                    .for_each(|page| page.is_connected &= !place.is_broken);
            }
            Event::LaterVersion
                if conditions.later_version && conditions.place != Place::Local && place.database.is_idle() =>
            {
                place.plant_later_key(random)
            }
            Event::OtherNamespace => place.plant_other(self.now, random),
            Event::StandStill if conditions.outages => server.stand_still(self.now, random),
            Event::FlushStore if conditions.store_fails => server.flush_store(self.now, random),
            Event::Rebuild if conditions.store_fails => {
                let mut other = server.options();
                other.capacity = *random.pick(&[100, 150, 300]);
                other.shards = other.shards.max(2);
                server.reload(self.now, Some(other));
            }
            Event::ReadStoreAgain => server.reload(self.now, None),
            Event::DeleteHistory if conditions.deletes => server.delete_history(self.now),
            Event::UnseeOnServer if conditions.unsees => server.unsee(self.now, &self.items, random),
            Event::RollBack if conditions.store_fails => server.roll_back(&self.items, random),
            _ => {}
        }
    }

    /// A tab of this device that is awake.
    fn any_tab(&mut self, device: usize, awake: bool) -> Option<usize> {
        let tabs = &self.devices[device].tabs;
        let fitting: Vec<usize> = (0..tabs.len()).filter(|&tab| tabs[tab].frozen != awake).collect();
        if self.conditions.kind == Kind::Apart {
            return self.page_in_turn(device).filter(|_| awake);
        }
        (!fitting.is_empty()).then(|| *self.random.pick(&fitting))
    }

    /// Of two pages the one whose turn it is. The other sleeps.
    fn page_in_turn(&mut self, device: usize) -> Option<usize> {
        let turn = usize::from(SECOND_PAGES_TURN.contains(&self.refreshes));
        let (place, mut scene) = self.on(device);
        if place.tabs.len() < 2 {
            return None;
        }
        if !place.tabs[1 - turn].frozen {
            place.freeze(1 - turn, false, &mut scene);
        }
        if place.tabs[turn].frozen {
            place.thaw(turn, &mut scene);
        }
        Some(turn)
    }

    fn refresh(&mut self, device: usize, tab: usize) {
        // Few pages are looked at while their storage does not answer.
        let is_slow = self
            .random
            .percent(if self.conditions.kind == Kind::Heavy { 25 } else { 5 });
        let (place, mut scene) = self.on(device);
        if place.tabs[tab].is_hidden {
            place.show(tab, &mut scene);
        }
        if !is_slow {
            place.work(&mut scene);
            place.check_seen(tab, &scene);
        }
        feeds::refresh(place, tab, &mut scene);
        scene
            .server
            .check_promise(scene.now, scene.items, scene.random, scene.tally);
        self.refreshes += 1;
    }

    fn open(&mut self, device: usize) {
        if self.devices[device].tabs.len() >= self.conditions.most_tabs {
            let Some(tab) = self.any_tab(device, true) else { return };
            self.close(device, tab, true);
        }
        let (place, mut scene) = self.on(device);
        let tab = place.open(&mut scene);
        if scene.conditions.reports && scene.random.percent(scene.conditions.reporting_percent) {
            delivery::start(place, tab, &mut scene);
        }
        if scene.random.percent(60) {
            place.work(&mut scene);
        }
    }

    /// A page goes: in peace, hiding, or between any two steps.
    fn close(&mut self, device: usize, tab: usize, in_peace: bool) {
        let hides = self.random.percent(50);
        let (place, mut scene) = self.on(device);
        if in_peace {
            place.flush(tab, &mut scene);
            place.work(&mut scene);
        } else if hides && !place.tabs[tab].frozen {
            place.hide(tab, &mut scene);
            for _ in 0..scene.random.below(3) {
                place.step(tab, &mut scene);
            }
        }
        if place.tabs[tab].clearing.is_some() {
            scene.tally.reach("a tab dies in the midst of a clear");
        }
        place.end_clear(tab);
        let page = &mut place.tabs[tab];
        if page.job.as_ref().is_some_and(|job| job.step == Step::Pass) {
            scene.tally.reach("a tab dies in the midst of a pass");
        }
        for job in page.job.take().into_iter().chain(std::mem::take(&mut page.late)) {
            place.orphan(tab, job, &mut scene);
        }
        place.tabs.remove(tab);
    }

    /// A tab clears the namespace, and lives or dies at any step of that.
    fn clear(&mut self, device: usize, tab: usize) {
        let dies_after = self.random.below(CLEARING_STEPS);
        let (place, mut scene) = self.on(device);
        let serial = place.tabs[tab].serial;
        record_beside(place, &mut scene);
        place.clear(tab, &mut scene);
        record_beside(place, &mut scene);
        let other = scene.random.index(place.tabs.len());
        if scene.random.percent(30) && !place.tabs[other].frozen {
            // Another one clears, too, that has not heard of this, and perhaps after the clock was set back.
            if scene.random.percent(50) {
                place.work(&mut scene);
            }
            if scene.conditions.clock_jumps {
                place.jump_clock(scene.random);
            }
            place.clear(other, &mut scene);
        }
        if !scene.conditions.crashes || scene.random.percent(30) {
            return;
        }
        for _ in 0..dies_after {
            let other = scene.random.index(place.tabs.len());
            let acting = if scene.random.percent(15) { other } else { tab };
            place.step(acting, &mut scene);
        }
        if place.tabs[tab].clearing.is_some() && place.tabs[tab].serial == serial {
            self.close(device, tab, false);
        }
    }
}

/// A tab records something in the very millisecond of a clear.
fn record_beside(place: &mut Device, scene: &mut Scene<'_>) {
    let tab = scene.random.index(place.tabs.len());
    if scene.random.percent(50) && !place.tabs[tab].frozen {
        let item = scene.items.publish(scene.random);
        feeds::record(place, tab, &[item], scene);
    }
}
