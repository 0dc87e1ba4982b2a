//! A page, and how a server answers a request for one.

use seenguard::{ShardChain, Time};
use seenguard_lab::report::Result;

use crate::people::Refresh;
use crate::stream::{Ids, Store};

/// Candidates that are decided at once.
const CHUNK: usize = 128;

/// What becomes of an item that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It is left out.
    Drop,
    /// It follows where there are too few fresh ones, what was seen longest ago first.
    Last,
}

/// What a device asks for.
pub struct Ask<'a> {
    pub refresh: &'a Refresh,
    /// The candidates, the best first.
    pub ranked: &'a [u32],
    pub seen: Seen,
}

impl Ask<'_> {
    pub fn time(&self) -> Time {
        Time::from_unix_ms(self.refresh.at)
    }
}

/// What a person gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order of the list.
    pub shown: Vec<u32>,
    /// How many of the shown ones are there because nothing fresh was left.
    pub fillers: usize,
    pub requests: usize,
    /// How many candidates were looked at, from the best on.
    pub looked_at: usize,
    /// What the remedy adds to the requests and to the answers, bytes.
    pub up: usize,
    pub down: usize,
}

/// An answer to one request.
pub struct Answer {
    /// Places in the ranked list.
    pub places: Vec<usize>,
    /// Where the next request goes on; nothing if no more follow.
    pub next: Option<usize>,
}

/// What a server leaves out of a page.
pub struct ServerFilter<'a> {
    pub chain: &'a ShardChain,
    pub pending: Option<&'a str>,
    /// Left out beside what the chain contains.
    pub also: &'a dyn Fn(u32) -> bool,
    pub ids: Ids<'a>,
}

impl ServerFilter<'_> {
    /// The next fresh candidates from the place `cursor` on, as `pageOf` gives them.
    pub fn next_fresh(&self, ask: &Ask<'_>, cursor: usize) -> Result<Answer> {
        let mut places = Vec::new();
        let mut from = cursor;
        while places.len() <= ask.refresh.size && from < ask.ranked.len() {
            let to = (from + CHUNK).min(ask.ranked.len());
            let chunk = &ask.ranked[from..to];
            let ids = self.ids.all(chunk);
            let fresh = self.chain.filter(&ids, self.pending, ask.time())?;
            let fresh = fresh.into_iter().map(|index| from + index as usize);
            places.extend(fresh.filter(|&place| !(self.also)(ask.ranked[place])));
            from = to;
        }
        let has_more = places.len() > ask.refresh.size;
        places.truncate(ask.refresh.size);
        let next = places.last().filter(|_| has_more).map(|last| last + 1);
        Ok(Answer { places, next })
    }

    /// All candidates: the fresh ones, then the others, what was seen longest ago first; what is left out beside the
    /// chain is taken for the latest.
    pub fn fresh_then_seen(&self, ask: &Ask<'_>) -> Result<Ordered> {
        let ids = self.ids.all(ask.ranked);
        let split = self.chain.split(&ids, self.pending, ask.time())?;
        let is_also = |place: &usize| (self.also)(ask.ranked[*place]);
        let places = |indices: Vec<u32>| indices.into_iter().map(|index| index as usize);
        let (also, fresh): (Vec<usize>, Vec<usize>) = places(split.fresh).partition(is_also);
        let (also_seen, seen): (Vec<usize>, Vec<usize>) = places(split.seen).partition(is_also);
        let fresh_count = fresh.len();
        let order = [fresh, seen, also_seen, also].concat();
        Ok(Ordered { order, fresh_count })
    }
}

/// Places, the fresh ones first.
pub struct Ordered {
    pub order: Vec<usize>,
    pub fresh_count: usize,
}

impl Ordered {
    /// The next of them, `cursor` being how many were given.
    pub fn next(&self, size: usize, cursor: usize) -> Answer {
        let to = (cursor + size).min(self.order.len());
        Answer {
            places: self.order[cursor.min(to)..to].to_vec(),
            next: (to < self.order.len()).then_some(to),
        }
    }
}

/// One request, for remedies whose server leaves out all that they know: `also`, beside what the chain contains.
pub fn page_of_server(ask: &Ask<'_>, store: &mut Store<'_>, also: &dyn Fn(u32) -> bool) -> Result<Page> {
    let filter = ServerFilter {
        ids: store.ids(),
        chain: store.read(),
        pending: None,
        also,
    };
    let size = ask.refresh.size;
    let (places, fillers) = match ask.seen {
        Seen::Drop => (filter.next_fresh(ask, 0)?.places, 0),
        Seen::Last => {
            let ordered = filter.fresh_then_seen(ask)?;
            let places = ordered.next(size, 0).places;
            let fillers = places.len().saturating_sub(ordered.fresh_count);
            (places, fillers)
        }
    };
    let is_full = places.len() == size;
    Ok(Page {
        looked_at: if is_full {
            places.iter().max().map_or(0, |last| last + 1)
        } else {
            ask.ranked.len()
        },
        shown: places.into_iter().map(|place| ask.ranked[place]).collect(),
        fillers,
        requests: 1,
        ..Page::default()
    })
}
