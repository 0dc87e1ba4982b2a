//! Counts of a user's measured day, and the statistics of all users.

use serde::{Deserialize, Serialize};

use crate::page::{Page, Request};
use crate::people::HOUR_MS;

/// Flags of an item on the measured day.
const HELD_BACK: u8 = 1;
const SHOWN_AFTERWARDS: u8 = 2;

/// Counts of one person.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub pages: f64,
    pub requests: f64,
    /// Pages with as many items as requested; pages without items.
    pub filled: f64,
    pub empty: f64,
    pub shown: f64,
    /// Repeats: items that this device, or only the other one, had shown before, with an impression.
    pub same_device: f64,
    pub other_device: f64,
    /// Repeats of items with an impression in the hour before.
    pub recent: f64,
    /// Items without an impression that a page left out although they were within it.
    pub held_back: f64,
    /// Items held back that no later page showed.
    pub lost: f64,
    pub up: f64,
    pub down: f64,
}

/// Builds the counts of a person.
pub struct Tally {
    shown_on: Vec<u8>,
    shown_at: Vec<u64>,
    fresh: Vec<u8>,
    counts: Counts,
}

impl Tally {
    /// `shown_on`: for each item, bit d is set if device d has shown it; `shown_at`: the time when it was last on a
    /// screen.
    pub fn new(shown_on: &[u8], shown_at: &[u64]) -> Self {
        Tally {
            shown_on: shown_on.to_vec(),
            shown_at: shown_at.to_vec(),
            fresh: vec![0; shown_on.len()],
            counts: Counts::default(),
        }
    }

    pub fn add_impression(&mut self, item: u32, device: usize, at: u64) {
        self.shown_on[item as usize] |= 1 << device;
        self.shown_at[item as usize] = at;
    }

    pub fn add_page(&mut self, request: &Request<'_>, page: &Page) {
        let counts = &mut self.counts;
        counts.pages += 1.0;
        counts.requests += page.requests as f64;
        counts.filled += f64::from(page.shown.len() >= request.refresh.size);
        counts.empty += f64::from(page.shown.is_empty());
        counts.shown += page.shown.len() as f64;
        counts.up += page.up as f64;
        counts.down += page.down as f64;
        for &item in &page.shown {
            let item = item as usize;
            let shown_on = self.shown_on[item];
            let is_same = shown_on >> request.refresh.device & 1 == 1;
            counts.same_device += f64::from(is_same);
            counts.other_device += f64::from(!is_same && shown_on != 0);
            counts.recent += f64::from(shown_on != 0 && request.refresh.at - self.shown_at[item] < HOUR_MS);
            if self.fresh[item] & HELD_BACK != 0 {
                self.fresh[item] |= SHOWN_AFTERWARDS;
            }
        }
        for &item in &request.ranked[..page.looked_at] {
            if self.shown_on[item as usize] == 0 && !page.shown.contains(&item) {
                self.fresh[item as usize] |= HELD_BACK;
            }
        }
    }

    pub fn counts(mut self) -> Counts {
        for flags in self.fresh {
            self.counts.held_back += f64::from(flags & HELD_BACK != 0);
            self.counts.lost += f64::from(flags == HELD_BACK);
        }
        self.counts
    }
}

/// A statistic of all people, with half the width of its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub margin: f64,
}

impl Estimate {
    /// `scale` times the ratio of two sums over people. The interval is that of the linearised ratio: people are drawn
    /// independently (Cochran, Sampling Techniques, 1977, section 6.4).
    pub fn ratio(people: &[Counts], scale: f64, of: fn(&Counts) -> f64, per: fn(&Counts) -> f64) -> Self {
        let total: f64 = people.iter().map(per).sum();
        if total == 0.0 {
            return Estimate {
                value: 0.0,
                margin: 0.0,
            };
        }
        let ratio = people.iter().map(of).sum::<f64>() / total;
        let count = people.len() as f64;
        let squares: f64 = people.iter().map(|one| (of(one) - ratio * per(one)).powi(2)).sum();
        let error = (squares * count / (count - 1.0).max(1.0)).sqrt() / total;
        Estimate {
            value: scale * ratio,
            margin: scale * 1.96 * error,
        }
    }

    /// Rounds to 6 significant digits.
    fn rounded(self) -> Self {
        let rounded = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
        Estimate {
            value: rounded(self.value),
            margin: rounded(self.margin),
        }
    }
}

/// The statistics of a remedy under a condition.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The number for all people.
    pub pages: f64,
    pub shown: f64,
    /// Repeats per 1,000 items shown.
    pub same_device: Estimate,
    pub other_device: Estimate,
    pub repeats: Estimate,
    pub recent: Estimate,
    pub held_back: Estimate,
    pub lost: Estimate,
    /// Bytes per refresh.
    pub up: Estimate,
    pub down: Estimate,
    /// Requests per page, filled or not.
    pub requests: Estimate,
    /// Shares of the pages.
    pub filled: Estimate,
    pub empty: Estimate,
}

