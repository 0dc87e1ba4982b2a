//! A page of a ranked list, and the cursor of the next one.

use super::cursor::{Cursor, ReturnedIds, fingerprint};
use super::shard_chain::ShardChain;
use super::snapshot::ChainSnapshot;
use crate::devices::Pending;
use crate::error::Error;
use crate::id_list::{IdList, Split};
use crate::time::Time;

/// Most items of a page.
pub const MAX_PAGE_SIZE: usize = 10_000;

/// The treatment of candidates that the user has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeats {
    /// Seen candidates are left out.
    #[default]
    Drop,
    /// Seen candidates follow if there are too few fresh ones, those seen longest ago first, each once over all pages.
    Last,
}

/// A device's request for a page. All fields but the size may come from the device unchecked.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageRequest<'a> {
    /// 1 to [`MAX_PAGE_SIZE`] items.
    pub size: usize,
    /// [`Page::next`] of the previous page. Any other string requests the first page.
    pub cursor: Option<&'a str>,
    /// The treatment of seen candidates.
    pub repeats: Repeats,
    /// The shards that the device holds: [`Guard::held`](crate::device::Guard::held).
    pub held: Option<&'a str>,
    /// Impressions of the user's devices that the chain does not have yet.
    pub pending: Pending<'a>,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The indices of its items, the fresh ones first.
    pub items: Vec<u32>,
    /// The cursor of the next page, short and URL-safe; `None` on the last page.
    pub next: Option<String>,
    /// The snapshot to send: the state against which the items were filtered.
    pub snapshot: ChainSnapshot,
}

impl ShardChain {
    /// Makes a page of `ranked`, which has all candidates, the best first, including the seen ones.
    ///
    /// The cursor has the position and the id of the last candidate examined. The next page finds it by the id, else by
    /// the position, so that no item is skipped or shown twice even if impressions arrive in between. With
    /// [`Repeats::Last`], each returned id adds 4 characters to the cursor, and after 500 of them no seen items follow.
    ///
    /// ```
    /// use seenguard::{ChainOptions, PageRequest, ShardChain, Time};
    /// let now = Time::from_unix_seconds(1_764_000_000);
    /// let mut chain = ShardChain::new(ChainOptions::default())?;
    /// chain.record(&["b"], now)?;
    /// let ranked = ["a", "b", "c", "d"];
    /// let first = chain.page(&ranked, &PageRequest { size: 2, ..PageRequest::default() }, now)?;
    /// assert_eq!(first.items, [0, 2]);
    /// let cursor = first.next.as_deref();
    /// let second = chain.page(&ranked, &PageRequest { size: 2, cursor, ..PageRequest::default() }, now)?;
    /// assert_eq!((second.items, second.next), (vec![3], None));
    /// # Ok::<(), seenguard::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadOption`] for a size out of range or a time beyond 2^32 seconds; [`Error::OutOfMemory`].
    pub fn page(&self, ranked: &(impl IdList + ?Sized), request: &PageRequest<'_>, now: Time) -> Result<Page, Error> {
        if !(1..=MAX_PAGE_SIZE).contains(&request.size) {
            return Err(Error::BadOption("a page has 1 to 10,000 items"));
        }
        let split = match request.repeats {
            Repeats::Drop => Split {
                fresh: self.filter(ranked, request.pending, now)?,
                seen: Vec::new(),
            },
            Repeats::Last => self.split(ranked, request.pending, now)?,
        };
        let (items, next) = next_page(ranked, split, request)?;
        Ok(Page {
            items,
            next: next.map(|cursor| cursor.to_string()),
            snapshot: self.snapshot(now, request.held)?,
        })
    }
}

/// The fresh items from the cursor on and, if requested, seen ones that no previous page returned.
fn next_page(
    ranked: &(impl IdList + ?Sized),
    Split { mut fresh, mut seen }: Split,
    request: &PageRequest<'_>,
) -> Result<(Vec<u32>, Option<Cursor>), Error> {
    let cursor = request.cursor.and_then(Cursor::parse);
    let start = cursor.as_ref().map_or(0, |cursor| position_after(cursor, ranked));
    // The first page has no previous pages; after a cursor without ids, no seen items follow.
    let returned = match (request.repeats, cursor) {
        (Repeats::Drop, _) => None,
        (Repeats::Last, None) => Some(ReturnedIds::default()),
        (Repeats::Last, Some(cursor)) => cursor.returned,
    };
    fresh.retain(|&item| item as usize >= start);
    match &returned {
        Some(returned) => seen.retain(|&item| !returned.contains(ranked.get(item as usize))),
        None => seen.clear(),
    }
    let is_last = fresh.len() + seen.len() <= request.size;
    let last = match fresh.get(request.size - 1) {
        Some(&last) if fresh.len() > request.size => last as usize,
        _ => ranked.len().saturating_sub(1),
    };
    let mut items = fresh;
    items.truncate(request.size);
    seen.truncate(request.size - items.len());
    items.append(&mut seen);
    if is_last {
        return Ok((items, None));
    }
    let returned = match returned {
        Some(mut returned) => {
            for &item in &items {
                returned.add(ranked.get(item as usize))?;
            }
            Some(returned)
        }
        None => None,
    };
    let next = Cursor {
        position: last,
        id: fingerprint_at(ranked, last),
        returned,
    };
    Ok((items, Some(next)))
}

/// The fingerprint of an item's id.
fn fingerprint_at(ranked: &(impl IdList + ?Sized), item: usize) -> Option<u32> {
    (item < ranked.len()).then(|| fingerprint(ranked.get(item)))
}

/// The position of the first candidate that the previous page has not examined.
fn position_after(cursor: &Cursor, ranked: &(impl IdList + ?Sized)) -> usize {
    let items = ranked.len();
    let position = cursor.position.min(items);
    if cursor.id.is_none() {
        return position + 1;
    }
    let is_last = |position: &usize| *position < items && fingerprint_at(ranked, *position) == cursor.id;
    // Its position may have changed: take the nearest candidate with its id.
    for distance in 0..=items {
        let nearest = [position.checked_sub(distance), position.checked_add(distance)];
        if let Some(position) = nearest.into_iter().flatten().find(is_last) {
            return position + 1;
        }
    }
    // It was removed, and the candidates after it have moved up.
    position
}
