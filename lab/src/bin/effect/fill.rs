//! A page filled by a client that filters: like `feed.fill`, it requests the following candidates until it has enough
//! fresh items.

use seenguard::Time;
use seenguard::device::Guard;
use seenguard_lab::Result;

use crate::page::{Answer, Page, Request, Seen};
use crate::stream::Ids;

/// The most requests of a page, as in `feed.fill`.
pub const MAX_REQUESTS: usize = 5;

/// A page while it is filled.
pub struct Fill<'a> {
    request: &'a Request<'a>,
    ids: Ids<'a>,
    fresh: Vec<usize>,
    held_back: Vec<usize>,
    /// Whether no candidates follow the latest answer.
    is_over: bool,
    page: Page,
}

impl<'a> Fill<'a> {
    pub fn new(request: &'a Request<'a>, ids: Ids<'a>) -> Self {
        Fill {
            request,
            ids,
            fresh: Vec::new(),
            held_back: Vec::new(),
            is_over: false,
            page: Page::default(),
        }
    }

    /// Whether another request is needed.
    pub fn wants_more(&self) -> bool {
        !self.is_over && !self.is_filled() && self.page.requests < MAX_REQUESTS
    }

    fn is_filled(&self) -> bool {
        self.fresh.len() >= self.request.refresh.size
    }

    /// Counts the remedy's bytes in a request and its answer.
    pub fn add_bytes(&mut self, up: usize, down: usize) {
        self.page.up += up;
        self.page.down += down;
    }

    /// Adds the fresh items of an answer.
    pub fn take(&mut self, answer: Answer, guard: &mut Guard) -> Result<()> {
        self.page.requests += 1;
        self.is_over = answer.is_last;
        let fresh = guard.filter(&self.ids_at(&answer.indices), self.now());
        let mut is_fresh = vec![false; answer.indices.len()];
        fresh.into_iter().for_each(|index| is_fresh[index as usize] = true);
        for (index, is_fresh) in answer.indices.into_iter().zip(is_fresh) {
            if is_fresh {
                self.fresh.push(index);
            } else {
                self.held_back.push(index);
            }
        }
        Ok(())
    }

    /// Returns the page as it is shown.
    pub fn finish(mut self, guard: &mut Guard) -> Result<Page> {
        let size = self.request.refresh.size;
        self.page.looked_at = match self.fresh.get(size - 1) {
            Some(last) => last + 1,
            None if self.is_over => self.request.ranked.len(),
            None => self
                .fresh
                .iter()
                .chain(&self.held_back)
                .max()
                .map_or(0, |last| last + 1),
        };
        if self.request.seen == Seen::Last && !self.is_filled() {
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
        self.page.shown = self.fresh.iter().map(|&index| self.request.ranked[index]).collect();
        Ok(self.page)
    }

    fn ids_at(&self, indices: &[usize]) -> Vec<&'a str> {
        indices
            .iter()
            .map(|&index| self.ids.of(self.request.ranked[index]))
            .collect()
    }

    fn now(&self) -> Time {
        Time::from_unix_ms(self.request.refresh.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::{Refresh, SECOND_MS};
    use seenguard::device::DEFAULT_REMEMBER;

    /// The page of a device that has shown the first N of 40 candidates, oldest first, from a server that does not
    /// filter.
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
        let request = Request {
            refresh: &refresh,
            ranked: &ranked,
            seen,
        };
        let mut fill = Fill::new(&request, Ids(&ids));
        let mut cursor = 0;
        while fill.wants_more() {
            let answer = Answer::of_all(request.ranked, cursor, 4);
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
        // Candidates are in order from 39 down; the first N are seen.
        assert_eq!(page(38, Seen::Drop).requests, MAX_REQUESTS);
        assert_eq!(page(38, Seen::Drop).shown, [39, 38]);
        assert_eq!(page(40, Seen::Drop).shown, [0; 0]);
    }

    #[test]
    fn seen_items_fill_the_page_the_one_seen_longest_ago_first() {
        let page = page(40, Seen::Last);
        // 20 candidates were examined: 39 down to 20, of which 20 was seen first.
        assert_eq!((page.shown, page.fillers), (vec![20, 21, 22, 23], 4));
    }
}
