//! A page, and how a server answers a request for one.

use seenguard::{ShardChain, Time};
use seenguard_lab::Result;

use crate::people::Refresh;
use crate::stream::{Ids, Store};

/// Candidates that are decided at once.
const CHUNK: usize = 128;

/// The treatment of a seen item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It is left out.
    Drop,
    /// It follows where there are too few fresh ones, what was seen longest ago first.
    Last,
}

/// A device's request.
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

/// The page that a user gets.
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
    /// Nothing follows it.
    pub is_last: bool,
}

impl Answer {
    /// That of a server that filters nothing: the candidates from the place `from` on.
    pub fn of_all(ranked: &[u32], from: usize, size: usize) -> Self {
        let to = (from + size).min(ranked.len());
        Answer {
            places: (from..to).collect(),
            is_last: to == ranked.len(),
        }
    }
}

/// The items that a server leaves out of a page.
struct ServerFilter<'a> {
    chain: &'a ShardChain,
    /// Left out in addition to what the chain contains.
    also: &'a dyn Fn(u32) -> bool,
    ids: Ids<'a>,
}

impl ServerFilter<'_> {
    /// The places of a page of fresh candidates.
    fn fresh(&self, ask: &Ask<'_>) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for (index, chunk) in ask.ranked.chunks(CHUNK).enumerate() {
            let fresh = self.chain.filter(&self.ids.all(chunk), None, ask.time())?;
            let fresh = fresh.into_iter().map(|place| index * CHUNK + place as usize);
            places.extend(fresh.filter(|&place| !(self.also)(ask.ranked[place])));
            if places.len() >= ask.refresh.size {
                break;
            }
        }
        places.truncate(ask.refresh.size);
        Ok(places)
    }

    /// The places of a page, and how many of them are there because nothing fresh was left: what was seen longest ago
    /// first; the items that `also` leaves out count as the latest.
    fn fresh_then_seen(&self, ask: &Ask<'_>) -> Result<(Vec<usize>, usize)> {
        let split = self.chain.split(&self.ids.all(ask.ranked), None, ask.time())?;
        let is_also = |place: &usize| (self.also)(ask.ranked[*place]);
        let places = |indices: Vec<u32>| indices.into_iter().map(|index| index as usize);
        let (also, fresh): (Vec<usize>, Vec<usize>) = places(split.fresh).partition(is_also);
        let (also_seen, seen): (Vec<usize>, Vec<usize>) = places(split.seen).partition(is_also);
        let fresh_count = fresh.len();
        let mut places = [fresh, seen, also_seen, also].concat();
        places.truncate(ask.refresh.size);
        let fillers = places.len().saturating_sub(fresh_count);
        Ok((places, fillers))
    }
}

/// One request, for remedies whose server leaves out all that they know: `also`, besides what the chain contains.
pub fn page_of_server(ask: &Ask<'_>, store: &mut Store<'_>, also: &dyn Fn(u32) -> bool) -> Result<Page> {
    let filter = ServerFilter {
        ids: store.ids(),
        chain: store.read(),
        also,
    };
    let (places, fillers) = match ask.seen {
        Seen::Drop => (filter.fresh(ask)?, 0),
        Seen::Last => filter.fresh_then_seen(ask)?,
    };
    let is_full = places.len() == ask.refresh.size;
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
