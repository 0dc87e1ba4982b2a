//! A person's simulated life: a month that all remedies share, a day in which a remedy and a condition take effect, and
//! the measured day.

use std::collections::HashSet;

use seenguard::device::{DEFAULT_REMEMBER, Due, Guard, Mark};
use seenguard::{ShardChain, Time};
use seenguard_lab::Result;

use crate::measure::{Counts, Tally};
use crate::page::{Page, Request, Seen};
use crate::people::{DAY_MS, FIRST_DAY_MS, Habits, Person, Refresh};
use crate::recall::{Catalogue, Supply, mix};
use crate::remedies::{Kind, Past, Remedy, apply, deliver};
use crate::stream::{Condition, Ids, NAMESPACE, Store, chain_options};

/// Simulated days before, and earlier days whose impressions repeat those of the week with items that are no longer
/// candidates: together the window.
const WEEK: u64 = 7;
const DAYS_BEFORE_THE_WEEK: u64 = 23;
const WINDOW_DAYS: f64 = 30.0;
/// The simulated days, with a day in which the remedy and the condition take effect, and the measured day.
const DAYS: u64 = WEEK + 2;
/// The start of the measured day.
pub const MEASURED_FROM: u64 = FIRST_DAY_MS + (WEEK + 1) * DAY_MS;

/// The part of a person's life that does not depend on the remedy and the condition.
pub struct Life {
    ids: Vec<String>,
    /// The refreshes after the week, with their candidates.
    refreshes: Vec<(Refresh, Vec<u32>)>,
    past: Past,
    /// For each item: bit d is set if device d has shown it; and the time when it was last on a screen.
    shown_on: Vec<u8>,
    shown_at: Vec<u64>,
}

/// One item on a screen.
#[derive(Clone, Copy)]
struct Impression {
    item: u32,
    device: usize,
    at: u64,
}

impl Life {
    /// Simulates the time before the measured day. The same seed gives the same life.
    pub fn new(habits: &Habits, supply: &Supply, seed: u64) -> Result<Self> {
        let person = Person::new(habits, DAYS, mix(seed));
        let catalogue = Catalogue::new(supply, DAYS, mix(!seed));
        let week_ends = FIRST_DAY_MS + WEEK * DAY_MS;
        let (week, rest) = person
            .refreshes
            .split_at(person.refreshes.partition_point(|one| one.at < week_ends));
        let lived = live_without_fault(week, &catalogue);
        let impressions = with_month_before(&lived, catalogue.len() as u32);
        let items = catalogue.len() + impressions.len() - lived.len();
        let ids: Vec<String> = (0..items as u64).map(|item| id_of(seed, item)).collect();
        let mut life = Life {
            past: Past::new(&impressions, Ids(&ids), person.devices, week_ends)?,
            refreshes: rest.iter().map(|refresh| (*refresh, catalogue.rank(refresh))).collect(),
            shown_on: vec![0; items],
            shown_at: vec![0; items],
            ids,
        };
        for impression in impressions {
            life.shown_on[impression.item as usize] |= 1 << impression.device;
            life.shown_at[impression.item as usize] = impression.at;
        }
        Ok(life)
    }

    /// Simulates the measured day.
    pub fn live(&self, condition: Condition, kind: Kind, seen: Seen) -> Result<Counts> {
        let mut store = Store::new(condition, &self.past.chain, Ids(&self.ids), MEASURED_FROM);
        let mut remedy = kind.start(&self.past);
        let mut tally = Tally::new(&self.shown_on, &self.shown_at);
        for (refresh, ranked) in &self.refreshes {
            if store.advance(refresh.at)? {
                remedy.flush();
            }
            let request = Request { refresh, ranked, seen };
            let page = remedy.page(&request, &mut store)?;
            if refresh.at >= MEASURED_FROM {
                tally.add_page(&request, &page);
            }
            look_at(refresh, &page, &mut tally, remedy.as_mut(), &mut store)?;
        }
        Ok(tally.counts())
    }
}

