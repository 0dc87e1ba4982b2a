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
use super::writer::Job;
use crate::random::Random;

/// Unix milliseconds at which every life begins.
const BEGINNING: u64 = 1_764_000_000_000;
/// What happened last, for whoever looks into a failure.
const REMEMBERED_EVENTS: usize = 30;
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
            .map(|_| Device::new(random.between(0, 2 * most_off) as i64 - most_off as i64))
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
            self.pass_time();
            self.server.run(self.now, &self.items, &mut self.tally);
            if self.conditions.kind == Kind::Plain {
                self.settle_soon();
            }
            let event = self.draw();
            let device = self.random.index(self.devices.len());
            self.happen(event, device);
        }
        ending::end(self);
    }

    /// Where nothing but the stream is late, what waits is done soon.
    fn settle_soon(&mut self) {
        for device in 0..self.devices.len() {
            let (place, mut scene) = self.on(device);
            for tab in 0..place.tabs.len() {
                place.settle_waiting(tab, &mut scene);
            }
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

    fn note(&mut self, what: &str, device: usize, tab: Option<usize>) {
        if self.traces {
            println!("{:>14} {what} device {device} tab {tab:?}", self.now - BEGINNING);
        }
        if self.events.len() == REMEMBERED_EVENTS {
            self.events.remove(0);
        }
        self.events.push(format!(
            "{:>14} ms  {what}, device {device}, tab {tab:?}",
            self.now - BEGINNING
        ));
    }

    /// The last things that happened.
    pub fn last_events(&self) -> String {
        self.events.join("\n  ")
    }

    fn happen(&mut self, event: Event, device: usize) {
        match event {
            Event::Refresh
            | Event::StorageStep
            | Event::Delivery
            | Event::StartReport
            | Event::Hide
            | Event::TakeBack => self.use_page(event, device),
            Event::Open | Event::Reload | Event::Close | Event::KillTab | Event::KillBrowser => {
                self.open_and_close(event, device);
            }
            Event::Freeze | Event::Thaw | Event::Clear => self.sleep_or_clear(event, device),
            Event::ClockJump | Event::FillStorage | Event::Damage | Event::LoseHeld | Event::BringBackSegment => {
                self.trouble_device(event, device)
            }
            Event::StandStill
            | Event::FlushStore
            | Event::Rebuild
            | Event::ReadStoreAgain
            | Event::DeleteHistory
            | Event::TakeBackOnServer
            | Event::RollBack => self.trouble_server(event),
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

    /// Of two pages the one whose turn it is. The other sleeps if it would hear of what happens here.
    fn page_in_turn(&mut self, device: usize) -> Option<usize> {
        let (now, sleeps) = (self.now, self.conditions.has_signals);
        let place = &mut self.devices[device];
        if place.tabs.len() < 2 {
            return None;
        }
        let turn = usize::from(SECOND_PAGES_TURN.contains(&self.refreshes));
        if place.tabs[turn].frozen {
            place.thaw(turn, now);
        }
        place.tabs[1 - turn].frozen = sleeps;
        Some(turn)
    }

    fn use_page(&mut self, event: Event, device: usize) {
        let Some(tab) = self.any_tab(device, true) else {
            return self.open_and_close(Event::Open, device);
        };
        match event {
            Event::Refresh => self.refresh(device, tab),
            Event::StorageStep => {
                let steps = self.random.between(1, 5);
                self.note("storage steps", device, Some(tab));
                for _ in 0..steps {
                    let (device, mut scene) = self.on(device);
                    device.step(tab, &mut scene);
                }
            }
            Event::Delivery => {
                self.note("delivery", device, Some(tab));
                let (device, mut scene) = self.on(device);
                delivery::advance(device, tab, &mut scene);
                if device.tabs[tab].writer.has_failed {
                    device.tabs[tab].ask(Job::Flush, scene.now);
                }
            }
            Event::Hide => {
                self.note("hide", device, Some(tab));
                self.devices[device].tabs[tab].ask(Job::Hide, self.now);
            }
            Event::TakeBack if self.conditions.takes_back => {
                self.note("take back", device, Some(tab));
                let (device, mut scene) = self.on(device);
                feeds::take_back(device, tab, &mut scene);
            }
            Event::StartReport if self.conditions.reports && !self.devices[device].tabs[tab].delivering => {
                self.note("report", device, Some(tab));
                delivery::start(&mut self.devices[device], tab, self.now);
            }
            _ => {}
        }
    }

    fn refresh(&mut self, device: usize, tab: usize) {
        // Few pages are looked at while their storage does not answer.
        let is_slow = self
            .random
            .percent(if self.conditions.kind == Kind::Heavy { 25 } else { 5 });
        let (place, mut scene) = self.on(device);
        if !place.tabs[tab].writer.is_loaded && !is_slow {
            place.settle(tab, &mut scene);
        }
        place.catch_up(tab, &mut scene);
        feeds::refresh(place, tab, &mut scene);
        scene
            .server
            .check_promise(scene.now, scene.items, scene.random, scene.tally);
        self.refreshes += 1;
        self.note("refresh", device, Some(tab));
    }

    fn open_and_close(&mut self, event: Event, device: usize) {
        let tab = self.any_tab(device, true);
        let crashes = self.conditions.crashes;
        if self.conditions.kind == Kind::Apart && self.devices[device].tabs.len() == 2 {
            return;
        }
        self.note(&format!("{event:?}"), device, tab);
        match (event, tab) {
            (Event::Open, _) => self.open(device),
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
            _ => {}
        }
    }

    fn open(&mut self, device: usize) {
        if self.devices[device].tabs.len() >= self.conditions.most_tabs {
            let Some(tab) = self.any_tab(device, true) else { return };
            self.close(device, tab, true);
        }
        self.devices[device].open(self.now, &self.conditions, &mut self.random);
        let tab = self.devices[device].tabs.len() - 1;
        if self.conditions.reports && self.random.percent(self.conditions.reporting_percent) {
            delivery::start(&mut self.devices[device], tab, self.now);
        }
        if self.random.percent(60) {
            let (device, mut scene) = self.on(device);
            device.settle(tab, &mut scene);
        }
    }

    /// A page goes, in peace or between any two steps.
    fn close(&mut self, device: usize, tab: usize, in_peace: bool) {
        if in_peace {
            let (place, mut scene) = self.on(device);
            place.settle(tab, &mut scene);
        } else if self.devices[device].tabs[tab].writer.is_between_write_and_remove() {
            self.tally.reach("a tab dies between writing and removing");
        } else if self.devices[device].tabs[tab].writer.is_waiting() {
            self.tally.reach("a tab dies before it compacts");
        }
        self.devices[device].tabs.remove(tab);
    }

    fn sleep_or_clear(&mut self, event: Event, device: usize) {
        let Some(tab) = self.any_tab(device, !matches!(event, Event::Thaw)) else {
            return;
        };
        self.note(&format!("{event:?}"), device, Some(tab));
        if self.conditions.kind == Kind::Plain {
            let (place, mut scene) = self.on(device);
            place.settle(tab, &mut scene);
        }
        let (now, clears) = (self.now, self.conditions.clears);
        let place = &mut self.devices[device];
        match event {
            Event::Freeze => place.tabs[tab].frozen = true,
            Event::Thaw => place.thaw(tab, now),
            _ if clears && place.tabs[tab].writer.is_loaded => {
                place.clear(tab, now);
            }
            _ => {}
        }
    }

    fn trouble_device(&mut self, event: Event, device: usize) {
        let conditions = &self.conditions;
        let place = &mut self.devices[device];
        match event {
            Event::ClockJump if conditions.clock_jumps => place.jump_clock(&mut self.random),
            Event::FillStorage if conditions.fills_up => place.store.is_full = !place.store.is_full,
            Event::Damage if conditions.damages => place.damage(&mut self.random),
            Event::LoseHeld => place.held.lose(&mut self.random),
            Event::BringBackSegment => place.store.bring_back(),
            _ => return,
        }
        self.note(&format!("{event:?}"), device, None);
    }

    fn trouble_server(&mut self, event: Event) {
        let conditions = &self.conditions;
        match event {
            Event::StandStill if conditions.outages => self.server.stand_still(self.now, &mut self.random),
            Event::FlushStore if conditions.store_fails => self.server.flush_store(self.now, &mut self.random),
            Event::Rebuild if conditions.store_fails => {
                let mut other = self.server.options();
                other.capacity = *self.random.pick(&[100, 150, 300]);
                other.shards = other.shards.max(2);
                self.server.reload(self.now, Some(other));
            }
            Event::ReadStoreAgain => self.server.reload(self.now, None),
            Event::DeleteHistory if conditions.deletes => self.server.delete_history(self.now),
            Event::TakeBackOnServer if conditions.takes_back => {
                self.server.unsee(self.now, &self.items, &mut self.random);
            }
            Event::RollBack if conditions.store_fails => self.server.roll_back(&self.items, &mut self.random),
            _ => return,
        }
        self.note(&format!("{event:?}"), 0, None);
    }
}
