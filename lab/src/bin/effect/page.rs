//! Pages, and the server's response to a request for one.

use seenguard::{ShardChain, Time};
use seenguard_lab::Result;

use crate::people::Refresh;
use crate::stream::{Ids, Store};

/// The number of candidates that are filtered at once.
const CHUNK: usize = 128;

/// The treatment of a seen item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It is left out.
    Drop,
    /// It follows if there are too few fresh items, the longest ago seen first.
    Last,
}

/// A device's request.
pub struct Request<'a> {
    pub refresh: &'a Refresh,
    /// The candidates, the best first.
    pub ranked: &'a [u32],
    pub seen: Seen,
}

impl Request<'_> {
    pub fn time(&self) -> Time {
        Time::from_unix_ms(self.refresh.at)
    }
}

/// The page that a user gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The shown items in their order.
    pub shown: Vec<u32>,
    /// The number of seen items at the end, shown because no fresh ones were left.
    pub fillers: usize,
    pub requests: usize,
    /// The number of candidates examined, from the best on.
    pub looked_at: usize,
    /// The bytes that the remedy adds to the requests and to the answers.
    pub up: usize,
    pub down: usize,
}

/// An answer to one request.
pub struct Answer {
    /// Indices in the ranked list.
    pub indices: Vec<usize>,
    /// Whether no candidates follow.
    pub is_last: bool,
}

impl Answer {
    /// The answer of a server that does not filter: the candidates from the index `from` on.
    pub fn of_all(ranked: &[u32], from: usize, size: usize) -> Self {
        let to = (from + size).min(ranked.len());
        Answer {
            indices: (from..to).collect(),
            is_last: to == ranked.len(),
        }
    }
}

/// The filter of a server.
struct ServerFilter<'a> {
    chain: &'a ShardChain,
    /// Whether an item is left out although the chain does not contain it.
    also: &'a dyn Fn(u32) -> bool,
    ids: Ids<'a>,
}

impl ServerFilter<'_> {
    /// The indices of a page of fresh candidates.
    fn fresh(&self, request: &Request<'_>) -> Result<Vec<usize>> {
        let mut indices = Vec::new();
        for (chunk_index, chunk) in request.ranked.chunks(CHUNK).enumerate() {
            let fresh = self.chain.filter(&self.ids.all(chunk), None, request.time())?;
            let fresh = fresh.into_iter().map(|index| chunk_index * CHUNK + index as usize);
            indices.extend(fresh.filter(|&index| !(self.also)(request.ranked[index])));
            if indices.len() >= request.refresh.size {
                break;
            }
        }
        indices.truncate(request.refresh.size);
        Ok(indices)
    }

    /// The indices of a page, and the number of seen items among them, which follow the fresh ones, the longest ago
    /// seen /// first. Items that `also` leaves out count as the latest.
    fn fresh_then_seen(&self, request: &Request<'_>) -> Result<(Vec<usize>, usize)> {
        let split = self.chain.split(&self.ids.all(request.ranked), None, request.time())?;
        let is_also = |index: &usize| (self.also)(request.ranked[*index]);
        let to_usize = |indices: Vec<u32>| indices.into_iter().map(|index| index as usize);
        let (also, fresh): (Vec<usize>, Vec<usize>) = to_usize(split.fresh).partition(is_also);
        let (also_seen, seen): (Vec<usize>, Vec<usize>) = to_usize(split.seen).partition(is_also);
        let fresh_count = fresh.len();
        let mut indices = [fresh, seen, also_seen, also].concat();
        indices.truncate(request.refresh.size);
        let fillers = indices.len().saturating_sub(fresh_count);
        Ok((indices, fillers))
    }
}

/// The page of a remedy whose server filters: it leaves out the items of the chain and those of `also`.
pub fn page_of_server(request: &Request<'_>, store: &mut Store<'_>, also: &dyn Fn(u32) -> bool) -> Result<Page> {
    let filter = ServerFilter {
        ids: store.ids(),
        chain: store.read(),
        also,
    };
    let (indices, fillers) = match request.seen {
        Seen::Drop => (filter.fresh(request)?, 0),
        Seen::Last => filter.fresh_then_seen(request)?,
    };
    let is_full = indices.len() == request.refresh.size;
    Ok(Page {
        looked_at: if is_full {
            indices.iter().max().map_or(0, |last| last + 1)
        } else {
            request.ranked.len()
        },
        shown: indices.into_iter().map(|index| request.ranked[index]).collect(),
        fillers,
        requests: 1,
        ..Page::default()
    })
}
