//! One simulated user: devices, tabs, a server and their events, drawn from one seed.

use seenguard::device::Due;

use super::chance::Chance;
use super::conditions::{Conditions, DAY, HOUR, Kind, MINUTE, SECOND};
use super::delivery;
use super::device::Device;
use super::ending;
use super::feeds;
use super::items::Items;
use super::recording;
use super::server::Server;
use super::statistics::Tally;
use crate::random::Random;

/// The context of an event on a device.
pub struct Scene<'a> {
    pub now: u64,
    /// Whether nothing fails, is late or old any more.
    pub is_well: bool,
    pub conditions: &'a Conditions,
    pub items: &'a mut Items,
    pub server: &'a mut Server,
    pub random: &'a mut Random,
    pub tally: &'a mut Tally,
}

/// Unix milliseconds at which every life begins.
const BEGINNING: u64 = 1_764_000_000_000;
/// The number of latest events that a failure prints.
const MAX_EVENTS: usize = 30;

/// The kinds of events, with their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Refresh,
    Save,
    EndSave,
    Load,
    Compact,
    Stash,
    Deliver,
    StartReport,
    Unsee,
    Open,
    Close,
    Kill,
    KillBrowser,
    Clear,
    Learn,
    ClockJump,
    StandStill,
    FlushStore,
    RollBack,
    Reload,
    DeleteHistory,
    UnseeOnServer,
}

const EVENTS: [(u64, Event); 22] = [
    (300, Event::Refresh),
    (120, Event::Save),
    (120, Event::EndSave),
    (60, Event::Load),
    (15, Event::Compact),
    (30, Event::Stash),
    (160, Event::Deliver),
    (20, Event::StartReport),
    (20, Event::Unsee),
    (40, Event::Open),
    (20, Event::Close),
    (20, Event::Kill),
    (4, Event::KillBrowser),
    (6, Event::Clear),
    (10, Event::Learn),
    (8, Event::ClockJump),
    (6, Event::StandStill),
    (2, Event::FlushStore),
    (3, Event::RollBack),
    (6, Event::Reload),
    (3, Event::DeleteHistory),
    (20, Event::UnseeOnServer),
];

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

    /// Simulates this number of refreshes, and ends with everything delivered.
    pub fn live(&mut self, refreshes: usize) {
        while self.refreshes < refreshes {
            self.pass_time();
            self.server.run(self.now, &self.items, &mut self.tally);
            let device = self.random.index(self.devices.len());
            let event = self.draw();
            self.happen(event, device);
        }
        ending::end(self);
    }

    /// A device and its context.
    pub fn on(&mut self, device: usize) -> (&mut Device, Scene<'_>) {
        let scene = Scene {
            now: self.now,
            is_well: self.server.is_well,
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
        let share = random.below(100);
        self.now += match self.conditions.is_slow {
            false if share < 70 => random.between(1, 800),
            false if share < 97 => random.between(SECOND, 30 * SECOND),
            false => random.between(MINUTE, 5 * HOUR),
            true if share < 60 => random.between(1, 30 * SECOND),
            true if share < 90 => random.between(10 * MINUTE, 8 * HOUR),
            true => random.between(8 * HOUR, 2 * DAY),
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
        let ms = self.now - BEGINNING;
        let line = format!("{ms:>14} ms  {event:?}, device {device}, tab {tab:?}");
        if self.traces {
            println!("{line}");
        }
        if self.events.len() == MAX_EVENTS {
            self.events.remove(0);
        }
        self.events.push(line);
    }

    pub fn latest_events(&self) -> String {
        self.events.join("\n  ")
    }

    fn happen(&mut self, event: Event, device: usize) {
        let tabs = self.devices[device].tabs.len();
        let tab = (tabs > 0).then(|| self.random.index(tabs));
        self.note(event, device, tab);
        self.refreshes += usize::from(event == Event::Refresh);
        let Some(tab) = tab.filter(|_| event != Event::Open) else {
            return self.open(device);
        };
        let (machine, mut scene) = self.on(device);
        let conditions = scene.conditions;
        match event {
            Event::Refresh => feeds::refresh(machine, tab, &mut scene),
            Event::Save => {
                let due = *scene.random.pick(&[Due::Changes, Due::Changes, Due::Facts, Due::All]);
                machine.save(tab, due, &mut scene);
            }
            Event::EndSave => machine.end_save(tab, &mut scene),
            Event::Load => {
                let is_whole = scene.random.percent(80);
                machine.load(tab, is_whole, &mut scene);
            }
            Event::Compact => machine.compact(tab, &mut scene),
            Event::Stash => machine.stash(tab, &mut scene),
            Event::Deliver => delivery::advance(machine, tab, &mut scene),
            Event::StartReport if conditions.reports => delivery::start(machine, tab, &mut scene),
            Event::Unsee if conditions.unsees => recording::unsee(machine, tab, &mut scene),
            Event::Close => machine.close(tab, true, &mut scene),
            Event::Kill if conditions.crashes => machine.close(tab, false, &mut scene),
            Event::KillBrowser if conditions.crashes => {
                (0..tabs).for_each(|_| machine.close(0, false, &mut scene));
            }
            Event::Clear if conditions.clears => machine.clear(tab, &mut scene),
            Event::Learn if machine.tabs[tab].generation < machine.generation() => {
                machine.learn(tab, false, &mut scene)
            }
            Event::ClockJump if conditions.clock_jumps => machine.jump_clock(scene.random),
            _ => self.trouble(event),
        }
    }

    /// Trouble with the server.
    fn trouble(&mut self, event: Event) {
        let (now, conditions, random, server) = (self.now, &self.conditions, &mut self.random, &mut self.server);
        match event {
            Event::StandStill if conditions.outages => server.stream.stand_still(now, random),
            Event::FlushStore if conditions.store_fails => server.flush_store(now, random),
            Event::RollBack if conditions.store_fails => server.roll_back(&self.items, random),
            Event::Reload => server.reload(now),
            Event::DeleteHistory if conditions.deletes => server.delete_history(now),
            Event::UnseeOnServer if conditions.unsees => server.unsee(now, &self.items, random),
            _ => {}
        }
    }

    fn open(&mut self, device: usize) {
        let most_tabs = self.conditions.most_tabs;
        let (machine, mut scene) = self.on(device);
        if machine.tabs.len() == most_tabs {
            machine.close(0, true, &mut scene);
        }
        let tab = machine.open(&mut scene);
        if scene.random.percent(80) {
            machine.load(tab, true, &mut scene);
        }
        if scene.conditions.reports && scene.random.percent(scene.conditions.reporting_percent) {
            delivery::start(machine, tab, &mut scene);
        }
    }
}
