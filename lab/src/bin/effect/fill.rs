//! How a client that filters fills its page: as `feed.fill` does, it asks again, behind what it was given, until enough
//! fresh items are there.

use seenguard::Time;
use seenguard::device::Guard;
use seenguard_lab::Result;

use crate::page::{Answer, Ask, Page, Seen};
use crate::stream::Ids;

/// Most requests of a page: as many as `feed.fill` makes.
pub const MAX_REQUESTS: usize = 5;

/// A page while it is filled.
pub struct Fill<'a> {
    ask: &'a Ask<'a>,
    ids: Ids<'a>,
    fresh: Vec<usize>,
    held_back: Vec<usize>,
    /// Whether the latest answer was the last one.
    is_over: bool,
    page: Page,
}

impl<'a> Fill<'a> {
    pub fn new(ask: &'a Ask<'a>, ids: Ids<'a>) -> Self {
        Fill {
            ask,
            ids,
            fresh: Vec::new(),
            held_back: Vec::new(),
            is_over: false,
            page: Page::default(),
        }
    }

    /// Whether there is to be another request.
    pub fn wants_more(&self) -> bool {
        !self.is_over && !self.is_filled() && self.page.requests < MAX_REQUESTS
    }

    fn is_filled(&self) -> bool {
        self.fresh.len() >= self.ask.refresh.size
    }

    /// What a request and its answer carried for the remedy.
    pub fn add_bytes(&mut self, up: usize, down: usize) {
        self.page.up += up;
        self.page.down += down;
    }

    /// Takes an answer; the guard says what of it is fresh.
    pub fn take(&mut self, answer: Answer, guard: &mut Guard) -> Result<()> {
        self.page.requests += 1;
        self.is_over = answer.is_last;
        let fresh = guard.filter(&self.ids_at(&answer.places), self.now());
        let mut is_fresh = vec![false; answer.places.len()];
        fresh.into_iter().for_each(|index| is_fresh[index as usize] = true);
        for (place, is_fresh) in answer.places.into_iter().zip(is_fresh) {
            if is_fresh {
                self.fresh.push(place);
            } else {
                self.held_back.push(place);
            }
        }
        Ok(())
    }

    /// The page as it is shown.
    pub fn finish(mut self, guard: &mut Guard) -> Result<Page> {
        let size = self.ask.refresh.size;
        self.page.looked_at = match self.fresh.get(size - 1) {
            Some(last) => last + 1,
            None if self.is_over => self.ask.ranked.len(),
            None => self
                .fresh
                .iter()
                .chain(&self.held_back)
                .max()
                .map_or(0, |last| last + 1),
        };
        if self.ask.seen == Seen::Last && !self.is_filled() {
            let split = guard.split(&self.ids_at(&self.held_back), self.now());
            let order = split.fresh.into_iter().chain(split.seen);
            let missing = size - self.fresh.len();
            let fillers: Vec<usize> = order
                .take(missing)
                .map(|index| self.held_back[index as usize])
                .collect();
            self.page.fillers = fillers.len();
            self.fresh.extend(fillers);
        }
        self.page.shown = self.fresh.iter().map(|&place| self.ask.ranked[place]).collect();
        Ok(self.page)
    }

    fn ids_at(&self, places: &[usize]) -> Vec<&'a str> {
        places
            .iter()
            .map(|&place| self.ids.of(self.ask.ranked[place]))
            .collect()
    }

    fn now(&self) -> Time {
        Time::from_unix_ms(self.ask.refresh.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::{Refresh, SECOND_MS};
    use seenguard::device::DEFAULT_REMEMBER;

    /// The page of a device that has shown the first N of 40 candidates, oldest first, of a server that filters
    /// nothing.
    fn page(shown_before: usize, seen: Seen) -> Page {
        let ids: Vec<String> = (0..40).map(|number| format!("article-{number}")).collect();
        let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).expect("options");
        for (number, id) in ids[..shown_before].iter().enumerate() {
            guard.record(&[id], Time::from_unix_ms(number as u64 + 1));
        }
        let refresh = Refresh {
            at: SECOND_MS,
            device: 0,
            size: 4,
            depth: 4,
            attention: u64::MAX,
            pause_ms: SECOND_MS,
        };
        let ranked: Vec<u32> = (0..40).rev().collect();
        let ask = Ask {
            refresh: &refresh,
            ranked: &ranked,
            seen,
        };
        let mut fill = Fill::new(&ask, Ids(&ids));
        let mut cursor = 0;
        while fill.wants_more() {
            let answer = Answer::of_all(ask.ranked, cursor, 4);
            cursor += 4;
            fill.take(answer, &mut guard).expect("memory");
        }
        fill.finish(&mut guard).expect("memory")
    }

    #[test]
    fn a_page_of_fresh_items_takes_one_request() {
        let page = page(0, Seen::Drop);
        assert_eq!(
            (page.requests, page.shown, page.looked_at),
            (1, vec![39, 38, 37, 36], 4)
        );
    }

    #[test]
    fn a_client_asks_again_until_the_page_is_full_or_five_times() {
        // Candidates come from 39 down: the first N were not seen.
        assert_eq!(page(38, Seen::Drop).requests, MAX_REQUESTS);
        assert_eq!(page(38, Seen::Drop).shown, [39, 38]);
        assert_eq!(page(40, Seen::Drop).shown, [0; 0]);
    }

    #[test]
    fn seen_items_fill_the_page_the_one_seen_longest_ago_first() {
        let page = page(40, Seen::Last);
        // 20 were looked at: 39 down to 20, of which 20 was seen first.
        assert_eq!((page.shown, page.fillers), (vec![20, 21, 22, 23], 4));
    }
}