fn look_at(
    refresh: &Refresh,
    page: &Page,
    tally: &mut Tally,
    remedy: &mut dyn Remedy,
    store: &mut Store<'_>,
) -> Result<()> {
    for (index, at) in refresh.impressions(page.shown.len()) {
        let item = page.shown[index];
        tally.add_impression(item, refresh.device, at);
        remedy.record(item, refresh.device, at, store)?;
    }
    Ok(())
}

/// Simulates a week in which no seen item is shown again.
fn live_without_fault(week: &[Refresh], catalogue: &Catalogue) -> Vec<Impression> {
    let mut seen = HashSet::new();
    let mut impressions = Vec::new();
    for refresh in week {
        let ranked = catalogue.rank(refresh);
        let fresh = ranked.into_iter().filter(|item| !seen.contains(item));
        let shown: Vec<u32> = fresh.take(refresh.size).collect();
        for (index, at) in refresh.impressions(shown.len()) {
            seen.insert(shown[index]);
            impressions.push(Impression {
                item: shown[index],
                device: refresh.device,
                at,
            });
        }
    }
    impressions
}

/// Repeats the week's impressions on the days before, each with another item, numbered from `next_item` on.
fn with_month_before(week: &[Impression], next_item: u32) -> Vec<Impression> {
    let mut items = next_item..;
    let mut all = Vec::new();
    for days_ago in (1..=DAYS_BEFORE_THE_WEEK).rev() {
        // The weekday N days ago.
        let like = (WEEK - days_ago % WEEK) % WEEK;
        let begins = FIRST_DAY_MS + like * DAY_MS;
        let of_that_day = week.iter().filter(|one| (begins..begins + DAY_MS).contains(&one.at));
        all.extend(of_that_day.zip(&mut items).map(|(one, item)| Impression {
            item,
            device: one.device,
            at: one.at - (days_ago + like) * DAY_MS,
        }));
    }
    all.sort_by_key(|one| one.at);
    all.extend(week);
    all
}

impl Past {
    fn new(impressions: &[Impression], ids: Ids<'_>, devices: usize, now: u64) -> Result<Self> {
        let mut chain = ShardChain::new(chain_options())?;
        let mut tables = vec![Guard::new(WINDOW_DAYS, DEFAULT_REMEMBER)?; devices];
        let mut guards = (0..devices as u64).map(named_guard).collect::<Result<Vec<Guard>>>()?;
        guards.iter_mut().for_each(Guard::start_reporting);
        let mut seen = vec![Vec::new(); devices];
        let mut day = 0;
        for &Impression { item, device, at } in impressions {
            if at / DAY_MS > day {
                day = at / DAY_MS;
                synchronise(&mut guards, &chain, at)?;
            }
            let id = [ids.of(item)];
            let when = Time::from_unix_ms(at);
            chain.record(&id, Time::from_unix_ms(at))?;
            tables[device].record(&id, when);
            guards[device].record(&id, when);
            seen[device].push(item);
        }
        synchronise(&mut guards, &chain, now)?;
        Ok(Past {
            chain,
            tables,
            guards,
            seen,
        })
    }
}

/// A guard whose facts are stored, so that the device has a name.
fn named_guard(seed: u64) -> Result<Guard> {
    let mut guard = Guard::with_storage(NAMESPACE, seed, WINDOW_DAYS, DEFAULT_REMEMBER)?;
    guard.loaded();
    let now = Time::from_unix_ms(FIRST_DAY_MS);
    if let Some((_, mark)) = guard.unsaved(Mark::default(), Due::Facts, now) {
        guard.saved(mark);
    }
    Ok(guard)
}

/// Each device reports its impressions, and applies the server's snapshot.
fn synchronise(guards: &mut [Guard], chain: &ShardChain, now: u64) -> Result<()> {
    guards.iter_mut().try_for_each(|guard| {
        deliver(guard, now, |_| ());
        let snapshot = chain.snapshot(Time::from_unix_ms(now), Some(&guard.held()))?;
        apply(guard, &snapshot, now)
    })
}