impl Figures {
    pub fn of(people: &[Counts]) -> Self {
        let per_1000 = |of| Estimate::ratio(people, 1000.0, of, |one| one.shown);
        let a_page = |of| Estimate::ratio(people, 1.0, of, |one| one.pages);
        Figures {
            pages: people.iter().map(|one| one.pages).sum(),
            shown: people.iter().map(|one| one.shown).sum(),
            same_device: per_1000(|one| one.same_device),
            other_device: per_1000(|one| one.other_device),
            repeats: per_1000(|one| one.same_device + one.other_device),
            recent: per_1000(|one| one.recent),
            held_back: per_1000(|one| one.held_back),
            lost: per_1000(|one| one.lost),
            up: a_page(|one| one.up),
            down: a_page(|one| one.down),
            requests: a_page(|one| one.requests),
            filled: a_page(|one| one.filled),
            empty: a_page(|one| one.empty),
        }
    }

    /// Rounds all statistics for the recorded results.
    pub fn rounded(self) -> Self {
        Figures {
            pages: self.pages,
            shown: self.shown,
            same_device: self.same_device.rounded(),
            other_device: self.other_device.rounded(),
            repeats: self.repeats.rounded(),
            recent: self.recent.rounded(),
            held_back: self.held_back.rounded(),
            lost: self.lost.rounded(),
            up: self.up.rounded(),
            down: self.down.rounded(),
            requests: self.requests.rounded(),
            filled: self.filled.rounded(),
            empty: self.empty.rounded(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Seen;
    use crate::people::Refresh;

    fn refresh(device: usize) -> Refresh {
        Refresh {
            at: 2 * HOUR_MS,
            device,
            size: 3,
            depth: 3,
            attention: u64::MAX,
            pause_ms: 1000,
        }
    }

    /// Counts of one page of these items, where item 1 was shown on the first device, and item 2 on the second.
    fn counts(shown: &[u32], looked_at: usize) -> Counts {
        let mut tally = Tally::new(&[0, 0b01, 0b10, 0, 0], &[0; 5]);
        tally.add_impression(1, 0, HOUR_MS + 1);
        let page = Page {
            shown: shown.to_vec(),
            looked_at,
            requests: 1,
            ..Page::default()
        };
        let refresh = refresh(0);
        let request = Request {
            refresh: &refresh,
            ranked: &[0, 1, 2, 3, 4],
            seen: Seen::Drop,
        };
        tally.add_page(&request, &page);
        tally.counts()
    }

    #[test]
    fn a_repeat_is_what_had_an_impression_before_on_this_or_the_other_device() {
        let counts = counts(&[0, 1, 2], 3);
        assert_eq!((counts.same_device, counts.other_device), (1.0, 1.0));
        assert_eq!((counts.recent, counts.held_back), (1.0, 0.0));
    }

    #[test]
    fn an_item_that_no_device_saw_and_ranks_before_the_last_one_shown_is_held_back() {
        let counts = counts(&[0, 4], 5);
        assert_eq!((counts.held_back, counts.lost), (1.0, 1.0));
    }

    #[test]
    fn what_was_held_back_and_comes_later_is_not_lost() {
        let mut tally = Tally::new(&[0, 0], &[0, 0]);
        let refresh = refresh(0);
        let request = Request {
            refresh: &refresh,
            ranked: &[0, 1],
            seen: Seen::Drop,
        };
        for shown in [1, 0] {
            let page = Page {
                shown: vec![shown],
                looked_at: 2,
                ..Page::default()
            };
            tally.add_page(&request, &page);
        }
        let counts = tally.counts();
        assert_eq!((counts.held_back, counts.lost), (2.0, 1.0));
    }

    #[test]
    fn the_interval_is_that_of_the_ratio() {
        let person = |same_device, shown| Counts {
            same_device,
            shown,
            ..Counts::default()
        };
        let of = |people: &[Counts]| Estimate::ratio(people, 1000.0, |one| one.same_device, |one| one.shown);
        let alike = of(&[person(1.0, 10.0), person(2.0, 20.0)]);
        assert_eq!((alike.value, alike.margin), (100.0, 0.0));
        // Residuals of 1 and -1 over a total of 20: 1.96 · sqrt(2 · 2 / 1) / 20.
        let different = of(&[person(2.0, 10.0), person(0.0, 10.0)]);
        assert_eq!(different.value, 100.0);
        assert!((different.margin - 196.0).abs() < 1e-9, "{}", different.margin);
    }
}