/// An id of 19 digits, like those of X.
fn id_of(seed: u64, item: u64) -> String {
    const DIGITS_19: u64 = 1_000_000_000_000_000_000;
    (DIGITS_19 + mix(mix(seed) ^ item) % (9 * DIGITS_19)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{CONDITIONS, LAG_10_S};

    fn lives(supply: &Supply) -> Vec<Life> {
        let habits = Habits {
            two_devices: 1.0,
            ..Habits::default()
        };
        (0..4)
            .map(|seed| Life::new(&habits, supply, seed).expect("a life"))
            .collect()
    }

    fn live(life: &Life, condition: Condition, kind: Kind) -> Counts {
        life.live(condition, kind, Seen::Drop).expect("a day")
    }

    #[test]
    fn without_lag_a_server_that_filters_repeats_nothing() {
        for life in lives(&Supply::DEFAULT) {
            for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::DeviceAlone) {
                let counts = live(&life, CONDITIONS[0], kind);
                assert!(counts.shown > 0.0);
                assert_eq!((counts.same_device, counts.other_device), (0.0, 0.0), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_device_that_remembers_repeats_nothing_whatever_happens_to_the_server() {
        for life in lives(&Supply::DEFAULT) {
            for condition in CONDITIONS {
                for kind in [Kind::IdsUp, Kind::DeviceAlone, Kind::Seenguard] {
                    let counts = live(&life, condition, kind);
                    assert_eq!(counts.same_device, 0.0, "{kind:?}, {}", condition.name);
                }
            }
        }
    }

    #[test]
    fn nothing_comes_back_on_the_other_device_unless_the_store_loses_all() {
        for life in lives(&Supply::DEFAULT) {
            for condition in CONDITIONS.into_iter().filter(|condition| !condition.is_flushed) {
                let counts = live(&life, condition, Kind::Seenguard);
                assert_eq!(counts.other_device, 0.0, "{}", condition.name);
            }
        }
    }

    #[test]
    fn a_filter_on_the_device_alone_repeats_what_the_other_device_showed() {
        let others = lives(&Supply::DEFAULT).into_iter().map(|life| {
            let counts = live(&life, CONDITIONS[0], Kind::DeviceAlone);
            counts.other_device
        });
        assert!(others.sum::<f64>() > 10.0);
    }

    /// If the order does not change, all impressions in transit to the store are shown again on the next page.
    #[test]
    fn a_server_alone_repeats_what_was_seen_within_the_lag() {
        let supply = Supply {
            noise: 0.0,
            ..Supply::DEFAULT
        };
        let condition = CONDITIONS[LAG_10_S];
        let (mut expected, mut found) = (0.0, 0.0);
        for life in lives(&supply) {
            for pair in life.refreshes.windows(2) {
                let [(before, _), (refresh, _)] = pair else { continue };
                if refresh.at >= MEASURED_FROM {
                    let on_the_way = |(_, at): &(usize, u64)| at + condition.lag_ms > refresh.at;
                    expected += before.impressions(before.size).filter(on_the_way).count() as f64;
                }
            }
            found += live(&life, condition, Kind::ServerAlone).same_device;
        }
        assert!(expected > 50.0);
        assert!(
            (found / expected - 1.0).abs() < 0.15,
            "{found} repeats, {expected} on their way"
        );
    }

    #[test]
    fn the_last_100_served_hold_back_no_more_than_was_not_looked_at() {
        for life in lives(&Supply::DEFAULT) {
            let counts = live(&life, CONDITIONS[0], Kind::LastServed);
            let held_back = counts.held_back / counts.shown;
            assert!(held_back > 0.05 && held_back < 0.6, "{held_back}");
        }
    }

    #[test]
    fn seen_ids_take_22_bytes_each() {
        for life in lives(&Supply::DEFAULT) {
            let counts = live(&life, CONDITIONS[0], Kind::IdsUp);
            let ids = life.past.seen.iter().map(Vec::len).max().unwrap_or(0) as f64;
            let a_page = counts.up / counts.pages / 22.0;
            assert!(a_page > 100.0 && a_page < ids + 2_000.0, "{a_page} ids of {ids}");
        }
    }
}
